"""The laws: what the rehearsal cloud enforces because AWS does.

Each law says what holds, where that is known from, for which versions, and whether the source is weak
(``unverified``: right in kind, its wording or limits not proven; the product may warn about it, not refuse).
The code refuses a call with ``raise laws.SOME_LAW.broken(error)``, which also notes the law in the journal.

``python -m mlcc_rehearsal.cloud laws`` lists them; docs/rehearsal.md is made from that.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from mlcc_rehearsal.cloud.account import current_request

E = TypeVar("E", bound=Exception)

LAWS: dict[str, Law] = {}


@dataclass(frozen=True)
class Law:
    """One law; ``versions`` says for which Kubernetes, add-on or API versions it holds."""

    name: str
    statement: str
    source: str
    versions: str = "all"
    unverified: bool = False

    def broken(self, error: E) -> E:
        """Note in the journal that this law refused the call, and hand the error back to be raised."""
        request = current_request.get()
        if request is not None:
            request.law = self.name
        return error

    def as_dict(self) -> dict[str, Any]:
        """The law as JSON."""
        return asdict(self)


def _law(name: str, statement: str, source: str, *, versions: str = "all", unverified: bool = False) -> Law:
    law = Law(name, statement, source, versions, unverified)
    LAWS[name] = law
    return law


_EKSUG = "Amazon EKS user guide"
_BOTO = "botocore 1.44.8 service model"
_TFP = "hashicorp/terraform-provider-aws"

# --- callers ---------------------------------------------------------------------------------------------
UNKNOWN_CREDENTIALS = _law(
    "unknown-credentials",
    "A call signed with an access key that nobody has is refused, in the words of the service.",
    "IAM and EC2 API references, common errors (InvalidClientTokenId, AuthFailure, InvalidAccessKeyId)",
)
ASSUME_ROLE_TRUST = _law(
    "assume-role-trust",
    "sts:AssumeRole and AssumeRoleWithWebIdentity succeed only when the role's trust policy allows them.",
    "AWS IAM user guide, 'Policy evaluation logic'; field reports B10, B11, B12",
)
WEB_IDENTITY_PROVIDER = _law(
    "web-identity-provider",
    "A web identity is accepted only from an issuer that the account has an OIDC provider for.",
    "AWS STS API reference, AssumeRoleWithWebIdentity, InvalidIdentityToken",
)

DRY_RUN = _law(
    "ec2-dry-run",
    "An EC2 call with DryRun changes nothing and says that it would have succeeded.",
    "Amazon EC2 API reference, common parameters (DryRunOperation); permissions are not evaluated here",
)

# --- IAM -------------------------------------------------------------------------------------------------
IAM_PROPAGATION = _law(
    "iam-propagation",
    "A role just made, or a trust just changed, is not seen by other services for some seconds.",
    "AWS IAM user guide, 'Changes that I make are not always immediately visible'; field report B5",
)
IAM_PRINCIPAL = _law(
    "iam-principal-exists",
    "A trust policy that names a role or user that does not exist, or that was made seconds ago, is refused.",
    f"{_TFP}#8905, #1388 (MalformedPolicyDocument: Invalid principal in policy)",
)
ROLE_DELETE_CONFLICT = _law(
    "role-delete-conflict",
    "A role with attached policies, inline policies or instance profiles cannot be deleted.",
    f"AWS IAM API reference, DeleteRole; {_TFP}#883 (DeleteConflict)",
)
POLICY_DELETE_CONFLICT = _law(
    "policy-delete-conflict",
    "A managed policy that is attached to anything cannot be deleted.",
    "AWS IAM API reference, DeletePolicy (DeleteConflict); IAM user guide, 'Delete IAM policies'",
)
ROLE_NAME = _law(
    "iam-names",
    "IAM names keep to their pattern and length (roles 64, policies and instance profiles 128 characters); "
    "role names are unique ignoring case.",
    f"{_BOTO} iam; AWS IAM user guide, quotas",
)
IAM_TAGS = _law(
    "iam-tags", "At most 50 tags, keys at most 128 and values at most 256 characters.", f"{_BOTO} iam"
)
POLICIES_PER_ROLE = _law(
    "policies-per-role",
    "At most 10 managed policies are attached to a role.",
    "AWS IAM user guide, quotas (copy of 2023-05-11; the quota can be raised to 20)",
    unverified=True,
)

POLICY_SIZE = _law(
    "policy-size",
    "Without white space a trust policy has at most 2048 characters, a managed policy 6144, and a role's "
    "inline policies 10240 together.",
    "AWS IAM user guide, quotas (facts/limits.json, iam; the last two numbers and the wording unverified)",
    unverified=True,
)

# --- EC2 -------------------------------------------------------------------------------------------------
SUBNET_DEPENDENCY = _law(
    "subnet-dependency",
    "A subnet with network interfaces in it cannot be deleted.",
    "Amazon EC2 API reference, DeleteSubnet; field report H1 (DependencyViolation)",
)
GROUP_DEPENDENCY = _law(
    "security-group-dependency",
    "A security group that an interface uses, or that a rule of another group names, cannot be deleted.",
    "Amazon EC2 API reference, DeleteSecurityGroup; pulumi/pulumi-eks#194 (DependencyViolation)",
)
DEFAULT_GROUP = _law(
    "default-security-group",
    "A VPC's default security group cannot be deleted.",
    "Amazon VPC user guide, 'Default security groups' (CannotDelete)",
)
VPC_DEPENDENCY = _law(
    "vpc-dependency",
    "A VPC with subnets, an internet gateway, further route tables or groups, or endpoints cannot be "
    "deleted.",
    "Amazon EC2 API reference, DeleteVpc (DependencyViolation)",
)
GATEWAY_DEPENDENCY = _law(
    "internet-gateway-dependency",
    "An internet gateway is not detached while the VPC has mapped public addresses.",
    "Amazon EC2 API reference, DetachInternetGateway; AWS re:Post, 'mapped public address(es)'",
)
ADDRESS_IN_USE = _law(
    "elastic-ip-in-use",
    "An elastic address that is associated cannot be released.",
    "Amazon EC2 API reference, ReleaseAddress (InvalidIPAddress.InUse)",
)
NAT_GATEWAY_TIME = _law(
    "nat-gateway-time",
    "A NAT gateway is pending before it is available and deleting before it is deleted; its interface and "
    "address are held until it is deleted.",
    "Amazon VPC user guide, 'NAT gateways'",
)
INTERFACES_OUTLIVE_NODES = _law(
    "interfaces-outlive-nodes",
    "Interfaces of nodes stay behind, available, for minutes after their node group is gone and hold its "
    "subnets and security groups.",
    "pulumi/pulumi-eks#194, #1226; terraform-aws-modules/terraform-aws-eks#285, #2048; field report H1",
)
INTERFACE_IN_USE = _law(
    "interface-in-use",
    "An interface that is attached, or that a service manages, cannot be deleted.",
    "Amazon EC2 API reference, DeleteNetworkInterface (InvalidParameterValue: currently in use)",
)
EC2_TAGS = _law(
    "ec2-tags",
    "At most 50 tags, keys at most 127 and values at most 255 characters, no key that begins with aws:.",
    "Amazon EC2 user guide, 'Tag restrictions'",
)

# --- EKS: clusters ---------------------------------------------------------------------------------------
CLUSTER_EXISTS = _law(
    "eks-cluster-exists",
    "A cluster's name is unique in account and region.",
    "Amazon EKS API reference, CreateCluster",
)
EKS_PARAMETERS = _law(
    "eks-parameters",
    "Parameters keep to the patterns, lengths and values of the API's model.",
    f"{_BOTO} eks",
)
PUBLIC_BLOCKS = _law(
    "eks-public-blocks",
    "The blocks that may use a cluster's public endpoint are no private ones (RFC 1918).",
    f"{_EKSUG}, 'Cluster API server endpoint' (no reserved addresses); the words are a guess",
    unverified=True,
)
CLUSTER_VERSION = _law(
    "eks-version-offered",
    "A cluster is made only with a Kubernetes version that EKS offers.",
    "Amazon EKS user guide, 'Kubernetes version lifecycle'; facts/limits.json (as of 2026-11-30)",
    versions="offered: 1.32 to 1.36",
)
VERSION_STEP = _law(
    "eks-version-step",
    "The control plane goes up one minor version at a time and never down.",
    "aws/containers-roadmap#497; field report C9 (Unsupported Kubernetes minor version update)",
)
CLUSTER_ROLE_TRUST = _law(
    "eks-cluster-role-trust",
    "The cluster role exists, is seen by EKS and trusts eks.amazonaws.com.",
    f"{_EKSUG}, 'Amazon EKS cluster IAM role'; {_TFP} internal/service/eks/cluster.go",
)
CLUSTER_ROLE_GRANTS = _law(
    "eks-cluster-role-grants",
    "The cluster role's policies allow what EKS does with it (AmazonEKSClusterPolicy, or its own at least "
    "describing subnets and tagging instances).",
    f"{_EKSUG}, 'Amazon EKS cluster IAM role'; {_TFP} internal/service/eks/cluster.go",
)
CLUSTER_SUBNETS = _law(
    "eks-subnets",
    "A cluster's subnets exist, lie in one VPC and in at least two zones.",
    f"{_EKSUG}, 'Amazon EKS networking requirements'",
)
CLUSTER_ZONES = _law(
    "eks-zones",
    "EKS refuses subnets in some zones and lists the zones it offers.",
    f"{_EKSUG}, 'Amazon EKS networking requirements' (use1-az3, usw1-az2, cac1-az3)",
)
CLUSTER_DELETE = _law(
    "eks-cluster-delete",
    "A cluster with node groups or Fargate profiles, or being updated, cannot be deleted.",
    "Amazon EKS API reference, DeleteCluster; field report H8",
)
CLUSTER_STATE = _law(
    "eks-cluster-state",
    "A cluster that is not ACTIVE refuses to be changed or added to.",
    "Amazon EKS API reference (ResourceInUseException, InvalidRequestException); field report H8",
)
ONE_UPDATE = _law(
    "eks-one-update",
    "One request changes one kind of thing, and something is changed.",
    f"Amazon EKS API reference, UpdateClusterConfig; {_TFP} internal/service/eks/cluster.go",
)
NEW_ISSUER = _law(
    "eks-new-issuer",
    "Each cluster has an OIDC issuer of its own, also when it has the name of one that was deleted.",
    f"{_EKSUG}, 'IAM roles for service accounts'; field report B10",
)

# --- EKS: access -----------------------------------------------------------------------------------------
CREATORS_ENTRY = _law(
    "eks-creators-entry",
    "Unless bootstrapClusterCreatorAdminPermissions is false, the creator has an access entry with "
    "cluster-admin from the start; node and Fargate roles get theirs from EKS.",
    f"{_EKSUG}, 'Grant IAM users access to Kubernetes with EKS access entries'; field report C1",
)
ENTRY_EXISTS = _law(
    "eks-access-entry-exists",
    "A principal has one access entry in a cluster; a second is refused with 409.",
    "terraform-aws-modules/terraform-aws-eks#2968; field report C1",
)
ENTRY_OF_A_REMADE_PRINCIPAL = _law(
    "eks-access-entry-of-a-remade-principal",
    "An access entry works for the principal it was made for: one that was deleted and made again under the "
    "same ARN has another id, and the entry lets it in no more.",
    "Amazon EKS API reference, AccessEntry, principalArn",
)
AUTHENTICATION_MODE = _law(
    "eks-authentication-mode",
    "Access entries need authentication mode API or API_AND_CONFIG_MAP.",
    f"{_EKSUG}, 'Change authentication mode to use access entries'; field report C7",
)
MODE_FORWARD = _law(
    "eks-authentication-mode-forward",
    "The authentication mode goes from CONFIG_MAP to API_AND_CONFIG_MAP to API and never back.",
    f"{_EKSUG}, 'Change authentication mode to use access entries'; field report C7",
)
ENTRY_PRINCIPAL = _law(
    "eks-access-entry-principal",
    "An access entry's principal is an existing role or user, not a role session, path included.",
    "terraform-aws-modules/terraform-aws-eks#2969; aws-samples/appmod-blueprints#319; field reports C4, C5",
)
ASSOCIATION_NEEDS_ENTRY = _law(
    "eks-policy-needs-entry",
    "An access policy is associated only with a principal that has an access entry.",
    "terraform-aws-modules/terraform-aws-eks#3024; field report C6",
)
POD_IDENTITY_EXISTS = _law(
    "eks-pod-identity-exists",
    "A service account has one pod identity association in a cluster.",
    "eksctl-io/eksctl#7753; field report D12 (ResourceInUseException: Association already exists)",
)

# --- EKS: nodes ------------------------------------------------------------------------------------------
NODE_ROLE_TRUST = _law(
    "eks-node-role-trust",
    "A node group's role exists and trusts ec2.amazonaws.com.",
    f"{_EKSUG}, 'Amazon EKS node IAM role'",
)
NODE_ROLE_GRANTS = _law(
    "eks-node-role-grants",
    "Nodes whose role may not describe the cluster, pull images or manage interfaces do not become ready, "
    "and "
    "the node group ends CREATE_FAILED.",
    f"{_EKSUG}, 'Amazon EKS node IAM role', 'Troubleshoot problems with clusters and nodes'",
)
NODES_WAY_OUT = _law(
    "eks-nodes-way-out",
    "Nodes without a way to the cluster, ECR, EC2 and S3 (a NAT or internet route, or endpoints) do not "
    "join: "
    "NodeCreationFailure.",
    f"{_EKSUG}, 'Deploy private clusters with limited internet access', 'Troubleshoot'",
)
NODES_NEED_CNI = _law(
    "eks-nodes-need-cni",
    "Nodes are not ready without the VPC CNI: a cluster made without self-managed add-ons needs the vpc-cni "
    "add-on for its first node group.",
    f"{_EKSUG}, 'Create an Amazon EKS cluster' (bootstrapSelfManagedAddons); Kubernetes, "
    "NetworkPluginNotReady",
)
NODE_PARAMETERS = _law(
    "eks-node-group-parameters",
    "Instance types exist and suit the AMI type, sizes are in order, nodes are not newer than the cluster.",
    f"Amazon EKS API reference, CreateNodegroup; {_BOTO} eks",
    unverified=True,
)
NODE_AMI = _law(
    "eks-node-ami",
    "Amazon Linux 2 AMIs are offered up to Kubernetes 1.32.",
    f"{_EKSUG}, 'Upgrade from Amazon Linux 2 to Amazon Linux 2023'",
    versions="Kubernetes 1.33 and later",
)
NODE_GROUP_EXISTS = _law(
    "eks-node-group-exists",
    "A node group's name is unique in its cluster.",
    "Amazon EKS API reference, CreateNodegroup",
)
FARGATE_ONE_DELETING = _law(
    "eks-fargate-one-deleting",
    "While a Fargate profile is being deleted no other of the cluster can be made or deleted.",
    f"{_BOTO} eks, DeleteFargateProfile; {_EKSUG}, 'Define which Pods use AWS Fargate'",
)
FARGATE_SELECTORS = _law(
    "eks-fargate-selectors",
    "A Fargate profile has one to five selectors, each with a namespace.",
    f"{_BOTO} eks, CreateFargateProfile; field report B14",
)
FARGATE_SUBNETS = _law(
    "eks-fargate-private-subnets",
    "A Fargate profile's subnets are private: no route to an internet gateway.",
    f"{_EKSUG}, 'Define which Pods use AWS Fargate when launched'",
)
FARGATE_ROLE_TRUST = _law(
    "eks-fargate-role-trust",
    "A Fargate profile's role exists and trusts eks-fargate-pods.amazonaws.com.",
    f"{_EKSUG}, 'Amazon EKS Pod execution IAM role'; {_TFP} internal/service/eks/fargate_profile.go",
)

# --- EKS: add-ons ----------------------------------------------------------------------------------------
ADDON_SUPPORTED = _law(
    "eks-addon-supported",
    "An add-on and its version are supported for the cluster's Kubernetes version.",
    "Amazon EKS API reference, DescribeAddonVersions; field report D6",
    versions="as the data file eks/data/addons.json lists them",
)
ADDON_EXISTS = _law(
    "eks-addon-exists", "An add-on is installed once in a cluster.", "Amazon EKS API reference, CreateAddon"
)
ADDON_CONFLICT = _law(
    "eks-addon-conflict",
    "Laying an add-on over a self-managed one without OVERWRITE ends in ConfigurationConflict.",
    f"{_TFP}#20440; {_EKSUG}, 'Determine fields you can customize for Amazon EKS add-ons'; field report D1",
    versions="clusters made with bootstrapSelfManagedAddons true",
)
ADDON_REPLICAS = _law(
    "eks-addon-replicas",
    "An add-on whose pods have no node and no Fargate profile is DEGRADED (InsufficientNumberOfReplicas) "
    "until there is one.",
    "pulumi/pulumi-eks#1819; terraform-aws-modules/terraform-aws-eks#3001; field report D3",
)
ADDON_CONFIGURATION = _law(
    "eks-addon-configuration",
    "An add-on's configuration values keep to the JSON schema of its version.",
    "cookpad/terraform-aws-eks#331; DataDog/documentation#29899; field reports D8, D9",
)

# --- SSM, S3, logs ---------------------------------------------------------------------------------------
PARAMETER_EXISTS = _law(
    "ssm-parameter-exists",
    "PutParameter without Overwrite on an existing name is refused.",
    "AWS Systems Manager API reference, PutParameter (ParameterAlreadyExists)",
)
PARAMETER_VALUE = _law(
    "ssm-parameter-value",
    "A parameter's value is not empty and, in the standard tier, at most 4096 characters.",
    f"{_BOTO} ssm, PutParameter; the refusal of empty values is general knowledge",
    unverified=True,
)
BUCKET_GLOBAL = _law(
    "s3-bucket-global",
    "Bucket names are unique over all accounts; one that somebody else has is refused.",
    "Amazon S3 user guide, 'Bucket naming rules' (BucketAlreadyExists)",
)
BUCKET_NOT_EMPTY = _law(
    "s3-bucket-not-empty",
    "A bucket with objects, object versions or delete markers cannot be deleted.",
    "Amazon S3 API reference, DeleteBucket; field report H5 (BucketNotEmpty)",
)

# The operator's and the load balancers' laws are a module of their own: this one is long enough.
# So are HyperPod's and CloudFormation's.
from mlcc_rehearsal.cloud import laws_hyperpod as _laws_hyperpod  # noqa: E402, F401
from mlcc_rehearsal.cloud import laws_operator as _laws_operator  # noqa: E402, F401
