"""The laws of CloudFormation and of SageMaker HyperPod; :mod:`laws` lists them with the others."""

from __future__ import annotations

from mlcc_rehearsal.cloud.laws import _law

_CFN = "AWS CloudFormation user guide"
_CFN_API = "AWS CloudFormation API reference"
_NATIVE = "facts/hyperpod_native.md"
_TEMPLATES = "facts/templates.md"
_DG = "SageMaker developer guide, HyperPod"
_MODEL = "botocore 1.44.8 service model sagemaker"
_LIMITS = "facts/limits.json, hyperpod"

# --- CloudFormation: calls -------------------------------------------------------------------------------
STACK_EXISTS = _law(
    "stack-exists", "A stack's name is unique in account and region.", f"{_CFN_API}, AlreadyExistsException"
)
STACK_PARAMETERS = _law(
    "stack-parameters",
    "A stack takes the parameters that its template declares and no others, each one of its allowed "
    "values and "
    "at most 4096 bytes.",
    f"{_CFN}, 'Parameters'; {_TEMPLATES} sections 2 and 10 (wording of the length unverified)",
)
CAPABILITIES = _law(
    "stack-capabilities",
    "A template with named roles needs CAPABILITY_NAMED_IAM, one with a transform CAPABILITY_AUTO_EXPAND, on "
    "create and on update.",
    "field report G4 (InsufficientCapabilitiesException: Requires capabilities : [...])",
)
TEMPLATE_BODY = _law(
    "template-body-length",
    "A TemplateBody has at most 51,200 bytes.",
    f"{_CFN_API}, CreateStack; {_TEMPLATES}",
)
TEMPLATE_URL = _law(
    "template-url",
    "A TemplateURL is an https address of an object in S3 that CloudFormation can read.",
    f"{_CFN_API}, CreateStack; field reports G7, G10",
)
TEMPLATE_REFERENCES = _law(
    "template-references",
    "A resource that is made cannot name one whose condition is false.",
    f"{_NATIVE} rule 21 (Unresolved resource dependencies)",
)
STACK_STATE = _law(
    "stack-state",
    "A stack that is being changed, or whose create or rollback failed, refuses to be updated.",
    f"{_CFN}, 'Stack status codes'; field reports G1, G6, H8",
)
NO_UPDATES = _law(
    "stack-no-updates",
    "An update that changes nothing is refused.",
    f"{_CFN_API}, UpdateStack (No updates are to be performed.)",
)
TERMINATION_PROTECTION = _law(
    "stack-termination-protection",
    "A stack with termination protection is not deleted.",
    f"{_CFN}, 'Protect CloudFormation stacks from being deleted'",
)
RETAIN_STATE = _law(
    "stack-retain-state",
    "Resources can be retained, and a deletion forced, only on a stack whose deletion has failed.",
    f"{_CFN_API}, DeleteStack; field report H9 (wording unverified)",
)
CHANGE_SET_STATE = _law(
    "change-set-state",
    "A change set is executed once, when it is complete and its stack was not changed since.",
    f"{_CFN_API}, ExecuteChangeSet (InvalidChangeSetStatus)",
)
ACTION_DENIED = _law(
    "stack-policy",
    "An update that a stack policy denies fails at the resource, and the stack rolls back.",
    f"{_CFN}, 'Prevent updates to stack resources' (wording of the event unverified)",
)

# --- CloudFormation: what becomes of stacks --------------------------------------------------------------
ROLLBACK_COMPLETE = _law(
    "stack-rollback-complete",
    "A first create that fails rolls back to ROLLBACK_COMPLETE; such a stack can only be deleted.",
    "field report G1; hashicorp/terraform-provider-aws#107",
)
STACK_TIMEOUT = _law(
    "stack-timeout",
    "A creation that takes longer than its TimeoutInMinutes is stopped, nested stacks too, and rolled back.",
    f"{_CFN_API}, CreateStack, TimeoutInMinutes (wording as commonly seen)",
)
NESTED_REASON = _law(
    "stack-nested-reason",
    "A stack names the nested stack that failed; why is in that stack's events, which stay readable by "
    "its id.",
    "field report G5; aws-quickstart/quickstart-awx#32",
)
STACK_DELETE_FAILED = _law(
    "stack-delete-failed",
    "What EC2 refuses to delete for long (interfaces and groups that others left) ends the deletion in "
    "DELETE_FAILED.",
    f"{_TEMPLATES} section 9; field report H1",
)
STACK_DEAF = _law(
    "hyperpod-stack-deaf",
    "Custom resources whose only property is their token are deaf to changed parameters: instance groups and "
    "chart values are create-only through the stack.",
    f"{_TEMPLATES} section 5",
)
STACK_RESENDS = _law(
    "hyperpod-stack-update-resends",
    "An update that touches the cluster, stack tags included, sends the groups of the day it was made.",
    f"{_NATIVE} rule 6 and section 4",
    unverified=True,
)
STACK_PREFIX = _law(
    "hyperpod-stack-prefix",
    "Two stacks with one ResourceNamePrefix collide: functions and roles have fixed names.",
    f"{_TEMPLATES} section 5",
)
FUNCTION_ENVIRONMENT = _law(
    "hyperpod-stack-environment",
    "All group settings travel in one function's environment of 4 KB.",
    f"{_TEMPLATES} section 4; AWS Lambda developer guide, quotas",
)
LIFECYCLE_BUCKET = _law(
    "hyperpod-stack-bucket",
    "The generated template has one fixed key in the lifecycle bucket, which must exist; whoever writes "
    "it last "
    "decides what the next update reads.",
    f"{_NATIVE} rule 12; {_TEMPLATES} section 5",
)
STACK_BUCKETS = _law(
    "hyperpod-stack-buckets",
    "Buckets that the template made are deleted empty only, and access logs fill the second one.",
    f"{_TEMPLATES} section 9",
)
STACK_EMPTIES_BUCKET = _law(
    "hyperpod-stack-empties-bucket",
    "The lifecycle function deletes every object of the bucket when its stack goes, also of one that was "
    "brought.",
    f"{_TEMPLATES} sections 5 and 9",
)
STACK_CERT_MANAGER = _law(
    "hyperpod-stack-cert-manager",
    "The function of CertManagerStack sets cert-manager to one version on create, removes one that users put "
    "in themselves, and on delete takes the add-on away whoever made it; it answers success whatever comes.",
    f"{_TEMPLATES} section 5; {_NATIVE} rule 10",
)
STACK_OPERATOR_SUCCESS = _law(
    "hyperpod-stack-operator-success",
    "The stack that installs the inference operator says nothing about it: its function answers success "
    "whatever comes of the add-on, or nothing at all when fifteen minutes are over.",
    f"{_TEMPLATES} section 6",
)
STACK_OIDC_PROVIDER = _law(
    "hyperpod-stack-oidc-provider",
    "The IAM OIDC provider that the template's functions make by eksctl stays when the stack goes.",
    f"{_TEMPLATES} sections 3, 5 and 9",
)
STACK_RETAINED = _law(
    "stack-retained",
    "A resource with DeletionPolicy Retain outlives its stack, one with RetainExceptOnCreate unless the "
    "stack's creation is rolled back.",
    f"{_CFN}, 'DeletionPolicy attribute'; {_TEMPLATES} section 9",
)
FSX_SUBNET = _law(
    "hyperpod-stack-fsx-zone",
    "FsxAvailabilityZoneId must be the zone of a private subnet; the stack fails without saying so.",
    f"{_TEMPLATES} sections 2 and 5",
)
FSX_CAPACITY = _law(
    "fsx-capacity",
    "A persistent Lustre file system has 1200 GiB or a multiple of 2400.",
    "Amazon FSx API reference, CreateFileSystem, StorageCapacity (wording unverified)",
)
ZONE_IDS = _law(
    "hyperpod-stack-zones",
    "AvailabilityZoneIds are ids of zones of the stack's region; the defaults are us-east-2's.",
    f"{_TEMPLATES} section 2",
)

# --- HyperPod --------------------------------------------------------------------------------------------
HYPERPOD_EXISTS = _law(
    "hyperpod-exists", "A cluster's name is unique in account and region.", f"{_MODEL} (ResourceInUse)"
)
HYPERPOD_PARAMETERS = _law(
    "hyperpod-parameters", "Parameters keep to the patterns, lengths and values of the API's model.", _MODEL
)
HYPERPOD_EKS = _law(
    "hyperpod-eks",
    "The EKS cluster exists, is ACTIVE and has access entries; subnets are in its VPC.",
    f"{_DG}, prerequisites for EKS; {_LIMITS} (wording unverified)",
)
HYPERPOD_GROUPS = _law(
    "hyperpod-groups",
    "Groups have names of their own and one kind of type, at most 20; minimum at most count; several "
    "types need "
    "Continuous mode; deep health checks need accelerated types.",
    f"{_LIMITS} (wording and the limit of 20 unverified)",
    unverified=True,
)
HYPERPOD_QUOTA = _law(
    "hyperpod-quota",
    "The account's quota '<type> for cluster usage' limits instances.",
    f"{_DG}, prerequisites; {_MODEL} (ResourceLimitExceeded)",
)
HYPERPOD_STATE = _law(
    "hyperpod-state",
    "Only a cluster InService is updated, only one InService or Failed deleted.",
    f"{_MODEL} (ConflictException); field report H8 (wording unverified)",
)
HYPERPOD_DEEP_HEALTH = _law(
    "hyperpod-deep-health-checks",
    "A cluster is not updated while deep health checks run.",
    f"{_DG}, deep health checks; {_NATIVE} rule 13",
    unverified=True,
)
HYPERPOD_IMMUTABLE = _law(
    "hyperpod-group-immutable",
    "A group's OverrideVpcConfig and type cannot be changed.",
    f"{_LIMITS}, override_vpc_config; the type is unverified",
)
HYPERPOD_OMITTED = _law(
    "hyperpod-omitted-groups",
    "Groups that UpdateCluster is not told of stay, or go: switchable, for no public text says.",
    f"{_LIMITS}, update_cluster_semantics; {_NATIVE} section 4",
    unverified=True,
)
HYPERPOD_CONTINUOUS = _law(
    "hyperpod-continuous",
    "In Continuous mode cluster and groups are InService before there is a node.",
    f"{_NATIVE} rule 2; {_DG}, continuous provisioning",
)
HYPERPOD_CAPACITY = _law(
    "hyperpod-capacity",
    "Without capacity a Continuous group stays InService below its count, its events say so and it tries "
    "again; "
    "any other cluster rolls back and fails.",
    f"{_DG}, continuous provisioning; field report E1",
)
HYPERPOD_MINIMUM = _law(
    "hyperpod-group-minimum",
    "A group that has not its MinInstanceCount after three hours rolls back.",
    f"{_LIMITS}, min_instance_count; {_NATIVE} rule 2",
)
HYPERPOD_ROLE_TRUST = _law(
    "hyperpod-role-trust",
    "Instances come up only with an execution role, at its exact path, that sagemaker.amazonaws.com may "
    "assume.",
    f"facts/service_roles.json; {_NATIVE} rule 3 (wording from the predecessor's record)",
)
HYPERPOD_ROLE_GRANTS = _law(
    "hyperpod-role-grants",
    "Instances come up only with an execution role whose policies allow interfaces, descriptions and images.",
    f"facts/service_roles.json, inline_policy_documented_for_eks; {_NATIVE} rule 3 (wording unverified)",
)
HYPERPOD_SCRIPT_READABLE = _law(
    "hyperpod-script-readable",
    "The execution role must be allowed to list the lifecycle bucket and to read the script; where only "
    "reading "
    "is missing the message speaks of the bucket's owner.",
    "dev.classmethod.jp, sagemaker-hyperpod-execution-role-s3-bucket-permissions; facts/service_roles.json "
    "s3_restriction (the message about the owner is unverified)",
)
HYPERPOD_SCRIPT_EXISTS = _law(
    "hyperpod-script-exists",
    "The lifecycle script must lie where the group says.",
    "awslabs/awsome-distributed-ai#188, #632; field report E3",
)
SCHEDULER_CONFIG = _law(
    "scheduler-config",
    "A cluster has one policy of task governance, and needs the add-on for it.",
    f"{_DG}, task governance; {_MODEL} (wording unverified)",
    unverified=True,
)
HYPERPOD_EVENTS = _law(
    "hyperpod-events",
    "Only Continuous clusters have events.",
    f"{_MODEL}, ListClusterEvents (wording unverified)",
)
