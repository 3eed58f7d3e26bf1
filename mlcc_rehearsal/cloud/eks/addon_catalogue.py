"""Which add-ons and versions there are, and how each may be configured (data/addons.json)."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from typing import Any

import jsonschema

from mlcc_rehearsal.cloud import laws
from mlcc_rehearsal.cloud.eks.errors import InvalidParameterException
from mlcc_rehearsal.cloud.eks.models import EksBackend
from mlcc_rehearsal.cloud.eks.operations import operation, page


@lru_cache(maxsize=1)
def addons() -> dict[str, dict[str, Any]]:
    """The add-ons by name, as the data file has them."""
    text = (
        resources.files("mlcc_rehearsal.cloud.eks").joinpath("data/addons.json").read_text(encoding="utf-8")
    )
    found: dict[str, dict[str, Any]] = json.loads(text)["addons"]
    return found


def default_version(name: str, kubernetes: str) -> str | None:
    """The version that an add-on is made with when none is asked for."""
    for version in addons()[name]["versions"]:
        if kubernetes in version["default_for"]:
            return str(version["version"])
    return None


def check_supported(name: str, version: str | None, kubernetes: str, cluster: str) -> str:
    """The version to install.

    :raises InvalidParameterException: when the add-on, or that version, is not for this Kubernetes version.
    """
    members = {"clusterName": cluster, "addonName": name}
    known = addons().get(name)
    if known is None or not any(kubernetes in each["kubernetes"] for each in known["versions"]):
        message = f"Addon {name} specified is not supported in {kubernetes} kubernetes version"
        raise laws.ADDON_SUPPORTED.broken(InvalidParameterException(message, **members))
    wanted = version or default_version(name, kubernetes)
    for each in known["versions"]:
        if each["version"] == wanted and kubernetes in each["kubernetes"]:
            return str(wanted)
    raise laws.ADDON_SUPPORTED.broken(
        InvalidParameterException("Addon version specified is not supported", **members)
    )


def schema_of(name: str, version: str) -> dict[str, Any]:
    """The JSON schema of an add-on's configuration; some add-ons have other keys in newer versions."""
    known = addons()[name]
    for each in known["versions"]:
        if each["version"] == version and "schema" in each:
            found: dict[str, Any] = known["schemas"][each["schema"]]
            return found
    plain: dict[str, Any] = known["schema"]
    return plain


def check_configuration(name: str, version: str, values: str | None, cluster: str) -> None:
    """Validate configuration values (JSON text) against the schema of the add-on's version.

    An add-on that requires configuration is held to its schema also without any.

    :raises InvalidParameterException: naming what does not fit, as AWS words it.
    """
    if not values:
        if not addons()[name].get("requires_configuration"):
            return
        values = "{}"
    members = {"clusterName": cluster, "addonName": name}
    prefix = "ConfigurationValue provided in request is not supported: "
    try:
        parsed = json.loads(values)
    except ValueError:
        message = f"{prefix}Invalid JSON/YAML"
        raise laws.ADDON_CONFIGURATION.broken(InvalidParameterException(message, **members)) from None
    validator = jsonschema.Draft6Validator(schema_of(name, version))
    found = [_worded(error) for error in validator.iter_errors(parsed)]
    if found:
        message = f"{prefix}Json schema validation failed with error: [{', '.join(found)}]"
        raise laws.ADDON_CONFIGURATION.broken(InvalidParameterException(message, **members))


_TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}


def _worded(error: Any) -> str:
    path = "$" + "".join(f".{part}" if isinstance(part, str) else f"[{part}]" for part in error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        unknown = [key for key in error.instance if key not in error.schema.get("properties", {})]
        return ", ".join(
            f"{path}.{key}: is not defined in the schema and the schema does not allow additional properties"
            for key in unknown
        )
    if error.validator == "type":
        wanted = error.validator_value
        expected = wanted if isinstance(wanted, str) else str(wanted).replace("'", "")
        return f"{path}: {_TYPES.get(type(error.instance), 'null')} found, {expected} expected"
    if error.validator == "required":
        # One error a missing key; its message begins with the key in quotes.
        missing = error.message.split("'")[1]
        return f"{path}.{missing}: is missing but it is required"
    if error.validator == "pattern":
        return f"{path}: does not match the regex pattern {error.validator_value}"
    return f"{path}: {error.message}"


@operation("DescribeAddonVersions")
def describe_addon_versions(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """The add-ons with their versions, all or those that fit.

    :raises InvalidParameterException: for an add-on that does not exist.
    """
    del eks
    wanted, kubernetes = parameters.get("addonName"), parameters.get("kubernetesVersion")
    if wanted and wanted not in addons():
        message = f"Addon {wanted} specified is not supported"
        raise laws.ADDON_SUPPORTED.broken(InvalidParameterException(message, addonName=wanted))
    found = []
    for name, known in sorted(addons().items()):
        if wanted not in (None, name) or not _selected(known, parameters):
            continue
        versions = [
            _version(each, known, kubernetes)
            for each in known["versions"]
            if kubernetes is None or kubernetes in each["kubernetes"]
        ]
        if versions:
            found.append(
                {
                    "addonName": name,
                    "type": known["type"],
                    "addonVersions": versions,
                    "publisher": known["publisher"],
                    "owner": known["owner"],
                    "defaultNamespace": known["namespace"],
                }
            )
    return page(found, parameters, "addons")


def _selected(known: dict[str, Any], parameters: dict[str, Any]) -> bool:
    return all(
        not parameters.get(key) or known[name] in parameters[key]
        for key, name in (("types", "type"), ("publishers", "publisher"), ("owners", "owner"))
    )


def _version(each: dict[str, Any], known: dict[str, Any], kubernetes: str | None) -> dict[str, Any]:
    return {
        "addonVersion": each["version"],
        "architecture": known.get("architecture", ["amd64", "arm64"]),
        "computeTypes": known["compute_types"],
        "compatibilities": [
            {"clusterVersion": k, "platformVersions": ["*"], "defaultVersion": k in each["default_for"]}
            for k in reversed(each["kubernetes"])
            if kubernetes in (None, k)
        ],
        "requiresConfiguration": bool(known.get("requires_configuration")),
        "requiresIamPermissions": known["requires_iam_permissions"],
    }


@operation("DescribeAddonConfiguration")
def describe_addon_configuration(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """The schema of an add-on version's configuration, and the service accounts that want a role."""
    del eks
    name, version = parameters["addonName"], parameters["addonVersion"]
    known = addons().get(name)
    if known is None or all(each["version"] != version for each in known["versions"]):
        message = "Addon version specified is not supported"
        raise laws.ADDON_SUPPORTED.broken(InvalidParameterException(message, addonName=name))
    pods = known["service_accounts"] if known["pod_identity"] else []
    return {
        "addonName": name,
        "addonVersion": version,
        "configurationSchema": json.dumps(schema_of(name, version), separators=(",", ":")),
        "podIdentityConfiguration": [
            {"serviceAccount": each, "recommendedManagedPolicies": []} for each in pods
        ],
    }
