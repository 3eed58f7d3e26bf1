"""What the inference operator's controller log says about its watcher. Pure.

SageMaker's watcher shows in no public API (botocore 1.44.8 has no operation for it, and DescribeCluster
tells nothing), only in the log of the controller. The words of success, and "Underlying watcher service is
being deleted", are those the predecessor recorded; the form of failures is that of AWS's troubleshooting
page for model deployment. Unverified on AWS beyond that (facts: inference_addon.json,
enable_cluster_inference).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_SUCCESS = ("watcher enabled", "already enabled", "desired watcher status reached")
_DRAINING = "underlying watcher service is being deleted"
_WATCHER = re.compile(r"inference watcher|(Update|Describe)ClusterInference", re.IGNORECASE)
# What keeps the controller from getting that far; once the watcher is there it is about something else.
_BEFORE = re.compile(r"AssumeRoleWithWebIdentity|unable to start", re.IGNORECASE)
_TROUBLE = re.compile(r"fail|denied|error|not authorized|invalid|unable|could not", re.IGNORECASE)
_HYPERPOD_ARN = re.compile(r"arn:aws[a-z-]*:sagemaker:[a-z0-9-]+:[0-9]{12}:cluster/[a-z0-9]{12}")
_CHANGING = re.compile(r"(request ?id:? *)[0-9a-f-]{8,}", re.IGNORECASE)
_LEVELS = ("DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL")


@dataclass(frozen=True, kw_only=True)
class LogReading:
    """What a log says now.

    `active` when its last word on the watcher is success; `line` is that word, whatever it is. `draining`
    when the last word is that the watcher of an earlier cluster is being deleted. `failures` are the
    different failures since the last success, in the controller's own words.
    """

    active: bool = False
    line: str = ""
    draining: bool = False
    failures: tuple[str, ...] = ()

    @property
    def silent(self) -> bool:
        """Whether the log says nothing about the watcher."""
        return not self.line


def words(line: str) -> str:
    """A log line without time, level and logger: of JSON its message and error, else the text's last part."""
    text = line.strip()
    if text.startswith("{"):
        try:
            entry = json.loads(text)
        except ValueError:
            return text
        parts = [str(entry.get(key) or "") for key in ("msg", "message", "error", "err")]
        return ": ".join(part for part in parts if part) or text
    columns = text.split("\t")
    level = next((at for at, column in enumerate(columns[:3]) if column.upper() in _LEVELS), None)
    if level is None:
        return text
    rest = columns[level + 1 :]
    # A logger's name has no blank in it; what follows is the message.
    return " ".join(rest[1:] if len(rest) > 1 and " " not in rest[0] else rest).strip()


def read_log(text: str, hyperpod_cluster_arn: str) -> LogReading:
    """The last word of a controller's log on the watcher of this cluster.

    Lines that name another HyperPod cluster's ARN are of an earlier one of the same name, and left out.
    """
    active, draining, last = False, False, ""
    failures: dict[str, str] = {}
    for line in text.splitlines():
        said = words(line)
        arns = set(_HYPERPOD_ARN.findall(line))
        if not said or (arns and hyperpod_cluster_arn not in arns):
            continue
        lower = said.lower()
        about = _WATCHER.search(said) or (not active and _BEFORE.search(said))
        failed = bool(about and _TROUBLE.search(said))
        if _DRAINING in lower:
            active, draining, last = False, True, said
        elif failed:
            active, draining, last = False, False, said
            failures[_CHANGING.sub(r"\1", said)] = said
        elif any(word in lower for word in _SUCCESS):
            active, draining, last = True, False, said
            failures = {}
    return LogReading(active=active, line=last, draining=draining, failures=tuple(failures.values()))
