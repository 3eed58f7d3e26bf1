"""How a thing that is about to be taken over differs from the profile. Pure.

`COMPARED` says for each resource type which of its properties are compared and how; `compare` turns what the
account holds and what the profile wants of one resource into differences. Both sides use the property names
of the table; what one side does not know is not compared. That a property can only be changed by a
replacement is the provider's documentation of the type (`ForceNew`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from mlcc_infra.policies import differences as document_differences

Properties: TypeAlias = Mapping[str, Any]
"""Values by property name, as `COMPARED` has them."""

LONGEST_SHOWN = 160


class Aspect(StrEnum):
    """What kind of thing differs: the words of the short form."""

    TRUST = "trust"
    POLICIES = "policies"
    TAGS = "tags"
    VERSION = "version"
    SETTINGS = "settings"


class Effect(StrEnum):
    """What `up` does about a difference.

    `REPLACEMENT` stands for what only making the thing anew would change; that is refused.
    """

    CHANGED = "changed"
    KEPT = "kept"
    TAKEN_OFF = "taken off"
    REPLACEMENT = "needs a replacement"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One difference; `found` or `wanted` is empty for what only the other side has."""

    aspect: Aspect
    what: str
    found: str
    wanted: str
    effect: Effect = Effect.CHANGED

    def __str__(self) -> str:
        if self.effect is Effect.KEPT and not self.wanted:
            return f"{self.what}: {self.found} (kept)"
        if not self.found:
            return f"{self.what}: + {self.wanted}"
        if not self.wanted:
            return f"{self.what}: - {self.found}"
        suffix = "" if self.effect is Effect.CHANGED else f" ({self.effect.value})"
        return f"{self.what}: {self.found} -> {self.wanted}{suffix}"


Pairs: TypeAlias = Iterable[tuple[str, str, str]]
"""(what, found, wanted) of each difference."""


def _same(name: str, found: Any, wanted: Any) -> Pairs:
    if found != wanted:
        yield name, _shown(found), _shown(wanted)


def _members(name: str, found: Any, wanted: Any) -> Pairs:
    have, want = set(found), set(wanted)
    for member in sorted(want - have):
        yield name, "", _shown(member)
    for member in sorted(have - want):
        yield name, _shown(member), ""


def _entries(name: str, found: Any, wanted: Any) -> Pairs:
    """Entries that are wanted and missing or different; other people's entries do not matter."""
    for key, value in sorted(wanted.items()):
        if found.get(key) != value:
            yield f"{name} {key}", _shown(found.get(key, "")), _shown(value)


def _tags(name: str, found: Any, wanted: Any) -> Pairs:
    """Tags that are wanted: those that change, and all that are missing in one."""
    for key in sorted(wanted):
        if key in found and found[key] != wanted[key]:
            yield f"tag {key}", _shown(found[key]), _shown(wanted[key])
    missing = [f"{key}={value}" for key, value in sorted(wanted.items()) if key not in found]
    if missing:
        yield name, "", ", ".join(missing)


def _document(name: str, found: Any, wanted: Any) -> Pairs:
    for line in document_differences(wanted, found or {}):
        kind, _, text = line.partition(": ")
        if kind == "missing":
            yield name, "", _shown(text)
        elif kind == "besides":
            yield name, _shown(text), ""
        else:
            yield f"{name} {kind}", text.partition(",")[0], text.rpartition(" ")[2]


def _json(name: str, found: Any, wanted: Any) -> Pairs:
    """JSON text, compared by what it says."""
    one, other = (json.loads(text) if text else {} for text in (found, wanted))
    if one != other:
        yield name, _shown(found or "none"), _shown(wanted or "none")


def _shown(value: Any) -> str:
    if isinstance(value, str):
        text = value
    elif value is None:
        text = "none"
    elif isinstance(value, bool):
        text = "on" if value else "off"
    elif isinstance(value, (set, frozenset, list, tuple)):
        text = ", ".join(sorted(str(member) for member in value)) or "none"
    else:
        text = json.dumps(value, sort_keys=True, default=str)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"


@dataclass(frozen=True, kw_only=True)
class Compared:
    """How one property of a type is compared.

    `besides` is what becomes of members that only the account has.
    """

    aspect: Aspect
    how: Callable[[str, Any, Any], Pairs] = _same
    effect: Effect = Effect.CHANGED
    besides: Effect | None = None


def _setting(effect: Effect = Effect.CHANGED) -> Compared:
    return Compared(aspect=Aspect.SETTINGS, effect=effect)


_TAGS = Compared(aspect=Aspect.TAGS, how=_tags)
_FIXED = _setting(Effect.REPLACEMENT)
_DOCUMENT = Compared(aspect=Aspect.POLICIES, how=_document)
_FOREIGN = Compared(aspect=Aspect.POLICIES, how=_members, besides=Effect.KEPT)
_VERSION = Compared(aspect=Aspect.VERSION)

COMPARED: Mapping[str, Mapping[str, Compared]] = {
    "aws:iam/role:Role": {
        "trust": Compared(aspect=Aspect.TRUST, how=_document),
        "policies": _FOREIGN,
        "inline policies": _FOREIGN,
        "permissions boundary": _setting(),
        "description": _setting(),
        "path": _setting(Effect.KEPT),
        "tags": _TAGS,
    },
    "aws:iam/rolePolicy:RolePolicy": {"document": _DOCUMENT},
    "aws:iam/policy:Policy": {"document": _DOCUMENT, "tags": _TAGS},
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": {
        "audiences": Compared(aspect=Aspect.SETTINGS, how=_members),
        "tags": _TAGS,
    },
    "aws:s3/bucket:Bucket": {"tags": _TAGS},
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": {
        "public access block": Compared(aspect=Aspect.SETTINGS, how=_entries)
    },
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": {
        "encryption": _setting()
    },
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": {"ownership": _setting()},
    "aws:s3/bucketPolicy:BucketPolicy": {"bucket policy": _DOCUMENT},
    "aws:eks/cluster:Cluster": {
        "Kubernetes version": _VERSION,
        "authentication mode": _setting(),
        "public endpoint": _setting(),
        "private endpoint": _setting(),
        "public access": Compared(aspect=Aspect.SETTINGS, how=_members),
        "control plane logs": Compared(aspect=Aspect.SETTINGS, how=_members),
        "support type": _setting(),
        "service role": _FIXED,
        "service block": _FIXED,
        "VPC": _FIXED,
        "tags": _TAGS,
    },
    "aws:eks/addon:Addon": {
        "add-on version": _VERSION,
        "configuration": Compared(aspect=Aspect.SETTINGS, how=_json),
        "role": _setting(),
        "tags": _TAGS,
    },
    "aws:eks/nodeGroup:NodeGroup": {
        "Kubernetes version": _VERSION,
        "fewest nodes": _setting(),
        "nodes": _setting(),
        "most nodes": _setting(),
        "labels": _setting(),
        "taints": _setting(),
        "instance types": _FIXED,
        "AMI type": _FIXED,
        "capacity type": _FIXED,
        "disk": _FIXED,
        "node role": _FIXED,
        "tags": _TAGS,
    },
    "aws:eks/fargateProfile:FargateProfile": {
        "namespaces": _FIXED,
        "pod execution role": _FIXED,
        "tags": _TAGS,
    },
    "aws:ec2/vpc:Vpc": {"block": _FIXED, "tags": _TAGS},
    "aws:ec2/subnet:Subnet": {"block": _FIXED, "zone": _FIXED, "tags": _TAGS},
    "aws:ec2/internetGateway:InternetGateway": {"tags": _TAGS},
    "aws:ec2/eip:Eip": {"tags": _TAGS},
    "aws:ec2/natGateway:NatGateway": {"tags": _TAGS},
    "aws:ec2/routeTable:RouteTable": {"tags": _TAGS},
    "aws:ec2/vpcEndpoint:VpcEndpoint": {"tags": _TAGS},
    "aws:cloudwatch/logGroup:LogGroup": {"days kept": _setting(), "tags": _TAGS},
    "aws:ssm/parameter:Parameter": {"type": _FIXED, "tags": _TAGS},
    "aws:cloudformation/stack:Stack": {
        "parameter": Compared(aspect=Aspect.SETTINGS, how=_entries, effect=Effect.KEPT)
    },
}
"""By Pulumi type token; types that are not here have nothing that can differ once they are found."""


def compare(
    token: str, found: Properties, wanted: Properties, *, exclusive: bool = False
) -> tuple[Difference, ...]:
    """The differences of one resource, in the table's order.

    `exclusive` takes off roles what is not wanted.
    """
    differences: list[Difference] = []
    for name, compared in COMPARED.get(token, {}).items():
        if name not in found or name not in wanted:
            continue
        for what, have, want in compared.how(name, found[name], wanted[name]):
            effect = compared.effect
            if compared.besides is not None and not want:
                effect = Effect.TAKEN_OFF if exclusive else compared.besides
            differences.append(
                Difference(aspect=compared.aspect, what=what, found=have, wanted=want, effect=effect)
            )
    return tuple(differences)


def aspects(differences: Iterable[Difference]) -> tuple[Aspect, ...]:
    """What kinds of things differ, each once, in the order of `Aspect`."""
    seen = {difference.aspect for difference in differences}
    return tuple(aspect for aspect in Aspect if aspect in seen)
