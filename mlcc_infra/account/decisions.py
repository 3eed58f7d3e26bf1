"""What to do about each resource: keep, create, import or refuse. Pure.

One function, `decide`, turns three facts about a resource (what the Pulumi state records,
what the account holds, what the profile allows) into a `Decision`. It is the table of
section 5 of the design; it neither reads AWS nor knows the engine.

`import_` is set only for `Action.IMPORT`: left in place later it turns a replace-only change
into an error, and a different id would make the engine delete the recorded object.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from mlcc_infra.tagging import Origin, Owner, OwnerKind

ResourceKey: TypeAlias = tuple[str, str]
"""(Pulumi type token, logical name), for example `("aws:iam/role:Role", "service-roles-eks-node-role")`."""


FIRST_TRIGGER = "first"
"""The replacement trigger of what was never replaced. The engine replaces a resource when its trigger is
another, but not from or to none (pulumi 3.276.0, pkg/resource/deploy/step_generator.go,
shouldTriggerReplace)."""


class Presence(StrEnum):
    """Whether the account holds the thing. UNKNOWN (denied, throttled) is never taken for ABSENT."""

    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"


UNTAGGED = Owner(kind=OwnerKind.UNTAGGED)


class AdoptMode(StrEnum):
    """The profile's `mlcc:adopt` for a kind of resource."""

    AUTO = "auto"
    NEVER = "never"
    REQUIRED = "required"


class Action(StrEnum):
    """What the program does about one resource."""

    KEEP = "keep"
    CREATE = "create"
    IMPORT = "import"
    REFUSE = "refuse"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A resource that the targets will register, as the inventory has to look it up.

    `physical` is the name a person knows it by; `belongs_to` the physical name of the thing it is part
    of (an attachment's role), by which `mlcc:own` may name it. `identified_by_name` tells whether AWS refuses
    a second one of that name: then an attempt to create is harmless when the look-up was denied;
    what is found by tags only (a VPC) would silently be made twice.
    """

    key: ResourceKey
    kind: str
    physical: str
    belongs_to: str = ""
    identified_by_name: bool = True
    lookup: Mapping[str, str] = field(default_factory=dict)

    def owned_by(self, own: frozenset[str]) -> bool:
        """Whether `mlcc:own` lists its kind, or `<kind>/<name>`."""
        return self.kind in own or f"{self.kind}/{self.belongs_to or self.physical}" in own


@dataclass(frozen=True, kw_only=True)
class Fact:
    """What the account says about one wanted resource.

    `import_id` is the type's canonical import id, present exactly when the thing is. `resource_id`
    is the id the state would record for it, or None for types whose recorded id differs from one
    creation to the next (an attachment's carries a time stamp): those are not compared.
    `owner` is what its tags say; things without tags of their own go with what they belong to.
    `stack` names a live CloudFormation stack that still owns it. `tags` are all its tags, or those of what
    it belongs to. `under_way` is AWS's word for what it is still doing to the thing (`CREATING`), empty when
    it is at rest.
    """

    presence: Presence
    import_id: str | None = None
    resource_id: str | None = None
    owner: Owner = UNTAGGED
    stack: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    under_way: str = ""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What the Pulumi state holds for a resource: its provider id and, where tagged, its origin.

    `replacement_trigger` is the value it was last registered with; another one replaces it. `retained` tells
    whether destroy leaves it, `protected` whether the engine refuses to delete it; `inputs` are those of its
    last registration.
    """

    id: str
    origin: Origin | None = None
    retained: bool = False
    protected: bool = False
    replacement_trigger: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def kept(self) -> bool:
        """Whether it is to outlive the stack, and so no replacement may take its place."""
        return self.retained or self.protected


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The outcome for one resource. `remedy` is set on refusals, `warning` when something should be said,
    `stack` when a live CloudFormation stack is why it is refused."""

    wanted: Wanted
    action: Action
    origin: Origin
    import_id: str | None = None
    reason: str = ""
    remedy: str = ""
    warning: str = ""
    stack: str = ""


def decide(
    wanted: Wanted, fact: Fact, recorded: Recorded | None, mode: AdoptMode, *, begun: bool = False
) -> Decision:
    """Decide about one resource; never raises.

    `begun` tells that a killed run of this stack had begun to create it: what exists then, and nobody
    else's tag is on, is this stack's own.
    """
    if recorded is not None:
        return _decide_recorded(wanted, fact, recorded)
    if fact.presence is Presence.UNKNOWN:
        return _decide_unknown(wanted, fact, mode)
    if fact.presence is Presence.ABSENT:
        return _decide_absent(wanted, mode)
    return _decide_present(wanted, fact, mode, begun=begun)


def _decide_recorded(wanted: Wanted, fact: Fact, recorded: Recorded) -> Decision:
    origin = recorded.origin or _untagged_origin(wanted, fact, recorded)
    if fact.presence is Presence.PRESENT and fact.resource_id not in (None, recorded.id):
        return Decision(
            wanted=wanted,
            action=Action.REFUSE,
            origin=origin,
            reason=f"the state records {recorded.id}, the account holds {fact.resource_id}",
            remedy="Find out which is right; `pulumi state delete` the recorded one, or remove the other.",
        )
    return Decision(wanted=wanted, action=Action.KEEP, origin=origin, reason="in the state")


def _untagged_origin(wanted: Wanted, fact: Fact, recorded: Recorded) -> Origin:
    """The origin of what has no tags in the state: that of its own mark in the account, else what it was
    registered as.

    The mark of what it belongs to does not count: an attachment made here hangs on an adopted role, and one
    that stayed would keep its policy from being deleted.
    """
    if not wanted.belongs_to and fact.owner.origin is not None:
        return fact.owner.origin
    return Origin.ADOPTED if recorded.retained else Origin.CREATED


def _decide_unknown(wanted: Wanted, fact: Fact, mode: AdoptMode) -> Decision:
    if mode is AdoptMode.REQUIRED or not wanted.identified_by_name:
        return Decision(
            wanted=wanted,
            action=Action.REFUSE,
            origin=Origin.CREATED,
            reason=f"whether it exists could not be read: {fact.reason}",
            remedy="Give the caller the read permission named in the error, or run again once AWS answers.",
        )
    return Decision(
        wanted=wanted,
        action=Action.CREATE,
        origin=Origin.CREATED,
        reason="unknown",
        warning=(
            f"whether it exists could not be read ({fact.reason}); "
            "it will be created, which AWS refuses if the name is taken"
        ),
    )


def _decide_absent(wanted: Wanted, mode: AdoptMode) -> Decision:
    if mode is AdoptMode.REQUIRED:
        return Decision(
            wanted=wanted,
            action=Action.REFUSE,
            origin=Origin.CREATED,
            reason="it does not exist, and mlcc:adopt is `required` for it",
            remedy=f"Create it first, or set mlcc:adopt to `auto` for `{wanted.kind}`.",
        )
    return Decision(wanted=wanted, action=Action.CREATE, origin=Origin.CREATED, reason="absent")


def _decide_present(wanted: Wanted, fact: Fact, mode: AdoptMode, *, begun: bool) -> Decision:
    origin = fact.owner.origin or (Origin.CREATED if begun else Origin.ADOPTED)
    if not fact.owner.adoptable:
        return Decision(
            wanted=wanted,
            action=Action.REFUSE,
            origin=origin,
            reason=f"it exists and belongs to somebody else: {fact.owner.evidence}",
            remedy="Choose another mlcc:profile, or remove that tag if the thing is to be taken over.",
        )
    if fact.stack is not None:
        return Decision(
            wanted=wanted,
            action=Action.REFUSE,
            origin=origin,
            reason=f"the CloudFormation stack {fact.stack} still owns it",
            remedy=(
                f"In the template of {fact.stack} set `DeletionPolicy: Retain` on it, update the stack, "
                "delete the stack, and run again."
            ),
            stack=fact.stack,
        )
    if mode is AdoptMode.NEVER and not begun:
        return Decision(
            wanted=wanted,
            action=Action.REFUSE,
            origin=origin,
            reason="it exists, and mlcc:adopt is `never` for it",
            remedy=f"Delete it, or set mlcc:adopt to `auto` for `{wanted.kind}`.",
        )
    return Decision(
        wanted=wanted,
        action=Action.IMPORT,
        origin=origin,
        import_id=fact.import_id,
        reason=f"exists ({fact.owner.kind.value})",
    )


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """All decisions of a run, looked up by (type, logical name)."""

    by_key: Mapping[ResourceKey, Decision] = field(default_factory=dict)

    def get(self, key: ResourceKey) -> Decision | None:
        """The decision for a resource, or None for one the inventory was not asked about."""
        return self.by_key.get(key)

    @property
    def refused(self) -> tuple[Decision, ...]:
        """Everything that stops the run."""
        return tuple(d for d in self.by_key.values() if d.action is Action.REFUSE)

    @property
    def created(self) -> tuple[Decision, ...]:
        """Everything that this run makes."""
        return tuple(d for d in self.by_key.values() if d.action is Action.CREATE)

    @property
    def imported(self) -> tuple[Decision, ...]:
        """Everything that this run takes over."""
        return tuple(d for d in self.by_key.values() if d.action is Action.IMPORT)

    @property
    def warnings(self) -> tuple[Decision, ...]:
        """Everything that should be said without stopping."""
        return tuple(d for d in self.by_key.values() if d.warning)


def decide_all(
    wanted: Iterable[Wanted],
    facts: Mapping[ResourceKey, Fact],
    recorded: Mapping[ResourceKey, Recorded],
    modes: Mapping[str, AdoptMode],
    begun: Collection[ResourceKey] = (),
) -> Decisions:
    """Decide about every wanted resource.

    `modes` maps a kind to its adopt mode; kinds that are missing are `auto`. `begun` are those whose
    creation a killed run had begun. A resource without a
    fact counts as unknown: nobody looked, so nothing is assumed.
    """
    unread = Fact(presence=Presence.UNKNOWN, reason="it was not looked up")
    return Decisions(
        by_key={
            item.key: decide(
                item,
                facts.get(item.key, unread),
                recorded.get(item.key),
                modes.get(item.kind, AdoptMode.AUTO),
                begun=item.key in begun,
            )
            for item in wanted
        }
    )
