"""Field reports, group C: clusters and access entries. Rows that need no engine."""

from __future__ import annotations

from tests.unit.profile_support import load, warnings


def test_c2_administrators_come_from_the_profile_alone_whoever_runs_it() -> None:
    keys = {"admins": ["arn:aws:iam::111122223333:role/Admin"]}
    one = load(keys, environ={"AWS_PROFILE": "jane", "AWS_ACCESS_KEY_ID": "AKIAJANE"})
    other = load(keys, environ={"AWS_PROFILE": "john"})
    assert one == other


def test_c4_a_role_of_identity_center_without_its_path_is_kept_for_the_look_up_and_explained() -> None:
    arn = "arn:aws:iam::111122223333:role/AWSReservedSSO_X"
    assert load({"admins": [arn]}).admins == (arn,)
    assert (
        "without its path (aws-reserved/sso.amazonaws.com/"
        in warnings({"admins": [arn]})["mlcc:admins[0]"].found
    )


def test_c5_a_session_and_its_role_are_one_administrator() -> None:
    role = "arn:aws:iam::111122223333:role/Admin"
    session = "arn:aws:sts::111122223333:assumed-role/Admin/jane"
    profile = load({"admins": [session, role]})
    assert profile.admins == (role,)
    assert any("session" in warning.found for warning in profile.warnings)
