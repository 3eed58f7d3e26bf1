"""Whether the state already holds the settings of the profile that act when the stack is destroyed.

Destroy reads the state and runs no program: `mlcc:forceDelete` and `mlcc:own` are there as the retention that
each resource was last registered with, and a change of them does nothing before the next `up` (reported for
Terraform's force flags in hashicorp/terraform#10738, for Pulumi's retention in pulumi/pulumi#12148).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mlcc_infra.account.decisions import Recorded, ResourceKey
from mlcc_infra.account.recorded_state import RecordedState
from mlcc_infra.components import hyperpod_native, published_outputs, s3_bucket
from mlcc_infra.components.eks_base import ADDON, CLUSTER, FARGATE_PROFILE, NODE_GROUP, OIDC_PROVIDER
from mlcc_infra.components.hyperpod_native import STACK
from mlcc_infra.components.iam_role import POLICY, POLICY_KIND, ROLE, ROLE_KIND
from mlcc_infra.components.inference_operator import TLS_BUCKET
from mlcc_infra.components.published_outputs import PARAMETER
from mlcc_infra.components.s3_bucket import BUCKET
from mlcc_infra.profile import Profile
from mlcc_infra.tagging import Origin
from mlcc_infra.targets import hyperpod_eks_plan, vanilla_eks_plan
from mlcc_infra.targets.operator_plan import OPERATOR

# What is retained although the stack made it (names.md): beginnings of logical names, by type.
_OUTLIVES_THE_STACK: Final = {
    ROLE: (f"{vanilla_eks_plan.ROLES}-", f"{hyperpod_eks_plan.ROLES}-"),
    BUCKET: (f"{OPERATOR}-{TLS_BUCKET}",),
}
# Of the types that carry the origin in their tags: the kind of `mlcc:own`, and the input that holds the name
# by which it may be given there; empty where no input does.
_KINDS: Final = {
    ROLE: (ROLE_KIND, "name"),
    POLICY: (POLICY_KIND, "name"),
    OIDC_PROVIDER: ("oidc-provider", ""),
    CLUSTER: ("cluster", "name"),
    NODE_GROUP: ("node-group", "nodeGroupName"),
    FARGATE_PROFILE: ("fargate-profile", "fargateProfileName"),
    ADDON: ("addon", "addonName"),
    BUCKET: (s3_bucket.KIND, "bucket"),
    STACK: (hyperpod_native.KIND, "name"),
    PARAMETER: (published_outputs.KIND, "name"),
}


def settings_not_in_state(profile: Profile, recorded: RecordedState) -> list[str]:
    """What destroy would do against the profile, a line for each resource; empty when an `up` has settled it.

    Looked at are what outlives the stack and what was adopted with tags: what hangs on those (a role's
    policies, a bucket's settings) was registered with them.
    """
    return [
        f"{key[0]} {found.id}: destroy would {_does(found.retained)} it, while {why}"
        for key, found in recorded.resources.items()
        for why in _contradictions(profile, key, found)
    ]


def _does(retained: bool) -> str:
    return "keep" if retained else "delete"


def _contradictions(profile: Profile, key: ResourceKey, found: Recorded) -> Iterator[str]:
    outlives = key[1].startswith(_OUTLIVES_THE_STACK.get(key[0], ("\0",)))
    adopted = found.origin is Origin.ADOPTED and key[0] in _KINDS
    if profile.force_delete:
        if found.retained and (outlives or adopted):
            yield "mlcc:forceDelete asks for its deletion"
    elif outlives:
        if not found.retained:
            yield "without mlcc:forceDelete it outlives the stack"
    elif adopted:
        kind, name_input = _KINDS[key[0]]
        if not name_input and any(entry.startswith(f"{kind}/") for entry in profile.own):
            return  # the state does not tell whether this is the one that is named
        name = str(found.inputs.get(name_input) or found.id)
        if found.retained is profile.owns(kind, name):
            has = "has" if found.retained else "does not have"
            yield f"it was adopted, and mlcc:own {has} {kind} or {kind}/{name}"
