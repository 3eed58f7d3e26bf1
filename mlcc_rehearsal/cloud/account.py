"""One rehearsed account: what its services share, and how moto's backends find it.

moto keeps its backends in process-wide dictionaries by account id.  The services here are subclasses of
those backends, so they are handed an account id and look the rest up with :func:`account_of`.  Two clouds
in one process therefore need two account ids; :func:`register` refuses a second one for the same account.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mlcc_rehearsal.cloud.clock import ModelledClock
from mlcc_rehearsal.cloud.durations import seconds

if TYPE_CHECKING:
    from mlcc_rehearsal.cloud.faults import Faults


@dataclass
class CurrentRequest:
    """The AWS call that is being answered in this thread.

    :ivar principal: ARN of the caller (a user, or the session of an assumed role), or None when unsigned.
    :ivar law: name of the law that refused the call, for the journal.
    """

    service: str
    operation: str
    region: str
    access_key_id: str | None
    principal: str | None
    parameters: dict[str, Any] = field(default_factory=dict)
    law: str | None = None


current_request: ContextVar[CurrentRequest | None] = ContextVar("rehearsed_request", default=None)


@dataclass
class RehearsedAccount:
    """What the services of one account share.

    :ivar lock: every request is answered, and every event runs, under it.
    :ivar seen_from: modelled moment from which the rest of AWS sees an IAM entity, by ARN.
    :ivar kubernetes: whether clusters have a Kubernetes API.
    :ivar faults: what goes wrong on purpose.
    :ivar omitted_groups: what becomes of HyperPod groups that UpdateCluster is not told of: they stay or go.
    :ivar closers: called when the cloud stops, the last first.
    :ivar parts: what services keep that moto has no place for, by their name for it.
    """

    account_id: str
    region: str
    clock: ModelledClock
    lock: threading.RLock = field(default_factory=threading.RLock)
    partition: str = "aws"
    kubernetes: bool = True
    seen_from: dict[str, float] = field(default_factory=dict)
    faults: Faults | None = None
    omitted_groups: str = "stay"
    closers: list[Callable[[], None]] = field(default_factory=list)
    parts: dict[str, Any] = field(default_factory=dict)

    def propagate(self, arn: str, duration: str = "iam.propagation") -> None:
        """Note that the IAM entity ``arn`` was made or changed now, and is seen elsewhere only later."""
        self.seen_from[arn] = self.clock.now() + seconds(duration)

    def is_visible(self, arn: str) -> bool:
        """Whether the rest of AWS already sees the newest state of the IAM entity ``arn``."""
        return self.clock.now() >= self.seen_from.get(arn, 0.0)


_accounts: dict[str, RehearsedAccount] = {}
_accounts_lock = threading.Lock()


def register(account: RehearsedAccount) -> None:
    """Make ``account`` findable by its id.

    :raises RuntimeError: when a cloud of this process already rehearses the account id.
    """
    with _accounts_lock:
        if account.account_id in _accounts:
            raise RuntimeError(
                f"a cloud in this process already rehearses account {account.account_id}: "
                "stop it first, or give the second one another account_id"
            )
        _accounts[account.account_id] = account


def forget(account_id: str) -> None:
    """Undo :func:`register`."""
    with _accounts_lock:
        _accounts.pop(account_id, None)


def account_of(account_id: str) -> RehearsedAccount:
    """The rehearsed account with this id.

    :raises KeyError: when no cloud of this process rehearses it.
    """
    return _accounts[account_id]


def find_account(account_id: str) -> RehearsedAccount | None:
    """The rehearsed account with this id, or None.

    moto builds a backend of its default account to learn a service's addresses; that one belongs to nobody.
    """
    return _accounts.get(account_id)


def caller() -> str | None:
    """ARN of the principal whose request is being answered in this thread."""
    request = current_request.get()
    return request.principal if request else None
