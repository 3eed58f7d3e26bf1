"""Which Pulumi CLI is wanted, and reading versions."""

import re

Version = tuple[int, int, int]

#: The CLI that the project is developed and tested with; what the installer and the build bring.
PINNED: Version = (3, 276, 0)

#: The oldest CLI that is used when it is found on PATH. Three things set it:
#:
#: - 3.174.0: `import` followed by an update in one run (Pulumi's changelog, pull request 19339), which
#:   adoption rests on; before, an import with other inputs was an error.
#: - 3.114.0 and later: transforms on the children of remote components.
#: - A provider attached by PULUMI_DEBUG_PROVIDERS counts as installed. 3.259.0 still looks for the real one
#:   first and downloads it, hundreds of megabytes, behind a rehearsal's back (``HasPlugin`` in
#:   ``pkg/pluginstorage``); 3.276.0 does not. Versions between the two were not looked at.
FLOOR: Version = (3, 276, 0)

#: A new major version is not taken on trust.
CEILING: Version = (4, 0, 0)


def parse(text: str) -> Version | None:
    """The version that `pulumi version` printed, as `v3.276.0` or `3.277.0-alpha.1+dirty`; else None.

    A pre-release counts as the release before it: its last number is not reached yet.
    """
    match = re.match(r"\s*v?(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?(\+\S+)?\s*$", text)
    if match is None:
        return None
    major, minor, patch = (int(match.group(index)) for index in (1, 2, 3))
    if match.group(4):
        return (major, minor, patch - 1) if patch else (major, minor - 1, 10**6)
    return (major, minor, patch)


def show(version: Version) -> str:
    """`3.276.0`."""
    return ".".join(str(part) for part in version)
