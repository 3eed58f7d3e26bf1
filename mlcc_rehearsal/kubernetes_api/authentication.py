"""Who is calling: the token that ``aws eks get-token`` makes.

A token is ``k8s-aws-v1.`` and the base64url of a presigned ``sts:GetCallerIdentity`` address whose signed
headers hold ``x-k8s-aws-id``. Source: kubernetes-sigs/aws-iam-authenticator, ``pkg/token/token.go`` (prefix,
15 minutes of validity, refused parameters). The address says that the cluster's name was signed, not the
name itself; the signature is not recomputed here, since no secret key reaches the API.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mlcc_rehearsal.kubernetes_api.status import unauthorized

PREFIX = "k8s-aws-v1."
VALIDITY = datetime.timedelta(minutes=15)
CLUSTER_HEADER = "x-k8s-aws-id"
_SKEW = datetime.timedelta(minutes=5)


@dataclass(frozen=True)
class Caller:
    """A person or role that an access entry lets in.

    ``access_policies`` are names such as ``AmazonEKSClusterAdminPolicy``; ``policy_namespaces`` narrows a
    policy to namespaces (an access scope of type ``namespace``), a policy that is not in it holds for the
    cluster. ``groups`` are matched against RBAC bindings.
    """

    username: str
    groups: tuple[str, ...] = ()
    access_policies: tuple[str, ...] = ()
    policy_namespaces: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


Authenticate = Callable[[str], Caller | None]


def access_key_of(token: str, now: datetime.datetime) -> str:
    """The access key id whose owner signed the token.

    Raises:
        ApiError: 401 for anything but a fresh, well-formed token.
    """
    if not token.startswith(PREFIX):
        raise unauthorized()
    encoded = token.removeprefix(PREFIX)
    try:
        address = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode("ascii")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise unauthorized() from error
    parts = urllib.parse.urlsplit(address)
    query = {key.lower(): values for key, values in urllib.parse.parse_qs(parts.query).items()}

    def one(key: str) -> str:
        values = query.get(key, [])
        if len(values) != 1:
            raise unauthorized()
        return values[0]

    if one("action") != "GetCallerIdentity":
        raise unauthorized()
    if CLUSTER_HEADER not in one("x-amz-signedheaders").split(";") or not one("x-amz-signature"):
        raise unauthorized()
    try:
        signed = datetime.datetime.strptime(one("x-amz-date"), "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.UTC)
    except ValueError as error:
        raise unauthorized() from error
    if not signed - _SKEW <= now <= signed + VALIDITY:
        raise unauthorized()
    return one("x-amz-credential").split("/", 1)[0]


def bearer(headers: Mapping[str, str]) -> str | None:
    """The bearer token of a request's headers."""
    kind, _, token = (headers.get("Authorization") or "").partition(" ")
    return token.strip() if kind.lower() == "bearer" and token.strip() else None


def identify(token: str, authenticate: Authenticate) -> Caller:
    """The caller behind a token.

    Raises:
        ApiError: 401 when the token is bad or no access entry names its owner.
    """
    key = access_key_of(token, datetime.datetime.now(datetime.UTC))
    caller = authenticate(key)
    if caller is None:
        raise unauthorized()
    return caller
