"""The whole life of a cluster, through boto3."""

from __future__ import annotations

from typing import Any


def test_a_cluster_lives_from_creating_to_gone(desk: Any) -> None:
    network = desk.cluster()
    desk.node_group(network)
    eks, ec2 = desk.eks, desk.ec2
    assert eks.describe_nodegroup(clusterName="demo", nodegroupName="cpu")["nodegroup"]["status"] == "ACTIVE"
    for name in ("vpc-cni", "kube-proxy", "coredns", "eks-pod-identity-agent"):
        eks.create_addon(clusterName="demo", addonName=name, resolveConflicts="OVERWRITE")
    desk.pass_time(60)
    for name in eks.list_addons(clusterName="demo")["addons"]:
        assert eks.describe_addon(clusterName="demo", addonName=name)["addon"]["status"] == "ACTIVE"

    eks.delete_nodegroup(clusterName="demo", nodegroupName="cpu")
    desk.pass_time(241)
    eks.delete_cluster(name="demo")
    assert eks.describe_cluster(name="demo")["cluster"]["status"] == "DELETING"
    desk.pass_time(181)
    assert eks.list_clusters()["clusters"] == []
    desk.pass_time(300)

    ec2.delete_nat_gateway(NatGatewayId=network.nat)
    desk.pass_time(61)
    ec2.release_address(AllocationId=network.address)
    ec2.detach_internet_gateway(InternetGatewayId=network.gateway, VpcId=network.vpc)
    ec2.delete_internet_gateway(InternetGatewayId=network.gateway)
    for subnet in [*network.private, *network.public]:
        ec2.delete_subnet(SubnetId=subnet)
    for table in network.tables:
        ec2.delete_route_table(RouteTableId=table)
    ec2.delete_vpc(VpcId=network.vpc)
    assert network.vpc not in {found["VpcId"] for found in ec2.describe_vpcs()["Vpcs"]}
