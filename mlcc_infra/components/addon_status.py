"""Whether an add-on that AWS's template installs is there and healthy.

The provider class below is stored in the state by reference (`mlcc_infra.components.addon_status`): its
module path is part of the state's format. Never move it without keeping this name importable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, final

import pulumi
from pulumi import dynamic

from mlcc_infra.account import addon_health
from mlcc_infra.components.dynamic_provider import guarded_session, one_message, progress, replaced
from mlcc_infra.errors import UserError


@final
@dataclass(frozen=True, kw_only=True)
class AddonStatusArgs:
    """Which add-on of which cluster. `cluster_identity` changes when the cluster is made anew.

    With `verify` `strict` an add-on that is not active fails the run; with `warn` its state stays `pending`.
    `account` guards every call.
    """

    cluster_name: pulumi.Input[str]
    cluster_identity: pulumi.Input[str]
    addon_name: str
    account: str
    region: str
    verify: Literal["warn", "strict"] = "warn"
    aws_profile: str | None = None


class AddonStatusProvider(dynamic.ResourceProvider):
    """Describes the add-on until it has settled."""

    # The stored class holds no secret; leaving it readable keeps the state free of encrypted values.
    serialize_as_secret_always = False

    @one_message
    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        """Look, at most for the limit."""
        return dynamic.CreateResult(
            id_=f"{props['cluster_name']}/{props['addon_name']}", outs=self._watch(props)
        )

    @one_message
    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.UpdateResult:
        """Look again."""
        return dynamic.UpdateResult(outs=self._watch(_news))

    @one_message
    def read(self, id_: str, props: dict[str, Any]) -> dynamic.ReadResult:
        """Look once: an add-on that has failed since is pending again."""
        found = addon_health.describe(guarded_session(props), props["cluster_name"], props["addon_name"])
        return dynamic.ReadResult(id_=id_, outs={**props, **_seen(found, props["addon_name"])})

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.DiffResult:
        """A difference until it is active, and when the cluster is another."""
        changed = _olds.get("state") != addon_health.ACTIVE or any(
            _olds.get(key) != _news.get(key) for key in ("cluster_identity", "aws_profile")
        )
        replaces = replaced(_olds, _news, ("cluster_name", "addon_name", "account", "region"))
        return dynamic.DiffResult(
            changes=bool(changed or replaces), replaces=replaces, delete_before_replace=True
        )

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Nothing: there is only what was seen."""

    def _watch(self, props: Mapping[str, Any]) -> dict[str, Any]:
        addon = str(props["addon_name"])
        found = addon_health.watch(guarded_session(props), str(props["cluster_name"]), addon, progress)
        if found.state == addon_health.PENDING and props["verify"] == "strict":
            raise UserError(
                f"The inference operator is not ready: {found.reason(addon)}.",
                remedy="Run `pulumi up` again to look once more; with `mlcc:operator.verify: warn` it goes "
                "on without.",
            )
        return {**props, **_seen(found, addon)}


def _seen(found: addon_health.AddonHealth, addon: str) -> dict[str, str]:
    return {"state": found.state, "reason": found.reason(addon), "version": found.version}


class AddonStatus(dynamic.Resource, module="operator", name="AddonStatus"):
    """An add-on as EKS described it.

    Outputs: `state` (`active` or `pending`), `reason` (why it is pending, else empty) and `version`.
    """

    state: pulumi.Output[str]
    reason: pulumi.Output[str]
    version: pulumi.Output[str]

    def __init__(
        self, name: str, args: AddonStatusArgs, *, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        props: dict[str, Any] = {
            "cluster_name": args.cluster_name,
            "cluster_identity": args.cluster_identity,
            "addon_name": args.addon_name,
            "account": args.account,
            "region": args.region,
            "verify": args.verify,
            "aws_profile": args.aws_profile,
            "state": None,
            "reason": None,
            "version": None,
        }
        super().__init__(AddonStatusProvider(), name, props, opts)
        pulumi.Output.all(self.state, self.reason).apply(lambda seen: _warn(*seen))


def _warn(state: str | None, reason: str | None) -> None:
    if state == addon_health.PENDING and not pulumi.runtime.is_dry_run():
        pulumi.log.warn(
            f"The inference operator is pending: {reason}. Nothing was stopped for it; the next `pulumi up` "
            "looks again."
        )
