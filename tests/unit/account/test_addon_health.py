"""An add-on that somebody else installs, by EKS's own word, and the resource that keeps it."""

from __future__ import annotations

from typing import Any

import dill
import pytest
from botocore.exceptions import ClientError

from mlcc_infra.account import addon_health
from mlcc_infra.account.session import AccountSession
from mlcc_infra.components import addon_status as component
from mlcc_infra.components.addon_status import AddonStatusProvider
from mlcc_infra.errors import UserError

ADDON = "amazon-sagemaker-hyperpod-inference"
ISSUE = {"code": "InsufficientNumberOfReplicas", "message": "no nodes"}


class Eks:
    """EKS with the statuses that an add-on has one look after the other; the last stays."""

    def __init__(self, *statuses: str) -> None:
        self.statuses = list(statuses)

    def describe_addon(self, **asked: str) -> dict[str, Any]:
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        if not status:
            error = {"Error": {"Code": "ResourceNotFoundException", "Message": "No addon"}}
            raise ClientError(error, "DescribeAddon")
        issues = [] if status == "ACTIVE" else [ISSUE]
        return {
            "addon": {"status": status, "addonVersion": "v1.0.0-eksbuild.1", "health": {"issues": issues}}
        }


@pytest.fixture
def eks(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MLCC_CLOCK_SPEED", "100000")

    def make(*statuses: str) -> AccountSession:
        client = Eks(*statuses)
        monkeypatch.setattr(AccountSession, "client", lambda _self, _service: client)
        session = AccountSession(region="us-west-2")
        monkeypatch.setattr(component, "guarded_session", lambda _props: session)
        return session

    return make


def props(**more: Any) -> dict[str, Any]:
    return {"cluster_name": "eks", "addon_name": ADDON, "verify": "warn", "account": "1", **more}


def test_what_is_under_way_is_waited_for(eks: Any) -> None:
    said: list[str] = []
    found = addon_health.watch(eks("CREATING", "DEGRADED", "ACTIVE"), "eks", ADDON, said.append)
    assert (found.state, found.version) == ("active", "v1.0.0-eksbuild.1")
    assert [line.split(" is ")[1].split(";")[0] for line in said] == ["CREATING", "DEGRADED"]


@pytest.mark.parametrize("status", ["", "CREATE_FAILED", "DEGRADED"])
def test_what_does_not_come_is_pending_with_the_reason(eks: Any, status: str) -> None:
    found = addon_health.watch(eks(status), "eks", ADDON, print, limit=60)
    assert found.state == "pending"
    words = "reported success and did not" if not status else f"is {status}; InsufficientNumberOfReplicas"
    assert words in found.reason(ADDON)


def test_the_class_is_stored_by_reference() -> None:
    assert b"mlcc_infra.components.addon_status" in dill.dumps(AddonStatusProvider())


def test_a_pending_add_on_differs_until_it_is_active(eks: Any) -> None:
    provider = AddonStatusProvider()
    eks("CREATE_FAILED")
    made = provider.create(props())
    assert made.outs is not None
    assert made.outs["state"] == "pending"
    assert provider.diff("id", made.outs, props()).changes
    eks("ACTIVE")
    updated = provider.update("id", made.outs, props())
    assert updated.outs is not None
    assert not provider.diff("id", updated.outs, props()).changes
    assert provider.diff("id", updated.outs, props(cluster_identity="other")).changes
    assert provider.diff("id", updated.outs, props(cluster_name="other")).replaces == ["cluster_name"]


def test_an_add_on_that_is_lost_is_seen_on_refresh(eks: Any) -> None:
    eks("")
    read = AddonStatusProvider().read("id", props(state="active"))
    assert read.outs is not None
    assert read.outs["state"] == "pending"


def test_strict_verification_fails_the_run(eks: Any) -> None:
    eks("CREATE_FAILED")
    with pytest.raises(UserError, match="The inference operator is not ready: add-on"):
        AddonStatusProvider().create(props(verify="strict"))
