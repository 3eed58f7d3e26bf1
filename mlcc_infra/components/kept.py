"""What is kept is never replaced: the run stops instead, in a preview too, and names what asks for it.

The engine replaces a retained resource by making a new one and forgetting the old one, which for a fixed name
AWS refuses when other steps are done already; a protected one it refuses after its dependents are gone
(pulumi/pulumi issue 6191). Which change needs a replacement only the provider knows. So a hook is bound to
what the state has and keeps: the engine calls it before it would make the replacement, in previews as well,
with the inputs that the provider has checked. Such a resource is never created otherwise: it exists.

A hook before a creation stays in the state and does no harm there: destroy creates nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from mlcc_infra.account.decisions import Decisions, Fact, Presence, Recorded, ResourceKey
from mlcc_infra.errors import UserError

HOOK = "kept-is-not-replaced"
_NOT_INPUTS = frozenset({"__defaults", "tags", "tagsAll"})
_LONGEST = 80


def kept_resources(
    recorded: Mapping[ResourceKey, Recorded], facts: Mapping[ResourceKey, Fact], decisions: Decisions
) -> dict[ResourceKey, Recorded]:
    """What the state keeps at a destroy and the account holds; pure. What is gone may be made again."""
    return {
        key: resource
        for key, resource in recorded.items()
        if resource.kept and decisions.get(key) is not None and facts[key].presence is Presence.PRESENT
    }


def changed_inputs(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Inputs of two registrations that differ, old and new; pure. Tags never are why a thing is replaced."""
    return {
        key: (old.get(key), new.get(key))
        for key in sorted({*old, *new} - _NOT_INPUTS)
        if old.get(key) != new.get(key)
    }


def replacement_error(urn: str, name: str, changes: Mapping[str, tuple[Any, Any]], stack: str) -> UserError:
    """The refusal, with each property old -> new and the way out."""
    words = ", ".join(f"{key} {_shown(old)} -> {_shown(new)}" for key, (old, new) in changes.items())
    return UserError(
        f"{name} would be replaced, and it is kept: {words or 'a change that AWS makes in no other way'}.",
        remedy="Put that setting back. To have another one instead, first take this one out of the state "
        f"(`pulumi state delete '{urn}' --stack {stack}`) and out of the account, and run again.",
    )


def _shown(value: Any) -> str:
    text = "unset" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


class KeptResources:
    """The guard of one run. `options` gives each child of a component the hook that it needs."""

    def __init__(self, kept: Mapping[ResourceKey, Recorded], *, stack: str) -> None:
        self._kept = kept
        self._stack = stack
        self._hook: pulumi.ResourceHook | None = None

    def binding(self, key: ResourceKey) -> pulumi.ResourceHookBinding | None:
        """The hook of a resource that is kept, else None."""
        if key not in self._kept:
            return None
        if self._hook is None:
            self._hook = pulumi.ResourceHook(
                HOOK, self._refuse, opts=pulumi.ResourceHookOptions(on_dry_run=True)
            )
        return pulumi.ResourceHookBinding(before_create=[self._hook])

    def _refuse(self, args: pulumi.ResourceHookArgs) -> None:
        changes = changed_inputs(self._kept[args.type, args.name].inputs, args.new_inputs or {})
        raise replacement_error(args.urn, args.name, changes, self._stack)
