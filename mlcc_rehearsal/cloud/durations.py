"""How long things take at AWS, in seconds, each with its source.

``python -m mlcc_rehearsal.cloud durations`` prints the table.  A duration that no public source gives is
marked unverified: it is of the right order and nothing may be refused because of it.
"""

from __future__ import annotations

from dataclasses import dataclass

_UG = "Amazon EKS user guide"


@dataclass(frozen=True)
class Duration:
    """One modelled duration: ``seconds``, where the figure comes from, whether that is a guess."""

    seconds: float
    source: str
    unverified: bool = False


DURATIONS: dict[str, Duration] = {
    "eks.cluster.create": Duration(
        540, f"{_UG}, 'Create an Amazon EKS cluster': takes several minutes; commonly seen 8 to 10", True
    ),
    "eks.cluster.delete": Duration(
        180, "commonly seen 2 to 4 minutes; waiter cluster_deleted allows 20", True
    ),
    "eks.cluster.update_config": Duration(
        90, f"{_UG}, 'Configure network access to cluster API server endpoint': a few minutes", True
    ),
    "eks.cluster.update_version": Duration(
        540, f"{_UG}, 'Update existing cluster to new Kubernetes version': several minutes", True
    ),
    "eks.node_group.create": Duration(
        150, "commonly seen 2 to 3 minutes; waiter nodegroup_active allows 40", True
    ),
    "eks.node_group.fail": Duration(
        1200,
        "instances that do not join fail the group after about 20 minutes (hashicorp/terraform-provider-aws "
        "reports of NodeCreationFailure)",
        True,
    ),
    "eks.node_group.delete": Duration(240, "commonly seen 3 to 6 minutes", True),
    "eks.node_group.update": Duration(60, "scaling and label changes, commonly seen about a minute", True),
    "eks.node_group.update_version": Duration(420, f"{_UG}, 'Managed node group update behaviour'", True),
    "eks.fargate_profile.create": Duration(
        90, "commonly seen 1 to 2 minutes; waiter fargate_active allows 10", True
    ),
    "eks.fargate_profile.delete": Duration(
        120, "commonly seen 2 to 3 minutes; waiter fargate_deleted allows 30", True
    ),
    "eks.addon.create": Duration(
        30, "commonly seen 20 to 60 seconds; waiter addon_active allows 10 minutes", True
    ),
    "eks.addon.update": Duration(30, "commonly seen 20 to 60 seconds", True),
    "eks.addon.delete": Duration(15, "commonly seen 10 to 60 seconds", True),
    "eks.addon.degraded": Duration(
        60, "an add-on whose pods do not run turns from CREATING to DEGRADED (pulumi/pulumi-eks#1819)", True
    ),
    "eks.addon.recover": Duration(15, "pods start within seconds once a node is there", True),
    "ec2.nat_gateway.create": Duration(
        120, "NAT gateway pending to available, commonly seen 1 to 2 minutes", True
    ),
    "ec2.nat_gateway.delete": Duration(
        60, "NAT gateway deleting to deleted, commonly seen about a minute", True
    ),
    "ec2.nat_gateway.forget": Duration(
        3600, "Amazon VPC user guide, 'Work with NAT gateways': a deleted gateway stays visible about an hour"
    ),
    "ec2.vpc_endpoint.create": Duration(30, "interface endpoint pending to available", True),
    "ec2.vpc_endpoint.delete": Duration(20, "interface endpoint deleting to gone", True),
    "ec2.leaked_interface": Duration(
        180,
        "interfaces of ended nodes are detached and stay available until the VPC CNI or EKS collects them "
        "(pulumi/pulumi-eks#194, terraform-aws-modules/terraform-aws-eks#2048); minutes",
        True,
    ),
    "ec2.cluster_interface.delete": Duration(30, "EKS takes its own interfaces away after the cluster", True),
    "iam.propagation": Duration(
        8,
        "AWS IAM user guide, 'Troubleshoot IAM: changes are not always immediately visible'; "
        "hashicorp/terraform-provider-aws waits up to 2 minutes and commonly needs about 10 seconds",
        True,
    ),
    "iam.principal_propagation": Duration(
        6, "hashicorp/terraform-provider-aws#8905: a trust policy naming a principal made seconds ago", True
    ),
}


def seconds(name: str) -> float:
    """The modelled seconds of the duration called ``name``.

    :raises KeyError: when the table has no such duration.
    """
    return DURATIONS[name].seconds
