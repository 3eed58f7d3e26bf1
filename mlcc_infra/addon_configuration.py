"""The configuration values of EKS add-ons as text, in the one form that never differs from run to run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def without_empty(values: Any) -> Any:
    """Configuration values without keys that have no value, at any depth, and without what is then empty."""
    if isinstance(values, Mapping):
        kept = {key: without_empty(value) for key, value in values.items()}
        return {key: value for key, value in kept.items() if value is not None and value != {}}
    if isinstance(values, (list, tuple)):
        return [without_empty(value) for value in values if value is not None]
    return values


def configuration_text(values: Mapping[str, Any]) -> str | None:
    """The values as JSON with sorted keys and without empty ones; `None` when nothing is left.

    "Nothing" must be left out of the call: as JSON it becomes `null`, which the add-on's schema refuses
    (cookpad/terraform-aws-eks#331).
    """
    kept = without_empty(values)
    return json.dumps(kept, sort_keys=True, separators=(",", ":")) if kept else None
