"""The one table of roles: what each trusts and may do, used alike to create, to adopt and to verify.

Contents: AWS's documented variant of each role where public texts differ (EKS user guide; SageMaker developer
guide, HyperPod prerequisites and model deployment setup; AWS's HyperPod template), with the deviations that
are named at the entries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from mlcc_infra.naming import Names
from mlcc_infra.policies.documents import Document

PathRule = Literal["profile", "root"]
"""`profile`: under `mlcc:rolePath`; `root`: at `/`, because AWS builds `role/<name>` from the name."""


@dataclass(frozen=True, kw_only=True)
class RoleContext:
    """What policies are made from: plain values, known before anything is created.

    `issuer` (a cluster's OIDC issuer, without `https://`) is needed for roles of service accounts only; it is
    known once the cluster is, so their trust is made inside an `apply`.
    """

    names: Names
    partition: str = "aws"
    issuer: str = ""
    model_buckets: Sequence[str] = ()
    tls_bucket: str = ""
    service_accounts: Sequence[str] = ()

    @property
    def account(self) -> str:
        """The account id."""
        return self.names.account

    @property
    def region(self) -> str:
        """The region."""
        return self.names.region

    def arn(self, service: str, resource: str) -> str:
        """The ARN of a resource of this account and region."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"

    def managed(self, name: str) -> str:
        """The ARN of an AWS managed policy."""
        return f"arn:{self.partition}:iam::aws:policy/{name}"


@dataclass(frozen=True, kw_only=True)
class LiveRole:
    """A role that exists already: what the table leaves as it is, or has to know of it.

    Attributes:
        path: where it sits. No call of IAM moves a role, so another path would replace it.
        trust: its trust policy as it is.
        permissions_boundary: ARN of its boundary, if any.
        adopted: whether somebody else made it. Of those, more is kept: their boundary is their company's
            rule, and what they trust may be in use.
    """

    path: str
    trust: str | Mapping[str, Any]
    permissions_boundary: str | None = None
    adopted: bool = True


def _no_inline(_: RoleContext) -> dict[str, Document]:
    return {}


@dataclass(frozen=True, kw_only=True)
class RoleEntry:
    """One role of the table.

    Attributes:
        key: its name in the table, `eks-cluster-role`.
        name_of: the attribute of :class:`mlcc_infra.naming.Names` with its physical name.
        description: shown in IAM.
        targets: the targets that need it.
        managed_policies: names of the AWS managed policies attached.
        inline: its inline policies by name.
        trust: its trust policy; the second argument is the trust found on an adopted role, if any.
        path_rule: where it may sit.
        retained: whether destroy leaves it.
        optional: whether it is made on request only.
        source: where the contents come from.
    """

    key: str
    name_of: str
    description: str
    targets: frozenset[str]
    trust: Callable[[RoleContext, str | Mapping[str, Any] | None], Document]
    managed_policies: tuple[str, ...] = ()
    inline: Callable[[RoleContext], dict[str, Document]] = field(default=_no_inline)
    path_rule: PathRule = "profile"
    retained: bool = False
    optional: bool = False
    source: str = ""

    def role_name(self, context: RoleContext) -> str:
        """Its physical name."""
        return str(getattr(context.names, self.name_of))

    def managed_policy_arns(self, context: RoleContext) -> tuple[str, ...]:
        """ARNs of the managed policies, in the partition."""
        return tuple(context.managed(name) for name in self.managed_policies)

    def path(self, role_path: str | None, live: LiveRole | None = None) -> str:
        """The path it is made at, given `mlcc:rolePath`.

        Another path makes a role anew. So what somebody else made, and what outlives stacks, stays where it
        is; a role that was made here and goes with its stack follows the profile.
        """
        if self.path_rule == "root":
            return "/"
        if live is not None and (live.adopted or self.retained):
            return live.path
        return role_path or "/"

    def boundary(self, permissions_boundary: str | None, live: LiveRole | None = None) -> str | None:
        """The boundary it has, given `mlcc:permissionsBoundary`; without, an adopted role keeps its own."""
        if permissions_boundary is None and live is not None and live.adopted:
            return live.permissions_boundary
        return permissions_boundary

    def trust_on(self, context: RoleContext, live: LiveRole | None = None) -> Document:
        """The trust policy, with what an adopted role trusts besides and may keep."""
        return self.trust(context, live.trust if live is not None and live.adopted else None)

    def path_problem(self, found_path: str) -> str | None:
        """Why a role found at a path cannot be adopted, or `None`."""
        if self.path_rule == "root" and found_path != "/":
            return (
                f"it sits at path {found_path}, and AWS looks for it at role/<name> without a path; "
                "delete it, so that it is made anew at /"
            )
        return None


EKS: Final = frozenset({"vanilla-eks"})
HYPERPOD: Final = frozenset({"hyperpod-eks"})
OPERATOR: Final = frozenset({"hyperpod-eks", "operator-only"})


def needed(table: Mapping[str, RoleEntry], targets: Sequence[str]) -> dict[str, RoleEntry]:
    """The entries of a table that the targets need, those made on request left out."""
    return {
        key: entry
        for key, entry in table.items()
        if not entry.optional and entry.targets.intersection(targets)
    }
