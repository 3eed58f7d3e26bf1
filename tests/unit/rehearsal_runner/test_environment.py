"""The environment of a rehearsed command leads nowhere but into the rehearsal."""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlcc_rehearsal.runner.environment import (
    BIN_MARK,
    RUNS,
    Account,
    account_environment,
    base_environment,
    command_path,
    proxy_environment,
    scrubbed,
    write_aws_files,
)
from mlcc_rehearsal.runner.folder import RunFolder, open_folder

ACCOUNT = Account("http://127.0.0.1:4566", "us-west-2", "AKIAEXAMPLE", "made-up")


@pytest.fixture
def folder() -> Iterator[RunFolder]:
    opened = open_folder()
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "name",
    [
        "AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3", "AWS_ROLE_ARN", "AWS_CA_BUNDLE",
        "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_MAX_ATTEMPTS",
        "PULUMI_ACCESS_TOKEN", "PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE_FILE",
        "PULUMI_DEBUG_PROVIDERS", "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBE_CONFIG_PATH",
        "HELM_KUBECONTEXT", "XDG_CONFIG_HOME", "BOTO_CONFIG", "https_proxy", "HTTPS_PROXY", "no_proxy",
        "ALL_PROXY", "MLCC_CLOCK_SPEED",
    ],
)  # fmt: skip
def test_nothing_that_leads_out_of_the_rehearsal_is_kept(name: str) -> None:
    assert name not in scrubbed({name: "real", "PATH": "/bin"})


@pytest.mark.parametrize("name", ["LANG", "TERM", "MLCC_DEBUG", "PYTHONPATH", "SSH_AUTH_SOCK", "TMPDIR"])
def test_what_has_nothing_to_do_with_accounts_is_kept(name: str) -> None:
    assert scrubbed({name: "value", "PATH": "/bin"})[name] == "value"


def test_a_rehearsal_within_a_rehearsal_does_not_use_the_outer_ones_commands(tmp_path: Path) -> None:
    (tmp_path / BIN_MARK).touch()
    path = os.pathsep.join([str(tmp_path), "/usr/bin", "/bin"])
    assert scrubbed({"PATH": path})["PATH"] == "/usr/bin:/bin"


def test_every_home_and_file_lies_in_the_private_folder(folder: RunFolder) -> None:
    values = base_environment({"PATH": "/bin", "HOME": "/home/somebody"}, folder, speed=60)
    for name in (
        "HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "KUBECONFIG",
        "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "PULUMI_HOME",
    ):  # fmt: skip
        assert values[name].startswith(str(folder.path)), name
    assert values["PULUMI_BACKEND_URL"] == f"file://{folder.path}/backend"
    assert "somebody" not in "".join(values.values())


def test_programs_run_with_the_interpreter_the_user_chose_or_ours(folder: RunFolder) -> None:
    def chosen(**ambient: str) -> str | None:
        return base_environment({"PATH": "/bin", **ambient}, folder, speed=60).get("PULUMI_PYTHON_CMD")

    assert chosen() == sys.executable
    assert chosen(PULUMI_PYTHON_CMD="/my/python") == "/my/python"
    assert chosen(VIRTUAL_ENV="/my/environment") is None


def test_no_metadata_service_is_asked(folder: RunFolder) -> None:
    values = base_environment({"PATH": "/bin"}, folder, speed=60)
    assert values["AWS_EC2_METADATA_DISABLED"] == "true"
    assert values["AWS_EC2_METADATA_SERVICE_ENDPOINT"].startswith("http://127.0.0.1:")


def test_the_speed_reaches_every_program_that_waits(folder: RunFolder) -> None:
    assert base_environment({"PATH": "/bin"}, folder, speed=600)["MLCC_CLOCK_SPEED"] == "600"
    assert base_environment({"PATH": "/bin"}, folder, speed=0.5)["MLCC_CLOCK_SPEED"] == "0.5"


def test_processes_are_marked_with_every_rehearsal_they_belong_to(folder: RunFolder) -> None:
    values = base_environment({"PATH": "/bin", RUNS: "/tmp/outer"}, folder, speed=60)
    assert values[RUNS].split(os.pathsep) == [str(folder.path), "/tmp/outer"]


def test_proxies_catch_everything_but_the_loopback() -> None:
    values = proxy_environment("http://127.0.0.1:1")
    assert {values[name] for name in ("http_proxy", "HTTPS_PROXY", "all_proxy")} == {"http://127.0.0.1:1"}
    assert values["no_proxy"] == values["NO_PROXY"] == "127.0.0.1,localhost,::1"


def test_all_programs_find_the_account_by_the_environment_alone() -> None:
    found = account_environment(ACCOUNT, with_region=True)
    assert found == {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:4566",
        "AWS_REGION": "us-west-2",
        "AWS_DEFAULT_REGION": "us-west-2",
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "made-up",
    }


def test_the_environment_names_no_region_where_stack_files_do(folder: RunFolder) -> None:
    found = account_environment(ACCOUNT, with_region=False)
    assert not [name for name in found if "REGION" in name]
    write_aws_files(folder, ACCOUNT, ())
    assert "region = us-west-2" in folder.aws_config.read_text()


def test_the_rehearsals_commands_come_first_on_path(folder: RunFolder) -> None:
    path = command_path("/usr/bin:/bin", folder, [Path("/engine")], Path("/checkout"))
    assert path == f"{folder.bin}:/engine:/checkout/.venv/bin:/usr/bin:/bin"
    assert command_path("/bin", folder, [Path("/engine")], None) == f"{folder.bin}:/engine:/bin"


def test_every_named_profile_resolves_to_the_made_up_keys(folder: RunFolder) -> None:
    write_aws_files(folder, ACCOUNT, ["corp", "corp", "lab.admin"])
    config, credentials = configparser.ConfigParser(), configparser.ConfigParser()
    config.read(folder.aws_config)
    credentials.read(folder.aws_credentials)
    assert config.sections() == ["profile corp", "default", "profile lab.admin"]
    assert {section["endpoint_url"] for name, section in config.items() if name != "DEFAULT"} == {
        ACCOUNT.endpoint
    }
    for name in ("default", "corp", "lab.admin"):
        assert credentials[name]["aws_access_key_id"] == "AKIAEXAMPLE"
    assert folder.aws_credentials.stat().st_mode & 0o777 == 0o600
