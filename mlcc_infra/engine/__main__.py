"""``python -m mlcc_infra.engine {install,path,about}``: get an engine, what to put on PATH, what it is."""

import argparse
import os
import signal
import sys
import time
from typing import NoReturn

from . import cache
from .model import Engine, EngineError, Source
from .sources import ORDER, find_engine, install_engine
from .versions import FLOOR, PINNED, show


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns its exit code: 0, or 1 when no engine can be had."""
    parser = argparse.ArgumentParser(prog="python -m mlcc_infra.engine", description=__doc__)
    parser.add_argument("command", choices=("install", "path", "about"))
    parser.add_argument(
        "--source", action="append", choices=ORDER, help="only from here (may be given several times)"
    )
    parser.add_argument("--quiet", action="store_true", help="install: say nothing when one is there already")
    options = parser.parse_args(arguments)
    sources: list[Source] = [source for source in ORDER if source in (options.source or ORDER)]
    signal.signal(signal.SIGTERM, _end)
    try:
        if options.command == "install":
            if options.quiet and _is_there(sources):
                return 0
            started = time.monotonic()
            engine = install_engine(sources=sources, say=_say)
            _say(f"{_summary(engine)} ({time.monotonic() - started:.0f} s)")
        else:
            engine = find_engine(sources=sources)
            print(_path(engine) if options.command == "path" else _about(engine))
    except EngineError as error:
        print(f"engine: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("engine: interrupted; what was complete is kept", file=sys.stderr)
        return 130
    return 0


def _end(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt  # through the blocks that tidy up


def _is_there(sources: list[Source]) -> bool:
    try:
        find_engine(sources=sources)
    except EngineError:
        return False
    return True


def _say(line: str) -> None:
    print(f"engine: {line}", flush=True)


def _summary(engine: Engine) -> str:
    origin = {"path": "found on PATH", "installer": "official release", "built": "built from Go modules"}
    return f"pulumi {engine.version}, {origin[engine.source]}: {engine.pulumi}"


def _path(engine: Engine) -> str:
    return os.pathsep.join(str(folder) for folder in engine.bin_dirs)


def _about(engine: Engine) -> str:
    rows = {
        "pulumi": engine.pulumi,
        "version": engine.version,
        "source": engine.source,
        "on PATH first": ", ".join(str(folder) for folder in engine.bin_dirs),
        "pinned": show(PINNED),
        "oldest from PATH": show(FLOOR),
        "cache": cache.root(),
    }
    return "\n".join(f"{name + ':':18}{value}" for name, value in rows.items())


if __name__ == "__main__":
    sys.exit(main())
