"""AWS calls in the provider's manner: clients, errors in its words, retries, waits in modelled time.

Sources: aws-sdk-go-v2's error texts (``operation error SERVICE: OPERATION, https response error
StatusCode: …, RequestID: …, CODE: message``, with ``api error`` before codes the service does not
model); terraform-plugin-sdk ``helper/retry`` for waiting and its messages (growing pauses of 10 s
at most, 20 tries for a resource that does not show yet).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import boto3
import botocore.config
import botocore.exceptions

from mlcc_infra import clock
from mlcc_rehearsal.plugins.serving import Cancellation, CancelledError, ProviderError

T = TypeVar("T")

#: The provider's usual allowance for IAM's eventual consistency (terraform-provider-aws
#: ``internal/service/{iam,eks}``: propagationTimeout = 2 minutes).
PROPAGATION_SECONDS = 120.0
#: The same for EC2 (``internal/service/ec2/consts.go``: ec2PropagationTimeout = 5 minutes).
EC2_PROPAGATION_SECONDS = 300.0
#: Real seconds between two questions at least: a fast clock must not hammer the API.
SHORTEST_PAUSE = 0.05
LONGEST_BACKOFF = 10.0
NOT_FOUND_TRIES = 20

#: Codes the Go SDK retries by itself (aws-sdk-go-v2 ``aws/retry/standard.go``).
_THROTTLES = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestTimeout",
        "RequestTimeoutException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)


class AwsError(ProviderError):
    """AWS answered an error; `aws_code` and `aws_message` are its own words."""

    def __init__(self, text: str, aws_code: str, aws_message: str, status: int = 0) -> None:
        super().__init__(text)
        self.aws_code = aws_code
        self.aws_message = aws_message
        self.status = status


class UnexpectedStateError(ProviderError):
    """A wait met a state it neither waits for nor wants."""


class WaitTimeoutError(ProviderError):
    """A wait reached its limit."""


def go_duration(seconds: float) -> str:
    """Seconds as the provider prints them: ``1h0m0s``, ``20m0s``, ``45s``."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def aws_error(error: botocore.exceptions.ClientError, client: Any) -> AwsError:
    """botocore's error in the words of the SDK for Go."""
    detail = error.response.get("Error", {})
    code, message = str(detail.get("Code", "")), str(detail.get("Message", ""))
    metadata = error.response.get("ResponseMetadata", {})
    status = int(metadata.get("HTTPStatusCode", 0))
    model = client.meta.service_model
    modelled = {
        str(shape.metadata.get("error", {}).get("code") or shape.name)
        for shape in model.operation_model(error.operation_name).error_shapes
    }
    words = f"{code}: {message}" if code in modelled else f"api error {code}: {message}"
    text = (
        f"operation error {model.service_id}: {error.operation_name}, https response error "
        f"StatusCode: {status}, RequestID: {metadata.get('RequestId', '')}, {words}"
    )
    return AwsError(text, code, message, status)


class Clients:
    """boto3 clients of one configuration, made once a service and region. Safe for threads."""

    def __init__(
        self,
        session: boto3.Session,
        endpoints: Mapping[str, str],
        *,
        max_retries: int = 25,
        path_style: bool = False,
    ) -> None:
        self._session = session
        self._endpoints = endpoints
        self._lock = threading.Lock()
        self._clients: dict[tuple[str, str], Any] = {}
        self.max_retries = max_retries
        # botocore's own retries would pause in real time; `Clients.call` retries in modelled time.
        self._config = botocore.config.Config(
            retries={"total_max_attempts": 1},
            max_pool_connections=64,
            s3={"addressing_style": "path"} if path_style else None,
        )

    def client(self, service: str, region: str) -> Any:
        """The client for a boto3 service name."""
        with self._lock:
            found = self._clients.get((service, region))
            if found is None:
                found = self._session.client(
                    service,
                    region_name=region,
                    endpoint_url=self._endpoints.get(service),
                    config=self._config,
                )
                self._clients[service, region] = found
            return found

    def call(
        self, service: str, region: str, operation: str, parameters: Mapping[str, Any], cancel: Cancellation
    ) -> dict[str, Any]:
        """Call `operation` (boto3's method name), leaving out None; throttles and server errors are retried.

        AwsError for what AWS refuses, ProviderError when it cannot be reached or the call is malformed,
        CancelledError once the engine has cancelled.
        """
        client = self.client(service, region)
        given = {key: value for key, value in parameters.items() if value is not None}
        for attempt in range(self.max_retries + 1):
            cancel.check()  # the SDK for Go sends nothing once its context is cancelled
            last = attempt == self.max_retries
            try:
                answer: dict[str, Any] = getattr(client, operation)(**given)
            except botocore.exceptions.ClientError as error:
                failure: ProviderError = aws_error(error, client)
                status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
                code = error.response.get("Error", {}).get("Code")
                if last or not (code in _THROTTLES or status >= 500):
                    raise failure from None
            except (
                botocore.exceptions.ConnectionError,
                botocore.exceptions.HTTPClientError,
            ) as error:
                failure = ProviderError(
                    f"operation error {client.meta.service_model.service_id}: request send failed, {error}"
                )
                if last:
                    raise failure from None
            except botocore.exceptions.BotoCoreError as error:
                raise ProviderError(f"{service} {operation}: {error}") from None
            else:
                return answer
            cancel.pause(min(20.0, 0.5 * 2**attempt))
        raise AssertionError("unreachable")


class Call:
    """The working set of one call on a resource or function.

    `inputs` are the checked new inputs, `state` the old outputs, `tags` all tags wanted, `id` the
    resource's id, `timeout` the limit of this operation in modelled seconds.
    """

    def __init__(
        self,
        clients: Clients,
        *,
        region: str,
        account_id: str,
        partition: str = "aws",
        cancellation: Cancellation | None = None,
        inputs: Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | None = None,
        id: str = "",
        timeout: float = 1200.0,
        changes: Iterable[str] = (),
    ) -> None:
        self.clients = clients
        self.region = region
        self.account_id = account_id
        self.partition = partition
        self.cancellation = cancellation or Cancellation()
        self.inputs: dict[str, Any] = dict(inputs or {})
        self.state: dict[str, Any] = dict(state or {})
        self.id = id
        self.timeout = timeout
        self.changes = frozenset(changes)
        self._deadline: clock.Deadline | None = None

    @property
    def tags(self) -> dict[str, str]:
        """All tags the resource should have, the provider's default ones included."""
        return dict(self.inputs.get("tagsAll") or {})

    def arn(self, service: str, resource: str, *, regional: bool = True, account: bool = True) -> str:
        """An ARN of this account and region."""
        region = self.region if regional else ""
        return f"arn:{self.partition}:{service}:{region}:{self.account_id if account else ''}:{resource}"

    def changed(self, *paths: str) -> bool:
        """Whether one of `paths`, something in it or something around it, differs from the old state."""
        return any(
            change == path or change.startswith(f"{path}.") or path.startswith(f"{change}.")
            for change in self.changes
            for path in paths
        )

    def aws(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        """Call AWS in this resource's region. AwsError when refused."""
        return self.clients.call(service, self.region, operation, parameters, self.cancellation)

    def find(self, service: str, operation: str, *missing: str, **parameters: Any) -> dict[str, Any] | None:
        """Call AWS; None when it answers one of the error codes `missing`."""
        try:
            return self.aws(service, operation, **parameters)
        except AwsError as error:
            if error.aws_code in missing:
                return None
            raise

    def pages(self, service: str, operation: str, key: str, **parameters: Any) -> list[Any]:
        """All of list `key` over the pages of an operation."""
        return list(self._pages(service, operation, key, parameters))

    def _pages(self, service: str, operation: str, key: str, parameters: Mapping[str, Any]) -> Iterator[Any]:
        client = self.clients.client(service, self.region)
        if not client.can_paginate(operation):
            yield from self.aws(service, operation, **parameters).get(key, [])
            return
        paginator = client.get_paginator(operation)
        tokens = paginator._pagination_cfg
        inputs, outputs = tokens["input_token"], tokens["output_token"]
        names = inputs if isinstance(inputs, list) else [inputs]
        sources = outputs if isinstance(outputs, list) else [outputs]
        given = dict(parameters)
        while True:
            page = self.aws(service, operation, **given)
            yield from page.get(key, [])
            following = {name: page.get(source) for name, source in zip(names, sources, strict=True)}
            if not any(following.values()) or page.get("IsTruncated") is False:
                return
            given.update(following)

    def pause(self, seconds: float) -> None:
        """Let modelled seconds pass; CancelledError when the engine cancels."""
        self.cancellation.pause(max(seconds, SHORTEST_PAUSE * clock.speed()))

    def retry(
        self,
        action: Callable[[], T],
        retryable: Callable[[AwsError], bool],
        timeout: float = PROPAGATION_SECONDS,
    ) -> T:
        """`action()`, again while `retryable` says so of its AwsError, until `timeout`; then that error."""
        deadline = clock.Deadline(timeout)
        pause = 0.5
        while True:
            try:
                return action()
            except AwsError as error:
                if not retryable(error) or deadline.expired():
                    raise
            self.pause(min(pause, LONGEST_BACKOFF))
            pause *= 2

    def wait(
        self,
        refresh: Callable[[], tuple[Any, str]],
        *,
        pending: Iterable[str] = (),
        target: Iterable[str],
        timeout: float | None = None,
        interval: float = 10.0,
        reason: Callable[[Any], str] = lambda found: "",
    ) -> Any:
        """Wait until the state `refresh` answers is one of `target`; an empty target means until it is gone.

        `refresh` answers (thing or None, state). `pending` empty means every other state is waited
        out. `reason` gives the cause shown after an unexpected state.

        Raises UnexpectedStateError, WaitTimeoutError or CancelledError, with the provider's words.
        """
        wanted, waiting = tuple(target), frozenset(pending)
        limit = self.timeout if timeout is None else timeout
        deadline = clock.Deadline(limit)
        missing, last, pause = 0, "", 0.5
        while True:
            expired = deadline.expired()
            found, last_now = refresh()
            if found is None:
                if not wanted:
                    return None
                missing += 1
                if missing > NOT_FOUND_TRIES:
                    raise UnexpectedStateError(f"couldn't find resource ({missing} retries)")
            else:
                missing, last = 0, last_now
                if last in wanted:
                    return found
                if waiting and last not in waiting:
                    cause = reason(found)
                    raise UnexpectedStateError(
                        f"unexpected state '{last}', wanted target '{', '.join(wanted)}'."
                        f" last error: {cause or '%!s(<nil>)'}"
                    )
            if expired:
                goal = f"state to become '{', '.join(wanted)}'" if wanted else "resource to be gone"
                raise WaitTimeoutError(
                    f"timeout while waiting for {goal} (last state: '{last}', timeout: {go_duration(limit)})"
                )
            self.pause(min(pause, interval, max(deadline.remaining(), 0.1)))
            pause *= 2


__all__ = [
    "EC2_PROPAGATION_SECONDS",
    "PROPAGATION_SECONDS",
    "AwsError",
    "Call",
    "CancelledError",
    "Clients",
    "UnexpectedStateError",
    "WaitTimeoutError",
    "aws_error",
    "go_duration",
]
