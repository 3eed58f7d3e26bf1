"""Field reports, group I: parameters as SSM has them. On the rehearsed account."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mlcc_infra.account.decisions import Action, Decision
from mlcc_infra.account.reader import Reader
from mlcc_infra.account.recorded_state import RecordedState
from mlcc_infra.components.published_outputs import PARAMETER
from mlcc_infra.targets.deployment import plan_deployment
from tests.unit.desk_reader import desk_reader
from tests.unit.profile_support import hyperpod, load
from tests.unit.rehearsal_cloud.conftest import Desk, desk

__all__ = ["desk"]

NAME = "/mlcc/p/hyperpod/EksClusterName"
OURS = {"mlcc:managed-by": "mlcc-infra", "mlcc:profile": "p", "mlcc:region": "us-west-2"}


@pytest.fixture
def reader(desk: Desk) -> Iterator[Reader]:
    with desk_reader(desk) as made:
        yield made


def decision(desk: Desk, tags: dict[str, str]) -> Decision:
    """What is decided about the parameter when it exists with these tags."""
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    desk.client("ssm").put_parameter(Name=NAME, Value="old", Type="String", Tags=listed)
    plan = plan_deployment(load(hyperpod(profile="p")), recorded=RecordedState())
    return plan.decisions.by_key[(PARAMETER, "hyperpod-outputs-EksClusterName")]


def test_i16_a_parameter_of_ours_is_taken_over(desk: Desk, reader: Reader) -> None:
    found = decision(desk, OURS)
    assert found.action is Action.IMPORT
    assert found.import_id == NAME


def test_i16_a_predecessors_parameter_is_taken_over_too(desk: Desk, reader: Reader) -> None:
    tags = {"mlcc:managed-by": "ml-container-creator", "mlcc:profile": "p"}
    assert decision(desk, tags).action is Action.IMPORT


@pytest.mark.parametrize(
    ("key", "value"),
    [("mlcc:profile", "other"), ("mlcc:region", "eu-west-1"), ("mlcc:managed-by", "terraform")],
)
def test_i16_a_foreign_parameter_is_refused_with_the_tag_that_says_so(
    desk: Desk, reader: Reader, key: str, value: str
) -> None:
    found = decision(desk, {**OURS, key: value})
    assert found.action is Action.REFUSE
    assert f"{key}={value}" in found.reason
