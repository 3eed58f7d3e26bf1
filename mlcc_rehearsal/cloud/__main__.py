"""``python -m mlcc_rehearsal.cloud``: a bare cloud for debugging, or what it models.

python -m mlcc_rehearsal.cloud [serve] [--speed N] [--port N] [--faults FILE] [--api-log FILE]
python -m mlcc_rehearsal.cloud laws [--json]
python -m mlcc_rehearsal.cloud durations [--json]
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from dataclasses import asdict
from pathlib import Path

from mlcc_rehearsal.cloud.durations import DURATIONS
from mlcc_rehearsal.cloud.laws import LAWS


def main(arguments: list[str] | None = None) -> int:
    """Run the command; answers its exit code."""
    parser = argparse.ArgumentParser(prog="python -m mlcc_rehearsal.cloud", description="the rehearsal cloud")
    parser.add_argument("what", nargs="?", choices=["serve", "laws", "durations"], default="serve")
    parser.add_argument("--json", action="store_true", help="laws and durations as JSON")
    parser.add_argument("--speed", type=float, default=60.0, help="modelled seconds per real second")
    parser.add_argument("--region", default="us-west-2")
    parser.add_argument("--account", default="123456789012", help="twelve digits")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--faults", type=Path)
    parser.add_argument("--api-log", type=Path)
    options = parser.parse_args(arguments)
    if options.what == "laws":
        _print_laws(as_json=options.json)
        return 0
    if options.what == "durations":
        _print_durations(as_json=options.json)
        return 0
    return _serve(options)


def _print_laws(*, as_json: bool) -> None:
    if as_json:
        print(json.dumps([law.as_dict() for law in LAWS.values()], indent=2))
        return
    for law in LAWS.values():
        print(f"{law.name}{' (unverified)' if law.unverified else ''}")
        print(f"    {law.statement}")
        print(f"    holds for: {law.versions}; source: {law.source}")


def _print_durations(*, as_json: bool) -> None:
    if as_json:
        print(json.dumps({name: asdict(each) for name, each in DURATIONS.items()}, indent=2))
        return
    for name, each in DURATIONS.items():
        mark = " (unverified)" if each.unverified else ""
        print(f"{name:32}{each.seconds:7g} s{mark}  {each.source}")


def _serve(options: argparse.Namespace) -> int:
    from mlcc_rehearsal.cloud import Cloud, CloudOptions

    try:
        cloud = Cloud.start(
            CloudOptions(
                account_id=options.account,
                region=options.region,
                speed=options.speed,
                faults=options.faults,
                api_log=options.api_log,
                port=options.port,
            )
        )
    except (ValueError, OSError) as wrong:
        print(f"the rehearsal cloud cannot start: {wrong}", file=sys.stderr)
        return 1
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with cloud:
        print("# a rehearsal: nothing here is real; end with Ctrl-C")
        print(f"export AWS_ENDPOINT_URL={cloud.endpoint}")
        print(f"export AWS_REGION={options.region}")
        print(f"export AWS_ACCESS_KEY_ID={cloud.access_key_id}")
        print(f"export AWS_SECRET_ACCESS_KEY={cloud.secret_access_key}", flush=True)
        ended.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
