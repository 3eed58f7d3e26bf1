"""Field reports, group G: the CloudFormation template. Rows that need no engine."""

from __future__ import annotations

import pytest

from mlcc_infra.cli.exit_codes import ExitCode
from mlcc_infra.cli.main import run
from mlcc_infra.template import CAPABILITIES
from tests.unit.profile_support import hyperpod, load, problems, warnings
from tests.unit.test_template_parameters import parameters


def test_g4_the_capabilities_are_those_for_named_roles_and_transforms() -> None:
    assert set(CAPABILITIES) == {"CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"}


@pytest.mark.parametrize(
    "url",
    [
        "https://mine.s3.eu-west-1.amazonaws.com/templates/main.yaml",
        "https://mine.s3.us-west-2.amazonaws.com.cn/templates/main.yaml",
    ],
)
def test_g10_an_address_in_another_region_or_partition_is_refused(url: str) -> None:
    assert "mlcc:hyperpod.template.url" in problems(hyperpod({"template": {"url": url}}))


def test_g11_every_parameter_is_text_and_digit_strings_in_groups_stay_quoted() -> None:
    floor = {"name": "default-worker", "instanceType": "ml.c5.4xlarge", "instanceCount": 2}
    sent = parameters({"instanceGroups": [{**floor, "labels": {"account": "012345678901"}}]})
    assert all(type(value) is str for value in sent.values())
    assert '"account":"012345678901"' in sent["InstanceGroupSettings1"]
    assert '"InstanceCount":2' in sent["InstanceGroupSettings1"]
    fsx = parameters({"fsx": {"enabled": True}})
    assert (fsx["FileSystemTypeVersion"], fsx["StorageCapacity"]) == ("2.15", "1200")


def test_g14_a_mistyped_stack_is_an_error_and_not_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["destroy", "mlcc-dmeo", "--yes"]) not in (ExitCode.OK, ExitCode.INTERRUPTED)
    assert "mlcc-dmeo" in capsys.readouterr().err


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
