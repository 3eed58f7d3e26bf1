"""The gRPC service ``pulumirpc.LanguageRuntime``, for Python programs."""

import json
import os
import queue
import signal
import subprocess
import threading
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, NoReturn

import grpc
from google.protobuf import empty_pb2, json_format
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

from .environment import ProgramEnvironment, UnusableEnvironmentError, resolve
from .packages import required_packages, required_plugins
from .processes import Children

SHOWN_TO_USER = 32  # the executor's exit code for "the error is on the user's screen already"
OFFICIAL = "install Pulumi's own release, which brings the official Python language host"


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """Serves one engine. `executor` is Pulumi's script that runs a program."""

    def __init__(self, *, executor: Path, engine: str, children: Children) -> None:
        self.engine = engine
        self._executor = executor
        self._children = children

    # --- what the engine asks before it runs anything

    def Handshake(self, request: Any, context: Any) -> Any:
        """Learn the engine's address: comes from an engine that attaches, instead of an argument."""
        if request.engine_address:
            self.engine = request.engine_address
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        """The version of the SDK whose protocol is spoken, marked as not the official host."""
        return plugin_pb2.PluginInfo(version=f"{version('pulumi')}+mlcc-infra")

    def GetRequiredPackages(self, request: Any, context: Any) -> Any:
        """The resource plugins that the program's installed packages need."""
        described = self._describe(request.info, context)
        return language_pb2.GetRequiredPackagesResponse(packages=required_packages(described))

    def GetRequiredPlugins(self, request: Any, context: Any) -> Any:
        """The same for engines that do not know packages."""
        described = self._describe(request.info, context)
        return language_pb2.GetRequiredPluginsResponse(plugins=required_plugins(described))

    def About(self, request: Any, context: Any) -> Any:
        """The interpreter that programs run with."""
        described = self._describe(request.info, context)
        metadata = {"toolchain": "pip", "toolchainVersion": described["pip"], "typechecker": "none"}
        return language_pb2.AboutResponse(
            executable=described["executable"], version=described["version"], metadata=metadata
        )

    def GetProgramDependencies(self, request: Any, context: Any) -> Any:
        """The installed packages; unless all are asked for, those that no other one needs."""
        described = self._describe(request.info, context)
        return language_pb2.GetProgramDependenciesResponse(
            dependencies=[
                language_pb2.DependencyInfo(name=package["name"], version=package["version"])
                for package in described["packages"]
                if request.transitiveDependencies or not package["required"]
            ]
        )

    def RuntimeOptionsPrompts(self, request: Any, context: Any) -> Any:
        """What `pulumi new` asks: the virtual environment's folder."""
        if _options(request.info).get("virtualenv"):
            return language_pb2.RuntimeOptionsResponse()
        prompt = language_pb2.RuntimeOptionPrompt
        value = prompt.RuntimeOptionValue(promptType=prompt.STRING, stringValue="venv", displayName="venv")
        return language_pb2.RuntimeOptionsResponse(
            prompts=[
                prompt(
                    key="virtualenv",
                    description="The virtualenv to use",
                    promptType=prompt.STRING,
                    choices=[value],
                    default=value,
                )
            ]
        )

    def Template(self, request: Any, context: Any) -> Any:
        """A template of `pulumi new` needs no change for pip."""
        return language_pb2.TemplateResponse()

    # --- what the engine runs

    def Run(self, request: Any, context: Any) -> Any:
        """Run the program and say how it ended."""
        if request.attach_debugger:
            return language_pb2.RunResponse(error=f"attaching a debugger is not supported here: {OFFICIAL}")
        environment = self._environment(request.info, context)
        variables = environment.variables(os.environ) | {
            "PULUMI_CONFIG": json.dumps(dict(request.config)),
            "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
        }
        command = [str(environment.python), "-u", str(self._executor), *self._arguments(request)]
        try:
            process = self._start(command, context, env=variables)
        except OSError as error:
            return language_pb2.RunResponse(
                error=f"problem executing program (could not run language executor): {error}"
            )
        return _outcome(self._children.wait(process))

    def RunPlugin(self, request: Any, context: Any) -> Iterator[Any]:
        """Run a plugin written in Python: a folder with a __main__.py, or a package with a pyproject.toml."""
        folder = Path(request.info.program_directory)
        if request.kind == "analyzer":
            _unimplemented(context, "running policy packs")
        environment = self._environment(request.info, context, default_virtualenv="venv")
        variables = environment.variables(
            {**os.environ, **dict(entry.split("=", 1) for entry in request.env if "=" in entry)}
        )
        if (folder / "__main__.py").is_file():
            command = ["-u", str(folder), *request.args]
        else:
            command = ["-u", "-m", "pulumi.run.plugin", _project_name(folder, context), *request.args]
        try:
            process = self._start(
                [str(environment.python), *command],
                context,
                env=variables,
                cwd=request.pwd or None,
                output=subprocess.PIPE,
            )
        except OSError as error:
            _refuse(context, grpc.StatusCode.INTERNAL, f"problem executing plugin: {error}")
        for stream, data in _output(process):
            yield _chunk(language_pb2.RunPluginResponse, stream, data)
        yield language_pb2.RunPluginResponse(exitcode=self._children.wait(process))

    def InstallDependencies(self, request: Any, context: Any) -> Iterator[Any]:
        """Make the virtual environment if there is none, and install requirements.txt into it."""
        folder = Path(request.info.program_directory)
        default = "venv" if request.is_plugin else ""
        environment = self._environment(
            request.info, context, default_virtualenv=default, may_be_missing=True
        )
        steps: list[list[str]] = []
        if not environment.python.is_file():
            system = self._environment(request.info, context, ignore_virtualenv=True)
            steps.append([str(system.python), "-m", "venv", str(environment.virtualenv)])
        pip = [str(environment.python), "-m", "pip", "install"]
        if (folder / "requirements.txt").is_file():
            steps.append([*pip, "-r", str(folder / "requirements.txt")])
        if request.is_plugin and (folder / "pyproject.toml").is_file():
            steps.append([*pip, str(folder)])
        response = language_pb2.InstallDependenciesResponse
        yield response(stdout=b"Installing dependencies...\n\n")
        for step in steps:
            process = self._start(
                step,
                context,
                env=environment.variables(os.environ),
                cwd=folder,
                output=subprocess.PIPE,
            )
            for stream, data in _output(process):
                yield _chunk(response, stream, data)
            code = self._children.wait(process)
            if code != 0:
                _refuse(context, grpc.StatusCode.UNKNOWN, f"`{' '.join(step)}` failed with exit code {code}")
        yield response(stdout=b"Finished installing dependencies\n\n")

    def Cancel(self, request: Any, context: Any) -> Any:
        """End what runs; the calls that wait for it then return."""
        self._children.end_all()
        return empty_pb2.Empty()

    # --- what this host does not do, said so that a user knows the way out

    def GenerateProgram(self, request: Any, context: Any) -> Any:
        """Not here: code generation lives in Pulumi's Go code."""
        return _unimplemented(context, "generating programs (`pulumi convert`)")

    def GenerateProject(self, request: Any, context: Any) -> Any:
        """Not here: see GenerateProgram."""
        return _unimplemented(context, "generating projects (`pulumi convert`)")

    def GeneratePackage(self, request: Any, context: Any) -> Any:
        """Not here: see GenerateProgram."""
        return _unimplemented(context, "generating SDKs (`pulumi package`)")

    def Pack(self, request: Any, context: Any) -> Any:
        """Not here: publishing a generated SDK is no business of this project."""
        return _unimplemented(context, "packing SDKs")

    def Link(self, request: Any, context: Any) -> Any:
        """Not here: it edits the requirements of a project."""
        return _unimplemented(context, "linking local packages")

    # --- helpers

    def _environment(
        self,
        info: Any,
        context: Any,
        *,
        default_virtualenv: str = "",
        may_be_missing: bool = False,
        ignore_virtualenv: bool = False,
    ) -> ProgramEnvironment:
        options = dict(_options(info))
        if ignore_virtualenv:
            options.pop("virtualenv", None)
        elif default_virtualenv:
            options.setdefault("virtualenv", default_virtualenv)
        root = Path(info.root_directory or info.program_directory or ".")
        try:
            return resolve(options, root, os.environ, may_be_missing=may_be_missing)
        except UnusableEnvironmentError as error:
            _refuse(context, grpc.StatusCode.FAILED_PRECONDITION, str(error))

    def _describe(self, info: Any, context: Any) -> Mapping[str, Any]:
        environment = self._environment(info, context)
        try:
            return environment.describe()
        except (UnusableEnvironmentError, OSError) as error:
            _refuse(context, grpc.StatusCode.FAILED_PRECONDITION, str(error))

    def _arguments(self, request: Any) -> list[str]:
        named = {
            "monitor": request.monitor_address,
            "engine": self.engine,
            "project": request.project,
            "root_directory": request.info.root_directory,
            "stack": request.stack,
            "pwd": request.pwd,
            "dry_run": "true" if request.dryRun else "false",
            "parallel": str(request.parallel),
            "organization": request.organization,
        }
        arguments = [part for name, value in named.items() if value for part in (f"--{name}", value)]
        return [*arguments, request.info.entry_point or ".", *request.args]

    def _start(
        self,
        command: list[str],
        context: Any,
        *,
        env: Mapping[str, str],
        cwd: str | Path | None = None,
        output: int | None = None,
    ) -> subprocess.Popen[bytes]:
        process = self._children.start(command, env=env, cwd=cwd, output=output)
        if not context.add_callback(lambda: self._children.end_one(process)):
            self._children.end_one(process)  # the engine gave the call up before the process had started
        return process


def _options(info: Any) -> dict[str, Any]:
    options: dict[str, Any] = json_format.MessageToDict(info.options)
    return options


def _outcome(code: int) -> Any:
    """What the engine is told about a program's exit code (negative: the signal that ended it)."""
    if code == 0:
        return language_pb2.RunResponse()
    if code == SHOWN_TO_USER:
        return language_pb2.RunResponse(bail=True)
    if code < 0:
        return language_pb2.RunResponse(error=f"program was ended by {signal.Signals(-code).name}")
    return language_pb2.RunResponse(error=f"program exited with non-zero exit code: {code}")


def _chunk(response: Any, stream: str, data: bytes) -> Any:
    return response(**{stream: data})


def _output(process: subprocess.Popen[bytes]) -> Iterator[tuple[str, bytes]]:
    """Both outputs of a process as they come: ("stdout" or "stderr", data)."""
    chunks: queue.SimpleQueue[tuple[str, bytes]] = queue.SimpleQueue()

    def read(name: str, stream: IO[bytes]) -> None:
        while data := os.read(stream.fileno(), 65536):
            chunks.put((name, data))
        chunks.put((name, b""))

    assert process.stdout is not None
    assert process.stderr is not None
    for name, stream in (("stdout", process.stdout), ("stderr", process.stderr)):
        threading.Thread(target=read, args=(name, stream), daemon=True).start()
    running = 2
    while running:
        name, data = chunks.get()
        if data:
            yield name, data
        else:
            running -= 1
    process.stdout.close()
    process.stderr.close()


def _project_name(folder: Path, context: Any) -> str:
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
        return str(project["project"]["name"])
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        _refuse(
            context,
            grpc.StatusCode.FAILED_PRECONDITION,
            f"the plugin in {folder} has neither a __main__.py nor a pyproject.toml with a name: {error!r}",
        )


def _unimplemented(context: Any, what: str) -> NoReturn:
    _refuse(context, grpc.StatusCode.UNIMPLEMENTED, f"{what} is not supported here: {OFFICIAL}")


def _refuse(context: Any, code: grpc.StatusCode, message: str) -> NoReturn:
    context.abort(code, message)
    raise AssertionError("abort always raises")
