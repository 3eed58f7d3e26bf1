"""Checks of the vanilla EKS cluster."""

from __future__ import annotations

from datetime import date

import pytest
from moto.ec2.models.instance_types import INSTANCE_TYPES

from mlcc_infra.instance_types import instance_type
from mlcc_infra.profile.check_eks import RETENTION_DAYS
from tests.unit.profile_support import load, problems, warnings


def eks(**keys: object) -> dict[str, object]:
    """Keys of a profile with these settings under `mlcc:eks`."""
    return {"eks": keys}


def group(name: str = "a", **keys: object) -> dict[str, object]:
    """A node group."""
    return {"name": name, **keys}


@pytest.mark.parametrize("version", ["1.31", "1.30", "1.25"])
def test_a_kubernetes_version_that_eks_no_longer_makes_is_refused(version: str) -> None:
    found = problems(eks(version=version))["mlcc:eks.version"]
    assert "no longer supports" in found.found
    assert "1.35" in found.remedy


def test_a_version_in_extended_support_is_warned_about_with_the_dates() -> None:
    found = warnings(eks(version="1.33"))["mlcc:eks.version"].found
    assert "2026-07-29" in found
    assert "2027-07-29" in found


def test_a_version_in_standard_support_is_silent_until_it_ends() -> None:
    assert "mlcc:eks.version" not in warnings(eks(version="1.34"), today=date(2026, 12, 2))
    assert "mlcc:eks.version" in warnings(eks(version="1.34"), today=date(2026, 12, 3))


def test_a_newer_version_than_known_is_possible_when_every_addon_is_pinned() -> None:
    assert 'mlcc:eks.addons["coredns"].version' in problems(eks(version="1.37"))
    pinned = {
        "vpc-cni": {"version": "v1.30.0-eksbuild.1"},
        "kube-proxy": {"version": "v1.37.0-eksbuild.1"},
        "coredns": {"version": "v1.15.0-eksbuild.1"},
        "eks-pod-identity-agent": {"version": "v1.4.0-eksbuild.1"},
    }
    assert "does not know" in warnings(eks(version="1.37", addons=pinned))["mlcc:eks.version"].found


@pytest.mark.parametrize("version", ["v1.35", "1.35.2", "latest", "", "1.3"])
def test_what_is_no_kubernetes_version_is_refused(version: str) -> None:
    assert "mlcc:eks.version" in problems(eks(version=version))


def test_standard_support_only_is_refused_for_a_version_that_eks_would_upgrade() -> None:
    assert (
        "upgrades it by itself"
        in problems(eks(version="1.33", supportType="STANDARD"))["mlcc:eks.supportType"].found
    )
    assert load(eks(supportType="STANDARD")).eks.support_type == "STANDARD"


# -------------------------------------------------------------------------------------------- endpoint


def test_an_endpoint_open_to_all_is_warned_about_and_a_narrow_one_is_not() -> None:
    key = "mlcc:eks.endpoint.publicAccessCidrs"
    assert "whole internet" in warnings()[key].found
    assert key not in warnings(eks(endpoint={"publicAccessCidrs": ["203.0.113.0/24"]}))
    assert key not in warnings(eks(endpoint={"public": False}))


@pytest.mark.parametrize(
    ("endpoint", "key"),
    [
        ({"public": False, "private": False}, "mlcc:eks.endpoint"),
        ({"publicAccessCidrs": ["203.0.113.1/24"]}, "mlcc:eks.endpoint.publicAccessCidrs[0]"),
        ({"publicAccessCidrs": ["203.0.113.1"]}, "mlcc:eks.endpoint.publicAccessCidrs[0]"),
        ({"publicAccessCidrs": []}, "mlcc:eks.endpoint.publicAccessCidrs"),
        ({"public": False, "publicAccessCidrs": ["203.0.113.0/24"]}, "mlcc:eks.endpoint.publicAccessCidrs"),
    ],
)
def test_an_endpoint_that_nobody_or_nothing_reaches_is_refused(endpoint: dict[str, object], key: str) -> None:
    assert list(problems(eks(endpoint=endpoint))) == [key]


def test_nodes_without_a_private_endpoint_and_a_narrow_public_one_are_warned_about() -> None:
    keys = eks(endpoint={"private": False, "publicAccessCidrs": ["203.0.113.0/24"]})
    assert "NAT gateways" in warnings(keys)["mlcc:eks.endpoint.private"].found


@pytest.mark.parametrize(
    ("cidr", "reason"),
    [
        ("176.22.0.0/16", "10.0.0.0/8"),
        ("10.0.0.0/9", "/12 to /24"),
        ("172.20.0.0/25", "/12 to /24"),
        ("172.20.0.1/16", "host bits"),
        ("172.20.0.0", "prefix length"),
        ("10.0.128.0/20", "overlaps the VPC's 10.0.0.0/16"),
    ],
)
def test_a_service_block_that_eks_refuses_is_refused(cidr: str, reason: str) -> None:
    keys = {
        **eks(serviceCidr=cidr),
        "network": {"cidr": "10.192.0.0/16" if cidr == "10.0.0.0/9" else "10.0.0.0/16"},
    }
    assert reason in problems(keys)["mlcc:eks.serviceCidr"].found


@pytest.mark.parametrize("cidr", ["172.20.0.0/16", "10.16.0.0/12", "192.168.0.0/24"])
def test_a_private_service_block_apart_from_the_vpc_is_accepted(cidr: str) -> None:
    assert load(eks(serviceCidr=cidr)).eks.service_cidr == cidr


# ----------------------------------------------------------------------------------------- node groups


@pytest.mark.parametrize(
    ("groups", "key", "reason"),
    [
        ([group("a"), group("a")], "mlcc:eks.nodeGroups", "twice"),
        ([group(minSize=3, desiredSize=2)], "mlcc:eks.nodeGroups[0]", "out of order"),
        ([group(maxSize=1)], "mlcc:eks.nodeGroups[0]", "out of order"),
        ([group(instanceTypes=[])], "mlcc:eks.nodeGroups[0].instanceTypes", "no instance type"),
        ([group(instanceTypes=["ml.c5.xlarge"])], "mlcc:eks.nodeGroups[0].instanceTypes", "HyperPod type"),
        (
            [group(instanceTypes=["m6i.large", "m6g.large"])],
            "mlcc:eks.nodeGroups[0].instanceTypes",
            "architecture",
        ),
        ([group(instanceTypes=["m6i.lrge"])], "mlcc:eks.nodeGroups[0].instanceTypes[0]", "another form"),
        ([group("x" * 64)], "mlcc:eks.nodeGroups[0].name", "another form"),
        ([group("with space")], "mlcc:eks.nodeGroups[0].name", "another form"),
        ([group(minSize=-1)], "mlcc:eks.nodeGroups[0].minSize", "greater than or equal to 0"),
        ([group(diskSize=5)], "mlcc:eks.nodeGroups[0].diskSize", "20"),
        (
            [group(labels={"bad key!": "x"})],
            'mlcc:eks.nodeGroups[0].labels["bad key!"]',
            "no Kubernetes label",
        ),
        (
            [group(labels={"kubernetes.io/role": "x"})],
            'mlcc:eks.nodeGroups[0].labels["kubernetes.io/role"]',
            "reserved",
        ),
        ([group(capacityType="spot")], "mlcc:eks.nodeGroups[0].capacityType", "'SPOT'"),
    ],
)
def test_a_node_group_that_eks_refuses_is_refused(groups: list[object], key: str, reason: str) -> None:
    found = problems(eks(nodeGroups=groups))
    assert reason in found[key].found


@pytest.mark.parametrize(
    "groups",
    [
        [],
        [group(minSize=0, desiredSize=0)],
        [group(taints=[{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}])],
    ],
)
def test_a_cluster_on_which_dns_could_never_run_is_refused(groups: list[object]) -> None:
    assert "CoreDNS" in problems(eks(nodeGroups=groups))["mlcc:eks.nodeGroups"].found
    assert not problems(eks(nodeGroups=groups, fargateNamespaces=["kube-system"]))


def test_gpu_nodes_without_the_device_plugin_are_warned_about() -> None:
    groups = [group("cpu"), group("gpu", instanceTypes=["g5.xlarge"])]
    key = "mlcc:eks.devicePlugin.enabled"
    assert "Pending" in warnings(eks(nodeGroups=groups))[key].found
    assert key not in warnings(eks(nodeGroups=groups, devicePlugin={"enabled": True}))


# --------------------------------------------------------------------------------- Fargate and add-ons


def test_five_fargate_namespaces_are_accepted_and_six_refused() -> None:
    names = [f"n{number}" for number in range(6)]
    assert load(eks(fargateNamespaces=names[:5])).eks.fargate_namespaces == tuple(names[:5])
    assert "at most 5 selectors" in problems(eks(fargateNamespaces=names))["mlcc:eks.fargateNamespaces"].found


@pytest.mark.parametrize("name", ["Upper", "a_b", "-a", "", "x" * 64, "hyperpod-inference-system"])
def test_a_namespace_that_cannot_be_or_cannot_work_on_fargate_is_refused(name: str) -> None:
    assert "mlcc:eks.fargateNamespaces[0]" in problems(eks(fargateNamespaces=[name]))


def test_a_namespace_named_twice_is_refused() -> None:
    assert "twice" in problems(eks(fargateNamespaces=["a", "a"]))["mlcc:eks.fargateNamespaces"].found


@pytest.mark.parametrize("version", ["latest", "default", "", "v1.2.3", "1.2.3-eksbuild.1"])
def test_an_addon_version_that_is_not_exact_is_refused(version: str) -> None:
    found = problems(eks(addons={"vpc-cni": {"version": version}}))
    assert list(found) == ['mlcc:eks.addons["vpc-cni"].version']


def test_an_addon_without_a_pin_needs_a_version_and_the_command_that_lists_them() -> None:
    found = problems(eks(addons={"aws-ebs-csi-driver": {}}))['mlcc:eks.addons["aws-ebs-csi-driver"].version']
    assert "no version of add-on 'aws-ebs-csi-driver' is pinned" in found.found
    assert "aws eks describe-addon-versions" in found.remedy
    assert load(eks(addons={"aws-ebs-csi-driver": {"version": "v1.61.1-eksbuild.1"}})).eks.addon_versions()[
        "aws-ebs-csi-driver"
    ]


def test_a_misspelt_addon_names_the_closest_pinned_one() -> None:
    assert "'metrics-server'" in str(problems(eks(addons={"metric-server": {}})))


def test_a_default_addon_can_be_left_out_with_a_warning() -> None:
    profile = load(eks(addons={"coredns": {"enabled": False}}))
    assert "coredns" not in profile.eks.addon_versions()
    assert 'mlcc:eks.addons["coredns"].enabled' in {warning.key for warning in profile.warnings}


def test_kube_proxy_of_another_minor_is_refused() -> None:
    keys = eks(addons={"kube-proxy": {"version": "v1.34.6-eksbuild.13"}})
    assert "another Kubernetes minor" in problems(keys)['mlcc:eks.addons["kube-proxy"].version'].found


def test_null_in_an_addons_configuration_is_refused_with_its_place() -> None:
    keys = eks(addons={"vpc-cni": {"configuration": {"env": {"A": None}, "list": [1, None]}}})
    assert ".env.A" in str(problems(keys)) or ".list[1]" in str(problems(keys))


def test_the_operator_on_the_vanilla_cluster_is_refused() -> None:
    keys = eks(addons={"amazon-sagemaker-hyperpod-inference": {"version": "v2.1.0-eksbuild.1"}})
    assert "operator-only" in str(problems(keys))


def test_configuration_is_handed_on_as_it_is() -> None:
    profile = load(eks(addons={"vpc-cni": {"configuration": {"env": {"WARM_IP_TARGET": "3"}}}}))
    assert profile.eks.addon_configuration("vpc-cni") == {"env": {"WARM_IP_TARGET": "3"}}
    assert profile.eks.addon_configuration("coredns") == {}


# ------------------------------------------------------------------------------------------- inference


@pytest.mark.parametrize("entry", ["default:model", "*:model", "models:*", "a-b:c.d-e"])
def test_subjects_of_model_pods_name_at_least_one_part(entry: str) -> None:
    assert load(eks(inference={"serviceAccounts": [entry]})).eks.inference.service_accounts == (entry,)


@pytest.mark.parametrize("entry", ["*:*", "model", "a:b:c", "A:b", "mod*:x", ""])
def test_subjects_that_match_all_or_nothing_are_refused(entry: str) -> None:
    assert "mlcc:eks.inference.serviceAccounts[0]" in problems(eks(inference={"serviceAccounts": [entry]}))


def test_a_role_that_no_pod_may_use_is_refused() -> None:
    assert "mlcc:eks.inference.serviceAccounts" in problems(eks(inference={"serviceAccounts": []}))
    assert not problems(eks(inference={"serviceAccounts": [], "enabled": False}))


@pytest.mark.parametrize("bucket", ["UPPER", "a", "under_score", "s3://bucket", "bucket/path"])
def test_what_is_no_name_of_a_bucket_is_refused(bucket: str) -> None:
    assert "mlcc:eks.inference.modelBuckets[0]" in problems(eks(inference={"modelBuckets": [bucket]}))


@pytest.mark.parametrize("text", ["10.0.0.0/16", "172.31.0.0/20", "192.168.0.0/16"])
def test_a_private_block_for_the_public_endpoint_is_refused(text: str) -> None:
    found = problems(eks(endpoint={"publicAccessCidrs": ["203.0.113.0/24", text]}))
    assert "no private address reaches it" in found["mlcc:eks.endpoint.publicAccessCidrs[1]"].found
    assert list(found) == ["mlcc:eks.endpoint.publicAccessCidrs[1]"]


def test_more_blocks_than_the_quota_are_said() -> None:
    many = [f"203.0.113.{number}/32" for number in range(41)]
    assert (
        "40"
        in warnings(eks(endpoint={"publicAccessCidrs": many}))["mlcc:eks.endpoint.publicAccessCidrs"].found
    )


@pytest.mark.parametrize(("days", "longer"), [(2, "3"), (31, "60"), (3000, "3288")])
def test_a_retention_that_cloudwatch_does_not_know_is_refused_with_the_next_one(
    days: int, longer: str
) -> None:
    found = problems(eks(logRetentionDays=days))["mlcc:eks.logRetentionDays"]
    assert f"mlcc:eks.logRetentionDays {longer} " in found.remedy.replace("'", "")
    assert "3653" in found.found


def test_every_retention_that_cloudwatch_knows_is_accepted() -> None:
    for days in RETENTION_DAYS:
        assert load(eks(logRetentionDays=days)).eks.log_retention_days == days


@pytest.mark.parametrize(
    ("ami", "instance", "reason"),
    [
        ("AL2023_x86_64_STANDARD", "m6g.large", "an AMI for x86, while m6g.large is not"),
        ("AL2023_ARM_64_STANDARD", "m6i.large", "an AMI for Arm, while m6i.large is not"),
        ("AL2023_x86_64_NVIDIA", "m6i.large", "an AMI for NVIDIA, which m6i.large does not have"),
        ("AL2023_x86_64_NVIDIA", "trn1.2xlarge", "an AMI for NVIDIA, which trn1.2xlarge does not have"),
        ("AL2023_x86_64_NEURON", "g5.xlarge", "an AMI for Neuron, which g5.xlarge does not have"),
        ("BOTTLEROCKET_ARM_64_NVIDIA", "g5.xlarge", "an AMI for Arm, while g5.xlarge is not"),
        ("AL2_x86_64", "m6i.large", "Amazon Linux 2, which ends with Kubernetes 1.32"),
        ("CUSTOM", "m6i.large", "launch template"),
        ("AL2023_x86_64_STANDART", "m6i.large", "did you mean 'AL2023_x86_64_STANDARD'"),
    ],
)
def test_an_ami_that_does_not_fit_its_instance_types_is_refused(ami: str, instance: str, reason: str) -> None:
    groups = [group("plain"), group(amiType=ami, instanceTypes=[instance])]
    found = problems(eks(nodeGroups=groups, devicePlugin={"enabled": True}))
    assert reason in found["mlcc:eks.nodeGroups[1].amiType"].found
    assert list(found) == ["mlcc:eks.nodeGroups[1].amiType"]
    assert "pulumi config rm --path" in found["mlcc:eks.nodeGroups[1].amiType"].remedy


@pytest.mark.parametrize(
    ("ami", "instance"),
    [
        ("AL2023_x86_64_NVIDIA", "g5.xlarge"),
        ("AL2023_x86_64_NEURON", "inf2.xlarge"),
        ("BOTTLEROCKET_x86_64", "m6i.large"),
        ("AL2023_ARM_64_NVIDIA", "g5g.xlarge"),
    ],
)
def test_an_ami_that_fits_is_accepted(ami: str, instance: str) -> None:
    groups = [group("plain"), group(amiType=ami, instanceTypes=[instance])]
    assert not problems(eks(nodeGroups=groups))


def test_an_ami_without_drivers_for_a_gpu_is_said() -> None:
    groups = [group("plain"), group(amiType="AL2023_x86_64_STANDARD", instanceTypes=["g5.xlarge"])]
    assert "without drivers" in warnings(eks(nodeGroups=groups))["mlcc:eks.nodeGroups[1].amiType"].found


def test_windows_nodes_are_none_that_system_pods_run_on() -> None:
    windows = group(amiType="WINDOWS_CORE_2022_x86_64")
    assert "CoreDNS" in problems(eks(nodeGroups=[windows]))["mlcc:eks.nodeGroups"].found


def test_what_is_said_of_accelerators_agrees_with_a_recorded_answer_of_ec2() -> None:
    for name, described in INSTANCE_TYPES.items():
        try:
            kind = instance_type(name)
        except ValueError:
            continue
        makers = {each["Manufacturer"] for each in described.get("GpuInfo", {}).get("Gpus", ())}
        if "NeuronInfo" in described or name.startswith("trn"):
            assert kind.accelerator == "Neuron", name
        elif "NVIDIA" in makers:
            assert kind.accelerator == "NVIDIA", name
        else:
            assert kind.accelerator in ("", "other"), name
