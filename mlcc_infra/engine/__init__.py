"""Getting a Pulumi CLI with a language host for Python, whatever the machine can reach.

Standard library only, so that it runs before anything is installed. The sources and their order are in
:mod:`.sources`; :mod:`.language_host` is for engines that were built from Go modules.
"""

from .model import Engine, EngineError, Source
from .sources import find_engine, install_engine

__all__ = ["Engine", "EngineError", "Source", "find_engine", "install_engine"]
