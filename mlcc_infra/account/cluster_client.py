"""One EKS cluster's Kubernetes API, as `aws eks get-token` would open it.

For whatever asks a cluster directly: nodes, logs, custom resources. Answers are plain JSON, so that kinds
which no client library knows are read and deleted like all others.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from botocore.exceptions import ClientError
from botocore.signers import RequestSigner

from mlcc_infra.account.reader import error_code
from mlcc_infra.account.session import AccountSession

REQUEST_SECONDS = 20.0
TOKEN_PREFIX = "k8s-aws-v1."
TOKEN_SECONDS = 60


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

    def __init__(self, client: Any) -> None:
        self._client = client

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
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        try:
            answer = self._client.call_api(
                path,
                method,
                query_params=list(query.items()),
                header_params={"Accept": "application/json, */*", "Content-Type": "application/json"},
                body=body,
                auth_settings=["BearerToken"],
                _return_http_data_only=True,
                _preload_content=False,
                _request_timeout=REQUEST_SECONDS,
            )
        except ApiException as error:
            raise ClusterRefusedError(int(error.status or 0), _words(error)) from error
        except (HTTPError, OSError) as error:
            raise ClusterUnreachableError(f"the cluster's endpoint could not be reached: {error}") from error
        data: bytes = answer.data
        return data


def _words(error: Any) -> str:
    """Kubernetes' own message where the body is a Status, else HTTP's reason."""
    try:
        message = json.loads(error.body)["message"]
    except (TypeError, ValueError, KeyError):
        return f"the cluster answered {error.status} {error.reason}"
    return f"the cluster answered {error.status} {error.reason}: {message}"


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
def connect(session: AccountSession, cluster: Mapping[str, Any]) -> Iterator[ClusterApi]:
    """A client of a described cluster, good for a few minutes: its token is short-lived.

    Raises `ClusterUnreachableError` for a cluster that has no endpoint yet.
    """
    import kubernetes.client

    authority = (cluster.get("certificateAuthority") or {}).get("data")
    if not cluster.get("endpoint") or not authority:
        raise ClusterUnreachableError(f"the cluster {cluster['name']} is {cluster['status']}: no endpoint")
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(base64.b64decode(authority))
        file.flush()
        configuration: Any = kubernetes.client.Configuration()
        configuration.host = cluster["endpoint"]
        configuration.ssl_ca_cert = file.name
        configuration.api_key = {"authorization": f"Bearer {cluster_token(session, cluster['name'])}"}
        configuration.retries = False
        # The client reads the proxy from the environment and then forgets which hosts go without one.
        configuration.no_proxy = os.environ.get("NO_PROXY") or os.environ.get("no_proxy")
        with kubernetes.client.ApiClient(configuration) as client:
            yield ClusterApi(client)
