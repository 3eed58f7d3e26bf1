"""Errors of a Kubernetes API server, in its own words.

Every refusal is a ``Status`` object of ``meta.k8s.io``; the reasons, codes and sentences are those of
``k8s.io/apimachinery/pkg/api/errors``.
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


class ApiError(Exception):
    """A refusal of the API: HTTP ``code``, machine-readable ``reason``, ``message`` and ``details``."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        name: str = "",
        group: str = "",
        kind: str = "",
        causes: list[Object] | None = None,
        retry_after: int = 0,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        details: Object = {"name": name, "group": group, "kind": kind}
        self.details: Object = {key: value for key, value in details.items() if value}
        if causes:
            self.details["causes"] = causes
        if retry_after:
            self.details["retryAfterSeconds"] = retry_after

    def body(self) -> Object:
        """The ``Status`` object a client gets."""
        status: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "code": self.code,
        }
        if not self.details:
            del status["details"]
        return status


def qualified(plural: str, group: str) -> str:
    """``deployments.apps``, or ``pods`` for the core group, as messages name a resource."""
    return f"{plural}.{group}" if group else plural


def not_found(plural: str, group: str, name: str) -> ApiError:
    """404 for an object that does not exist."""
    message = f'{qualified(plural, group)} "{name}" not found'
    return ApiError(404, "NotFound", message, name=name, group=group, kind=plural)


def unknown_path() -> ApiError:
    """404 for a path that no resource answers."""
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def already_exists(plural: str, group: str, name: str) -> ApiError:
    """409 on creating an object whose name is taken."""
    message = f'{qualified(plural, group)} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, name=name, group=group, kind=plural)


def conflict(plural: str, group: str, name: str, why: str) -> ApiError:
    """409 on a write that is out of date."""
    message = f'Operation cannot be fulfilled on {qualified(plural, group)} "{name}": {why}'
    return ApiError(409, "Conflict", message, name=name, group=group, kind=plural)


def stale(plural: str, group: str, name: str) -> ApiError:
    """409 on an update that carries an old resourceVersion."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(plural, group, name, why)


def forbidden(plural: str, group: str, name: str, why: str) -> ApiError:
    """403 with Kubernetes' sentence: the object and the reason."""
    quoted = f' "{name}"' if name else ""
    message = f"{qualified(plural, group)}{quoted} is forbidden: {why}"
    return ApiError(403, "Forbidden", message, name=name, group=group, kind=plural)


def unauthorized() -> ApiError:
    """401: who is calling is not known to the cluster."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def bad_request(message: str) -> ApiError:
    """400: a request that cannot be understood."""
    return ApiError(400, "BadRequest", message)


def invalid(kind: str, group: str, name: str, faults: list[tuple[str, str, str]]) -> ApiError:
    """422: an object that breaks its kind's rules.

    ``faults`` are (field, cause reason such as ``FieldValueInvalid``, sentence after the field's name).
    """
    sentences = [f"{field}: {sentence}" for field, _, sentence in faults]
    listed = sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
    causes = [{"reason": reason, "message": text, "field": field} for field, reason, text in faults]
    where = f"{kind}.{group}" if group else kind
    message = f'{where} "{name}" is invalid: {listed}'
    return ApiError(422, "Invalid", message, name=name, group=group, kind=kind, causes=causes)


def gone(message: str) -> ApiError:
    """410: a watch or a continued list that is older than what the server remembers."""
    return ApiError(410, "Expired", message)


def method_not_allowed() -> ApiError:
    """405: the resource does not know the verb."""
    return ApiError(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
    )


def internal(message: str) -> ApiError:
    """500 with the sentence the server puts in front of internal errors."""
    return ApiError(500, "InternalError", f"Internal error occurred: {message}")
