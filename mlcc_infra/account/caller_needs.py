"""What the caller has to be allowed to do for things that are about to be made, and for their deletion. Pure.

One table by Pulumi type: the IAM actions of the provider's create and delete calls, tags included, and the
ARN that IAM sees. Actions: the CloudFormation registry's handler permissions for the type and the service
authorization reference; CloudFormation acts with the caller's rights inside AWS's template, so what that
makes counts too. An engine test holds the table against the calls of a whole life.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from mlcc_infra.account.decisions import Wanted

AWS: Final = "aws:"
Context = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where things are made, and what every request that makes one carries.

    `request_tags` are the tags that all things get; `role_paths` maps a role's name to its IAM path, where
    that is not `/`.
    """

    partition: str
    region: str
    account: str
    request_tags: Mapping[str, str] = field(default_factory=dict)
    role_paths: Mapping[str, str] = field(default_factory=dict)
    permissions_boundary: str | None = None

    def arn(self, service: str, resource: str) -> str:
        """An ARN in the region."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"

    def iam(self, resource: str) -> str:
        """An ARN of IAM."""
        return f"arn:{self.partition}:iam::{self.account}:{resource}"

    def role(self, name: str) -> str:
        """The ARN of a role of ours."""
        return self.iam(f"role{self.role_paths.get(name, '/')}{name}")

    @property
    def tagged(self) -> Context:
        """What a request with our tags says about itself (IAM user guide, global condition keys)."""
        tags = tuple((f"aws:RequestTag/{key}", (value,)) for key, value in self.request_tags.items())
        return (*tags, ("aws:TagKeys", tuple(self.request_tags)))


@dataclass(frozen=True, kw_only=True)
class Need:
    """Actions on resources: `create` without which it is not made, `delete` without which it stays."""

    resources: tuple[str, ...]
    create: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()
    context: Context = ()


@dataclass(frozen=True, kw_only=True)
class _Type:
    create: tuple[str, ...]
    delete: tuple[str, ...]
    arn: Callable[[Mapping[str, str], Place], str]
    tagged: bool = True


def _ec2(thing: str, kinds: str) -> _Type:
    """A thing of EC2, which has no name before it is made: any id of its kind."""
    return _Type(
        create=(f"ec2:Create{thing}", "ec2:CreateTags"),
        delete=(f"ec2:Delete{thing}",),
        arn=lambda _, place: place.arn("ec2", f"{kinds}/*"),
    )


def _of_ec2(create: Iterable[str], delete: Iterable[str], kind: str) -> _Type:
    return _Type(
        create=tuple(create),
        delete=tuple(delete),
        arn=lambda _, place: place.arn("ec2", f"{kind}/*"),
        tagged=False,
    )


def _in_cluster(kind: str) -> Callable[[Mapping[str, str], Place], str]:
    return lambda found, place: place.arn("eks", f"{kind}/{found['cluster']}/{found['name']}/*")


def _bucket(create: Iterable[str], delete: Iterable[str] = ()) -> _Type:
    return _Type(
        create=tuple(create),
        delete=tuple(delete),
        arn=lambda found, place: f"arn:{place.partition}:s3:::{found['bucket']}",
        tagged=False,
    )


def _role(found: Mapping[str, str], place: Place) -> str:
    return place.role(found["role"])


TYPES: Final[Mapping[str, _Type]] = {
    "aws:ec2/vpc:Vpc": _Type(
        create=("ec2:CreateVpc", "ec2:CreateTags", "ec2:ModifyVpcAttribute"),
        delete=("ec2:DeleteVpc",),
        arn=lambda _, place: place.arn("ec2", "vpc/*"),
    ),
    "aws:ec2/subnet:Subnet": _ec2("Subnet", "subnet"),
    "aws:ec2/internetGateway:InternetGateway": _Type(
        create=("ec2:CreateInternetGateway", "ec2:CreateTags", "ec2:AttachInternetGateway"),
        delete=("ec2:DetachInternetGateway", "ec2:DeleteInternetGateway"),
        arn=lambda _, place: place.arn("ec2", "internet-gateway/*"),
    ),
    "aws:ec2/eip:Eip": _Type(
        create=("ec2:AllocateAddress", "ec2:CreateTags"),
        delete=("ec2:ReleaseAddress",),
        arn=lambda _, place: place.arn("ec2", "elastic-ip/*"),
    ),
    "aws:ec2/natGateway:NatGateway": _ec2("NatGateway", "natgateway"),
    "aws:ec2/routeTable:RouteTable": _ec2("RouteTable", "route-table"),
    "aws:ec2/route:Route": _of_ec2(("ec2:CreateRoute",), ("ec2:DeleteRoute",), "route-table"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": _of_ec2(
        ("ec2:AssociateRouteTable",), ("ec2:DisassociateRouteTable",), "route-table"
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": _Type(
        create=("ec2:CreateVpcEndpoint", "ec2:CreateTags"),
        delete=("ec2:DeleteVpcEndpoints",),
        arn=lambda _, place: place.arn("ec2", "vpc-endpoint/*"),
    ),
    "aws:ec2/tag:Tag": _Type(
        create=("ec2:CreateTags",),
        delete=("ec2:DeleteTags",),
        arn=lambda found, place: place.arn("ec2", f"subnet/{found.get('resource_id', '*')}"),
        tagged=False,
    ),
    "aws:iam/role:Role": _Type(
        create=("iam:CreateRole", "iam:TagRole"),
        # The provider looks for instance profiles before it deletes a role.
        delete=("iam:DeleteRole", "iam:ListInstanceProfilesForRole"),
        arn=_role,
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": _Type(
        create=("iam:AttachRolePolicy",), delete=("iam:DetachRolePolicy",), arn=_role, tagged=False
    ),
    "aws:iam/rolePolicy:RolePolicy": _Type(
        create=("iam:PutRolePolicy",), delete=("iam:DeleteRolePolicy",), arn=_role, tagged=False
    ),
    "aws:iam/policy:Policy": _Type(
        create=("iam:CreatePolicy", "iam:TagPolicy"),
        delete=("iam:DeletePolicy", "iam:ListPolicyVersions"),
        arn=lambda found, _: found["arn"],
    ),
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": _Type(
        create=("iam:CreateOpenIDConnectProvider", "iam:TagOpenIDConnectProvider"),
        delete=("iam:DeleteOpenIDConnectProvider",),
        arn=lambda _, place: place.iam(f"oidc-provider/oidc.eks.{place.region}.amazonaws.com/id/*"),
    ),
    "aws:eks/cluster:Cluster": _Type(
        create=("eks:CreateCluster", "eks:TagResource"),
        delete=("eks:DeleteCluster",),
        arn=lambda found, place: place.arn("eks", f"cluster/{found['cluster']}"),
    ),
    "aws:eks/nodeGroup:NodeGroup": _Type(
        create=("eks:CreateNodegroup", "eks:TagResource"),
        delete=("eks:DeleteNodegroup",),
        arn=_in_cluster("nodegroup"),
    ),
    "aws:eks/fargateProfile:FargateProfile": _Type(
        create=("eks:CreateFargateProfile", "eks:TagResource"),
        delete=("eks:DeleteFargateProfile",),
        arn=_in_cluster("fargateprofile"),
    ),
    "aws:eks/addon:Addon": _Type(
        create=("eks:CreateAddon", "eks:TagResource"), delete=("eks:DeleteAddon",), arn=_in_cluster("addon")
    ),
    "aws:ssm/parameter:Parameter": _Type(
        create=("ssm:PutParameter", "ssm:AddTagsToResource"),
        delete=("ssm:DeleteParameter",),
        arn=lambda found, place: place.arn("ssm", f"parameter{found['name']}"),
    ),
    "aws:cloudwatch/logGroup:LogGroup": _Type(
        create=("logs:CreateLogGroup", "logs:PutRetentionPolicy", "logs:TagResource"),
        delete=("logs:DeleteLogGroup",),
        arn=lambda found, place: place.arn("logs", f"log-group:{found['name']}:*"),
    ),
    "aws:s3/bucket:Bucket": _bucket(("s3:CreateBucket", "s3:PutBucketTagging"), ("s3:DeleteBucket",)),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _bucket(("s3:PutBucketPublicAccessBlock",)),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _bucket(
        ("s3:PutEncryptionConfiguration",)
    ),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": _bucket(("s3:PutBucketOwnershipControls",)),
    "aws:s3/bucketPolicy:BucketPolicy": _bucket(("s3:PutBucketPolicy",), ("s3:DeleteBucketPolicy",)),
    "aws:s3/bucketObjectv2:BucketObjectv2": _Type(
        create=("s3:PutObject",),
        delete=("s3:DeleteObject",),
        arn=lambda found, place: f"arn:{place.partition}:s3:::{found['bucket']}/{found['key']}",
        tagged=False,
    ),
    "aws:cloudformation/stack:Stack": _Type(
        create=("cloudformation:CreateStack",),
        delete=("cloudformation:DeleteStack",),
        arn=lambda found, place: place.arn("cloudformation", f"stack/{found['stack']}/*"),
        tagged=False,
    ),
}
"""By Pulumi type token, every type of AWS that the inventory looks up."""


def needs(made: Iterable[Wanted], place: Place, *, retained: Iterable[str] = ()) -> tuple[Need, ...]:
    """What making these things takes, joined where actions and context are the same.

    `retained` are ARNs of what destroy leaves, for which no deletion is asked about.
    """
    kept = frozenset(retained)
    joined: dict[tuple[tuple[str, ...], tuple[str, ...], Context], dict[str, None]] = {}
    for item in made:
        if not item.key[0].startswith(AWS):
            continue  # What lies in a cluster is the cluster's to allow.
        kind = TYPES[item.key[0]]
        arn = kind.arn(item.lookup, place)
        delete = () if arn in kept else kind.delete
        context = place.tagged if kind.tagged else ()
        if item.key[0] == "aws:iam/role:Role" and place.permissions_boundary:
            context = (*context, ("iam:PermissionsBoundary", (place.permissions_boundary,)))
        joined.setdefault((kind.create, delete, context), {})[arn] = None
    return tuple(
        Need(resources=tuple(arns), create=create, delete=delete, context=context)
        for (create, delete, context), arns in joined.items()
    )


def passing(place: Place, role: str, *services: str) -> Need:
    """Handing a role (by name) over to a service: one of these, where no text of AWS says which."""
    return Need(
        resources=(place.role(role),),
        create=("iam:PassRole",),
        context=(("iam:PassedToService", services),),
    )


def admin_needs(place: Place, cluster: str) -> Need:
    """Access entries for administrators of a cluster."""
    return Need(
        resources=(place.arn("eks", f"cluster/{cluster}"),),
        create=("eks:CreateAccessEntry", "eks:AssociateAccessPolicy"),
        delete=("eks:DeleteAccessEntry",),
    )


def template_needs(place: Place, prefix: str, cluster: str) -> tuple[Need, ...]:
    """What CloudFormation does with the caller's rights inside AWS's HyperPod template.

    `prefix` is the template's ResourceNamePrefix; names of what it makes begin with it (facts: templates).
    """
    function = place.arn("lambda", f"function:{prefix}*")
    anything = ("vpc/*", "subnet/*", "internet-gateway/*", "elastic-ip/*", "natgateway/*", "route-table/*")
    made = ("Vpc", "Subnet", "InternetGateway", None, "NatGateway", "RouteTable")
    network = tuple(
        Need(
            resources=(place.arn("ec2", kind),),
            create=(f"ec2:Create{thing}" if thing else "ec2:AllocateAddress", "ec2:CreateTags"),
            delete=(f"ec2:Delete{thing}" if thing else "ec2:ReleaseAddress",),
        )
        for kind, thing in zip(anything, made, strict=True)
    )
    return (
        *network,
        Need(
            resources=(place.arn("ec2", "security-group/*"),),
            create=(
                *("ec2:CreateSecurityGroup", "ec2:CreateTags"),
                *("ec2:AuthorizeSecurityGroupIngress", "ec2:AuthorizeSecurityGroupEgress"),
            ),
            delete=("ec2:DeleteSecurityGroup",),
        ),
        Need(
            resources=(place.iam(f"role/{prefix}*"),),
            create=("iam:CreateRole", "iam:AttachRolePolicy", "iam:PutRolePolicy", "iam:PassRole"),
            delete=("iam:DeleteRole", "iam:DetachRolePolicy", "iam:DeleteRolePolicy"),
        ),
        Need(
            resources=(function,),
            create=("lambda:CreateFunction", "lambda:InvokeFunction", "lambda:TagResource"),
            delete=("lambda:DeleteFunction",),
        ),
        Need(
            resources=(place.arn("eks", f"cluster/{cluster}"),),
            create=("eks:CreateCluster", "eks:TagResource", "eks:CreateAccessEntry"),
            delete=("eks:DeleteCluster",),
        ),
        Need(
            # A HyperPod cluster's ARN ends in an id that nobody knows before.
            resources=(place.arn("sagemaker", "cluster/*"),),
            create=("sagemaker:CreateCluster", "sagemaker:AddTags", "sagemaker:UpdateCluster"),
            delete=("sagemaker:DeleteCluster",),
        ),
    )
