"""Which AWS profile a stack's state stores, and rewriting it.

Refresh and destroy run no program: they take credentials from what the state has of the aws and kubernetes
providers and of the dynamic resources. Where the stored profile does not exist, as in a CI job that has keys
alone, nothing works until the state names another identity. Everything here is pure: an exported state goes
in, another comes out. Values that are not rewritten, secrets among them, stay as they were, encrypted.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

AWS_PROVIDER: Final = "pulumi:providers:aws"
KUBERNETES_PROVIDER: Final = "pulumi:providers:kubernetes"
DYNAMIC_PROVIDER: Final = "pulumi:providers:pulumi-python"
DYNAMIC: Final = "pulumi-python:dynamic"
STACK: Final = "pulumi:pulumi:Stack"
PROFILE_VARIABLE: Final = "AWS_PROFILE"
# What marks a secret in an exported state (pulumi/sdk go/common/resource, SigKey and SecretSig).
_SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
_SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"
_SIDES: Final = ("inputs", "outputs")


class EncryptedIdentityError(Exception):
    """A value that has to be read is encrypted; the text names its place."""


@dataclass(frozen=True, kw_only=True)
class StoredIdentity:
    """What one holder of the state uses: an AWS profile, or None for whatever the environment has.

    `holder` is the resource's type and logical name.
    """

    holder: str
    profile: str | None


@dataclass(frozen=True, kw_only=True)
class Rewritten:
    """A state with another identity, and what was changed in it."""

    export: dict[str, Any]
    changed: tuple[StoredIdentity, ...]


def resources(export: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The resources of an exported state."""
    return (export.get("deployment") or {}).get("resources") or []


def pending_operations(export: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a killed run was working on; importing a state drops these notes."""
    return (export.get("deployment") or {}).get("pending_operations") or []


def stored_accounts(export: Mapping[str, Any]) -> tuple[str, ...]:
    """The accounts that the state is for: those its providers allow and its dynamic resources check."""
    found: list[str] = []
    for resource in resources(export):
        inputs = resource.get("inputs") or {}
        if resource["type"] == AWS_PROVIDER:
            allowed = inputs.get("allowedAccountIds")
            found += json.loads(allowed) if isinstance(allowed, str) else allowed or []
        elif resource["type"].startswith(DYNAMIC) and inputs.get("account"):
            found.append(inputs["account"])
    return tuple(dict.fromkeys(str(account) for account in found))


def stored_region(export: Mapping[str, Any]) -> str | None:
    """The region of the stack's aws provider."""
    for resource in resources(export):
        region = (resource.get("inputs") or {}).get("region")
        if resource["type"] == AWS_PROVIDER and isinstance(region, str):
            return region
    return None


def stored_identities(export: Mapping[str, Any]) -> tuple[StoredIdentity, ...]:
    """Every holder of an identity and the profile it uses, in the order of the state.

    Raises:
        EncryptedIdentityError: a kubeconfig is a secret; export with its secrets shown, in memory only.
    """
    found = []
    for resource in resources(export):
        profiles = {place.read() for place in _places(resource)}
        if profiles:
            # Both sides of a resource say the same; one that was half rewritten is shown with its profile.
            named = sorted(profile for profile in profiles if profile)
            found.append(StoredIdentity(holder=_holder(resource), profile=named[0] if named else None))
    return tuple(found)


def with_identity(export: Mapping[str, Any], profile: str | None) -> Rewritten:
    """The state with `profile` in the place of every stored one; None takes credentials from the environment.

    Raises:
        EncryptedIdentityError: as `stored_identities`.
    """
    rewritten = copy.deepcopy(dict(export))
    changed = []
    for resource in resources(rewritten):
        places = [place for place in _places(resource) if place.read() != profile]
        for place in places:
            place.write(profile)
        if places:
            changed.append(StoredIdentity(holder=_holder(resource), profile=profile))
    return Rewritten(export=rewritten, changed=tuple(changed))


def with_secrets_of(export: Mapping[str, Any], shown: Mapping[str, Any]) -> dict[str, Any]:
    """The encrypted state, with those secrets in the clear that hold an identity: for memory only.

    `shown` is the same state exported with its secrets. What importing gets in the clear it encrypts.
    """
    opened = copy.deepcopy(dict(export))
    for resource, clear in zip(resources(opened), resources(shown), strict=True):
        for side, key in _kubeconfig_keys(resource):
            if _is_secret(resource[side].get(key)):
                resource[side][key] = clear[side][key]
    return opened


def _holder(resource: Mapping[str, Any]) -> str:
    return f"{resource['type']} {resource['urn'].rpartition('::')[2]}"


@dataclass(frozen=True, kw_only=True)
class _Place:
    """One place of the state that says which profile is used."""

    read: Callable[[], str | None]
    write: Callable[[str | None], None]


def _places(resource: dict[str, Any]) -> Iterator[_Place]:
    kind = resource["type"]
    if kind == AWS_PROVIDER:
        yield from _keyed(resource, "profile")
    elif kind == DYNAMIC_PROVIDER:
        yield from _keyed(resource, "mlcc:awsProfile", when_there=True)
    elif kind.startswith(DYNAMIC):
        yield from _keyed(resource, "aws_profile")
    for side, key in _kubeconfig_keys(resource):
        where = f"{key} of {_holder(resource)}"
        if any(_commands(_parsed(_text(resource[side][key], where)))):
            yield _kubeconfig_place(resource[side], key, where)


def _keyed(resource: dict[str, Any], key: str, *, when_there: bool = False) -> Iterator[_Place]:
    for side in _SIDES:
        values = resource.get(side)
        if not isinstance(values, dict) or (when_there and key not in values):
            continue

        def write(profile: str | None, values: dict[str, Any] = values) -> None:
            if profile is None:
                values.pop(key, None)
            else:
                values[key] = profile

        yield _Place(read=lambda values=values: values.get(key), write=write)


def _kubeconfig_keys(resource: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Where kubeconfigs are that name the caller's identity; those for sharing have none and stay so."""
    kind = resource["type"]
    for side in _SIDES:
        for key in resource.get(side) or {}:
            ours = kind == STACK and key.rpartition(".")[2] == "kubeconfig"
            if ours or (kind, key) in _KUBECONFIGS:
                yield side, key


_KUBECONFIGS: Final = ((KUBERNETES_PROVIDER, "kubeconfig"), ("mlcc:eks:EksBase", "kubeconfig"))


def _kubeconfig_place(values: dict[str, Any], key: str, where: str) -> _Place:
    def read() -> str | None:
        return kubeconfig_profile(_text(values[key], where))

    def write(profile: str | None) -> None:
        text = kubeconfig_with(_text(values[key], where), profile)
        values[key] = _like(values[key], text)

    return _Place(read=read, write=write)


def _is_secret(value: Any) -> bool:
    return isinstance(value, dict) and value.get(_SIGNATURE) == _SECRET


def _text(value: Any, where: str) -> str:
    if not _is_secret(value):
        return str(value)
    if "plaintext" not in value:
        raise EncryptedIdentityError(where)
    return str(json.loads(value["plaintext"]))


def _like(value: Any, text: str) -> Any:
    """The text, as a secret where the value was one."""
    if not _is_secret(value):
        return text
    return {_SIGNATURE: _SECRET, "plaintext": json.dumps(text)}


def _commands(config: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for user in config.get("users") or []:
        command = (user.get("user") or {}).get("exec")
        if isinstance(command, dict) and "get-token" in (command.get("args") or []):
            yield command


def kubeconfig_profile(text: str) -> str | None:
    """The AWS profile that a kubeconfig's credentials come from, None for the environment's."""
    for command in _commands(_parsed(text)):
        arguments = command["args"]
        for name, value in itertools.pairwise(arguments):
            if name == "--profile":
                return str(value)
        for variable in command.get("env") or []:
            if variable.get("name") == PROFILE_VARIABLE:
                return str(variable.get("value"))
    return None


def kubeconfig_with(text: str, profile: str | None) -> str:
    """The kubeconfig with another AWS profile, everything else as it was and in the same order.

    A profile goes where its author puts it, so that the next `up` finds nothing to change: our kubeconfigs
    name it first, the published component's last.
    """
    config = _parsed(text)
    for command in _commands(config):
        arguments = list(command["args"])
        at = arguments.index("--profile") if "--profile" in arguments else None
        if at is not None:
            arguments[at : at + 2] = ["--profile", profile] if profile else []
        elif profile:
            ours = config.get("current-context") != "aws"
            arguments = ["--profile", profile, *arguments] if ours else [*arguments, "--profile", profile]
        command["args"] = arguments
        if command.get("env"):
            command["env"] = [entry for entry in command["env"] if entry.get("name") != PROFILE_VARIABLE]
    return json.dumps(config, separators=(",", ":"), ensure_ascii=False)


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
