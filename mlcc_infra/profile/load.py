"""Reading a profile from Pulumi's configuration or from a stack file, with all that is wrong at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError

from mlcc_infra.profile.explain import problems_of
from mlcc_infra.profile.model import NOT_KEYS, PARTIAL, Profile
from mlcc_infra.profile.problems import Problem, ProfileError, closest, remove_command, set_command

NAMESPACE: Final = "mlcc:"
PROVIDER_NAMESPACES: Final = ("aws:", "eks:", "kubernetes:")
"""Settings of Pulumi's default providers, which this program switches off: only `aws:region` is read."""
STACK_FILE: Final = re.compile(r"^Pulumi\.(?P<stack>[^/]+)\.ya?ml$")
REGION_VARIABLES: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
KEYS: Final = tuple(
    str(field.alias or name) for name, field in Profile.model_fields.items() if name not in NOT_KEYS
)
"""The keys under `mlcc:`."""
_INSTEAD: Final[Mapping[str, str]] = {
    "aws:profile": "mlcc:awsProfile",
    "aws:allowedAccountIds": "mlcc:accountId",
    "aws:forbiddenAccountIds": "mlcc:accountId",
    "aws:defaultTags": "mlcc:tags",
}
_SECRET_SETTINGS: Final = frozenset({"aws:accessKey", "aws:secretKey", "aws:token", "kubernetes:kubeconfig"})
_TEXT_KEYS: Final = frozenset({"profile", "awsProfile", "accountId", "permissionsBoundary", "rolePath"})


def load_profile(
    config: Mapping[str, Any],
    stack: str,
    region: str | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    today: date | None = None,
) -> Profile:
    """Read a profile from Pulumi's configuration.

    Args:
        config: the raw configuration, `PULUMI_CONFIG`: full keys such as `mlcc:targets` and, as values, text
            (structured values as JSON text); values that are structured already are taken as they are.
        stack: the name of the stack.
        region: the value of `aws:region` when the caller has it apart from `config`.
        environ: the environment for the region's fallback (`AWS_REGION`, `AWS_DEFAULT_REGION`).
        today: the day that decides which Kubernetes versions are supported; the current one by default.

    Returns:
        The validated profile; `Profile.warnings` has what is allowed but worth saying.

    Raises:
        ProfileError: with every problem, each with key, value, what was found and what would work.
    """
    problems: list[Problem] = []
    chosen_region = _region(config, region, environ or {}, stack, problems)
    raw: dict[str, Any] = {"stack": stack, "region": chosen_region}
    for key, value in config.items():
        if key.startswith(PROVIDER_NAMESPACES) and key != "aws:region":
            problems.append(_provider_setting(key, value, stack))
        if not key.startswith(NAMESPACE):
            continue
        name = key.removeprefix(NAMESPACE)
        if name not in KEYS:
            problems.append(_unknown_key(key, name, value, stack))
        elif (decoded := _decoded(name, value, stack, problems)) is not _UNREADABLE:
            raw[name] = decoded
    profile = _validated(raw, stack, problems)
    if profile is not None:
        try:
            profile.verified(profile.admins, today=today or datetime.now(tz=UTC).date())
        except ProfileError as error:
            problems.extend(error.problems)
    if problems or profile is None:
        raise ProfileError(_in_order(problems), stack=stack)
    return profile


def load_stack_file(
    path: Path,
    environ: Mapping[str, str] | None = None,
    *,
    stack: str | None = None,
    today: date | None = None,
) -> Profile:
    """Read a profile straight from `stacks/Pulumi.<stack>.yaml`, without an engine.

    Digits are read as pulumi reads them. Here an account id without quotes is refused even when it has kept
    its twelve digits; pulumi hands such a one on as text, so that `load_profile` cannot tell.

    Raises:
        ProfileError: as :func:`load_profile`, and when the file is missing or is no stack file.
    """
    match = STACK_FILE.match(path.name)
    name = stack or (match["stack"] if match else path.stem)
    if match is None and stack is None:
        raise _file_error(path, name, "a file not named Pulumi.<stack>.yaml", "give the path of a stack file")
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_StackFileLoader)  # a SafeLoader
    except FileNotFoundError:
        remedy = f"create it, or choose one of {_neighbours(path)}"
        raise _file_error(path, name, "no such file", remedy) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _file_error(path, name, f"a file that cannot be read as YAML: {error}", "mend it") from error
    config = (content or {}).get("config", {}) if isinstance(content or {}, dict) else None
    if not isinstance(config, dict):
        raise _file_error(path, name, "no mapping under `config:`", "put the settings under `config:`")
    return load_profile({str(key): value for key, value in config.items()}, name, None, environ, today=today)


class _StackFileLoader(yaml.SafeLoader):
    """Reads digits as pulumi does: unquoted digits are a number, also with a leading zero."""


def _digits(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    return int(loader.construct_scalar(node).replace("_", ""), 10)


_DIGITS: Final = "!digits"
_StackFileLoader.add_implicit_resolver(_DIGITS, re.compile(r"^[-+]?[0-9]+$"), list("-+0123456789"))
# The last resolver added would come last; this one has to come before YAML 1.1's octal numbers.
for _first, _resolvers in _StackFileLoader.yaml_implicit_resolvers.items():
    _StackFileLoader.yaml_implicit_resolvers[_first] = sorted(
        _resolvers, key=lambda entry: entry[0] != _DIGITS
    )
_StackFileLoader.add_constructor(_DIGITS, _digits)


def _file_error(path: Path, stack: str, found: str, remedy: str) -> ProfileError:
    return ProfileError([Problem(key=str(path), value=None, found=found, remedy=remedy)], stack=stack)


def _neighbours(path: Path) -> str:
    found = sorted(entry.name for entry in path.parent.glob("Pulumi.*.yaml")) if path.parent.is_dir() else []
    return ", ".join(found) or "the files in stacks/"


class _Unreadable:
    """Marks a value that could not be decoded; its problem is recorded already."""


_UNREADABLE: Final = _Unreadable()


def _decoded(name: str, value: Any, stack: str, problems: list[Problem]) -> Any:
    """A configuration value as Python value: text of structured keys is JSON."""
    if not isinstance(value, str) or name in _TEXT_KEYS:
        return value
    if name in ("exclusive", "forceDelete"):
        return {"true": True, "false": False}.get(value.strip().lower(), value)
    if name == "adopt" and not value.lstrip().startswith("{"):
        return value
    try:
        return json.loads(value)
    except ValueError:
        wanted = "a list" if name in ("targets", "admins", "own") else "a mapping"
        example = f"'{NAMESPACE}{name}[0]'" if wanted == "a list" else f"{NAMESPACE}{name}.<key>"
        problems.append(
            Problem(
                key=NAMESPACE + name,
                value=value,
                found=f"text where {wanted} is needed",
                remedy=f"write it as {wanted} in stacks/Pulumi.{stack}.yaml, or "
                f"pulumi config set --path {example} <value> -s {stack}",
            )
        )
        return _UNREADABLE


def _provider_setting(key: str, value: Any, stack: str) -> Problem:
    """A setting that somebody expects to work and nothing reads is refused, with what takes its place."""
    remedy = remove_command(key, stack=stack)
    instead = _INSTEAD.get(key)
    if instead == "mlcc:awsProfile":
        remedy += f"; {set_command('mlcc:awsProfile', str(value), stack=stack)}"
    elif instead:
        remedy += f"; set {instead} in its place"
    return Problem(
        key=key,
        value=None if key in _SECRET_SETTINGS else value,
        found="a setting of the default provider, which this program does not use",
        remedy=remedy,
    )


def _unknown_key(key: str, name: str, value: Any, stack: str) -> Problem:
    return Problem(
        key=key,
        value=value,
        found=f"an unknown key{closest(name, KEYS)}",
        remedy=f"pulumi config rm {key} -s {stack}; known keys: {', '.join(KEYS)}",
    )


def _region(
    config: Mapping[str, Any],
    region: str | None,
    environ: Mapping[str, str],
    stack: str,
    problems: list[Problem],
) -> str:
    """The region: the stack file's before the environment's; sources that differ are refused."""
    sources = {
        "aws:region": str(config.get("aws:region") or region or ""),
        **{variable: environ.get(variable, "") for variable in REGION_VARIABLES},
    }
    if region and config.get("aws:region") and region != config["aws:region"]:
        sources["the region given by the caller"] = region
    given = {source: value.strip() for source, value in sources.items() if value.strip()}
    if not given:
        problems.append(
            Problem(
                key="aws:region",
                value=None,
                found="no region, neither in the stack file nor in AWS_REGION",
                remedy=set_command("aws:region", "us-west-2", stack=stack),
            )
        )
        return ""
    chosen_source, chosen = next(iter(given.items()))
    others = {source: value for source, value in given.items() if value != chosen}
    if others:
        seen = ", ".join(f"{source}={value}" for source, value in others.items())
        problems.append(
            Problem(
                key=chosen_source,
                value=chosen,
                found=f"a region that differs from {seen}",
                remedy=f"unset {' '.join(others)}, or "
                + set_command("aws:region", next(iter(others.values())), stack=stack),
            )
        )
    return chosen


def _validated(raw: dict[str, Any], stack: str, problems: list[Problem]) -> Profile | None:
    """The model; what is wrong with its shape is recorded and taken out, so that the rest is checked too."""
    for _ in range(12):
        try:
            return Profile.model_validate(raw, context=PARTIAL, by_alias=True, by_name=False)
        except ValidationError as error:
            found, raw = problems_of(error, raw, stack)
            # A list that is too short once its bad entries are left out is no mistake of its own.
            keys = {problem.key for problem in (*problems, *found)}
            known = {problem.key for problem in problems}
            problems.extend(
                problem for problem in found if problem.key not in known and not _covers(problem.key, keys)
            )
            if "targets" not in raw:
                raw["targets"] = ["vanilla-eks"]
    return None


def _covers(key: str, others: Iterable[str]) -> bool:
    """Whether one of the other keys lies below this one."""
    return any(other.startswith((f"{key}.", f"{key}[")) for other in others)


def _in_order(problems: list[Problem]) -> list[Problem]:
    order = {NAMESPACE + key: position for position, key in enumerate(KEYS, start=1)}

    def position(problem: Problem) -> int:
        return order.get(re.split(r"[.\[]", problem.key, maxsplit=1)[0], 0)

    return sorted(problems, key=position)
