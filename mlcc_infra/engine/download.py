"""The official release of the CLI, which brings the official language host."""

import hashlib
import http.client
import platform
import queue
import sys
import tarfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from .build import ask_version
from .cache import placed
from .model import Say, SourceUnavailableError
from .versions import PINNED, show

#: Where Pulumi publishes its releases; MLCC_PULUMI_RELEASES names a mirror.
RELEASES = "https://get.pulumi.com/releases/sdk"
TIMEOUT = 5.0  # seconds for the first answer, and for each further block
PROGRESS_EVERY = 5.0  # seconds
SYSTEMS = {"linux": "linux", "darwin": "darwin"}
MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def archive_name() -> str:
    """The pinned release's file for this machine. Raises SourceUnavailableError if there is none."""
    system = SYSTEMS.get(sys.platform)
    machine = MACHINES.get(platform.machine().lower())
    if system is None or machine is None:
        raise SourceUnavailableError(f"Pulumi publishes no release for {sys.platform} {platform.machine()}")
    return f"pulumi-v{show(PINNED)}-{system}-{machine}.tar.gz"


def download(target: Path, environ: Mapping[str, str], say: Say) -> None:
    """Download, verify and unpack the pinned release into the folder `target`.

    To be called under the cache's lock. Raises SourceUnavailableError, within seconds when there is no way
    out of this network.
    """
    base = (environ.get("MLCC_PULUMI_RELEASES") or RELEASES).rstrip("/")
    name = archive_name()
    digest = _digest(_within_timeout(f"{base}/pulumi-{show(PINNED)}-checksums.txt"), name)
    say(f"downloading {base}/{name}")
    with placed(target) as staging:
        archive = staging / name
        found = _fetch(f"{base}/{name}", archive, say)
        if found != digest:
            raise SourceUnavailableError(f"{name} has sha256 {found}, Pulumi published {digest}")
        _unpack(archive, staging / "bin")
        archive.unlink()
        version = ask_version(staging / "bin" / "pulumi", environ)
        if version != PINNED:
            raise SourceUnavailableError(f"the pulumi in {name} answers {version}, not {show(PINNED)}")


def _digest(checksums: str, name: str) -> str:
    for line in checksums.splitlines():
        digest, _, file = line.partition(" ")
        if file.strip().lstrip("*") == name:
            return digest.lower()
    raise SourceUnavailableError(f"Pulumi's list of checksums does not name {name}")


def _within_timeout(url: str) -> str:
    """The text at an address, or SourceUnavailableError. Looking up the host's name counts for the time."""
    answers: queue.SimpleQueue[str | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT) as response:
                answers.put(response.read().decode())
        except (OSError, http.client.HTTPException, ValueError) as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=TIMEOUT + 1.0)
    except queue.Empty:
        raise SourceUnavailableError(f"{url}: no answer within {TIMEOUT:.0f} s") from None
    if isinstance(answer, Exception):
        raise SourceUnavailableError(f"{url}: {_reason(answer)}") from answer
    return answer


def _fetch(url: str, file: Path, say: Say) -> str:
    """Write what is at an address to a file. Returns its sha256."""
    digest = hashlib.sha256()
    done = 0
    told = time.monotonic()
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as response, file.open("wb") as output:
            total = int(response.headers.get("Content-Length") or 0)
            while block := response.read(1 << 20):
                output.write(block)
                digest.update(block)
                done += len(block)
                if time.monotonic() - told >= PROGRESS_EVERY:
                    told = time.monotonic()
                    say(f"downloaded {done >> 20} of {total >> 20} MB")
    except (OSError, http.client.HTTPException) as error:
        raise SourceUnavailableError(f"{url}: {_reason(error)}") from error
    return digest.hexdigest()


def _unpack(archive: Path, folder: Path) -> None:
    """The executables of a release, side by side: whatever path they have in the archive, none leads out."""
    folder.mkdir()
    try:
        with tarfile.open(archive) as content:
            for member in content:
                source = content.extractfile(member) if member.isfile() else None
                if source is None or not Path(member.name).name.startswith("pulumi"):
                    continue
                file = folder / Path(member.name).name
                with file.open("wb") as output:
                    while block := source.read(1 << 20):
                        output.write(block)
                file.chmod(0o755)
    except (tarfile.TarError, OSError) as error:
        raise SourceUnavailableError(f"{archive.name} cannot be unpacked: {error}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code}"
    reason = getattr(error, "reason", error)
    return str(reason) or type(error).__name__
