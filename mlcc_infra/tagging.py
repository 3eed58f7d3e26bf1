"""The tags on every taggable thing, and what somebody's tags say about who owns a thing.

Set by the resources themselves, not by the provider's default tags, so that the plan shows them. Limits:
botocore's service models (fifty tags, keys of 128 and values of 256 characters, one set of characters).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MANAGED_BY: Final = "mlcc-infra"
PREDECESSOR_MANAGED_BY: Final = "ml-container-creator"
TAG_MANAGED_BY: Final = "mlcc:managed-by"
TAG_PROFILE: Final = "mlcc:profile"
TAG_MODULE: Final = "mlcc:module"
TAG_REGION: Final = "mlcc:region"
TAG_STACK: Final = "mlcc:stack"
TAG_RESOURCE: Final = "mlcc:resource"
TAG_ORIGIN: Final = "mlcc:origin"
STACK_NAME_TAG: Final = "aws:cloudformation:stack-name"
"""CloudFormation's own tag on what a stack made (CloudFormation user guide, resource tags)."""
STACK_ID_TAG: Final = "aws:cloudformation:stack-id"
RESERVED_TAG_PREFIXES: Final = ("aws:", "mlcc:")
MODULES: Final = ("eks", "hyperpod")

MAX_TAGS: Final = 50
MAX_TAG_KEY: Final = 128
MAX_TAG_VALUE: Final = 256
_TAG_CHARACTERS: Final = "letters, digits, spaces and _ . : / = + - @"
# botocore (IAM, SageMaker): letters, digits and spaces of any script and _ . : / = + - @. ``\w`` has the
# letters, digits and underscore; combining marks, which AWS refuses, are in neither.
_TAG_TEXT: Final = re.compile(r"[\w .:/=+\-@\u00a0\u2000-\u200a\u202f\u205f\u3000]*")


OWN_TAGS: Final = 7
"""Tags that every resource gets, see :func:`tags`."""
MOST_OWN_TAGS: Final = OWN_TAGS + 2
"""Those and what some children get besides: EC2's ``Name``, and ``kubernetes.io/role/…`` on subnets."""


class Origin(StrEnum):
    """Where a resource came from; decides what destroy may delete."""

    CREATED = "created"
    ADOPTED = "adopted"


def tag_problems(tags: Mapping[str, str], *, own_tags: int = OWN_TAGS) -> tuple[tuple[str, str], ...]:
    """What AWS would refuse in a user's own tags, as pairs of tag key and reason.

    Args:
        tags: the user's tags.
        own_tags: how many the product adds; together they must stay within AWS's fifty.
    """
    problems: list[tuple[str, str]] = []
    room = MAX_TAGS - own_tags
    if len(tags) > room:
        problems.append(
            ("", f"{len(tags)} tags; AWS allows {MAX_TAGS} on a resource, {own_tags} are ours, so {room} fit")
        )
    for key, value in tags.items():
        lowered = key.lower()
        reserved = next((prefix for prefix in RESERVED_TAG_PREFIXES if lowered.startswith(prefix)), None)
        if reserved:
            problems.append((key, f"the prefix {reserved!r} is reserved"))
        if not 1 <= len(key) <= MAX_TAG_KEY:
            problems.append((key, f"a tag key has 1 to {MAX_TAG_KEY} characters, this has {len(key)}"))
        if not 1 <= len(value) <= MAX_TAG_VALUE:
            # CloudFormation refuses the empty value that other services take.
            problems.append((key, f"a tag value has 1 to {MAX_TAG_VALUE} characters, this has {len(value)}"))
        for what, text in (("key", key), ("value", value)):
            if not _TAG_TEXT.fullmatch(text):
                problems.append((key, f"the {what} {text!r} has characters other than {_TAG_CHARACTERS}"))
    return tuple(problems)


def case_problems(tags: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Tag keys that differ in case only, as pairs of tag key and reason.

    IAM compares keys without regard to case and refuses the second ("Duplicate tag keys found. Please note
    that Tag keys are case insensitive"); every profile has roles (IAM user guide, "Tagging IAM resources").
    """
    seen: dict[str, str] = {}
    problems: list[tuple[str, str]] = []
    for key in tags:
        first = seen.setdefault(key.lower(), key)
        if first != key:
            problems.append((key, f"it differs from the tag {first!r} in case only, which IAM refuses"))
    return tuple(problems)


def tags(
    *,
    profile: str,
    region: str,
    stack: str,
    module: str,
    resource: str,
    origin: Origin | str = Origin.CREATED,
    extra: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The tags of one resource, sorted by key so that plans do not wobble.

    Args:
        profile: the profile's name.
        region: the AWS region.
        stack: the Pulumi stack.
        module: ``eks`` or ``hyperpod``, the predecessor's key.
        resource: ``<component>/<logical name>``.
        origin: whether this product made it or took it over.
        extra: the profile's own tags (and those a service asks for, such as ``kubernetes.io/role/elb``).

    Raises:
        ValueError: for an unknown module or origin, or a set of tags that AWS would refuse.
    """
    if module not in MODULES:
        raise ValueError(f"mlcc:module is one of {', '.join(MODULES)}, found {module!r}")
    problems = tag_problems(extra or {})
    if problems:
        raise ValueError("; ".join(f"tag {key!r}: {reason}" for key, reason in problems))
    ours = {
        TAG_MANAGED_BY: MANAGED_BY,
        TAG_PROFILE: profile,
        TAG_MODULE: module,
        TAG_REGION: region,
        TAG_STACK: stack,
        TAG_RESOURCE: resource,
        TAG_ORIGIN: Origin(origin).value,
    }
    for key, value in ours.items():
        if not 1 <= len(value) <= MAX_TAG_VALUE or not _TAG_TEXT.fullmatch(value):
            raise ValueError(f"tag {key!r}: AWS would refuse the value {value!r}")
    return dict(sorted({**(extra or {}), **ours}.items()))


class OwnerKind(StrEnum):
    """Who a resource belongs to, by its tags."""

    OURS = "ours"
    PREDECESSOR = "predecessor"
    FOREIGN = "foreign"
    UNTAGGED = "untagged"


@dataclass(frozen=True, kw_only=True)
class Owner:
    """What the tags of a resource say about its owner.

    ``ours`` and ``predecessor`` mean that the profile (and the region, where tagged) match; everything
    that carries another profile, region or manager is ``foreign`` and ``evidence`` is the tag that says so.
    """

    kind: OwnerKind
    evidence: str = ""
    origin: Origin | None = None

    @property
    def adoptable(self) -> bool:
        """Whether decisions may take it over at all."""
        return self.kind is not OwnerKind.FOREIGN


def owner_of(found: Mapping[str, str], *, profile: str, region: str) -> Owner:
    """Read the owner of a resource from its tags (decision table of the design).

    Args:
        found: all tags of the resource; other people's tags besides ours do not matter.
        profile: the profile that asks.
        region: the region that asks; a predecessor's things carry no region.
    """
    manager = found.get(TAG_MANAGED_BY)
    if manager is None:
        # Another profile's or region's mark counts even where the manager's tag was lost.
        for key, wanted in ((TAG_PROFILE, profile), (TAG_REGION, region)):
            if key in found and found[key] != wanted:
                return Owner(kind=OwnerKind.FOREIGN, evidence=f"{key}={found[key]}")
        return Owner(kind=OwnerKind.UNTAGGED)
    if manager not in (MANAGED_BY, PREDECESSOR_MANAGED_BY):
        return Owner(kind=OwnerKind.FOREIGN, evidence=f"{TAG_MANAGED_BY}={manager}")
    if found.get(TAG_PROFILE) != profile:
        return Owner(kind=OwnerKind.FOREIGN, evidence=f"{TAG_PROFILE}={found.get(TAG_PROFILE, '(none)')}")
    tagged_region = found.get(TAG_REGION)
    if manager == PREDECESSOR_MANAGED_BY:
        if tagged_region not in (None, region):
            return Owner(kind=OwnerKind.FOREIGN, evidence=f"{TAG_REGION}={tagged_region}")
        return Owner(kind=OwnerKind.PREDECESSOR, evidence=f"{TAG_MANAGED_BY}={manager}")
    if tagged_region != region:
        return Owner(kind=OwnerKind.FOREIGN, evidence=f"{TAG_REGION}={tagged_region or '(none)'}")
    origin = found.get(TAG_ORIGIN)
    known = Origin(origin) if origin in set(Origin) else None
    return Owner(kind=OwnerKind.OURS, evidence=f"{TAG_MANAGED_BY}={manager}", origin=known)


def tag_list(tags_found: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """AWS's ``[{"Key": …, "Value": …}]`` as a mapping (some services spell the keys in lower case)."""
    result: dict[str, str] = {}
    for entry in tags_found:
        lowered = {key.lower(): value for key, value in entry.items()}
        result[lowered["key"]] = lowered["value"]
    return result
