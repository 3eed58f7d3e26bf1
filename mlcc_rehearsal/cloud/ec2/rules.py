"""Rules of security groups are revoked by what they allow; their descriptions do not matter."""

from __future__ import annotations

from typing import Any


class Rules:
    """Mix-in for moto's EC2 backend.

    moto compares the source group of a rule with its description; AWS does not, so a rule made with one is
    revoked without. Source: Amazon EC2 API reference, RevokeSecurityGroupIngress (the description need
    not match).
    """

    def revoke_security_group_ingress(self, *arguments: Any, **named: Any) -> None:
        """As moto does, with descriptions taken from the rules that are there."""
        self._describe_sources(arguments, named, egress=False)
        super().revoke_security_group_ingress(*arguments, **named)  # pyright: ignore[reportAttributeAccessIssue]

    def revoke_security_group_egress(self, *arguments: Any, **named: Any) -> None:
        """As moto does, with descriptions taken from the rules that are there."""
        self._describe_sources(arguments, named, egress=True)
        super().revoke_security_group_egress(*arguments, **named)  # pyright: ignore[reportAttributeAccessIssue]

    def _describe_sources(self, arguments: tuple[Any, ...], named: dict[str, Any], *, egress: bool) -> None:
        backend: Any = self
        group_id = arguments[0] if arguments else named["group_name_or_id"]
        sources = named.get("source_groups") or (arguments[5] if len(arguments) > 5 else None) or []
        group = backend.get_security_group_by_name_or_id(group_id, named.get("vpc_id"))
        if group is None:
            return
        described = {
            rule.source_group.get("GroupId"): rule.source_group.get("Description")
            for rule in (group.egress_rules if egress else group.ingress_rules)
            if rule.source_group
        }
        for source in sources:
            source.pop("Description", None)
            if described.get(source.get("GroupId")) is not None:
                source["Description"] = described[source["GroupId"]]
