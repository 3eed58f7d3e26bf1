"""EKS add-ons before the first write: what a version's own schema says of their settings, and failed ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from mlcc_infra.account import addon_health
from mlcc_infra.account.decisions import FIRST_TRIGGER, Recorded, ResourceKey, Wanted
from mlcc_infra.account.lookups.eks import describe_part
from mlcc_infra.account.preflight import CheckResult, Verdict
from mlcc_infra.account.reader import Reader

ADDON: Final = "aws:eks/addon:Addon"
# From these only a deletion leads on (EKS API reference, AddonStatus; aws/containers-roadmap#1411).
FAILED_STATES: Final = frozenset({"CREATE_FAILED", "DELETE_FAILED"})
_MISTAKES_SHOWN: Final = 5


@dataclass(frozen=True, kw_only=True)
class AddonSettings:
    """The configuration values of one add-on in one version, and the profile's key that they come from."""

    name: str
    version: str
    values: Mapping[str, Any]
    key: str


def check_configurations(reader: Reader, addons: Iterable[AddonSettings]) -> list[CheckResult]:
    """Each add-on's settings against the schema that EKS publishes for that version.

    Schemas differ from version to version, and a key that one version takes the next one refuses
    (field report D9). Raises AWS's errors where a schema cannot be read.
    """
    results: list[CheckResult] = []
    client = reader.session.client("eks")
    for addon in addons:
        if not addon.values:
            continue
        text = reader.once(
            ("addon-schema", addon.name, addon.version),
            lambda addon=addon: client.describe_addon_configuration(
                addonName=addon.name, addonVersion=addon.version
            ).get("configurationSchema"),
        )
        mistakes = schema_mistakes(text or "{}", addon.values)
        name = f"settings of add-on {addon.name}"
        if mistakes is None:
            found = f"the schema of {addon.version} is none that can be read"
            results.append(CheckResult(name=name, verdict=Verdict.UNKNOWN, found=found))
        elif mistakes:
            listed = "; ".join(mistakes[:_MISTAKES_SHOWN])
            more = f" and {len(mistakes) - _MISTAKES_SHOWN} more" if len(mistakes) > _MISTAKES_SHOWN else ""
            results.append(
                CheckResult(
                    name=name,
                    verdict=Verdict.REFUSED,
                    found=f"{addon.version} does not take them: {listed}{more}",
                    needed="what `aws eks describe-addon-configuration --addon-name "
                    f"{addon.name} --addon-version {addon.version}` shows",
                    remedy=f"correct {addon.key}",
                )
            )
        else:
            results.append(CheckResult(name=name, verdict=Verdict.OK, found=addon.version))
    return results


def schema_mistakes(schema: str, values: Mapping[str, Any]) -> list[str] | None:
    """What a JSON schema has against values, each with the path of the value; None for an unusable schema."""
    import jsonschema
    from jsonschema.validators import validator_for

    try:
        loaded = json.loads(schema)
        kind = validator_for(loaded, default=jsonschema.Draft6Validator)
        kind.check_schema(loaded)
        # Through JSON and back, as the values travel.
        found = list(kind(loaded).iter_errors(json.loads(json.dumps(values))))
    except (ValueError, jsonschema.SchemaError):
        return None
    return sorted(f"{error.json_path.removeprefix('$.')}: {error.message}" for error in found)


@dataclass(frozen=True, kw_only=True)
class AddonStates:
    """What is wrong with add-ons that exist, and the replacement trigger of each add-on of the run."""

    results: Sequence[CheckResult]
    triggers: Mapping[ResourceKey, str]


def read_addon_states(
    reader: Reader,
    wanted: Iterable[Wanted],
    recorded: Mapping[ResourceKey, Recorded],
    *,
    with_role: frozenset[ResourceKey] = frozenset(),
    published: frozenset[ResourceKey] = frozenset(),
) -> AddonStates:
    """Find add-ons that failed for good, and those with a role that nothing would take away.

    Applying again does not mend an add-on in CREATE_FAILED (field report D4): one that the state has gets
    another trigger, so that the engine deletes it and makes it anew, once a run. Those that somebody else's
    component makes (`published`) get none: transforms of the Python SDK cannot set one (pulumi 3.276, the
    callback ends in "expected google.protobuf.struct_pb2.Value"). EKS keeps an add-on's role when an update
    leaves it out (field report D11); `with_role` are those that get one from us.
    """
    results: list[CheckResult] = []
    triggers: dict[ResourceKey, str] = {}
    for item in wanted:
        if item.key[0] != ADDON:
            continue
        known = recorded.get(item.key) if item.key not in published else None
        if item.key not in published:
            triggers[item.key] = (known.replacement_trigger if known else "") or FIRST_TRIGGER
        try:
            live = describe_part(reader, ADDON, item.lookup["cluster"], item.lookup["name"])
        except (ClientError, BotoCoreError):
            continue  # The inventory says so.
        if live is None:
            continue
        if live.get("status") in FAILED_STATES:
            results.append(_failed(item, live, recorded=known is not None))
            if known is not None:
                triggers[item.key] = str(live["addonArn"])
        elif live.get("serviceAccountRoleArn") and item.key not in with_role:
            results.append(_role_left(item, str(live["serviceAccountRoleArn"])))
    return AddonStates(results=results, triggers=triggers)


def issues_of(addon: Mapping[str, Any]) -> str:
    """What EKS says is wrong with an add-on; empty when it says nothing."""
    return "; ".join(addon_health.issues(addon))


def _failed(item: Wanted, live: Mapping[str, Any], *, recorded: bool) -> CheckResult:
    cluster, name = item.lookup["cluster"], item.lookup["name"]
    issues = issues_of(live)
    found = f"add-on {name} of {cluster} is {live['status']}{f' ({issues})' if issues else ''}"
    if recorded:
        found += "; it is deleted and made anew"
        return CheckResult(name=f"add-on {name}", verdict=Verdict.WARNING, found=found)
    return CheckResult(
        name=f"add-on {name}",
        verdict=Verdict.REFUSED,
        found=f"{found}, and this run cannot replace it",
        needed="no failed add-on of that name: applying again does not mend one",
        remedy=f"aws eks delete-addon --cluster-name {cluster} --addon-name {name}, then run again",
    )


def _role_left(item: Wanted, role: str) -> CheckResult:
    cluster, name = item.lookup["cluster"], item.lookup["name"]
    return CheckResult(
        name=f"add-on {name}",
        verdict=Verdict.REFUSED,
        found=f"add-on {name} of {cluster} runs with {role}, and the profile gives it no role; EKS keeps the "
        "role when an update leaves it out",
        needed="the add-on without a role",
        remedy=f"aws eks delete-addon --cluster-name {cluster} --addon-name {name} --preserve (its pods "
        "stay), then run again",
    )
