"""The environment of a rehearsed command: nothing in it leads to an AWS account, a cluster or a backend.

Pure functions over mappings; what the names mean is documented by their owners: botocore
(https://docs.aws.amazon.com/sdkref/latest/guide/settings-reference.html), Pulumi
(https://www.pulumi.com/docs/iac/cli/environment-variables/), kubectl and Helm.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mlcc_rehearsal.runner.folder import RunFolder

#: Set in every process of a rehearsal: the folders of the rehearsals it runs in, the innermost first.
RUNS = "MLCC_REHEARSAL_RUNS"
#: A file in the folder of commands that a rehearsal puts first on PATH.
BIN_MARK = ".mlcc-rehearsal-bin"
#: Where a project's private stack files lie: ``<project>:<view>``. Read by `mlcc_infra.cli.profile`.
PROJECT_VIEW = "MLCC_PROJECT_VIEW"
PASSPHRASE = "rehearsal"

# Names and prefixes of what could lead a command, or tell it, out of the rehearsal.
_DROPPED_PREFIXES = ("AWS_", "PULUMI_", "KUBE", "HELM_", "XDG_", "BOTO_", "EKSCTL_", "ARM_", "GOOGLE_")
_DROPPED = frozenset(
    {
        "ALL_PROXY", "BOTO_CONFIG", "FTP_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "MLCC_CLOCK_SPEED",
        "MLCC_REHEARSAL", "MLCC_PROJECT_VIEW", "GRPC_PROXY", "PYTHONSTARTUP",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Account:
    """How the rehearsed account is reached."""

    endpoint: str
    region: str
    access_key_id: str
    secret_access_key: str


def scrubbed(ambient: Mapping[str, str]) -> dict[str, str]:
    """`ambient` without what names accounts, clusters, backends, proxies or another rehearsal's commands."""
    kept = {
        name: value
        for name, value in ambient.items()
        if not name.upper().startswith(_DROPPED_PREFIXES) and name.upper() not in _DROPPED
    }
    kept["PATH"] = os.pathsep.join(
        folder
        for folder in ambient.get("PATH", os.defpath).split(os.pathsep)
        if folder and not (Path(folder) / BIN_MARK).exists()
    )
    return kept


def _python(ambient: Mapping[str, str]) -> dict[str, str]:
    """The interpreter for programs whose project names none: the user's choice, else the one that runs us."""
    chosen = ambient.get("PULUMI_PYTHON_CMD")
    if not chosen and ambient.get("VIRTUAL_ENV"):
        return {}  # an activated environment is first on PATH, where language hosts look
    return {"PULUMI_PYTHON_CMD": chosen or sys.executable}


def base_environment(ambient: Mapping[str, str], folder: RunFolder, *, speed: float) -> dict[str, str]:
    """What holds for every process of a rehearsal, before the account has an address."""
    outer = ambient.get(RUNS, "")
    return {
        **scrubbed(ambient),
        **_python(ambient),
        "HOME": str(folder.home),
        "XDG_CONFIG_HOME": str(folder.home / ".config"),
        "XDG_CACHE_HOME": str(folder.home / ".cache"),
        "XDG_DATA_HOME": str(folder.home / ".local" / "share"),
        "XDG_STATE_HOME": str(folder.home / ".local" / "state"),
        "KUBECONFIG": str(folder.kubeconfig),
        "AWS_CONFIG_FILE": str(folder.aws_config),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder.aws_credentials),
        "AWS_EC2_METADATA_DISABLED": "true",
        # Port 9 (discard) on the loopback: for programs that do not know the setting above.
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:9",
        "AWS_PAGER": "",
        "PULUMI_HOME": str(folder.pulumi_home),
        "PULUMI_BACKEND_URL": folder.backend.as_uri(),
        "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PYTHONDONTWRITEBYTECODE": "1",
        "MLCC_CLOCK_SPEED": f"{speed:g}",
        "MLCC_REHEARSAL": "1",
        RUNS: os.pathsep.join(filter(None, (str(folder.path), outer))),
    }


def proxy_environment(address: str) -> dict[str, str]:
    """Settings that send every connection outside the loopback to the tripwire at `address`."""
    settings: dict[str, str] = {}
    for name in ("http_proxy", "https_proxy", "all_proxy", "ftp_proxy"):
        settings |= {name: address, name.upper(): address}
    loopback = "127.0.0.1,localhost,::1"
    return {**settings, "no_proxy": loopback, "NO_PROXY": loopback}


def account_environment(account: Account, *, with_region: bool) -> dict[str, str]:
    """How AWS programs find the rehearsed account.

    `with_region` says its region in the environment too, for programs that look nowhere else. Where stack
    files name regions it could contradict one; the AWS configuration file has it in any case.
    """
    region = {name: account.region for name in ("AWS_REGION", "AWS_DEFAULT_REGION") if with_region}
    return {
        "AWS_ENDPOINT_URL": account.endpoint,
        **region,
        "AWS_ACCESS_KEY_ID": account.access_key_id,
        "AWS_SECRET_ACCESS_KEY": account.secret_access_key,
    }


def command_path(ambient_path: str, folder: RunFolder, engine: Iterable[Path], project: Path | None) -> str:
    """PATH: the rehearsal's commands, the engine, the project's virtual environment, the rest."""
    first = [folder.bin, *engine, *([project / ".venv" / "bin"] if project else [])]
    return os.pathsep.join([*(str(path) for path in first), ambient_path])


def write_aws_files(folder: RunFolder, account: Account, profiles: Iterable[str]) -> None:
    """Write the AWS files: the default profile and every one of `profiles` hold the made-up keys.

    The endpoint is in the file too, for programs that start others with a cleaned environment.
    """
    names = sorted({"default", *profiles})
    settings = f"region = {account.region}\nendpoint_url = {account.endpoint}\n"
    keys = (
        f"aws_access_key_id = {account.access_key_id}\naws_secret_access_key = {account.secret_access_key}\n"
    )
    sections = [(name, "default" if name == "default" else f"profile {name}") for name in names]
    folder.aws_config.write_text("\n".join(f"[{section}]\n{settings}" for _, section in sections))
    folder.aws_credentials.write_text("\n".join(f"[{name}]\n{keys}" for name in names))
    folder.aws_credentials.chmod(0o600)
