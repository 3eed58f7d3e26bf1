"""What the tests of CloudFormation and HyperPod have in common: a role, a bucket, parameters, a stack."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

TEMPLATE = (
    "https://aws-sagemaker-hyperpod-cluster-setup-us-west-2-prod.s3.us-west-2.amazonaws.com/templates/"
    "main-stack-eks-based-template.yaml"
)
CAPABILITIES = ["CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
BUCKET, ROLE, SCRIPT = "sagemaker-demo-0123abcd", "demo-instance-role", "lifecycle/on_create.sh"
STACK, CLUSTER = "demo-hp", "demo-hyperpod"
# Source: SageMaker developer guide, HyperPod IAM, the policy for EKS.
_DOCUMENTED = [
    "ec2:AssignPrivateIpAddresses",
    "ec2:AttachNetworkInterface",
    "ec2:CreateNetworkInterface",
    "ec2:CreateNetworkInterfacePermission",
    "ec2:DeleteNetworkInterface",
    "ec2:DeleteNetworkInterfacePermission",
    "ec2:Describe*",
    "ec2:DetachNetworkInterface",
    "ec2:ModifyNetworkInterfaceAttribute",
    "ec2:UnassignPrivateIpAddresses",
    "ec2:CreateTags",
    "ecr:BatchCheckLayerAvailability",
    "ecr:BatchGetImage",
    "ecr:GetAuthorizationToken",
    "ecr:GetDownloadUrlForLayer",
]


def worker(count: int = 2, **more: Any) -> dict[str, Any]:
    """A group of CPU instances as a parameter of the stack has it."""
    group = {"InstanceGroupName": "default-worker", "InstanceType": "ml.c5.4xlarge", "InstanceCount": count}
    return {**group, **more}


@dataclass
class HyperPodDesk:
    """A cloud with what stands before a HyperPod cluster."""

    desk: Any
    role_arn: str = ""
    subnets: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)

    @property
    def cfn(self) -> Any:
        return self.desk.client("cloudformation")

    @property
    def sagemaker(self) -> Any:
        return self.desk.client("sagemaker")

    def prepare(
        self,
        *,
        bucket: str | None = BUCKET,
        script: bool = True,
        actions: list[str] | None = None,
        service: str = "sagemaker.amazonaws.com",
        managed: bool = True,
    ) -> HyperPodDesk:
        """The lifecycle bucket with the script, and the instance role."""
        if bucket:
            s3 = self.desk.client("s3")
            s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
            if script:
                s3.put_object(Bucket=bucket, Key=SCRIPT, Body=b"exit 0")
        trust = {
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}],
        }
        policies = ["AmazonSageMakerClusterInstanceRolePolicy"] if managed else []
        self.role_arn = self.desk.role(ROLE, trust, *policies)
        inline = {
            "Version": "2012-10-17",
            "Statement": [
                {"Effect": "Allow", "Action": _DOCUMENTED if actions is None else actions, "Resource": "*"}
            ],
        }
        self.desk.iam.put_role_policy(RoleName=ROLE, PolicyName="eks", PolicyDocument=json.dumps(inline))
        return self

    # --- stacks ---

    def parameters(self, **changed: str) -> list[dict[str, str]]:
        values = {
            "ResourceNamePrefix": STACK,
            "AvailabilityZoneIds": "usw2-az1,usw2-az2",
            "KubernetesVersion": "1.35",
            "S3BucketName": BUCKET,
            "SageMakerIAMRoleName": ROLE,
            "OnCreatePath": SCRIPT,
            "HyperPodClusterName": CLUSTER,
            "NodeProvisioningMode": "Continuous",
            "InstanceGroupSettings1": json.dumps([worker()]),
            "CreateS3BucketStack": "false",
            "CreateLifeCycleScriptStack": "false",
            "CreateSageMakerIAMRoleStack": "false",
            "CreateFsxStack": "false",
            "EnableHPInferenceFeature": "false",
            **changed,
        }
        return [{"ParameterKey": key, "ParameterValue": value} for key, value in values.items()]

    def begin(self, name: str = STACK, parameters: dict[str, str] | None = None, **options: Any) -> str:
        """CreateStack; answers the id."""
        options = {"TemplateURL": TEMPLATE, "Capabilities": CAPABILITIES, **options}
        answer = self.cfn.create_stack(
            StackName=name, Parameters=self.parameters(**(parameters or {})), **options
        )
        return str(answer["StackId"])

    def create(self, name: str = STACK, parameters: dict[str, str] | None = None, **options: Any) -> str:
        """CreateStack, and wait for the end of it."""
        stack = self.begin(name, parameters, **options)
        self.settle(stack)
        return stack

    def settle(self, stack: str, step: float = 240, limit: int = 500) -> dict[str, Any]:
        """Let time pass until nothing is done to the stack any more."""
        for _ in range(limit):
            self.desk.pass_time(step)
            found = self.stack(stack)
            if not found["StackStatus"].endswith("_IN_PROGRESS"):
                return found
        raise AssertionError(f"{stack} is still {self.stack(stack)['StackStatus']}")

    def stack(self, name: str = STACK) -> dict[str, Any]:
        return dict(self.cfn.describe_stacks(StackName=name)["Stacks"][0])

    def status(self, name: str = STACK) -> str:
        return str(self.stack(name)["StackStatus"])

    def outputs(self, name: str = STACK) -> dict[str, str]:
        return {each["OutputKey"]: each["OutputValue"] for each in self.stack(name)["Outputs"]}

    def events(self, name: str = STACK) -> list[dict[str, Any]]:
        """Oldest first."""
        pages = self.cfn.get_paginator("describe_stack_events").paginate(StackName=name)
        return [event for page in pages for event in page["StackEvents"]][::-1]

    def nested(self, logical_id: str, name: str = STACK) -> str:
        """Id of a nested stack."""
        found = self.cfn.describe_stack_resource(StackName=name, LogicalResourceId=logical_id)
        return str(found["StackResourceDetail"]["PhysicalResourceId"])

    def failures(self, stack: str) -> list[tuple[str, str]]:
        """(Logical id, reason) of what failed in a stack, oldest first."""
        return [
            (event["LogicalResourceId"], event.get("ResourceStatusReason", ""))
            for event in self.events(stack)
            if event["ResourceStatus"].endswith("_FAILED") and event["PhysicalResourceId"] != stack
        ]

    # --- clusters without a stack ---

    def on_eks(self, **options: Any) -> HyperPodDesk:
        """An EKS cluster for clusters that are made directly."""
        network = self.desk.cluster(**options)
        self.subnets = network.private
        vpc = self.desk.eks.describe_cluster(name="demo")["cluster"]["resourcesVpcConfig"]["vpcId"]
        group = self.desk.ec2.create_security_group(GroupName="hp", Description="hp", VpcId=vpc)
        self.groups = [group["GroupId"]]
        return self

    def spec(self, count: int = 2, **more: Any) -> dict[str, Any]:
        """A group as CreateCluster takes it."""
        directory, _, name = SCRIPT.rpartition("/")
        script = {"SourceS3Uri": f"s3://{BUCKET}/{directory}", "OnCreate": name}
        return worker(count, ExecutionRole=self.role_arn, LifeCycleConfig=script, **more)

    def create_cluster(self, *groups: dict[str, Any], name: str = CLUSTER, **options: Any) -> str:
        """CreateCluster in Continuous mode; answers the ARN."""
        eks = self.desk.eks.describe_cluster(name="demo")["cluster"]["arn"]
        options = {
            "NodeProvisioningMode": "Continuous",
            "Orchestrator": {"Eks": {"ClusterArn": eks}},
            "VpcConfig": {"Subnets": self.subnets, "SecurityGroupIds": self.groups},
            **options,
        }
        options = {key: value for key, value in options.items() if value is not None}
        answer = self.sagemaker.create_cluster(
            ClusterName=name, InstanceGroups=list(groups) or [self.spec()], **options
        )
        return str(answer["ClusterArn"])

    def cluster(self, name: str = CLUSTER) -> dict[str, Any]:
        return dict(self.sagemaker.describe_cluster(ClusterName=name))

    def group(self, group: str = "default-worker", name: str = CLUSTER) -> dict[str, Any]:
        groups = self.cluster(name)["InstanceGroups"]
        return dict(next(each for each in groups if each["InstanceGroupName"] == group))

    def nodes(self, name: str = CLUSTER) -> list[dict[str, Any]]:
        pages = self.sagemaker.get_paginator("list_cluster_nodes").paginate(ClusterName=name)
        return [node for page in pages for node in page["ClusterNodeSummaries"]]

    def why_not(self, group: str = "default-worker", name: str = CLUSTER) -> str:
        """What keeps a group's instances from coming up, with its law, as the control address tells."""
        from mlcc_rehearsal.cloud.state import summarize

        with self.desk.cloud.account.lock:
            state = summarize(self.desk.cloud.account)
        return str(state["regions"]["us-west-2"]["hyperpod_clusters"][name]["groups"][group]["why_not"])
