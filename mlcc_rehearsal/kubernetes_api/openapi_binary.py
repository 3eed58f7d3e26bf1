"""The protobuf form of an OpenAPI version 2 document, which Go clients of Kubernetes insist on.

Field numbers: ``openapi_v2.Document`` of github.com/google/gnostic-models, ``openapiv2/OpenAPIv2.proto``.
Only strings and nested messages occur, so that every field is length-delimited (one boolean aside).
"""

from __future__ import annotations

import json
from typing import Any

from mlcc_rehearsal.kubernetes_api.status import Object


def encode_document(document: Object) -> bytes:
    """A document of ``openapi.version_two`` as ``openapi_v2.Document``."""
    info = _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])
    paths = b"".join(
        _message(2, _text(1, path) + _message(2, _path_item(item)))
        for path, item in document["paths"].items()
    )
    definitions = b"".join(
        _message(1, _text(1, name) + _message(2, _schema(schema)))
        for name, schema in document["definitions"].items()
    )
    return _text(1, document["swagger"]) + _message(2, info) + _message(8, paths) + _message(9, definitions)


def _path_item(item: Object) -> bytes:
    operation = item["patch"]
    consumes = b"".join(_text(7, kind) for kind in operation["consumes"])
    parameters = b"".join(
        _message(8, _message(1, _message(2, _message(3, _query_parameter(parameter)))))
        for parameter in operation["parameters"]
    )
    return _message(8, consumes + parameters + _extensions(13, operation))


def _query_parameter(parameter: Object) -> bytes:
    return _text(2, "query") + _text(4, parameter["name"]) + _text(6, parameter["type"])


def _schema(schema: Object) -> bytes:
    encoded = b""
    if "$ref" in schema:
        encoded += _text(1, schema["$ref"])
    if "format" in schema:
        encoded += _text(2, schema["format"])
    further = schema.get("additionalProperties")
    if isinstance(further, dict):
        encoded += _message(21, _message(1, _schema(further)))
    elif further:
        encoded += _message(21, _key(2, 0) + b"\x01")
    if "type" in schema:
        encoded += _message(22, _text(1, schema["type"]))
    if "items" in schema:
        encoded += _message(23, _message(1, _schema(schema["items"])))
    if "properties" in schema:
        properties = b"".join(
            _message(1, _text(1, name) + _message(2, _schema(below)))
            for name, below in schema["properties"].items()
        )
        encoded += _message(25, properties)
    return encoded + _extensions(31, schema)


def _extensions(number: int, holder: Object) -> bytes:
    return b"".join(
        _message(number, _text(1, name) + _message(2, _text(2, json.dumps(value))))
        for name, value in holder.items()
        if name.startswith("x-")
    )


def _text(number: int, value: Any) -> bytes:
    return _message(number, str(value).encode())


def _message(number: int, payload: bytes) -> bytes:
    return _key(number, 2) + _varint(len(payload)) + payload


def _key(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
