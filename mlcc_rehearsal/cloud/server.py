"""Starting and stopping a rehearsal cloud."""

from __future__ import annotations

import logging
import threading
from types import TracebackType
from typing import Any

from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import BaseWSGIServer, make_server

from mlcc_rehearsal.cloud import account as accounts
from mlcc_rehearsal.cloud import extensions
from mlcc_rehearsal.cloud.account import RehearsedAccount
from mlcc_rehearsal.cloud.clock import ModelledClock
from mlcc_rehearsal.cloud.faults import Faults
from mlcc_rehearsal.cloud.identities import OPERATOR, add_operator
from mlcc_rehearsal.cloud.journal import Journal
from mlcc_rehearsal.cloud.options import CloudOptions
from mlcc_rehearsal.cloud.wsgi import Application


class _QuietHandler(MotoRequestHandler):
    """Serves without a line on stderr for each request: the journal is the log."""

    def log(self, type: str, message: str, *args: Any) -> None:
        logging.getLogger("mlcc_rehearsal.cloud.server").debug(message, *args)


class Cloud:
    """A running rehearsal cloud; make one with :meth:`start`.

    Usable as a context manager, which stops it at the end.

    :ivar endpoint: address for ``AWS_ENDPOINT_URL``.
    :ivar access_key_id: of the operator, an IAM user that exists in the account.
    :ivar secret_access_key: likewise.
    :ivar clock: modelled time; ``clock.advance(seconds)`` lets it pass.
    """

    def __init__(
        self, options: CloudOptions, rehearsed: RehearsedAccount, journal: Journal, faults: Faults
    ) -> None:
        self.options = options
        self.account = rehearsed
        self.clock = rehearsed.clock
        self.journal = journal
        self.faults = faults
        self.access_key_id = ""
        self.secret_access_key = ""
        self._stopped = False
        application = Application(rehearsed, faults, journal)
        self._server: BaseWSGIServer = make_server(
            "127.0.0.1", options.port, application, threaded=True, request_handler=_QuietHandler
        )
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.05},
            name="rehearsal-cloud",
            daemon=True,
        )

    @classmethod
    def start(cls, options: CloudOptions | None = None) -> Cloud:
        """Start a cloud; it answers when this returns.

        :raises RuntimeError: when this process already rehearses the same account id.
        :raises ValueError: when the fault file is wrong.
        """
        options = options or CloudOptions()
        faults = Faults.read(options.faults) if options.faults else Faults()
        lock = threading.RLock()
        rehearsed = RehearsedAccount(
            options.account_id,
            options.region,
            ModelledClock(options.speed, lock),
            lock,
            kubernetes=options.kubernetes,
            faults=faults,
            omitted_groups=options.omitted_groups,
        )
        accounts.register(rehearsed)
        extensions.install()
        try:
            cloud = cls(options, rehearsed, Journal(options.api_log), faults)
            cloud.access_key_id, cloud.secret_access_key = add_operator(rehearsed, OPERATOR)
        except BaseException:
            extensions.forget_account(options.account_id)
            extensions.uninstall()
            accounts.forget(options.account_id)
            raise
        cloud.clock.start()
        cloud._thread.start()
        extensions.load_the_rest()
        return cloud

    @property
    def endpoint(self) -> str:
        """``http://127.0.0.1:PORT``."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def add_identity(self, name: str, *, policy: dict[str, Any] | None = None) -> tuple[str, str]:
        """Make a further operator; answers access key id and secret (see :func:`identities.add_operator`)."""
        with self.account.lock:
            return add_operator(self.account, name, policy=policy)

    def stop(self) -> None:
        """Stop answering, end the Kubernetes APIs, and forget the account.  Does nothing the second time."""
        if self._stopped:
            return
        self._stopped = True
        self._server.shutdown()
        self._thread.join(timeout=5)
        self._server.server_close()
        self.clock.stop()
        with self.account.lock:
            for close in reversed(self.account.closers):
                close()
            self.account.closers.clear()
        self.journal.close()
        extensions.forget_account(self.options.account_id)
        extensions.uninstall()
        accounts.forget(self.options.account_id)

    def __enter__(self) -> Cloud:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
