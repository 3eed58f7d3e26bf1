"""How each resource type is looked up in the account: one module a service, one function a type.

A lookup returns what it `Found`, or None for "absent"; anything else it learns (access denied,
throttled, not reachable) it raises, and the inventory turns that into "unknown".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.account.lookups import cloudformation, ec2_network, eks, helm, iam, logs, s3, ssm
from mlcc_infra.account.reader import Found, Reader

Lookup: TypeAlias = Callable[[Reader, Wanted], Found | None]

LOOKUPS: Mapping[str, Lookup] = {
    **iam.LOOKUPS,
    **eks.LOOKUPS,
    **ec2_network.LOOKUPS,
    **ssm.LOOKUPS,
    **logs.LOOKUPS,
    **s3.LOOKUPS,
    **cloudformation.LOOKUPS,
    **helm.LOOKUPS,
}
"""By Pulumi type token. Import ids are those the provider's documentation gives for the type."""
