"""Acting as somebody else: ``kubectl --as``.

Source: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlcc_rehearsal.kubernetes_api import authorization
from mlcc_rehearsal.kubernetes_api.authentication import Caller
from mlcc_rehearsal.kubernetes_api.authorization import Attributes
from mlcc_rehearsal.kubernetes_api.store import Store


def impersonated(store: Store, caller: Caller, headers: Mapping[str, str]) -> Caller:
    """Whom a request is to be judged as: the caller, or who the headers name.

    Raises:
        ApiError: 403 when the caller may not impersonate that user or group.
    """
    user = headers.get("Impersonate-User")
    if not user:
        return caller
    listed: Any = getattr(headers, "get_all", lambda name: [headers[name]] if name in headers else [])
    groups = tuple(listed("Impersonate-Group") or ())
    for plural, names in (("users", (user,)), ("groups", groups)):
        for name in names:
            authorization.check(store, caller, Attributes("impersonate", plural=plural, name=name))
    return Caller(user, groups)
