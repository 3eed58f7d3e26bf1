"""The layer in front of moto: names each call, knows the caller, lets faults strike, keeps the journal."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from mlcc_rehearsal.cloud import extensions, laws
from mlcc_rehearsal.cloud.account import CurrentRequest, RehearsedAccount, current_request
from mlcc_rehearsal.cloud.control import PREFIX, Control
from mlcc_rehearsal.cloud.errors import AwsError, ServiceException, render
from mlcc_rehearsal.cloud.faults import Faults
from mlcc_rehearsal.cloud.identities import principal_of, unknown_credentials
from mlcc_rehearsal.cloud.journal import Journal, error_code
from mlcc_rehearsal.cloud.requests import NamedRequest, made_resource, name_request, read_body

log = logging.getLogger(__name__)

Answer = tuple[int, list[tuple[str, str]], bytes]


class Application:
    """The WSGI application of one cloud.

    Calls are answered one at a time, under the account's lock: moto's backends are not made for several
    threads, and an order that everybody sees makes a rehearsal repeatable.  Delays are waited out before.
    """

    def __init__(self, account: RehearsedAccount, faults: Faults, journal: Journal) -> None:
        self._account = account
        self._faults = faults
        self._journal = journal
        self._control = Control(account, faults, journal)
        self._moto = DomainDispatcherApplication(create_backend_app)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        body = read_body(environ)
        path = environ.get("PATH_INFO", "/")
        if path == PREFIX or path.startswith(f"{PREFIX}/"):
            status, value = self._control.answer(environ["REQUEST_METHOD"], path[len(PREFIX) :], body)
            answer: Answer = (status, [("Content-Type", "application/json")], json.dumps(value).encode())
        else:
            answer = self._aws(environ, body)
        status, headers, content = answer
        reason = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Unknown"
        start_response(f"{status} {reason}", headers)
        return [content]

    def _aws(self, environ: dict[str, Any], body: bytes) -> Answer:
        request = name_request(environ, body, default_region=self._account.region)
        clock = self._account.clock
        with self._account.lock:
            struck = self._faults.strike(request, clock.now())
        for fault in struck:
            clock.real_sleep(fault.seconds)
        with self._account.lock:
            clock.run_due()
            principal = principal_of(self._account, request.access_key_id) if request.access_key_id else None
            current = CurrentRequest(
                request.service,
                request.operation,
                request.region,
                request.access_key_id,
                principal,
                request.parameters,
            )
            token = current_request.set(current)
            try:
                answer = self._carry_out(
                    environ, request, principal, [f for f in struck if f.effect != "delay"]
                )
            finally:
                current_request.reset(token)
            self._note(request, current, answer)
        return answer

    def _carry_out(
        self, environ: dict[str, Any], request: NamedRequest, principal: str | None, faults: list[Any]
    ) -> Answer:
        if faults:
            return _as_answer(render(request.service, faults[0].error(request)))
        if request.signed and principal is None:
            return _as_answer(render(request.service, unknown_credentials(request.service)))
        if request.service == "ec2" and str(request.parameters.get("DryRun", "")).lower() == "true":
            message = "Request would have succeeded, but DryRun flag is set."
            refusal = laws.DRY_RUN.broken(AwsError("DryRunOperation", message, status=412))
            return _as_answer(render(request.service, refusal))
        # moto's own way to choose the account; what the client sends in it is not trusted.
        environ["HTTP_X_MOTO_ACCOUNT_ID"] = self._account.account_id
        if request.signed and "HTTP_AUTHORIZATION" not in environ:
            # A presigned address carries in its query what moto reads from the header.
            environ["HTTP_AUTHORIZATION"] = (
                f"AWS4-HMAC-SHA256 Credential={request.access_key_id}/20000101/{request.region}/"
                f"{request.service}/aws4_request, SignedHeaders=host, Signature=0"
            )
        extensions.need(request.service)
        try:
            return self._ask_moto(environ)
        except ServiceException as error:
            return _as_answer(render(request.service, error))
        except NotImplementedError as missing:
            message = (
                f"the rehearsal cloud does not implement {request.service}:{request.operation} ({missing})"
            )
            return _as_answer(
                render(request.service, AwsError("RehearsalNotImplemented", message, status=501))
            )
        except Exception as broken:
            # A defect of the cloud must not look like AWS refusing something. 501 is not retried by SDKs.
            log.exception("%s:%s broke the rehearsal cloud", request.service, request.operation)
            where = traceback.extract_tb(broken.__traceback__)[-1]
            message = (
                f"{request.service}:{request.operation} broke the rehearsal cloud: "
                f"{type(broken).__name__}: {broken} ({where.filename}:{where.lineno})"
            )
            return _as_answer(render(request.service, AwsError("RehearsalDefect", message, status=501)))

    def _ask_moto(self, environ: dict[str, Any]) -> Answer:
        collected: list[Any] = []

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
            collected[:] = [status, headers]

        chunks = self._moto(environ, start)
        try:
            content = b"".join(chunks)
        finally:
            close = getattr(chunks, "close", None)
            if close is not None:
                close()
        status, headers = collected
        return int(status.split(" ", 1)[0]), list(headers), content

    def _note(self, request: NamedRequest, current: CurrentRequest, answer: Answer) -> None:
        status, headers, content = answer
        error = error_code(status, {k.lower(): v for k, v in headers}, content)
        made = made_resource(request, content) if error is None else None
        self._journal.write(
            {
                "service": request.service,
                "operation": request.operation,
                "mutating": request.mutating,
                "status": status,
                "error": error,
                "resource": made or request.resource,
                "region": request.region,
                "principal": current.principal,
                "time": round(self._account.clock.now(), 3),
            },
            law=current.law,
        )


def _as_answer(rendered: tuple[int, dict[str, str], bytes]) -> Answer:
    status, headers, body = rendered
    return status, [*headers.items(), ("Content-Length", str(len(body)))], body
