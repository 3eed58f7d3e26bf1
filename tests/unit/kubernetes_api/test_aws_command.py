"""`aws` in a rehearsal: tokens for kubeconfigs, and what is not modelled."""

import base64
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mlcc_rehearsal import aws_cli
from mlcc_rehearsal.kubernetes_api import KubernetesApi
from tests.unit.kubernetes_api.support import ADMIN, Client

ROOT = str(Path(__file__).parents[3])


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Profiles in a private home, nothing else of AWS."""
    files = tmp_path / "aws"
    files.mkdir()
    (files / "credentials").write_text(
        f"[work]\naws_access_key_id = {ADMIN}\naws_secret_access_key = secret\n"
    )
    (files / "config").write_text("[profile work]\nregion = eu-west-1\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return kept | {
        "AWS_SHARED_CREDENTIALS_FILE": str(files / "credentials"),
        "AWS_CONFIG_FILE": str(files / "config"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "PYTHONPATH": ROOT,
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def aws(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mlcc_rehearsal.aws_cli", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_a_token_of_the_chosen_profile_opens_the_cluster(
    api: KubernetesApi, environment: dict[str, str]
) -> None:
    wanted = ("--profile", "work", "eks", "get-token", "--cluster-name", "demo", "--output", "json")
    done = aws(environment, *wanted)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["kind"], answer["apiVersion"]) == (
        "ExecCredential",
        "client.authentication.k8s.io/v1beta1",
    )
    assert Client(api, answer["status"]["token"]).ok("GET", "/api/v1/namespaces")["items"]


def test_the_answer_has_the_version_that_was_asked_for(environment: dict[str, str]) -> None:
    asked = {"KUBERNETES_EXEC_INFO": json.dumps({"apiVersion": "client.authentication.k8s.io/v1"})}
    done = aws(environment | asked, "eks", "get-token", "--cluster-name", "demo", "--profile=work")
    assert json.loads(done.stdout)["apiVersion"] == "client.authentication.k8s.io/v1"


def test_missing_credentials_and_names_are_said_in_the_clis_words(environment: dict[str, str]) -> None:
    nobody = aws(environment, "eks", "get-token", "--cluster-name", "demo")
    assert (nobody.returncode, "Unable to locate credentials" in nobody.stderr) == (253, True)
    unnamed = aws(environment, "eks", "get-token", "--profile", "work")
    assert unnamed.returncode == 252
    assert "--cluster-name or --cluster-id must be specified" in unnamed.stderr
    unknown = aws(environment, "eks", "get-token", "--cluster-name", "demo", "--profile", "nope")
    assert (unknown.returncode, "The config profile (nope) could not be found" in unknown.stderr) == (
        255,
        True,
    )


def test_anything_else_goes_to_another_aws_or_is_refused(environment: dict[str, str], tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    command = here / "aws"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mlcc_rehearsal.aws_cli "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    refused = aws(environment | {"PATH": str(here)}, "s3", "ls")
    assert refused.returncode == 252
    assert "does not model `aws s3 ls`" in refused.stderr
    there = tmp_path / "there"
    there.mkdir()
    other = there / "aws"
    other.write_text('#!/bin/sh\necho "the real one: $*"\n')
    other.chmod(other.stat().st_mode | stat.S_IXUSR)
    handed = aws(environment | {"PATH": f"{here}{os.pathsep}{there}{os.pathsep}/bin"}, "s3", "ls")
    assert handed.stdout == "the real one: s3 ls\n"


def test_options_may_stand_anywhere() -> None:
    parsed = aws_cli.parse(
        ["--region", "us-west-2", "eks", "get-token", "--cluster-name=demo", "--no-cli-pager"]
    )
    assert parsed.words == ["eks", "get-token"]
    assert parsed.get("--cluster-name") == "demo"
    with pytest.raises(aws_cli.UsageError, match="expected one argument"):
        aws_cli.parse(["eks", "get-token", "--cluster-name"])


@pytest.mark.parametrize("given", [["--role", "arn:role"], ["--role=arn:role"], ["--role-arn", "arn:role"]])
def test_the_role_of_a_kubeconfig_is_assumed_by_its_short_name_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: list[str]
) -> None:
    assumed: list[str] = []

    def call(arguments: object, service: str, operation: str, **parameters: str) -> dict[str, object]:
        assumed.append(parameters["RoleArn"])
        keys = {"AccessKeyId": "ASIAROLE", "SecretAccessKey": "secret", "SessionToken": "token"}
        return {"Credentials": keys}

    monkeypatch.setattr(aws_cli, "_call", call)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ADMIN)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert aws_cli.main(["eks", "get-token", "--cluster-name", "demo", *given]) == 0
    assert assumed == ["arn:role"]
    token = json.loads(capsys.readouterr().out)["status"]["token"].removeprefix(aws_cli.TOKEN_PREFIX)
    assert b"ASIAROLE" in base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
