"""What the inference add-on's template nests: functions that put add-ons in, and one for the OIDC provider.

Source: data/inference_operator_addon_template.json (templates and functions, with their commits).
"""

from __future__ import annotations

import json
from typing import Any

from mlcc_rehearsal.cloud import durations, laws_hyperpod
from mlcc_rehearsal.cloud.cloudformation.contract import nested_of_addon
from mlcc_rehearsal.cloud.cloudformation.nested import eksctl
from mlcc_rehearsal.cloud.cloudformation.nested.eks import call_eks, eks_of
from mlcc_rehearsal.cloud.cloudformation.nested.functions import function, invoked, layer, unique, unsaid
from mlcc_rehearsal.cloud.cloudformation.nested.roles import role
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, Template
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import ResourceFailed, Work, custom_failed
from mlcc_rehearsal.cloud.errors import ServiceException
from mlcc_rehearsal.cloud.operator.settings import ADDON as OPERATOR
from mlcc_rehearsal.cloud.operator.settings import version_number as number

_CUSTOM = "AWS::CloudFormation::CustomResource"
_BASIC = ["service-role/AWSLambdaBasicExecutionRole"]
_TAG = {"CreatedBy": "HyperPodInference"}
_WELL = ("ACTIVE", "DEGRADED")
_FAILED = ("CREATE_FAILED", "UPDATE_FAILED", "DELETE_FAILED")
# How long the common function looks, and how long the operator's: as long as it may run at all.
_PATIENCE, _OPERATOR_PATIENCE = 300.0, 900.0
# AWS CloudFormation user guide, custom resources, ServiceTimeout: an hour unless the template says otherwise.
_SERVICE_TIMEOUT = 3600.0


def _values(stack: Stack, template: str) -> dict[str, str]:
    """The parameters of a nested stack, those it was not given at their default."""
    declared = nested_of_addon(template)["parameters"]
    return {name: str(stack.parameters.get(name, each.get("Default", ""))) for name, each in declared.items()}


def _status(cluster: Any, addon: str) -> str:
    return str(cluster.addons[addon]["status"]) if addon in cluster.addons else ""


def _settled(cluster: Any, addon: str, patience: float, every: float = 30.0) -> Work:
    waited = 0.0
    while _status(cluster, addon) not in (*_WELL, *_FAILED) and waited < patience:
        yield every
        waited += every


def _delete_tagged(run: Run, cluster_name: str, addon: str, patience: float) -> Work:
    """Take an add-on away if it carries the functions' tag; where the cluster is gone there is none."""
    cluster = eks_of(run).clusters.get(cluster_name)
    yield durations.seconds("cloudformation.custom_resource")
    if cluster is None or cluster.status == "DELETING" or addon not in cluster.addons:
        return
    if cluster.addons[addon]["tags"].get("CreatedBy") != _TAG["CreatedBy"]:
        return
    call_eks(run, "DeleteAddon", clusterName=cluster_name, addonName=addon)
    waited = 0.0
    while addon in cluster.addons and waited < patience:
        yield 10.0
        waited += 10.0


# --- prerequisites ---------------------------------------------------------------------------------------


def _put_in(run: Run, values: dict[str, str], function_name: str) -> Work:
    """Create the add-on; one that is there is updated, and gets the service account's role."""
    invoked(run, function_name)
    run.made(f"{run.stack.name}-AddonCustomResource")
    yield durations.seconds("cloudformation.custom_resource")
    addon, name = values["AddonName"], values["EKSClusterName"]
    cluster = eks_of(run).clusters.get(name)
    if cluster is None:
        raise custom_failed(f"No cluster found for name: {name}.")
    asked: dict[str, Any] = {"clusterName": name, "addonName": addon, "resolveConflicts": "OVERWRITE"}
    if values["AddonVersion"]:
        asked["addonVersion"] = values["AddonVersion"]
    if values["ServiceAccountRoleArn"]:
        asked["serviceAccountRoleArn"] = values["ServiceAccountRoleArn"]
    if values["AddonConfiguration"]:
        asked["configurationValues"] = json.dumps(json.loads(values["AddonConfiguration"]))
    try:
        if addon not in cluster.addons:
            call_eks(run, "CreateAddon", **asked, tags=_TAG)
        else:
            yield from _settled(cluster, addon, _PATIENCE)
            there = str(cluster.addons[addon]["addonVersion"])
            # Without a version it is asked for again; a version is only ever raised.
            if not values["AddonVersion"] or number(there) < number(values["AddonVersion"]):
                call_eks(run, "UpdateAddon", **asked)
                yield 30.0
        yield from _settled(cluster, addon, _PATIENCE)
    except ServiceException as refused:
        raise custom_failed(str(refused.message)) from refused
    status = _status(cluster, addon)
    if status not in _WELL:
        raise custom_failed(f"Add-on {addon} is in status {status or 'DELETED'}")
    run.resource.attributes.update(AddonStatus=status, AddonArn=cluster.addons[addon]["addonArn"])


def _prerequisite(file: str, description: str) -> Template:
    def parts(stack: Stack) -> list[Part]:
        values = _values(stack, file)
        name = f"inf-{values['ResourceNameShortPrefix']}-{values['ShortenedAddonName']}-{unique(stack)}"
        made_role = "AddonCustomResourceRole" + ("WithPassRole" if values["ServiceAccountRoleArn"] else "")

        def take_away(run: Run) -> Work:
            invoked(run, name)
            yield from _delete_tagged(run, values["EKSClusterName"], values["AddonName"], _PATIENCE)

        return [
            role(made_role, "lambda.amazonaws.com", managed=_BASIC),
            layer("AddonCustomResourceLayer"),
            function(
                "AddonCustomResourceFunction",
                name,
                (made_role, "AddonCustomResourceLayer"),
                {
                    "EKS_CLUSTER_NAME": values["EKSClusterName"],
                    "ADDON_NAME": values["AddonName"],
                    "ADDON_VERSION": values["AddonVersion"],
                    "ADDON_CONFIGURATION": values["AddonConfiguration"],
                    "SERVICE_ACCOUNT_ROLE_ARN": values["ServiceAccountRoleArn"],
                },
            ),
            Part(
                "AddonCustomResource",
                _CUSTOM,
                lambda run: _put_in(run, values, name),
                take_away,
                ("AddonCustomResourceFunction",),
            ),
        ]

    return Template(
        file,
        description,
        parts,
        lambda stack: {
            key: str(stack.resources["AddonCustomResource"].attributes[key])
            for key in ("AddonStatus", "AddonArn")
        },
        artifacts=("common-eks-addon-lambda-layer.zip", "common-eks-addon-lambda-function.zip"),
    )


PREREQUISITES = (
    _prerequisite("cert-manager-addon-template.yaml", "Cert-Manager EKS Add-on Stack"),
    _prerequisite("fsx-csi-driver-addon-template.yaml", "FSx CSI Driver EKS Add-on Stack"),
    _prerequisite("s3-csi-driver-addon-template.yaml", "S3 CSI Driver EKS Add-on Stack"),
    _prerequisite("metrics-server-addon-template.yaml", "Metrics Server EKS Add-on Stack"),
)

# --- the OIDC provider -----------------------------------------------------------------------------------


def _oidc_parts(stack: Stack) -> list[Part]:
    prefix, cluster_name = stack.parameters["ResourceNamePrefix"], stack.parameters["EKSClusterName"]
    name = f"{prefix}-oidcfunc"

    def associate(run: Run) -> Work:
        invoked(run, name)
        run.made(f"{run.stack.name}-OidcProviderCustomResource", Status="SUCCESS")
        cluster = eks_of(run).clusters.get(cluster_name)
        if cluster is None:
            raise unsaid(run)
        yield from eksctl.associate_oidc_provider(run, cluster)

    def leave(run: Run) -> Work:
        """The provider stays: the law "hyperpod-stack-oidc-provider"."""
        invoked(run, name)
        yield durations.seconds("cloudformation.custom_resource")

    made_role, made_layer = "OidcProviderCustomResourceRole", "OidcProviderCustomResourceLayer"
    return [
        role(made_role, "lambda.amazonaws.com", managed=_BASIC),
        layer(made_layer),
        function(
            "OidcProviderCustomResourceFunction",
            name,
            (made_role, made_layer),
            {"EKS_CLUSTER_NAME": cluster_name},
        ),
        Part(
            "OidcProviderCustomResource", _CUSTOM, associate, leave, ("OidcProviderCustomResourceFunction",)
        ),
    ]


OIDC_PROVIDER = Template(
    "eks-oidc-provider-template.yaml",
    "EKS OIDC Provider Stack",
    _oidc_parts,
    lambda stack: {
        "OidcProviderStatus": str(stack.resources["OidcProviderCustomResource"].attributes["Status"])
    },
    artifacts=("eks-oidc-provider-lambda-layer.zip", "eks-oidc-provider-lambda-function.zip"),
)

# --- the operator ----------------------------------------------------------------------------------------

_OPERATOR_FILE = "inference-operator-addon-template.yaml"


def _configuration(values: dict[str, str]) -> str:
    """No cluster ARN and no gateway: they are not in the function's template."""
    return json.dumps(
        {
            "executionRoleArn": values["ExecutionRoleArn"],
            "tlsCertificateS3Bucket": values["TlsCertificateS3Bucket"],
            "keda": {
                "enabled": True,
                "auth": {"aws": {"irsa": {"enabled": True, "roleArn": values["KedaRoleArn"]}}},
            },
            "alb": {
                "enabled": True,
                "serviceAccount": {"create": True, "roleArn": values["AlbControllerRoleArn"]},
            },
            "jumpstartGatedModelDownloadRoleArn": values["JumpstartGatedModelRoleArn"],
        }
    )


def _install_operator(run: Run, values: dict[str, str], name: str) -> Work:
    """Create the add-on, or raise its version; success whatever comes of it.

    This is the law "hyperpod-stack-operator-success".  An add-on that has not settled when the function's
    fifteen minutes are over leaves CloudFormation without an answer.
    """
    invoked(run, name)
    run.made(f"{run.stack.name}-InferenceOperatorCustomResource", AddonStatus="", AddonArn="")
    yield durations.seconds("cloudformation.custom_resource")
    cluster = eks_of(run).clusters.get(values["EKSClusterName"])
    if cluster is None:
        return
    asked: dict[str, Any] = {
        "clusterName": cluster.name,
        "addonName": OPERATOR,
        "addonVersion": values["AddonVersion"],
        "configurationValues": _configuration(values),
        "resolveConflicts": "OVERWRITE",
    }
    there = cluster.addons.get(OPERATOR)
    try:
        if there is None:
            call_eks(run, "CreateAddon", **asked, tags=_TAG)
        elif number(there["addonVersion"]) < number(values["AddonVersion"]):
            call_eks(run, "UpdateAddon", **asked)
    except ServiceException:
        return
    yield from _settled(cluster, OPERATOR, _OPERATOR_PATIENCE)
    if _status(cluster, OPERATOR) not in (*_WELL, *_FAILED):
        yield _SERVICE_TIMEOUT - _OPERATOR_PATIENCE
        raise laws_hyperpod.STACK_OPERATOR_SUCCESS.broken(
            ResourceFailed(
                "CloudFormation did not receive a response from your Custom Resource. Please check your logs "
                "for requestId [rehearsed]. If you are using the Python cfn-response module, you may need to "
                "update your Lambda function code so that CloudFormation can attach the updated version."
            )
        )
    if OPERATOR in cluster.addons:
        found = cluster.addons[OPERATOR]
        run.resource.attributes.update(AddonStatus=found["status"], AddonArn=found["addonArn"])


def _operator_parts(stack: Stack) -> list[Part]:
    values = _values(stack, _OPERATOR_FILE)
    name = f"inf-{values['ResourceNameShortPrefix']}-addon-{unique(stack)}"

    def take_away(run: Run) -> Work:
        invoked(run, name)
        yield from _delete_tagged(run, values["EKSClusterName"], OPERATOR, _OPERATOR_PATIENCE)

    made_role, made_layer = "InferenceOperatorCustomResourceRole", "InferenceOperatorCustomResourceLayer"
    return [
        role(made_role, "lambda.amazonaws.com", managed=_BASIC),
        layer(made_layer),
        function(
            "InferenceOperatorCustomResourceFunction",
            name,
            (made_role, made_layer),
            {"EKS_CLUSTER_NAME": values["EKSClusterName"], "ADDON_VERSION": values["AddonVersion"]},
        ),
        Part(
            "InferenceOperatorCustomResource",
            _CUSTOM,
            lambda run: _install_operator(run, values, name),
            take_away,
            ("InferenceOperatorCustomResourceFunction",),
        ),
    ]


INFERENCE_OPERATOR = Template(
    _OPERATOR_FILE,
    "SageMaker HyperPod Inference Operator EKS Add-on Stack",
    _operator_parts,
    lambda stack: {
        "AddonStatus": str(stack.resources["InferenceOperatorCustomResource"].attributes["AddonStatus"]),
        "InferenceOperatorCustomResourceArn": str(
            stack.resources["InferenceOperatorCustomResource"].physical_id
        ),
    },
    artifacts=("inference-operator-lambda-layer.zip", "inference-operator-lambda-function.zip"),
)
