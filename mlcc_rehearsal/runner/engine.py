"""The engine a rehearsal runs: whichever `mlcc_infra.engine` finds, outside any other rehearsal."""

from __future__ import annotations

from collections.abc import Mapping

from mlcc_infra.engine import Engine, EngineError, find_engine
from mlcc_infra.errors import UserError


def locate(ambient: Mapping[str, str], path: str) -> Engine:
    """The engine, looked for with the user's own environment but for `path`. UserError when there is none.

    `path` is PATH without the commands of rehearsals: the engine is never another rehearsal's view of one.
    """
    try:
        return find_engine(environ={**ambient, "PATH": path})
    except EngineError as error:
        raise UserError(str(error)) from None


__all__ = ["Engine", "locate"]
