"""One EKS cluster's Kubernetes API, as `aws eks get-token` would open it.

For whatever asks a cluster directly: nodes, logs, custom resources, Helm's Secrets. Requests are plain HTTP
and answers plain JSON: kinds that no client library knows are read and deleted like all others, and importing
Kubernetes' client, with a class for each kind, costs more than a second of every run.
"""

from __future__ import annotations

import base64
import contextlib
import json
import ssl
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from botocore.exceptions import ClientError
from botocore.signers import RequestSigner
from urllib3.exceptions import HTTPError

from mlcc_infra.account.reader import error_code
from mlcc_infra.account.session import AccountSession

REQUEST_SECONDS = 20.0
TOKEN_PREFIX = "k8s-aws-v1."
TOKEN_SECONDS = 60
_FIRST_REFUSAL = 400


class ClusterGoneError(Exception):
    """EKS knows no cluster of that name."""


class ClusterUnreachableError(Exception):
    """The cluster exists, but its API did not answer; the text says why."""


class ClusterRefusedError(Exception):
    """The cluster's API answered an error: `status` is HTTP's, the text Kubernetes' own message."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class ClusterApi:
    """Calls on a cluster's API. Paths as Kubernetes documents them: `/api/v1/nodes`."""

    def __init__(self, pool: urllib3.PoolManager, endpoint: str, token: str, seconds: float) -> None:
        self.pool = pool
        self._endpoint = endpoint
        self._token = token
        self._seconds = seconds

    def get(self, path: str, **query: str) -> Any:
        """The decoded answer."""
        return json.loads(self._call("GET", path, query))

    def text(self, path: str, **query: str) -> str:
        """An answer that is no JSON, such as a log."""
        return self._call("GET", path, query).decode(errors="replace")

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        """The objects of a list; none where the cluster does not serve the kind."""
        try:
            return list(self.get(path, **query).get("items") or [])
        except ClusterRefusedError as error:
            if error.status == 404:
                return []
            raise

    def delete(self, path: str) -> None:
        """Ask for an object's deletion; one that is gone is fine."""
        try:
            self._call("DELETE", path, {"propagationPolicy": "Background"})
        except ClusterRefusedError as error:
            if error.status != 404:
                raise

    def create(self, path: str, obj: Mapping[str, Any]) -> Any:
        """Create an object and answer what became of it."""
        return json.loads(self._call("POST", path, {}, obj))

    def _call(self, method: str, path: str, query: Mapping[str, str], body: Any = None) -> bytes:
        try:
            answer = self.pool.request(
                method,
                f"{self._endpoint}{path}{f'?{urlencode(query)}' if query else ''}",
                body=None if body is None else json.dumps(body),
                headers={
                    "Accept": "application/json, */*",
                    "Content-Type": "application/json",
                    "Authorization": f"Bearer {self._token}",
                },
                timeout=self._seconds,
                retries=False,
            )
        except (HTTPError, OSError) as error:
            raise ClusterUnreachableError(f"the cluster's endpoint could not be reached: {error}") from error
        if answer.status >= _FIRST_REFUSAL:
            raise ClusterRefusedError(answer.status, _words(answer))
        return answer.data


def _words(answer: urllib3.BaseHTTPResponse) -> str:
    """Kubernetes' own message where the body is a Status, else HTTP's reason."""
    said = f"the cluster answered {answer.status} {answer.reason}"
    try:
        return f"{said}: {json.loads(answer.data)['message']}"
    except (TypeError, ValueError, KeyError):
        return said


def describe(session: AccountSession, name: str) -> dict[str, Any]:
    """EKS's DescribeCluster. Raises `ClusterGoneError` when there is no such cluster."""
    try:
        answer = session.client("eks").describe_cluster(name=name)
    except ClientError as error:
        if error_code(error) == "ResourceNotFoundException":
            raise ClusterGoneError(f"There is no EKS cluster {name} in {session.region}.") from error
        raise
    cluster: dict[str, Any] = answer["cluster"]
    return cluster


def cluster_token(session: AccountSession, cluster: str) -> str:
    """A short-lived bearer token, made as `aws eks get-token` makes it: a presigned GetCallerIdentity
    whose signature covers the cluster's name (aws-iam-authenticator, API authorization from outside)."""
    sts = session.client("sts")
    signer: Any = RequestSigner(
        sts.meta.service_model.service_id,
        session.region,
        "sts",
        "v4",
        session.credentials(),
        session.events(),
    )
    url: str = signer.generate_presigned_url(
        {
            "method": "GET",
            "url": f"{sts.meta.endpoint_url}/?Action=GetCallerIdentity&Version=2011-06-15",
            "body": {},
            "headers": {"x-k8s-aws-id": cluster},
            "context": {},
        },
        region_name=session.region,
        expires_in=TOKEN_SECONDS,
        operation_name="",
    )
    return TOKEN_PREFIX + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")


@contextlib.contextmanager
def connect(
    session: AccountSession, cluster: Mapping[str, Any], *, seconds: float = REQUEST_SECONDS
) -> Iterator[ClusterApi]:
    """A client of a described cluster, good for a few minutes: its token is short-lived.

    `seconds` is how long one call may take.

    Raises `ClusterUnreachableError` for a cluster that has no endpoint yet.
    """
    authority = (cluster.get("certificateAuthority") or {}).get("data")
    endpoint = cluster.get("endpoint")
    if not endpoint or not authority:
        raise ClusterUnreachableError(f"the cluster {cluster['name']} is {cluster['status']}: no endpoint")
    trust = ssl.create_default_context(cadata=base64.b64decode(authority).decode())
    with _pool(endpoint, trust) as pool:
        yield ClusterApi(pool, endpoint, cluster_token(session, cluster["name"]), seconds)


def _pool(endpoint: str, trust: ssl.SSLContext) -> urllib3.PoolManager:
    """Connections to an endpoint, by the proxy of the environment unless NO_PROXY spares its host."""
    proxy = getproxies().get("https")
    if proxy and not proxy_bypass(urlsplit(endpoint).hostname or ""):
        return urllib3.ProxyManager(proxy, ssl_context=trust)
    return urllib3.PoolManager(ssl_context=trust)
