"""The frame of the preflight: verdicts, unknowns, and one error for all refusals."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from mlcc_infra.account.preflight import (
    Check,
    CheckResult,
    PreflightRefusedError,
    Verdict,
    refuse_if_any,
    run_checks,
)


def denied() -> list[CheckResult]:
    raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "DescribeAddonVersions")


def unreachable() -> list[CheckResult]:
    raise EndpointConnectionError(endpoint_url="https://eks.example")


def ok() -> list[CheckResult]:
    return [CheckResult(name="zones", verdict=Verdict.OK, found="a, b")]


@pytest.mark.parametrize("run", [denied, unreachable])
def test_what_aws_does_not_tell_is_unknown_and_does_not_block(run: object) -> None:
    results = run_checks([Check(name="add-on versions", run=run)])  # pyright: ignore[reportArgumentType]
    assert [result.verdict for result in results] == [Verdict.UNKNOWN]
    refuse_if_any(results, stack="mlcc-demo")


def test_results_keep_the_order_of_the_checks() -> None:
    results = run_checks([Check(name="first", run=denied), Check(name="second", run=ok)])
    assert [result.name for result in results] == ["first", "zones"]


def test_a_mistake_in_a_check_is_not_swallowed() -> None:
    def broken() -> list[CheckResult]:
        raise KeyError("addons")

    with pytest.raises(KeyError):
        run_checks([Check(name="broken", run=broken)])


def test_all_refusals_are_in_one_error_with_their_remedies() -> None:
    refusals = [
        CheckResult(
            name=name, verdict=Verdict.REFUSED, found=f"found {name}", needed="more", remedy=f"do {name}"
        )
        for name in ("zones", "account")
    ]
    with pytest.raises(PreflightRefusedError) as caught:
        refuse_if_any([*ok(), *refusals], stack="mlcc-demo")
    text = str(caught.value)
    for expected in ("2 things stand", "mlcc-demo", "found zones", "do zones", "found account", "do account"):
        assert expected in text
    assert "a, b" not in text
