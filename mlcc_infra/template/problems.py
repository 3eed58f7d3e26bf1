"""What is wrong with parameters before they are sent: everything that the template would choke on, or, worse,
would use without a word."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mlcc_infra.profile.problems import Problem, closest
from mlcc_infra.regions import region_of_zone_id
from mlcc_infra.template.addresses import MAXIMUM_ZONES, MINIMUM_ZONES, vpc_cidr_problem
from mlcc_infra.template.conditions import condition_parameters, flags
from mlcc_infra.template.contract import Contract
from mlcc_infra.template.groups import GROUP_SLOTS, RIG_SLOTS
from mlcc_infra.template.limits import ENVIRONMENT_BYTES, PARAMETER_BYTES, environment_bytes, name_problems
from mlcc_infra.template.liveness import Liveness, liveness

PLACEHOLDERS: Final = frozenset(
    {
        "EksPrivateRouteTableIds",
        "EksPrivateSubnetIds",
        "HyperPodClusterName",
        "InstanceGroupSettings1",
        "NatGatewayIds",
        "NodeProvisioningMode",
        "PrivateRouteTableIds",
        "PrivateSubnetIds",
        "ResourceNamePrefix",
        "ResourceNameShortPrefix",
        "S3BucketName",
        "SageMakerIAMRoleName",
        "SecurityGroupIds",
        "VpcId",
    }
)
"""Their default is right for nobody: an id that does not exist, a global name, a cluster without groups."""

MUST_BE_SENT: Final = PLACEHOLDERS | {"AvailabilityZoneIds", "FsxAvailabilityZoneId", "KubernetesVersion"}
"""Their default is wrong for most: zones of one region, a version that AWS moves."""


@dataclass(frozen=True, kw_only=True)
class _Case:
    contract: Contract
    sent: Mapping[str, str]
    values: Mapping[str, str]
    live: Liveness
    region: str

    def uses(self, name: str) -> bool:
        return name in self.live.parameters


def _problem(name: str, value: object, found: str, remedy: str) -> Problem:
    return Problem(key=name, value=value, found=found, remedy=remedy)


def parameter_problems(
    contract: Contract, parameters: Mapping[str, str], *, region: str = ""
) -> tuple[Problem, ...]:
    """Everything that is wrong with the parameters of a new stack; the keys are the parameters' names.

    Args:
        contract: the template's contract.
        parameters: what would be sent, all text.
        region: the stack's region; with it zones and observability are checked too.

    Raises:
        ConditionError: when observability is on and no region is given.
    """
    unknown = tuple(
        _problem(
            name,
            value,
            f"no parameter of the template at {contract.commit[:8]}"
            f"{closest(name, tuple(contract.parameters))}; CloudFormation refuses the stack",
            "leave it out",
        )
        for name, value in parameters.items()
        if name not in contract.parameters
    )
    known = {name: value for name, value in parameters.items() if name in contract.parameters}
    live = liveness(contract, known, region=region)
    case = _Case(contract=contract, sent=known, values=contract.values(known), live=live, region=region)
    return (*unknown, *(problem for check in _CHECKS for problem in check(case)))


def _allowed(case: _Case) -> Iterator[Problem]:
    for name, value in case.sent.items():
        parameter = case.contract.parameters[name]
        if parameter.allowed and value not in parameter.allowed:
            listed = ", ".join(repr(entry) for entry in parameter.allowed)
            yield _problem(name, value, "not one of the values that the template allows", f"one of {listed}")
        elif parameter.type == "Number" and not _is_number(value):
            yield _problem(name, value, "not a number", f"a number such as {parameter.default}")
        size = len(value.encode())
        if size > PARAMETER_BYTES:
            found = f"{size} bytes; CloudFormation takes {PARAMETER_BYTES} for one parameter"
            yield _problem(name, value, found, "shorten it")


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _reach(case: _Case) -> Iterator[Problem]:
    switches = flags(case.contract)
    for name, value in case.sent.items():
        if name not in switches and not case.uses(name):
            found = "nothing uses it under these switches; a later template without it would fail the stack"
            yield _problem(name, value, found, "leave it out")
    for name in sorted(MUST_BE_SENT):
        default = case.contract.parameters[name].default
        if not case.uses(name):
            continue
        if name not in case.sent:
            found = f"not sent, so that the template uses its default {default!r} without a word"
            yield _problem(name, None, found, "set it")
        elif name in PLACEHOLDERS and case.sent[name] in (default, ""):
            yield _problem(name, case.sent[name], "a placeholder, which the template uses as it is", "set it")


def _combinations(case: _Case) -> Iterator[Problem]:
    # An attribute that is missing says more than the order that is missing with it.
    attributes = {(name, found.name) for name, found in case.live.dangling if found.kind == "attribute"}
    for name, reference in case.live.dangling:
        if reference.kind == "depends-on" and (name, reference.name) in attributes:
            continue
        if reference.kind == "depends-on":
            found = (
                f"{name} depends on {reference.name}, which does not exist under these switches "
                "(unverified on AWS, refused until tried)"
            )
        else:
            found = f"{name} refers to {reference.name}, which does not exist under these switches"
        place = case.contract.resources.get(name)
        condition = place.condition if place else case.contract.outputs[name].condition
        switch = _switch(case, condition)
        yield _problem(
            switch, case.values[switch], found, f"switch it off, or on what makes {reference.name}"
        )
    values = case.values
    if case.live.conditions["EnableHPInferenceHelmFeatureCondition"]:
        found = "inference without the add-on, which is installed by a Helm chart in place of the EKS add-on"
        yield _problem(
            "EnableHPInferenceAddonFeature", values["EnableHPInferenceAddonFeature"], found, "set it to true"
        )
    wanted, holds = values["EnableObservabilityFeature"], case.live.conditions
    if wanted == "true" and not holds["EnableObservabilityFeatureCondition"]:
        allowed = ", ".join(sorted(case.contract.mappings["AMPRegionMapping"]))
        found = f"observability, which the template leaves out without a word in {case.region}"
        yield _problem("EnableObservabilityFeature", wanted, found, f"it is made in {allowed}")


def _switch(case: _Case, condition: str) -> str:
    """Of the switches that a condition looks at, the last that is on: the most specific one."""
    named = condition_parameters(case.contract, condition)
    return [
        name
        for name in named
        if case.values[name] != case.contract.parameters[name].default or case.values[name] == "true"
    ][-1]


def _lengths(case: _Case) -> Iterator[Problem]:
    for name, found, remedy in name_problems(case.values, case.live.resources, case.live.parameters):
        yield _problem(name, case.values[name], found, remedy)
    short = case.values["ResourceNameShortPrefix"]
    if case.uses("ResourceNameShortPrefix") and len(short) > 8:
        found = f"{len(short)} characters; the nested templates mean at most eight"
        yield _problem("ResourceNameShortPrefix", short, found, "shorten it")
    if "HyperPodParamClusterStack" not in case.live.resources:
        return
    size = environment_bytes(case.values)
    if size > ENVIRONMENT_BYTES:
        longest = max((*GROUP_SLOTS, *RIG_SLOTS), key=lambda name: len(case.values[name].encode()))
        found = (
            f"about {size} bytes in the environment of the function that makes the cluster, of at most "
            f"{ENVIRONMENT_BYTES}"
        )
        yield _problem(longest, case.values[longest], found, "leave groups to be added after the creation")


def _addresses(case: _Case) -> Iterator[Problem]:
    if not case.uses("VpcCIDR") or "AvailabilityZoneIds" not in case.sent:
        return
    zones = case.values["AvailabilityZoneIds"].split(",")
    name, given = "AvailabilityZoneIds", case.values["AvailabilityZoneIds"]
    if not MINIMUM_ZONES <= len(zones) <= MAXIMUM_ZONES or len(set(zones)) != len(zones):
        found = f"{len(set(zones))} different zones"
        yield _problem(name, given, found, f"{MINIMUM_ZONES} to {MAXIMUM_ZONES} zone ids, each once")
    for zone in zones:
        owner = region_of_zone_id(zone)
        if owner is None:
            yield _problem(name, given, f"{zone!r} is no zone id of a known region", "zone ids, not names")
        elif case.region and owner.name != case.region:
            found = f"{zone} is a zone of {owner.name}, while the stack is in {case.region}"
            yield _problem(name, given, found, f"zone ids of {case.region}")
    cidr = case.values["VpcCIDR"]
    try:
        reason = vpc_cidr_problem(cidr, len(zones))
    except ValueError as error:
        reason = f"no block of addresses ({error})"
    if reason:
        yield _problem("VpcCIDR", cidr, reason, "10.192.0.0/16, for instance")
    zone = case.values["FsxAvailabilityZoneId"]
    if case.uses("FsxAvailabilityZoneId") and zone not in zones:
        found = "a zone in which the template makes no subnet"
        yield _problem("FsxAvailabilityZoneId", zone, found, f"one of {given}")


def _groups(case: _Case) -> Iterator[Problem]:
    slots = [name for name in (*GROUP_SLOTS, *RIG_SLOTS) if case.uses(name)]
    zones = case.values["AvailabilityZoneIds"].split(",") if case.uses("AvailabilityZoneIds") else None
    names: list[str] = []
    for slot in slots:
        items = _items(case.values[slot])
        if items is None:
            found = "no JSON array of groups; the template drops it with a line in a log"
            yield _problem(slot, case.values[slot], found, "a JSON array of objects")
            continue
        for item in items:
            names.append(str(item.get("InstanceGroupName")))
            for reason in _group_reasons(item, zones):
                yield _problem(slot, case.values[slot], reason, "mend the group")
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield _problem(GROUP_SLOTS[0], name, "a group named twice", "name each group once")


def _items(value: str) -> list[dict[str, Any]] | None:
    try:
        items = json.loads(value)
    except ValueError:
        return None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return None
    return items


def _group_reasons(item: Mapping[str, Any], zones: list[str] | None) -> Iterator[str]:
    for key in ("InstanceGroupName", "InstanceCount"):
        if key not in item:
            yield f"a group without {key}"
    if ("InstanceType" in item) == ("InstanceRequirements" in item):
        yield "a group needs one of InstanceType and InstanceRequirements"
    targets = [item.get("TargetAvailabilityZoneId"), *item.get("TargetAvailabilityZoneIds", ())]
    for zone in targets:
        if zone is not None and zones is not None and zone not in zones:
            yield f"zone {zone} has no subnet; the group would go to the cluster's subnets without a word"


def _script(case: _Case) -> Iterator[Problem]:
    path = case.values["OnCreatePath"]
    if case.uses("OnCreatePath") and (not path or path.startswith("/") or "://" in path):
        found = "not a key in the bucket"
        yield _problem("OnCreatePath", path, found, "a key such as lifecycle/on_create.sh, without a bucket")


_CHECKS: Final[tuple[Callable[[_Case], Iterator[Problem]], ...]] = (
    _allowed,
    _reach,
    _combinations,
    _lengths,
    _addresses,
    _groups,
    _script,
)
