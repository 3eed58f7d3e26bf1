"""The API log: one line of JSON for each AWS call, and the same in memory for the control address."""

from __future__ import annotations

import json
import re
from collections import deque
from pathlib import Path
from typing import IO, Any

_KEPT = 20_000

_JSON_CODE = re.compile(r'"(?:__type|code|Code)"\s*:\s*"(?:[^"#]*#)?([^"]+)"')
_XML_CODE = re.compile(r"<Code>([^<]+)</Code>")


class Journal:
    """Keeps the calls of one cloud; the file has one line a call, in the order they were answered."""

    def __init__(self, path: Path | None) -> None:
        self._calls: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        self._file: IO[str] | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a", encoding="utf-8", buffering=1)

    def write(self, entry: dict[str, Any], *, law: str | None = None) -> None:
        """Add one call.  ``law`` is kept in memory only: the file's schema is a contract."""
        self._calls.append({**entry, "law": law} if law else entry)
        if self._file is not None:
            self._file.write(json.dumps(entry, separators=(",", ":")) + "\n")

    def calls(self) -> list[dict[str, Any]]:
        """The calls so far, oldest first."""
        return list(self._calls)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def error_code(status: int, headers: dict[str, str], body: bytes) -> str | None:
    """AWS's code of an answer that is an error, or None; a HEAD answer has only its status."""
    if status < 400:
        return None
    kind = headers.get("x-amzn-errortype")
    if kind:
        return kind.split(":", 1)[0].rsplit("#", 1)[-1]
    text = body[:4096].decode("utf-8", "replace")
    found = _XML_CODE.search(text) or _JSON_CODE.search(text)
    return found.group(1) if found else str(status)
