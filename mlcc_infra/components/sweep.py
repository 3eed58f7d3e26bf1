"""What resources share that do nothing until destroyed, and then remove things of some names.

Their provider classes are stored in the state by reference to their own modules, so this one may move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

from pulumi import dynamic


@final
@dataclass(frozen=True, kw_only=True)
class SweepArgs:
    """What goes, by name. `account` guards every call."""

    names: Sequence[str]
    account: str
    region: str
    aws_profile: str | None = None

    @property
    def props(self) -> dict[str, Any]:
        """As the state has them."""
        return {
            "names": list(self.names),
            "account": self.account,
            "region": self.region,
            "aws_profile": self.aws_profile,
        }


class SweepProvider(dynamic.ResourceProvider):
    """Does nothing until destroyed. Subclasses delete; `what` ends the id."""

    what: ClassVar[str]
    serialize_as_secret_always = False

    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        """Remember the names."""
        return dynamic.CreateResult(id_=f"{props['account']}/{props['region']}/{self.what}", outs=dict(props))

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.UpdateResult:
        """Remember the new names."""
        return dynamic.UpdateResult(outs=dict(_news))

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.DiffResult:
        """Other names, or another profile."""
        compared = ("names", "account", "region", "aws_profile")  # one that is unset is in neither
        return dynamic.DiffResult(changes=any(_olds.get(key) != _news.get(key) for key in compared))
