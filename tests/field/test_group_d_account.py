"""Field reports, group D: add-ons as EKS describes them. On the rehearsed account."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import pytest

from mlcc_infra import versions
from mlcc_infra.account.addon_checks import (
    AddonSettings,
    check_configurations,
    issues_of,
    read_addon_states,
    schema_mistakes,
)
from mlcc_infra.account.decisions import FIRST_TRIGGER, Recorded, ResourceKey, Wanted
from mlcc_infra.account.eks_checks import check_addon_versions
from mlcc_infra.account.preflight import Check, Verdict
from mlcc_infra.account.reader import Reader
from mlcc_infra.account.recorded_state import RecordedState
from mlcc_infra.targets.deployment import plan_deployment
from tests.unit.desk_reader import desk_reader
from tests.unit.profile_support import hyperpod, load
from tests.unit.rehearsal_cloud.conftest import Desk, desk, trust

__all__ = ["desk"]

KEY: ResourceKey = ("aws:eks/addon:Addon", "eks-addon-coredns")
SETTINGS = AddonSettings(
    name="coredns",
    version=versions.addon_version("coredns", "1.35"),
    values={"replicaCount": 2},
    key="mlcc:eks.addons",
)


@pytest.fixture
def reader(desk: Desk) -> Iterator[Reader]:
    with desk_reader(desk) as made:
        yield made


def wanted(name: str = "coredns") -> Wanted:
    """An add-on of cluster `demo`, as the targets want it."""
    return Wanted(key=KEY, kind="addon", physical=name, lookup={"cluster": "demo", "name": name})


def failed_addon(desk: Desk) -> str:
    """An add-on laid over somebody's own without overwriting; its ARN."""
    desk.cluster(desk.network(nat=False), bootstrapSelfManagedAddons=True)
    desk.eks.create_addon(clusterName="demo", addonName="coredns", resolveConflicts="NONE")
    desk.pass_time(600)
    found = desk.eks.describe_addon(clusterName="demo", addonName="coredns")["addon"]
    assert found["status"] == "CREATE_FAILED"
    return str(found["addonArn"])


def test_d3_what_eks_says_of_an_addon_without_nodes_is_passed_on(desk: Desk) -> None:
    desk.cluster(desk.network(nat=False), bootstrapSelfManagedAddons=False)
    desk.eks.create_addon(clusterName="demo", addonName="coredns")
    desk.pass_time(900)
    found = desk.eks.describe_addon(clusterName="demo", addonName="coredns")["addon"]
    assert found["status"] == "DEGRADED"
    assert "InsufficientNumberOfReplicas" in issues_of(found)


def test_d4_an_addon_that_failed_for_good_gets_another_trigger_once(desk: Desk, reader: Reader) -> None:
    arn = failed_addon(desk)
    recorded = Recorded(id="demo:coredns", replacement_trigger=FIRST_TRIGGER)
    states = read_addon_states(reader, [wanted()], {KEY: recorded})
    assert states.triggers == {KEY: arn}
    (found,) = states.results
    assert found.verdict is Verdict.WARNING
    assert "CREATE_FAILED" in found.found
    assert "ConfigurationConflict" in found.found
    # The next run finds what was made in its place, and leaves it.
    desk.eks.delete_addon(clusterName="demo", addonName="coredns")
    desk.pass_time(300)
    after = dataclasses.replace(recorded, replacement_trigger=arn)
    with desk_reader(desk) as later:
        states = read_addon_states(later, [wanted()], {KEY: after})
    assert states.triggers == {KEY: arn}
    assert states.results == []


def test_d4_one_that_the_run_cannot_replace_is_refused_with_the_command(desk: Desk, reader: Reader) -> None:
    failed_addon(desk)
    known: dict[ResourceKey, Recorded] = {KEY: Recorded(id="demo:coredns")}
    for recorded, published in (({}, frozenset[ResourceKey]()), (known, frozenset({KEY}))):
        states = read_addon_states(reader, [wanted()], recorded, published=published)
        (found,) = states.results
        assert found.verdict is Verdict.REFUSED
        assert "aws eks delete-addon --cluster-name demo --addon-name coredns" in found.remedy


@pytest.mark.parametrize("addon", ["coredns", "vpc-cni", versions.OPERATOR_ADDON_NAME])
def test_d6_a_pinned_version_that_is_not_offered_is_refused_with_those_that_are(
    reader: Reader, addon: str
) -> None:
    (found,) = check_addon_versions(reader, "1.35", {addon: "v9.9.9-eksbuild.1"}, {addon: "the key"})
    assert found.verdict is Verdict.REFUSED
    assert "v9.9.9-eksbuild.1 is not offered for Kubernetes 1.35" in found.found
    first = found.needed.removeprefix("one of ").split(", ")[0]
    assert versions.addon_version_key(first) > (0, 0, 0, 0)
    assert "the key" in found.remedy


def test_d6_every_pin_of_this_release_is_offered(reader: Reader) -> None:
    for kubernetes in ("1.34", "1.35", "1.36"):
        pins = {name: by_minor[kubernetes].version for name, by_minor in versions.ADDONS.items()}
        found = check_addon_versions(reader, kubernetes, pins, {})
        assert {result.verdict for result in found} == {Verdict.OK}, found


def test_d9_a_key_that_the_versions_own_schema_does_not_have_is_refused_with_its_path(
    reader: Reader,
) -> None:
    (found,) = check_configurations(
        reader, [dataclasses.replace(SETTINGS, values={"replicaCount": 2, "replicas": 3})]
    )
    assert found.verdict is Verdict.REFUSED
    assert "replicas" in found.found
    assert "describe-addon-configuration --addon-name coredns" in found.needed
    assert [result.verdict for result in check_configurations(reader, [SETTINGS])] == [Verdict.OK]


def test_d9_the_gateway_is_judged_by_the_schema_of_the_version(reader: Reader) -> None:
    values = {
        "executionRoleArn": "arn:aws:iam::123456789012:role/SageMakerHyperPodInference-demo",
        "tlsCertificateS3Bucket": "hyperpod-tls-mlcc-demo-0123abcd",
        "hyperpodClusterArn": "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl",
        "inferenceGateway": {"enabled": True},
    }
    operator = AddonSettings(name=versions.OPERATOR_ADDON_NAME, version="", values=values, key="operator")
    verdicts = {
        version: check_configurations(reader, [dataclasses.replace(operator, version=version)])[0].verdict
        for version in ("v1.5.0-eksbuild.1", "v2.1.0-eksbuild.1")
    }
    assert verdicts == {"v1.5.0-eksbuild.1": Verdict.REFUSED, "v2.1.0-eksbuild.1": Verdict.OK}


def test_d9_what_this_product_sends_to_the_operator_fits_the_schema_of_its_version(reader: Reader) -> None:
    plan = plan_deployment(load(hyperpod()), recorded=RecordedState())
    name = f"settings of add-on {versions.OPERATOR_ADDON_NAME}"
    (found,) = [result for result in plan.results if result.name == name]
    assert found.verdict is Verdict.OK, found


def test_d9_the_settings_of_a_profile_are_refused_through_the_whole_plan(reader: Reader) -> None:
    keys = {"eks": {"addons": {"coredns": {"configuration": {"replicas": 3}}}}}
    plan = plan_deployment(load(keys), recorded=RecordedState())
    (found,) = [result for result in plan.results if result.name == "settings of add-on coredns"]
    assert found.verdict is Verdict.REFUSED
    assert 'mlcc:eks.addons["coredns"].configuration' in found.remedy


def test_d9_a_schema_that_cannot_be_read_is_unknown_and_never_a_refusal(reader: Reader) -> None:
    broken = dataclasses.replace(SETTINGS, version="v0.0.0-eksbuild.1")
    check = Check(name="add-on settings", run=lambda: check_configurations(reader, [broken]))
    assert [found.verdict for found in check.results()] == [Verdict.UNKNOWN]
    assert schema_mistakes("no json", {"a": 1}) is None
    assert schema_mistakes(json.dumps({"type": "nonsense"}), {"a": 1}) is None


def test_d11_a_role_that_eks_would_keep_is_refused_with_the_way_out(desk: Desk, reader: Reader) -> None:
    desk.cluster(desk.network(nat=False))
    arn = desk.role("irsa", trust("ec2.amazonaws.com"))
    desk.eks.create_addon(
        clusterName="demo", addonName="vpc-cni", serviceAccountRoleArn=arn, resolveConflicts="OVERWRITE"
    )
    desk.pass_time(60)
    item = wanted("vpc-cni")
    (found,) = read_addon_states(reader, [item], {KEY: Recorded(id="demo:vpc-cni")}).results
    assert found.verdict is Verdict.REFUSED
    assert arn in found.found
    assert "--preserve" in found.remedy
    # Where the role is one that this product gives, it is sent with every update and nothing is left over.
    assert read_addon_states(reader, [item], {}, with_role=frozenset({KEY})).results == []


@pytest.mark.parametrize("keys", [{}, hyperpod()])
def test_d12_nothing_is_associated_with_pod_identity(reader: Reader, keys: dict[str, Any]) -> None:
    plan = plan_deployment(load(keys), recorded=RecordedState())
    types = {key[0] for key in plan.decisions.by_key}
    assert not [token for token in types if "podIdentity" in token]
