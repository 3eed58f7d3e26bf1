"""EKS clusters.

Source: terraform-provider-aws ``internal/service/eks/cluster.go``: the schema, the messages that are
retried for propagationTimeout, one update call for each kind of change and a wait after each,
deletion retried for an hour while another operation is in progress. The creator's admin entry is
asked for by ``bootstrapClusterCreatorAdminPermissions`` (default true, kept from the program: the
API does not answer it).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlcc_rehearsal.plugins.aws.calling import AwsError, Call
from mlcc_rehearsal.plugins.aws.definition import MINUTE, AutoName, Definition, Import, Timeouts
from mlcc_rehearsal.plugins.aws.resources._common import checks, matches, pruned, rfc3339
from mlcc_rehearsal.plugins.aws.resources._eks import existing, gone, said, tagging, update_done, waiting

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")

_ROLE_NOT_READY = (
    "does not exist",
    "Error in role params",
    "Role could not be assumed because the trusted entity is not correct",
    "The provided role doesn't have the Amazon EKS Managed Policies associated with it",
    "IAM role's policy must include",
    "could not be assumed",
)


def _logging(kinds: list[str]) -> dict[str, Any]:
    others = [kind for kind in LOG_TYPES if kind not in kinds]
    setups = ({"enabled": True, "types": list(kinds)}, {"enabled": False, "types": others})
    return {"clusterLogging": [setup for setup in setups if setup["types"]]}


def _vpc(config: Mapping[str, Any]) -> dict[str, Any]:
    return pruned(
        {
            "subnetIds": config["subnetIds"],
            "securityGroupIds": config.get("securityGroupIds") or None,
            "endpointPublicAccess": config.get("endpointPublicAccess", True),
            "endpointPrivateAccess": config.get("endpointPrivateAccess", False),
            "publicAccessCidrs": config.get("publicAccessCidrs") or None,
        }
    )


def _network(config: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not config:
        return None
    balancing = config.get("elasticLoadBalancing")
    return pruned(
        {
            "serviceIpv4Cidr": config.get("serviceIpv4Cidr") or None,
            "ipFamily": config.get("ipFamily") or None,
            "elasticLoadBalancing": {"enabled": bool(balancing.get("enabled"))} if balancing else None,
        }
    )


def _encryption(config: Mapping[str, Any] | None) -> list[dict[str, Any]] | None:
    if not config:
        return None
    return [{"resources": config["resources"], "provider": {"keyArn": config["provider"]["keyArn"]}}]


def _access(config: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not config:
        return None
    return pruned(
        {
            "authenticationMode": config.get("authenticationMode") or None,
            "bootstrapClusterCreatorAdminPermissions": config.get(
                "bootstrapClusterCreatorAdminPermissions", True
            ),
        }
    )


def _create(call: Call) -> str:
    given = call.inputs
    name = str(given["name"])
    request = {
        "name": name,
        "roleArn": given["roleArn"],
        "version": given.get("version"),
        "resourcesVpcConfig": _vpc(given["vpcConfig"]),
        "kubernetesNetworkConfig": _network(given.get("kubernetesNetworkConfig")),
        "logging": _logging(given.get("enabledClusterLogTypes") or []),
        "encryptionConfig": _encryption(given.get("encryptionConfig")),
        "accessConfig": _access(given.get("accessConfig")),
        "bootstrapSelfManagedAddons": given.get("bootstrapSelfManagedAddons"),
        "upgradePolicy": given.get("upgradePolicy"),
        "zonalShiftConfig": given.get("zonalShiftConfig"),
        "deletionProtection": given.get("deletionProtection"),
        "tags": call.tags or None,
    }
    said(call, _ROLE_NOT_READY, lambda: call.aws("eks", "create_cluster", **request))
    call.id = name

    def refresh() -> tuple[Any, str]:
        found = _find(call)
        return found, str(found["status"]) if found else ""

    waiting(
        f"EKS Cluster ({name}) create",
        lambda: call.wait(refresh, pending=("PENDING", "CREATING"), target=("ACTIVE",)),
    )
    return name


def _find(call: Call) -> dict[str, Any] | None:
    return existing(call, "describe_cluster", "cluster", name=call.id)


def _enabled_logs(cluster: Mapping[str, Any]) -> list[str]:
    setups = (cluster.get("logging") or {}).get("clusterLogging") or []
    return [kind for setup in setups if setup.get("enabled") for kind in setup.get("types") or []]


def _flat_encryption(cluster: Mapping[str, Any]) -> dict[str, Any] | None:
    for config in cluster.get("encryptionConfig") or []:
        provider = config.get("provider") or {}
        return {"provider": {"keyArn": provider.get("keyArn")}, "resources": config.get("resources") or []}
    return None


def _bootstrap(call: Call) -> bool:
    known = call.state if call.state.get("accessConfig") else call.inputs
    return bool((known.get("accessConfig") or {}).get("bootstrapClusterCreatorAdminPermissions", True))


def _read(call: Call) -> dict[str, Any] | None:
    cluster = _find(call)
    if cluster is None:
        return None
    vpc, network = cluster["resourcesVpcConfig"], cluster.get("kubernetesNetworkConfig") or {}
    access, issuer = cluster.get("accessConfig"), (cluster.get("identity") or {}).get("oidc") or {}
    balancing = network.get("elasticLoadBalancing")
    return {
        "accessConfig": {
            "authenticationMode": access.get("authenticationMode"),
            "bootstrapClusterCreatorAdminPermissions": _bootstrap(call),
        }
        if access
        else None,
        "arn": cluster["arn"],
        "certificateAuthority": {"data": (cluster.get("certificateAuthority") or {}).get("data")},
        "createdAt": rfc3339(cluster.get("createdAt")),
        "deletionProtection": bool(cluster.get("deletionProtection")),
        "enabledClusterLogTypes": _enabled_logs(cluster),
        "encryptionConfig": _flat_encryption(cluster),
        "endpoint": cluster.get("endpoint"),
        "identities": [{"oidcs": [{"issuer": issuer.get("issuer")}]}],
        "kubernetesNetworkConfig": pruned(
            {
                "ipFamily": network.get("ipFamily") or "ipv4",
                "serviceIpv4Cidr": network.get("serviceIpv4Cidr"),
                "serviceIpv6Cidr": network.get("serviceIpv6Cidr") or "",
                "elasticLoadBalancing": {"enabled": bool(balancing.get("enabled"))} if balancing else None,
            }
        ),
        "name": cluster["name"],
        "platformVersion": cluster.get("platformVersion"),
        "roleArn": cluster["roleArn"],
        "status": cluster["status"],
        "tags": dict(cluster.get("tags") or {}),
        "upgradePolicy": {"supportType": (cluster.get("upgradePolicy") or {}).get("supportType", "EXTENDED")},
        "version": cluster.get("version"),
        "vpcConfig": {
            "clusterSecurityGroupId": vpc.get("clusterSecurityGroupId"),
            "endpointPrivateAccess": bool(vpc.get("endpointPrivateAccess")),
            "endpointPublicAccess": bool(vpc.get("endpointPublicAccess")),
            "publicAccessCidrs": list(vpc.get("publicAccessCidrs") or []),
            "securityGroupIds": list(vpc.get("securityGroupIds") or []),
            "subnetIds": list(vpc.get("subnetIds") or []),
            "vpcId": vpc.get("vpcId"),
        },
    }


def _reconfigure(call: Call, noun: str, **change: Any) -> None:
    answer = call.aws("eks", "update_cluster_config", name=call.id, **change)
    update_done(call, f"EKS Cluster ({call.id}) {noun} update", call.id, answer)


def _update(call: Call) -> None:
    given = call.inputs
    if call.changed("version"):
        answer = call.aws("eks", "update_cluster_version", name=call.id, version=given["version"])
        update_done(call, f"EKS Cluster ({call.id}) version update", call.id, answer)
    if call.changed("accessConfig.authenticationMode"):
        mode = (given.get("accessConfig") or {}).get("authenticationMode")
        _reconfigure(call, "access configuration", accessConfig={"authenticationMode": mode})
    if call.changed("encryptionConfig") and not call.state.get("encryptionConfig"):
        answer = call.aws(
            "eks",
            "associate_encryption_config",
            clusterName=call.id,
            encryptionConfig=_encryption(given.get("encryptionConfig")),
        )
        update_done(call, f"EKS Cluster ({call.id}) encryption config association", call.id, answer)
    if call.changed("enabledClusterLogTypes"):
        _reconfigure(call, "logging", logging=_logging(given.get("enabledClusterLogTypes") or []))
    if call.changed("upgradePolicy"):
        _reconfigure(call, "upgrade policy", upgradePolicy=given.get("upgradePolicy"))
    if call.changed("deletionProtection"):
        _reconfigure(call, "deletion protection", deletionProtection=bool(given.get("deletionProtection")))
    if call.changed("zonalShiftConfig"):
        _reconfigure(call, "zonal shift config", zonalShiftConfig=given.get("zonalShiftConfig"))
    _update_vpc(call)


def _update_vpc(call: Call) -> None:
    """The API takes one kind of change at a time."""
    config = _vpc(call.inputs["vpcConfig"])
    access = ("endpointPrivateAccess", "endpointPublicAccess", "publicAccessCidrs")
    if call.changed(*(f"vpcConfig.{name}" for name in access)):
        _reconfigure(
            call, "VPC configuration", resourcesVpcConfig={k: config[k] for k in access if k in config}
        )
    for name in ("subnetIds", "securityGroupIds"):
        if call.changed(f"vpcConfig.{name}"):
            _reconfigure(call, "VPC configuration", resourcesVpcConfig={name: config.get(name, [])})


def _delete(call: Call) -> None:
    try:
        call.retry(
            lambda: call.aws("eks", "delete_cluster", name=call.id),
            lambda error: error.aws_code == "ResourceInUseException" and "in progress" in error.aws_message,
            60 * MINUTE,
        )
    except AwsError as error:
        if error.aws_code == "ResourceNotFoundException" or "No cluster found" in error.aws_message:
            return
        raise
    gone(call, f"EKS Cluster ({call.id})", lambda: _find(call), "ACTIVE", "DELETING")


def _replace_when(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    # Envelope encryption cannot be turned off.
    return ["encryptionConfig"] if old.get("encryptionConfig") and not new.get("encryptionConfig") else []


CLUSTER = Definition(
    token="aws:eks/cluster:Cluster",
    label="EKS Cluster",
    create=_create,
    read=_read,
    update=_update,
    delete=_delete,
    imports=Import("name", "my-cluster"),
    name=AutoName(),
    tagging=tagging(),
    replace=frozenset(
        {
            "accessConfig.bootstrapClusterCreatorAdminPermissions",
            "bootstrapSelfManagedAddons",
            "kubernetesNetworkConfig.ipFamily",
            "kubernetesNetworkConfig.serviceIpv4Cidr",
            "name",
            "outpostConfig",
            "roleArn",
        }
    ),
    computed=frozenset(
        {
            "accessConfig",
            "accessConfig.authenticationMode",
            "controlPlaneScalingConfig",
            "deletionProtection",
            "kubeApiServerConfig",
            "kubeControllerManagerConfig",
            "kubeSchedulerConfig",
            "kubernetesNetworkConfig",
            "kubernetesNetworkConfig.elasticLoadBalancing",
            "kubernetesNetworkConfig.ipFamily",
            "kubernetesNetworkConfig.serviceIpv4Cidr",
            "upgradePolicy",
            "upgradePolicy.supportType",
            "kubernetesNetworkConfig.serviceIpv6Cidr",
            "version",
            "vpcConfig.clusterSecurityGroupId",
            "vpcConfig.controlPlaneEgressMode",
            "vpcConfig.publicAccessCidrs",
            "vpcConfig.vpcId",
        }
    ),
    defaults={
        "accessConfig.bootstrapClusterCreatorAdminPermissions": True,
        "bootstrapSelfManagedAddons": True,
        "vpcConfig.endpointPrivateAccess": False,
        "vpcConfig.endpointPublicAccess": True,
    },
    unread=frozenset({"bootstrapSelfManagedAddons", "defaultAddonsToRemoves", "forceUpdateVersion"}),
    timeouts=Timeouts(create=30 * MINUTE, update=60 * MINUTE, delete=15 * MINUTE),
    recomputed={"platformVersion": ("version",)},
    replace_when=_replace_when,
    validate=checks(
        matches(
            "name",
            r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}",
            "invalid value for name (must be between 1 and 100 characters, begin with an alphanumeric "
            'character, and hold only alphanumerics, dashes and underscores): "{value}"',
        ),
        matches("roleArn", r"arn:[a-z-]+:iam::.*:.*", '"role_arn" ({value}) is an invalid ARN'),
    ),
)

DEFINITIONS = (CLUSTER,)
