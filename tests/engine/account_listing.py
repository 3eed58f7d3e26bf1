"""Everything in the account that the targets could have made, listed through boto3.

Nothing here relies on what the product says it did: every service the targets touch is asked for all it
holds, so that a test can compare a listing after with a listing before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3


def _pages(service: str, operation: str, result: str, **arguments: Any) -> Iterator[Any]:
    client = boto3.client(service)
    if client.can_paginate(operation):
        for page in client.get_paginator(operation).paginate(**arguments):
            yield from page.get(result, [])
    else:
        yield from getattr(client, operation)(**arguments)[result]


def _iam() -> Iterator[str]:
    for role in _pages("iam", "list_roles", "Roles"):
        name = role["RoleName"]
        yield f"role {name}"
        for policy in _pages("iam", "list_attached_role_policies", "AttachedPolicies", RoleName=name):
            yield f"attachment {name}/{policy['PolicyArn']}"
        for policy_name in _pages("iam", "list_role_policies", "PolicyNames", RoleName=name):
            yield f"inline policy {name}:{policy_name}"
    for policy in _pages("iam", "list_policies", "Policies", Scope="Local"):
        yield f"policy {policy['PolicyName']}"
    for provider in boto3.client("iam").list_open_id_connect_providers()["OpenIDConnectProviderList"]:
        yield f"OIDC provider {provider['Arn']}"
    for instance_profile in _pages("iam", "list_instance_profiles", "InstanceProfiles"):
        yield f"instance profile {instance_profile['InstanceProfileName']}"


_EC2 = (
    ("describe_vpcs", "Vpcs", "VpcId"),
    ("describe_subnets", "Subnets", "SubnetId"),
    ("describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
    ("describe_addresses", "Addresses", "AllocationId"),
    ("describe_route_tables", "RouteTables", "RouteTableId"),
    ("describe_security_groups", "SecurityGroups", "GroupId"),
    ("describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId"),
    ("describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"),
)
_EC2_WITH_STATES = (
    ("describe_nat_gateways", "NatGateways", "NatGatewayId"),
    ("describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId"),
)


def _ec2() -> Iterator[str]:
    for operation, result, key in _EC2:
        for item in _pages("ec2", operation, result):
            yield f"{result} {item[key]}"
    for operation, result, key in _EC2_WITH_STATES:
        for item in _pages("ec2", operation, result):
            # Deleted ones stay visible for about an hour on AWS.
            if str(item["State"]).lower() != "deleted":
                yield f"{result} {item[key]} {item['State']}"
    for reservation in _pages("ec2", "describe_instances", "Reservations"):
        for instance in reservation["Instances"]:
            if instance["State"]["Name"] != "terminated":
                yield f"instance {instance['InstanceId']}"


def _others() -> Iterator[str]:
    for cluster in _pages("eks", "list_clusters", "clusters"):
        yield f"EKS cluster {cluster}"
    for parameter in _pages("ssm", "describe_parameters", "Parameters"):
        if parameter["Name"].startswith("/mlcc/"):
            yield f"parameter {parameter['Name']}"
    for bucket in boto3.client("s3").list_buckets()["Buckets"]:
        yield f"bucket {bucket['Name']}"
    for group in _pages("logs", "describe_log_groups", "logGroups"):
        yield f"log group {group['logGroupName']}"
    for hyperpod in _pages("sagemaker", "list_clusters", "ClusterSummaries"):
        yield f"HyperPod cluster {hyperpod['ClusterName']}"
    for stack in _pages("cloudformation", "list_stacks", "StackSummaries"):
        if stack["StackStatus"] != "DELETE_COMPLETE":
            yield f"stack {stack['StackName']}"


def _load_balancing() -> Iterator[str]:
    for balancer in _pages("elbv2", "describe_load_balancers", "LoadBalancers"):
        yield f"load balancer {balancer['LoadBalancerName']}"
    for classic in _pages("elb", "describe_load_balancers", "LoadBalancerDescriptions"):
        yield f"classic load balancer {classic['LoadBalancerName']}"
    for target in _pages("elbv2", "describe_target_groups", "TargetGroups"):
        yield f"target group {target['TargetGroupName']}"
    for certificate in _pages("acm", "list_certificates", "CertificateSummaryList"):
        yield f"certificate {certificate['CertificateArn']}"


def list_account() -> list[str]:
    """One line a thing, sorted."""
    return sorted([*_iam(), *_ec2(), *_others(), *_load_balancing()])
