"""Describes the environment whose interpreter runs this file, as one JSON object.

``executable``, ``version``, ``pip`` (its version or "") and ``packages``, each with ``name``, ``version``,
``required`` (another package needs it) and, where it ships a pulumi-plugin.json, that file as ``plugin``.
Standard library only: it runs in the program's environment, about which nothing is known.
"""

import json
import platform
import re
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

PLUGIN_FILE = "pulumi-plugin.json"


def normalised(name: str) -> str:
    """A package's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(distribution: Distribution) -> set[str]:
    """The packages it always needs; those of extras are left out."""
    needed = set[str]()
    for requirement in distribution.requires or []:
        name = re.match(r"[A-Za-z0-9_.-]+", requirement)
        if name and not re.search(r"extra\s*==", requirement):
            needed.add(normalised(name.group()))
    return needed


def plugin_file(distribution: Distribution, name: str, needed: set[str]) -> Path | None:
    """Where its pulumi-plugin.json is. Only packages on Pulumi's SDK are searched: file lists are long."""
    if "pulumi" not in needed and not name.startswith("pulumi-"):
        return None
    usual = Path(str(distribution.locate_file(f"{name.replace('-', '_')}/{PLUGIN_FILE}")))
    if usual.is_file():
        return usual
    for file in distribution.files or []:
        if file.name == PLUGIN_FILE:
            return Path(str(distribution.locate_file(file)))
    return None


def main() -> None:
    """Print the description."""
    packages: dict[str, dict[str, object]] = {}
    needed_by_others: set[str] = set()
    for distribution in distributions():
        name = normalised(distribution.metadata["Name"] or "")
        if not name or name in packages:  # the first on sys.path is the one that is imported
            continue
        needed = requirements(distribution)
        needed_by_others |= needed - {name}
        packages[name] = {"name": name, "version": distribution.version}
        file = plugin_file(distribution, name, needed)
        if file is not None:
            packages[name]["plugin"] = json.loads(file.read_text(encoding="utf-8"))
    for name, package in packages.items():
        package["required"] = name in needed_by_others
    pip = packages.get("pip", {})
    description = {
        "executable": sys.executable,
        "version": platform.python_version(),
        "pip": pip.get("version", ""),
        "packages": [packages[name] for name in sorted(packages)],
    }
    json.dump(description, sys.stdout)


if __name__ == "__main__":
    main()
