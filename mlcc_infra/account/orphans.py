"""What is left in the account of a stack: what has the profile's tags or names and is not in its state.

Every service that the targets touch is asked (`orphan_reads`). A thing is *kept* when it is on the list of
what destroy retains, *explained* when the state holds it or what it belongs to, and left over otherwise. A
service that does not answer is named: its silence never counts as "nothing there".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from mlcc_infra.account.reader import Reader, error_code
from mlcc_infra.naming import Names

WORKERS = 8


@dataclass(frozen=True, kw_only=True)
class Thing:
    """Something of the profile's in the account.

    `ids` are all the ids by which a state may hold it, `id` is what AWS's console and commands call it;
    `owners` what it came with and goes with: names of clusters and stacks. `delete` is the command that
    removes it.
    """

    kind: str
    id: str
    what: str
    delete: str
    ids: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()

    @property
    def known_as(self) -> frozenset[str]:
        """Every id of it."""
        return frozenset((self.id, *self.ids))


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A service that did not answer, so that nobody knows what is left there."""

    service: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class LeftOver:
    """What is left over, and what could not be looked at."""

    things: tuple[Thing, ...]
    unreadable: tuple[Unreadable, ...]


#: Reads what one service holds of a profile.
Read = Callable[[Reader, Names], Iterable[Thing]]


def alive(recorded: Iterable[str], names: Names) -> frozenset[str]:
    """Names of what the ids of a state stand for, those that a recorded CloudFormation stack made included.

    A stack is recorded by its ARN, ``…:stack/<name>/<uuid>``; it brings an EKS and a HyperPod cluster.
    """
    found = set(recorded)
    for recorded_id in tuple(found):
        head, _, rest = recorded_id.partition(":stack/")
        if head.startswith("arn:") and rest:
            found.add(rest.split("/")[0])
    if names.hyperpod_stack in found:
        found |= {names.hyperpod_eks_cluster, names.hyperpod_cluster}
    return frozenset(found)


def left_over(
    things: Iterable[Thing], *, recorded: Iterable[str], kept: Iterable[tuple[str, str]], names: Names
) -> tuple[Thing, ...]:
    """Those of `things` that nothing explains, sorted by kind and id.

    `recorded` are the ids in the stack's state, `kept` the (kind, name) of what is retained on purpose.
    """
    known = alive(recorded, names)
    retained = set(kept)
    unexplained = {
        (thing.kind, thing.id): thing
        for thing in things
        if (thing.kind, thing.id) not in retained
        and not thing.known_as & known
        and not known.intersection(thing.owners)
    }
    return tuple(unexplained[key] for key in sorted(unexplained))


def find_left_over(
    reader: Reader,
    names: Names,
    reads: Mapping[str, Read],
    *,
    recorded: Iterable[str],
    kept: Iterable[tuple[str, str]],
) -> LeftOver:
    """Ask every service of `reads` and decide. Never raises for what AWS answers."""
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="orphans") as pool:
        answers = list(pool.map(lambda item: _ask(reader, names, *item), reads.items()))
    things = [found for answer in answers if isinstance(answer, tuple) for found in answer]
    return LeftOver(
        things=left_over(things, recorded=recorded, kept=kept, names=names),
        unreadable=tuple(answer for answer in answers if isinstance(answer, Unreadable)),
    )


def _ask(reader: Reader, names: Names, service: str, read: Read) -> tuple[Thing, ...] | Unreadable:
    try:
        return tuple(read(reader, names))
    except ClientError as error:
        message = error.response.get("Error", {}).get("Message", "")
        return Unreadable(service=service, reason=f"{error.operation_name}: {error_code(error)}: {message}")
    except BotoCoreError as error:
        return Unreadable(service=service, reason=str(error))


def lines(found: Iterable[Thing]) -> Iterator[str]:
    """What is left over as a list shows it: what it is, and how one gets rid of it."""
    for thing in found:
        yield f"{thing.kind} {thing.id}"
        yield f"    {thing.what}"
        yield f"    {thing.delete}"
