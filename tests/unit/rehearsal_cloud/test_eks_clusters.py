"""Laws of EKS clusters: each refusal in AWS's words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.rehearsal_cloud.conftest import Desk, trust


def create(desk: Desk, network: Any, role: str, name: str = "demo", **options: Any) -> Any:
    subnets = options.pop("subnetIds", network.private)
    return desk.eks.create_cluster(
        name=name, roleArn=role, resourcesVpcConfig={"subnetIds": subnets}, **options
    )


def test_a_cluster_takes_its_minutes_and_then_has_what_eks_makes(desk: Desk) -> None:
    network = desk.network(nat=False)
    create(desk, network, desk.cluster_role(), version="1.35")
    before = desk.eks.describe_cluster(name="demo")["cluster"]
    assert before["status"] == "CREATING"
    assert "endpoint" not in before
    assert "identity" not in before
    desk.pass_time(500)
    assert desk.eks.describe_cluster(name="demo")["cluster"]["status"] == "CREATING"
    desk.pass_time(60)
    cluster = desk.eks.describe_cluster(name="demo")["cluster"]
    assert cluster["status"] == "ACTIVE"
    assert cluster["identity"]["oidc"]["issuer"].startswith("https://oidc.eks.us-west-2.amazonaws.com/id/")
    assert cluster["certificateAuthority"]["data"]
    assert cluster["accessConfig"] == {"authenticationMode": "CONFIG_MAP"}, "the API's default"
    group_id = cluster["resourcesVpcConfig"]["clusterSecurityGroupId"]
    group = desk.ec2.describe_security_groups(GroupIds=[group_id])["SecurityGroups"][0]
    tags = {tag["Key"]: tag["Value"] for tag in group["Tags"]}
    assert tags["aws:eks:cluster-name"] == "demo"
    assert tags["kubernetes.io/cluster/demo"] == "owned"
    found = desk.ec2.describe_network_interfaces(
        Filters=[{"Name": "description", "Values": ["Amazon EKS demo"]}]
    )["NetworkInterfaces"]
    assert len(found) == 2
    assert all(each["Status"] == "in-use" and each["RequesterManaged"] for each in found)


def test_a_cluster_name_is_taken_once(desk: Desk, refused: Any) -> None:
    network = desk.network(nat=False)
    role = desk.cluster_role()
    create(desk, network, role)
    with refused("ResourceInUseException", "eks-cluster-exists") as refusal:
        create(desk, network, role)
    assert refusal.text == "Cluster already exists with name: demo"


def test_parameters_keep_to_the_model(desk: Desk, refused: Any) -> None:
    network = desk.network(nat=False)
    with refused("InvalidParameterException", "eks-parameters") as refusal:
        create(desk, network, desk.cluster_role(), name="no spaces")
    assert "failed to satisfy constraint: Member must satisfy regular expression pattern" in refusal.text


def test_private_blocks_are_none_for_the_public_endpoint(desk: Desk, refused: Any) -> None:
    network = desk.network(nat=False)
    config = {"subnetIds": network.private, "publicAccessCidrs": ["203.0.113.0/24", "10.0.0.0/16"]}
    with refused("InvalidParameterException", "eks-public-blocks") as refusal:
        desk.eks.create_cluster(name="demo", roleArn=desk.cluster_role(), resourcesVpcConfig=config)
    assert "10.0.0.0/16" in refusal.text
    assert "203.0.113.0/24" not in refusal.text
    desk.cluster(network)
    with refused("InvalidParameterException", "eks-public-blocks"):
        desk.eks.update_cluster_config(
            name="demo", resourcesVpcConfig={"publicAccessCidrs": ["192.168.1.0/24"]}
        )


@pytest.mark.parametrize("version", ["1.31", "1.37", "1.19"])
def test_a_version_that_eks_does_not_offer_is_refused(desk: Desk, refused: Any, version: str) -> None:
    with refused("InvalidParameterException", "eks-version-offered") as refusal:
        create(desk, desk.network(nat=False), desk.cluster_role(), version=version)
    assert refusal.text.startswith("unsupported Kubernetes version")


def test_the_control_plane_goes_up_one_minor_at_a_time_and_never_down(desk: Desk, refused: Any) -> None:
    desk.cluster(version="1.33")
    for version in ("1.35", "1.32"):
        with refused("InvalidParameterException", "eks-version-step") as refusal:
            desk.eks.update_cluster_version(name="demo", version=version)
        assert refusal.text == f"Unsupported Kubernetes minor version update from 1.33 to {version}"
    update = desk.eks.update_cluster_version(name="demo", version="1.34")["update"]
    assert (update["type"], update["status"]) == ("VersionUpdate", "InProgress")
    assert desk.eks.describe_cluster(name="demo")["cluster"]["status"] == "UPDATING"
    desk.pass_time(600)
    assert desk.eks.describe_update(name="demo", updateId=update["id"])["update"]["status"] == "Successful"
    assert desk.eks.list_updates(name="demo")["updateIds"] == [update["id"]]
    assert desk.eks.describe_cluster(name="demo")["cluster"]["version"] == "1.34"


def test_the_cluster_role_must_trust_eks(desk: Desk, refused: Any) -> None:
    network = desk.network(nat=False)
    for role in (
        desk.role("ec2-only", trust("ec2.amazonaws.com"), "AmazonEKSClusterPolicy"),
        "arn:aws:iam::1:role/no",
    ):
        with refused("InvalidParameterException", "eks-cluster-role-trust") as refusal:
            create(desk, network, role)
        assert refusal.text == (
            f"Role with arn: {role}, could not be assumed because it does not exist or the trusted entity "
            "is not correct"
        )


def test_a_role_just_made_is_not_seen_by_eks_for_some_seconds(desk: Desk, refused: Any) -> None:
    network = desk.network(nat=False)
    role = desk.role("new", trust("eks.amazonaws.com"), "AmazonEKSClusterPolicy", seen=False)
    with refused("InvalidParameterException", "iam-propagation") as refusal:
        create(desk, network, role)
    assert "could not be assumed because it does not exist" in refusal.text
    desk.pass_time(10)
    create(desk, network, role)


def test_a_trust_just_changed_is_seen_later_and_the_old_one_until_then(desk: Desk, refused: Any) -> None:
    import json

    network = desk.network(nat=False)
    role = desk.role("late", trust("ec2.amazonaws.com"), "AmazonEKSClusterPolicy")
    document = json.dumps(trust("eks.amazonaws.com"))
    desk.iam.update_assume_role_policy(RoleName="late", PolicyDocument=document)
    with refused("InvalidParameterException", "iam-propagation"):
        create(desk, network, role)
    desk.pass_time(10)
    create(desk, network, role)
    desk.iam.update_assume_role_policy(RoleName="late", PolicyDocument=json.dumps(trust("ec2.amazonaws.com")))
    create(desk, network, role, name="second")


def test_the_cluster_role_needs_its_grants(desk: Desk, refused: Any) -> None:
    network = desk.network(nat=False)
    with refused("InvalidParameterException", "eks-cluster-role-grants") as refusal:
        create(desk, network, desk.role("bare", trust("eks.amazonaws.com")))
    assert "following policy is attached: arn:aws:iam::aws:policy/AmazonEKSClusterPolicy" in refusal.text


def test_subnets_lie_in_two_zones_of_one_vpc(desk: Desk, refused: Any) -> None:
    network, other = desk.network(nat=False), desk.network(nat=False)
    role = desk.cluster_role()
    with refused("InvalidParameterException", "eks-subnets") as refusal:
        create(desk, network, role, subnetIds=[network.private[0], network.public[0]])
    assert refusal.text == "Subnets specified must be in at least two different AZs"
    with refused("InvalidParameterException", "eks-subnets"):
        create(desk, network, role, subnetIds=[network.private[0], other.private[1]])
    with refused("InvalidParameterException", "eks-subnets") as refusal:
        create(desk, network, role, subnetIds=[*network.private, "subnet-00000000000000000"])
    assert "The subnet ID 'subnet-00000000000000000' does not exist" in refusal.text


def test_zones_that_eks_excludes_are_refused_with_the_zones_on_offer(desk: Desk) -> None:
    ec2, eks = desk.client("ec2", region="us-east-1"), desk.client("eks", region="us-east-1")
    zones = {z["ZoneId"]: z["ZoneName"] for z in ec2.describe_availability_zones()["AvailabilityZones"]}
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnets = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{n}.0/24", AvailabilityZone=zones[zone])["Subnet"][
            "SubnetId"
        ]
        for n, zone in enumerate(("use1-az1", "use1-az3"))
    ]
    role = desk.cluster_role()
    with pytest.raises(eks.exceptions.UnsupportedAvailabilityZoneException) as caught:
        eks.create_cluster(name="demo", roleArn=role, resourcesVpcConfig={"subnetIds": subnets})
    assert zones["use1-az3"] in caught.value.response["message"]
    assert zones["use1-az1"] in caught.value.response["validZones"]
    assert zones["use1-az3"] not in caught.value.response["validZones"]
    assert desk.last_law() == "eks-zones"


def test_a_cluster_with_nodes_or_in_motion_cannot_be_deleted(desk: Desk, refused: Any) -> None:
    network = desk.network()
    create(desk, network, desk.cluster_role())
    with refused("ResourceInUseException", "eks-cluster-state"):
        desk.eks.delete_cluster(name="demo")
    desk.pass_time(600)
    desk.node_group(network)
    with refused("ResourceInUseException", "eks-cluster-delete") as refusal:
        desk.eks.delete_cluster(name="demo")
    assert refusal.text == "Cluster has nodegroups attached"
    desk.eks.delete_nodegroup(clusterName="demo", nodegroupName="cpu")
    desk.pass_time(300)
    desk.eks.update_cluster_version(name="demo", version="1.36")
    with refused("ResourceInUseException", "eks-cluster-delete") as refusal:
        desk.eks.delete_cluster(name="demo")
    assert refusal.text.startswith("Cannot delete because cluster demo currently has update")


def test_deletion_protection_holds_until_it_is_off(desk: Desk, refused: Any) -> None:
    desk.cluster(desk.network(nat=False), deletionProtection=True)
    with refused("InvalidRequestException", "eks-cluster-delete"):
        desk.eks.delete_cluster(name="demo")
    desk.eks.update_cluster_config(name="demo", deletionProtection=False)
    desk.pass_time(120)
    desk.eks.delete_cluster(name="demo")


def test_the_control_plane_writes_its_log_group_while_logging_is_on(desk: Desk) -> None:
    desk.cluster(desk.network(nat=False))
    logs, name = desk.client("logs"), "/aws/eks/demo/cluster"

    def switch(*, enabled: bool) -> None:
        setup = {"types": ["api", "audit"], "enabled": enabled}
        desk.eks.update_cluster_config(name="demo", logging={"clusterLogging": [setup]})
        desk.pass_time(120)

    def groups() -> list[str]:
        return [each["logGroupName"] for each in logs.describe_log_groups()["logGroups"]]

    assert groups() == []
    switch(enabled=True)
    assert groups() == [name]
    logs.delete_log_group(logGroupName=name)
    desk.pass_time(120)
    assert groups() == [name], "the control plane writes again"
    switch(enabled=False)
    logs.delete_log_group(logGroupName=name)
    desk.pass_time(120)
    assert groups() == [], "nothing writes any more"
    switch(enabled=True)
    assert groups() == [name]


def test_one_request_changes_one_kind_of_thing(desk: Desk, refused: Any) -> None:
    desk.cluster(desk.network(nat=False))
    logging = {"clusterLogging": [{"types": ["api"], "enabled": True}]}
    with refused("InvalidParameterException", "eks-one-update") as refusal:
        desk.eks.update_cluster_config(
            name="demo", logging=logging, resourcesVpcConfig={"endpointPrivateAccess": True}
        )
    assert refusal.text == "Only one type of update can be allowed."
    with refused("InvalidParameterException", "eks-one-update") as refusal:
        desk.eks.update_cluster_config(name="demo", resourcesVpcConfig={"endpointPublicAccess": True})
    assert refusal.text.startswith(
        "Cluster is already at the desired configuration with endpointPrivateAccess: false"
    )
    desk.eks.update_cluster_config(name="demo", logging=logging)
    with refused("ResourceInUseException", "eks-cluster-state") as refusal:
        desk.eks.update_cluster_config(name="demo", resourcesVpcConfig={"endpointPrivateAccess": True})
    assert refusal.text.startswith("Cannot EndpointAccessUpdate because cluster demo currently has update")
    desk.pass_time(120)
    cluster = desk.eks.describe_cluster(name="demo")["cluster"]
    assert {"types": ["api"], "enabled": True} in cluster["logging"]["clusterLogging"]
    desk.eks.update_cluster_config(
        name="demo",
        resourcesVpcConfig={"endpointPrivateAccess": True, "publicAccessCidrs": ["203.0.113.0/24"]},
    )
    desk.pass_time(120)
    config = desk.eks.describe_cluster(name="demo")["cluster"]["resourcesVpcConfig"]
    assert config["endpointPrivateAccess"]
    assert config["publicAccessCidrs"] == ["203.0.113.0/24"]


def test_a_cluster_of_the_same_name_has_another_issuer(desk: Desk) -> None:
    network = desk.cluster(desk.network(nat=False))
    first = desk.eks.describe_cluster(name="demo")["cluster"]["identity"]["oidc"]["issuer"]
    desk.eks.delete_cluster(name="demo")
    desk.pass_time(200)
    create(desk, network, desk.cluster_role("again"))
    desk.pass_time(600)
    assert desk.eks.describe_cluster(name="demo")["cluster"]["identity"]["oidc"]["issuer"] != first, (
        "eks-new-issuer"
    )


def test_tags_of_everything_can_be_listed_added_and_removed(desk: Desk, refused: Any) -> None:
    desk.cluster(desk.network(nat=False), tags={"mlcc:profile": "demo"})
    desk.eks.create_addon(clusterName="demo", addonName="vpc-cni", tags={"a": "1"})
    for arn in (
        desk.eks.describe_cluster(name="demo")["cluster"]["arn"],
        desk.eks.describe_addon(clusterName="demo", addonName="vpc-cni")["addon"]["addonArn"],
    ):
        desk.eks.tag_resource(resourceArn=arn, tags={"b": "2"})
        assert desk.eks.list_tags_for_resource(resourceArn=arn)["tags"]["b"] == "2"
        desk.eks.untag_resource(resourceArn=arn, tagKeys=["b"])
        assert "b" not in desk.eks.list_tags_for_resource(resourceArn=arn)["tags"]
    with refused("ResourceNotFoundException"):
        desk.eks.list_tags_for_resource(resourceArn="arn:aws:eks:us-west-2:1:cluster/none")


def test_the_tagging_api_lists_what_eks_and_the_network_hold(desk: Desk) -> None:
    network = desk.network()
    tag = {"mlcc:profile": "demo"}
    desk.ec2.create_tags(
        Resources=[network.address, network.nat], Tags=[{"Key": "mlcc:profile", "Value": "demo"}]
    )
    desk.cluster(network, tags=tag)
    desk.eks.create_addon(clusterName="demo", addonName="vpc-cni", tags=tag)
    found = desk.client("resourcegroupstaggingapi").get_resources(
        TagFilters=[{"Key": "mlcc:profile", "Values": ["demo"]}]
    )["ResourceTagMappingList"]
    kinds = sorted(each["ResourceARN"].split(":", 5)[5].split("/")[0] for each in found)
    assert kinds == ["addon", "cluster", "elastic-ip", "natgateway"]


def test_the_versions_on_offer_can_be_listed(desk: Desk) -> None:
    found = desk.eks.describe_cluster_versions()["clusterVersions"]
    offered = [each["clusterVersion"] for each in found]
    assert offered == ["1.36", "1.35", "1.34", "1.33", "1.32"]
    assert [each["clusterVersion"] for each in found if each["defaultVersion"]] == ["1.35"]
