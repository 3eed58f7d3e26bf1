"""Settings that act when a stack is destroyed have to be in its state (field reports H6 and I5)."""

from __future__ import annotations

from typing import Any

import pytest

from mlcc_infra.account.recorded_state import RecordedState, index_export
from mlcc_infra.targets.destroy_settings import settings_not_in_state
from tests.unit.profile_support import load

CREATED = {"mlcc:origin": "created", "mlcc:profile": "demo"}
ADOPTED = {**CREATED, "mlcc:origin": "adopted"}
SERVICE_ROLE = ("aws:iam/role:Role", "service-roles-eks-cluster-role")
POD_ROLE = ("aws:iam/role:Role", "eks-inference-role-role")
TLS_BUCKET = ("aws:s3/bucket:Bucket", "operator-tls-bucket")
CLUSTER = ("aws:eks/cluster:Cluster", "eks-cluster-eksCluster")


def state(*resources: dict[str, Any]) -> RecordedState:
    return index_export({"deployment": {"resources": list(resources)}})


def resource(
    key: tuple[str, str],
    identifier: str,
    *,
    retained: bool,
    tags: dict[str, str] | None = None,
    **inputs: Any,
) -> dict[str, Any]:
    return {
        "urn": f"urn:pulumi:mlcc-demo::mlcc::{key[0]}::{key[1]}",
        "type": key[0],
        "id": identifier,
        "custom": True,
        "inputs": {"tags": tags or CREATED, **inputs},
        **({"retainOnDelete": True} if retained else {}),
    }


def test_a_stack_that_was_brought_up_as_the_profile_says_has_nothing_to_report() -> None:
    found = state(
        resource(SERVICE_ROLE, "mlcc-demo-eks-cluster-role", retained=True),
        resource(TLS_BUCKET, "hyperpod-tls-mlcc-demo-1", retained=True),
        resource(POD_ROLE, "mlcc-demo-inference", retained=False),
        resource(CLUSTER, "theirs", retained=True, tags=ADOPTED, name="theirs"),
    )
    assert settings_not_in_state(load(), found) == []
    gone = state(
        resource(SERVICE_ROLE, "mlcc-demo-eks-cluster-role", retained=False),
        resource(CLUSTER, "theirs", retained=False, tags=ADOPTED, name="theirs"),
    )
    assert settings_not_in_state(load({"forceDelete": "true"}), gone) == []


@pytest.mark.parametrize("key", [SERVICE_ROLE, TLS_BUCKET])
@pytest.mark.parametrize("tags", [CREATED, ADOPTED])
def test_force_delete_that_came_after_the_last_up_is_seen(key: tuple[str, str], tags: dict[str, str]) -> None:
    found = state(resource(key, "kept-thing", retained=True, tags=tags))
    (line,) = settings_not_in_state(load({"forceDelete": "true"}), found)
    assert line.startswith(f"{key[0]} kept-thing: destroy would keep it")
    assert "mlcc:forceDelete" in line


@pytest.mark.parametrize("key", [SERVICE_ROLE, TLS_BUCKET])
def test_force_delete_that_was_taken_back_is_seen_before_it_deletes(key: tuple[str, str]) -> None:
    (line,) = settings_not_in_state(load(), state(resource(key, "kept-thing", retained=False)))
    assert line.startswith(f"{key[0]} kept-thing: destroy would delete it")
    assert "outlives the stack" in line


@pytest.mark.parametrize("own", [["cluster"], ["cluster/theirs"]])
def test_owning_what_was_adopted_before_is_seen(own: list[str]) -> None:
    kept = state(resource(CLUSTER, "an-id", retained=True, tags=ADOPTED, name="theirs"))
    (line,) = settings_not_in_state(load({"own": own}), kept)
    assert "destroy would keep it" in line
    assert "mlcc:own has cluster" in line
    lost = state(resource(CLUSTER, "an-id", retained=False, tags=ADOPTED, name="theirs"))
    assert settings_not_in_state(load({"own": own}), lost) == []


@pytest.mark.parametrize("own", [[], ["cluster/another"], ["role"]])
def test_an_adopted_thing_without_retention_in_the_state_is_seen(own: list[str]) -> None:
    lost = state(resource(CLUSTER, "an-id", retained=False, tags=ADOPTED, name="theirs"))
    (line,) = settings_not_in_state(load({"own": own}), lost)
    assert "destroy would delete it" in line
    assert "does not have cluster" in line


@pytest.mark.parametrize("retained", [True, False])
def test_what_is_owned_by_a_name_that_no_input_holds_is_not_judged(retained: bool) -> None:
    key = ("aws:iam/openIdConnectProvider:OpenIdConnectProvider", "eks-oidc-provider")
    found = state(resource(key, "arn:aws:iam::1:oidc-provider/x", retained=retained, tags=ADOPTED))
    named = load({"own": ["oidc-provider/OIDC provider of mlcc-demo-eks"]})
    assert settings_not_in_state(named, found) == []
    assert len(settings_not_in_state(load({"own": ["oidc-provider"] if retained else []}), found)) == 1


def test_the_beginnings_of_names_are_those_of_the_released_stacks() -> None:
    """What the four stacks retain when made is what this check takes for it."""
    from mlcc_infra.targets.destroy_settings import _OUTLIVES_THE_STACK
    from tests.record_names import STACKS, recorded_names

    names = {name for stack in STACKS for name in recorded_names("0.1.0", stack)}
    for token, beginnings in _OUTLIVES_THE_STACK.items():
        for beginning in beginnings:
            assert any(name.startswith(f"{token}::{beginning}") for name in names), beginning
