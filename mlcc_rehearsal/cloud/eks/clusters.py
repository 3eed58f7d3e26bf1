"""Clusters: made in minutes, changed one thing at a time, deleted when empty."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from mlcc_rehearsal.cloud import durations, laws, log_groups
from mlcc_rehearsal.cloud.account import caller
from mlcc_rehearsal.cloud.eks import access, control_plane
from mlcc_rehearsal.cloud.eks.errors import (
    InvalidParameterException,
    InvalidRequestException,
    ResourceInUseException,
)
from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend
from mlcc_rehearsal.cloud.eks.operations import operation, page
from mlcc_rehearsal.cloud.eks.requirements import (
    check_cluster_role,
    check_cluster_subnets,
    existing_security_group,
)
from mlcc_rehearsal.cloud.eks.tags import checked
from mlcc_rehearsal.cloud.eks.updates import update_in_progress
from mlcc_rehearsal.cloud.eks.versions import DEFAULT, OFFERED, PLATFORM
from mlcc_rehearsal.cloud.iam.roles import role_of_session

_LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")
_SELF_MANAGED = ("vpc-cni", "kube-proxy", "coredns")


@operation("CreateCluster")
def create_cluster(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Begin to make a cluster; it is ACTIVE after ``eks.cluster.create``."""
    name = parameters["name"]
    if name in eks.clusters:
        message = f"Cluster already exists with name: {name}"
        raise laws.CLUSTER_EXISTS.broken(ResourceInUseException(message, clusterName=name))
    version = parameters.get("version") or DEFAULT
    if version not in OFFERED:
        message = f"unsupported Kubernetes version {version}"
        raise laws.CLUSTER_VERSION.broken(InvalidParameterException(message, clusterName=name))
    access_config = _access_config(name, parameters.get("accessConfig") or {})
    network = parameters["resourcesVpcConfig"]
    check_cluster_role(eks, parameters["roleArn"], name)
    vpc_id = check_cluster_subnets(eks, network.get("subnetIds") or [], name)
    for group_id in network.get("securityGroupIds") or []:
        existing_security_group(eks, group_id, name)

    description: dict[str, Any] = {
        "name": name,
        "arn": eks.arn("cluster", name),
        "createdAt": eks.account.clock.timestamp(),
        "version": version,
        "roleArn": parameters["roleArn"],
        "resourcesVpcConfig": _vpc_config(network, vpc_id),
        "kubernetesNetworkConfig": _network_config(parameters.get("kubernetesNetworkConfig") or {}, name),
        "logging": logging_of(log_types(parameters.get("logging") or {})),
        "status": "CREATING",
        "certificateAuthority": {},
        "platformVersion": PLATFORM,
        "tags": checked(parameters.get("tags")),
        "encryptionConfig": parameters.get("encryptionConfig") or [],
        "accessConfig": access_config,
        "upgradePolicy": {"supportType": "EXTENDED", **(parameters.get("upgradePolicy") or {})},
        "deletionProtection": bool(parameters.get("deletionProtection")),
        "health": {"issues": []},
    }
    for key in ("zonalShiftConfig", "computeConfig", "storageConfig", "remoteNetworkConfig"):
        if parameters.get(key) is not None:
            description[key] = parameters[key]
    creator = caller()
    cluster = Cluster(name, description, role_of_session(eks.account, creator) if creator else None)
    if parameters.get("bootstrapSelfManagedAddons", True):
        cluster.self_managed = set(_SELF_MANAGED)
    eks.clusters[name] = cluster
    eks.account.clock.after(durations.seconds("eks.cluster.create"), lambda: _become_active(eks, cluster))
    return {"cluster": description}


def _become_active(eks: EksBackend, cluster: Cluster) -> None:
    if cluster.status != "CREATING" or eks.clusters.get(cluster.name) is not cluster:
        return
    # The law "eks-new-issuer": the id is drawn for each cluster, so a role that trusts a predecessor's
    # issuer trusts nobody.
    issuer_id = secrets.token_hex(16).upper()
    cluster.description["identity"] = {
        "oidc": {"issuer": f"https://oidc.eks.{eks.region_name}.amazonaws.com/id/{issuer_id}"}
    }
    control_plane.start(eks, cluster)
    access.bootstrap(eks, cluster)
    cluster.description["status"] = "ACTIVE"
    write_logs(eks, cluster)


def write_logs(eks: EksBackend, cluster: Cluster) -> None:
    """A control plane has its log group for as long as it is there and logs, and a moment longer.

    Source: Amazon EKS user guide, 'Send control plane logs to CloudWatch Logs'.
    """
    if logs(cluster):
        log_groups.keep_writing(
            eks.account,
            eks.region_name,
            f"/aws/eks/{cluster.name}/cluster",
            lambda: eks.clusters.get(cluster.name) is cluster and logs(cluster),
        )


def logs(cluster: Cluster) -> bool:
    """Whether any log type of the control plane is on."""
    return bool(log_types(cluster.description["logging"]))


def _access_config(name: str, asked: dict[str, Any]) -> dict[str, Any]:
    mode = asked.get("authenticationMode") or "CONFIG_MAP"
    bootstrap = asked.get("bootstrapClusterCreatorAdminPermissions", True)
    if mode == "CONFIG_MAP" and not bootstrap:
        message = (
            "bootstrapClusterCreatorAdminPermissions must be true if cluster authentication mode is set to "
            "CONFIG_MAP"
        )
        raise laws.AUTHENTICATION_MODE.broken(InvalidParameterException(message, clusterName=name))
    return {"authenticationMode": mode, "bootstrapClusterCreatorAdminPermissions": bool(bootstrap)}


def _vpc_config(asked: dict[str, Any], vpc_id: str) -> dict[str, Any]:
    public = asked.get("endpointPublicAccess", True)
    private = asked.get("endpointPrivateAccess", False)
    if not public and not private:
        message = "Private and public endpoint access cannot be false"
        raise laws.EKS_PARAMETERS.broken(InvalidParameterException(message))
    check_public_blocks(asked.get("publicAccessCidrs") or [])
    cidrs = asked.get("publicAccessCidrs") or (["0.0.0.0/0"] if public else [])
    return {
        "subnetIds": list(asked.get("subnetIds") or []),
        "securityGroupIds": list(asked.get("securityGroupIds") or []),
        "vpcId": vpc_id,
        "endpointPublicAccess": public,
        "endpointPrivateAccess": private,
        "publicAccessCidrs": list(cidrs),
    }


_PRIVATE = tuple(map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))


def check_public_blocks(cidrs: list[str]) -> None:
    """:raises InvalidParameterException: when one of the blocks for the public endpoint is a private one."""
    blocks = {cidr: ipaddress.ip_network(cidr, strict=False) for cidr in cidrs}
    wrong = [
        cidr
        for cidr, block in blocks.items()
        if isinstance(block, ipaddress.IPv4Network) and any(block.subnet_of(each) for each in _PRIVATE)
    ]
    if wrong:
        message = f"The following CIDRs are not allowed in publicAccessCidrs: [{', '.join(wrong)}]"
        raise laws.PUBLIC_BLOCKS.broken(InvalidParameterException(message))


def _network_config(asked: dict[str, Any], name: str) -> dict[str, Any]:
    cidr = asked.get("serviceIpv4Cidr") or "10.100.0.0/16"
    network = ipaddress.ip_network(cidr, strict=False)
    if not 12 <= network.prefixlen <= 24 or not network.is_private:
        message = f"serviceIpv4Cidr {cidr} must be a private block between /24 and /12"
        raise laws.EKS_PARAMETERS.broken(InvalidParameterException(message, clusterName=name))
    answer: dict[str, Any] = {"serviceIpv4Cidr": cidr, "ipFamily": asked.get("ipFamily") or "ipv4"}
    answer["elasticLoadBalancing"] = asked.get("elasticLoadBalancing") or {"enabled": False}
    return answer


def log_types(asked: Mapping[str, Any], before: Iterable[str] = ()) -> set[str]:
    """The log types that are on once ``asked``, in the API's form, is done to those that were on before."""
    enabled = set(before)
    for setup in asked.get("clusterLogging") or []:
        types = set(setup.get("types") or [])
        enabled = enabled | types if setup.get("enabled") else enabled - types
    return enabled


def logging_of(enabled: set[str]) -> dict[str, Any]:
    """The API's form of "these log types are on, the others off"."""
    setups = [
        {"types": [t for t in _LOG_TYPES if t in enabled], "enabled": True},
        {"types": [t for t in _LOG_TYPES if t not in enabled], "enabled": False},
    ]
    return {"clusterLogging": [setup for setup in setups if setup["types"]]}


@operation("DescribeCluster")
def describe_cluster(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """One cluster.  As at AWS the answer does not say whether the creator was made an administrator."""
    description = dict(eks.cluster(parameters["name"]).description)
    description["accessConfig"] = {"authenticationMode": description["accessConfig"]["authenticationMode"]}
    return {"cluster": description}


@operation("ListClusters")
def list_clusters(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Names of the region's clusters."""
    return page(sorted(eks.clusters), parameters, "clusters")


@operation("DeleteCluster")
def delete_cluster(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Begin to delete a cluster; it is gone after ``eks.cluster.delete``."""
    name = parameters["name"]
    cluster = eks.cluster(name)
    update = update_in_progress(cluster)
    if update is not None:
        message = f"Cannot delete because cluster {name} currently has update {update} in progress"
        raise laws.CLUSTER_DELETE.broken(ResourceInUseException(message, clusterName=name))
    if cluster.status in ("CREATING", "DELETING"):
        verb = "creation" if cluster.status == "CREATING" else "deletion"
        message = f"Cannot delete because cluster {name} currently has {verb} in progress"
        raise laws.CLUSTER_STATE.broken(ResourceInUseException(message, clusterName=name))
    if cluster.description["deletionProtection"]:
        message = f"Cluster {name} has deletion protection enabled. Disable it before you delete the cluster."
        raise laws.CLUSTER_DELETE.broken(InvalidRequestException(message, clusterName=name))
    if cluster.node_groups:
        members = {"clusterName": name, "nodegroupName": next(iter(cluster.node_groups))}
        raise laws.CLUSTER_DELETE.broken(ResourceInUseException("Cluster has nodegroups attached", **members))
    if cluster.fargate_profiles:
        raise laws.CLUSTER_DELETE.broken(
            ResourceInUseException("Cluster has Fargate profiles attached", clusterName=name)
        )
    cluster.description["status"] = "DELETING"
    eks.account.clock.after(durations.seconds("eks.cluster.delete"), lambda: _vanish(eks, cluster))
    return {"cluster": cluster.description}


def _vanish(eks: EksBackend, cluster: Cluster) -> None:
    control_plane.stop(eks, cluster)
    if eks.clusters.get(cluster.name) is cluster:
        del eks.clusters[cluster.name]
    if logs(cluster):
        log_groups.write_last(eks.account, eks.region_name, f"/aws/eks/{cluster.name}/cluster")
