"""Changing a cluster: its version, endpoint access, subnets, logging, authentication mode and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlcc_rehearsal.cloud import laws
from mlcc_rehearsal.cloud.eks import access
from mlcc_rehearsal.cloud.eks.clusters import check_public_blocks, log_types, logging_of, logs, write_logs
from mlcc_rehearsal.cloud.eks.errors import InvalidParameterException, ResourceInUseException
from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend
from mlcc_rehearsal.cloud.eks.operations import operation
from mlcc_rehearsal.cloud.eks.requirements import (
    check_cluster_subnets,
    existing_security_group,
    existing_subnet,
)
from mlcc_rehearsal.cloud.eks.updates import begin_update, update_in_progress
from mlcc_rehearsal.cloud.eks.versions import OFFERED, minor

_MODES_FORWARD = {("CONFIG_MAP", "API_AND_CONFIG_MAP"), ("API_AND_CONFIG_MAP", "API")}


def require_quiet(cluster: Cluster, kind: str) -> None:
    """Refuse a change while the cluster is made, changed or deleted.

    :param kind: the update's type, as the refusal names it.
    :raises ResourceInUseException: as AWS words it.
    """
    update = update_in_progress(cluster)
    if update is not None:
        message = f"Cannot {kind} because cluster {cluster.name} currently has update {update} in progress"
        raise laws.CLUSTER_STATE.broken(ResourceInUseException(message, clusterName=cluster.name))
    if cluster.status != "ACTIVE":
        message = (
            f"Cannot {kind} because cluster {cluster.name} is not in ACTIVE status, but {cluster.status}"
        )
        raise laws.CLUSTER_STATE.broken(ResourceInUseException(message, clusterName=cluster.name))


def _begin(
    eks: EksBackend,
    cluster: Cluster,
    kind: str,
    parameters: dict[str, Any],
    duration: str,
    change: Callable[[], None],
) -> dict[str, Any]:
    cluster.description["status"] = "UPDATING"

    def finish() -> None:
        change()
        if cluster.status == "UPDATING":
            cluster.description["status"] = "ACTIVE"

    return {"update": begin_update(eks, cluster, kind, parameters, duration, finish)}


@operation("UpdateClusterVersion")
def update_cluster_version(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Begin to take the control plane one minor version up."""
    cluster = eks.cluster(parameters["name"])
    wanted = parameters["version"]
    require_quiet(cluster, "VersionUpdate")
    if wanted not in OFFERED and minor_or_none(wanted) is None:
        raise laws.CLUSTER_VERSION.broken(
            InvalidParameterException(f"unsupported Kubernetes version {wanted}")
        )
    if wanted == cluster.version:
        message = f"Cluster is already at the desired configuration with version {wanted}"
        raise laws.ONE_UPDATE.broken(InvalidParameterException(message, clusterName=cluster.name))
    if minor(wanted) != minor(cluster.version) + 1:
        message = f"Unsupported Kubernetes minor version update from {cluster.version} to {wanted}"
        raise laws.VERSION_STEP.broken(InvalidParameterException(message, clusterName=cluster.name))
    if wanted not in OFFERED:
        raise laws.CLUSTER_VERSION.broken(
            InvalidParameterException(f"unsupported Kubernetes version {wanted}")
        )

    def change() -> None:
        cluster.description["version"] = wanted

    return _begin(eks, cluster, "VersionUpdate", {"Version": wanted}, "eks.cluster.update_version", change)


def minor_or_none(version: str) -> int | None:
    """The minor number of a version such as ``1.35``, or None when it is not of that form."""
    parts = version.split(".")
    return int(parts[1]) if len(parts) == 2 and parts[0] == "1" and parts[1].isdigit() else None


@operation("UpdateClusterConfig")
def update_cluster_config(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Begin to change one kind of thing about a cluster.

    Source for one at a time: Amazon EKS API reference, UpdateClusterConfig: subnets and security groups are
    one kind, endpoint access another.
    """
    cluster = eks.cluster(parameters["name"])
    asked = {key: value for key, value in parameters.items() if key in _CHANGES and value is not None}
    vpc = asked.get("resourcesVpcConfig") or {}
    both = any(k in vpc for k in _ENDPOINT_KEYS) and any(k in vpc for k in ("subnetIds", "securityGroupIds"))
    automatic = {"computeConfig", "storageConfig", "kubernetesNetworkConfig"}
    if both or (len(asked) > 1 and not set(asked) <= automatic):
        message = "Only one type of update can be allowed."
        raise laws.ONE_UPDATE.broken(InvalidParameterException(message, clusterName=cluster.name))
    if not asked:
        message = "No changes needed for the cluster config provided"
        raise laws.ONE_UPDATE.broken(InvalidParameterException(message, clusterName=cluster.name))
    key = next(iter(asked))
    return _CHANGES[key](eks, cluster, asked[key])


_ENDPOINT_KEYS = ("endpointPublicAccess", "endpointPrivateAccess", "publicAccessCidrs")


def _change_vpc_config(eks: EksBackend, cluster: Cluster, asked: dict[str, Any]) -> dict[str, Any]:
    if asked.get("subnetIds") is not None or asked.get("securityGroupIds") is not None:
        return _change_network(eks, cluster, asked)
    require_quiet(cluster, "EndpointAccessUpdate")
    config = cluster.description["resourcesVpcConfig"]
    wanted = {key: asked[key] for key in _ENDPOINT_KEYS if asked.get(key) is not None}
    check_public_blocks(wanted.get("publicAccessCidrs") or [])
    if wanted.get("publicAccessCidrs") == []:
        wanted["publicAccessCidrs"] = ["0.0.0.0/0"]
    after = {**config, **wanted}
    if not after["endpointPublicAccess"] and not after["endpointPrivateAccess"]:
        message = "Private and public endpoint access cannot be false"
        raise laws.EKS_PARAMETERS.broken(InvalidParameterException(message, clusterName=cluster.name))
    if after["endpointPublicAccess"] and not after["publicAccessCidrs"]:
        wanted["publicAccessCidrs"] = ["0.0.0.0/0"]
    if all(_same(config[key], value) for key, value in wanted.items()):
        message = (
            f"Cluster is already at the desired configuration with endpointPrivateAccess: "
            f"{str(after['endpointPrivateAccess']).lower()} , endpointPublicAccess: "
            f"{str(after['endpointPublicAccess']).lower()}, and Public Endpoint Restrictions: "
            f"[{', '.join(after['publicAccessCidrs'])}]"
        )
        raise laws.ONE_UPDATE.broken(InvalidParameterException(message, clusterName=cluster.name))
    shown = {key[0].upper() + key[1:]: value for key, value in wanted.items()}
    return _begin(
        eks,
        cluster,
        "EndpointAccessUpdate",
        shown,
        "eks.cluster.update_config",
        lambda: config.update(wanted),
    )


def _change_network(eks: EksBackend, cluster: Cluster, asked: dict[str, Any]) -> dict[str, Any]:
    require_quiet(cluster, "VpcConfigUpdate")
    config = cluster.description["resourcesVpcConfig"]
    wanted: dict[str, Any] = {}
    if asked.get("subnetIds") is not None:
        vpc_id = check_cluster_subnets(eks, asked["subnetIds"], cluster.name)
        before = {existing_subnet(eks, s, cluster.name).availability_zone for s in config["subnetIds"]}
        after = {existing_subnet(eks, s, cluster.name).availability_zone for s in asked["subnetIds"]}
        if vpc_id != config["vpcId"] or after != before:
            message = (
                "Provided subnets must belong to the set of AZs and the VPC that the cluster was created with"
            )
            raise laws.CLUSTER_SUBNETS.broken(InvalidParameterException(message, clusterName=cluster.name))
        wanted["subnetIds"] = list(asked["subnetIds"])
    if asked.get("securityGroupIds") is not None:
        for group_id in asked["securityGroupIds"]:
            existing_security_group(eks, group_id, cluster.name)
        wanted["securityGroupIds"] = list(asked["securityGroupIds"])
    if all(_same(config[key], value) for key, value in wanted.items()):
        message = "No changes needed for the cluster config provided"
        raise laws.ONE_UPDATE.broken(InvalidParameterException(message, clusterName=cluster.name))
    shown = {key[0].upper() + key[1:]: value for key, value in wanted.items()}
    return _begin(
        eks, cluster, "VpcConfigUpdate", shown, "eks.cluster.update_config", lambda: config.update(wanted)
    )


def _change_access_config(eks: EksBackend, cluster: Cluster, asked: dict[str, Any]) -> dict[str, Any]:
    require_quiet(cluster, "AccessConfigUpdate")
    now, wanted = cluster.authentication_mode, asked.get("authenticationMode")
    if (now, wanted) not in _MODES_FORWARD:
        message = f"Unsupported authentication mode update from {now} to {wanted}"
        raise laws.MODE_FORWARD.broken(InvalidParameterException(message, clusterName=cluster.name))

    def change() -> None:
        cluster.description["accessConfig"]["authenticationMode"] = wanted
        access.bootstrap(eks, cluster)
        for group in cluster.node_groups.values():
            access.enter_nodes(eks, cluster, group.description["nodeRole"], "EC2_LINUX")
        for profile in cluster.fargate_profiles.values():
            access.enter_nodes(eks, cluster, profile["podExecutionRoleArn"], "FARGATE_LINUX")

    shown = {"AuthenticationMode": wanted}
    return _begin(eks, cluster, "AccessConfigUpdate", shown, "eks.cluster.update_config", change)


def _change_logging(eks: EksBackend, cluster: Cluster, asked: dict[str, Any]) -> dict[str, Any]:
    require_quiet(cluster, "LoggingUpdate")
    enabled = log_types(cluster.description["logging"])
    after = log_types(asked, enabled)
    if after == enabled:
        message = "No changes needed for the logging config provided"
        raise laws.ONE_UPDATE.broken(InvalidParameterException(message, clusterName=cluster.name))
    new = logging_of(after)

    def change() -> None:
        silent = not logs(cluster)
        cluster.description["logging"] = new
        if silent:
            write_logs(eks, cluster)

    return _begin(eks, cluster, "LoggingUpdate", {"ClusterLogging": new}, "eks.cluster.update_config", change)


def _change_simple(key: str, kind: str) -> Callable[[EksBackend, Cluster, Any], dict[str, Any]]:
    def change_it(eks: EksBackend, cluster: Cluster, asked: Any) -> dict[str, Any]:
        require_quiet(cluster, kind)
        before = cluster.description.get(key)
        new = {**before, **asked} if isinstance(before, dict) and isinstance(asked, dict) else asked
        if new == before:
            message = f"No changes needed for the {key} provided"
            raise laws.ONE_UPDATE.broken(InvalidParameterException(message, clusterName=cluster.name))

        def change() -> None:
            cluster.description[key] = new

        shown = {key[0].upper() + key[1:]: asked}
        return _begin(eks, cluster, kind, shown, "eks.cluster.update_config", change)

    return change_it


def _same(before: Any, after: Any) -> bool:
    return sorted(before) == sorted(after) if isinstance(before, list) else bool(before == after)


_CHANGES: dict[str, Callable[[EksBackend, Cluster, Any], dict[str, Any]]] = {
    "resourcesVpcConfig": _change_vpc_config,
    "accessConfig": _change_access_config,
    "logging": _change_logging,
    "upgradePolicy": _change_simple("upgradePolicy", "UpgradePolicyUpdate"),
    "zonalShiftConfig": _change_simple("zonalShiftConfig", "ZonalShiftConfigUpdate"),
    "deletionProtection": _change_simple("deletionProtection", "DeletionProtectionUpdate"),
    "computeConfig": _change_simple("computeConfig", "AutoModeUpdate"),
    "storageConfig": _change_simple("storageConfig", "AutoModeUpdate"),
    "kubernetesNetworkConfig": _change_simple("kubernetesNetworkConfig", "AutoModeUpdate"),
    "remoteNetworkConfig": _change_simple("remoteNetworkConfig", "RemoteNetworkConfigUpdate"),
}


@operation("AssociateEncryptionConfig")
def associate_encryption_config(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Begin to encrypt secrets with a key; possible once."""
    cluster = eks.cluster(parameters["clusterName"])
    require_quiet(cluster, "AssociateEncryptionConfig")
    if cluster.description["encryptionConfig"]:
        message = "Cluster already has encryption enabled"
        raise laws.ONE_UPDATE.broken(InvalidParameterException(message, clusterName=cluster.name))
    new = parameters["encryptionConfig"]

    def change() -> None:
        cluster.description["encryptionConfig"] = new

    shown = {"EncryptionConfig": new}
    return _begin(eks, cluster, "AssociateEncryptionConfig", shown, "eks.cluster.update_config", change)
