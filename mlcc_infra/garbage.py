"""How often Python's cyclic garbage collector runs in processes of this project's own.

The providers' SDKs are thousands of classes that live as long as the process; by default the collector walks
them again and again while they are loaded, a sixth of the time that takes (bench/program_start.py).
"""

from __future__ import annotations

import gc

# Objects made until the young generation is looked at, and how many looks until the next generation is.
_THRESHOLDS = (100_000, 50, 50)


def collect_rarely() -> None:
    """For programs and servers that are processes of their own; a library leaves the collector alone."""
    gc.set_threshold(*_THRESHOLDS)
