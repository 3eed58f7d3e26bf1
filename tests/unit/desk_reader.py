"""The product's way to read an account, opened on a rehearsed one: for tests of live-account code."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest import mock

from mlcc_infra.account.reader import Reader
from mlcc_infra.account.session import AccountSession
from tests.unit.rehearsal_cloud.conftest import Desk


@contextlib.contextmanager
def desk_environment(desk: Desk) -> Iterator[None]:
    """The environment that leads boto3 to the desk, as a rehearsal sets it."""
    environment = {
        "AWS_ENDPOINT_URL": desk.cloud.endpoint,
        "AWS_ACCESS_KEY_ID": desk.cloud.access_key_id,
        "AWS_SECRET_ACCESS_KEY": desk.cloud.secret_access_key,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with mock.patch.dict("os.environ", environment):
        yield


@contextlib.contextmanager
def desk_reader(desk: Desk, profile: str = "demo") -> Iterator[Reader]:
    """A reader of the desk's account, with its operator's keys."""
    with desk_environment(desk):
        yield Reader(AccountSession(region=desk.region), profile=profile)
