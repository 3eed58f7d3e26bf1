"""Property values of the plugin protocol as Python values, and back.

The engine sends a ``google.protobuf.Struct`` in which some values are marked by a signature:
unknowns (a well-known string), secrets, outputs, assets, archives and resource references
(maps with a signature key). Source: pulumi/sdk ``go/common/resource/plugin/rpc.go`` and
``sig`` constants, read at v3.276.0; the constants come from the installed Python SDK.

`from_struct` answers plain Python values, with `UNKNOWN` for unknowns, `Secret` for secrets,
`ResourceReference` for references and `Asset` for assets and archives. `to_struct` is its
inverse. Whole numbers come back as ``int``: the protocol only has doubles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from google.protobuf import struct_pb2
from pulumi.runtime import rpc

_SIGNATURE: Final = str(rpc._special_sig_key)
_SECRET: Final = str(rpc._special_secret_sig)
_OUTPUT: Final = str(rpc._special_output_value_sig)
_RESOURCE: Final = str(rpc._special_resource_sig)
_ASSET: Final = str(rpc._special_asset_sig)
_ARCHIVE: Final = str(rpc._special_archive_sig)
_UNKNOWN_STRING: Final = str(rpc.UNKNOWN)
# The engine has one unknown a kind of value; the SDK writes the first, older engines others.
_UNKNOWN_STRINGS: Final = frozenset(
    {
        _UNKNOWN_STRING,
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # bool
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # array
        "030794c1-ac77-496b-92df-f27374a8bd58",  # asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # archive
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # object
    }
)


class Unknown:
    """The value of a property that is not known before the update runs. There is one instance: `UNKNOWN`."""

    _instance: Unknown | None = None

    def __new__(cls) -> Unknown:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __deepcopy__(self, memo: dict[int, Any]) -> Unknown:
        return self

    def __bool__(self) -> bool:
        return True


UNKNOWN: Final = Unknown()


@dataclass(frozen=True)
class Secret:
    """A value the engine keeps encrypted in the state and hides on the screen."""

    value: Any

    def __repr__(self) -> str:
        return "Secret(…)"


@dataclass(frozen=True)
class ResourceReference:
    """A resource given as a property value; `id` is None for components, `UNKNOWN` in previews."""

    urn: str
    id: Any = None
    version: str = ""


@dataclass(frozen=True)
class Asset:
    """An asset or archive; `fields` as the protocol carries them: text, path, uri, hash, assets."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    archive: bool = False

    def content(self) -> bytes:
        """The bytes of a text or file asset. ValueError for what this rehearsal does not read."""
        if self.archive:
            raise ValueError("an archive has no single content")
        if self.fields.get("path"):
            return Path(str(self.fields["path"])).read_bytes()
        if "text" in self.fields:
            return str(self.fields["text"]).encode()
        raise ValueError("only text and file assets can be read: a rehearsal opens no other address")


def _value_from(value: struct_pb2.Value, keep_secrets: bool) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return UNKNOWN if value.string_value in _UNKNOWN_STRINGS else value.string_value
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    if kind == "list_value":
        return [_value_from(item, keep_secrets) for item in value.list_value.values]
    if kind == "struct_value":
        return _map_from(value.struct_value, keep_secrets)
    return None


def _map_from(struct: struct_pb2.Struct, keep_secrets: bool) -> Any:
    plain = {key: _value_from(value, keep_secrets) for key, value in struct.fields.items()}
    signature = plain.get(_SIGNATURE)
    if signature is None:
        return plain
    if signature == _SECRET:
        return Secret(plain.get("value")) if keep_secrets else plain.get("value")
    if signature == _OUTPUT:
        value = plain.get("value", UNKNOWN)
        return Secret(value) if plain.get("secret") and keep_secrets else value
    if signature == _RESOURCE:
        return ResourceReference(
            urn=str(plain["urn"]),
            id=UNKNOWN if plain.get("id") == "" else plain.get("id"),
            version=str(plain.get("packageVersion", "")),
        )
    if signature in (_ASSET, _ARCHIVE):
        fields = {key: value for key, value in plain.items() if key != _SIGNATURE}
        return Asset(fields, archive=signature == _ARCHIVE)
    raise ValueError(f"the engine sent a value with an unknown signature {signature!r}")


def from_struct(struct: struct_pb2.Struct | None, *, keep_secrets: bool = False) -> dict[str, Any]:
    """The property map in `struct`. Without `keep_secrets`, secrets are plain values. None answers {}."""
    if struct is None:
        return {}
    plain = _map_from(struct, keep_secrets)
    if not isinstance(plain, dict):
        raise ValueError("a property map cannot be a single marked value")
    return plain


def _marked(value: Secret | ResourceReference | Asset) -> dict[str, Any]:
    if isinstance(value, Secret):
        return {_SIGNATURE: _SECRET, "value": value.value}
    if isinstance(value, Asset):
        return {**value.fields, _SIGNATURE: _ARCHIVE if value.archive else _ASSET}
    fields: dict[str, Any] = {_SIGNATURE: _RESOURCE, "urn": value.urn}
    if value.id is not None:
        fields["id"] = "" if value.id is UNKNOWN else value.id
    if value.version:
        fields["packageVersion"] = value.version
    return fields


def _value_to(value: Any) -> struct_pb2.Value:
    if value is None:
        return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
    if value is UNKNOWN:
        return struct_pb2.Value(string_value=_UNKNOWN_STRING)
    if isinstance(value, bool):
        return struct_pb2.Value(bool_value=value)
    if isinstance(value, int | float):
        return struct_pb2.Value(number_value=float(value))
    if isinstance(value, str):
        return struct_pb2.Value(string_value=value)
    if isinstance(value, Secret | ResourceReference | Asset):
        return struct_pb2.Value(struct_value=_struct(_marked(value)))
    if isinstance(value, Mapping):
        return struct_pb2.Value(struct_value=_struct(value))
    if isinstance(value, list | tuple | set | frozenset):
        return struct_pb2.Value(list_value=struct_pb2.ListValue(values=[_value_to(item) for item in value]))
    raise TypeError(f"{type(value).__name__} is no property value: {value!r}")


def _struct(mapping: Mapping[str, Any]) -> struct_pb2.Struct:
    return struct_pb2.Struct(fields={str(key): _value_to(value) for key, value in mapping.items()})


def to_struct(mapping: Mapping[str, Any]) -> struct_pb2.Struct:
    """The struct for a property map. Nulls stay; TypeError for a value the protocol cannot carry."""
    return _struct(mapping)


def unmarked(value: Any) -> Any:
    """`value` without secret marks, at every depth."""
    if isinstance(value, Secret):
        return unmarked(value.value)
    if isinstance(value, Mapping):
        return {key: unmarked(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [unmarked(item) for item in value]
    return value


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Secret):
        yield from _leaves(value.value)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, ResourceReference):
        yield value.id
    else:
        yield value


def contains_unknown(value: Any) -> bool:
    """Whether an unknown is anywhere in `value`."""
    return any(leaf is UNKNOWN for leaf in _leaves(value))


def type_of(urn: str) -> str:
    """The resource type in a URN, without the parents' types: ``aws:iam/role:Role``."""
    return urn.split("::")[2].split("$")[-1]


def name_of(urn: str) -> str:
    """The logical name in a URN."""
    return urn.split("::", 3)[3]
