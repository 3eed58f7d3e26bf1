"""Building the CLI from Go modules: what machines can do that reach package registries only.

``cli.mod`` and ``cli.sum`` pin every module with its checksum. They carry Pulumi's own replacement of
github.com/atotto/clipboard: a replacement in a module's go.mod does not reach those who depend on it, which
is also why `go install …@version` refuses. Pulumi's executor script, which the language host runs programs
with, lies in the downloaded module `sdk/v3`.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from .cache import placed
from .model import Say, SourceUnavailableError
from .versions import PINNED, parse, show

PACKAGE = "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
SDK = "github.com/pulumi/pulumi/sdk/v3"
EXECUTOR = "pulumi-language-python-exec"
GO_THAT_UPDATES_ITSELF = (1, 21, 0)
PROGRESS_EVERY = 5.0  # seconds
INSTALL_GO = "install Go (https://go.dev/doc/install) and put `go` on PATH"


def needed_go() -> tuple[int, int, int]:
    """The Go version that cli.mod asks for."""
    match = re.search(r"^go (\d+)\.(\d+)(?:\.(\d+))?$", _pins("cli.mod"), re.MULTILINE)
    if match is None:
        raise AssertionError("cli.mod has no go line")
    return int(match.group(1)), int(match.group(2)), int(match.group(3) or 0)


def check_go(environ: Mapping[str, str]) -> str:
    """The `go` to build with. Raises SourceUnavailableError when there is none that can."""
    go = shutil.which("go", path=environ.get("PATH"))
    if go is None:
        raise SourceUnavailableError(f"building needs Go, and there is no `go` on PATH: {INSTALL_GO}")
    result = subprocess.run(
        [go, "env", "GOVERSION", "GOTOOLCHAIN"],
        env=dict(environ),
        capture_output=True,
        text=True,
        check=False,
    )
    match = re.match(r"go(\d+)\.(\d+)(?:\.(\d+))?", result.stdout)
    if result.returncode != 0 or match is None:
        raise SourceUnavailableError(f"{go} does not work: {result.stderr.strip() or result.stdout.strip()}")
    found = (int(match.group(1)), int(match.group(2)), int(match.group(3) or 0))
    fixed = result.stdout.splitlines()[1:2] == ["local"]
    if found < needed_go() and (found < GO_THAT_UPDATES_ITSELF or fixed):
        raise SourceUnavailableError(
            f"building needs Go {show(needed_go())}, {go} is {show(found)} and may not fetch a newer one: "
            f"{INSTALL_GO}{', or unset GOTOOLCHAIN' if fixed else ''}"
        )
    return go


def build(target: Path, environ: Mapping[str, str], say: Say) -> None:
    """Build the pinned CLI into the folder `target`: `pulumi` and the executor script.

    Takes four to six minutes on two cores the first time, with a line of progress every few seconds. To be
    called under the cache's lock. Raises SourceUnavailableError when Go is missing or the build fails.
    """
    go = check_go(environ)
    with placed(target) as staging:
        work = staging / "work"
        work.mkdir()
        (work / "go.mod").write_text(_pins("cli.mod"), encoding="utf-8")
        (work / "go.sum").write_text(_pins("cli.sum"), encoding="utf-8")
        variables = dict(environ) | {
            "GOWORK": "off",
            "CGO_ENABLED": "0",  # no C compiler is needed, and none can make a difference
        }
        stamp = f"-s -w -X {SDK}/go/common/version.Version=v{show(PINNED)}"
        command = [go, "build", "-v", "-mod=readonly", "-trimpath", "-ldflags", stamp]
        say(f"building pulumi {show(PINNED)} from Go modules: four to six minutes on two cores, once")
        _run([*command, "-o", str(staging / "pulumi"), PACKAGE], work, variables, say)
        listed = subprocess.run(
            [go, "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", SDK],
            cwd=work,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        executor = Path(listed.stdout.strip()) / "python" / "cmd" / EXECUTOR
        if listed.returncode != 0 or not executor.is_file():
            raise SourceUnavailableError(f"no {EXECUTOR} in module {SDK}: {listed.stderr.strip()}")
        shutil.copyfile(executor, staging / EXECUTOR)
        version = ask_version(staging / "pulumi", environ)
        if version != PINNED:
            raise SourceUnavailableError(
                f"the build answers {version}, not {show(PINNED)}, to `pulumi version`"
            )
        shutil.rmtree(work)


def ask_version(pulumi: Path, environ: Mapping[str, str]) -> tuple[int, int, int] | None:
    """What `pulumi version` answers; None if it does not run or the answer is no version."""
    # every command of the CLI leaves a log file in PULUMI_HOME, and asking should leave nothing
    with tempfile.TemporaryDirectory(prefix="mlcc-") as pulumi_home:
        variables = {**environ, "PULUMI_HOME": pulumi_home, "PULUMI_SKIP_UPDATE_CHECK": "true"}
        try:
            result = subprocess.run(
                [str(pulumi), "version"],
                env=variables,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=20,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    return parse(result.stdout) if result.returncode == 0 else None


def _pins(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


class _Progress:
    """Counts what `go build -v` reports on its error output, and keeps the rest for the error message."""

    def __init__(self) -> None:
        self.downloaded = 0
        self.compiled = 0
        self.last: list[str] = []

    def take(self, line: str) -> None:
        if line.startswith("go: downloading "):
            self.downloaded += 1
        elif re.fullmatch(r"[\w.~/-]+", line):
            self.compiled += 1
        else:
            self.last = [*self.last, line][-20:]

    def show(self, elapsed: float) -> str:
        minutes, seconds = divmod(int(elapsed), 60)
        return (
            f"building: {minutes}:{seconds:02d} min, {self.downloaded} modules downloaded, "
            f"{self.compiled} packages compiled"
        )


def _run(command: list[str], folder: Path, variables: Mapping[str, str], say: Say) -> None:
    progress = _Progress()
    started = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,  # so that the compilers go with it when the set-up is interrupted
    )
    stderr = process.stderr
    assert stderr is not None

    def read() -> None:
        for line in stderr:
            progress.take(line.rstrip("\n"))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        while True:
            try:
                code = process.wait(timeout=PROGRESS_EVERY)
                break
            except subprocess.TimeoutExpired:
                say(progress.show(time.monotonic() - started))
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    reader.join()
    stderr.close()
    if code != 0:
        raise SourceUnavailableError("\n".join([f"`go build` failed with exit code {code}:", *progress.last]))
    say(f"built: {progress.show(time.monotonic() - started).removeprefix('building: ')}")
