"""What ``aws`` on a rehearsal's PATH runs: the few calls that kubeconfigs and people make.

Modelled: ``aws --version``, ``aws eks get-token``, ``aws eks update-kubeconfig``, ``aws sts
get-caller-identity``. Anything else is handed to an ``aws`` elsewhere on PATH. Options and output follow
the AWS CLI v2 command reference; the token is made as ``awscli.customizations.eks.get_token`` makes it:
a presigned ``sts:GetCallerIdentity`` with ``x-k8s-aws-id`` among the signed headers, base64url, no padding.
"""

from __future__ import annotations

import base64
import datetime
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MODELLED = "--version, eks get-token, eks update-kubeconfig, sts get-caller-identity"
VERSION = "aws-cli/2.31.0-rehearsal"
TOKEN_PREFIX = "k8s-aws-v1."
TOKEN_SECONDS = 14 * 60
"""Kubernetes clients ask for a new token after this time; the server takes one for a minute longer."""
_SIGNED_SECONDS = 60
_EXEC_VERSIONS = ("v1alpha1", "v1beta1", "v1")
_GLOBAL_FLAGS = frozenset({"--no-cli-pager", "--no-verify-ssl", "--no-paginate", "--debug"})
_PREFIXES = {"--role": "--role-arn"}
"""Options that the CLI's parser completes; kubeconfigs of pulumi-eks have this one."""


class UsageError(Exception):
    """The command line cannot be understood, or cannot be answered."""


@dataclass
class Arguments:
    """A command line: words such as ``eks get-token`` and options by name, global or not."""

    words: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> str | None:
        """An option's value."""
        return self.options.get(name)

    def required(self, name: str) -> str:
        """An option that must be there.

        Raises:
            UsageError: in the CLI's words.
        """
        if name not in self.options:
            raise UsageError(f"the following arguments are required: {name}")
        return self.options[name]


def parse(arguments: Sequence[str]) -> Arguments:
    """Words and options; options may stand anywhere, as ``--name value`` or ``--name=value``.

    Raises:
        UsageError: an option lacks its value.
    """
    parsed = Arguments()
    waiting = list(arguments)
    while waiting:
        current = waiting.pop(0)
        if not current.startswith("--"):
            parsed.words.append(current)
        elif current in _GLOBAL_FLAGS or current in ("--version", "--dry-run", "--verbose"):
            parsed.options[current] = "true"
        elif "=" in current:
            name, _, value = current.partition("=")
            parsed.options[_PREFIXES.get(name, name)] = value
        elif waiting:
            parsed.options[_PREFIXES.get(current, current)] = waiting.pop(0)
        else:
            raise UsageError(f"argument {current}: expected one argument")
    return parsed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; answers the exit code (255 for a failure of the call, 252 for bad usage)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        parsed = parse(given)
        if "--version" in parsed.options:
            python = ".".join(str(part) for part in sys.version_info[:3])
            print(f"{VERSION} Python/{python} {sys.platform}")
            return 0
        command = {
            ("eks", "get-token"): get_token,
            ("eks", "update-kubeconfig"): update_kubeconfig,
            ("sts", "get-caller-identity"): get_caller_identity,
        }.get(tuple(parsed.words[:2]))  # type: ignore[arg-type]
        if command is None or len(parsed.words) > 2:
            return _hand_over(given)
        return command(parsed)
    except UsageError as error:
        print(f"\naws: error: {error}", file=sys.stderr)
        return 252


def get_token(arguments: Arguments) -> int:
    """``aws eks get-token``: an ExecCredential on standard output."""
    name = arguments.get("--cluster-name") or arguments.get("--cluster-id")
    if not name:
        raise UsageError("Either parameter --cluster-name or --cluster-id must be specified.")
    session = _session(arguments)
    credentials = _credentials(session, arguments)
    if credentials is None:
        return _no_credentials()
    region = session.get_config_variable("region") or "us-east-1"
    token = make_token(session, credentials, region, name)
    expires = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=TOKEN_SECONDS)
    answer = {
        "kind": "ExecCredential",
        "apiVersion": _exec_api_version(),
        "spec": {},
        "status": {"expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ"), "token": token},
    }
    print(json.dumps(answer))
    return 0


def make_token(session: Any, credentials: Any, region: str, cluster_name: str) -> str:
    """A bearer token for a cluster's API from botocore ``credentials``."""
    from botocore.signers import RequestSigner

    model = session.get_service_model("sts")
    events = session.get_component("event_emitter")
    signer = RequestSigner(model.service_id, region, "sts", "v4", credentials, events)
    address: Any = signer.generate_presigned_url(
        {
            "method": "GET",
            "url": f"https://sts.{region}.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15",
            "body": {},
            "headers": {"x-k8s-aws-id": cluster_name},
            "context": {},
        },
        region_name=region,
        expires_in=_SIGNED_SECONDS,
        operation_name="",
    )
    return TOKEN_PREFIX + base64.urlsafe_b64encode(address.encode()).decode("ascii").rstrip("=")


def update_kubeconfig(arguments: Arguments) -> int:
    """``aws eks update-kubeconfig``: cluster, user and context in the kubeconfig, made current."""
    import yaml

    name = arguments.get("--name")
    if not name:
        raise UsageError("the following arguments are required: --name")
    cluster = _call(arguments, "eks", "describe_cluster", name=name)
    if cluster is None:
        return 255
    described = cluster["cluster"]
    if described["status"] not in ("ACTIVE", "UPDATING"):
        print(f"\naws: error: Cluster status is {described['status']}", file=sys.stderr)
        return 255
    arn = described["arn"]
    region = arn.split(":")[3]
    command = ["--region", region, "eks", "get-token", "--cluster-name", name, "--output", "json"]
    if arguments.get("--role-arn"):
        command += ["--role-arn", arguments.required("--role-arn")]
    user: dict[str, Any] = {
        "exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "args": command, "command": "aws"}
    }
    profile = arguments.get("--profile") or os.environ.get("AWS_PROFILE")
    if profile:
        user["exec"]["env"] = [{"name": "AWS_PROFILE", "value": profile}]
    context = arguments.get("--alias") or arn
    user_name = arguments.get("--user-alias") or arn
    target = Path(
        arguments.get("--kubeconfig")
        or os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
        or _default_path()
    )
    config: dict[str, Any] = {}
    if target.exists():
        config = yaml.safe_load(target.read_text()) or {}
    config.setdefault("apiVersion", "v1")
    config.setdefault("kind", "Config")
    config.setdefault("preferences", {})
    authority = described["certificateAuthority"]["data"]
    entries = {
        "clusters": (
            arn,
            {"cluster": {"certificate-authority-data": authority, "server": described["endpoint"]}},
        ),
        "contexts": (context, {"context": {"cluster": arn, "user": user_name}}),
        "users": (user_name, {"user": user}),
    }
    known = any(item.get("name") == context for item in config.get("contexts") or [])
    for kind, (entry_name, entry) in entries.items():
        others = [item for item in config.get(kind) or [] if item.get("name") != entry_name]
        config[kind] = [*others, {**entry, "name": entry_name}]
    config["current-context"] = context
    text = yaml.safe_dump(config, default_flow_style=False, sort_keys=True)
    if "--dry-run" in arguments.options:
        print(text)
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    target.touch(mode=0o600)
    target.write_text(text)
    print(f"{'Updated' if known else 'Added new'} context {context} {'in' if known else 'to'} {target}")
    return 0


def get_caller_identity(arguments: Arguments) -> int:
    """``aws sts get-caller-identity`` as JSON, or the values alone with ``--output text``."""
    identity = _call(arguments, "sts", "get_caller_identity")
    if identity is None:
        return 255
    answer = {key: identity[key] for key in ("UserId", "Account", "Arn")}
    query = arguments.get("--query")
    if query:
        import jmespath

        selected = jmespath.search(query, answer)
        text = arguments.get("--output") == "text" and isinstance(selected, str)
        print(selected if text else json.dumps(selected, indent=4))
    elif arguments.get("--output") == "text":
        print("\t".join((answer["Account"], answer["Arn"], answer["UserId"])))
    else:
        print(json.dumps(answer, indent=4))
    return 0


def _session(arguments: Arguments) -> Any:
    import botocore.session

    session = botocore.session.Session(profile=arguments.get("--profile"))
    if arguments.get("--region"):
        session.set_config_variable("region", arguments.get("--region"))
    return session


def _credentials(session: Any, arguments: Arguments) -> Any:
    """Credentials of the profile or environment, or of the role that ``--role-arn`` names."""
    from botocore.exceptions import ProfileNotFound

    try:
        credentials = session.get_credentials()
    except ProfileNotFound as error:
        print(f"\n{error}", file=sys.stderr)
        raise SystemExit(255) from error
    role = arguments.get("--role-arn")
    if not role or credentials is None:
        return credentials
    from botocore.credentials import Credentials

    answer = _call(arguments, "sts", "assume_role", RoleArn=role, RoleSessionName="EKSGetTokenAuth")
    if answer is None:
        raise SystemExit(255)
    assumed = answer["Credentials"]
    return Credentials(assumed["AccessKeyId"], assumed["SecretAccessKey"], assumed["SessionToken"])


def _call(arguments: Arguments, service: str, operation: str, **parameters: str) -> dict[str, Any] | None:
    """The answer of an AWS call, or None when it failed and the CLI's words have been printed."""
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

    try:
        session = _session(arguments)
        region = session.get_config_variable("region") or ("us-east-1" if service == "sts" else None)
        endpoint = arguments.get("--endpoint-url")
        client = session.create_client(service, region_name=region, endpoint_url=endpoint)
        answer: dict[str, Any] = getattr(client, operation)(**parameters)
    except NoCredentialsError:
        _no_credentials()
        return None
    except (BotoCoreError, ClientError) as error:
        print(f"\n{error}", file=sys.stderr)
        return None
    return answer


def _no_credentials() -> int:
    print('\nUnable to locate credentials. You can configure credentials by running "aws configure".',
          file=sys.stderr)  # fmt: skip
    return 253


def _exec_api_version() -> str:
    """The version a Kubernetes client asks for in KUBERNETES_EXEC_INFO, v1beta1 without one."""
    group = "client.authentication.k8s.io"
    try:
        wanted = json.loads(os.environ.get("KUBERNETES_EXEC_INFO") or "{}").get("apiVersion", "")
    except ValueError:
        wanted = ""
    known = {f"{group}/{version}" for version in _EXEC_VERSIONS}
    return str(wanted) if wanted in known else f"{group}/v1beta1"


def _default_path() -> Path:
    return Path.home() / ".kube" / "config"


def _hand_over(arguments: list[str]) -> int:
    """Become another ``aws`` of PATH, or say what is modelled here."""
    own = os.environ.get("MLCC_AWS_CLI", "")
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        candidate = Path(folder or ".") / "aws"
        if candidate.is_file() and os.access(candidate, os.X_OK) and not _is_this(candidate, own):
            environment = {**os.environ, "MLCC_AWS_CLI": str(candidate)}
            os.execve(candidate, [str(candidate), *arguments], environment)
    words = " ".join(arguments) or "(nothing)"
    print(
        f"aws: error: a rehearsal does not model `aws {words}` and finds no other aws on PATH. Modelled: "
        f"{MODELLED}. Add a command in mlcc_rehearsal/aws_cli.py, or use boto3.",
        file=sys.stderr,
    )
    return 252


def _is_this(candidate: Path, own: str) -> bool:
    """Whether a file of PATH leads back here: it names this module, or it was tried already."""
    if own and candidate == Path(own):
        return True
    try:
        return b"mlcc_rehearsal.aws_cli" in candidate.read_bytes()[:4096]
    except OSError:
        return True


if __name__ == "__main__":
    sys.exit(main())
