"""Laws of node groups and Fargate profiles."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.rehearsal_cloud.conftest import Desk, trust


def status(desk: Desk, name: str = "cpu") -> str:
    group = desk.eks.describe_nodegroup(clusterName="demo", nodegroupName=name)["nodegroup"]
    return str(group["status"])


def issues(desk: Desk, name: str = "cpu") -> list[dict[str, Any]]:
    found = desk.eks.describe_nodegroup(clusterName="demo", nodegroupName=name)["nodegroup"]["health"][
        "issues"
    ]
    return list(found)


def test_a_node_role_must_trust_ec2(desk: Desk, refused: Any) -> None:
    network = desk.cluster()
    role = desk.role("wrong", trust("eks.amazonaws.com"), "AmazonEKSWorkerNodePolicy")
    with refused("InvalidParameterException", "eks-node-role-trust") as refusal:
        desk.node_group(network, nodeRole=role)
    assert refusal.text == (
        "Following required service principals [ec2.amazonaws.com] were not found in the trust "
        "relationships of "
        f"nodeRole {role}"
    )
    with refused("InvalidParameterException", "eks-node-role-trust"):
        desk.node_group(network, nodeRole=role.replace("wrong", "none"))


@pytest.mark.parametrize(
    "policy", ["AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonEKS_CNI_Policy"]
)
def test_nodes_whose_role_lacks_a_policy_never_become_ready(desk: Desk, policy: str) -> None:
    network = desk.cluster()
    role = desk.node_role("short", policy)
    desk.node_group(network, nodeRole=role)
    assert status(desk) == "CREATING", "nodes try for a while"
    desk.pass_time(1200)
    assert status(desk) == "CREATE_FAILED"
    (issue,) = issues(desk)
    assert issue["code"] == "NodeCreationFailure"
    assert len(issue["resourceIds"]) == 2
    assert desk.waiting().startswith(f"eks-node-role-grants: {role} lacks")
    desk.eks.delete_nodegroup(clusterName="demo", nodegroupName="cpu")
    desk.pass_time(300)
    assert desk.eks.list_nodegroups(clusterName="demo")["nodegroups"] == []


def test_a_policy_attached_while_nodes_still_try_saves_the_group(desk: Desk) -> None:
    network = desk.cluster()
    desk.node_group(network, nodeRole=desk.node_role("short", "AmazonEKS_CNI_Policy"))
    assert status(desk) == "CREATING"
    desk.iam.attach_role_policy(RoleName="short", PolicyArn="arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy")
    desk.pass_time(30)
    assert status(desk) == "ACTIVE"


def test_a_custom_policy_with_the_right_actions_will_do(desk: Desk) -> None:
    import json

    network = desk.cluster()
    role = desk.node_role("custom", "AmazonEC2ContainerRegistryPullOnly")
    statement = {"Effect": "Allow", "Action": ["ecr:Get*", "ecr:BatchGetImage"], "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    desk.iam.put_role_policy(RoleName="custom", PolicyName="pull", PolicyDocument=document)
    desk.node_group(network, nodeRole=role)
    assert status(desk) == "ACTIVE"


def test_nodes_need_a_way_out(desk: Desk) -> None:
    network = desk.cluster(desk.network(nat=False))
    desk.node_group(network)
    desk.pass_time(1200)
    assert status(desk) == "CREATE_FAILED"
    (issue,) = issues(desk)
    assert issue["code"] == "NodeCreationFailure"
    assert issue["message"] == "Instances failed to join the kubernetes cluster"
    assert desk.waiting().startswith("eks-nodes-way-out")


def test_endpoints_are_a_way_out_too(desk: Desk) -> None:
    network = desk.cluster(desk.network(nat=False))
    for service in ("ec2", "ecr.api", "ecr.dkr", "sts"):
        desk.ec2.create_vpc_endpoint(
            VpcId=network.vpc,
            ServiceName=f"com.amazonaws.us-west-2.{service}",
            VpcEndpointType="Interface",
            SubnetIds=network.private,
        )
    table = desk.ec2.create_route_table(VpcId=network.vpc)["RouteTable"]["RouteTableId"]
    desk.ec2.create_vpc_endpoint(
        VpcId=network.vpc,
        ServiceName="com.amazonaws.us-west-2.s3",
        VpcEndpointType="Gateway",
        RouteTableIds=[table],
    )
    desk.pass_time(60)
    desk.node_group(network)
    assert status(desk) == "ACTIVE"


def test_nodes_need_the_cni_where_nothing_is_self_managed(desk: Desk) -> None:
    network = desk.cluster(bootstrapSelfManagedAddons=False)
    desk.node_group(network)
    assert status(desk) == "CREATING"
    desk.eks.create_addon(clusterName="demo", addonName="vpc-cni")
    desk.pass_time(60)
    assert status(desk) == "ACTIVE", "eks-nodes-need-cni"


def test_names_sizes_types_and_versions_are_checked(desk: Desk, refused: Any) -> None:
    network = desk.cluster(version="1.34")
    role = desk.node_role()
    desk.node_group(network, nodeRole=role)
    with refused("ResourceInUseException", "eks-node-group-exists") as refusal:
        desk.node_group(network, nodeRole=role)
    assert refusal.text == "NodeGroup already exists with name cpu and cluster name demo"
    wrongs: tuple[dict[str, Any], ...] = (
        {"scalingConfig": {"minSize": 3, "maxSize": 5, "desiredSize": 1}},
        {"instanceTypes": ["m5.huge"]},
        {"instanceTypes": ["m6g.large"]},
        {"instanceTypes": ["m5.large"], "amiType": "AL2023_x86_64_NVIDIA"},
        {"instanceTypes": ["g5.xlarge"], "amiType": "AL2023_x86_64_NEURON"},
        {"version": "1.35"},
    )
    for wrong in wrongs:
        with refused(None, "eks-node-group-parameters"):
            desk.node_group(network, name="other", nodeRole=role, **wrong)
    with refused("InvalidParameterException", "eks-node-ami"):
        desk.node_group(network, name="other", nodeRole=role, amiType="AL2_x86_64")


def test_a_group_can_be_scaled_and_labelled(desk: Desk) -> None:
    network = desk.cluster()
    desk.node_group(network, labels={"a": "1"})
    update = desk.eks.update_nodegroup_config(
        clusterName="demo",
        nodegroupName="cpu",
        scalingConfig={"minSize": 1, "maxSize": 4, "desiredSize": 3},
        labels={"addOrUpdateLabels": {"b": "2"}, "removeLabels": ["a"]},
    )["update"]
    assert status(desk) == "UPDATING"
    desk.pass_time(70)
    group = desk.eks.describe_nodegroup(clusterName="demo", nodegroupName="cpu")["nodegroup"]
    assert group["status"] == "ACTIVE"
    assert group["labels"] == {"b": "2"}
    assert group["scalingConfig"]["desiredSize"] == 3
    found = desk.eks.describe_update(name="demo", nodegroupName="cpu", updateId=update["id"])["update"]
    assert found["status"] == "Successful"


def test_interfaces_outlive_their_nodes_and_hold_the_network(desk: Desk, refused: Any) -> None:
    network = desk.cluster()
    desk.node_group(network)
    desk.eks.delete_nodegroup(clusterName="demo", nodegroupName="cpu")
    desk.pass_time(241)
    left = desk.ec2.describe_network_interfaces(
        Filters=[
            {"Name": "status", "Values": ["available"]},
            {"Name": "tag:eks:cluster-name", "Values": ["demo"]},
        ]
    )["NetworkInterfaces"]
    assert len(left) == 2, "interfaces-outlive-nodes"
    for each in left:
        tags = {tag["Key"]: tag["Value"] for tag in each["TagSet"]}
        assert each["Description"].startswith("aws-K8S-i-")
        assert tags["node.k8s.amazonaws.com/instance_id"] in each["Description"]
        assert tags["cluster.k8s.amazonaws.com/name"] == "demo"
    desk.eks.delete_cluster(name="demo")
    desk.pass_time(170)
    subnet = left[0]["SubnetId"]
    with refused("DependencyViolation", "subnet-dependency") as refusal:
        desk.ec2.delete_subnet(SubnetId=subnet)
    assert refusal.text == f"The subnet '{subnet}' has dependencies and cannot be deleted."
    desk.pass_time(120)
    desk.ec2.delete_subnet(SubnetId=subnet)


def test_left_interfaces_can_be_deleted_by_hand_but_not_those_in_use(desk: Desk, refused: Any) -> None:
    network = desk.cluster()
    desk.node_group(network)
    used = desk.ec2.describe_network_interfaces(
        Filters=[{"Name": "tag:eks:nodegroup-name", "Values": ["cpu"]}]
    )["NetworkInterfaces"]
    with refused("InvalidParameterValue", "interface-in-use") as refusal:
        desk.ec2.delete_network_interface(NetworkInterfaceId=used[0]["NetworkInterfaceId"])
    assert "is currently in use" in refusal.text
    desk.eks.delete_nodegroup(clusterName="demo", nodegroupName="cpu")
    desk.pass_time(241)
    left = desk.ec2.describe_network_interfaces(Filters=[{"Name": "status", "Values": ["available"]}])
    for each in left["NetworkInterfaces"]:
        desk.ec2.delete_network_interface(NetworkInterfaceId=each["NetworkInterfaceId"])


def fargate_role(desk: Desk, name: str = "fargate", **condition: Any) -> str:
    policy = trust("eks-fargate-pods.amazonaws.com", **condition)
    return desk.role(name, policy, "AmazonEKSFargatePodExecutionRolePolicy")


def create_profile(desk: Desk, network: Any, role: str, name: str = "system", **options: Any) -> Any:
    return desk.eks.create_fargate_profile(
        clusterName="demo",
        fargateProfileName=name,
        podExecutionRoleArn=role,
        subnets=options.pop("subnets", network.private),
        selectors=options.pop("selectors", [{"namespace": "kube-system"}]),
    )


def test_a_fargate_profile_is_made_and_deleted_one_at_a_time(desk: Desk, refused: Any) -> None:
    network = desk.cluster()
    role = fargate_role(desk)
    create_profile(desk, network, role)
    create_profile(desk, network, role, "second")
    desk.pass_time(100)
    profile = desk.eks.describe_fargate_profile(clusterName="demo", fargateProfileName="system")[
        "fargateProfile"
    ]
    assert profile["status"] == "ACTIVE"
    desk.eks.delete_fargate_profile(clusterName="demo", fargateProfileName="system")
    with refused("ResourceInUseException", "eks-fargate-one-deleting"):
        desk.eks.delete_fargate_profile(clusterName="demo", fargateProfileName="second")
    with refused("ResourceInUseException", "eks-fargate-one-deleting"):
        create_profile(desk, network, role, "third")
    desk.pass_time(130)
    desk.eks.delete_fargate_profile(clusterName="demo", fargateProfileName="second")
    with refused("ResourceInUseException", "eks-cluster-delete"):
        desk.eks.delete_cluster(name="demo")


def test_a_fargate_profile_has_at_most_five_selectors_in_private_subnets(desk: Desk, refused: Any) -> None:
    network = desk.cluster()
    role = fargate_role(desk)
    six = [{"namespace": f"n{number}"} for number in range(6)]
    with refused("InvalidParameterException", "eks-fargate-selectors"):
        create_profile(desk, network, role, selectors=six)
    with refused("InvalidParameterException", "eks-fargate-private-subnets") as refusal:
        create_profile(desk, network, role, subnets=network.public)
    assert refusal.text == f"Subnet {network.public[0]} provided in Fargate Profile is not a private subnet"


def test_a_fargate_role_trusts_fargate_for_this_cluster(desk: Desk, refused: Any) -> None:
    network = desk.cluster()
    for role in (
        desk.role("ec2", trust("ec2.amazonaws.com")),
        fargate_role(desk, "other", ArnLike={"aws:SourceArn": "arn:aws:eks:*:*:fargateprofile/other/*"}),
    ):
        with refused("InvalidParameterException", "eks-fargate-role-trust") as refusal:
            create_profile(desk, network, role)
        assert refusal.text.startswith("Misconfigured PodExecutionRole Trust Policy")
    right = fargate_role(desk, "right", ArnLike={"aws:SourceArn": "arn:aws:eks:*:*:fargateprofile/demo/*"})
    create_profile(desk, network, right)
    entry = desk.eks.describe_access_entry(clusterName="demo", principalArn=right)["accessEntry"]
    assert entry["type"] == "FARGATE_LINUX"
