"""The canonical import id of every resource type that the targets make: one table.

An id in another form than the provider's own would plan a replacement on the next run (pulumi/pulumi issue
3657). Forms are those of the Import section of each type's page in the Pulumi registry (pulumi-aws 7,
pulumi-kubernetes 4), with names for what stands there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

IMPORT_IDS: Final[Mapping[str, str]] = {
    "aws:cloudformation/stack:Stack": "{stack_id}",  # the name works as well; the state then keeps that
    "aws:cloudwatch/logGroup:LogGroup": "{name}",
    "aws:ec2/eip:Eip": "{id}",
    "aws:ec2/internetGateway:InternetGateway": "{id}",
    "aws:ec2/natGateway:NatGateway": "{id}",
    "aws:ec2/route:Route": "{route_table}_{destination}",
    "aws:ec2/routeTable:RouteTable": "{id}",
    "aws:ec2/routeTableAssociation:RouteTableAssociation": "{subnet}/{route_table}",
    "aws:ec2/subnet:Subnet": "{id}",
    "aws:ec2/tag:Tag": "{resource},{key}",
    "aws:ec2/vpc:Vpc": "{id}",
    "aws:ec2/vpcEndpoint:VpcEndpoint": "{id}",
    "aws:eks/addon:Addon": "{cluster}:{name}",
    "aws:eks/cluster:Cluster": "{cluster}",
    "aws:eks/fargateProfile:FargateProfile": "{cluster}:{name}",
    "aws:eks/nodeGroup:NodeGroup": "{cluster}:{name}",
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": "{arn}",
    "aws:iam/policy:Policy": "{arn}",
    "aws:iam/role:Role": "{role}",
    "aws:iam/rolePolicy:RolePolicy": "{role}:{policy}",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": "{role}/{policy_arn}",
    "aws:s3/bucket:Bucket": "{bucket}",
    "aws:s3/bucketObjectv2:BucketObjectv2": "{bucket}/{key}",
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": "{bucket}",
    "aws:s3/bucketPolicy:BucketPolicy": "{bucket}",
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": "{bucket}",
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": "{bucket}",
    "aws:ssm/parameter:Parameter": "{name}",
    "kubernetes:helm.sh/v3:Release": "{namespace}/{release}",
}


def import_id(type_token: str, **parts: str) -> str:
    """The import id of a resource of a type. Raises `KeyError` for a type without a row, or a missing part.

    >>> import_id("aws:eks/addon:Addon", cluster="mlcc-demo-eks", name="coredns")
    'mlcc-demo-eks:coredns'
    """
    return IMPORT_IDS[type_token].format(**parts)
