"""Stacks of AWS's HyperPod template being updated and deleted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.rehearsal_cloud.hyperpod_desk import (
    BUCKET,
    CAPABILITIES,
    CLUSTER,
    STACK,
    HyperPodDesk,
    worker,
)

FROZEN = (
    "HyperPodClusterStack",
    "HyperPodParamClusterStack",
    "EKSClusterStack",
    "PrivateSubnetStack",
    "VPCStack",
)


@pytest.fixture
def hp(desk: Any) -> HyperPodDesk:
    made = HyperPodDesk(desk).prepare()
    made.create()
    assert made.status() == "CREATE_COMPLETE"
    return made


def update(hp: HyperPodDesk, changed: dict[str, str] | None = None, **options: Any) -> dict[str, Any]:
    hp.cfn.update_stack(
        StackName=STACK,
        UsePreviousTemplate=True,
        Parameters=hp.parameters(**(changed or {})),
        Capabilities=CAPABILITIES,
        **options,
    )
    return hp.settle(STACK)


def policy(*denied: str) -> str:
    statements: list[dict[str, Any]] = [
        {"Effect": "Allow", "Action": "Update:*", "Principal": "*", "Resource": "*"}
    ]
    resources = [f"LogicalResourceId/{each}" for each in denied]
    statements.append({"Effect": "Deny", "Action": "Update:*", "Principal": "*", "Resource": resources})
    return json.dumps({"Statement": statements})


def test_custom_resources_are_deaf_to_changed_groups(hp: HyperPodDesk) -> None:
    """The law "hyperpod-stack-deaf"."""
    arn = hp.cluster()["ClusterArn"]
    found = update(hp, {"InstanceGroupSettings1": json.dumps([worker(5)])})
    assert found["StackStatus"] == "UPDATE_COMPLETE"
    assert hp.cluster()["ClusterArn"] == arn
    assert hp.group()["TargetCount"] == 2
    changed = {
        e["LogicalResourceId"]
        for e in hp.events(hp.nested("HyperPodParamClusterStack"))
        if e["ResourceStatus"].startswith("UPDATE")
    }
    assert "hyperPodCustomResourceFunction" in changed
    assert "HpLambdaCustomResource" not in changed


def test_a_tag_edit_sends_the_groups_of_the_day_the_stack_was_made(hp: HyperPodDesk) -> None:
    """The law "hyperpod-stack-update-resends"."""
    hp.desk.pass_time(600)
    group = hp.group()
    grown = {
        "InstanceGroupName": "default-worker",
        "InstanceType": "ml.c5.4xlarge",
        "InstanceCount": 4,
        "ExecutionRole": group["ExecutionRole"],
        "LifeCycleConfig": group["LifeCycleConfig"],
    }
    hp.sagemaker.update_cluster(ClusterName=CLUSTER, InstanceGroups=[grown])
    hp.desk.pass_time(600)
    assert hp.group()["CurrentCount"] == 4
    found = update(hp, Tags=[{"Key": "team", "Value": "a"}])
    assert found["StackStatus"] == "UPDATE_COMPLETE"
    hp.desk.pass_time(600)
    assert (hp.group()["TargetCount"], hp.group()["CurrentCount"]) == (2, 2)
    tags = hp.sagemaker.list_tags(ResourceArn=hp.cluster()["ClusterArn"])["Tags"]
    assert {"Key": "team", "Value": "a"} in tags


def test_the_generated_template_is_read_again_whoever_wrote_it(hp: HyperPodDesk) -> None:
    """The law "hyperpod-stack-bucket": who writes last to the bucket decides about the other cluster."""
    other = {"ResourceNamePrefix": "two-hp", "HyperPodClusterName": "two"}
    hp.create("two-hp", {**other, "VpcCIDR": "10.1.0.0/16"})
    assert hp.status("two-hp") == "CREATE_COMPLETE"
    changes = change_set(hp, {"OnCreatePath": "lifecycle/other.sh"})
    nested = next(
        each["ResourceChange"]
        for each in changes
        if each["ResourceChange"]["LogicalResourceId"] == "HyperPodClusterStack"
    )
    inner = hp.cfn.describe_change_set(ChangeSetName=nested["ChangeSetId"])["Changes"][0]["ResourceChange"]
    assert (inner["LogicalResourceId"], inner["Replacement"]) == ("NewHyperPodCluster", "True")


def change_set(hp: HyperPodDesk, changed: dict[str, str]) -> list[dict[str, Any]]:
    hp.cfn.create_change_set(
        StackName=STACK,
        ChangeSetName="next",
        UsePreviousTemplate=True,
        Parameters=hp.parameters(**changed),
        Capabilities=CAPABILITIES,
        IncludeNestedStacks=True,
    )
    hp.desk.pass_time(60)
    found = hp.cfn.describe_change_set(ChangeSetName="next", StackName=STACK)
    assert found["Status"] == "CREATE_COMPLETE", found
    return list(found["Changes"])


def test_a_change_set_shows_nested_changes_and_is_executed_once(
    hp: HyperPodDesk, refused: Callable[..., Any]
) -> None:
    changes = change_set(hp, {"KubernetesVersion": "1.36"})
    assert [each["ResourceChange"]["LogicalResourceId"] for each in changes] == ["EKSClusterStack"]
    inner = hp.cfn.describe_change_set(ChangeSetName=changes[0]["ResourceChange"]["ChangeSetId"])
    [cluster] = [each["ResourceChange"] for each in inner["Changes"]]
    assert (cluster["LogicalResourceId"], cluster["Replacement"]) == ("EKSCluster", "False")
    hp.cfn.execute_change_set(ChangeSetName="next", StackName=STACK)
    assert hp.settle(STACK)["StackStatus"] == "UPDATE_COMPLETE"
    assert hp.desk.eks.describe_cluster(name=f"{STACK}-eks")["cluster"]["version"] == "1.36"
    with refused("InvalidChangeSetStatus", "change-set-state"):
        hp.cfn.execute_change_set(ChangeSetName="next", StackName=STACK)
    summaries = hp.cfn.list_change_sets(StackName=STACK)["Summaries"]
    assert [each["ExecutionStatus"] for each in summaries] == ["EXECUTE_COMPLETE"]


def test_a_change_set_without_changes_fails_and_can_be_deleted(hp: HyperPodDesk) -> None:
    hp.cfn.create_change_set(
        StackName=STACK, ChangeSetName="none", UsePreviousTemplate=True, Capabilities=CAPABILITIES,
        Parameters=hp.parameters(),
    )  # fmt: skip
    hp.desk.pass_time(60)
    found = hp.cfn.describe_change_set(ChangeSetName="none", StackName=STACK)
    assert found["Status"] == "FAILED"
    assert found["StatusReason"].startswith("The submitted information didn't contain changes.")
    hp.cfn.delete_change_set(ChangeSetName="none", StackName=STACK)
    assert hp.cfn.list_change_sets(StackName=STACK)["Summaries"] == []


def test_a_stack_policy_stops_an_update_at_the_resource(hp: HyperPodDesk) -> None:
    """The law "stack-policy"; rule 6: what is frozen stays."""
    hp.cfn.set_stack_policy(StackName=STACK, StackPolicyBody=policy(*FROZEN))
    assert "Deny" in hp.cfn.get_stack_policy(StackName=STACK)["StackPolicyBody"]
    found = update(hp, {"KubernetesVersion": "1.36"})
    assert found["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    [(where, reason)] = hp.failures(hp.stack()["StackId"])
    assert where == "EKSClusterStack"
    assert reason.startswith("Action denied by stack policy: ")
    assert hp.desk.eks.describe_cluster(name=f"{STACK}-eks")["cluster"]["version"] == "1.35"
    allowed = json.loads(policy())["Statement"][:1]
    during = json.dumps({"Statement": allowed})
    found = update(hp, {"KubernetesVersion": "1.36"}, StackPolicyDuringUpdateBody=during)
    assert found["StackStatus"] == "UPDATE_COMPLETE"


def test_an_update_that_changes_nothing_is_refused(hp: HyperPodDesk, refused: Callable[..., Any]) -> None:
    with refused("ValidationError", "stack-no-updates") as seen:
        update(hp)
    assert seen.text == "No updates are to be performed."
    with refused("InsufficientCapabilitiesException", "stack-capabilities"):
        hp.cfn.update_stack(
            StackName=STACK,
            UsePreviousTemplate=True,
            Parameters=hp.parameters(KubernetesVersion="1.36"),
        )


def test_a_stack_being_changed_refuses_further_changes(hp: HyperPodDesk, refused: Callable[..., Any]) -> None:
    hp.cfn.update_stack(
        StackName=STACK,
        UsePreviousTemplate=True,
        Parameters=hp.parameters(KubernetesVersion="1.36"),
        Capabilities=CAPABILITIES,
    )
    with refused("ValidationError", "stack-state") as seen:
        update(hp, {"KubernetesVersion": "1.35"})
    assert "is in UPDATE_IN_PROGRESS state and can not be updated." in seen.text
    with refused("ValidationError", "stack-state") as seen:
        hp.cfn.delete_stack(StackName=STACK)
    assert seen.text == f"Stack [{STACK}] cannot be deleted while in status UPDATE_IN_PROGRESS"
    hp.settle(STACK)


def test_a_failed_rollback_goes_on_without_what_is_skipped(hp: HyperPodDesk) -> None:
    # The new version cannot be undone: EKS goes up only.
    changed = {"KubernetesVersion": "1.36", "S3BucketName": "sagemaker-not-there", "HyperPodClusterName": "x"}
    hp.desk.client("s3").delete_object(Bucket=BUCKET, Key="hyperpod-cluster-template.yaml")
    found = update(hp, changed)
    assert found["StackStatus"] == "UPDATE_ROLLBACK_FAILED"
    failed = found["StackStatusReason"]
    assert "EKSClusterStack" in failed
    hp.cfn.continue_update_rollback(
        StackName=STACK, ResourcesToSkip=["EKSClusterStack", "HyperPodClusterStack"]
    )
    assert hp.settle(STACK)["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"


def test_another_prefix_replaces_both_clusters(hp: HyperPodDesk) -> None:
    changes = change_set(hp, {"ResourceNamePrefix": "other-hp"})
    nested = {each["ResourceChange"]["LogicalResourceId"]: each["ResourceChange"] for each in changes}
    inner = hp.cfn.describe_change_set(ChangeSetName=nested["EKSClusterStack"]["ChangeSetId"])["Changes"]
    replaced = {
        each["ResourceChange"]["LogicalResourceId"]
        for each in inner
        if each["ResourceChange"].get("Replacement") == "True"
    }
    assert replaced >= {"EKSCluster", "ClusterRole"}


def test_deleting_a_stack_frees_its_names_and_leaves_log_groups(hp: HyperPodDesk) -> None:
    stack, vpc = hp.stack()["StackId"], hp.outputs()["OutputVpcId"]
    arn = hp.cluster()["ClusterArn"]
    hp.desk.pass_time(600)
    logs = hp.desk.client("logs")
    name = f"/aws/eks/{STACK}-eks/cluster"
    logs.delete_log_group(logGroupName=name)
    hp.desk.pass_time(90)
    assert logs.describe_log_groups(logGroupNamePrefix=name)["logGroups"], "the control plane writes again"
    hp.cfn.delete_stack(StackName=STACK)
    assert hp.settle(stack, step=5)["StackStatus"] == "DELETE_COMPLETE"
    with pytest.raises(hp.cfn.exceptions.ClientError, match="does not exist"):
        hp.stack()
    seen = [(e["LogicalResourceId"], e["ResourceStatus"]) for e in hp.events(stack)]
    for before, after in (
        ("HyperPodClusterStack", "EKSClusterStack"),
        ("EKSClusterStack", "PrivateSubnetStack"),
        ("PrivateSubnetStack", "VPCStack"),
    ):
        assert seen.index((before, "DELETE_COMPLETE")) < seen.index((after, "DELETE_IN_PROGRESS"))
    assert vpc not in {each["VpcId"] for each in hp.desk.ec2.describe_vpcs()["Vpcs"]}
    keys = hp.desk.client("s3").list_objects_v2(Bucket=BUCKET)["Contents"]
    assert [each["Key"] for each in keys] == ["lifecycle/on_create.sh"]
    left = {each["logGroupName"] for each in logs.describe_log_groups()["logGroups"]}
    assert {f"/aws/lambda/{STACK}hpfunc", f"/aws/lambda/{STACK}helmfunc", name} <= left
    for each in left:
        logs.delete_log_group(logGroupName=each)
    hp.desk.pass_time(60)
    assert [each["logGroupName"] for each in logs.describe_log_groups()["logGroups"]] == [name]
    logs.delete_log_group(logGroupName=name)
    hp.desk.pass_time(300)
    assert logs.describe_log_groups()["logGroups"] == []
    again = hp.create()
    assert again != stack
    assert hp.cluster()["ClusterArn"] != arn


def test_interfaces_and_groups_that_others_left_fail_a_deletion(
    hp: HyperPodDesk, refused: Callable[..., Any]
) -> None:
    """The law "stack-delete-failed"; "stack-retain-state": retaining is for stacks in DELETE_FAILED."""
    stack = hp.stack()["StackId"]
    with refused("ValidationError", "stack-retain-state"):
        hp.cfn.delete_stack(StackName=STACK, RetainResources=["VPCStack"])
    subnet = hp.outputs()["OutputPrivateSubnetIds"].split(",")[0]
    interface = hp.desk.ec2.create_network_interface(SubnetId=subnet)["NetworkInterface"]
    hp.cfn.delete_stack(StackName=STACK)
    found = hp.settle(stack)
    assert found["StackStatus"] == "DELETE_FAILED"
    assert found["StackStatusReason"] == "The following resource(s) failed to delete: [PrivateSubnetStack]. "
    nested = hp.nested("PrivateSubnetStack", stack)
    [(where, reason)] = hp.failures(nested)
    assert where == "PrivateSubnet1"
    assert f"The subnet '{subnet}' has dependencies and cannot be deleted." in reason
    hp.desk.ec2.delete_network_interface(NetworkInterfaceId=interface["NetworkInterfaceId"])
    hp.cfn.delete_stack(StackName=stack)
    assert hp.settle(stack)["StackStatus"] == "DELETE_COMPLETE"


def test_what_failed_to_be_deleted_can_be_retained(hp: HyperPodDesk) -> None:
    stack, vpc = hp.stack()["StackId"], hp.outputs()["OutputVpcId"]
    group = hp.desk.ec2.create_security_group(GroupName="k8s-left", Description="left", VpcId=vpc)["GroupId"]
    rule = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": hp.outputs()["OutputSecurityGroupId"]}]}
    hp.desk.ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[rule])
    hp.cfn.delete_stack(StackName=STACK)
    assert hp.settle(stack)["StackStatus"] == "DELETE_FAILED"
    assert "DependencyViolation" in hp.failures(hp.nested("SecurityGroupStack", stack))[0][1]
    hp.cfn.delete_stack(StackName=stack, RetainResources=["SecurityGroupStack", "VPCStack"])
    assert hp.settle(stack)["StackStatus"] == "DELETE_COMPLETE"
    assert hp.status(hp.nested("SecurityGroupStack", stack)) == "DELETE_FAILED"
    assert vpc in {each["VpcId"] for each in hp.desk.ec2.describe_vpcs()["Vpcs"]}


def test_termination_protection_keeps_a_stack(hp: HyperPodDesk, refused: Callable[..., Any]) -> None:
    hp.cfn.update_termination_protection(StackName=STACK, EnableTerminationProtection=True)
    assert hp.stack()["EnableTerminationProtection"] is True
    with refused("ValidationError", "stack-termination-protection"):
        hp.cfn.delete_stack(StackName=STACK)
    hp.cfn.update_termination_protection(StackName=STACK, EnableTerminationProtection=False)
    hp.cfn.delete_stack(StackName=STACK)
    hp.cfn.delete_stack(StackName="never-was")


def test_a_create_in_progress_can_be_deleted(desk: Any) -> None:
    hp = HyperPodDesk(desk).prepare()
    stack = hp.begin(Tags=[{"Key": "team", "Value": "a"}])
    desk.pass_time(400)
    assert hp.nested("EKSClusterStack", stack)
    found = desk.client("resourcegroupstaggingapi").get_resources(
        TagFilters=[{"Key": "team", "Values": ["a"]}], ResourceTypeFilters=["cloudformation:stack"]
    )["ResourceTagMappingList"]
    assert stack in {each["ResourceARN"] for each in found}
    hp.cfn.delete_stack(StackName=STACK)
    assert hp.settle(stack)["StackStatus"] == "DELETE_COMPLETE"
    assert desk.eks.list_clusters()["clusters"] == []
    assert len(desk.ec2.describe_vpcs()["Vpcs"]) == 1
