"""Finding an engine, and getting one: PATH, the official release, a build from Go modules, in this order."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from . import build, cache, download, host
from .model import Engine, EngineError, Say, Source, SourceUnavailableError
from .versions import CEILING, FLOOR, PINNED, show

ORDER: tuple[Source, ...] = get_args(Source)
HOST_NAME = "pulumi-language-python"
WHAT_WORKS = (
    f"Any one of these helps: Pulumi {show(FLOOR)} or newer on PATH (https://www.pulumi.com/docs/install); "
    f"a way to {download.RELEASES}, or a mirror of it in MLCC_PULUMI_RELEASES; Go {show(build.needed_go())} "
    "on PATH and a way to a Go module proxy."
)


def find_engine(*, environ: Mapping[str, str] | None = None, sources: Sequence[Source] = ORDER) -> Engine:
    """The engine to use: the first of the sources that has one already. Installs nothing.

    Raises EngineError, with what would work, when there is none.
    """
    variables = os.environ if environ is None else environ
    reasons: list[str] = []
    for source in sources:
        try:
            return _find(source, variables)
        except SourceUnavailableError as error:
            reasons.append(f"  {source}: {error}")
    raise EngineError(
        "\n".join(
            [
                "No Pulumi engine is set up.",
                *reasons,
                "`python -m mlcc_infra.engine install` gets one (in a checkout: `make setup`).",
            ]
        )
    )


def install_engine(
    *, environ: Mapping[str, str] | None = None, sources: Sequence[Source] = ORDER, say: Say = print
) -> Engine:
    """The engine to use, got from the first of the sources that can deliver one.

    `say` gets a line for each source that falls through, and progress of what takes time. Safe to be called
    by several processes at once. Raises EngineError, with what would work, when no source can.
    """
    variables = os.environ if environ is None else environ
    if "path" in sources:
        try:
            return _find("path", variables)
        except SourceUnavailableError as error:
            say(f"not from PATH: {error}")
    cached: list[Source] = [source for source in sources if source != "path"]
    for source in cached:
        try:
            return _find(source, variables)
        except SourceUnavailableError:
            continue  # nothing there yet is no news in a set-up
    home = cache.home(variables)
    with cache.locked(home, say):
        for source in cached:
            try:
                return _get(source, home, variables, say)
            except SourceUnavailableError as error:
                say(f"not from {'the official release' if source == 'installer' else 'Go modules'}: {error}")
    raise EngineError(f"No Pulumi engine can be had. {WHAT_WORKS}")


def _find(source: Source, environ: Mapping[str, str]) -> Engine:
    home = cache.home(environ)
    if source == "path":
        return _on_path(environ)
    if source == "installer":
        folder = home / "download" / "bin"
        if not (folder / "pulumi").is_file():
            raise SourceUnavailableError(f"no release in {home}")
        return Engine(folder / "pulumi", (folder,), show(PINNED), source)
    if not host.is_complete(home):
        raise SourceUnavailableError(f"no complete build in {home}")
    folder = host.bin_dir(home)
    return Engine(folder / "pulumi", (folder,), show(PINNED), source)


def _get(source: Source, home: Path, environ: Mapping[str, str], say: Say) -> Engine:
    """Under the lock: somebody else may have got it while this process waited."""
    if source == "installer":
        if not (home / "download" / "bin" / "pulumi").is_file():
            download.download(home / "download", environ, say)
    else:
        if not (home / "cli" / "pulumi").is_file():
            build.build(home / "cli", environ, say)
        host.install(home, environ, say)
    return _find(source, environ)


def _on_path(environ: Mapping[str, str]) -> Engine:
    found = shutil.which("pulumi", path=environ.get("PATH", os.defpath))
    if found is None:
        raise SourceUnavailableError("no `pulumi` there")
    pulumi = Path(found)
    version = build.ask_version(pulumi, environ)
    if version is None:
        raise SourceUnavailableError(f"{pulumi} does not answer `pulumi version`")
    if version < FLOOR:
        raise SourceUnavailableError(f"{pulumi} is {show(version)}, older than {show(FLOOR)}")
    if version >= CEILING:
        raise SourceUnavailableError(
            f"{pulumi} is {show(version)}; {show(CEILING)} and newer are not known yet"
        )
    language_host = shutil.which(HOST_NAME, path=environ.get("PATH", os.defpath))
    beside = pulumi.resolve().with_name(HOST_NAME)
    if language_host is not None:
        folders = (pulumi.parent, Path(language_host).parent)
    elif os.access(beside, os.X_OK):
        folders = (pulumi.parent, beside.parent)
    else:
        raise SourceUnavailableError(f"{pulumi} {show(version)} has no {HOST_NAME} beside it or on PATH")
    return Engine(pulumi, tuple(dict.fromkeys(folders)), show(version), "path")
