"""The `aws` command of a rehearsal: what kubeconfigs call, without an installed AWS CLI.

``eks get-token`` is answered here always, ``sts get-caller-identity`` and ``--version`` where no AWS CLI is
on PATH; everything else becomes the AWS CLI, which finds the rehearsed account by the environment. A token is
``k8s-aws-v1.`` and the address, in unpadded URL-safe base64, of an STS GetCallerIdentity request signed
together with the header ``x-k8s-aws-id`` that names the cluster; it is honoured for 15 minutes, and clients
renew it after 14. Source: aws-cli ``awscli/customizations/eks/get_token.py`` and
https://github.com/kubernetes-sigs/aws-iam-authenticator#how-does-it-work.
"""

from __future__ import annotations

import argparse
import base64
import datetime
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

TOKEN_PREFIX = "k8s-aws-v1."
CLUSTER_HEADER = "x-k8s-aws-id"
_PRESIGNED_SECONDS = 60
_RENEWED_AFTER = datetime.timedelta(minutes=14)
_API_VERSION = "client.authentication.k8s.io/v1beta1"
# A version the published EKS component accepts (it asks for 2.7.0 or later).
_VERSION = "aws-cli/2.7.0 mlcc-rehearsal/1 (eks get-token, sts get-caller-identity)"


def real_command(own_folder: Path) -> str | None:
    """The AWS CLI on PATH, when there is one besides this command."""
    folders = [
        f for f in os.environ.get("PATH", "").split(os.pathsep) if f and Path(f).resolve() != own_folder
    ]
    return shutil.which("aws", path=os.pathsep.join(folders))


def _session(options: argparse.Namespace) -> Any:
    import boto3

    session = boto3.Session(profile_name=options.profile, region_name=options.region)
    if not options.role_arn:
        return session
    answer = session.client("sts").assume_role(RoleArn=options.role_arn, RoleSessionName="EKSGetTokenAuth")
    keys = answer["Credentials"]
    return boto3.Session(
        aws_access_key_id=keys["AccessKeyId"],
        aws_secret_access_key=keys["SecretAccessKey"],
        aws_session_token=keys["SessionToken"],
        region_name=session.region_name,
    )


def bearer_token(session: Any, cluster: str) -> str:
    """A token for the API of `cluster`, by the session's keys. botocore's errors when it has none."""
    from botocore.signers import RequestSigner

    client = session.client("sts")
    signer = RequestSigner(
        client.meta.service_model.service_id,
        session.region_name,
        "sts",
        "v4",
        session.get_credentials(),
        session.events,
    )
    request = {
        "method": "GET",
        "url": f"{client.meta.endpoint_url}/?Action=GetCallerIdentity&Version=2011-06-15",
        "body": {},
        "headers": {CLUSTER_HEADER: cluster},
        "context": {},
    }
    address: Any = signer.generate_presigned_url(
        request, region_name=session.region_name, expires_in=_PRESIGNED_SECONDS, operation_name=""
    )
    return TOKEN_PREFIX + base64.urlsafe_b64encode(address.encode()).decode().rstrip("=")


def exec_credential(token: str, now: datetime.datetime) -> dict[str, Any]:
    """The object a kubeconfig's exec plugin prints, in the version its caller asks for."""
    info = json.loads(os.environ.get("KUBERNETES_EXEC_INFO") or "{}")
    return {
        "kind": "ExecCredential",
        "apiVersion": info.get("apiVersion", _API_VERSION),
        "spec": {},
        "status": {
            "expirationTimestamp": (now + _RENEWED_AFTER).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "token": token,
        },
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="aws", add_help=False, allow_abbrev=False)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--version", action="store_true")
    for name in ("--region", "--profile", "--output", "--cluster-name", "--cluster-id"):
        parser.add_argument(name)
    parser.add_argument("--role-arn", "--role", dest="role_arn")
    return parser


def main(run: Path, arguments: list[str]) -> int:
    """Answer the call or become the AWS CLI; 252, as the AWS CLI, for a call this command does not serve."""
    options, unknown = _parser().parse_known_args(arguments)
    words = tuple(options.words)
    if words == ("eks", "get-token") and not unknown and options.cluster_name:
        token = bearer_token(_session(options), options.cluster_name)
        print(json.dumps(exec_credential(token, datetime.datetime.now(datetime.UTC)), indent=4))
        return 0
    real = real_command((run / "bin").resolve())
    if real is not None:
        os.execv(real, ["aws", *arguments])
    if options.version:
        print(_VERSION)
        return 0
    if words == ("sts", "get-caller-identity") and not unknown:
        answer = _session(options).client("sts").get_caller_identity()
        print(json.dumps({key: answer[key] for key in ("UserId", "Account", "Arn")}, indent=4))
        return 0
    print(
        f"aws: no AWS CLI is installed, and the rehearsal's own does not serve {' '.join(arguments)!r}",
        file=sys.stderr,
    )
    return 252


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
