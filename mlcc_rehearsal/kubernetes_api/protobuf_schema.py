"""Makes ``protobuf_fields.json``: which field of which message has which number.

    python -m mlcc_rehearsal.kubernetes_api.protobuf_schema K8S_IO_API K8S_IO_APIMACHINERY

with the folders of the two Go modules (``go list -m -f '{{.Dir}}' k8s.io/api``) prints it. Only what the
kinds of ``catalogue`` and a few bodies of subresources lead to is kept.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from mlcc_rehearsal.kubernetes_api.catalogue import builtin_resources
from mlcc_rehearsal.kubernetes_api.protobuf_bodies import message_of

Fields = dict[str, list[str]]

_MORE = (
    ("v1", "Binding"),
    ("v1", "DeleteOptions"),
    ("authentication.k8s.io/v1", "TokenRequest"),
    ("autoscaling/v1", "Scale"),
    ("policy/v1", "Eviction"),
)
_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\s*(optional|repeated) (\S+) (\w+) = (\d+)", re.MULTILINE)
_MAP = re.compile(r"^\s*map<string, (\S+)> (\w+) = (\d+)", re.MULTILINE)
_SCALARS = frozenset({"string", "bytes", "bool", "int32", "int64", "double"})


def read_messages(folders: list[Path]) -> dict[str, Fields]:
    """{message: {number: [field, label, type]}} of every ``generated.proto`` below some folders."""
    found: dict[str, Fields] = {}
    for path in sorted(path for folder in folders for path in folder.rglob("generated.proto")):
        text = path.read_text()
        declared = re.search(r"^package (\S+);", text, re.MULTILINE)
        if declared is None:
            continue
        package = _short(declared[1])
        for message, body in _MESSAGE.findall(text):
            fields: Fields = {}
            for label, kind, name, number in _FIELD.findall(body):
                # A few fields have the name of Go's field; JSON's begins with a small letter.
                fields[number] = [name[0].lower() + name[1:], label, _resolved(kind, package)]
            for kind, name, number in _MAP.findall(body):
                fields[number] = [name, "map", _resolved(kind, package)]
            found[f"{package}.{message}"] = fields
    return found


def reachable(messages: dict[str, Fields]) -> dict[str, Fields]:
    """The messages that the served kinds lead to."""
    kinds = [(resource.api_version, resource.kind) for resource in builtin_resources()]
    waiting = [message_of(api_version, kind) for api_version, kind in [*kinds, *_MORE]]
    kept: dict[str, Fields] = {}
    while waiting:
        name = waiting.pop()
        if name in kept or name not in messages:
            continue
        kept[name] = messages[name]
        waiting += [kind for _, _, kind in messages[name].values() if kind not in _SCALARS]
    return dict(sorted(kept.items()))


def _short(package: str) -> str:
    return package.removeprefix("k8s.io.api.").removeprefix("k8s.io.apimachinery.pkg.apis.")


def _resolved(kind: str, package: str) -> str:
    if kind in _SCALARS:
        return kind
    return _short(kind.removeprefix(".")) if "." in kind else f"{package}.{kind}"


def main() -> None:
    """Print the file for the folders on the command line."""
    messages = reachable(read_messages([Path(argument) for argument in sys.argv[1:]]))
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(fields)}" for name, fields in messages.items())
    source = "generated.proto of k8s.io/api and k8s.io/apimachinery, Apache-2.0; see protobuf_schema.py"
    print(f'{{"source": {json.dumps(source)}, "messages": {{\n{lines}\n}}}}')


if __name__ == "__main__":
    main()
