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
    "operator.watcher.enable": Duration(
        420, "5 to more than 15 minutes by the predecessor's record (facts/inference_addon.json)", True
    ),
    "operator.watcher.retry": Duration(60, "the controller tries again about every minute", True),
    "operator.watcher.drain": Duration(
        480, "'Underlying watcher service is being deleted' lasts some minutes; no figure is public", True
    ),
    "operator.model.start": Duration(
        120, "download of weights and start of a model server; depends on the model", True
    ),
    "elb.load_balancer.provision": Duration(
        150, "an Application Load Balancer is provisioning for 2 to 3 minutes before it is active", True
    ),
    "elb.load_balancer.delete": Duration(
        60, "a deleted load balancer's interfaces vanish about a minute later", True
    ),
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
    "cloudformation.start": Duration(5, "a stack's first resource begins within seconds", True),
    "cloudformation.vpc": Duration(12, "AWS::EC2::VPC, commonly seen 10 to 15 seconds", True),
    "cloudformation.subnet": Duration(8, "AWS::EC2::Subnet, commonly seen 5 to 10 seconds", True),
    "cloudformation.helm_chart": Duration(
        90, "HelmCustomResource: git clone and helm install; its function is given 600 seconds", True
    ),
    "cloudformation.custom_resource": Duration(
        12, "a custom resource whose function takes a second or two, start-up included", True
    ),
    "fsx.file_system.create": Duration(
        420,
        "Amazon FSx for Lustre user guide, getting started: a file system takes about 5 to 10 minutes",
        True,
    ),
    "fsx.file_system.delete": Duration(240, "a Lustre file system is deleting for some minutes", True),
    "cloudformation.change_set": Duration(20, "change sets with nested stacks take some ten seconds", True),
    "cloudformation.dependency_patience": Duration(
        600,
        "CloudFormation repeats deletes that EC2 refuses with DependencyViolation for about ten minutes "
        "before "
        "DELETE_FAILED (hashicorp/terraform-provider-aws and aws/aws-cdk reports); minutes",
        True,
    ),
    "logs.write": Duration(60, "services write to their log groups about once a minute", True),
    "logs.late": Duration(
        120, "a log group deleted right after its writer comes back (facts/hyperpod_native.md, rule 19)", True
    ),
    "sagemaker.cluster.create": Duration(
        60, "a Continuous cluster is InService before it has a node, within a minute or two", True
    ),
    "sagemaker.cluster.update": Duration(30, "a change of groups is taken up within a minute", True),
    "sagemaker.cluster.delete": Duration(120, "after its nodes are gone, commonly seen minutes", True),
    "sagemaker.node.launch": Duration(
        150, "an instance is launched and boots, commonly seen 2 to 3 minutes", True
    ),
    "sagemaker.node.lifecycle": Duration(75, "lifecycle script, join of the node, basic health checks", True),
    "sagemaker.node.accelerated": Duration(
        240, "accelerated types take minutes longer: drivers and basic health checks", True
    ),
    "sagemaker.node.stagger": Duration(8, "instances of a group come up seconds apart", True),
    "sagemaker.node.zone": Duration(12, "and so do zones", True),
    "sagemaker.node.deep_health_check": Duration(
        5400,
        "SageMaker developer guide, 'Deep health checks': about 60 to 90 minutes for stress tests, and "
        "more for "
        "connectivity",
        True,
    ),
    "sagemaker.node.terminate": Duration(90, "an instance drains and ends", True),
    "sagemaker.node.retry": Duration(
        300, "SageMaker developer guide, 'Continuous provisioning': failed launches are tried again", True
    ),
    "sagemaker.group.minimum": Duration(
        10800, "AWS::SageMaker::Cluster schema, MinInstanceCount: three hours"
    ),
}


def seconds(name: str) -> float:
    """The modelled seconds of the duration called ``name``.

    :raises KeyError: when the table has no such duration.
    """
    return DURATIONS[name].seconds
