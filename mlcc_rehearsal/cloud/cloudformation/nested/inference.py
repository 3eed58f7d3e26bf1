"""inference-addon-iam-roles-template.yaml and tls-certificates-s3-bucket-template.yaml.

Source: data/inference_operator_addon_template.json, whose texts of roles and policies are used as they are.
"""

from __future__ import annotations

import json
import re
from typing import Any

from mlcc_rehearsal.cloud.cloudformation.contract import nested_of_addon
from mlcc_rehearsal.cloud.cloudformation.expressions import Scope
from mlcc_rehearsal.cloud.cloudformation.nested.functions import unique
from mlcc_rehearsal.cloud.cloudformation.nested.roles import managed_policy, role
from mlcc_rehearsal.cloud.cloudformation.nested.storage import bucket
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Template
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack

_ROLES = "inference-addon-iam-roles-template.yaml"
_BUCKET = "tls-certificates-s3-bucket-template.yaml"


def _scope(stack: Stack, file: str) -> Scope:
    declared = nested_of_addon(file)
    values = {
        name: str(stack.parameters.get(name, each.get("Default", "")))
        for name, each in declared["parameters"].items()
    }
    known: dict[str, bool] = {}
    for name, text in declared["conditions"].items():
        known[name] = bool(Scope(values, known).evaluate(text))
    return Scope(values, known)


def _filled(stack: Stack, scope: Scope, value: Any) -> Any:
    """The data file's texts with their `{Name}` filled in."""
    names = {
        **scope.parameters,
        "StackIdUuid8": unique(stack),
        "account": stack.account.account_id,
        "region": stack.region,
    }
    text = re.sub(r"\{([A-Za-z0-9]+)\}", lambda found: str(names[found.group(1)]), json.dumps(value))
    return json.loads(text)


def _deletion_policy(scope: Scope, declared: dict[str, Any]) -> str:
    found = re.fullmatch(r"If\((\w+), (\w+), (\w+)\)", str(declared.get("DeletionPolicy", "")))
    if found is None:
        return "Delete"
    return found.group(2) if scope.conditions[found.group(1)] else found.group(3)


def _role_parts(stack: Stack) -> list[Part]:
    scope = _scope(stack, _ROLES)
    parts: list[Part] = []
    for name, declared in nested_of_addon(_ROLES)["resources"].items():
        if not scope.conditions.get(str(declared.get("Condition", "")), True):
            continue
        properties = _filled(stack, scope, declared["properties"])
        kept = _deletion_policy(scope, declared)
        if declared["Type"] == "AWS::IAM::ManagedPolicy":
            parts.append(
                managed_policy(
                    name, properties["ManagedPolicyName"], properties["statements"], deletion_policy=kept
                )
            )
            continue
        attached = properties["ManagedPolicyArns"]
        parts.append(
            role(
                name,
                {"Version": "2012-10-17", "Statement": properties["trust"]},
                name=properties["RoleName"],
                managed=[each.rsplit(":policy/", 1)[-1] for each in attached if each.startswith("arn:")],
                policies=[each for each in attached if not each.startswith("arn:")],
                deletion_policy=kept,
            )
        )
    return parts


def _role_outputs(stack: Stack) -> dict[str, str]:
    scope = _scope(stack, _ROLES)
    found: dict[str, str] = {}
    for name, declared in nested_of_addon(_ROLES)["outputs"].items():
        if scope.conditions.get(str(declared.get("Condition", "")), True):
            resource = name.removesuffix("Arn").removesuffix("Name")
            made = stack.resources[resource]
            found[name] = str(made.physical_id if name.endswith("Name") else made.attributes["Arn"])
    return found


INFERENCE_ROLES = Template(
    _ROLES,
    "IAM roles for the SageMaker HyperPod inference add-on",
    _role_parts,
    _role_outputs,
    named_roles=True,
)


def _bucket_parts(stack: Stack) -> list[Part]:
    short, suffix = stack.parameters["ResourceNameShortPrefix"], unique(stack)
    logs = () if stack.parameters["AccessLogsBucketName"] else ("AccessLogsBucket",)
    parts = [bucket("TLSCertificatesBucket", f"hyperpod-tls-{short}-{suffix}", logs)]
    if logs:
        parts.insert(0, bucket("AccessLogsBucket", f"hp-{short}-access-logs-{suffix}"))
    return parts


TLS_BUCKET = Template(
    _BUCKET,
    "TLS Certificates S3 Bucket Stack",
    _bucket_parts,
    lambda stack: {
        "TLSCertificatesBucketName": str(stack.resources["TLSCertificatesBucket"].physical_id),
        "TLSCertificatesBucketArn": f"arn:{stack.account.partition}:s3:::"
        f"{stack.resources['TLSCertificatesBucket'].physical_id}",
    },
)
