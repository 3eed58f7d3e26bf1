"""The states that a release leaves in its stacks' backends, and how one is laid over another account.

`tests/releases/<version>/states` holds an export of each stack after its first `up` on a rehearsed account.
Record those of this version, once it is released, with

    python -m tests.recorded_states
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import mlcc_infra
from tests.record_names import FOLDER, STACKS

SCRIPT = Path(__file__).parent / "engine" / "scripts" / "release_life.py"
# Not made by AWS: what a release wrote there has to stay as it wrote it.
OF_THE_RELEASE = ("__provider", "tags", "tagsAll")
# The id in the address of an EKS cluster's OIDC issuer.
ISSUER = re.compile("[0-9A-F]{32}")


def recorded_state(version: str, stack: str) -> dict[str, Any]:
    """The export that a release's record holds for a stack."""
    found: dict[str, Any] = json.loads(gzip.decompress(_file(version, stack).read_bytes()))
    return found


def in_account_of(record: Mapping[str, Any], export: Mapping[str, Any]) -> dict[str, Any]:
    """The recorded state as it would be in the account of `export`, a state of the same stack.

    What AWS gave (ids, issuers, addresses) is replaced by what it gave there; what the
    release asked for stays.
    """
    given = _given(record, export)
    inside = {old: new for old, new in given.items() if len(old) >= 8 and re.search("[0-9]", old)}
    pattern = re.compile("|".join(re.escape(old) for old in sorted(inside, key=len, reverse=True)) or r"(?!)")

    def moved(value: Any) -> Any:
        if isinstance(value, str):
            return given.get(value) or pattern.sub(lambda found: inside[found[0]], value)
        if isinstance(value, list):
            return [moved(item) for item in value]
        if isinstance(value, dict):
            return {key: item if key in OF_THE_RELEASE else moved(item) for key, item in value.items()}
        return value

    # Encrypted with the salt of the stack that it is put into.
    deployment = {
        **moved(record["deployment"]),
        "secrets_providers": export["deployment"]["secrets_providers"],
    }
    return {**record, "deployment": deployment}


def _given(record: Mapping[str, Any], export: Mapping[str, Any]) -> dict[str, str]:
    there = {found["urn"]: found for found in export["deployment"]["resources"]}
    given: dict[str, str] = {}
    for old in record["deployment"]["resources"]:
        new = there.get(old["urn"])
        if new is None or not old.get("custom") or old["type"].startswith("pulumi:"):
            continue
        asked = dict(_leaves(old.get("inputs")))
        now = dict(_leaves({**(new.get("outputs") or {}), "id": new["id"]}))
        for path, value in _leaves({**(old.get("outputs") or {}), "id": old["id"]}):
            there_now = now.get(path)
            if not value or not isinstance(value, str) or not isinstance(there_now, str):
                continue
            # What was asked for is the release's, unless it is an issuer, which was read off a cluster.
            asked_for = path in asked and ISSUER.sub("", value) != ISSUER.sub("", there_now)
            if value != there_now and not asked_for:
                given.setdefault(value, there_now)
    return given


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in OF_THE_RELEASE:
                yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _leaves(item, (*path, str(position)))
    else:
        yield path, value


def _file(version: str, stack: str) -> Path:
    return FOLDER / version / "states" / f"{stack}.json.gz"


def main() -> None:
    for stack in STACKS:
        file = _file(mlcc_infra.__version__, stack)
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            exported = Path(folder) / "export.json"
            variables = {"MLCC_RELEASE_STACK": stack, "MLCC_RELEASE_RECORD": str(exported)}
            command = [sys.executable, "-m", "mlcc_infra.cli", "rehearse", "--speed", "240", "--"]
            play = [sys.executable, str(SCRIPT), str(Path(folder) / "acts.json")]
            subprocess.run([*command, *play], check=True, env={**os.environ, **variables})
            compact = json.dumps(json.loads(exported.read_text()), separators=(",", ":"), sort_keys=True)
        file.write_bytes(gzip.compress(compact.encode(), mtime=0))
        print(f"{stack}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
