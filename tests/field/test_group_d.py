"""Field reports, group D: add-ons. Rows that need no engine."""

from __future__ import annotations

import json

import pytest

from mlcc_infra import versions
from mlcc_infra.addon_configuration import configuration_text
from tests.unit.profile_support import hyperpod, load, problems


@pytest.mark.parametrize("version", ["latest", ""])
def test_d7_an_addon_version_that_moves_is_refused(version: str) -> None:
    keys = {"eks": {"addons": {"vpc-cni": {"version": version}}}}
    assert 'mlcc:eks.addons["vpc-cni"].version' in problems(keys)
    assert "mlcc:operator.version" in problems(hyperpod(operator={"version": version}))


def test_d7_every_addon_of_a_profile_has_an_exact_version() -> None:
    for version in load().eks.addon_versions().values():
        assert all(number >= 0 for number in versions.addon_version_key(version))


def test_d8_a_role_that_is_not_there_leaves_no_key_and_nothing_becomes_null() -> None:
    text = configuration_text({"executionRoleArn": "arn", "jumpstartGatedModelDownloadRoleArn": None})
    assert json.loads(str(text)) == {"executionRoleArn": "arn"}
    assert configuration_text({"jumpstartGatedModelDownloadRoleArn": None}) is None


def test_d9_an_unknown_configuration_key_is_refused_by_name() -> None:
    keys = hyperpod(operator={"configuration": {"tolerationss": []}})
    found = problems(keys)["mlcc:operator.configuration.tolerationss"]
    assert "did you mean 'tolerations'" in found.found


def test_d9_a_misspelt_switch_is_refused_by_name() -> None:
    keys = hyperpod(operator={"gateway": {"enabledd": True}})
    assert "mlcc:operator.gateway.enabledd" in problems(keys)


def test_d9_a_setting_of_another_versions_schema_is_refused() -> None:
    keys = hyperpod(operator={"version": "v1.5.0-eksbuild.1", "gateway": {"enabled": True}})
    assert "v2.0.0-eksbuild.2" in problems(keys)["mlcc:operator.gateway.enabled"].found
