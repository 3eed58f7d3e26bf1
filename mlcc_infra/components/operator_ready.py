"""Whether the inference operator serves, looked at after the add-on is there.

The provider class below is stored in the state by reference (`mlcc_infra.components.operator_ready`): its
module path is part of the state's format. Never move it without keeping this name importable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, final

import pulumi
from pulumi import dynamic

from mlcc_infra.account import cluster_client, operator_watcher
from mlcc_infra.components.dynamic_provider import guarded_session, one_message, progress, replaced
from mlcc_infra.errors import UserError


@final
@dataclass(frozen=True, kw_only=True)
class OperatorReadyArgs:
    """Which operator is to be looked at.

    `cluster_identity` changes when the EKS cluster is made anew under the same name (its OIDC issuer does);
    `addon_version` and `configuration` are the add-on's: a change of any of them has the watcher verified
    again. With `verify` `strict` a watcher that does not come fails the run; with `warn` the state stays
    `pending`. `limit_minutes` bounds the wait. `account` guards every call.
    """

    eks_cluster_name: pulumi.Input[str]
    cluster_identity: pulumi.Input[str]
    hyperpod_cluster_arn: pulumi.Input[str]
    addon_version: pulumi.Input[str]
    configuration: pulumi.Input[str]
    account: str
    region: str
    verify: Literal["warn", "strict"] = "warn"
    aws_profile: str | None = None
    limit_minutes: float = operator_watcher.LIMIT_SECONDS / 60


class OperatorReadyProvider(dynamic.ResourceProvider):
    """Watches the operator's controller until its watcher is enabled."""

    # The stored class holds no secret; leaving it readable keeps the state free of encrypted values.
    serialize_as_secret_always = False

    @one_message
    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        """Watch, at most for the limit."""
        return dynamic.CreateResult(id_=f"{props['eks_cluster_name']}/operator", outs=self._watch(props))

    @one_message
    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.UpdateResult:
        """Watch again: something changed, or it was never verified."""
        return dynamic.UpdateResult(outs=self._watch(_news))

    @one_message
    def read(self, id_: str, props: dict[str, Any]) -> dynamic.ReadResult:
        """Look once: an operator that has lost its watcher is pending again. Silence proves nothing."""
        try:
            sight = operator_watcher.look(
                guarded_session(props), props["eks_cluster_name"], props["hyperpod_cluster_arn"]
            )
        except cluster_client.ClusterGoneError:
            return dynamic.ReadResult(id_="", outs={})
        except (cluster_client.ClusterUnreachableError, cluster_client.ClusterRefusedError):
            return dynamic.ReadResult(id_=id_, outs=props)
        if props.get("state") == operator_watcher.ACTIVE and not (
            sight.reading.active or sight.reading.silent
        ):
            lost = {"state": operator_watcher.PENDING, "reason": sight.progress, "line": sight.reading.line}
            return dynamic.ReadResult(id_=id_, outs={**props, **lost})
        return dynamic.ReadResult(id_=id_, outs=props)

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.DiffResult:
        """A difference until it is verified, and when what was verified has changed."""
        compared = (
            "cluster_identity",
            "hyperpod_cluster_arn",
            "addon_version",
            "configuration",
            "aws_profile",
        )
        changed = _olds.get("state") != operator_watcher.ACTIVE or any(
            _olds.get(key) != _news.get(key) for key in compared
        )
        replaces = replaced(_olds, _news, ("eks_cluster_name", "account", "region"))
        return dynamic.DiffResult(
            changes=bool(changed or replaces), replaces=replaces, delete_before_replace=True
        )

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Nothing: there is only what was seen."""

    def _watch(self, props: Mapping[str, Any]) -> dict[str, Any]:
        verdict = operator_watcher.watch(
            guarded_session(props),
            props["eks_cluster_name"],
            props["hyperpod_cluster_arn"],
            progress,
            float(props["limit_minutes"]) * 60,
        )
        if verdict.state == operator_watcher.PENDING and props["verify"] == "strict":
            raise UserError(
                f"The inference operator is not ready: {verdict.reason}.",
                remedy=(
                    "Run `pulumi up` again to look once more; with `mlcc:operator.verify: warn` it goes on "
                    "without."
                ),
            )
        return {**props, "state": verdict.state, "reason": verdict.reason, "line": verdict.line}


class OperatorReady(dynamic.Resource, module="operator", name="OperatorReady"):
    """The inference operator as it was seen to serve.

    Outputs: `state` (`active` or `pending`), `reason` (why it is pending, else empty) and `line` (the
    controller's own last word).
    """

    state: pulumi.Output[str]
    reason: pulumi.Output[str]
    line: pulumi.Output[str]

    def __init__(
        self, name: str, args: OperatorReadyArgs, *, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        props: dict[str, Any] = {
            "eks_cluster_name": args.eks_cluster_name,
            "cluster_identity": args.cluster_identity,
            "hyperpod_cluster_arn": args.hyperpod_cluster_arn,
            "addon_version": args.addon_version,
            "configuration": args.configuration,
            "account": args.account,
            "region": args.region,
            "verify": args.verify,
            "aws_profile": args.aws_profile,
            "limit_minutes": args.limit_minutes,
            "state": None,
            "reason": None,
            "line": None,
        }
        super().__init__(OperatorReadyProvider(), name, props, opts)
        pulumi.Output.all(self.state, self.reason).apply(lambda seen: _warn(*seen))


def _warn(state: str | None, reason: str | None) -> None:
    if state == operator_watcher.PENDING and not pulumi.runtime.is_dry_run():
        pulumi.log.warn(
            f"The inference operator is pending: {reason}. Nothing was stopped for it; the next `pulumi up` "
            "looks again."
        )
