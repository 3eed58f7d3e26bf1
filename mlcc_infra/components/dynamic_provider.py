"""What the dynamic resources share: the account guard, errors as one message, progress.

Nothing here is stored in a state, so this module may move.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from pulumi.runtime.rpc import UNKNOWN

from mlcc_infra.account import session
from mlcc_infra.account.session import AccountSession
from mlcc_infra.errors import UserError

P = ParamSpec("P")
R = TypeVar("R")


def guarded_session(props: Mapping[str, Any]) -> AccountSession:
    """A session of the region and profile in a resource's properties, in the account that they name.

    Raises `UserError` when the credentials are for another account.
    """
    return session.guarded_session(
        region=props["region"], aws_profile=props.get("aws_profile"), account=props["account"]
    )


def replaced(olds: Mapping[str, Any], news: Mapping[str, Any], keys: Sequence[str]) -> list[str]:
    """Those of the keys whose value is another. One that is not known yet shows no replacement."""
    return [key for key in keys if news.get(key) not in (UNKNOWN, olds.get(key))]


def one_message(method: Callable[P, R]) -> Callable[P, R]:
    """A provider's method whose expected failures reach the user as a message instead of a traceback.

    Pulumi's plugin for dynamic resources answers `traceback.format_exc()` for whatever a provider raises
    (pulumi 3.276.0, `pulumi/dynamic/__main__.py`); with `sys.tracebacklimit` 0 that is the message alone
    (Python's documentation of `sys`). A mistake in the code keeps its traceback.
    """

    @functools.wraps(method)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        from botocore.exceptions import BotoCoreError, ClientError

        with contextlib.suppress(AttributeError):
            del sys.tracebacklimit
        try:
            return method(*args, **kwargs)
        except UserError as error:
            failure = error
        except ClientError as error:
            detail = error.response.get("Error", {})
            failure = UserError(
                f"AWS refused {error.operation_name}: {detail.get('Code')}: {detail.get('Message')}"
            )
        except BotoCoreError as error:
            failure = UserError(f"AWS could not be asked: {error}")
        sys.tracebacklimit = 0
        raise failure from None

    return guarded


def progress(text: str) -> None:
    """Say how far a wait is: what a plugin writes, the engine shows as information."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
