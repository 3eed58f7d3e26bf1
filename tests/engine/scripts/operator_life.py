"""The life of stack mlcc-operator on a cluster that somebody else made, played inside a rehearsal.

Usage: operator_life.py FILE. The operator's watcher does not come at first.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import boto3

sys.path.insert(0, str(Path(__file__).parents[3]))

from mlcc_infra.naming import Names
from mlcc_infra.policies import SERVICE_ROLES, RoleContext
from mlcc_infra.profile import Profile, load_profile
from mlcc_infra.template import CAPABILITIES, profile_template_url, stack_policy, template_parameters
from mlcc_infra.template.lifecycle import SCRIPT, SCRIPT_KEY
from tests.engine.account_listing import list_account
from tests.engine.scripts.hyperpod_acts import ACCOUNT, REGION, Play, faults, hyperpod, issuer, trust, until

EXECUTION_ROLE = "SageMakerHyperPodInference-operator"
NO_WATCHER = {
    "service": "sagemaker",
    "operation": "UpdateClusterInference",
    "effect": "error",
    "code": "ThrottlingException",
    "message": "Rate exceeded",
}


def their_profile() -> Profile:
    """Somebody else's settings; the stack is none of ours."""
    floor = {"name": "default-worker", "instanceType": "ml.c5.4xlarge", "instanceCount": 2}
    configuration = {
        "aws:region": REGION,
        "mlcc:targets": '["hyperpod-eks"]',
        "mlcc:hyperpod": json.dumps({"instanceGroups": [floor]}),
    }
    return load_profile(configuration, "theirs", environ={})


def make_cluster(profile: Profile, names: Names) -> None:
    """Role, bucket and stack, as somebody would make them by hand from AWS's template."""
    iam, s3, cloudformation = boto3.client("iam"), boto3.client("s3"), boto3.client("cloudformation")
    entry, context = SERVICE_ROLES["hyperpod-instance-role"], RoleContext(names=names)
    role = names.hyperpod_instance_role
    iam.create_role(RoleName=role, AssumeRolePolicyDocument=json.dumps(entry.trust(context, None)))
    for arn in entry.managed_policy_arns(context):
        iam.attach_role_policy(RoleName=role, PolicyArn=arn)
    for name, document in entry.inline(context).items():
        iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=json.dumps(document))
    s3.create_bucket(Bucket=names.lifecycle_bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
    s3.put_object(Bucket=names.lifecycle_bucket, Key=SCRIPT_KEY, Body=SCRIPT.encode())
    parameters = template_parameters(profile, names, zones=("usw2-az1", "usw2-az2"))
    cloudformation.create_stack(
        StackName=names.hyperpod_stack,
        TemplateURL=profile_template_url(profile),
        Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
        Capabilities=list(CAPABILITIES),
        StackPolicyBody=stack_policy(),
    )
    until(lambda: stack_status(names) != "CREATE_IN_PROGRESS")
    if stack_status(names) != "CREATE_COMPLETE":
        raise RuntimeError(f"their stack is {stack_status(names)}")
    until(
        lambda: all(
            group["CurrentCount"] == 2 for group in hyperpod(names.hyperpod_cluster)["InstanceGroups"]
        )
    )


def stack_status(names: Names) -> str:
    stacks = boto3.client("cloudformation").describe_stacks(StackName=names.hyperpod_stack)["Stacks"]
    return str(stacks[0]["StackStatus"])


def use_their_cluster(play: Play) -> None:
    """Make somebody's cluster, and put its names into the stack's settings."""
    profile = their_profile()
    names = profile.names(ACCOUNT)
    make_cluster(profile, names)
    play.note("theirs", {"account": list_account()})
    play.set("mlcc:operator.cluster.eksClusterName", names.hyperpod_eks_cluster)
    arn = hyperpod(names.hyperpod_cluster)["ClusterArn"]
    play.set("mlcc:operator.cluster.hyperPodClusterArn", arn)


def main() -> None:
    play = Play("mlcc-operator", sys.argv[1])
    names = their_profile().names(ACCOUNT)
    with play.written():
        use_their_cluster(play)
        arn = hyperpod(names.hyperpod_cluster)["ClusterArn"]

        faults(NO_WATCHER)
        play.up("without a watcher")
        play.set("mlcc:operator.verify", "strict")
        play.up("strict")
        faults()
        play.up("with a watcher")
        play.up("no-op up", "--expect-no-changes")
        play.note(
            "cluster",
            {"issuer": issuer(names.hyperpod_eks_cluster), "trust": trust(EXECUTION_ROLE), "arn": arn},
        )
        play.destroy("destroy")
        play.note("retained", play.retained())
        play.up("up again")


if __name__ == "__main__":
    main()
