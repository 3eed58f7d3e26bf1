"""One parallel read of the account: what exists of everything the targets will register."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from botocore.exceptions import BotoCoreError, ClientError

from mlcc_infra.account.cluster_client import ClusterRefusedError, ClusterUnreachableError
from mlcc_infra.account.decisions import Fact, Presence, ResourceKey, Wanted
from mlcc_infra.account.lookups import LOOKUPS, Lookup
from mlcc_infra.account.lookups.cloudformation import describe_stack, stack_resource_ids
from mlcc_infra.account.reader import AmbiguousError, Found, Reader, error_words
from mlcc_infra.naming import predecessor_stacks
from mlcc_infra.tagging import STACK_ID_TAG, STACK_NAME_TAG, OwnerKind, owner_of

WORKERS = 16
# What a look-up may learn instead of an answer: AWS or a cluster does not tell, or several answer to it.
_UNKNOWN = (ClientError, BotoCoreError, AmbiguousError, ClusterUnreachableError, ClusterRefusedError)
# CloudFormation marks what it makes with reserved tags (CloudFormation user guide, "Resource tags").


def take_inventory(reader: Reader, wanted: Sequence[Wanted]) -> dict[ResourceKey, Fact]:
    """Look everything up, in parallel; never raises for what AWS answers.

    A type without a lookup is a mistake in this library and raises `KeyError`.
    """
    lookups = [LOOKUPS[item.key[0]] for item in wanted]
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="inventory") as pool:
        facts = pool.map(lambda pair: _look_up(reader, *pair), zip(lookups, wanted, strict=True))
        return {item.key: fact for item, fact in zip(wanted, facts, strict=True)}


def _look_up(reader: Reader, lookup: Lookup, item: Wanted) -> Fact:
    try:
        return _fact(reader, item, lookup(reader, item))
    except _UNKNOWN as error:
        return Fact(presence=Presence.UNKNOWN, reason=error_words(error))


def _fact(reader: Reader, item: Wanted, found: Found | None) -> Fact:
    if found is None:
        return Fact(presence=Presence.ABSENT)
    owner = owner_of(found.tags, profile=reader.profile, region=reader.session.region)
    return Fact(
        presence=Presence.PRESENT,
        import_id=found.import_id,
        resource_id=found.resource_id,
        owner=owner,
        stack=None if owner.kind is OwnerKind.OURS else _live_stack(reader, item, found),
        tags=found.tags,
        under_way=found.under_way,
    )


def _live_stack(reader: Reader, item: Wanted, found: Found) -> str | None:
    """The CloudFormation stack that owns the thing, while that stack exists.

    By CloudFormation's own tags, which outlive a stack that retained the thing, and for a predecessor's
    stacks by what they list, because not every type gets those tags.
    """
    name = found.tags.get(STACK_NAME_TAG)
    if name is not None and describe_stack(reader, found.tags.get(STACK_ID_TAG, name)) is not None:
        return name
    ids = {found.import_id, found.resource_id, item.physical, item.belongs_to} - {"", None}
    for stack in predecessor_stacks(reader.profile):
        if not ids.isdisjoint(stack_resource_ids(reader, stack)):
            return stack
    return None
