"""The language host's service, called as the engine calls it."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

from mlcc_infra.engine.language_host.processes import Children, end
from mlcc_infra.engine.language_host.servicer import LanguageHost

# Prints what it gets in place of running a Pulumi program.
EXECUTOR = """
import json, os, sys, time
print(json.dumps({"arguments": sys.argv[1:], "config": os.environ["PULUMI_CONFIG"]}), flush=True)
time.sleep(float(os.environ.get("PROBE_SLEEP", "0")))
sys.exit(int(os.environ.get("PROBE_EXIT", "0")))
"""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Any]:
    """A stub of a served host."""
    executor = tmp_path / "executor"
    executor.write_text(EXECUTOR)
    server = grpc.server(futures.ThreadPoolExecutor(8))
    servicer = LanguageHost(executor=executor, engine="127.0.0.1:9", children=Children())
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield language_pb2_grpc.LanguageRuntimeStub(channel)
    server.stop(0).wait()


def info(folder: Path, **options: str) -> Any:
    """A project in `folder` that runs in the tests' own environment."""
    made = language_pb2.ProgramInfo(
        root_directory=str(folder), program_directory=str(folder), entry_point="."
    )
    made.options.update({"virtualenv": sys.prefix, **options})
    return made


def run_request(folder: Path, **more: Any) -> Any:
    """A request to run the program in `folder`."""
    return language_pb2.RunRequest(
        project="probe", stack="dev", pwd=str(folder), monitor_address="127.0.0.1:8", parallel=4,
        dryRun=True, organization="organization", config={"probe:key": "value"}, info=info(folder), **more,
    )  # fmt: skip


def test_program_gets_what_the_executor_wants_to_know(
    host: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert host.Run(run_request(tmp_path, args=["--flag"])) == language_pb2.RunResponse()
    shown = capfd.readouterr().out
    for part in (
        '"--monitor", "127.0.0.1:8", "--engine", "127.0.0.1:9", "--project", "probe"',
        f'"--root_directory", "{tmp_path}", "--stack", "dev", "--pwd", "{tmp_path}"',
        '"--dry_run", "true", "--parallel", "4", "--organization", "organization", ".", "--flag"',
        r"{\"probe:key\": \"value\"}",
    ):
        assert part in shown


@pytest.mark.parametrize(
    ("code", "error", "bail"), [("32", "", True), ("1", "program exited with non-zero exit code: 1", False)]
)
def test_exit_code_32_means_the_user_knows_already(
    host: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, error: str, bail: bool
) -> None:
    monkeypatch.setenv("PROBE_EXIT", code)
    assert host.Run(run_request(tmp_path)) == language_pb2.RunResponse(error=error, bail=bail)


def test_cancel_ends_the_program(
    host: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PROBE_SLEEP", "60")
    call = host.Run.future(run_request(tmp_path))
    while "arguments" not in capfd.readouterr().out:
        time.sleep(0.05)
    host.Cancel(empty_pb2.Empty())
    assert call.result(timeout=10).error  # KeyboardInterrupt: Python's own exit code for it depends on how


def test_call_that_the_engine_gives_up_ends_the_program(
    host: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROBE_SLEEP", "61.5")
    call = host.Run.future(run_request(tmp_path))
    wait_for(lambda: children_with("PROBE_SLEEP=61.5"))
    call.cancel()
    wait_for(lambda: not children_with("PROBE_SLEEP=61.5"))


def children_with(variable: str) -> list[int]:
    """The other processes with this variable."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and variable.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


def wait_for(what: Any) -> None:
    """Wait until something comes true, ten seconds at most."""
    deadline = time.monotonic() + 10
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_plugin_streams_both_outputs_and_its_exit_code(host: Any, tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text(
        "import os, sys\n"
        "print(os.environ['FROM_ENGINE'], *sys.argv[1:])\n"
        "print(os.getcwd(), file=sys.stderr)\n"
        "sys.exit(3)\n"
    )
    pwd = tmp_path / "pwd"
    pwd.mkdir()
    request = language_pb2.RunPluginRequest(
        pwd=str(pwd), args=["127.0.0.1:9"], env=["FROM_ENGINE=yes"], info=info(tmp_path), kind="resource"
    )
    responses = list(host.RunPlugin(request))
    assert b"".join(response.stdout for response in responses) == b"yes 127.0.0.1:9\n"
    assert b"".join(response.stderr for response in responses) == f"{pwd}\n".encode()
    assert responses[-1].exitcode == 3


def test_plugin_without_anything_to_run_is_refused(host: Any, tmp_path: Path) -> None:
    request = language_pb2.RunPluginRequest(info=info(tmp_path), kind="resource")
    with pytest.raises(grpc.RpcError, match=r"neither a __main__.py nor a pyproject.toml"):
        list(host.RunPlugin(request))


def test_dependencies_are_installed_into_a_new_virtual_environment(host: Any, tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (tmp_path / "requirements.txt").write_text("# nothing\n")
    request = language_pb2.InstallDependenciesRequest(info=info(tmp_path, virtualenv="made"))
    shown = b"".join(response.stdout for response in host.InstallDependencies(request))
    assert shown.startswith(b"Installing dependencies...")
    assert shown.endswith(b"Finished installing dependencies\n\n")
    assert (tmp_path / "made" / "bin" / "python").is_file()


def test_failed_installation_is_an_error_with_its_words(host: Any, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("==nonsense\n")
    responses = host.InstallDependencies(language_pb2.InstallDependenciesRequest(info=info(tmp_path)))
    shown: list[bytes] = []
    with pytest.raises(grpc.RpcError, match="failed with exit code"):
        shown.extend(response.stderr for response in responses)
    assert b"nonsense" in b"".join(shown)


def test_dependencies_are_the_installed_packages(host: Any, tmp_path: Path) -> None:
    def names(transitive: bool) -> set[str]:
        request = language_pb2.GetProgramDependenciesRequest(
            info=info(tmp_path), transitiveDependencies=transitive
        )
        return {dependency.name for dependency in host.GetProgramDependencies(request).dependencies}

    assert "grpcio" in names(transitive=True) - names(transitive=False)
    assert "ruff" in names(transitive=False)


def test_host_says_which_sdk_it_speaks_and_that_it_is_not_the_official_one(host: Any) -> None:
    assert host.GetPluginInfo(empty_pb2.Empty()).version.endswith("+mlcc-infra")


@pytest.mark.parametrize("method", ["GenerateProgram", "GenerateProject", "GeneratePackage", "Pack", "Link"])
def test_what_the_host_cannot_do_names_the_way_out(host: Any, method: str) -> None:
    request = getattr(language_pb2, f"{method}Request")()
    with pytest.raises(grpc.RpcError, match="install Pulumi's own release") as error:
        getattr(host, method)(request)
    assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_policy_packs_and_debuggers_are_refused(host: Any, tmp_path: Path) -> None:
    with pytest.raises(grpc.RpcError, match="policy packs"):
        list(host.RunPlugin(language_pb2.RunPluginRequest(info=info(tmp_path), kind="analyzer")))
    assert "debugger" in host.Run(run_request(tmp_path, attach_debugger=True)).error


def test_attaching_engine_introduces_itself(
    host: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    host.Handshake(language_pb2.LanguageHandshakeRequest(engine_address="127.0.0.1:7"))
    host.Run(run_request(tmp_path))
    assert '"--engine", "127.0.0.1:7"' in capfd.readouterr().out


def test_template_prompts_for_a_virtual_environment(host: Any, tmp_path: Path) -> None:
    request = language_pb2.RuntimeOptionsRequest(info=info(tmp_path, virtualenv=""))
    assert [prompt.key for prompt in host.RuntimeOptionsPrompts(request).prompts] == ["virtualenv"]
    host.Template(language_pb2.TemplateRequest(info=info(tmp_path), project_name="probe"))


def test_child_that_ignores_signals_is_killed() -> None:
    children = Children()
    command = ["bash", "-c", "trap '' TERM; echo; while :; do sleep 1; done"]
    with children.start(command, env=os.environ, output=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        end([process], signal.SIGTERM, 0.3)
        assert children.wait(process) == -signal.SIGKILL


def test_no_child_is_started_once_the_host_is_ending() -> None:
    children = Children()
    thread = threading.Thread(target=children.end, args=(signal.SIGTERM,), kwargs={"close": True})
    thread.start()
    thread.join()
    with pytest.raises(InterruptedError):
        children.start(["true"], env={})
