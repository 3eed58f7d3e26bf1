"""PLACE"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mlcc_infra.profile.checks import Findings

CHECKS: Final[tuple[Callable[[Findings], None], ...]] = ()
