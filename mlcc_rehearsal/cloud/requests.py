"""Naming a request: which service and operation it is, who sends it, what it is about."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote

import botocore.session

# Credential scopes that differ from botocore's service name.
# Source: endpointPrefix/signingName of botocore's service models.
_SIGNING_NAMES = {
    "aps": "amp",
    "elasticloadbalancing": "elbv2",
    "monitoring": "cloudwatch",
    "servicequotas": "service-quotas",
    "tagging": "resourcegroupstaggingapi",
}
# Two services sign as elasticloadbalancing; the API version tells them apart.
_CLASSIC_LOAD_BALANCING = "2012-06-01"

_READING = re.compile(
    r"^(Get|List|Describe|Head|Simulate|BatchGet|Query|Search|Lookup|Select|Filter|Validate|Estimate|Test|"
    r"Assume|Decode|Check|Preview|Scan|Detect)"
)

# Parameters that say what a call is about, the most telling first.
_TELLING = (
    "resourceArn",
    "ResourceARN",
    "ResourceArn",
    "RoleName",
    "PolicyArn",
    "InstanceProfileName",
    "UserName",
    "OpenIDConnectProviderArn",
    "PolicyName",
    "Bucket",
    "StackName",
    "logGroupName",
    "Name",
    "name",
    "clusterName",
    "ClusterName",
    "SecurityGroupId",
    "GroupId",
    "SubnetId",
    "NatGatewayId",
    "InternetGatewayId",
    "RouteTableId",
    "AssociationId",
    "AllocationId",
    "VpcEndpointId.1",
    "VpcEndpointId",
    "NetworkInterfaceId",
    "LaunchTemplateId",
    "LaunchTemplateName",
    "ResourceId.1",
    "VpcId",
    "GroupName",
    "FunctionName",
    "path",
    "Path",
    "PathPrefix",
    "Names",
    "PolicySourceArn",
)
# What is inside an EKS cluster is named by the cluster and one of these.
_EKS_PARTS = ("nodegroupName", "addonName", "fargateProfileName", "principalArn", "associationId", "updateId")


@dataclass
class NamedRequest:
    """A request and what it is.

    :ivar service: botocore's name of the service (``eks``, ``ec2``, ``resourcegroupstaggingapi``).
    :ivar operation: the operation's name, or ``Unknown``.
    :ivar parameters: as far as they are cheap to know: flat for query services, the body otherwise.
    """

    method: str
    path: str
    service: str
    operation: str
    region: str
    access_key_id: str | None
    signed: bool
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def mutating(self) -> bool:
        """Whether the operation changes anything in the account; a dry run changes nothing."""
        if str(self.parameters.get("DryRun", "")).lower() == "true":
            return False
        return self.operation != "Unknown" and not _READING.match(self.operation)

    @property
    def resource(self) -> str | None:
        """The identifier of what the call is about, as far as the request names it."""
        named = next((str(self.parameters[key]) for key in _TELLING if self.parameters.get(key)), None)
        if self.service == "eks":
            parts = [str(self.parameters[key]) for key in _EKS_PARTS if self.parameters.get(key)]
            return "/".join([named, *parts]) if named and parts else named or (parts[0] if parts else None)
        if self.service == "s3" and named and self.parameters.get("Key"):
            return f"{named}/{self.parameters['Key']}"
        return named


# What EC2 calls the identifier of what a call made; for others it is "<thing>Id".
_MADE = {"AllocateAddress": "allocationId", "CreateSecurityGroup": "groupId", "RunInstances": "instanceId"}


def made_resource(request: NamedRequest, content: bytes) -> str | None:
    """The identifier of what an EC2 call made, out of its answer; None for everything else."""
    if request.service != "ec2" or not request.operation.startswith(("Create", "Allocate", "Run")):
        return None
    thing = request.operation.removeprefix("Create")
    tag = _MADE.get(request.operation, thing[:1].lower() + thing[1:] + "Id")
    found = re.search(rf"<{tag}>([^<]+)</{tag}>".encode(), content)
    return found.group(1).decode() if found else None


def read_body(environ: dict[str, Any]) -> bytes:
    """The request's body, left readable again in ``environ``."""
    stream = environ["wsgi.input"]
    if environ.get("wsgi.input_terminated"):
        body = bytes(stream.read())
    else:
        body = bytes(stream.read(int(environ.get("CONTENT_LENGTH") or 0)))
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def name_request(environ: dict[str, Any], body: bytes, *, default_region: str) -> NamedRequest:
    """Say what the request in ``environ`` is.

    The service is the one in the credential scope (``Authorization`` header or a presigned address); the
    operation comes from ``X-Amz-Target``, ``Action`` or, for REST services, botocore's model of its paths.
    """
    query = {key: values[0] for key, values in parse_qs(environ.get("QUERY_STRING", "")).items()}
    form: dict[str, str] = {}
    if environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded"):
        form = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    access_key_id, region, scope = _credential(environ, query)
    parameters: dict[str, Any] = {**query, **form}
    service = _service(scope, parameters, environ)
    request = NamedRequest(
        method=environ["REQUEST_METHOD"],
        path=unquote(environ.get("PATH_INFO", "/")),
        service=service,
        operation="Unknown",
        region=region or default_region,
        access_key_id=access_key_id,
        signed=access_key_id is not None,
        parameters=parameters,
    )
    target = environ.get("HTTP_X_AMZ_TARGET")
    if target:
        request.operation = target.rsplit(".", 1)[-1]
        parameters.update(_json_object(body))
    elif "Action" in parameters:
        request.operation = str(parameters["Action"])
    else:
        _match_rest(request, environ, body)
    return request


def _credential(environ: dict[str, Any], query: dict[str, str]) -> tuple[str | None, str | None, str | None]:
    header = environ.get("HTTP_AUTHORIZATION", "")
    match = re.search(r"Credential=([^,\s]+)", header)
    scope = match.group(1) if match else query.get("X-Amz-Credential")
    if not scope or scope.count("/") < 4:
        return None, None, None
    key, _date, region, service, _terminator = scope.rsplit("/", 4)
    return key, region, service


def _service(scope: str | None, parameters: dict[str, Any], environ: dict[str, Any]) -> str:
    if scope is None:
        if str(parameters.get("Action", "")).startswith("AssumeRoleWith"):
            return "sts"
        return "s3"  # unsigned requests are reads of public objects
    if scope == "elasticloadbalancing" and parameters.get("Version") == _CLASSIC_LOAD_BALANCING:
        return "elb"
    return _SIGNING_NAMES.get(scope, scope)


def _json_object(body: bytes) -> dict[str, Any]:
    if body[:1] != b"{":
        return {}
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True)
class _Route:
    method: str
    pattern: re.Pattern[str]
    required_query: tuple[tuple[str, str | None], ...]
    operation: str
    weight: tuple[int, int, int]


def _match_rest(request: NamedRequest, environ: dict[str, Any], body: bytes) -> None:
    query = dict(parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True))
    for route in _routes(request.service):
        if route.method != request.method:
            continue
        found = route.pattern.fullmatch(request.path)
        if found is None:
            continue
        if any(
            key not in query or (value is not None and query[key] != value)
            for key, value in route.required_query
        ):
            continue
        request.operation = route.operation
        request.parameters.update(_json_object(body) if request.service != "s3" else {})
        request.parameters.update({key: value for key, value in found.groupdict().items() if value})
        return


@lru_cache(maxsize=32)
def _routes(service: str) -> tuple[_Route, ...]:
    """Paths of a REST service, the most specific first; none for query and JSON services."""
    session = botocore.session.Session()
    if service not in session.get_available_services():
        return ()
    model: Any = session.get_service_model(service)
    if model.metadata["protocol"] not in ("rest-json", "rest-xml"):
        return ()
    routes = []
    for name in model.operation_names:
        http = model.operation_model(name).http
        path, _, query = http["requestUri"].partition("?")
        pattern = re.sub(r"\\\{(\w+)\\\+\\\}", r"(?P<\1>.+)", re.escape(path))
        # An ARN is one parameter, and has slashes of its own: the path comes decoded.
        pattern = re.sub(r"\\\{(\w+Arn)\\\}", r"(?P<\1>.+)", pattern)
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", pattern).rstrip("/") + "/?"
        literals = sum(1 for part in path.split("/") if part and "{" not in part)
        required = tuple((key, value or None) for key, value in parse_qsl(query, keep_blank_values=True))
        routes.append(
            _Route(
                http["method"],
                re.compile(pattern),
                required,
                name,
                (-len(required), -literals, pattern.count("(")),
            )
        )
    # S3 has several operations on one path that differ in headers only; the plain one is first.
    order = {"PutObject": 0, "GetObject": 0, "CreateBucket": 0, "ListObjects": 0, "ListBuckets": 0}
    return tuple(sorted(routes, key=lambda route: (*route.weight, order.get(route.operation, 1))))
