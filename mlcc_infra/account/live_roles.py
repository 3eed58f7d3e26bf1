"""The profile's roles as they are: path, trust and boundary, for what adoption leaves alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor

from botocore.exceptions import BotoCoreError, ClientError

from mlcc_infra.account.lookups.iam import get_role
from mlcc_infra.account.reader import Reader
from mlcc_infra.policies import LiveRole
from mlcc_infra.tagging import Origin, owner_of, tag_list

WORKERS = 8


def read_live_roles(
    reader: Reader, names: Iterable[str], *, created: Collection[str] = ()
) -> dict[str, LiveRole]:
    """Those of the roles that exist, by name; read in parallel, and once for the inventory as well.

    `created` are names of roles that the state records as made here. A role that may not be read is left
    out: the inventory says that, and nothing is decided from its absence here.
    """
    listed = list(dict.fromkeys(names))
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="roles") as pool:
        found = pool.map(lambda name: _live_role(reader, name, name in created), listed)
        return {name: role for name, role in zip(listed, found, strict=True) if role is not None}


def _live_role(reader: Reader, name: str, created: bool) -> LiveRole | None:
    try:
        role = get_role(reader, name)
    except (ClientError, BotoCoreError):
        return None
    if role is None:
        return None
    owner = owner_of(tag_list(role.get("Tags", [])), profile=reader.profile, region=reader.session.region)
    return LiveRole(
        path=role["Path"],
        trust=role["AssumeRolePolicyDocument"],
        permissions_boundary=(role.get("PermissionsBoundary") or {}).get("PermissionsBoundaryArn"),
        adopted=not created and owner.origin is not Origin.CREATED,
    )
