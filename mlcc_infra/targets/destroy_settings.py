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
from mlcc_infra.profile import Profile
from mlcc_infra.tagging import Origin

# What is retained although the stack made it (names.md): beginnings of logical names, by type.
_OUTLIVES_THE_STACK: Final = {
    "aws:iam/role:Role": ("service-roles-", "hyperpod-service-roles-"),
    "aws:s3/bucket:Bucket": ("operator-tls-bucket",),
}
# Of the types that carry the origin in their tags: the kind of `mlcc:own`, and the input that holds the name.
_KINDS: Final = {
    "aws:iam/role:Role": ("role", "name"),
    "aws:iam/policy:Policy": ("policy", "name"),
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": ("oidc-provider", ""),
    "aws:eks/cluster:Cluster": ("cluster", "name"),
    "aws:eks/nodeGroup:NodeGroup": ("node-group", "nodeGroupName"),
    "aws:eks/fargateProfile:FargateProfile": ("fargate-profile", "fargateProfileName"),
    "aws:eks/addon:Addon": ("addon", "addonName"),
    "aws:s3/bucket:Bucket": ("bucket", "bucket"),
    "aws:cloudformation/stack:Stack": ("stack", "name"),
    "aws:ssm/parameter:Parameter": ("parameter", "name"),
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
        name = str(found.inputs.get(name_input) or found.id)
        if found.retained is profile.owns(kind, name):
            has = "has" if found.retained else "does not have"
            yield f"it was adopted, and mlcc:own {has} {kind} or {kind}/{name}"
