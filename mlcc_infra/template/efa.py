"""The rules that EFA needs in a security group of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

ALL_PROTOCOLS: Final = "-1"


def efa_problem(
    group_id: str, *, ingress: Iterable[Mapping[str, Any]], egress: Iterable[Mapping[str, Any]]
) -> str | None:
    """Why instances with EFA cannot talk to each other through a security group, or `None`.

    Both ways all traffic must be allowed from and to the group itself; a rule for every address, egress to
    0.0.0.0/0 included, is no substitute (SageMaker developer guide, HyperPod prerequisites;
    gardener-extension-provider-aws#1832).

    Args:
        group_id: the group.
        ingress: its rules as DescribeSecurityGroups gives them, `IpPermissions`.
        egress: likewise `IpPermissionsEgress`.
    """
    missing = [
        way
        for way, rules in (("ingress", ingress), ("egress", egress))
        if not any(_to_itself(group_id, rule) for rule in rules)
    ]
    if not missing:
        return None
    return (
        f"no rule for all traffic with {group_id} itself ({' and '.join(missing)}), which EFA needs; a rule "
        "for 0.0.0.0/0 is not enough"
    )


def _to_itself(group_id: str, rule: Mapping[str, Any]) -> bool:
    return rule.get("IpProtocol") == ALL_PROTOCOLS and any(
        pair.get("GroupId") == group_id for pair in rule.get("UserIdGroupPairs", ())
    )
