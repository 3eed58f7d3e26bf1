"""A vanilla cluster under several identities, played inside a rehearsal.

Usage: identity_life.py FILE. The rehearsal's operator makes the stack; another operator, a
profile, keys alone and another account come after it.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import boto3

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.engine.scripts.hyperpod_acts import Play

STACK, CLUSTER = "mlcc-eks", "mlcc-eks-eks"
OTHER_ACCOUNT = "210987654321"
ADMIN_PATH = "/aws-reserved/sso.amazonaws.com/"
SSO_ROLE, SESSION_ROLE = "AWSReservedSSO_Admin_0123456789abcdef", "Platform"
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
# Keys in a file are found by name; keys in the environment come before all but a profile that is asked for.
KEYLESS = dict.fromkeys(KEYS, "")


class Identities(Play):
    """Acts under an identity of their own: variables that are set, those that are empty taken out."""

    def under(self, variables: Mapping[str, str], name: str, *command: str) -> int:
        """A pulumi act with other variables."""
        self.environment = changed(variables)
        try:
            return self.act(name, *command)
        finally:
            self.environment = None

    def own(self, name: str, *command: str, variables: Mapping[str, str] | None = None) -> None:
        """An act of `mlcc-infra` with other variables; also the state before it and the access entries."""
        before = self.state()
        self.environment = changed(variables or {})
        try:
            self.ours(name, *command)
        finally:
            self.environment = None
        self.acts[name] |= {"before": before, "entries": entries()}


def changed(variables: Mapping[str, str]) -> dict[str, str]:
    """This environment with other variables; an empty one is taken out."""
    return {name: value for name, value in {**os.environ, **variables}.items() if value}


def operator(name: str) -> dict[str, str]:
    """A further IAM user with all rights, as variables."""
    iam = boto3.client("iam")
    iam.create_user(UserName=name)
    iam.attach_user_policy(UserName=name, PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return dict(zip(KEYS, (key["AccessKeyId"], key["SecretAccessKey"]), strict=True))


def role(name: str, path: str) -> None:
    trust = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    boto3.client("iam").create_role(RoleName=name, Path=path, AssumeRolePolicyDocument=document)


def add_profile(name: str, keys: Mapping[str, str]) -> None:
    """Put a profile into the AWS files of this rehearsal."""
    config, credentials = (Path(os.environ[f"AWS_{file}_FILE"]) for file in ("CONFIG", "SHARED_CREDENTIALS"))
    with config.open("a") as file:
        endpoint = os.environ["AWS_ENDPOINT_URL"]
        file.write(f"\n[profile {name}]\nregion = us-west-2\nendpoint_url = {endpoint}\n")
    with credentials.open("a") as file:
        lines = [f"{key.lower()} = {value}\n" for key, value in keys.items()]
        file.write(f"\n[{name}]\n{''.join(lines)}")


@contextlib.contextmanager
def another_account() -> Iterator[dict[str, str]]:
    """Variables of an operator in another account: a second cloud, which answers for that one."""
    command = [sys.executable, "-m", "mlcc_rehearsal.cloud", "serve", "--account", OTHER_ACCOUNT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().strip() for _ in range(5)]
        words = (line.removeprefix("export ") for line in lines if line.startswith("export "))
        variables = {name: value for name, _, value in (word.partition("=") for word in words)}
        del variables["AWS_REGION"]
        try:
            yield variables
        finally:
            process.terminate()


def entries() -> dict[str, list[str]]:
    """Access entries of the cluster with their policies, as EKS has them; none when it is gone."""
    eks = boto3.client("eks")
    try:
        found = eks.list_access_entries(clusterName=CLUSTER)["accessEntries"]
    except eks.exceptions.ResourceNotFoundException:
        return {}
    return {arn: policies(arn) for arn in found}


def policies(arn: str) -> list[str]:
    listed = boto3.client("eks").list_associated_access_policies(clusterName=CLUSTER, principalArn=arn)
    return [policy["policyArn"].rpartition("/")[2] for policy in listed["associatedAccessPolicies"]]


def outputs() -> str:
    """All outputs of the stack, secrets shown."""
    command = ["pulumi", "stack", "output", "--show-secrets", "--json", "-s", STACK]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def prepare(play: Identities) -> tuple[dict[str, str], dict[str, str]]:
    """People of the account, and who of them administers the cluster; keys of this and the other operator."""
    first = {name: os.environ[name] for name in KEYS}
    second = operator("second-operator")
    role(SSO_ROLE, ADMIN_PATH)
    role(SESSION_ROLE, "/team/")
    account = boto3.client("sts").get_caller_identity()["Account"]
    for number, arn in enumerate(
        (
            f"arn:aws:iam::{account}:user/second-operator",
            f"arn:aws:iam::{account}:role/{SSO_ROLE}",
            f"arn:aws:sts::{account}:assumed-role/{SESSION_ROLE}/jane",
            f"arn:aws:iam::{account}:role/team/{SESSION_ROLE}",
        )
    ):
        play.set(f"mlcc:admins[{number}]", arn)
    add_profile("ambient-profile", second)
    return first, second


def play_ambient(play: Identities, first: Mapping[str, str], second: Mapping[str, str]) -> None:
    """Nothing of the environment is in the state, and it makes no difference to the plan."""
    play.under({"AWS_PROFILE": "ambient-profile"}, "up", "up", "--yes", "--skip-preview")
    play.note("outputs", outputs())
    play.note("ambient", [*first.values(), *second.values(), "ambient-profile", "rehearsal-operator"])
    play.note("entries after up", entries())
    another = KEYLESS | {"AWS_PROFILE": "ambient-profile"}
    play.under(another, "second operator", "preview", "--expect-no-changes")


def play_guard(play: Identities, other: Mapping[str, str]) -> None:
    """The account of the first `up` guards later ones; mlcc:accountId is not set."""
    play.under(other, "up in another account", "up", "--yes", "--skip-preview")
    play.under(other, "destroy in another account", "destroy", "--yes", "--skip-preview")
    for command in ("doctor", "orphans", "retained"):
        play.own(f"{command} in another account", command, variables=other)


def play_access(play: Identities) -> None:
    """The caller's own entry, which nobody declared, is taken away by hand, and an admin's with it."""
    caller = boto3.client("sts").get_caller_identity()["Arn"]
    for principal in (caller, f"{caller.rpartition('/')[0]}/second-operator"):
        boto3.client("eks").delete_access_entry(clusterName=CLUSTER, principalArn=principal)
    play.act("locked out", "up", "--yes", "--skip-preview")
    play.own("doctor when locked out", "doctor", "--json")
    play.own("access shown", "access")
    play.own("access repaired", "access", "--repair")


def play_profile(play: Identities, first: Mapping[str, str], other: Mapping[str, str]) -> None:
    """Up with a named profile, whatever the environment says; then an environment that has keys alone."""
    add_profile("team", first)
    play.set("mlcc:awsProfile", "team")
    nobody = dict.fromkeys(KEYS, "AKIANOBODYHASTHIS000")
    elsewhere = {"AWS_PROFILE": "ambient-profile", **nobody}
    play.own("identity of the profile", "identity", "--use", "team", variables=elsewhere)
    play.under(elsewhere, "up with a profile", "up", "--yes", "--skip-preview")
    play.own("doctor with a profile", "doctor", "--json", variables=elsewhere)
    bare = Path(os.environ["HOME"]) / "no-profiles"
    bare.write_text("")
    keys_only = {"AWS_CONFIG_FILE": str(bare), "AWS_SHARED_CREDENTIALS_FILE": str(bare), **first}
    play.under(keys_only, "destroy without the profile", "destroy", "--yes", "--skip-preview")

    def bare_act(name: str, *command: str, **more: str) -> None:
        play.own(name, *command, variables={**keys_only, **more})

    bare_act("doctor without the profile", "doctor")
    bare_act("identity shown", "identity")
    bare_act("identity nowhere", "identity", "--use", "nowhere")
    bare_act("identity elsewhere", "identity", "--use", "environment", **other)
    bare_act("identity nobody", "identity", "--use", "environment", **nobody)
    bare_act("identity used", "identity", "--use", "environment")
    play.own("identity back", "identity", "--use", "team", variables=elsewhere)
    play.under(elsewhere, "same after going back", "preview", "--expect-no-changes")
    bare_act("identity used again", "identity", "--use", "environment")
    # The stack file still names the profile; what is destroyed has its identity in the state.
    bare_act("destroy with keys alone", "destroy", "--force-delete", "--yes")


def main() -> None:
    play = Identities(STACK, sys.argv[1])
    with play.written(), another_account() as other:
        first, second = prepare(play)
        play_ambient(play, first, second)
        play_guard(play, other)
        play_access(play)
        play_profile(play, first, other)


if __name__ == "__main__":
    main()
