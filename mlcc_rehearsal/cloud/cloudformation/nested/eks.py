"""eks-template.yaml: the cluster's role, the cluster, its four add-ons.

The cluster is made through the rehearsed EKS by whoever made the stack, who so becomes its administrator.
"""

from __future__ import annotations

from typing import Any

from moto.eks.models import eks_backends

from mlcc_rehearsal.cloud.cloudformation.nested.network import TAG
from mlcc_rehearsal.cloud.cloudformation.nested.roles import role
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, Template, until
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import ResourceFailed, Work, handler_failed, reason_of
from mlcc_rehearsal.cloud.errors import ServiceException

_LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")
_ADDONS = {
    "VpcCNIAddOn": "vpc-cni",
    "KubeProxyAddOn": "kube-proxy",
    "CoreDNSAddOn": "coredns",
    "PodIdentityAddOn": "eks-pod-identity-agent",
}


def eks_of(run: Run) -> Any:
    """EKS of the stack's region."""
    return eks_backends[run.account.account_id][run.region]


def call_eks(run: Run, operation: str, **parameters: Any) -> dict[str, Any]:
    """An operation of EKS, as the stack's caller."""
    from mlcc_rehearsal.cloud.eks.catalogue import OPERATIONS

    eks = eks_of(run)
    return run.call("eks", operation, parameters, lambda given: OPERATIONS[operation](eks, given))


def cluster_name(stack: Stack) -> str:
    """``<prefix>-<EKSClusterName>``."""
    return f"{stack.parameters['ResourceNamePrefix']}-{stack.parameters['EKSClusterName']}"


def _create_cluster(run: Run) -> Work:
    parameters, name = run.stack.parameters, cluster_name(run.stack)
    # CloudFormation's handlers try again while a role just made is not seen yet.
    for attempt in range(6):
        try:
            call_eks(
                run,
                "CreateCluster",
                name=name,
                version=parameters["KubernetesVersion"],
                roleArn=run.stack.resources["ClusterRole"].attributes["Arn"],
                resourcesVpcConfig={
                    "subnetIds": [s for s in parameters["EksPrivateSubnetIds"].split(",") if s],
                    "securityGroupIds": [s for s in parameters["SecurityGroupIds"].split(",") if s],
                },
                accessConfig={"authenticationMode": "API_AND_CONFIG_MAP"},
                logging={"clusterLogging": [{"types": list(_LOG_TYPES), "enabled": True}]},
                tags={
                    **run.stack.tags,
                    TAG: f"{parameters['ResourceNamePrefix']}-EKS-Cluster",
                },
            )
            break
        except ServiceException as refused:
            if attempt == 5 or "could not be assumed" not in str(refused.message):
                raise
        yield 10.0
    cluster = eks_of(run).cluster(name)
    cluster.description["tags"].update(
        {key: value for key, value in run.tags().items() if key.startswith("aws:cloudformation:")}
    )
    run.made(name, Arn=cluster.description["arn"])
    yield from until(lambda: cluster.status != "CREATING", 15.0)
    if cluster.status != "ACTIVE":
        raise handler_failed(f"Resource {name} is in status {cluster.status}", "NotStabilized")
    run.resource.attributes["OpenIdConnectIssuerUrl"] = cluster.description["identity"]["oidc"]["issuer"]


def _delete_cluster(run: Run) -> Work:
    name = str(run.resource.physical_id)
    eks = eks_of(run)
    if name not in eks.clusters:
        return
    cluster = eks.clusters[name]
    yield from until(lambda: cluster.status not in ("CREATING", "UPDATING"), 15.0)
    if cluster.status != "DELETING":
        try:
            call_eks(run, "DeleteCluster", name=name)
        except ServiceException as refused:
            raise ResourceFailed(reason_of(refused)) from refused
    yield from until(lambda: eks.clusters.get(name) is not cluster, 15.0)


def _update_cluster(run: Run, before: dict[str, Any]) -> Work:
    name = str(run.resource.physical_id)
    cluster = eks_of(run).cluster(name)
    version = run.stack.parameters["KubernetesVersion"]
    cluster.description["tags"].update(run.stack.tags)
    if before.get("Version") != version and cluster.version != version:
        update = call_eks(run, "UpdateClusterVersion", name=name, version=version)["update"]
        yield from until(lambda: update["status"] != "InProgress", 15.0)
    yield 5.0


def addon(logical_id: str, addon: str, depends: tuple[str, ...] = ("EKSCluster",), **asked: Any) -> Part:
    """``AWS::EKS::Addon``, without a version, on the cluster of the stack or of its parameter.

    :param asked: further parameters of CreateAddon; a function is asked for its value when it is made.
    """

    def create(run: Run) -> Work:
        own = run.stack.resources.get("EKSCluster")
        name = str(own.physical_id) if own is not None else run.stack.parameters["EKSClusterName"]
        more = {key: value(run) if callable(value) else value for key, value in asked.items()}
        call_eks(run, "CreateAddon", clusterName=name, addonName=addon, resolveConflicts="OVERWRITE", **more)
        run.made(f"{name}|{addon}")
        cluster = eks_of(run).cluster(name)
        # Before the first node coredns is DEGRADED; the template completes all the same.
        yield from until(lambda: cluster.addons[addon]["status"] != "CREATING")
        if cluster.addons[addon]["status"] not in ("ACTIVE", "DEGRADED"):
            raise handler_failed(
                f"Addon {addon} is in status {cluster.addons[addon]['status']}", "NotStabilized"
            )

    def delete(run: Run) -> Work:
        name, _, _ = str(run.resource.physical_id).partition("|")
        cluster = eks_of(run).clusters.get(name)
        if cluster is None or addon not in cluster.addons or cluster.status == "DELETING":
            return
        call_eks(run, "DeleteAddon", clusterName=name, addonName=addon)
        yield from until(lambda: addon not in cluster.addons)

    return Part(logical_id, "AWS::EKS::Addon", create, delete, depends)


def _parts(stack: Stack) -> list[Part]:
    prefix = stack.parameters["ResourceNamePrefix"]
    name = f"{prefix}-role"
    properties = {
        "Name": cluster_name(stack),
        "SubnetIds": stack.parameters["EksPrivateSubnetIds"],
        "SecurityGroupIds": stack.parameters["SecurityGroupIds"],
        "Version": stack.parameters["KubernetesVersion"],
    }
    return [
        role(
            "ClusterRole",
            "eks.amazonaws.com",
            name=name,
            managed=["AmazonEKSClusterPolicy"],
            tags={TAG: name},
        ),
        Part(
            "EKSCluster",
            "AWS::EKS::Cluster",
            _create_cluster,
            _delete_cluster,
            ("ClusterRole",),
            properties,
            update=_update_cluster,
            create_only=("Name", "SubnetIds", "SecurityGroupIds"),
            tagged=True,
        ),
        *(addon(logical_id, name) for logical_id, name in _ADDONS.items()),
    ]


def _outputs(stack: Stack) -> dict[str, str]:
    cluster = stack.resources["EKSCluster"]
    issuer = str(cluster.attributes["OpenIdConnectIssuerUrl"])
    return {
        "EKSClusterArn": str(cluster.attributes["Arn"]),
        "EKSClusterName": str(cluster.physical_id),
        "OIDCProviderURL": issuer,
        "OIDCProviderURLWithoutProtocol": issuer.removeprefix("https://"),
    }


EKS = Template("eks-template.yaml", "EKS Cluster Stack", _parts, _outputs, named_roles=True)
