"""The providers of dynamic resources as Pulumi's plugin calls them: guard, messages, differences."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import dill
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from pulumi.runtime.rpc import UNKNOWN

from mlcc_infra.account import session
from mlcc_infra.components import dynamic_provider
from mlcc_infra.components import instance_groups as component
from mlcc_infra.components.dynamic_provider import one_message
from mlcc_infra.components.instance_groups import InstanceGroupsProvider, wanted_groups
from mlcc_infra.errors import UserError
from mlcc_infra.profile.hyperpod import HyperPod, InstanceGroup
from mlcc_rehearsal.kubernetes_api import KubernetesApi
from tests.unit.account.hyperpod_fakes import ARN, Eks, SageMaker, Session, eks_cluster, group, node

GPU = {"name": "gpu", "instanceType": "ml.g5.8xlarge", "instanceCount": 1, "minInstanceCount": 1}


@pytest.fixture(autouse=True)
def whole_tracebacks() -> Iterator[None]:
    yield
    with contextlib.suppress(AttributeError):
        del sys.tracebacklimit


def answer_of(raised: Exception) -> str:
    """What Pulumi's plugin answers for a failure, as it makes it."""

    @one_message
    def method() -> None:
        raise raised

    try:
        method()
    except Exception:  # noqa: BLE001 - as the plugin does
        return traceback.format_exc()
    raise AssertionError("it did not fail")


def test_an_expected_failure_reads_as_its_message_alone() -> None:
    assert answer_of(UserError("The floor is not there.", remedy="Wait.")) == (
        "mlcc_infra.errors.UserError: The floor is not there.\n  Wait.\n"
    )


def test_what_aws_refuses_is_said_in_its_words() -> None:
    refused = ClientError({"Error": {"Code": "AccessDenied", "Message": "not you"}}, "UpdateCluster")
    assert answer_of(refused).endswith("UserError: AWS refused UpdateCluster: AccessDenied: not you\n")
    silent = EndpointConnectionError(endpoint_url="https://x")
    assert "AWS could not be asked: Could not connect" in answer_of(silent)


def test_a_mistake_keeps_its_traceback_also_after_an_expected_failure() -> None:
    answer_of(UserError("first"))
    assert __file__ in answer_of(KeyError("a mistake"))


def test_the_guard_refuses_another_account(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        account = "999999999999"
        aws_profile = None

        def __init__(self, **_given: Any) -> None: ...

        def identity(self) -> Any:
            return self

    monkeypatch.setattr(session, "AccountSession", Other)
    with pytest.raises(UserError, match="belongs to account 123456789012; the credentials are for 999"):
        dynamic_provider.guarded_session({"account": "123456789012", "region": "us-west-2"})
    dynamic_provider.guarded_session({"account": "999999999999", "region": "us-west-2"})


# InstanceGroups


def props(*groups: dict[str, Any], **more: Any) -> dict[str, Any]:
    made = [InstanceGroup.model_validate(item) for item in groups]
    floor = InstanceGroup(name="default-worker", instance_type="ml.c5.4xlarge", instance_count=2)
    hyperpod = HyperPod(instance_groups=(floor, *made))
    return {
        "cluster_name": "mlcc-demo-hyperpod",
        "cluster_arn": ARN,
        "eks_cluster_name": "demo",
        "account": "123456789012",
        "region": "us-west-2",
        "aws_profile": None,
        "groups": [item.as_dict() for item in wanted_groups(hyperpod)],
        "floor_minutes": 2.0,
        **more,
    }


@pytest.fixture
def sagemaker(monkeypatch: pytest.MonkeyPatch, kubernetes_api: KubernetesApi) -> SageMaker:
    for number in range(2):
        kubernetes_api.objects.put(node(f"hyperpod-i-default-worker{number}", "default-worker"))
    client = SageMaker(group("default-worker"))
    session = Session(sagemaker=client, eks=Eks(eks_cluster(kubernetes_api)))
    monkeypatch.setattr(component, "guarded_session", lambda _props: session)
    return client


def test_the_providers_class_is_stored_by_reference() -> None:
    assert b"mlcc_infra.components.instance_groups" in dill.dumps(InstanceGroupsProvider())
    assert InstanceGroupsProvider.serialize_as_secret_always is False


def test_groups_are_made_kept_repaired_and_removed_with_the_profile(sagemaker: SageMaker) -> None:
    provider = InstanceGroupsProvider()
    made = provider.create(props(GPU))
    assert made.id == "mlcc-demo-hyperpod/instance-groups"
    state = made.outs
    assert state is not None
    assert state["owned"] == ["default-worker", "gpu"]
    assert sagemaker.groups["gpu"]["MinCount"] == 1

    same = provider.read(made.id, state).outs
    assert same == state
    assert not provider.diff(made.id, state, props(GPU)).changes

    sagemaker.groups["default-worker"]["TargetCount"] = 3
    del sagemaker.groups["gpu"]
    drifted = provider.read(made.id, state).outs
    assert drifted is not None
    assert len(drifted["drift"]) == 2
    assert provider.diff(made.id, drifted, props(GPU)).changes
    repaired = provider.update(made.id, drifted, props(GPU)).outs
    assert repaired is not None
    assert repaired["drift"] == []
    assert sagemaker.groups["default-worker"]["TargetCount"] == 2

    assert provider.diff(made.id, repaired, props()).changes
    provider.update(made.id, repaired, props())
    assert set(sagemaker.groups) == {"default-worker"}
    before = len(sagemaker.updates)
    provider.delete(made.id, repaired)
    assert len(sagemaker.updates) == before


def test_a_cluster_made_anew_under_its_name_is_an_update_that_removes_nothing(sagemaker: SageMaker) -> None:
    provider = InstanceGroupsProvider()
    state = provider.create(props(GPU)).outs
    assert state is not None
    wish = props(cluster_arn=ARN.replace("abcdef", "zzzzzz"))
    found = provider.diff("id", state, wish)
    assert found.changes
    assert found.replaces == []
    provider.update("id", state, wish)
    assert set(sagemaker.groups) == {"default-worker", "gpu"}


@pytest.mark.parametrize("key", ["cluster_name", "account", "region"])
def test_another_place_is_another_resource(key: str) -> None:
    assert InstanceGroupsProvider().diff("id", props(), props(**{key: "other"})).replaces == [key]


def test_a_name_that_is_not_known_yet_shows_no_replacement() -> None:
    assert InstanceGroupsProvider().diff("id", props(), props(cluster_name=UNKNOWN)).replaces == []
    assert InstanceGroupsProvider().diff("id", props(), props(cluster_arn=UNKNOWN)).changes


def test_a_cluster_that_is_gone_takes_the_resource_with_it(sagemaker: SageMaker) -> None:
    sagemaker.absent = True
    assert InstanceGroupsProvider().read("id", props()).id == ""


def test_rule_02_the_floor_has_no_minimum_that_would_roll_it_back() -> None:
    floor = InstanceGroup(
        name="default-worker", instance_type="ml.c5.4xlarge", instance_count=2, min_instance_count=1
    )
    (wanted,) = wanted_groups(HyperPod(instance_groups=(floor,)))
    assert wanted.floor
    assert wanted.min_instance_count is None
