"""What the stack is made with besides its parameters, and what later differs and is never sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from mlcc_infra.template.groups import GROUP_SLOTS, RIG_SLOTS

CAPABILITIES: Final = ("CAPABILITY_AUTO_EXPAND", "CAPABILITY_NAMED_IAM")
"""The template uses a transform and names its roles; the second includes CAPABILITY_IAM (CloudFormation API,
CreateStack)."""

TIMEOUT_MINUTES: Final = 150
"""For create, update and delete. The provider's own is 30, and it stores the stack's id before it waits: a
longer creation would be met by an update in the next run (terraform-provider-aws,
internal/service/cloudformation/stack.go)."""

PROTECTED: Final = (
    "EKSClusterStack",
    "HyperPodClusterStack",
    "HyperPodParamClusterStack",
    "PrivateSubnetStack",
    "VPCStack",
)
"""Nested stacks that an update could replace, or push back to what they were made with."""

FROZEN: Final = (
    "capabilities",
    "disableRollback",
    "onFailure",
    "parameters",
    "policyBody",
    "tags",
    "templateBody",
    "templateUrl",
    "timeoutInMinutes",
)
"""Properties of the stack in the graph that are ignored once it exists. The provider sends the address, all
parameters and the tags for any difference, and the nested addresses have no version. The policy is among them
because the provider does not read it: after an import it would differ, and be sent with an update."""


def stack_policy() -> str:
    """The stack policy, as text: no update of what :data:`PROTECTED` names, everything else allowed.

    CloudFormation user guide, "Prevent updates to stack resources": a deny overrides any allow, and a
    deliberate update lifts it for its duration with StackPolicyDuringUpdateBody.
    """
    statements = [
        {"Effect": "Allow", "Action": "Update:*", "Principal": "*", "Resource": "*"},
        {
            "Effect": "Deny",
            "Action": "Update:*",
            "Principal": "*",
            "Resource": [f"LogicalResourceId/{name}" for name in PROTECTED],
        },
    ]
    return json.dumps({"Statement": statements}, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, kw_only=True)
class FrozenDifference:
    """A parameter of a stack that exists and differs from what the profile would be made with now.

    `live` is `None` when the stack's template does not have the parameter.
    """

    parameter: str
    live: str | None
    wanted: str

    def __str__(self) -> str:
        live = "absent" if self.live is None else _shown(self.live)
        return f"{self.parameter}: {live} in the stack, {_shown(self.wanted)} by the profile"


def frozen_differences(live: Mapping[str, str], wanted: Mapping[str, str]) -> tuple[FrozenDifference, ...]:
    """The parameters that differ and are not sent.

    Instance groups are left out: the stack keeps those it was made with, and the InstanceGroups resource
    keeps the cluster's. CustomBucketName and Stage count, as they decide what a later update would read.

    Args:
        live: parameters of the stack (DescribeStacks).
        wanted: what :func:`mlcc_infra.template.parameters.template_parameters` gives now.
    """
    return tuple(
        FrozenDifference(parameter=name, live=live.get(name), wanted=value)
        for name, value in wanted.items()
        if live.get(name) != value and name not in _GROUPS
    )


_GROUPS: Final = frozenset((*GROUP_SLOTS, *RIG_SLOTS))


def frozen_words(differences: Iterable[FrozenDifference], *, stack: str) -> tuple[str, str]:
    """What preflight says: what was found, and the way out; both empty when nothing differs.

    Args:
        differences: those of :func:`frozen_differences`.
        stack: the Pulumi stack, for the command.
    """
    lines = [str(difference) for difference in differences]
    if not lines:
        return "", ""
    found = "made once and then frozen, so these are not sent: " + "; ".join(lines)
    remedy = (
        "`up` leaves them as they are, because an update of the stack can push back what the cluster was "
        f"made with; set the profile back, or make the cluster anew: `pulumi destroy -s {stack}` and "
        f"`pulumi up -s {stack}`"
    )
    return found, remedy


def _shown(value: str) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:76]}…{text[-1]}"
