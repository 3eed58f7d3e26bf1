"""A stack of AWS's HyperPod template: what it takes, what it makes, how a first create fails."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from mlcc_rehearsal.cloud.cloudformation.contract import load
from tests.unit.rehearsal_cloud.hyperpod_desk import (
    BUCKET,
    CAPABILITIES,
    CLUSTER,
    ROLE,
    STACK,
    TEMPLATE,
    HyperPodDesk,
    worker,
)

TAG = "aws-sagemaker-hyperpod-prerequiste"


@pytest.fixture
def hp(desk: Any) -> HyperPodDesk:
    return HyperPodDesk(desk).prepare()


def named(things: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Things by the value of the template's own, misspelt tag."""
    tags = [({t["Key"]: t["Value"] for t in thing.get("Tags", [])}, thing) for thing in things]
    return {found[TAG]: thing for found, thing in tags if TAG in found}


def test_a_stack_makes_what_the_template_makes(hp: HyperPodDesk) -> None:
    hp.create()
    assert hp.status() == "CREATE_COMPLETE"
    outputs = hp.outputs()
    assert sorted(outputs) == [
        "OutputEKSClusterArn",
        "OutputEKSClusterName",
        "OutputHyperPodClusterArn",
        "OutputHyperPodClusterName",
        "OutputPrivateSubnetIds",
        "OutputSecurityGroupId",
        "OutputVpcId",
    ]
    ec2, vpc = hp.desk.ec2, outputs["OutputVpcId"]
    here = [{"Name": "vpc-id", "Values": [vpc]}]
    subnets = named(ec2.describe_subnets(Filters=here)["Subnets"])
    assert {name: each["CidrBlock"] for name, each in subnets.items()} == {
        f"{STACK}-Public-Subnet1": "10.192.0.0/24",
        f"{STACK}-Public-Subnet2": "10.192.32.0/24",
        f"{STACK}-Private1": "10.1.0.0/16",
        f"{STACK}-Private2": "10.2.0.0/16",
        f"{STACK}-Eks-Private1": "10.192.16.0/24",
        f"{STACK}-Eks-Private2": "10.192.48.0/24",
    }
    assert outputs["OutputPrivateSubnetIds"].split(",") == [
        subnets[f"{STACK}-Private1"]["SubnetId"],
        subnets[f"{STACK}-Private2"]["SubnetId"],
    ]
    gateways = ec2.describe_nat_gateways(Filter=here)["NatGateways"]
    assert [each["SubnetId"] for each in gateways] == [subnets[f"{STACK}-Public-Subnet1"]["SubnetId"]]
    endpoint = ec2.describe_vpc_endpoints(Filters=here)["VpcEndpoints"][0]
    assert endpoint["ServiceName"] == "com.amazonaws.us-west-2.s3"
    assert len(endpoint["RouteTableIds"]) == 4
    cluster = hp.desk.eks.describe_cluster(name=f"{STACK}-eks")["cluster"]
    assert cluster["accessConfig"]["authenticationMode"] == "API_AND_CONFIG_MAP"
    assert [len(each["types"]) for each in cluster["logging"]["clusterLogging"]] == [5]
    assert cluster["tags"][TAG] == f"{STACK}-EKS-Cluster"
    addons = hp.desk.eks.list_addons(clusterName=f"{STACK}-eks")["addons"]
    assert sorted(addons) == ["coredns", "eks-pod-identity-agent", "kube-proxy", "vpc-cni"]
    entries = hp.desk.eks.list_access_entries(clusterName=f"{STACK}-eks")["accessEntries"]
    assert any(entry.endswith(":user/rehearsal-operator") for entry in entries)
    groups = hp.desk.client("logs").describe_log_groups()["logGroups"]
    assert {each["logGroupName"] for each in groups} >= {
        f"/aws/eks/{STACK}-eks/cluster",
        f"/aws/lambda/{STACK}helmfunc",
        f"/aws/lambda/{STACK}hpfunc",
    }
    described = hp.cluster()
    assert described["ClusterArn"] == outputs["OutputHyperPodClusterArn"]
    group = hp.group()
    assert group["ExecutionRole"] == hp.role_arn
    assert group["LifeCycleConfig"] == {"SourceS3Uri": f"s3://{BUCKET}/lifecycle", "OnCreate": "on_create.sh"}


def test_rule_11_eks_subnets_are_for_internal_load_balancers_and_public_ones_carry_no_role(
    hp: HyperPodDesk,
) -> None:
    hp.create()
    subnets = hp.desk.ec2.describe_subnets(
        Filters=[{"Name": "vpc-id", "Values": [hp.outputs()["OutputVpcId"]]}]
    )["Subnets"]
    roles = {
        name: [t["Key"] for t in each["Tags"] if t["Key"].startswith("kubernetes.io/role/")]
        for name, each in named(subnets).items()
    }
    assert roles == {
        f"{STACK}-Public-Subnet1": [],
        f"{STACK}-Public-Subnet2": [],
        f"{STACK}-Private1": [],
        f"{STACK}-Private2": [],
        f"{STACK}-Eks-Private1": ["kubernetes.io/role/internal-elb"],
        f"{STACK}-Eks-Private2": ["kubernetes.io/role/internal-elb"],
    }


def test_nested_stacks_come_in_the_order_of_their_inputs_with_events(hp: HyperPodDesk) -> None:
    stack = hp.create()
    seen = [(e["LogicalResourceId"], e["ResourceStatus"]) for e in hp.events(stack)]
    assert seen[0] == (STACK, "CREATE_IN_PROGRESS")
    assert seen[-1] == (STACK, "CREATE_COMPLETE")
    order = ["VPCStack", "PrivateSubnetStack", "EKSClusterStack", "HelmChartStack"]
    order += ["HyperPodParamClusterStack", "HyperPodClusterStack"]
    for before, after in itertools.pairwise(order):
        assert seen.index((before, "CREATE_COMPLETE")) < seen.index((after, "CREATE_IN_PROGRESS"))
    eks = hp.nested("EKSClusterStack")
    assert hp.stack(eks)["ParentId"] == hp.stack(eks)["RootId"] == stack
    assert ("EKSCluster", "CREATE_COMPLETE") in [
        (e["LogicalResourceId"], e["ResourceStatus"]) for e in hp.events(eks)
    ]
    took = hp.events(stack)[-1]["Timestamp"] - hp.events(stack)[0]["Timestamp"]
    assert 15 * 60 < took.total_seconds() < 30 * 60
    resources = hp.cfn.list_stack_resources(StackName=STACK)["StackResourceSummaries"]
    assert len(resources) == 8
    tagged = hp.desk.client("resourcegroupstaggingapi").get_resources(
        ResourceTypeFilters=["cloudformation:stack"]
    )
    assert tagged["ResourceTagMappingList"] == []


def test_parameters_are_those_of_the_contract(hp: HyperPodDesk, refused: Callable[..., Any]) -> None:
    with refused("ValidationError", "stack-parameters") as seen:
        hp.begin(parameters={"NoSuchThing": "1", "Other": "2"})
    assert seen.text == "Parameters: [NoSuchThing, Other] do not exist in the template"
    with refused("ValidationError", "stack-parameters") as seen:
        hp.begin(parameters={"NodeRecovery": "automatic"})
    assert seen.text == "Parameter 'NodeRecovery' must be one of AllowedValues"
    with refused("ValidationError", "stack-parameters"):
        hp.begin(parameters={"StorageCapacity": "much"})
    with refused("ValidationError", "stack-parameters"):
        hp.begin(parameters={"Tags": "x" * 4097})
    with refused("ValidationError", "stack-parameters"):
        hp.begin(name="9lives")
    with refused("ValidationError", "stack-parameters"):
        hp.begin(Tags=[{"Key": "aws:mine", "Value": "x"}])
    assert hp.cfn.list_stacks()["StackSummaries"] == []


def test_missing_capabilities_are_named(hp: HyperPodDesk, refused: Callable[..., Any]) -> None:
    with refused("InsufficientCapabilitiesException", "stack-capabilities") as seen:
        hp.begin(Capabilities=["CAPABILITY_NAMED_IAM"])
    assert seen.text == "Requires capabilities : [CAPABILITY_AUTO_EXPAND]"
    with refused("InsufficientCapabilitiesException", "stack-capabilities") as seen:
        hp.begin(Capabilities=["CAPABILITY_IAM"])
    assert seen.text == "Requires capabilities : [CAPABILITY_NAMED_IAM, CAPABILITY_AUTO_EXPAND]"


def test_a_template_comes_from_an_address_that_can_be_read(
    hp: HyperPodDesk, refused: Callable[..., Any]
) -> None:
    with refused("ValidationError", "template-url") as seen:
        hp.begin(TemplateURL="http://example.com/main-stack-eks-based-template.yaml")
    assert seen.text == "TemplateURL must be a supported URL."
    with refused("ValidationError", "template-url") as seen:
        hp.begin(TemplateURL=TEMPLATE.replace("us-west-2", "mars-north-1"))
    assert "The specified bucket does not exist" in seen.text
    with refused("ValidationError", "template-url") as seen:
        hp.begin(TemplateURL=f"https://{BUCKET}.s3.us-west-2.amazonaws.com/templates/other.yaml")
    assert "The specified key does not exist" in seen.text


def test_a_template_body_has_a_length(hp: HyperPodDesk, refused: Callable[..., Any]) -> None:
    text = (
        hp.desk.client("s3")
        .get_object(
            Bucket="aws-sagemaker-hyperpod-cluster-setup-us-west-2-prod",
            Key="templates/main-stack-eks-based-template.yaml",
        )["Body"]
        .read()
    )
    assert len(text) > 51_200
    with refused("ValidationError", "template-body-length"):
        hp.cfn.create_stack(StackName="by-body", TemplateBody=text.decode(), Capabilities=CAPABILITIES)


def test_other_templates_are_made_by_moto_under_names_of_their_own(
    hp: HyperPodDesk, refused: Callable[..., Any]
) -> None:
    body = json.dumps({"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}})
    hp.cfn.create_stack(StackName="other", TemplateBody=body)
    assert hp.status("other") == "CREATE_COMPLETE"
    with refused("AlreadyExistsException", "stack-exists"):
        hp.begin("other")
    hp.begin()
    with refused("AlreadyExistsException", "stack-exists") as seen:
        hp.cfn.create_stack(StackName=STACK, TemplateBody=body)
    assert seen.text == f"Stack [{STACK}] already exists"
    assert {each["StackName"] for each in hp.cfn.list_stacks()["StackSummaries"]} >= {"other", STACK}


def test_rule_21_a_combination_that_breaks_the_template_is_refused(
    hp: HyperPodDesk, refused: Callable[..., Any]
) -> None:
    with refused("ValidationError", "template-references") as seen:
        hp.begin(parameters={"EnableHPInferenceFeature": "true", "CreateHyperPodClusterStack": "false"})
    assert "Unresolved resource dependencies [HyperPodClusterStack]" in seen.text


def test_a_first_create_that_fails_rolls_back_and_says_why_two_levels_down(
    hp: HyperPodDesk, refused: Callable[..., Any]
) -> None:
    """The laws "stack-rollback-complete", "stack-nested-reason" and "hyperpod-stack-bucket"."""
    stack = hp.create(parameters={"S3BucketName": "sagemaker-not-there"})
    found = hp.stack(stack)
    assert found["StackStatus"] == "ROLLBACK_COMPLETE"
    assert found["Outputs"] == []
    [(where, reason)] = hp.failures(stack)
    assert where == "HyperPodParamClusterStack"
    assert "The following resource(s) failed to create: [HpLambdaCustomResource]. " in reason
    nested = hp.nested("HyperPodParamClusterStack", stack)
    assert hp.status(nested) == "DELETE_COMPLETE"
    [(where, reason)] = hp.failures(nested)
    assert where == "HpLambdaCustomResource"
    assert "(NoSuchBucket)" in reason
    with refused("ValidationError", "stack-rollback-complete") as seen:
        hp.cfn.update_stack(StackName=STACK, UsePreviousTemplate=True, Capabilities=CAPABILITIES)
    assert seen.text == f"Stack:{stack} is in ROLLBACK_COMPLETE state and can not be updated."
    with refused("AlreadyExistsException"):
        hp.begin()
    hp.cfn.delete_stack(StackName=STACK)
    assert hp.settle(stack)["StackStatus"] == "DELETE_COMPLETE"
    hp.create()
    assert hp.status() == "CREATE_COMPLETE"


def test_on_failure_decides_what_becomes_of_a_failed_create(hp: HyperPodDesk) -> None:
    kept = hp.create(parameters={"KubernetesVersion": "1.20"}, OnFailure="DO_NOTHING")
    assert hp.status(kept) == "CREATE_FAILED"
    assert "unsupported Kubernetes version" in hp.failures(hp.nested("EKSClusterStack", kept))[0][1]
    hp.cfn.delete_stack(StackName=kept)
    hp.settle(kept)
    gone = hp.create(parameters={"KubernetesVersion": "1.20"}, OnFailure="DELETE")
    assert hp.status(gone) == "DELETE_COMPLETE"


def test_zone_ids_are_those_of_the_region(hp: HyperPodDesk) -> None:
    """The law "hyperpod-stack-zones": the template's default is of us-east-2."""
    stack = hp.create(parameters={"AvailabilityZoneIds": "use2-az1,use2-az2"})
    assert hp.status(stack) == "ROLLBACK_COMPLETE"
    reasons = [reason for _, reason in hp.failures(hp.nested("VPCStack", stack))]
    assert "Value (use2-az1) for parameter availabilityZoneId is invalid" in reasons[0]
    assert any(reason == "Resource creation cancelled" for reason in reasons) or len(reasons) > 1


def test_two_stacks_with_one_prefix_collide(hp: HyperPodDesk) -> None:
    """The law "hyperpod-stack-prefix"."""
    hp.create()
    second = hp.create("second", {"HyperPodClusterName": "second", "EKSClusterName": "second"})
    assert hp.status(second) == "ROLLBACK_COMPLETE"
    assert "already exists" in hp.failures(hp.nested("EKSClusterStack", second))[0][1]


def test_group_settings_share_four_kilobytes(hp: HyperPodDesk) -> None:
    """The law "hyperpod-stack-environment"."""
    padded = json.dumps([worker(KubernetesConfig={"Labels": {"a": "x" * 60}})])
    many = {f"InstanceGroupSettings{n}": padded.replace("default", f"d{n}") for n in range(1, 19)}
    stack = hp.create(parameters=many)
    assert hp.status(stack) == "ROLLBACK_COMPLETE"
    nested = hp.nested("HyperPodParamClusterStack", stack)
    assert "exceeded the 4KB limit" in hp.failures(nested)[0][1]


def test_a_fault_can_strike_a_resource_of_a_stack(hp: HyperPodDesk) -> None:
    fault = {
        "service": "cloudformation-resource",
        "operation": "HelmCustomResource",
        "code": "InternalFailure",
    }
    hp.desk.cloud.faults.add([fault])
    stack = hp.create()
    assert hp.status(stack) == "ROLLBACK_COMPLETE"
    assert hp.failures(hp.nested("HelmChartStack", stack))[0][0] == "HelmCustomResource"


def test_faults_of_other_services_strike_the_calls_of_a_stack(hp: HyperPodDesk) -> None:
    message = "EKS is having a bad day"
    fault = {"service": "eks", "operation": "CreateCluster", "code": "ServerException", "message": message}
    hp.desk.cloud.faults.add([fault])
    stack = hp.create()
    assert hp.status(stack) == "ROLLBACK_COMPLETE"
    assert message in hp.failures(hp.nested("EKSClusterStack", stack))[0][1]


def test_a_stack_can_bring_bucket_role_and_script_of_its_own(desk: Any) -> None:
    """As others make it; the laws "hyperpod-stack-buckets" and "hyperpod-stack-empties-bucket"."""
    hp = HyperPodDesk(desk)
    own = ("CreateS3BucketStack", "CreateLifeCycleScriptStack", "CreateSageMakerIAMRoleStack")
    stack = hp.create(parameters=dict.fromkeys(own, "true"))
    assert hp.status() == "CREATE_COMPLETE"
    assert hp.outputs()["OutputS3BucketName"] == f"{STACK}-bucket"
    assert hp.outputs()["OutputSageMakerIAMRoleArn"].endswith(f":role/{STACK}ExecRole")
    desk.pass_time(600)
    assert hp.group()["CurrentCount"] == 2
    s3 = desk.client("s3")
    s3.put_object(Bucket=f"{STACK}-bucket", Key="mine", Body=b"x")
    hp.cfn.delete_stack(StackName=STACK)
    assert hp.settle(stack)["StackStatus"] == "DELETE_FAILED"
    assert [each["Name"] for each in s3.list_buckets()["Buckets"]] == [f"{STACK}-logs"]
    [(where, reason)] = hp.failures(hp.nested("S3BucketStack", stack))
    assert (where, "BucketNotEmpty" in reason) == ("S3LogsBucket", True)
    for each in s3.list_objects_v2(Bucket=f"{STACK}-logs")["Contents"]:
        s3.delete_object(Bucket=f"{STACK}-logs", Key=each["Key"])
    hp.cfn.delete_stack(StackName=stack)
    assert hp.settle(stack)["StackStatus"] == "DELETE_COMPLETE"


def test_groups_are_put_together_as_the_function_does(hp: HyperPodDesk) -> None:
    groups = {
        "InstanceGroupSettings1": json.dumps([[worker(0)]]),
        "InstanceGroupSettings2": "not json",
        "InstanceGroupSettings3": json.dumps(
            [
                {
                    "InstanceGroupName": "gpu",
                    "InstanceRequirements": {"InstanceTypes": ["ml.g5.8xlarge", "ml.g5.12xlarge"]},
                    "InstanceCount": 1,
                    "TargetAvailabilityZoneId": "usw2-az2",
                }
            ]
        ),
    }
    hp.create(parameters={**groups, "Tags": "team=a,stage=b"})
    outputs = hp.outputs()
    assert [each["InstanceGroupName"] for each in hp.cluster()["InstanceGroups"]] == ["default-worker", "gpu"]
    override = hp.group("gpu")["OverrideVpcConfig"]
    assert override["Subnets"] == [outputs["OutputPrivateSubnetIds"].split(",")[1]]
    assert override["SecurityGroupIds"] == [outputs["OutputSecurityGroupId"]]
    tags = hp.sagemaker.list_tags(ResourceArn=outputs["OutputHyperPodClusterArn"])["Tags"]
    assert tags == [{"Key": "team", "Value": "a"}, {"Key": "stage", "Value": "b"}]
    body = hp.desk.client("s3").get_object(Bucket=BUCKET, Key="hyperpod-cluster-template.yaml")["Body"].read()
    assert CLUSTER.encode() in body


def test_the_api_describes_the_template(hp: HyperPodDesk) -> None:
    summary = hp.cfn.get_template_summary(TemplateURL=TEMPLATE)
    assert len(summary["Parameters"]) == len(load().parameters) == 150
    assert summary["Capabilities"] == CAPABILITIES
    valid = hp.cfn.validate_template(TemplateURL=TEMPLATE)
    assert valid["DeclaredTransforms"] == ["AWS::LanguageExtensions"]
    hp.begin()
    assert "AMPRegionMapping" in str(hp.cfn.get_template(StackName=STACK)["TemplateBody"])


def test_a_mirror_takes_the_place_of_the_bucket_of_aws(hp: HyperPodDesk) -> None:
    s3, source = hp.desk.client("s3"), "aws-sagemaker-hyperpod-cluster-setup-us-west-2-prod"
    mirror = "mlcc-hp-templates-demo"
    s3.create_bucket(Bucket=mirror, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=source):
        for each in page["Contents"]:
            body = s3.get_object(Bucket=source, Key=each["Key"])["Body"].read()
            s3.put_object(Bucket=mirror, Key=each["Key"], Body=body)
    url = f"https://{mirror}.s3.us-west-2.amazonaws.com/templates/main-stack-eks-based-template.yaml"
    hp.create(parameters={"CustomBucketName": mirror}, TemplateURL=url)
    assert hp.status() == "CREATE_COMPLETE"
    s3.delete_object(Bucket=mirror, Key="resources/artifacts/hp-lambda-function.zip")
    second = {"CustomBucketName": mirror, "ResourceNamePrefix": "two-hp", "HyperPodClusterName": "two"}
    stack = hp.create("two-hp", second, TemplateURL=url)
    assert hp.status(stack) == "ROLLBACK_COMPLETE"
    assert "The specified key does not exist" in hp.failures(stack)[0][1]


def test_without_a_role_of_its_own_the_stack_acts_as_its_caller(hp: HyperPodDesk) -> None:
    other = hp.desk.cloud.add_identity("somebody")
    hp.desk.client("cloudformation", other).create_stack(
        StackName=STACK, TemplateURL=TEMPLATE, Parameters=hp.parameters(), Capabilities=CAPABILITIES
    )
    hp.settle(STACK)
    entries = hp.desk.eks.list_access_entries(clusterName=f"{STACK}-eks")["accessEntries"]
    assert any(entry.endswith(":user/somebody") for entry in entries)
    assert not any(entry.endswith(":user/rehearsal-operator") for entry in entries)
    assert f"arn:aws:iam::{hp.desk.cloud.account.account_id}:role/{ROLE}" not in entries


def test_a_creation_is_stopped_when_its_minutes_are_over(hp: HyperPodDesk) -> None:
    """The law "stack-timeout": in the middle of a nested stack that takes longer than all of it may."""
    stack = hp.begin(TimeoutInMinutes=8)
    hp.desk.pass_time(8 * 60 + 30)
    assert hp.status(stack) == "ROLLBACK_IN_PROGRESS"
    assert hp.settle(stack)["StackStatus"] == "ROLLBACK_COMPLETE"
    [event] = [e for e in hp.events(stack) if e["ResourceStatus"] == "ROLLBACK_IN_PROGRESS"]
    assert event["ResourceStatusReason"] == (
        "Stack creation time exceeded the specified timeout. Rollback requested by user."
    )
    began = hp.events(stack)[0]["Timestamp"]
    assert 480 <= (event["Timestamp"] - began).total_seconds() < 500
    assert ("EKSClusterStack", "Resource creation cancelled") in hp.failures(stack)
    assert hp.desk.eks.list_clusters()["clusters"] == []


def test_a_creation_within_its_minutes_is_left_alone(hp: HyperPodDesk) -> None:
    stack = hp.create(TimeoutInMinutes=90)
    assert hp.status(stack) == "CREATE_COMPLETE"
    hp.desk.pass_time(100 * 60)
    assert hp.status(stack) == "CREATE_COMPLETE"


def test_a_fault_can_strike_a_deletion(hp: HyperPodDesk) -> None:
    stack = hp.create()
    fault = {
        "service": "cloudformation-resource",
        "operation": "S3EndpointStack",
        "match": {"Action": "Delete"},
        "calls": [1],
        "code": "DependencyViolation",
        "message": "not now",
    }
    hp.desk.cloud.account.faults.add([fault])
    hp.cfn.delete_stack(StackName=STACK)
    assert hp.settle(stack)["StackStatus"] == "DELETE_FAILED"
    [(where, reason)] = hp.failures(stack)
    assert where == "S3EndpointStack"
    assert "not now" in reason
    hp.cfn.delete_stack(StackName=STACK)
    assert hp.settle(stack)["StackStatus"] == "DELETE_COMPLETE"
    with pytest.raises(ValueError, match="Create or Delete"):
        hp.desk.cloud.account.faults.add([{**fault, "match": {"Action": "Update"}}])
