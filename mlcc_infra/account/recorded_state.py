"""What the Pulumi state of a stack records, read once per run with `pulumi stack export`.

Reading the state from inside a running update works: the engine writes checkpoints as it goes
and `stack export` takes no lock (measured: 0.1 s on the file backend).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mlcc_infra.account.decisions import Recorded, ResourceKey
from mlcc_infra.account.stack_access import stored_access
from mlcc_infra.account.state_transfer import export_state
from mlcc_infra.account.stored_identity import (
    AWS_PROVIDER,
    EncryptedIdentityError,
    pending_operations,
    resources,
    stored_identities,
)
from mlcc_infra.tagging import TAG_ORIGIN, TAG_PROFILE, Origin


@dataclass(frozen=True, kw_only=True)
class Pending:
    """An operation that a killed run had begun: what became of it, the state does not know.

    `operation` is the engine's word: creating, updating, deleting, reading or importing (pulumi/sdk
    go/common/apitype, ``OperationType``). `custom` is false for components, which no provider makes. `inputs`
    are what the provider was given.
    """

    urn: str
    operation: str
    custom: bool = True
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> ResourceKey:
        """(type, logical name) of the resource."""
        return key_of_urn(self.urn)


@dataclass(frozen=True, kw_only=True)
class RecordedState:
    """What a stack's state records: its resources, the account its aws provider is bound to, its profile.

    `pending` are operations that were under way when a run was killed.
    `aws_profiles` are the AWS profiles that refresh and destroy will ask for credentials, `access` what the
    stack ensured of access to its clusters.
    """

    resources: Mapping[ResourceKey, Recorded] = field(default_factory=dict)
    account: str | None = None
    profile: str | None = None
    pending: tuple[Pending, ...] = ()
    aws_profiles: frozenset[str] = frozenset()
    access: tuple[Mapping[str, Any], ...] = ()

    @property
    def begun(self) -> frozenset[ResourceKey]:
        """Resources whose creation a killed run had begun: what exists of them, this stack made."""
        return frozenset(found.key for found in self.pending if found.operation == "creating")

    def identity(self, configured: str | None) -> str | None:
        """The AWS profile for what the state holds: the one stored there, None for the environment's own.

        A state without a provider says nothing of it; then it is the configured one.
        """
        return min(self.aws_profiles, default=None) if self.account else configured


def key_of_urn(urn: str) -> ResourceKey:
    """The (type, logical name) of a URN; the types of the parents are dropped.

    >>> key_of_urn("urn:pulumi:mlcc-demo::mlcc::mlcc:iam:ServiceRoles$aws:iam/role:Role::service-roles-x")
    ('aws:iam/role:Role', 'service-roles-x')
    """
    _, _, types, name = urn.removeprefix("urn:pulumi:").split("::", 3)
    return types.split("$")[-1], name


def index_export(export: Mapping[str, Any]) -> RecordedState:
    """Index an exported deployment: custom resources by (type, name), and the account.

    Left out: components (no id), resources pending deletion, and resources pending replacement;
    their URN is about to be used by a new object.
    """
    index: dict[ResourceKey, Recorded] = {}
    account: str | None = None
    profile: str | None = None
    for resource in resources(export):
        if not resource.get("id") or resource.get("delete") or resource.get("pendingReplacement"):
            continue
        inputs = resource.get("inputs") or {}
        if resource["type"] == AWS_PROVIDER:
            account = _only_allowed_account(inputs) or account
            continue
        tags = inputs.get("tags")
        origin = tags.get(TAG_ORIGIN) if isinstance(tags, dict) else None
        profile = profile or (tags.get(TAG_PROFILE) if isinstance(tags, dict) else None)
        index[key_of_urn(resource["urn"])] = Recorded(
            id=resource["id"],
            origin=Origin(origin) if origin in set(Origin) else None,
            retained=bool(resource.get("retainOnDelete")),
            protected=bool(resource.get("protect")),
            replacement_trigger=str(resource.get("replacementTrigger") or ""),
            inputs=inputs,
        )
    return RecordedState(
        resources=index,
        account=account,
        profile=profile,
        aws_profiles=_aws_profiles(export),
        pending=_pending(export),
        access=tuple(stored_access(export)),
    )


def _pending(export: Mapping[str, Any]) -> tuple[Pending, ...]:
    return tuple(
        Pending(
            urn=operation["resource"]["urn"],
            operation=str(operation["type"]),
            custom=bool(operation["resource"].get("custom")),
            inputs=operation["resource"].get("inputs") or {},
        )
        for operation in pending_operations(export)
    )


def _aws_profiles(export: Mapping[str, Any]) -> frozenset[str]:
    try:
        return frozenset(found.profile for found in stored_identities(export) if found.profile)
    except EncryptedIdentityError:
        return frozenset()  # `mlcc-infra identity` reads those too


def _only_allowed_account(provider_inputs: Mapping[str, Any]) -> str | None:
    # Nested provider configuration is stored as JSON text.
    allowed = provider_inputs.get("allowedAccountIds")
    accounts = json.loads(allowed) if isinstance(allowed, str) else allowed
    return str(accounts[0]) if isinstance(accounts, list) and len(accounts) == 1 else None


def read_recorded_state(stack: str, cwd: str | None = None) -> RecordedState:
    """Export the stack's state and index it. Raises `UserError` as `export_state`."""
    return index_export(export_state(stack, cwd))
