"""Managed node groups: made when their nodes are ready, failed when they never are."""

from __future__ import annotations

from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES

from mlcc_rehearsal.cloud import durations, laws
from mlcc_rehearsal.cloud.ec2.network import ec2_of
from mlcc_rehearsal.cloud.eks import access, addon_health, nodes
from mlcc_rehearsal.cloud.eks.errors import (
    InvalidParameterException,
    InvalidRequestException,
    ResourceInUseException,
    ResourceNotFoundException,
)
from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend, NodeGroup
from mlcc_rehearsal.cloud.eks.operations import operation, page
from mlcc_rehearsal.cloud.eks.requirements import check_node_role, existing_subnet
from mlcc_rehearsal.cloud.eks.tags import checked
from mlcc_rehearsal.cloud.eks.updates import begin_update, update_in_progress
from mlcc_rehearsal.cloud.eks.versions import minor

# Modelled seconds between two looks whether nodes that cannot join yet can now.
_LOOK_AGAIN = 15.0
_LAST_AL2 = 32


def require_active(cluster: Cluster) -> None:
    """Refuse to add to a cluster that is not ACTIVE (or being updated).

    :raises InvalidRequestException: as AWS words it.
    """
    if cluster.status not in ("ACTIVE", "UPDATING"):
        message = f"Cluster '{cluster.name}' is not in ACTIVE status"
        raise laws.CLUSTER_STATE.broken(InvalidRequestException(message, clusterName=cluster.name))


def _find(eks: EksBackend, parameters: dict[str, Any]) -> tuple[Cluster, NodeGroup]:
    cluster = eks.cluster(parameters["clusterName"])
    name = parameters["nodegroupName"]
    if name not in cluster.node_groups:
        message = f"No node group found for name: {name}."
        raise ResourceNotFoundException(message, clusterName=cluster.name, nodegroupName=name)
    return cluster, cluster.node_groups[name]


@operation("CreateNodegroup")
def create_nodegroup(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Begin to make a node group."""
    cluster = eks.cluster(parameters["clusterName"])
    name = parameters["nodegroupName"]
    members = {"clusterName": cluster.name, "nodegroupName": name}
    if name in cluster.node_groups:
        message = f"NodeGroup already exists with name {name} and cluster name {cluster.name}"
        raise laws.NODE_GROUP_EXISTS.broken(ResourceInUseException(message, **members))
    require_active(cluster)
    check_node_role(eks, parameters["nodeRole"], cluster.name)
    for subnet_id in parameters["subnets"]:
        subnet = existing_subnet(eks, subnet_id, cluster.name)
        if subnet.vpc_id != cluster.description["resourcesVpcConfig"]["vpcId"]:
            message = f"Subnet {subnet_id} does not belong to the VPC of cluster {cluster.name}"
            raise laws.CLUSTER_SUBNETS.broken(InvalidParameterException(message, **members))
    version = parameters.get("version") or cluster.version
    template = _launch_template(eks, parameters.get("launchTemplate"), members)
    types = list(parameters.get("instanceTypes") or [])
    if not types:
        types = [template["instanceType"]] if template and template["instanceType"] else ["t3.medium"]
    ami = parameters.get("amiType") or (
        "CUSTOM" if template and template["image"] else "AL2023_x86_64_STANDARD"
    )
    _check_types(types, ami, members)
    _check_version(version, ami, cluster, members)
    scaling = {"minSize": 1, "maxSize": 2, "desiredSize": 2, **(parameters.get("scalingConfig") or {})}
    _check_scaling(scaling, members)

    group_id = eks.new_id()
    now = eks.account.clock.timestamp()
    description: dict[str, Any] = {
        **members,
        "nodegroupArn": eks.arn("nodegroup", cluster.name, name, group_id),
        "version": version,
        "releaseVersion": parameters.get("releaseVersion") or f"{version}.0-20261101",
        "createdAt": now,
        "modifiedAt": now,
        "status": "CREATING",
        "capacityType": parameters.get("capacityType") or "ON_DEMAND",
        "scalingConfig": scaling,
        "instanceTypes": types,
        "subnets": list(parameters["subnets"]),
        "amiType": ami,
        "nodeRole": parameters["nodeRole"],
        "labels": dict(parameters.get("labels") or {}),
        "taints": list(parameters.get("taints") or []),
        "resources": {"autoScalingGroups": [{"name": f"eks-{name}-{group_id}"}]},
        "health": {"issues": []},
        "updateConfig": parameters.get("updateConfig") or {"maxUnavailable": 1},
        "tags": checked(parameters.get("tags")),
    }
    if template is None:
        description["diskSize"] = parameters.get("diskSize") or 20
    else:
        description["launchTemplate"] = {key: template[key] for key in ("id", "name", "version")}
    for key in ("remoteAccess", "nodeRepairConfig"):
        if parameters.get(key):
            description[key] = parameters[key]
    group = NodeGroup(description)
    cluster.node_groups[name] = group
    access.enter_nodes(eks, cluster, parameters["nodeRole"], "EC2_LINUX")
    nodes.launch(eks, cluster, group, scaling["desiredSize"])
    give_up = eks.account.clock.now() + durations.seconds("eks.node_group.fail")
    eks.account.clock.after(
        durations.seconds("eks.node_group.create"), lambda: _try_to_join(eks, cluster, group, give_up)
    )
    return {"nodegroup": description}


def _try_to_join(eks: EksBackend, cluster: Cluster, group: NodeGroup, give_up: float) -> None:
    """Nodes try again until they can join, or the group fails."""
    if group.description["status"] != "CREATING":
        return
    obstacle = nodes.obstacle(eks, cluster, group)
    if obstacle is None:
        nodes.join(eks, cluster, group)
        group.description["status"] = "ACTIVE"
        group.why_not = None
        addon_health.reconsider(eks, cluster)
        return
    law, message, why = obstacle
    group.why_not = f"{law.name}: {why}"
    if eks.account.clock.now() < give_up:
        eks.account.clock.after(_LOOK_AGAIN, lambda: _try_to_join(eks, cluster, group, give_up))
        return
    group.description["status"] = "CREATE_FAILED"
    group.description["health"] = {
        "issues": [{"code": "NodeCreationFailure", "message": message, "resourceIds": list(group.instances)}]
    }


def _launch_template(
    eks: EksBackend, asked: dict[str, Any] | None, members: dict[str, str]
) -> dict[str, Any] | None:
    if not asked:
        return None
    ec2 = ec2_of(eks.account, eks.region_name)
    for template in ec2.launch_templates.values():
        if asked.get("id") in (None, template.id) and asked.get("name") in (None, template.name):
            version = str(asked.get("version") or template.default_version_number)
            data = template.get_version(
                version if not version.startswith("$") else template.latest_version_number
            ).data
            return {
                "id": template.id,
                "name": template.name,
                "version": version,
                "instanceType": data.get("InstanceType"),
                "image": data.get("ImageId"),
            }
    message = f"Launch template {asked.get('id') or asked.get('name')} does not exist"
    raise laws.NODE_PARAMETERS.broken(InvalidRequestException(message, **members))


def _check_types(types: list[str], ami: str, members: dict[str, str]) -> None:
    unknown = [each for each in types if each not in INSTANCE_TYPES]
    if unknown:
        message = f"The following supplied instance types do not exist: [{', '.join(unknown)}]"
        raise laws.NODE_PARAMETERS.broken(InvalidRequestException(message, **members))
    wanted = "arm64" if "ARM_64" in ami or "arm64" in ami.lower() else "x86_64"
    for each in types:
        if ami == "CUSTOM":
            continue
        suits = wanted in INSTANCE_TYPES[each]["ProcessorInfo"]["SupportedArchitectures"]
        if not suits or not _accelerator_suits(each, ami):
            message = f"[{each}] is not a valid instance type for requested amiType {ami}"
            raise laws.NODE_PARAMETERS.broken(InvalidParameterException(message, **members))


def _accelerator_suits(name: str, ami: str) -> bool:
    """An AMI with drivers is for types that carry what they drive; plain AMIs are for all."""
    # moto's record of EC2's answers has no NeuronInfo for the newest Trainium types.
    gpu, neuron = "GpuInfo" in INSTANCE_TYPES[name], name.startswith(("trn", "inf"))
    if ami.endswith("_GPU"):
        return gpu or neuron
    return (gpu or "NVIDIA" not in ami) and (neuron or "NEURON" not in ami)


def _check_version(version: str, ami: str, cluster: Cluster, members: dict[str, str]) -> None:
    if minor(version) > minor(cluster.version):
        message = (
            f"NodeGroup Kubernetes version {version} should be equal to or lower than that of cluster "
            f"{cluster.version}"
        )
        raise laws.NODE_PARAMETERS.broken(InvalidParameterException(message, **members))
    if ami.startswith("AL2_") and minor(version) > _LAST_AL2:
        message = f"AMI Type {ami} is only supported for kubernetes versions 1.32 or earlier"
        raise laws.NODE_AMI.broken(InvalidParameterException(message, **members))


def _check_scaling(scaling: dict[str, int], members: dict[str, str]) -> None:
    low, high, wanted = scaling["minSize"], scaling["maxSize"], scaling["desiredSize"]
    if low > high:
        message = f"min size {low} can't be greater than max size {high}"
    elif low > wanted:
        message = f"Minimum capacity {low} can't be greater than desired size {wanted}"
    elif wanted > high:
        message = f"desired capacity {wanted} can't be greater than max size {high}"
    else:
        return
    raise laws.NODE_PARAMETERS.broken(InvalidParameterException(message, **members))


@operation("DescribeNodegroup")
def describe_nodegroup(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """One node group."""
    return {"nodegroup": _find(eks, parameters)[1].description}


@operation("ListNodegroups")
def list_nodegroups(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Names of a cluster's node groups."""
    return page(sorted(eks.cluster(parameters["clusterName"]).node_groups), parameters, "nodegroups")


@operation("DeleteNodegroup")
def delete_nodegroup(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Begin to delete a node group; interfaces of its nodes outlive it."""
    cluster, group = _find(eks, parameters)
    if group.description["status"] == "DELETING":
        return {"nodegroup": group.description}
    name = group.description["nodegroupName"]
    update = update_in_progress(cluster, ("nodegroup", name))
    if update is not None:
        message = f"Cannot delete because nodegroup {name} currently has update {update} in progress"
        raise laws.CLUSTER_STATE.broken(
            ResourceInUseException(message, clusterName=cluster.name, nodegroupName=name)
        )
    group.description["status"] = "DELETING"
    eks.account.clock.after(durations.seconds("eks.node_group.delete"), lambda: _vanish(eks, cluster, group))
    return {"nodegroup": group.description}


def _vanish(eks: EksBackend, cluster: Cluster, group: NodeGroup) -> None:
    nodes.terminate(eks, cluster, group, list(group.instances))
    cluster.node_groups.pop(group.description["nodegroupName"], None)
    addon_health.reconsider(eks, cluster)


@operation("UpdateNodegroupConfig")
def update_nodegroup_config(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Begin to change size, labels or taints."""
    cluster, group = _find(eks, parameters)
    members = {"clusterName": cluster.name, "nodegroupName": parameters["nodegroupName"]}
    _require_quiet(cluster, group, members)
    after = {**group.description["scalingConfig"], **(parameters.get("scalingConfig") or {})}
    _check_scaling(after, members)
    shown: dict[str, Any] = {}
    for key, name in (
        ("labels", "LabelsToAdd"),
        ("taints", "TaintsToAdd"),
        ("scalingConfig", "DesiredSize"),
        ("updateConfig", "MaxUnavailable"),
    ):
        if parameters.get(key):
            shown[name] = parameters[key]
    if not shown and not parameters.get("nodeRepairConfig"):
        raise laws.ONE_UPDATE.broken(InvalidParameterException("No changes requested", **members))
    group.description["status"] = "UPDATING"

    def finish() -> None:
        _apply(eks, cluster, group, parameters, after)

    update = begin_update(
        eks,
        cluster,
        "ConfigUpdate",
        shown,
        "eks.node_group.update",
        finish,
        owner=("nodegroup", parameters["nodegroupName"]),
    )
    return {"update": update}


def _require_quiet(cluster: Cluster, group: NodeGroup, members: dict[str, str]) -> None:
    if group.description["status"] not in ("ACTIVE", "DEGRADED"):
        message = (
            "Nodegroup cannot be updated as it is currently not in Active State (status "
            f"{group.description['status']})"
        )
        raise laws.CLUSTER_STATE.broken(ResourceInUseException(message, **members))
    if cluster.status != "ACTIVE":
        message = f"Cluster '{cluster.name}' is not in ACTIVE status"
        raise laws.CLUSTER_STATE.broken(InvalidRequestException(message, **members))


def _apply(
    eks: EksBackend, cluster: Cluster, group: NodeGroup, parameters: dict[str, Any], scaling: dict[str, int]
) -> None:
    description = group.description
    labels = parameters.get("labels") or {}
    description["labels"].update(labels.get("addOrUpdateLabels") or {})
    for key in labels.get("removeLabels") or []:
        description["labels"].pop(key, None)
    taints = parameters.get("taints") or {}
    changed = [*(taints.get("removeTaints") or []), *(taints.get("addOrUpdateTaints") or [])]
    gone = {(t["key"], t["effect"]) for t in changed}
    description["taints"] = [t for t in description["taints"] if (t["key"], t["effect"]) not in gone]
    description["taints"] += taints.get("addOrUpdateTaints") or []
    description["scalingConfig"] = scaling
    for key in ("updateConfig", "nodeRepairConfig"):
        if parameters.get(key):
            description[key] = parameters[key]
    surplus = list(group.instances)[scaling["desiredSize"] :]
    nodes.terminate(eks, cluster, group, surplus)
    nodes.launch(eks, cluster, group, scaling["desiredSize"] - len(group.instances))
    nodes.join(eks, cluster, group)
    description["modifiedAt"] = eks.account.clock.timestamp()
    if description["status"] == "UPDATING":
        description["status"] = "ACTIVE"
    addon_health.reconsider(eks, cluster)


@operation("UpdateNodegroupVersion")
def update_nodegroup_version(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Begin to replace the nodes by ones of another version or launch template version."""
    cluster, group = _find(eks, parameters)
    members = {"clusterName": cluster.name, "nodegroupName": parameters["nodegroupName"]}
    _require_quiet(cluster, group, members)
    version = parameters.get("version") or cluster.version
    _check_version(version, group.description["amiType"], cluster, members)
    template = _launch_template(eks, parameters.get("launchTemplate"), members)
    group.description["status"] = "UPDATING"

    def finish() -> None:
        count = len(group.instances)
        nodes.terminate(eks, cluster, group, list(group.instances))
        group.description["version"] = version
        group.description["releaseVersion"] = parameters.get("releaseVersion") or f"{version}.0-20261101"
        if template:
            group.description["launchTemplate"] = {key: template[key] for key in ("id", "name", "version")}
        nodes.launch(eks, cluster, group, count)
        nodes.join(eks, cluster, group)
        group.description["status"] = "ACTIVE"
        addon_health.reconsider(eks, cluster)

    shown = {
        "Version": version,
        "ReleaseVersion": parameters.get("releaseVersion") or f"{version}.0-20261101",
    }
    update = begin_update(
        eks,
        cluster,
        "VersionUpdate",
        shown,
        "eks.node_group.update_version",
        finish,
        owner=("nodegroup", parameters["nodegroupName"]),
    )
    return {"update": update}
