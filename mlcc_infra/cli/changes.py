"""What an engine says it changed, read from its event log while its output stays the user's.

``--event-log FILE`` writes one JSON object for each event of the engine, whatever is displayed. It is an
option for programs: the CLI has it when PULUMI_DEBUG_COMMANDS is set, which is how Pulumi's own Automation
API asks for it (pulumi/sdk python/lib/pulumi/automation/_stack.py). Form of the events: pulumi/sdk
go/common/apitype/events.go, ``SummaryEvent``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: What the engine calls an operation, and what people call what it did, in the order of a table.
_WORDS = (
    (("create",), "created"),
    (("import", "import-replacement"), "imported"),
    (("update",), "updated"),
    (("replace",), "replaced"),
    (("delete",), "deleted"),
    (("same",), "unchanged"),
)


@dataclass(frozen=True)
class Changes:
    """How many resources an update created, imported, updated, replaced, deleted, and left unchanged."""

    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        """How many were changed."""
        return sum(count for word, count in self.counts.items() if word != "unchanged")

    def __str__(self) -> str:
        return ", ".join(f"{self.counts[word]} {word}" for _, word in _WORDS if self.counts.get(word))


def logged(command: Sequence[str], log: Path) -> tuple[list[str], dict[str, str]]:
    """`command`, a `pulumi` one, so that its engine writes events to `log`; and the environment it needs."""
    return [*command, "--event-log", str(log)], {**os.environ, "PULUMI_DEBUG_COMMANDS": "true"}


def _events(log: Path) -> Iterator[dict[str, Any]]:
    if log.is_file():
        for line in log.read_text().splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue  # the last line of an engine that was killed
            if isinstance(event, dict):
                yield event


def read_changes(log: Path) -> Changes | None:
    """What the update that wrote `log` did; None when it ended without a summary, or was a preview alone."""
    summaries = [event["summaryEvent"] for event in _events(log) if "summaryEvent" in event]
    done = [summary for summary in summaries if not summary.get("isPreview")]
    if not done:
        return None
    found = done[-1].get("resourceChanges") or {}
    counts = {word: sum(int(found.get(name, 0)) for name in names) for names, word in _WORDS}
    return Changes({word: count for word, count in counts.items() if count})
