"""What every component has in common: its token, its children's options and tags, adoption and retention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pulumi

from mlcc_infra.account.decisions import Action, Decision, Decisions, ResourceKey
from mlcc_infra.components.kept import KeptResources
from mlcc_infra.naming import Names
from mlcc_infra.tagging import Origin, tags


@dataclass(frozen=True, kw_only=True)
class StackContext:
    """What a component has to know about the stack that it is part of. Plain values only.

    `decisions` says what is imported (section 5 of the design); `own` lists kinds of adopted things
    that destroy may delete; `force_delete` gives up retention; `exclusive` takes off roles what is not the
    profile's. `aws_profile` goes into kubeconfigs. `kept` guards what the state keeps against replacement.
    `replacement_triggers` are those of resources that are replaced when they have failed for good.
    """

    names: Names
    stack: str
    partition: str = "aws"
    aws_profile: str | None = None
    extra_tags: Mapping[str, str] = field(default_factory=dict)
    decisions: Decisions = field(default_factory=Decisions)
    own: frozenset[str] = frozenset()
    force_delete: bool = False
    exclusive: bool = False
    kept: KeptResources | None = None
    replacement_triggers: Mapping[ResourceKey, str] = field(default_factory=dict)


class Component(pulumi.ComponentResource):
    """Base of the library's components.

    A subclass sets `TOKEN`, makes its children with `child` and `tags`, and calls `register_outputs`.
    `module` is the tag `mlcc:module` of its children. The caller's options reach the component alone:
    children get their parent here, and retention, import and dependencies each by itself, because the
    engine hands none of these down.
    """

    TOKEN: ClassVar[str]

    def __init__(
        self, name: str, context: StackContext, opts: pulumi.ResourceOptions | None, *, module: str
    ) -> None:
        super().__init__(self.TOKEN, name, {}, opts)
        self.name = name
        self.context = context
        self.module = module

    def logical_name(self, child: str) -> str:
        """Logical name of a child. Stable API: the state finds its resources by it."""
        return f"{self.name}-{child}"

    def child(
        self,
        type_token: str,
        child: str,
        *,
        retained: bool = False,
        depends_on: Sequence[pulumi.Resource] | None = None,
        **options: Any,
    ) -> pulumi.ResourceOptions:
        """Options of one child: its parent, and import and retention as decided.

        `retained` marks what stays in the account when the stack is destroyed. What was adopted stays
        as well, unless the profile owns its kind. `force_delete` overrides both.
        """
        key = (type_token, self.logical_name(child))
        decision = self.context.decisions.get(key)
        keep = retained or self._is_adopted_and_not_owned(decision)
        trigger = self.context.replacement_triggers.get((type_token, self.logical_name(child)))
        if trigger:
            # A fixed name: the failed one has to go first.
            options = {"replacement_trigger": trigger, "delete_before_replace": True, **options}
        return pulumi.ResourceOptions(
            parent=self,
            depends_on=list(depends_on) if depends_on else None,
            import_=decision.import_id if decision and decision.action is Action.IMPORT else None,
            retain_on_delete=True if keep and not self.context.force_delete else None,
            hooks=self.context.kept.binding(key) if self.context.kept else None,
            **options,
        )

    def _is_adopted_and_not_owned(self, decision: Decision | None) -> bool:
        if decision is None or decision.origin is not Origin.ADOPTED:
            return False
        return not decision.wanted.owned_by(self.context.own)

    def tags(
        self, type_token: str, child: str, extra: Mapping[str, str] | None = None, *, name: bool = True
    ) -> dict[str, str]:
        """Tags of one child. `name` adds EC2's `Name`, which the console shows."""
        decision = self.context.decisions.get((type_token, self.logical_name(child)))
        shown = {"Name": f"mlcc-{self.context.names.profile}-{child}"} if name else {}
        return tags(
            profile=self.context.names.profile,
            region=self.context.names.region,
            stack=self.context.stack,
            module=self.module,
            resource=f"{self.name}/{child}",
            origin=decision.origin if decision else Origin.CREATED,
            extra={**shown, **self.context.extra_tags, **(extra or {})},
        )
