"""Field reports, group I: engine and providers. Rows that need no engine."""

from __future__ import annotations

from tests.unit.profile_support import load


def test_i14_credentials_of_the_environment_are_enough_and_nothing_of_them_is_kept() -> None:
    environ = {
        "AWS_PROFILE": "ambient",
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "s3cr3t",
    }
    profile = load(environ=environ)
    assert profile.aws_profile is None
    kept = profile.model_dump_json()
    assert not any(value in kept for value in environ.values())
