"""cert-manager-template.yaml: a function that puts the EKS add-on cert-manager in, and takes it away again.

Source: the template at d1b6887d and its function (``resources/cert-manager-installer``) at a7f5d826, of
aws/sagemaker-hyperpod-cluster-setup.  The function answers success whatever happens, and deletes the add-on
whoever made it: the law "hyperpod-stack-cert-manager".
"""

from __future__ import annotations

import json
from typing import Any

from mlcc_rehearsal.cloud import durations
from mlcc_rehearsal.cloud.cloudformation.nested.eks import call_eks, eks_of
from mlcc_rehearsal.cloud.cloudformation.nested.functions import function, invoked, layer, unique
from mlcc_rehearsal.cloud.cloudformation.nested.helm import access_entry
from mlcc_rehearsal.cloud.cloudformation.nested.roles import role
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, Template
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import Work
from mlcc_rehearsal.cloud.eks.models import Cluster
from mlcc_rehearsal.cloud.errors import ServiceException

ADDON, NAMESPACE = "cert-manager", "cert-manager"
VERSION = "v1.18.2-eksbuild.2"
_STUCK = ("CREATE_FAILED", "UPDATE_FAILED", "CREATING")
_ENDS = ("ACTIVE", "CREATE_FAILED", "DEGRADED", "UPDATE_FAILED")
_PATIENCE = 300.0
_TOLERATIONS = [
    {"operator": "Exists", "effect": effect} for effect in ("NoSchedule", "NoExecute", "PreferNoSchedule")
]
_PART = {"replicaCount": 1, "tolerations": _TOLERATIONS}
CONFIGURATION = json.dumps({**_PART, "webhook": _PART, "cainjector": _PART})


def _function_name(stack: Stack) -> str:
    return f"{stack.parameters['ResourceNamePrefix']}-certfunc-{unique(stack)}"


def _install(run: Run) -> Work:
    invoked(run, _function_name(run.stack))
    run.made(f"{run.stack.name}-CertManagerCustomResource", AddonArn="N/A", AddonStatus="N/A")
    yield durations.seconds("cloudformation.custom_resource")
    name = run.stack.parameters["EKSClusterName"]
    cluster = eks_of(run).clusters.get(name)
    if cluster is None:
        return
    try:
        yield from _laid_down(run, cluster)
    except ServiceException:
        return  # only its log tells
    found = cluster.addons.get(ADDON)
    if found is not None:
        run.resource.attributes.update(AddonArn=found["addonArn"], AddonStatus=found["status"])
    invoked(run, _function_name(run.stack))


def _laid_down(run: Run, cluster: Cluster) -> Work:
    asked: dict[str, Any] = {
        "clusterName": cluster.name,
        "addonName": ADDON,
        "addonVersion": VERSION,
        "configurationValues": CONFIGURATION,
        "resolveConflicts": "OVERWRITE",
    }
    found = cluster.addons.get(ADDON)
    if found is not None and found["status"] not in _STUCK:
        call_eks(run, "UpdateAddon", **asked)
    else:
        if found is not None:
            yield from _removed(run, cluster)
        else:
            yield from _self_managed_removed(cluster)
        call_eks(run, "CreateAddon", **asked)
    waited = 0.0
    while ADDON in cluster.addons and cluster.addons[ADDON]["status"] not in _ENDS and waited < _PATIENCE:
        yield 30.0
        waited += 30.0


def _removed(run: Run, cluster: Cluster) -> Work:
    call_eks(run, "DeleteAddon", clusterName=cluster.name, addonName=ADDON)
    waited = 0.0
    while ADDON in cluster.addons and waited < _PATIENCE:
        yield 10.0
        waited += 10.0


def _self_managed_removed(cluster: Cluster) -> Work:
    """One that the users put in themselves goes, with its namespace and all its definitions."""
    store = cluster.kubernetes.objects if cluster.kubernetes is not None else None
    if store is None or not store.list("apps/v1", "Deployment", NAMESPACE):
        return
    store.delete("v1", "Namespace", None, NAMESPACE)
    yield 30.0
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        store.delete("admissionregistration.k8s.io/v1", kind, None, "cert-manager-webhook")
    for definition in store.list("apiextensions.k8s.io/v1", "CustomResourceDefinition"):
        if "cert-manager" in definition["metadata"]["name"]:
            store.delete(
                "apiextensions.k8s.io/v1", "CustomResourceDefinition", None, definition["metadata"]["name"]
            )
    yield 30.0


def _uninstall(run: Run) -> Work:
    invoked(run, _function_name(run.stack))
    cluster = eks_of(run).clusters.get(run.stack.parameters["EKSClusterName"])
    yield durations.seconds("cloudformation.custom_resource")
    if cluster is None or ADDON not in cluster.addons:
        return
    try:
        yield from _removed(run, cluster)
    except ServiceException:
        return


def _parts(stack: Stack) -> list[Part]:
    cluster = stack.parameters["EKSClusterName"]
    made_role = "CertManagerCustomResourceRole"
    return [
        role(made_role, "lambda.amazonaws.com", managed=["service-role/AWSLambdaBasicExecutionRole"]),
        access_entry("CertManagerCustomResourceAccessEntry", cluster, made_role),
        layer("CertManagerCustomResourceLayer"),
        function(
            "CertManagerCustomResourceFunction",
            _function_name(stack),
            ("CertManagerCustomResourceLayer", "CertManagerCustomResourceAccessEntry"),
            {"EKS_CLUSTER_NAME": cluster, "CERT_MANAGER_ADDON_VERSION": VERSION},
        ),
        Part(
            "CertManagerCustomResource",
            "AWS::CloudFormation::CustomResource",
            _install,
            _uninstall,
            ("CertManagerCustomResourceFunction",),
        ),
    ]


def _outputs(stack: Stack) -> dict[str, str]:
    made = stack.resources["CertManagerCustomResource"]
    return {
        "CertManagerAddonStatus": str(made.attributes["AddonStatus"]),
        "CertManagerCustomResourceArn": str(made.physical_id),
        "CertManagerAddonArn": str(made.attributes["AddonArn"]),
    }


CERT_MANAGER = Template(
    "cert-manager-template.yaml",
    "Cert-Manager Installation Stack for HyperPod Operators",
    _parts,
    _outputs,
    artifacts=("cert-manager-lambda-layer.zip", "cert-manager-lambda-function.zip"),
)
