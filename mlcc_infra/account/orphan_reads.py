"""What each service holds of a profile, found by its tags and by its names (`Names`).

Services write log groups under names of their own, and write again after a deletion (``/aws/eks/<cluster>``:
Amazon EKS user guide, "Send control plane logs"; ``/aws/lambda/<function>``: AWS Lambda developer guide).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlcc_infra.account.lookups.s3 import account_buckets, bucket_tags
from mlcc_infra.account.orphan_network import (
    classic_load_balancers,
    clusters_of,
    is_ours,
    load_balancers,
    network,
)
from mlcc_infra.account.orphans import Read, Thing
from mlcc_infra.account.reader import Reader
from mlcc_infra.naming import TEMPLATES, Names
from mlcc_infra.tagging import OwnerKind, owner_of, tag_list
from mlcc_infra.template.contract import load_contract
from mlcc_infra.template.made import EKSCTL_CLUSTER_TAG
from mlcc_infra.template.parameters import short_prefix

_LOOK_FIRST = "it has this profile's name but not its tags, so look at it first"


def _is_foreign(reader: Reader, tags: Mapping[str, str]) -> bool:
    return owner_of(tags, profile=reader.profile, region=reader.session.region).kind in (
        OwnerKind.FOREIGN,
        OwnerKind.PREDECESSOR,
    )


def _template_made(name: str, names: Names) -> bool:
    """Whether AWS's template, under this profile's prefix, may have given a thing its name."""
    if name.startswith((f"inf-{short_prefix(names)}-", f"FSXLCSI-{names.hyperpod_eks_cluster}")):
        return True
    rest = name.removeprefix(names.hyperpod_stack)
    return rest != name and (rest.startswith("-") or rest in ("hpfunc", "helmfunc", "s3func", "fsxfunc1"))


def _by_name(reader: Reader, names: Names, name: str, tags: Mapping[str, str]) -> tuple[str, bool] | None:
    """What a thing of this name and these tags is to the profile, and whether the template made it."""
    if _is_foreign(reader, tags):
        return None
    if is_ours(reader, tags):
        return "made for this profile", False
    if _template_made(name, names):
        return "made by AWS's template for this profile", True
    known = {template.render(names.profile, names.location) for template in TEMPLATES.values()}
    return (_LOOK_FIRST, False) if name in known else None


def _iam(reader: Reader, names: Names) -> Iterator[Thing]:
    client = reader.session.client("iam")
    for role in reader.pages("iam", "list_roles", "Roles"):
        name = role["RoleName"]
        if name.startswith((f"mlcc-{names.profile}-", names.operator_execution_role)) or _template_made(
            name, names
        ):
            tags = tag_list(client.list_role_tags(RoleName=name)["Tags"])
            yield from _iam_thing(
                reader, names, "role", name, tags, f"aws iam delete-role --role-name {name}"
            )
    for policy in reader.pages("iam", "list_policies", "Policies", Scope="Local"):
        name, arn = policy["PolicyName"], policy["Arn"]
        if name.startswith(f"mlcc-{names.profile}-") or _template_made(name, names):
            tags = tag_list(client.list_policy_tags(PolicyArn=arn)["Tags"])
            command = f"aws iam delete-policy --policy-arn {arn}"
            yield from _iam_thing(reader, names, "policy", name, tags, command, arn)
    for entry in client.list_open_id_connect_providers()["OpenIDConnectProviderList"]:
        arn = entry["Arn"]
        provider = client.get_open_id_connect_provider(OpenIDConnectProviderArn=arn)
        tags = tag_list(provider.get("Tags", []))
        by_template = tags.get(EKSCTL_CLUSTER_TAG) == names.hyperpod_eks_cluster
        if is_ours(reader, tags) or by_template:
            yield Thing(
                kind="OIDC provider",
                id=arn,
                what=f"of a cluster of this profile, whose issuer is {provider['Url']}"
                + (", made by AWS's template, which never deletes it" if by_template else ""),
                delete=f"aws iam delete-open-id-connect-provider --open-id-connect-provider-arn {arn}",
                owners=(names.hyperpod_stack,) if by_template else (),
            )


def _iam_thing(
    reader: Reader, names: Names, kind: str, name: str, tags: Mapping[str, str], command: str, *ids: str
) -> Iterator[Thing]:
    found = _by_name(reader, names, name, tags)
    if found is not None:
        what, of_template = found
        owners = (names.hyperpod_stack,) if of_template else ()
        yield Thing(kind=kind, id=name, what=what, delete=command, ids=ids, owners=owners)


def _eks(reader: Reader, names: Names) -> Iterator[Thing]:
    for name in reader.pages("eks", "list_clusters", "clusters"):
        if name in clusters_of(names):
            yield Thing(
                kind="EKS cluster",
                id=name,
                what="with its node groups, Fargate profiles and add-ons, which go first",
                delete=f"aws eks delete-cluster --name {name}",
                owners=(names.hyperpod_stack,) if name == names.hyperpod_eks_cluster else (),
            )


def _sagemaker(reader: Reader, names: Names) -> Iterator[Thing]:
    name = names.hyperpod_cluster
    for cluster in reader.pages("sagemaker", "list_clusters", "ClusterSummaries", NameContains=name):
        if cluster["ClusterName"] == name:
            yield Thing(
                kind="HyperPod cluster",
                id=name,
                what=f"{cluster['ClusterStatus']}, with its instances, which are billed",
                delete=f"aws sagemaker delete-cluster --cluster-name {name}",
                ids=(cluster["ClusterArn"],),
                owners=(names.hyperpod_stack,),
            )


def _cloudformation(reader: Reader, names: Names) -> Iterator[Thing]:
    root = names.hyperpod_stack
    for stack in reader.pages("cloudformation", "list_stacks", "StackSummaries"):
        name, status = stack["StackName"], stack["StackStatus"]
        # eksctl's stacks, which the template's functions have made.
        service_account = f"eksctl-{names.hyperpod_eks_cluster}-addon-"
        if status != "DELETE_COMPLETE" and (name == root or name.startswith((f"{root}-", service_account))):
            yield Thing(
                kind="CloudFormation stack",
                id=name,
                what=f"{status}, " + ("AWS's template" if name == root else f"a part of {root}"),
                delete=f"aws cloudformation delete-stack --stack-name {name}",
                ids=(stack["StackId"],),
                owners=(root,),
            )


def _s3(reader: Reader, names: Names) -> Iterator[Thing]:
    prefixes = (names.lifecycle_bucket, names.tls_bucket, names.hyperpod_stack)
    for name in sorted(account_buckets(reader)):
        if not name.startswith(prefixes):
            continue
        found = _by_name(reader, names, name, bucket_tags(reader, name) or {})
        if found is not None:
            what, of_template = found
            yield Thing(
                kind="bucket",
                id=name,
                what=f"{what}, with all that is in it",
                delete=f"aws s3 rb --force s3://{name}",
                owners=(names.hyperpod_stack,) if of_template else (),
            )


def _logs(reader: Reader, names: Names) -> Iterator[Thing]:
    function = f"/aws/lambda/{names.hyperpod_stack}"
    writers = {
        **{f"/aws/eks/{cluster}/": cluster for cluster in clusters_of(names)},
        **{f"/aws/containerinsights/{cluster}/": cluster for cluster in clusters_of(names)},
        f"/aws/sagemaker/Clusters/{names.hyperpod_cluster}/": names.hyperpod_cluster,
        function: names.hyperpod_stack,
        f"/aws/lambda/inf-{short_prefix(names)}-": names.hyperpod_stack,
    }
    for prefix, writer in writers.items():
        for group in reader.pages("logs", "describe_log_groups", "logGroups", logGroupNamePrefix=prefix):
            name = group["logGroupName"]
            if prefix == function and not _template_made(name.removeprefix("/aws/lambda/"), names):
                continue
            yield Thing(
                kind="log group",
                id=name,
                what=f"written by {writer}",
                delete=f"aws logs delete-log-group --log-group-name {name}",
                owners=(writer,),
            )


def _lambda(reader: Reader, names: Names) -> Iterator[Thing]:
    for function in reader.pages("lambda", "list_functions", "Functions"):
        name = function["FunctionName"]
        if _template_made(name, names):
            yield Thing(
                kind="function",
                id=name,
                what="made by AWS's template for this profile",
                delete=f"aws lambda delete-function --function-name {name}",
                owners=(names.hyperpod_stack,),
            )


def _amp(reader: Reader, names: Names) -> Iterator[Thing]:
    if reader.session.region not in load_contract().mappings["AMPRegionMapping"]:
        return  # the template makes none there
    alias = f"{names.hyperpod_stack}-ampws"
    for workspace in reader.pages("amp", "list_workspaces", "workspaces", alias=alias):
        if workspace.get("alias") == alias:
            workspace_id = workspace["workspaceId"]
            yield Thing(
                kind="Prometheus workspace",
                id=workspace_id,
                what="made by AWS's template for this profile, and retained by it; its data is billed",
                delete=f"aws amp delete-workspace --workspace-id {workspace_id}",
                ids=(workspace["arn"],),
                owners=(names.hyperpod_stack,),
            )


def _ssm(reader: Reader, names: Names) -> Iterator[Thing]:
    path = f"/mlcc/{names.profile}/"
    for parameter in reader.pages("ssm", "get_parameters_by_path", "Parameters", Path=path, Recursive=True):
        name = parameter["Name"]
        yield Thing(
            kind="parameter",
            id=name,
            what="a published output, which other tools still read",
            delete=f"aws ssm delete-parameter --name {name}",
        )


READS: Mapping[str, Read] = {
    "IAM": _iam,
    "EC2": network,
    "Elastic Load Balancing": load_balancers,
    "Elastic Load Balancing (classic)": classic_load_balancers,
    "EKS": _eks,
    "SageMaker": _sagemaker,
    "CloudFormation": _cloudformation,
    "S3": _s3,
    "CloudWatch Logs": _logs,
    "Lambda": _lambda,
    "Managed Prometheus": _amp,
    "SSM": _ssm,
}
