"""Reading a stack's exported state."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mlcc_infra.account.recorded_state import index_export, key_of_urn, read_recorded_state
from mlcc_infra.errors import UserError
from mlcc_infra.tagging import Origin

PREFIX = "urn:pulumi:mlcc-demo::mlcc::"
ROLE = {
    "urn": f"{PREFIX}mlcc:iam:ServiceRoles$aws:iam/role:Role::service-roles-eks-node-role",
    "type": "aws:iam/role:Role",
    "id": "mlcc-demo-eks-node-role",
    "inputs": {"tags": {"mlcc:origin": "adopted"}},
}


def test_a_urn_gives_the_type_without_its_parents_and_the_name() -> None:
    assert key_of_urn(str(ROLE["urn"])) == ("aws:iam/role:Role", "service-roles-eks-node-role")


def test_a_name_with_colons_survives() -> None:
    assert key_of_urn(f"{PREFIX}a:b/c:D::x::y") == ("a:b/c:D", "x::y")


def test_the_index_holds_ids_and_origins() -> None:
    state = index_export({"deployment": {"resources": [ROLE]}})
    entry = state.resources["aws:iam/role:Role", "service-roles-eks-node-role"]
    assert (entry.id, entry.origin) == ("mlcc-demo-eks-node-role", Origin.ADOPTED)


def test_the_index_holds_what_destroy_leaves() -> None:
    kept = {**ROLE, "urn": f"{ROLE['urn']}-kept", "retainOnDelete": True}
    state = index_export({"deployment": {"resources": [ROLE, kept]}})
    assert [entry.retained for entry in state.resources.values()] == [False, True]


@pytest.mark.parametrize("mark", [{"delete": True}, {"pendingReplacement": True}, {"id": ""}])
def test_what_is_about_to_go_or_has_no_id_is_left_out(mark: dict[str, object]) -> None:
    assert index_export({"deployment": {"resources": [{**ROLE, **mark}]}}).resources == {}


def test_the_profile_is_the_one_in_the_tags_of_what_is_recorded() -> None:
    tagged = {**ROLE, "inputs": {"tags": {"mlcc:profile": "demo"}}}
    assert index_export({"deployment": {"resources": [ROLE, tagged]}}).profile == "demo"


def test_an_empty_stack_records_nothing() -> None:
    state = index_export({"version": 3, "deployment": None})
    assert (dict(state.resources), state.account) == ({}, None)


def test_the_account_is_the_one_the_provider_is_bound_to_with_leading_zeros() -> None:
    provider = {
        "urn": f"{PREFIX}pulumi:providers:aws::aws",
        "type": "pulumi:providers:aws",
        "id": "f3a1",
        "inputs": {"allowedAccountIds": '["012345678901"]', "region": "us-west-2"},
    }
    state = index_export({"deployment": {"resources": [provider]}})
    assert (dict(state.resources), state.account) == ({}, "012345678901")


def test_a_failing_export_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "pulumi"
    fake.write_text("#!/bin/sh\necho 'error: no stack named x' >&2\nexit 255\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="no stack named x"):
        read_recorded_state("x")


def test_a_missing_cli_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="not on PATH"):
        read_recorded_state("x")


def test_an_export_that_hangs_ends_with_one_clear_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = tmp_path / "pulumi"
    fake.write_text("#!/bin/sh\nexit 0\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    def hang(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("pulumi", 1)

    monkeypatch.setattr(subprocess, "run", hang)
    with pytest.raises(UserError, match="longer than"):
        read_recorded_state("x")
