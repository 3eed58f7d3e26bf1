"""Run a command on a rehearsed AWS account: ``python -m mlcc_rehearsal [OPTIONS] -- COMMAND…``.

What ``mlcc-infra rehearse`` becomes. Exit codes are the command's; when the rehearsal itself cannot run, 1,
or 2 for a wrong call.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import traceback
from pathlib import Path

from mlcc_infra.errors import UserError
from mlcc_infra.garbage import collect_rarely

FAILED, USAGE = 1, 2


def _speed(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or value <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number greater than 0")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mlcc-infra rehearse",
        description="Run a command on a rehearsed AWS account. Nothing it does reaches AWS.",
    )
    parser.add_argument("--speed", type=_speed, default=60.0, help="modelled seconds in a real one (60)")
    parser.add_argument("--faults", type=Path, metavar="FILE", help="faults of the account, YAML or JSON")
    parser.add_argument(
        "--api-log", type=Path, metavar="FILE", help="write one JSON object for each AWS call"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="use DIR, and keep state and logs in it")
    parser.add_argument(
        "--real-plugins", action="store_true", help="use installed Pulumi plugins (experimental)"
    )
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="the command and its arguments")
    return parser


def main(argv: list[str]) -> int:
    """Parse `argv` and rehearse."""
    collect_rarely()
    # Everything after the first `--` is the command's; argparse would look for options in it.
    options, _, command = (
        (argv[: argv.index("--")], "--", argv[argv.index("--") + 1 :]) if "--" in argv else (argv, "", [])
    )
    parser = _parser()
    arguments = parser.parse_args([*options, "--", *command])
    if arguments.faults is not None and not arguments.faults.is_file():
        parser.error(f"--faults: there is no file {arguments.faults}")
    try:
        from mlcc_rehearsal.runner.supervisor import Options, rehearse

        return rehearse(
            Options(
                command=tuple(arguments.command),
                speed=arguments.speed,
                faults=arguments.faults and arguments.faults.resolve(),
                api_log=arguments.api_log and arguments.api_log.resolve(),
                keep=arguments.keep and arguments.keep.resolve(),
                real_plugins=arguments.real_plugins,
            )
        )
    except Exception as error:  # noqa: BLE001 - the border to the user: everything becomes one clear block
        _show(error)
        return FAILED


def _show(error: Exception) -> None:
    if os.environ.get("MLCC_DEBUG", "") not in ("", "0"):
        traceback.print_exception(error)
    elif isinstance(error, UserError):
        print(f"mlcc-infra rehearse: {error}", file=sys.stderr)
    else:
        print(
            f"mlcc-infra rehearse: {type(error).__name__}: {error}\n  MLCC_DEBUG=1 shows where it came from",
            file=sys.stderr,
        )


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of the account's server may still wait for requests; nothing of theirs is to be finished.
    os._exit(code)
