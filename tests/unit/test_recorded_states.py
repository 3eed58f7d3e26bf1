"""States of releases: what of them the code of this version has to know still, and how they are moved."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from pulumi.dynamic import ResourceProvider

from mlcc_infra.account.recorded_state import index_export
from tests.record_names import RELEASES, STACKS, recorded_names
from tests.recorded_states import in_account_of, recorded_state

RECORDS = [(release, stack) for release in RELEASES for stack in STACKS]


def providers(state: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for found in state["deployment"]["resources"]:
        pickled = (found.get("inputs") or {}).get("__provider")
        if pickled:
            yield found["urn"], pickled


@pytest.mark.parametrize(("release", "stack"), RECORDS)
def test_what_dynamic_resources_were_stored_with_is_still_there(release: str, stack: str) -> None:
    """The engine deletes them with the provider that the state holds: its class, by module and name."""
    found = list(providers(recorded_state(release, stack)))
    assert found
    for urn, pickled in found:
        provider = pickle.loads(base64.b64decode(pickled))  # our own record
        assert isinstance(provider, ResourceProvider), urn


@pytest.mark.parametrize(("release", "stack"), RECORDS)
def test_a_records_state_and_its_names_agree(release: str, stack: str) -> None:
    indexed = index_export(recorded_state(release, stack))
    assert indexed.account == "123456789012"
    assert indexed.pending == ()
    published = ("aws-auth", "eks-cluster")  # inside pulumi_eks: its own names
    ours = [key for key in indexed.resources if not key[0].startswith("pulumi:providers:")]
    named = {f"{token}::{name}" for token, name in ours}
    strange = named - recorded_names(release, stack)
    assert [name for name in strange if not name.split("::")[1].startswith(published)] == []


def a_state(vpc: str, issuer: str, *, asked: str, salt: str) -> dict[str, Any]:
    urn = "urn:pulumi:s::mlcc::aws:ec2/vpc:Vpc::vpc"
    role = "urn:pulumi:s::mlcc::aws:iam/role:Role::role"
    return {
        "deployment": {
            "secrets_providers": {"state": {"salt": salt}},
            "resources": [
                {
                    "urn": urn,
                    "type": "aws:ec2/vpc:Vpc",
                    "custom": True,
                    "id": vpc,
                    "inputs": {"cidrBlock": asked, "tags": {"mlcc:version": asked}},
                    "outputs": {"cidrBlock": asked, "issuer": issuer, "tagsAll": {"mlcc:version": asked}},
                },
                {
                    "urn": role,
                    "type": "aws:iam/role:Role",
                    "custom": True,
                    "id": "role",
                    "inputs": {"assumeRolePolicy": f'{{"Federated": "arn/{issuer}"}}', "of": [vpc]},
                    "outputs": {},
                },
            ],
        }
    }


def test_what_aws_gave_is_moved_and_what_the_release_asked_for_stays() -> None:
    record = a_state("vpc-0123456789", "oidc/AAAA1111", asked="10.0.0.0/16", salt="old")
    account = a_state("vpc-9876543210", "oidc/BBBB2222", asked="10.9.0.0/16", salt="new")
    moved = in_account_of(record, account)["deployment"]
    assert moved == a_state("vpc-9876543210", "oidc/BBBB2222", asked="10.0.0.0/16", salt="new")["deployment"]
