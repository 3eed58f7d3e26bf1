"""Stand-ins for the programs that the set-up runs."""

import os
import sys
import textwrap
from pathlib import Path


def executable(folder: Path, name: str, code: str) -> Path:
    """A Python program `name` in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!{sys.executable}\n{textwrap.dedent(code)}", encoding="utf-8")
    file.chmod(0o755)
    return file


def pulumi(folder: Path, version: str = "v3.276.0", *, language_host: bool = True) -> Path:
    """A `pulumi` that knows its version, with a language host beside it."""
    if language_host:
        executable(folder, "pulumi-language-python", "")
    return executable(folder, "pulumi", f"print({version!r})")


GO = """
import os, pathlib, subprocess, sys
arguments = sys.argv[1:]
if arguments[0] == "env":
    print(os.environ.get("FAKE_GO_VERSION", "go1.26.8"))
    print(os.environ.get("FAKE_GO_TOOLCHAIN", "auto"))
elif arguments[0] == "list":
    print(os.environ["FAKE_SDK"])
elif arguments[0] == "build":
    log = pathlib.Path(os.environ["FAKE_LOG"])
    with log.open("a") as file:
        print(os.getcwd(), *arguments, file=file)
    print("go: downloading example.org/module v1.0.0", file=sys.stderr)
    print("internal/cpu", file=sys.stderr, flush=True)
    # as the real one, it has children that compile
    seconds = os.environ.get("FAKE_SECONDS", "0")
    subprocess.run(["sh", "-c", 'sleep "$1"; : "$2"', "compile", seconds, os.getcwd()])
    if os.environ.get("FAKE_FAILURE"):
        sys.exit(os.environ["FAKE_FAILURE"])
    target = pathlib.Path(arguments[arguments.index("-o") + 1])
    target.write_text(f"#!{sys.executable}\\nprint('v3.276.0')\\n")
    target.chmod(0o755)
"""


def go(folder: Path) -> dict[str, str]:
    """A `go` in ``folder/go-bin`` that builds a fake pulumi; the variables it needs, PATH included."""
    executable(folder / "go-bin", "go", GO)
    sdk = folder / "sdk"
    scripts = sdk / "python" / "cmd"
    scripts.mkdir(parents=True, exist_ok=True)
    (scripts / "pulumi-language-python-exec").write_text("# the executor")
    return {
        "PATH": os.pathsep.join([str(folder / "go-bin"), "/usr/bin", "/bin"]),
        "FAKE_SDK": str(sdk),
        "FAKE_LOG": str(folder / "builds"),
        "MLCC_CACHE_DIR": str(folder / "cache"),
        "HOME": str(folder),
    }


def builds(environ: dict[str, str]) -> int:
    """How often the fake `go` has built."""
    log = Path(environ["FAKE_LOG"])
    return len(log.read_text().splitlines()) if log.exists() else 0
