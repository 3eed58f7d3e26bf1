"""Field reports, group G: the CloudFormation template. Rows that need no engine."""

from __future__ import annotations

import pytest

from tests.unit.profile_support import hyperpod, load, problems, warnings


def test_g8_a_strict_pin_without_a_mirror_is_refused() -> None:
    assert (
        "unversioned"
        in problems(hyperpod({"template": {"pin": "strict"}}))["mlcc:hyperpod.template.pin"].found
    )
    mirrored = hyperpod(
        {"template": {"pin": "strict", "mirrorBucket": "mlcc-hp-templates-0123456789ab-88de702d"}}
    )
    assert load(mirrored).hyperpod.template.pin == "strict"


def test_g8_without_a_mirror_the_pin_is_said_to_be_partial() -> None:
    assert "partial" in warnings(hyperpod())["mlcc:hyperpod.template.mirrorBucket"].found


@pytest.mark.parametrize(
    "url",
    ["./main.yaml", "http://bucket.s3.us-west-2.amazonaws.com/main.yaml", "s3://bucket/main.yaml"],
)
def test_g10_an_address_that_is_not_https_in_s3_is_refused(url: str) -> None:
    assert "mlcc:hyperpod.template.url" in problems(hyperpod({"template": {"url": url}}))


def test_g12_keeping_what_failed_is_off_and_when_on_said_to_need_cleaning_by_hand() -> None:
    assert not load(hyperpod()).hyperpod.template.keep_failed
    found = warnings(hyperpod({"template": {"keepFailed": True}}))["mlcc:hyperpod.template.keepFailed"]
    assert "deleted by hand" in found.found
