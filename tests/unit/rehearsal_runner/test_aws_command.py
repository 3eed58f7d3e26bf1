"""The rehearsal's `aws`: tokens for kubeconfigs, and the AWS CLI for the rest."""

from __future__ import annotations

import base64
import datetime
import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest

from mlcc_rehearsal.runner.aws_command import bearer_token, exec_credential, main, real_command


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:4566",
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "made-up",
        "AWS_REGION": "us-west-2",
        "AWS_DEFAULT_REGION": "us-west-2",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.delenv("KUBERNETES_EXEC_INFO", raising=False)


def address_in(token: str) -> str:
    prefix, _, text = token.partition(".")
    assert prefix == "k8s-aws-v1"
    assert "=" not in text
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()


def test_a_token_is_a_signed_question_who_the_caller_is() -> None:
    address = urlsplit(address_in(bearer_token(boto3.Session(), "mlcc-demo-eks")))
    query = parse_qs(address.query)
    assert (address.netloc, query["Action"]) == ("127.0.0.1:4566", ["GetCallerIdentity"])
    assert query["X-Amz-Credential"][0].split("/")[0] == "AKIAEXAMPLE"
    assert "x-k8s-aws-id" in query["X-Amz-SignedHeaders"][0].split(";")


def test_tokens_of_two_clusters_are_two_tokens() -> None:
    signatures = [
        parse_qs(urlsplit(address_in(bearer_token(boto3.Session(), name))).query)["X-Amz-Signature"]
        for name in ("one", "other")
    ]
    assert signatures[0] != signatures[1]


def test_the_credential_is_of_the_version_its_caller_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    assert exec_credential("t", now)["apiVersion"] == "client.authentication.k8s.io/v1beta1"
    monkeypatch.setenv("KUBERNETES_EXEC_INFO", '{"apiVersion": "client.authentication.k8s.io/v1"}')
    credential = exec_credential("t", now)
    assert credential["apiVersion"] == "client.authentication.k8s.io/v1"
    assert credential["status"] == {"expirationTimestamp": "2026-01-01T00:14:00Z", "token": "t"}


def test_the_call_of_a_kubeconfig_is_answered(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = [
        "--region",
        "us-west-2",
        "eks",
        "get-token",
        "--cluster-name",
        "mlcc-demo-eks",
        "--output",
        "json",
    ]
    assert main(tmp_path, arguments) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "ExecCredential"


def test_without_an_aws_cli_other_calls_are_refused_by_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(tmp_path, ["s3", "ls"]) == 252
    assert "no AWS CLI is installed" in capsys.readouterr().err
    assert main(tmp_path, ["--version"]) == 0
    assert capsys.readouterr().out.startswith("aws-cli/2.7.0 ")


def test_the_aws_cli_is_never_this_command_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = tmp_path / "bin", tmp_path / "other"
    for folder in (own, other):
        folder.mkdir()
        (folder / "aws").write_text("#!/bin/sh\n")
        (folder / "aws").chmod(0o755)
    monkeypatch.setenv("PATH", f"{own}:{other}")
    assert real_command(own) == str(other / "aws")
    monkeypatch.setenv("PATH", str(own))
    assert real_command(own) is None
