"""What the predecessor left in an account for profile `demo`, made as it made it: with CloudFormation stacks.

Names and tags: names.md of the predecessor's contract; roles and their contents as its stacks had them (trust
of the instance role in EC2 too, ECR's read-only policy on nodes, KEDA in another namespace).
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.engine.scripts.hyperpod_acts import ACCOUNT, REGION, advance, hyperpod, until

PROFILE = "demo"
CLUSTER, HYPERPOD = "mlcc-demo-eks", "mlcc-demo-hyperpod"
STACKS = ("mlcc-demo-inference-operator", "mlcc-demo-eks-cluster")
TLS_BUCKET, SCRIPTS_BUCKET = "mlcc-hyperpod-tls-demo", "sagemaker-core-demo"
BOUNDARY = "arn:aws:iam::aws:policy/PowerUserAccess"
DEAD_ISSUER = "oidc.eks.us-west-2.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF"
KUBERNETES = "1.34"


def tags(module: str = "hyperpod-cluster") -> dict[str, str]:
    return {"mlcc:managed-by": "ml-container-creator", "mlcc:profile": PROFILE, "mlcc:module": module}


def tag_list(found: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in found.items()]


def _service_trust(*services: str) -> dict[str, Any]:
    return _trust({"Effect": "Allow", "Principal": {"Service": list(services)}, "Action": "sts:AssumeRole"})


def _pod_trust(subject: str) -> dict[str, Any]:
    """As it was for a cluster that is gone."""
    return _trust(
        {
            "Effect": "Allow",
            "Principal": {"Federated": f"arn:aws:iam::{ACCOUNT}:oidc-provider/{DEAD_ISSUER}"},
            "Action": "sts:AssumeRoleWithWebIdentity",
            "Condition": {"StringEquals": {f"{DEAD_ISSUER}:sub": f"system:serviceaccount:{subject}"}},
        }
    )


def _trust(statement: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": [statement]}


def _role(name: str, trust: dict[str, Any], *policies: str, **more: Any) -> dict[str, Any]:
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "RoleName": f"mlcc-{PROFILE}-{name}",
            "AssumeRolePolicyDocument": trust,
            "ManagedPolicyArns": [f"arn:aws:iam::aws:policy/{policy}" for policy in policies],
            "Tags": tag_list(tags()),
            **more,
        },
    }


def templates() -> dict[str, dict[str, Any]]:
    """The resources of its two stacks that outlive a cluster."""
    return {
        "mlcc-demo-eks-cluster": {
            "ClusterRole": _role(
                "eks-cluster-role", _service_trust("eks.amazonaws.com"), "AmazonEKSClusterPolicy"
            ),
            "NodeRole": _role(
                "eks-node-role",
                _service_trust("ec2.amazonaws.com"),
                "AmazonEKSWorkerNodePolicy",
                "AmazonEC2ContainerRegistryReadOnly",
                "AmazonEKS_CNI_Policy",
                PermissionsBoundary=BOUNDARY,
            ),
            "FargateRole": _role(
                "fargate-pod-exec-role",
                _service_trust("eks-fargate-pods.amazonaws.com"),
                "AmazonEKSFargatePodExecutionRolePolicy",
                Path="/mlcc/",
            ),
            "AlbRole": _role("alb-controller-role", _pod_trust("kube-system:aws-load-balancer-controller")),
            "KedaRole": _role("keda-operator-role", _pod_trust("keda:keda-operator")),
        },
        "mlcc-demo-inference-operator": {
            "TlsBucket": {
                "Type": "AWS::S3::Bucket",
                "Properties": {"BucketName": TLS_BUCKET, "Tags": tag_list(tags())},
            },
        },
    }


def body(resources: dict[str, dict[str, Any]], *, retain: bool) -> str:
    kept = {
        name: {**resource, "DeletionPolicy": "Retain", "Metadata": {"kept": "yes"}} if retain else resource
        for name, resource in resources.items()
    }
    return json.dumps({"Resources": kept})


def make_stacks() -> None:
    """The stacks, with what they own. (The stand-in for CloudFormation leaves ManagedPolicyArns out.)"""
    client, iam = boto3.client("cloudformation"), boto3.client("iam")
    for name, resources in templates().items():
        client.create_stack(
            StackName=name, TemplateBody=body(resources, retain=False), Capabilities=["CAPABILITY_NAMED_IAM"]
        )
        for resource in resources.values():
            for arn in resource["Properties"].get("ManagedPolicyArns", []):
                iam.attach_role_policy(RoleName=resource["Properties"]["RoleName"], PolicyArn=arn)
    advance(60)


def release_stacks() -> None:
    """What the refusal tells to do: retain, delete the stacks."""
    client = boto3.client("cloudformation")
    made = templates()
    for name in STACKS:
        client.update_stack(
            StackName=name,
            TemplateBody=body(made[name], retain=True),
            Capabilities=["CAPABILITY_NAMED_IAM"],
        )
        client.delete_stack(StackName=name)


@dataclass(frozen=True, kw_only=True)
class Network:
    """Its VPC, which had no names of ours."""

    vpc: str
    private: list[str]
    public: list[str]
    group: str


def make_network() -> Network:
    ec2 = boto3.client("ec2")
    zones = [zone["ZoneName"] for zone in ec2.describe_availability_zones()["AvailabilityZones"]][:2]
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsSupport={"Value": True})
    ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})

    def subnet(number: int, zone: str, role: str) -> str:
        made = ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{number * 32}.0/19", AvailabilityZone=zone)
        found = str(made["Subnet"]["SubnetId"])
        ec2.create_tags(Resources=[found], Tags=[*tag_list(tags()), {"Key": role, "Value": "1"}])
        return found

    public = [subnet(number, zone, "kubernetes.io/role/elb") for number, zone in enumerate(zones)]
    private = [
        subnet(number, zone, "kubernetes.io/role/internal-elb") for number, zone in enumerate(zones, start=2)
    ]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    tables = {"out": public, "in": private}
    for tier, subnets in tables.items():
        table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
        for each in subnets:
            ec2.associate_route_table(RouteTableId=table, SubnetId=each)
        if tier == "out":
            ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
            continue
        nat = ec2.create_nat_gateway(SubnetId=public[0], AllocationId=address)["NatGateway"]["NatGatewayId"]
        until(lambda nat=nat: _nat_state(nat) == "available", step=30)
        ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=nat)
    group = ec2.create_security_group(GroupName="hyperpod", Description="HyperPod", VpcId=vpc)["GroupId"]
    return Network(vpc=vpc, private=private, public=public, group=group)


def _nat_state(nat: str) -> str:
    found = boto3.client("ec2").describe_nat_gateways(NatGatewayIds=[nat])["NatGateways"]
    return str(found[0]["State"])


def make_cluster(network: Network) -> None:
    """The EKS cluster as the predecessor made it, and under the same name again when it is made anew."""
    eks = boto3.client("eks")
    eks.create_cluster(
        name=CLUSTER,
        version=KUBERNETES,
        roleArn=f"arn:aws:iam::{ACCOUNT}:role/mlcc-{PROFILE}-eks-cluster-role",
        resourcesVpcConfig={
            "subnetIds": [*network.private, *network.public],
            "endpointPublicAccess": True,
            "endpointPrivateAccess": True,
        },
        accessConfig={"authenticationMode": "API_AND_CONFIG_MAP"},
        tags=tags(),
    )
    until(lambda: eks.describe_cluster(name=CLUSTER)["cluster"]["status"] == "ACTIVE")


def make_hyperpod(network: Network) -> str:
    """Role, bucket and HyperPod cluster on it; the ARN."""
    iam, s3 = boto3.client("iam"), boto3.client("s3")
    role = f"mlcc-{PROFILE}-hyperpod-instance-role"
    if not any(found["RoleName"] == role for found in iam.list_roles()["Roles"]):
        iam.create_role(
            RoleName=role,
            AssumeRolePolicyDocument=json.dumps(
                _service_trust("sagemaker.amazonaws.com", "ec2.amazonaws.com")
            ),
            Tags=tag_list(tags()),
        )
        iam.attach_role_policy(
            RoleName=role, PolicyArn="arn:aws:iam::aws:policy/AmazonSageMakerClusterInstanceRolePolicy"
        )
        allow = {"Effect": "Allow", "Action": ["ec2:*", "ecr:*"], "Resource": "*"}
        iam.put_role_policy(RoleName=role, PolicyName="eks", PolicyDocument=json.dumps(_trust(allow)))
        s3.create_bucket(Bucket=SCRIPTS_BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        s3.put_object(Bucket=SCRIPTS_BUCKET, Key="hyperpod-lifecycle/on_create.sh", Body=b"exit 0")
        advance(60)
    eks = boto3.client("eks").describe_cluster(name=CLUSTER)["cluster"]["arn"]
    made = boto3.client("sagemaker").create_cluster(
        ClusterName=HYPERPOD,
        Orchestrator={"Eks": {"ClusterArn": eks}},
        VpcConfig={"Subnets": network.private, "SecurityGroupIds": [network.group]},
        NodeProvisioningMode="Continuous",
        Tags=tag_list(tags()),
        InstanceGroups=[
            {
                "InstanceGroupName": "default-worker",
                "InstanceType": "ml.c5.4xlarge",
                "InstanceCount": 2,
                "ExecutionRole": f"arn:aws:iam::{ACCOUNT}:role/{role}",
                "LifeCycleConfig": {
                    "SourceS3Uri": f"s3://{SCRIPTS_BUCKET}/hyperpod-lifecycle",
                    "OnCreate": "on_create.sh",
                },
            }
        ],
    )
    until(lambda: all(group["CurrentCount"] == 2 for group in hyperpod(HYPERPOD)["InstanceGroups"]))
    return str(made["ClusterArn"])
