"""Request bodies in protobuf, which ``kubectl create`` and other typed Go clients send since Kubernetes 1.32.

Answers stay JSON, which these clients take as well. Field numbers are in ``protobuf_fields.json``, made by
``protobuf_schema`` from the ``generated.proto`` files of k8s.io/api and k8s.io/apimachinery. Source of the
envelope: ``k8s.io/apimachinery/pkg/runtime/serializer/protobuf`` (``k8s`` NUL, then ``runtime.Unknown``).
"""

from __future__ import annotations

import base64
import datetime
import functools
import json
import struct
from collections.abc import Iterator
from importlib import resources
from typing import Any

from mlcc_rehearsal.kubernetes_api.status import ApiError, Object, bad_request

MAGIC = b"k8s\x00"
MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_INLINE = frozenset(
    {"localObjectReference", "volumeSource", "ephemeralContainerCommon", "handler", "ingressRuleValue",
     "persistentVolumeSource"}
)  # fmt: skip
"""Go structs embedded in others: a field in protobuf, none in JSON."""
_META = "meta.v1"
_ZERO_COUNTS = frozenset(
    {"activeDeadlineSeconds", "backoffLimit", "completions", "failedJobsHistoryLimit", "fsGroup",
     "gracePeriodSeconds", "parallelism", "partition", "replicas", "revisionHistoryLimit", "runAsGroup",
     "runAsUser", "successfulJobsHistoryLimit", "terminationGracePeriodSeconds", "ttlSecondsAfterFinished"}
)  # fmt: skip
_EMPTY_COUNTS = frozenset({"emptyDir", "namespaceSelector", "podSelector", "selector"})


def decode(body: bytes) -> Object:
    """The object in a protobuf body.

    Raises:
        ApiError: 400 for bytes that are no such body, 415 for a kind whose fields are not known.
    """
    if not body.startswith(MAGIC):
        raise bad_request("the body of the request is not Kubernetes protobuf")
    envelope: dict[int, bytes] = {}
    for number, _, value in _wire(body[len(MAGIC) :]):
        envelope[number] = value if isinstance(value, bytes) else b""
    names = {number: value.decode() for number, _, value in _wire(envelope.get(1, b""))}
    api_version, kind = names.get(1, ""), names.get(2, "")
    message = message_of(api_version, kind)
    if message not in _messages():
        text = f"the rehearsal cannot read {kind} of {api_version} in protobuf: send application/json"
        raise ApiError(415, "UnsupportedMediaType", text)
    return {"apiVersion": api_version, "kind": kind, **_message(envelope.get(2, b""), message)}


def message_of(api_version: str, kind: str) -> str:
    """The message of a kind: ``apps.v1.Deployment``."""
    if kind in ("DeleteOptions", "PatchOptions"):
        return f"{_META}.{kind}"
    group, _, version = api_version.rpartition("/")
    return f"{group.partition('.')[0] or 'core'}.{version}.{kind}"


def _message(data: bytes, message: str) -> Any:
    special = _SPECIAL.get(message.rpartition(".")[2])
    if special is not None:
        return special({number: value for number, _, value in _wire(data)})
    fields = _messages()[message]
    found: Object = {}
    for number, _, value in _wire(data):
        if str(number) not in fields:
            continue
        name, label, declared = fields[str(number)]
        if label == "map":
            entry = {n: v for n, _, v in _wire(value)}
            key = entry.get(1, b"").decode()
            found.setdefault(name, {})[key] = _value(entry.get(2, b""), declared)
        elif label == "repeated":
            found.setdefault(name, []).append(_value(value, declared))
        elif name in _INLINE:
            found.update(_value(value, declared))
        else:
            found[name] = _value(value, declared)
    return _without_empty(found)


def _value(value: Any, declared: str) -> Any:
    if declared == "string":
        return value.decode()
    if declared == "bytes":
        return base64.b64encode(value).decode("ascii")
    if declared == "bool":
        return bool(value)
    if declared in ("int32", "int64"):
        return value - (1 << 64) if value >= 1 << 63 else value
    if declared == "double":
        return struct.unpack("<d", value)[0]
    return _message(value, declared)


def _without_empty(found: Object) -> Object:
    """Go writes what is not set as zero where its field is no pointer; JSON leaves it out."""
    return {key: value for key, value in found.items() if not _is_unset(key, value)}


def _is_unset(key: str, value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return value == 0 and key not in _ZERO_COUNTS
    return value is None or (value in ("", {}) and key not in _EMPTY_COUNTS)


def _time(fields: dict[int, Any]) -> str | None:
    if not fields.get(1):
        return None
    moment = datetime.datetime.fromtimestamp(fields[1], datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _int_or_string(fields: dict[int, Any]) -> Any:
    return fields.get(3, b"").decode() if fields.get(1) else fields.get(2, 0)


def _raw_json(fields: dict[int, Any]) -> Any:
    return json.loads(fields.get(1, b"") or b"null")


_SPECIAL: dict[str, Any] = {
    "FieldsV1": _raw_json,
    "IntOrString": _int_or_string,
    "JSON": _raw_json,
    "MicroTime": _time,
    "Quantity": lambda fields: fields.get(1, b"").decode(),
    "RawExtension": _raw_json,
    "Time": _time,
}


def _wire(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """(field number, wire type, value) of a message: int for varints, bytes for all else."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, position = _varint(data, position)
            yield number, kind, value
            continue
        if kind == _BYTES:
            length, position = _varint(data, position)
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
        else:
            raise bad_request(f"the body of the request is not protobuf: wire type {kind}")
        yield number, kind, data[position : position + length]
        position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data):
            raise bad_request("the body of the request is not protobuf: it ends too early")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


@functools.cache
def _messages() -> dict[str, dict[str, list[str]]]:
    text = resources.files("mlcc_rehearsal.kubernetes_api").joinpath("protobuf_fields.json").read_text()
    messages: dict[str, dict[str, list[str]]] = json.loads(text)["messages"]
    return messages
