"""One read of the account: what is there, what is not, and what AWS does not tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import botocore.endpoint
import pytest
from botocore.exceptions import ClientError

from mlcc_infra.account.decisions import Action, AdoptMode, Presence, Wanted, decide
from mlcc_infra.account.import_ids import IMPORT_IDS
from mlcc_infra.account.inventory import take_inventory
from mlcc_infra.account.lookups import LOOKUPS
from mlcc_infra.account.reader import Reader
from mlcc_infra.account.session import RETRIES, AccountSession
from mlcc_rehearsal.cloud import Cloud, CloudOptions

ROLE = "mlcc-demo-eks-node-role"
WANTED = Wanted(
    key=("aws:iam/role:Role", "service-roles-eks-node-role"),
    kind="role",
    physical=ROLE,
    lookup={"role": ROLE},
)
TRUST = '{"Version": "2012-10-17", "Statement": []}'


@pytest.fixture(scope="module")
def cloud() -> Iterator[Cloud]:
    with Cloud.start(CloudOptions(account_id="200000000001")) as running:
        yield running


@pytest.fixture
def session(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> AccountSession:
    monkeypatch.setenv("AWS_ENDPOINT_URL", cloud.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", cloud.access_key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", cloud.secret_access_key)
    # Waits between attempts are botocore's own; here they take no time.
    monkeypatch.setattr(botocore.endpoint, "time", SimpleNamespace(sleep=lambda _seconds: None))
    return AccountSession(region="us-west-2")


@pytest.fixture
def faults(cloud: Cloud) -> Iterator[Callable[..., object]]:
    yield lambda *entries: cloud.faults.add(list(entries))
    cloud.faults.clear()


def fact(session: Any, wanted: Wanted = WANTED) -> Any:
    return take_inventory(Reader(session, profile="demo"), [wanted])[wanted.key]


def attempts(cloud: Cloud, operation: str) -> int:
    return len([call for call in cloud.journal.calls() if call["operation"] == operation])


def test_every_type_that_is_looked_up_has_a_row_in_the_table_of_import_ids() -> None:
    assert LOOKUPS.keys() == IMPORT_IDS.keys()


def test_a_throttled_read_is_tried_again(
    cloud: Cloud, session: AccountSession, faults: Callable[..., object]
) -> None:
    session.client("iam").create_role(RoleName=ROLE, AssumeRolePolicyDocument=TRUST)
    faults({"service": "iam", "operation": "GetRole", "calls": [1, 2], "effect": "throttle"})
    assert fact(session).presence is Presence.PRESENT
    session.client("iam").delete_role(RoleName=ROLE)


def test_what_stays_throttled_is_unknown_after_a_few_attempts_and_said(
    cloud: Cloud, session: AccountSession, faults: Callable[..., object]
) -> None:
    faults({"service": "iam", "operation": "GetRole", "share": 1.0, "effect": "throttle"})
    before = attempts(cloud, "GetRole")
    found = fact(session)
    assert found.presence is Presence.UNKNOWN
    assert attempts(cloud, "GetRole") - before == RETRIES["total_max_attempts"]
    decision = decide(WANTED, found, None, AdoptMode.AUTO)
    assert "GetRole: Throttling" in decision.warning
    assert decide(WANTED, found, None, AdoptMode.REQUIRED).action is Action.REFUSE


class Iam:
    """IAM that answers an error alone."""

    def __init__(self, error: str) -> None:
        self.error = error

    def get_role(self, **_given: str) -> Any:
        raise ClientError({"Error": {"Code": self.error, "Message": "no"}}, "GetRole")


class Session:
    region = "us-west-2"

    def __init__(self, **clients: Any) -> None:
        self.clients = clients

    def client(self, service: str) -> Any:
        return self.clients[service]


def test_denied_is_unknown_at_once_and_never_absent() -> None:
    found = fact(Session(iam=Iam("AccessDenied")))
    assert (found.presence, found.reason) == (Presence.UNKNOWN, "GetRole: AccessDenied")
    assert fact(Session(iam=Iam("NoSuchEntity"))).presence is Presence.ABSENT
