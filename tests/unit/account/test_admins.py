"""Admins as IAM spells them."""

from __future__ import annotations

from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from mlcc_infra.account.admins import resolve_admins
from mlcc_infra.account.preflight import Verdict
from mlcc_infra.account.reader import Reader

ACCOUNT, OTHER = "111122223333", "444455556666"
PATH = "aws-reserved/sso.amazonaws.com/eu-west-1/"


def error(code: str, operation: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": ""}}, operation)


class Iam:
    """IAM with a few identities by name; `denied` are look-ups that it refuses."""

    def __init__(self, *denied: str) -> None:
        self._denied = denied
        self._paths = {"Admin": "", "Platform": "team/", "AWSReservedSSO_X": PATH, "jane": "people/"}

    def _look_up(self, name: str, kind: str) -> dict[str, str]:
        if name in self._denied:
            raise error("AccessDenied", "Get")
        if name not in self._paths:
            raise error("NoSuchEntity", "Get")
        return {"Arn": f"arn:aws:iam::{ACCOUNT}:{kind}/{self._paths[name]}{name}"}

    def get_role(self, **names: str) -> dict[str, Any]:
        return {"Role": self._look_up(names["RoleName"], "role")}

    def get_user(self, **names: str) -> dict[str, Any]:
        return {"User": self._look_up(names["UserName"], "user")}


class Session:
    def __init__(self, iam: Iam) -> None:
        self._iam = iam

    def client(self, _service: str) -> Iam:
        return self._iam


def resolve(*admins: str, denied: tuple[str, ...] = ()) -> tuple[tuple[str, ...], list[Any]]:
    reader = Reader(cast("Any", Session(Iam(*denied))), profile="x")
    return resolve_admins(reader, admins, ACCOUNT)


def role(name: str, account: str = ACCOUNT) -> str:
    return f"arn:aws:iam::{account}:role/{name}"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (role("AWSReservedSSO_X"), role(f"{PATH}AWSReservedSSO_X")),
        (role("Platform"), role("team/Platform")),
        (role("Admin"), role("Admin")),
        (f"arn:aws:iam::{ACCOUNT}:user/jane", f"arn:aws:iam::{ACCOUNT}:user/people/jane"),
    ],
)
def test_an_admin_gets_the_path_that_iam_has(given: str, found: str) -> None:
    assert resolve(given) == ((found,), [])


def test_two_spellings_of_one_role_are_one_admin() -> None:
    assert resolve(role("Platform"), role("team/Platform"))[0] == (role("team/Platform"),)


@pytest.mark.parametrize("arn", [role("Nobody"), f"arn:aws:iam::{ACCOUNT}:user/nobody"])
def test_an_identity_that_does_not_exist_is_refused(arn: str) -> None:
    admins, (result,) = resolve(arn)
    assert admins == ()
    assert result.verdict is Verdict.REFUSED
    assert arn.rpartition("/")[2] in result.found


def test_a_look_up_that_is_denied_leaves_the_arn_as_it_is_and_says_so() -> None:
    admins, (result,) = resolve(role("Platform"), denied=("Platform",))
    assert admins == (role("Platform"),)
    assert (result.verdict, "AccessDenied" in result.found) == (Verdict.UNKNOWN, True)


@pytest.mark.parametrize(
    ("arn", "denied"),
    [(role("AWSReservedSSO_X"), ("AWSReservedSSO_X",)), (role("AWSReservedSSO_X", OTHER), ())],
    ids=["denied", "of another account"],
)
def test_an_identity_center_role_whose_path_cannot_be_found_is_refused_with_where_it_is(
    arn: str, denied: tuple[str, ...]
) -> None:
    admins, (result,) = resolve(arn, denied=denied)
    assert admins == ()
    assert result.verdict is Verdict.REFUSED
    assert "lacks its path" in result.found
    assert "--path-prefix /aws-reserved/sso.amazonaws.com/" in result.remedy


def test_an_identity_of_another_account_is_taken_as_it_is() -> None:
    arns = (role("Elsewhere", OTHER), role(f"{PATH}AWSReservedSSO_X", OTHER))
    assert resolve(*arns) == (arns, [])
