"""The laws of the inference operator and of load balancers; listed with the others in :mod:`laws`."""

from __future__ import annotations

from mlcc_rehearsal.cloud.laws import _law

_DOC = "Amazon SageMaker developer guide, HyperPod model deployment"
_CHART = "aws/sagemaker-hyperpod-cli, chart inference-operator"
_POLICY = "managed policy AmazonSageMakerHyperPodInferenceAccess v4"
_RECORD = "the predecessor's record"
_LBC = "kubernetes-sigs/aws-load-balancer-controller"
_UNVERIFIED = "only an account can settle it (facts/hyperpod_native.md, section 4)"

# --- the add-on ------------------------------------------------------------------------------------------
ROLE_PREFIX = _law(
    "operator-role-prefix",
    "The add-on is not laid down for an execution role whose name does not begin with "
    "SageMakerHyperPodInference.",
    f"{_CHART} (isAddOn check); facts/service_roles.json; that every version checks it is unverified",
    versions="amazon-sagemaker-hyperpod-inference, all",
    unverified=True,
)
PREREQUISITES = _law(
    "operator-prerequisites",
    "The controller's init container fails, exit code 1, until the S3 and FSx CSI drivers, cert-manager and "
    "metrics-server are there and ACTIVE.",
    f"{_DOC}, setup ('install the dependency add-ons first'); {_CHART}, config/manager/manager.yaml; the "
    "exact sentence is not published",
)
CAPACITY = _law(
    "operator-capacity",
    "The operator's thirteen pods need room on Ready amd64 nodes; the add-on is DEGRADED without.",
    f"{_DOC}, troubleshooting of console and CloudFormation failures (at least 13 pods, ml.c5.4xlarge)",
)
ARCHITECTURE = _law(
    "operator-amd64",
    "The operator's images are amd64 only: on other nodes its pods crash.",
    "aws/sagemaker-hyperpod-cli PR #427; field report F11",
)
CLUSTER_ARN = _law(
    "operator-cluster-arn",
    "Without hyperpodClusterArn the controller crash-loops.",
    f"{_DOC}, release notes v3.1.2; {_RECORD}; field report F12",
    versions="amazon-sagemaker-hyperpod-inference v1.2.0 and later",
    unverified=True,
)
GATEWAY_ROLE = _law(
    "operator-gateway-role",
    "The inference gateway, on by default from v2.1.0, reads its role when it starts and crashes without.",
    f"{_DOC}, inference gateway; {_RECORD} for the default",
    versions="amazon-sagemaker-hyperpod-inference v2.0.0 and later",
    unverified=True,
)
ADDON_REPLACES = _law(
    "operator-configuration-replaced",
    "Configuration values replace the stored ones as a whole; the required keys are wanted each time.",
    "public workshop on the inference gateway (2026-09-20); botocore 1.44.8 eks, UpdateAddon",
)
FOREIGN_OBJECTS = _law(
    "eks-addon-foreign-objects",
    "An add-on laid without OVERWRITE over objects that somebody else applied (definitions, webhooks, API "
    "services) ends in ConfigurationConflict.",
    "Amazon EKS user guide, 'Determine fields you can customize for Amazon EKS add-ons'; field reports F3 "
    "and F8",
)

# --- the watcher -----------------------------------------------------------------------------------------
WATCHER_TIME = _law(
    "watcher-time",
    "The watcher takes minutes to be enabled and shows only in the controller's log: no public API has it.",
    f"{_RECORD} (5 to more than 15 minutes); botocore 1.44.8 sagemaker has no such operation",
    unverified=True,
)
WATCHER_TRUST = _law(
    "watcher-trust",
    "The execution role must trust the cluster's live issuer with the controller's service account, and "
    "sagemaker.amazonaws.com.",
    f"{_DOC}, troubleshooting, 'IAM trust relationship issue'; field report B10",
)
WATCHER_GRANTS = _law(
    "watcher-grants",
    "Enabling the watcher needs what the managed policy allows, passing the role itself included.",
    f"{_POLICY}; facts/hyperpod_native.md rule 9",
)
RULE_9 = _law(
    "watcher-grants-beside-the-policy",
    "The managed policy alone does not allow DescribeEndpointConfig (it names the resource type wrongly) nor "
    "a first ImportCertificate (it wants a tag on a certificate that does not exist yet).",
    f"{_POLICY}; facts/hyperpod_native.md rule 9; {_UNVERIFIED}",
    unverified=True,
)
WATCHER_DRAINS = _law(
    "watcher-drains",
    "The watcher of a deleted cluster drains for minutes; none can be enabled for a cluster of that name "
    "meanwhile (ValidationException: Underlying watcher service is being deleted).",
    f"{_RECORD}; how long is a guess",
    unverified=True,
)
CERTIFICATES = _law(
    "operator-certificates",
    "Certificates are written to the TLS bucket with the tag CreatedBy=HyperPodInference and imported into "
    "ACM; both are evaluated against role and bucket policy.",
    f"{_POLICY}; {_DOC}, setup",
)

# --- one of each in a cluster ----------------------------------------------------------------------------
ONE_CONTROLLER = _law(
    "one-load-balancer-controller",
    "Two load balancer controllers in a cluster share the names of their webhooks: calls fail because the "
    "certificate is the other's.",
    f"{_LBC}#2847, #2185; aws/eks-charts#405; field report F2",
)
WEBHOOK_BEFORE_PODS = _law(
    "webhook-before-pods",
    "While the load balancer controller's webhook has no ready pod, Services and Ingresses are refused.",
    f"{_LBC}#4140; field report F4",
)
SHARED_ACCOUNT_NAME = _law(
    "shared-service-account-name",
    "Two controllers under one service account name in two namespaces both get the role's credentials only "
    "when its trust names any namespace.",
    f"facts/hyperpod_native.md rule 22; {_RECORD}",
)
API_SERVICE = _law(
    "api-service-without-service",
    "An API service whose service or pods are gone keeps every namespace of the cluster from being deleted.",
    "kedacore/keda#1448; kedacore/charts#495; field reports F6, F7",
)

# --- load balancers --------------------------------------------------------------------------------------
LOAD_BALANCER_INTERFACES = _law(
    "load-balancer-interfaces",
    "A load balancer has an interface in each of its subnets, which holds subnet, security groups and VPC "
    "until some time after it is deleted.",
    "Elastic Load Balancing user guide; aws-ia/terraform-aws-eks-blueprints-addons#380; field report H2",
)
LOAD_BALANCER_FINALIZER = _law(
    "load-balancer-finalizer",
    "An Ingress or Service keeps its finalizer, and its load balancer stays, until a running controller has "
    "deleted what it made.",
    f"{_LBC}#1879, #2220, #4233; hashicorp/terraform-provider-kubernetes#437; field reports H2, H3",
)
LOAD_BALANCER_SUBNETS = _law(
    "load-balancer-subnets",
    "Subnets are found by their tags: kubernetes.io/role/elb or internal-elb, one in each of two zones or "
    "more; a second one in a zone breaks the discovery.",
    f"{_LBC}, guide 'Subnet discovery'; facts/hyperpod_native.md rule 11",
)
LOAD_BALANCER_CREDENTIALS = _law(
    "load-balancer-credentials",
    "The controller makes load balancers with its own role, whose trust and grants are really evaluated.",
    f"{_LBC}, guide 'Installation'; field report B12",
)
VPC_ID_FROM_METADATA = _law(
    "load-balancer-vpc-id",
    "Without --aws-vpc-id a controller on Fargate crashes: there is no instance metadata to ask.",
    f"{_LBC}, guide 'Installation'; field report F1",
)
BUCKET_POLICY = _law(
    "s3-bucket-policy",
    "A bucket's policy that denies a request wins, with its conditions evaluated; every request counts as "
    "TLS although the rehearsal's own address is plain HTTP.",
    "Amazon S3 user guide, 'Bucket policies'; the second half is a decision of the rehearsal",
)
