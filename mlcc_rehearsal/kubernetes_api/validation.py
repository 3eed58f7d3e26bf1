"""Rules an object must keep: names, required fields, what must not change.

Source: ``pkg/apis/*/validation`` of Kubernetes; sentences as the API server words them.
"""

from __future__ import annotations

import json
import re
from typing import Any

from mlcc_rehearsal.kubernetes_api.catalogue import Resource
from mlcc_rehearsal.kubernetes_api.selectors import label_matcher, selector_of
from mlcc_rehearsal.kubernetes_api.status import Object, invalid

Fault = tuple[str, str, str]

_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SERVICE_LABEL = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_CONFIG_KEY = r"[-._a-zA-Z0-9]+"
_LABEL_VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_RBAC = frozenset({"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"})
_MANAGED = ("Deployment", "DaemonSet", "ReplicaSet", "StatefulSet")

_IMMUTABLE: dict[str, tuple[tuple[str, ...], ...]] = {
    "DaemonSet": (("spec", "selector"),),
    "Deployment": (("spec", "selector"),),
    "ReplicaSet": (("spec", "selector"),),
    "Job": (("spec", "selector"), ("spec", "template"), ("spec", "completionMode")),
    "Secret": (("type",),),
    "StorageClass": (("parameters",), ("provisioner",), ("volumeBindingMode",)),
}


def check_name(resource: Resource, name: str) -> None:
    """Refuse a name that the kind does not allow.

    Raises:
        ApiError: 422 with the sentence of the name's rule.
    """
    if resource.kind in _RBAC:
        if "/" in name or "%" in name or name in (".", ".."):
            sentence = f"Invalid value: \"{name}\": may not contain '/'"
            raise invalid(resource.kind, resource.group, name, [_fault("metadata.name", sentence)])
        return
    rule, text, limit = _SUBDOMAIN, _subdomain_text(), 253
    if resource.kind == "Namespace":
        rule, text, limit = _LABEL, _label_text(), 63
    elif resource.kind == "Service":
        rule, text, limit = _SERVICE_LABEL, _service_text(), 63
    sentences = []
    if len(name) > limit:
        sentences.append(f'Invalid value: "{name}": must be no more than {limit} characters')
    if re.fullmatch(rule, name) is None:
        sentences.append(f'Invalid value: "{name}": {text}')
    if sentences:
        faults = [_fault("metadata.name", sentence) for sentence in sentences]
        raise invalid(resource.kind, resource.group, name, faults)


def check_object(resource: Resource, obj: Object) -> None:
    """Refuse an object that breaks its kind's rules.

    Raises:
        ApiError: 422 listing every fault found.
    """
    faults = list(_label_faults(obj))
    if resource.kind in ("ConfigMap", "Secret"):
        for key in obj.get("data") or {}:
            if re.fullmatch(_CONFIG_KEY, key) is None:
                text = (
                    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
                    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
                    f"'{_CONFIG_KEY}')"
                )
                faults.append(_fault(f"data[{key}]", f'Invalid value: "{key}": {text}'))
    if resource.kind in _MANAGED and not resource.custom:
        faults += _managed_faults(obj)
    if resource.kind == "Pod":
        faults += _pod_faults(obj.get("spec", {}), "spec")
    if resource.kind == "CustomResourceDefinition":
        faults += _definition_faults(obj)
    if faults:
        raise invalid(resource.kind, resource.group, obj["metadata"]["name"], faults)


def check_update(resource: Resource, old: Object, new: Object) -> None:
    """Refuse a change to what must not change.

    Raises:
        ApiError: 422 naming the immutable fields.
    """
    faults: list[Fault] = []
    name = new["metadata"]["name"]
    for path in _IMMUTABLE.get(resource.kind, ()):
        before, after = _at(old, path), _at(new, path)
        if before != after:
            shown = json.dumps(after, sort_keys=True, separators=(",", ":"))
            faults.append(_fault(".".join(path), f"Invalid value: {shown}: field is immutable"))
    if resource.kind in ("ClusterRoleBinding", "RoleBinding") and old.get("roleRef") != new.get("roleRef"):
        shown = json.dumps(new.get("roleRef"), sort_keys=True, separators=(",", ":"))
        faults.append(_fault("roleRef", f"Invalid value: {shown}: cannot change roleRef"))
    frozen = resource.kind in ("ConfigMap", "Secret") and old.get("immutable")
    if frozen and any(old.get(key) != new.get(key) for key in ("data", "binaryData", "immutable")):
        text = "Forbidden: field is immutable when `immutable` is set"
        faults.append(("data", "FieldValueForbidden", text))
    if resource.kind == "StatefulSet":
        allowed = {
            "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
            "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
        }  # fmt: skip
        before, after = old.get("spec", {}), new.get("spec", {})
        if any(before.get(key) != after.get(key) for key in {*before, *after} - allowed):
            text = (
                "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', "
                "'template', 'updateStrategy', 'revisionHistoryLimit', "
                "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
            )
            faults.append(("spec", "FieldValueForbidden", text))
    if resource.kind == "Service":
        before, after = _at(old, ("spec", "clusterIP")), _at(new, ("spec", "clusterIP"))
        if before and after and before != after and _at(new, ("spec", "type")) != "ExternalName":
            faults.append(
                _fault("spec.clusterIPs[0]", f'Invalid value: ["{after}"]: may not change once set')
            )
    if faults:
        raise invalid(resource.kind, resource.group, name, faults)


def _fault(field: str, sentence: str) -> Fault:
    reason = "FieldValueRequired" if sentence.startswith("Required value") else "FieldValueInvalid"
    return (field, reason, sentence)


def _label_faults(obj: Object) -> list[Fault]:
    faults = []
    for key, value in (obj["metadata"].get("labels") or {}).items():
        if not isinstance(value, str) or len(value) > 63 or re.fullmatch(_LABEL_VALUE, value) is None:
            text = (
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
                "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
                f"'my_value',  or '12345', regex used for validation is '{_LABEL_VALUE}')"
            )
            faults.append(_fault("metadata.labels", f'Invalid value: "{value}": {text}'))
        prefix, _, name = key.rpartition("/")
        if not name or len(name) > 63 or (prefix and re.fullmatch(_SUBDOMAIN, prefix) is None):
            faults.append(_fault("metadata.labels", f'Invalid value: "{key}": name part must be valid'))
    return faults


def _managed_faults(obj: Object) -> list[Fault]:
    spec = obj.get("spec", {})
    selector, template = spec.get("selector"), spec.get("template", {})
    labels = template.get("metadata", {}).get("labels") or {}
    faults = []
    if not selector:
        faults.append(_fault("spec.selector", "Required value"))
    elif not label_matcher(selector_of(selector))({"metadata": {"labels": labels}}):
        shown = json.dumps(labels, sort_keys=True, separators=(",", ":"))
        text = f"Invalid value: {shown}: `selector` does not match template `labels`"
        faults.append(_fault("spec.template.metadata.labels", text))
    return [*faults, *_pod_faults(template.get("spec", {}), "spec.template.spec")]


def _pod_faults(spec: Object, where: str) -> list[Fault]:
    containers = spec.get("containers") or []
    if not containers:
        return [_fault(f"{where}.containers", "Required value")]
    faults, seen = [], set()
    for index, container in enumerate(containers):
        place = f"{where}.containers[{index}]"
        name = container.get("name")
        if not name:
            faults.append(_fault(f"{place}.name", "Required value"))
        elif name in seen:
            faults.append((f"{place}.name", "FieldValueDuplicate", f'Duplicate value: "{name}"'))
        seen.add(name)
        if not container.get("image"):
            faults.append(_fault(f"{place}.image", "Required value"))
    return faults


def _definition_faults(obj: Object) -> list[Fault]:
    spec = obj.get("spec", {})
    names = spec.get("names", {})
    expected = f"{names.get('plural', '')}.{spec.get('group', '')}"
    name = obj["metadata"]["name"]
    faults = []
    if name != expected:
        text = f'Invalid value: "{name}": must be spec.names.plural+"."+spec.group'
        faults.append(_fault("metadata.name", text))
    if spec.get("scope") not in ("Namespaced", "Cluster"):
        faults.append(_fault("spec.scope", "Required value"))
    versions = spec.get("versions") or []
    if sum(1 for version in versions if version.get("storage")) != 1:
        text = "must have exactly one version marked as storage version"
        faults.append(_fault("spec.versions", f"Invalid value: {len(versions)}: {text}"))
    for index, version in enumerate(versions):
        if not version.get("schema", {}).get("openAPIV3Schema"):
            faults.append(
                _fault(
                    f"spec.versions[{index}].schema.openAPIV3Schema", "Required value: schemas are required"
                )
            )
    return faults


def _at(obj: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        obj = obj.get(step) if isinstance(obj, dict) else None
    return obj


def _subdomain_text() -> str:
    return (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
        "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation "
        f"is '{_SUBDOMAIN}')"
    )


def _label_text() -> str:
    return (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
        "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
        f"validation is '{_LABEL}')"
    )


def _service_text() -> str:
    return (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
        f"regex used for validation is '{_SERVICE_LABEL}')"
    )
