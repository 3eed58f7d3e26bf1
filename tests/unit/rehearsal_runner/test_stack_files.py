"""What a rehearsal reads from stack files before any engine runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlcc_rehearsal.runner.stacks import common_region, configurations, profile_names


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    texts = {
        "one": "config:\n  aws:region: eu-west-1\n  mlcc:awsProfile: corp\n",
        "two": "config:\n  aws:region: eu-west-1\n  aws:profile: lab\n",
        "broken": "config: [unclosed\n",
        "empty": "",
    }
    paths = {name: tmp_path / f"Pulumi.{name}.yaml" for name in texts}
    for name, text in texts.items():
        paths[name].write_text(text)
    return paths


def test_all_profile_names_are_found_and_broken_files_are_left_to_others(files: dict[str, Path]) -> None:
    assert profile_names(configurations(files)) == {"corp", "lab"}


def test_the_region_is_the_one_all_agree_on(files: dict[str, Path]) -> None:
    assert common_region(configurations(files)) == "eu-west-1"


def test_without_agreement_the_region_is_the_default(files: dict[str, Path], tmp_path: Path) -> None:
    other = tmp_path / "Pulumi.other.yaml"
    other.write_text("config:\n  aws:region: us-east-1\n")
    assert common_region(configurations({**files, "other": other})) == "us-west-2"
    assert common_region(configurations({})) == "us-west-2"
