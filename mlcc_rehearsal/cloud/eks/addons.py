"""Add-ons: laid down, changed and taken away, with the health of what they run."""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud import durations, laws
from mlcc_rehearsal.cloud.eks import addon_health
from mlcc_rehearsal.cloud.eks.addon_catalogue import addons as known_addons
from mlcc_rehearsal.cloud.eks.addon_catalogue import check_configuration, check_supported
from mlcc_rehearsal.cloud.eks.errors import (
    InvalidParameterException,
    ResourceInUseException,
    ResourceNotFoundException,
)
from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend
from mlcc_rehearsal.cloud.eks.node_groups import require_active
from mlcc_rehearsal.cloud.eks.operations import operation, page
from mlcc_rehearsal.cloud.eks.pod_identity import make_association
from mlcc_rehearsal.cloud.eks.tags import checked
from mlcc_rehearsal.cloud.eks.updates import begin_update
from mlcc_rehearsal.cloud.iam.roles import find_role


def _find(eks: EksBackend, parameters: dict[str, Any]) -> tuple[Cluster, dict[str, Any]]:
    cluster = eks.cluster(parameters["clusterName"])
    name = parameters["addonName"]
    if name not in cluster.addons:
        message = f"No addon: {name} found in cluster: {cluster.name}"
        raise ResourceNotFoundException(message, clusterName=cluster.name, addonName=name)
    return cluster, cluster.addons[name]


def _shown(addon: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in addon.items() if key not in ("waits", "unhealthy_since")}


@operation("CreateAddon")
def create_addon(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Begin to install an add-on."""
    cluster = eks.cluster(parameters["clusterName"])
    name = parameters["addonName"]
    members = {"clusterName": cluster.name, "addonName": name}
    if name in cluster.addons:
        raise laws.ADDON_EXISTS.broken(ResourceInUseException("Addon already exists.", **members))
    require_active(cluster)
    version = check_supported(name, parameters.get("addonVersion"), cluster.version, cluster.name)
    check_configuration(name, version, parameters.get("configurationValues"), cluster.name)
    _check_role(eks, parameters.get("serviceAccountRoleArn"), members)
    arn = eks.arn("addon", cluster.name, name, eks.new_id())
    associations = _associate(eks, cluster, name, version, arn, parameters.get("podIdentityAssociations"))
    now = eks.account.clock.timestamp()
    known = known_addons()[name]
    addon: dict[str, Any] = {
        **members,
        "status": "CREATING",
        "addonVersion": version,
        "health": {"issues": []},
        "addonArn": arn,
        "createdAt": now,
        "modifiedAt": now,
        "tags": checked(parameters.get("tags")),
        "publisher": known["publisher"],
        "owner": known["owner"],
        "namespaceConfig": parameters.get("namespaceConfig") or {"namespace": known["namespace"]},
    }
    for key in ("serviceAccountRoleArn", "configurationValues"):
        if parameters.get(key):
            addon[key] = parameters[key]
    if associations:
        addon["podIdentityAssociations"] = associations
    cluster.addons[name] = addon
    overwrite = parameters.get("resolveConflicts") == "OVERWRITE"
    eks.account.clock.after(
        durations.seconds("eks.addon.create"), lambda: _installed(eks, cluster, addon, overwrite=overwrite)
    )
    return {"addon": _shown(addon)}


def _installed(eks: EksBackend, cluster: Cluster, addon: dict[str, Any], *, overwrite: bool) -> None:
    name = addon["addonName"]
    if addon["status"] != "CREATING" or cluster.addons.get(name) is not addon:
        return
    if name in cluster.self_managed and not overwrite:
        addon["status"] = "CREATE_FAILED"
        addon["health"] = {"issues": [_conflict(name)]}
        return
    issue = addon_health.obstacle(eks, cluster, addon, overwrite=overwrite)
    if issue is not None:
        addon["status"] = "CREATE_FAILED"
        addon["health"] = {"issues": [issue]}
        return
    cluster.self_managed.discard(name)
    addon["waits"] = True
    addon_health.settle(eks, cluster, addon)


def _conflict(name: str) -> dict[str, Any]:
    """The issue of an add-on that met fields of a self-managed one: the law "eks-addon-conflict"."""
    objects = {"vpc-cni": "DaemonSet.apps aws-node", "kube-proxy": "DaemonSet.apps kube-proxy"}
    named = objects.get(name, f"Deployment.apps {name}")
    return addon_health.conflict(f'{named} - .spec.template.spec.containers[name="{name}"].image')


def _check_role(eks: EksBackend, arn: str | None, members: dict[str, str]) -> None:
    if arn and (find_role(eks.account, arn) is None or not eks.account.is_visible(arn)):
        message = f"The role {arn} does not exist"
        raise laws.IAM_PROPAGATION.broken(InvalidParameterException(message, **members))


def _associate(
    eks: EksBackend,
    cluster: Cluster,
    name: str,
    version: str,
    arn: str,
    asked: list[dict[str, Any]] | None,
) -> list[str]:
    if not asked:
        return []
    if not known_addons()[name]["pod_identity"]:
        message = f"Pod Identity feature is not supported for addon version: {version}"
        raise laws.ADDON_SUPPORTED.broken(
            InvalidParameterException(message, clusterName=cluster.name, addonName=name)
        )
    namespace = known_addons()[name]["namespace"]
    return [
        make_association(eks, cluster, {**each, "namespace": namespace}, owner=arn)["associationArn"]
        for each in asked
    ]


@operation("DescribeAddon")
def describe_addon(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """One add-on."""
    return {"addon": _shown(_find(eks, parameters)[1])}


@operation("ListAddons")
def list_addons(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Names of a cluster's add-ons."""
    return page(sorted(eks.cluster(parameters["clusterName"]).addons), parameters, "addons")


@operation("UpdateAddon")
def update_addon(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Begin to change an add-on's version, role or configuration; what is left out stays as it is.

    Configuration values are no exception: those given take the place of all before them, the law
    "operator-configuration-replaced".
    """
    cluster, addon = _find(eks, parameters)
    name = addon["addonName"]
    members = {"clusterName": cluster.name, "addonName": name}
    if addon["status"] in ("CREATING", "UPDATING", "DELETING"):
        message = f"Addon {name} cannot be updated as it is currently in {addon['status']} state"
        raise laws.CLUSTER_STATE.broken(ResourceInUseException(message, **members))
    require_active(cluster)
    version = addon["addonVersion"]
    if parameters.get("addonVersion"):
        version = check_supported(name, parameters["addonVersion"], cluster.version, cluster.name)
    values = parameters.get("configurationValues") or addon.get("configurationValues")
    check_configuration(name, version, values, cluster.name)
    _check_role(eks, parameters.get("serviceAccountRoleArn"), members)
    if parameters.get("podIdentityAssociations") is not None:
        _replace_associations(eks, cluster, addon, version, parameters["podIdentityAssociations"])
    addon["status"] = "UPDATING"
    addon["waits"] = False
    conflict = name in cluster.self_managed and parameters.get("resolveConflicts") != "OVERWRITE"

    def finish() -> None:
        if cluster.addons.get(name) is not addon or addon["status"] != "UPDATING":
            return
        addon["modifiedAt"] = eks.account.clock.timestamp()
        addon["waits"] = True
        wanted = {**addon, "addonVersion": version}
        for key in ("serviceAccountRoleArn", "configurationValues"):
            if parameters.get(key) is not None:
                wanted[key] = parameters[key]
        overwrite = parameters.get("resolveConflicts") == "OVERWRITE"
        issue = _conflict(name) if conflict else None
        issue = issue or addon_health.obstacle(eks, cluster, wanted, overwrite=overwrite)
        if issue is not None:
            addon["status"] = "UPDATE_FAILED"
            addon["health"] = {"issues": [issue]}
            update["status"] = "Failed"
            update["errors"] = [{"errorCode": issue["code"], "errorMessage": issue["message"]}]
            return
        cluster.self_managed.discard(name)
        addon.update(wanted)
        addon_health.settle(eks, cluster, addon)

    shown = {
        key[0].upper() + key[1:]: parameters[key]
        for key in ("addonVersion", "serviceAccountRoleArn", "resolveConflicts", "configurationValues")
        if parameters.get(key)
    }
    update = begin_update(
        eks, cluster, "AddonUpdate", shown, "eks.addon.update", finish, owner=("addon", name)
    )
    return {"update": update}


def _replace_associations(
    eks: EksBackend, cluster: Cluster, addon: dict[str, Any], version: str, asked: list[dict[str, Any]]
) -> None:
    for association in list(cluster.pod_identities.values()):
        if association.get("ownerArn") == addon["addonArn"]:
            del cluster.pod_identities[association["associationId"]]
    addon["podIdentityAssociations"] = _associate(
        eks, cluster, addon["addonName"], version, addon["addonArn"], asked
    )


@operation("DeleteAddon")
def delete_addon(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Begin to take an add-on away; with ``preserve`` its workloads stay, managed by nobody."""
    cluster, addon = _find(eks, parameters)
    name = addon["addonName"]
    if addon["status"] == "DELETING":
        return {"addon": _shown(addon)}
    addon["status"] = "DELETING"
    preserve = bool(parameters.get("preserve"))

    def gone() -> None:
        if cluster.addons.get(name) is not addon:
            return
        del cluster.addons[name]
        for association in list(cluster.pod_identities.values()):
            if association.get("ownerArn") == addon["addonArn"]:
                del cluster.pod_identities[association["associationId"]]
        if preserve:
            cluster.self_managed.add(name)
        else:
            addon_health.take_away(eks, cluster, addon)

    eks.account.clock.after(durations.seconds("eks.addon.delete"), gone)
    return {"addon": _shown(addon)}
