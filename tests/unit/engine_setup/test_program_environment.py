"""Where a program runs, and what its environment says of itself."""

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mlcc_infra.engine.language_host.dynamic_provider import project_root
from mlcc_infra.engine.language_host.environment import ProgramEnvironment, UnusableEnvironmentError, resolve
from mlcc_infra.engine.language_host.main import engine_address
from mlcc_infra.engine.language_host.packages import plugin_version, required_packages, required_plugins
from tests.unit.engine_setup import fakes


@pytest.fixture
def virtualenv(tmp_path: Path) -> Path:
    """The bare bones of a virtual environment."""
    fakes.executable(tmp_path / "env" / "bin", "python", "")
    return tmp_path / "env"


@pytest.mark.parametrize("option", ["env", "env/", "./env", "sub/../env"])
def test_virtualenv_is_relative_to_pulumi_yaml(virtualenv: Path, option: str) -> None:
    found = resolve({"virtualenv": option, "toolchain": "pip"}, virtualenv.parent, {})
    assert found == ProgramEnvironment(virtualenv / "bin" / "python", virtualenv)


def test_absolute_virtualenv_is_taken_as_it_is(virtualenv: Path) -> None:
    assert resolve({"virtualenv": str(virtualenv)}, Path("/elsewhere"), {}).virtualenv == virtualenv


def test_active_environment_comes_next_and_python3_last(virtualenv: Path) -> None:
    other = fakes.executable(virtualenv.parent / "bin", "python3", "")
    path = {"PATH": str(other.parent)}
    assert resolve({}, Path(), path | {"VIRTUAL_ENV": str(virtualenv)}).virtualenv == virtualenv
    assert resolve({}, Path(), path) == ProgramEnvironment(other, None)
    assert resolve({}, Path(), path | {"VIRTUAL_ENV": "/gone"}) == ProgramEnvironment(other, None)


def test_pulumi_python_cmd_names_the_interpreter(tmp_path: Path) -> None:
    fakes.executable(tmp_path, "python3", "")
    wanted = fakes.executable(tmp_path, "python3.99", "")
    found = resolve({}, Path(), {"PATH": str(tmp_path), "PULUMI_PYTHON_CMD": "python3.99"})
    assert found.python == wanted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"toolchain": "poetry"}, "knows 'pip' only"),
        ({"toolchain": "uv"}, "'toolchain' option in Pulumi.yaml is 'uv'"),
        ({"typechecker": "mypy"}, "no type checker"),
        ({"virtualenv": "missing"}, "does not exist. Create it"),
        ({"virtualenv": "."}, "is no virtual environment. Create it"),
        ({}, "No python3 on PATH"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(UnusableEnvironmentError, match=message):
        resolve(options, tmp_path, {"PATH": str(tmp_path)})


def test_variables_are_those_of_an_activated_environment(virtualenv: Path) -> None:
    environment = ProgramEnvironment(virtualenv / "bin" / "python", virtualenv)
    variables = environment.variables({"PATH": "/usr/bin", "PYTHONHOME": "/other", "KEPT": "1"})
    assert variables == {
        "PATH": f"{virtualenv}/bin{os.pathsep}/usr/bin",
        "VIRTUAL_ENV": str(virtualenv),
        "KEPT": "1",
    }
    system = ProgramEnvironment(Path("/usr/bin/python3"), None)
    assert system.variables({"PATH": "/usr/bin"}) == {"PATH": "/usr/bin"}


def test_installed_packages_are_described_with_their_plugins() -> None:
    described = ProgramEnvironment(Path(sys.executable), Path(sys.prefix)).describe()
    packages = {package["name"]: package for package in described["packages"]}
    assert described["executable"] == sys.executable
    assert packages["pulumi-aws"]["plugin"]["name"] == "aws"
    assert packages["botocore"]["required"] is True
    assert "plugin" not in packages["pulumi"]


def test_broken_interpreter_is_named_with_its_words(tmp_path: Path) -> None:
    python = fakes.executable(tmp_path, "python", "import sys; sys.exit('no module named encodings')")
    with pytest.raises(UnusableEnvironmentError, match="no module named encodings"):
        ProgramEnvironment(python, None).describe()


def described(**plugin: Any) -> dict[str, Any]:
    """An environment with one package that ships this pulumi-plugin.json."""
    return {
        "packages": [{"name": "pulumi-some-thing", "version": "1.2.3a4", "required": False, "plugin": plugin}]
    }


def test_plugin_is_named_by_its_file_and_else_by_its_package() -> None:
    [package] = required_packages(
        described(resource=True, name="thing", version="9.9.9", server="https://own")
    )
    assert (package.name, package.version, package.server) == ("thing", "v9.9.9", "https://own")
    assert package.kind == "resource"
    [package] = required_packages(described(resource=True))
    assert (package.name, package.version) == ("some-thing", "v1.2.3-alpha.4")
    [plugin] = required_plugins(described(resource=True))
    assert (plugin.name, plugin.version) == ("some-thing", "v1.2.3-alpha.4")


def test_package_without_a_plugin_needs_none() -> None:
    assert list(required_packages(described(resource=False, name="thing"))) == []
    assert (
        list(required_packages({"packages": [{"name": "pulumi", "version": "3.0.0", "required": True}]}))
        == []
    )


def test_parameterization_is_passed_on() -> None:
    value = base64.b64encode(b"{}").decode()
    file = {"resource": True, "parameterization": {"name": "child", "version": "1.0.0", "value": value}}
    [package] = required_packages(described(**json.loads(json.dumps(file))))
    assert package.parameterization.name == "child"
    assert package.parameterization.value == b"{}"


@pytest.mark.parametrize(
    ("python", "plugin"),
    [
        ("7.51.1", "7.51.1"),
        ("1", "1.0.0"),
        ("1.2rc1", "1.2.0-rc.1"),
        ("1.2.3b9.post1", "1.2.3-beta.9+post1"),
        ("1.2.3.dev4", "1.2.3+dev4"),
        ("1!1.0", ""),
        ("1.0+local", ""),
    ],
)
def test_python_versions_become_semantic_ones(python: str, plugin: str) -> None:
    assert plugin_version(python) == plugin


@pytest.mark.parametrize(
    ("arguments", "address"),
    [
        (["127.0.0.1:1"], "127.0.0.1:1"),
        (["--logtostderr", "-v=9", "127.0.0.1:1"], "127.0.0.1:1"),
        (["--tracing", "file:trace", "127.0.0.1:1"], "127.0.0.1:1"),
        (["--tracing", "file:trace"], ""),
        ([], ""),
    ],
)
def test_engine_address_is_the_last_argument_that_is_no_flag(arguments: list[str], address: str) -> None:
    assert engine_address(arguments) == address


def test_dynamic_provider_looks_for_the_project_upwards(tmp_path: Path) -> None:
    program = tmp_path / "program" / "deep"
    program.mkdir(parents=True)
    assert project_root(program) == program
    (tmp_path / "Pulumi.yaml").touch()
    assert project_root(program) == tmp_path
