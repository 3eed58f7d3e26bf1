"""Laws of add-ons."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mlcc_infra import versions
from mlcc_rehearsal.cloud.eks.addon_catalogue import addons
from tests.unit.rehearsal_cloud.conftest import Desk, trust


def install(desk: Desk, name: str, **options: Any) -> dict[str, Any]:
    made: dict[str, Any] = desk.eks.create_addon(clusterName="demo", addonName=name, **options)["addon"]
    return made


def addon(desk: Desk, name: str) -> dict[str, Any]:
    found: dict[str, Any] = desk.eks.describe_addon(clusterName="demo", addonName=name)["addon"]
    return found


def test_an_add_on_is_creating_and_then_active(desk: Desk, refused: Any) -> None:
    desk.cluster(desk.network(nat=False), bootstrapSelfManagedAddons=False)
    assert install(desk, "kube-proxy")["status"] == "CREATING"
    desk.pass_time(31)
    assert addon(desk, "kube-proxy")["status"] == "ACTIVE"
    with refused("ResourceInUseException", "eks-addon-exists") as refusal:
        install(desk, "kube-proxy")
    assert refusal.text == "Addon already exists."
    with refused("ResourceNotFoundException") as refusal:
        addon(desk, "coredns")
    assert refusal.text == "No addon: coredns found in cluster: demo"


def test_unknown_add_ons_and_versions_are_refused(desk: Desk, refused: Any) -> None:
    desk.cluster(desk.network(nat=False), version="1.35")
    with refused("InvalidParameterException", "eks-addon-supported") as refusal:
        install(desk, "kube-proxy", addonVersion="v1.34.6-eksbuild.13")
    assert refusal.text == "Addon version specified is not supported"
    with refused("InvalidParameterException", "eks-addon-supported") as refusal:
        install(desk, "kubecost_kubecost")
    assert refusal.text == "Addon kubecost_kubecost specified is not supported in 1.35 kubernetes version"


def test_an_add_on_over_a_self_managed_one_conflicts_unless_told_to_overwrite(desk: Desk) -> None:
    desk.cluster(desk.network(nat=False))
    install(desk, "kube-proxy")
    desk.pass_time(31)
    failed = addon(desk, "kube-proxy")
    assert failed["status"] == "CREATE_FAILED"
    assert failed["health"]["issues"][0]["code"] == "ConfigurationConflict", "eks-addon-conflict"
    assert "Will not continue due to resolve conflicts mode" in failed["health"]["issues"][0]["message"]
    desk.eks.delete_addon(clusterName="demo", addonName="kube-proxy")
    desk.pass_time(20)
    install(desk, "kube-proxy", resolveConflicts="OVERWRITE")
    desk.pass_time(31)
    assert addon(desk, "kube-proxy")["status"] == "ACTIVE"


def test_a_preserved_add_on_is_self_managed_afterwards(desk: Desk) -> None:
    desk.cluster(desk.network(nat=False), bootstrapSelfManagedAddons=False)
    install(desk, "kube-proxy")
    desk.pass_time(31)
    desk.eks.delete_addon(clusterName="demo", addonName="kube-proxy", preserve=True)
    desk.pass_time(20)
    install(desk, "kube-proxy")
    desk.pass_time(31)
    assert addon(desk, "kube-proxy")["status"] == "CREATE_FAILED"


def test_coredns_is_degraded_until_there_is_a_node(desk: Desk) -> None:
    network = desk.cluster()
    install(desk, "coredns", resolveConflicts="OVERWRITE")
    desk.pass_time(40)
    assert addon(desk, "coredns")["status"] == "CREATING"
    desk.pass_time(60)
    degraded = addon(desk, "coredns")
    assert degraded["status"] == "DEGRADED"
    assert degraded["health"]["issues"][0]["code"] == "InsufficientNumberOfReplicas", "eks-addon-replicas"
    desk.node_group(network)
    assert addon(desk, "coredns")["status"] == "ACTIVE"
    assert addon(desk, "coredns")["health"]["issues"] == []
    desk.eks.delete_nodegroup(clusterName="demo", nodegroupName="cpu")
    desk.pass_time(300)
    assert addon(desk, "coredns")["status"] == "DEGRADED"


def test_tainted_nodes_do_not_help_coredns_and_fargate_does(desk: Desk) -> None:
    network = desk.cluster()
    install(desk, "coredns", resolveConflicts="OVERWRITE")
    desk.node_group(network, taints=[{"key": "gpu", "value": "true", "effect": "NO_SCHEDULE"}])
    assert addon(desk, "coredns")["status"] == "DEGRADED"
    role = desk.role("fargate", trust("eks-fargate-pods.amazonaws.com"))
    desk.eks.create_fargate_profile(
        clusterName="demo",
        fargateProfileName="system",
        podExecutionRoleArn=role,
        subnets=network.private,
        selectors=[{"namespace": "kube-system"}],
    )
    desk.pass_time(120)
    assert addon(desk, "coredns")["status"] == "ACTIVE"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ("null", "[$: null found, object expected]"),
        (
            '{"replicas": 2}',
            "$.replicas: is not defined in the schema and the schema does not allow additional",
        ),
        ('{"replicaCount": "two"}', "$.replicaCount: string found, integer expected"),
    ],
)
def test_configuration_keeps_to_the_schema(desk: Desk, refused: Any, values: str, words: str) -> None:
    desk.cluster(desk.network(nat=False))
    with refused("InvalidParameterException", "eks-addon-configuration") as refusal:
        install(desk, "coredns", configurationValues=values)
    assert "Json schema validation failed with error: [" in refusal.text
    assert words in refusal.text


def test_an_update_takes_its_time_and_keeps_what_it_does_not_name(desk: Desk, refused: Any) -> None:
    desk.cluster(desk.network(nat=False), bootstrapSelfManagedAddons=False)
    role = desk.role("cni", trust("pods.eks.amazonaws.com"))
    install(desk, "vpc-cni", addonVersion="v1.21.1-eksbuild.7", serviceAccountRoleArn=role)
    with refused("ResourceInUseException", "eks-cluster-state"):
        desk.eks.update_addon(clusterName="demo", addonName="vpc-cni", addonVersion="v1.22.2-eksbuild.1")
    desk.pass_time(31)
    update = desk.eks.update_addon(clusterName="demo", addonName="vpc-cni", addonVersion="v1.22.2-eksbuild.1")
    assert addon(desk, "vpc-cni")["status"] == "UPDATING"
    desk.pass_time(31)
    after = addon(desk, "vpc-cni")
    assert (after["status"], after["addonVersion"]) == ("ACTIVE", "v1.22.2-eksbuild.1")
    assert after["serviceAccountRoleArn"] == role
    found = desk.eks.describe_update(name="demo", addonName="vpc-cni", updateId=update["update"]["id"])[
        "update"
    ]
    assert found["status"] == "Successful"


def test_pod_identity_inside_an_add_on_needs_one_that_supports_it(desk: Desk, refused: Any) -> None:
    desk.cluster(desk.network(nat=False))
    document = trust("pods.eks.amazonaws.com")
    document["Statement"][0]["Action"] = ["sts:AssumeRole", "sts:TagSession"]
    role = desk.role("pods", document)
    association = [{"serviceAccount": "x", "roleArn": role}]
    with refused("InvalidParameterException", "eks-addon-supported") as refusal:
        install(desk, "coredns", podIdentityAssociations=association)
    assert refusal.text.startswith("Pod Identity feature is not supported for addon version:")
    install(desk, "vpc-cni", podIdentityAssociations=[{"serviceAccount": "aws-node", "roleArn": role}])
    assert len(desk.eks.list_pod_identity_associations(clusterName="demo")["associations"]) == 1


def test_versions_on_offer_name_their_default(desk: Desk) -> None:
    found = desk.eks.describe_addon_versions(addonName="coredns", kubernetesVersion="1.35")["addons"]
    (only,) = found
    defaults = [
        version["addonVersion"]
        for version in only["addonVersions"]
        for compatibility in version["compatibilities"]
        if compatibility["defaultVersion"]
    ]
    assert defaults == ["v1.14.3-eksbuild.3"]
    assert only["defaultNamespace"] == "kube-system"
    schema = desk.eks.describe_addon_configuration(addonName="coredns", addonVersion=defaults[0])
    assert "replicaCount" in json.loads(schema["configurationSchema"])["properties"]


def test_the_data_file_offers_every_version_that_the_product_pins() -> None:
    offered = {
        (name, version["version"], kubernetes)
        for name, known in addons().items()
        for version in known["versions"]
        for kubernetes in version["kubernetes"]
    }
    wanted = {
        (name, pin.version, kubernetes)
        for name, pins in versions.ADDONS.items()
        for kubernetes, pin in pins.items()
    }
    assert wanted <= offered, sorted(wanted - offered)


def test_every_version_in_the_data_file_has_a_source_that_the_file_names() -> None:
    from importlib import resources

    text = (
        resources.files("mlcc_rehearsal.cloud.eks").joinpath("data/addons.json").read_text(encoding="utf-8")
    )
    data = json.loads(text)
    for known in data["addons"].values():
        for version in known["versions"]:
            assert version["sources"], version
            assert set(version["sources"]) <= set(data["sources"]), version
