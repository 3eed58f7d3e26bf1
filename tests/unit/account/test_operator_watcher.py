"""Looking at the operator's controller in a cluster, and the provider that keeps what was seen."""

from __future__ import annotations

import threading
import time
from typing import Any

import dill
import pytest

from mlcc_infra import clock
from mlcc_infra.account import operator_watcher
from mlcc_infra.account.operator_watcher import DEPLOYMENT, NAMESPACE
from mlcc_infra.components import operator_ready as component
from mlcc_infra.components.operator_ready import OperatorReadyProvider
from mlcc_infra.errors import UserError
from mlcc_rehearsal.kubernetes_api import KubernetesApi
from tests.unit.account.conftest import SPEED
from tests.unit.account.hyperpod_fakes import ARN, Eks, Session, eks_cluster, node

POD = f"{DEPLOYMENT}-5d9c-abcde"
ENABLED = f"watcher enabled successfully for HyperPod cluster {ARN}"
DENIED = f"failed to enable inference watcher for HyperPod cluster {ARN}: api error AccessDenied: no PassRole"
DRAINING = "ValidationException: Underlying watcher service is being deleted"


class Operator:
    """The controller's pod in a cluster, writing what a test has it write."""

    def __init__(self, api: KubernetesApi) -> None:
        self.api = api
        api.objects.put(node("n"))
        api.objects.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})

    def start(self, **status: Any) -> None:
        container = {"name": "manager", "image": "operator:1"}
        self.api.objects.put(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": POD, "namespace": NAMESPACE},
                "spec": {"nodeName": "n", "containers": [{"name": "proxy", "image": "p:1"}, container]},
                "status": {"phase": "Running", **status},
            }
        )

    def write(self, *lines: str) -> None:
        text = "".join(f"2026-11-30T08:00:00Z\tINFO\tsetup\t{line}\n" for line in lines)
        self.api.objects.set_log(NAMESPACE, POD, "manager", text)

    def later(self, minutes: float, *lines: str) -> None:
        def act() -> None:
            time.sleep(minutes * 60 / SPEED)
            self.write(*lines)

        threading.Thread(target=act, daemon=True).start()


@pytest.fixture
def operator(kubernetes_api: KubernetesApi) -> Operator:
    return Operator(kubernetes_api)


def session_of(operator: Operator, **more: Any) -> Any:
    return Session(eks=Eks(eks_cluster(operator.api, **more)))


def watch(operator: Operator, said: list[str] | None = None, **more: Any) -> operator_watcher.Verdict:
    say = (said if said is not None else []).append
    return operator_watcher.watch(session_of(operator, **more), "demo", ARN, say)


def test_an_enabled_watcher_is_seen_in_the_log(operator: Operator) -> None:
    operator.start()
    operator.write("starting manager", ENABLED)
    verdict = watch(operator)
    assert (verdict.state, verdict.line, verdict.reason) == ("active", ENABLED, "")


def test_a_draining_watcher_is_waited_out_with_progress(operator: Operator) -> None:
    operator.start()
    operator.write(DRAINING)

    class Said(list[str]):
        """What was said; the old watcher is gone as soon as it was told of."""

        def append(self, text: str) -> None:
            super().append(text)
            operator.write(DRAINING, "enabling inference watcher", ENABLED)

    said = Said()
    assert watch(operator, said).state == "active"
    assert said[0].endswith("the watcher of an earlier cluster of this name is still being deleted")


def test_failures_are_told_in_the_controllers_words_at_the_end(operator: Operator) -> None:
    operator.start()
    operator.write(DENIED, DENIED.replace("PassRole", "ImportCertificate"))
    begun = time.monotonic()
    verdict = watch(operator)
    assert (time.monotonic() - begun) * SPEED >= operator_watcher.LIMIT_SECONDS
    assert verdict.state == "pending"
    assert "within 25 minutes" in verdict.reason
    assert f"the controller says: {DENIED}" in verdict.reason
    assert "ImportCertificate" in verdict.reason


def test_a_log_without_a_word_of_it_is_pending(operator: Operator) -> None:
    operator.start()
    operator.write("starting manager")
    assert watch(operator).reason.endswith("the controller's log says nothing about it")


def test_without_a_pod_the_deployment_is_named(operator: Operator) -> None:
    assert f"no pod of the deployment {DEPLOYMENT}" in watch(operator).reason


def test_a_crash_of_the_controller_is_told(operator: Operator) -> None:
    state = {"waiting": {"reason": "CrashLoopBackOff"}}
    ended = {"terminated": {"exitCode": 1, "message": "CRD certificates.cert-manager.io is missing"}}
    operator.start(
        initContainerStatuses=[{"name": "check-csi-drivers", "state": state, "lastState": ended}],
        phase="Pending",
    )
    reason = operator_watcher._obstacle(
        operator.api.objects.get("v1", "Pod", NAMESPACE, POD)  # pyright: ignore[reportArgumentType]
    )
    assert "check-csi-drivers: CrashLoopBackOff CRD certificates.cert-manager.io is missing" in reason


def test_a_pod_without_room_says_what_the_scheduler_says() -> None:
    condition = {"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available"}
    pod = {"metadata": {"name": "p"}, "status": {"phase": "Pending", "conditions": [condition]}}
    assert operator_watcher._obstacle(pod) == "pod p is not scheduled: 0/2 nodes are available"


def test_a_cluster_that_cannot_be_reached_is_pending_with_the_reason_and_soon(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    sleep = clock.sleep

    def counted(seconds: float) -> None:
        slept.append(seconds)
        sleep(seconds)

    monkeypatch.setattr(clock, "sleep", counted)
    verdict = watch(operator, endpoint="https://127.0.0.1:1")
    assert verdict.state == "pending"
    assert "could not be reached" in verdict.reason
    assert sum(slept) < operator_watcher.LIMIT_SECONDS / 2


def test_a_cluster_that_does_not_know_the_caller_is_pending_with_its_words(operator: Operator) -> None:
    stranger: Any = Session("AKIASTRANGER0000", eks=Eks(eks_cluster(operator.api)))
    verdict = operator_watcher.watch(stranger, "demo", ARN, lambda _text: None)
    assert "the cluster answered 401" in verdict.reason


# The provider


def props(**more: Any) -> dict[str, Any]:
    return {
        "eks_cluster_name": "demo",
        "cluster_identity": "https://oidc/one",
        "hyperpod_cluster_arn": ARN,
        "addon_version": "v2.1.0-eksbuild.1",
        "configuration": "{}",
        "account": "123456789012",
        "region": "us-west-2",
        "verify": "warn",
        "aws_profile": None,
        "limit_minutes": 2.0,
        **more,
    }


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, operator: Operator) -> OperatorReadyProvider:
    monkeypatch.setattr(component, "guarded_session", lambda _props: session_of(operator))
    return OperatorReadyProvider()


def test_the_providers_class_is_stored_by_reference() -> None:
    assert b"mlcc_infra.components.operator_ready" in dill.dumps(OperatorReadyProvider())


def test_pending_is_a_difference_until_it_is_verified(
    provider: OperatorReadyProvider, operator: Operator
) -> None:
    operator.start()
    operator.write("starting manager")
    pending = provider.create(props()).outs
    assert pending is not None
    assert pending["state"] == "pending"
    assert provider.diff("id", pending, props()).changes
    operator.write(ENABLED)
    active = provider.update("id", pending, props()).outs
    assert active is not None
    assert (active["state"], active["reason"]) == ("active", "")
    assert provider.read("id", active).outs == active
    assert not provider.diff("id", active, props()).changes


def test_strict_fails_with_the_reason_and_what_to_run(
    provider: OperatorReadyProvider, operator: Operator
) -> None:
    operator.start()
    operator.write(DENIED)
    with pytest.raises(UserError, match=r"is not ready: the watcher did not come.*no PassRole") as failure:
        provider.create(props(verify="strict"))
    assert "pulumi up" in failure.value.remedy


@pytest.mark.parametrize(
    "key", ["cluster_identity", "hyperpod_cluster_arn", "addon_version", "configuration"]
)
def test_what_was_verified_is_verified_again_when_it_changes(key: str) -> None:
    active = props(state="active")
    found = OperatorReadyProvider().diff("id", active, props(**{key: "other"}))
    assert (found.changes, found.replaces) == (True, [])


def test_a_look_takes_back_what_the_log_takes_back(
    provider: OperatorReadyProvider, operator: Operator
) -> None:
    operator.start()
    operator.write(ENABLED, DENIED)
    found = provider.read("id", props(state="active", reason="")).outs
    assert found is not None
    assert (found["state"], found["reason"]) == ("pending", DENIED)
    operator.write("a log that was rotated")
    silent = provider.read("id", props(state="active", reason="")).outs
    assert silent is not None
    assert silent["state"] == "active"


def test_a_cluster_that_is_gone_takes_the_resource_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(component, "guarded_session", lambda _props: Session(eks=Eks(None)))
    assert OperatorReadyProvider().read("id", props(state="active")).id == ""
    with pytest.raises(UserError, match="no EKS cluster demo"):
        OperatorReadyProvider().create(props())
