"""What a plan leaves out because AWS's template makes it, and what it cannot do."""

from __future__ import annotations

from typing import Any

import pytest

from mlcc_infra.account.reader import Reader
from mlcc_infra.account.recorded_state import RecordedState
from mlcc_infra.account.session import AccountSession, Identity
from mlcc_infra.components.inference_operator import ADDON, OIDC_PROVIDER
from mlcc_infra.errors import UserError
from mlcc_infra.targets import operator_plan
from mlcc_infra.targets.operator_plan import PREREQUISITES, OperatorPlan, plan_operator
from mlcc_infra.targets.survey import Survey
from mlcc_infra.template.made import Prerequisites, prerequisites_by_template
from tests.unit.profile_support import hyperpod, load
from tests.unit.test_template_parameters import parameters

ACCOUNT = "123456789012"


def survey(keys: dict[str, Any] | None = None) -> Survey:
    return Survey(
        profile=load(hyperpod(keys)),
        identity=Identity(account=ACCOUNT, arn=f"arn:aws:iam::{ACCOUNT}:user/somebody"),
        recorded=RecordedState(resources={}, account=None),
        reader=Reader(AccountSession(region="us-west-2"), profile="demo"),
    )


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(operator_plan, "bucket_tags", lambda *_: None)

    def make(keys: dict[str, Any] | None = None) -> OperatorPlan:
        made: Prerequisites = prerequisites_by_template(parameters(keys), region="us-west-2")
        return plan_operator(survey(keys), cluster="demo", kubernetes="1.35", made=made)

    return make


def wanted(plan: OperatorPlan, token: str) -> set[str]:
    return {item.physical for item in plan.wanted if item.key[0] == token}


def test_rule_05_all_prerequisites_are_ours_where_the_template_makes_none(plan: Any) -> None:
    ours = plan()
    assert ours.oidc_provider
    assert set(ours.prerequisites) == set(PREREQUISITES)
    assert wanted(ours, OIDC_PROVIDER)


def test_rule_05_prerequisites_of_the_template_are_neither_made_nor_looked_up(plan: Any) -> None:
    fsx = plan({"fsx": {"enabled": True}})
    assert not fsx.oidc_provider
    assert wanted(fsx, OIDC_PROVIDER) == set()
    assert set(fsx.prerequisites) == set(PREREQUISITES) - {"aws-fsx-csi-driver"}
    assert "aws-fsx-csi-driver" not in wanted(fsx, ADDON)
    training = plan({"trainingOperator": {"enabled": True}})
    assert training.oidc_provider
    assert set(training.prerequisites) == set(PREREQUISITES) - {"cert-manager"}


@pytest.mark.parametrize("there", [True, False])
def test_rule_09_a_predecessors_execution_role_is_reported_and_not_taken_over(
    monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    role = "mlcc-demo-hyperpod-inference-role"
    monkeypatch.setattr(operator_plan, "bucket_tags", lambda *_: None)
    monkeypatch.setattr(
        operator_plan, "get_role", lambda _reader, name: {} if there and name == role else None
    )
    plan = plan_operator(survey(), cluster="demo", kubernetes="1.35")
    (check,) = [check for check in plan.checks if check.name == "predecessor's role"]
    found = check.results()
    assert [role in result.found and result.verdict.value for result in found] == ["warning"] * there
    assert role not in {item.physical for item in plan.wanted}


@pytest.mark.parametrize("kubernetes", ["1.31", "1.99"])
def test_a_cluster_whose_version_has_no_pinned_add_ons_is_an_error_with_the_key(
    monkeypatch: pytest.MonkeyPatch, kubernetes: str
) -> None:
    monkeypatch.setattr(operator_plan, "bucket_tags", lambda *_: None)
    with pytest.raises(UserError, match=f"Kubernetes {kubernetes}") as failure:
        plan_operator(survey(), cluster="demo", kubernetes=kubernetes)
    assert "mlcc:operator.addons.aws-fsx-csi-driver.version" in failure.value.remedy
