"""Who holds a stack: the lock files of Pulumi's own backends, and whether their holders still live.

A run of the engine on a file or bucket backend writes
`.pulumi/locks/organization/<project>/<stack>/<id>.json` with its process id, user, host and time, and removes
it at its end (pulumi/pkg backend/diy/lock.go at v3.276.0). A killed run leaves it. Pulumi Cloud keeps none.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from mlcc_infra.errors import UserError

# A process is started before it takes a lock; both times are rounded.
_MARGIN_SECONDS = 5.0


class StackLockedError(UserError):
    """Another run holds the stack, or may hold it."""


class Holder(StrEnum):
    """Whether the process that took a lock can still be at work."""

    DEAD = "dead"
    ALIVE = "alive"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, kw_only=True)
class Lock:
    """One lock file, as the engine that took it wrote it."""

    user: str
    host: str
    pid: int
    since: datetime

    def age(self, now: datetime) -> float:
        """Seconds since it was taken."""
        return max(0.0, (now - self.since).total_seconds())


def parse_lock(text: str) -> Lock:
    """Read a lock file. ValueError for what is none."""
    try:
        content = json.loads(text)
        # Go writes nanoseconds, of which datetime takes six digits.
        since = re.sub(r"(\.\d{6})\d+", r"\1", str(content["timestamp"]).replace("Z", "+00:00"))
        return Lock(
            user=str(content["username"]),
            host=str(content["hostname"]),
            pid=int(content["pid"]),
            since=datetime.fromisoformat(since),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"not a lock file of Pulumi: {text[:200]!r}") from error


def judge(lock: Lock, *, now: datetime, host: str, process_age: Callable[[int], float | None]) -> Holder:
    """Whether the holder lives. `process_age` answers for how many seconds a process has run here, or None.

    A process that is younger than the lock only has the number of the one that took it.
    """
    if lock.host.lower() != host.lower():
        return Holder.ELSEWHERE
    age = process_age(lock.pid)
    if age is None or age + _MARGIN_SECONDS < lock.age(now):
        return Holder.DEAD
    return Holder.ALIVE


def judge_here(lock: Lock) -> Holder:
    """`judge` with this host, its clock and its processes."""
    return judge(lock, now=datetime.now(UTC), host=socket.gethostname(), process_age=process_age)


def process_age(pid: int) -> float | None:
    """For how many seconds a process of this host has run; None when it does not, or only waits to be reaped.

    OSError where there is no `ps`.
    """
    command = ["ps", "-o", "etime=", "-o", "stat=", "-p", str(pid)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    if len(answer) != 2 or answer[1].startswith("Z"):
        return None
    return parse_elapsed(answer[0])


def parse_elapsed(text: str) -> float:
    """Seconds of what `ps` prints as etime, `[[dd-]hh:]mm:ss` (POSIX)."""
    days, _, rest = text.rpartition("-")
    seconds = 0
    for part in rest.split(":"):
        seconds = seconds * 60 + int(part)
    return float(int(days or 0) * 86400 + seconds)


def read_locks(backend: str, project: str, stack: str) -> list[Lock] | None:
    """The locks on a stack of a backend, oldest first; None for a backend whose locks cannot be listed.

    `backend` is the address that `pulumi whoami` tells. Raises OSError, ValueError or botocore's errors for a
    backend that cannot be read.
    """
    # Backends made before there were projects in them keep stacks by name alone.
    folders = (f".pulumi/locks/organization/{project}/{stack}/", f".pulumi/locks/{stack}/")
    parts = urlsplit(backend)
    if parts.scheme == "file":
        texts = _of_files(backend, folders)
    elif parts.scheme == "s3":
        texts = _of_bucket(backend, folders)
    else:
        return None
    return sorted((parse_lock(text) for text in texts), key=lambda lock: lock.since)


def _of_files(backend: str, folders: tuple[str, ...]) -> Iterator[str]:
    for folder in folders:
        for path in sorted((_root(backend) / folder).glob("*.json")):
            try:
                yield path.read_text()
            except FileNotFoundError:
                continue  # its run has just ended


def mend_files(backend: str, project: str, stack: str) -> list[str]:
    """Remove what a kill in the middle of writing makes unreadable in a file backend; answers the names.

    Beside each file lies one with its attributes, which is written first and not at once: a run that is
    killed in that moment leaves it empty, and the state cannot be read (gocloud.dev/blob/fileblob,
    `setAttrs`). The state itself is written under another name and renamed, and is read without attributes.
    """
    if urlsplit(backend).scheme != "file":
        return []
    root = _root(backend) / ".pulumi"
    removed = []
    for name in (f"stacks/{project}/{stack}.json", f"stacks/{stack}.json"):
        attributes = root / f"{name}.attrs"
        try:
            json.loads(attributes.read_text())
        except FileNotFoundError:
            continue
        except ValueError:
            attributes.unlink()
            removed.append(attributes.name)
    return removed


def _root(backend: str) -> Path:
    return Path(backend.removeprefix("file://").partition("?")[0]).expanduser()


def _of_bucket(backend: str, folders: tuple[str, ...]) -> Iterator[str]:
    parts = urlsplit(backend)
    query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    client = _bucket_client(query)
    for folder in folders:
        prefix = f"{parts.path.strip('/')}/{folder}".lstrip("/")
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=parts.netloc, Prefix=prefix)
        for key in [item["Key"] for page in pages for item in page.get("Contents", [])]:
            if not key.endswith(".json"):
                continue
            try:
                yield client.get_object(Bucket=parts.netloc, Key=key)["Body"].read().decode()
            except client.exceptions.NoSuchKey:
                continue  # its run has just ended


def _bucket_client(query: dict[str, str]) -> Any:
    """S3 as Pulumi reaches it: parameters of gocloud.dev/aws and gocloud.dev/blob/s3blob in the address."""
    import boto3
    from botocore.config import Config

    styles = [query.get(name, "") for name in ("s3ForcePathStyle", "use_path_style")]
    endpoint = query.get("endpoint")
    if endpoint and "://" not in endpoint:
        endpoint = f"{'http' if query.get('disableSSL') == 'true' else 'https'}://{endpoint}"
    session = boto3.Session(profile_name=query.get("profile"), region_name=query.get("region"))
    addressing = "path" if "true" in styles else "auto"
    return session.client("s3", endpoint_url=endpoint, config=Config(s3={"addressing_style": addressing}))
