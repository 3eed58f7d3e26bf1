"""From what is installed in a program's environment to what the engine asks about it."""

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pulumi.runtime.proto import plugin_pb2

PRE_RELEASES = {"a": "alpha", "b": "beta", "rc": "rc"}


def required_packages(described: Mapping[str, Any]) -> Iterator[plugin_pb2.PackageDependency]:
    """The Pulumi packages of an environment (see :mod:`.describe`) that need a resource plugin.

    Only what ships a pulumi-plugin.json counts, and says itself whether there is a plugin. A package whose
    plugin's version cannot be told is left out, as in the official host: the engine then asks for whatever
    the program registers.
    """
    for package in described["packages"]:
        plugin = package.get("plugin")
        if not plugin or not plugin.get("resource"):
            continue
        version = plugin.get("version") or plugin_version(package["version"])
        if not version:
            continue
        yield plugin_pb2.PackageDependency(
            name=plugin.get("name") or package["name"].removeprefix("pulumi-"),
            kind="resource",
            version=version if version.startswith("v") else f"v{version}",
            server=plugin.get("server", ""),
            parameterization=_parameterization(plugin.get("parameterization")),
            extension=_parameterization(plugin.get("extensionParameterization")),
        )


def required_plugins(described: Mapping[str, Any]) -> Iterator[plugin_pb2.PluginDependency]:
    """The same in the older form, which knows no parameterization."""
    for package in required_packages(described):
        yield plugin_pb2.PluginDependency(
            name=package.name, kind=package.kind, version=package.version, server=package.server
        )


def _parameterization(found: Mapping[str, str] | None) -> plugin_pb2.PackageParameterization | None:
    if not found:
        return None
    return plugin_pb2.PackageParameterization(
        name=found.get("name", ""),
        version=found.get("version", ""),
        value=base64.b64decode(found.get("value", "")),
    )


def plugin_version(package_version: str) -> str:
    """The plugin's semantic version that belongs to a Python version, "" if that cannot be told.

    1.2 is 1.2.0, 1.2.3a4 is 1.2.3-alpha.4 and 1.2.3.post1 is 1.2.3+post1: the mapping of the official host.
    """
    match = re.fullmatch(
        r"v?(\d+(?:\.\d+)*)(?:(a|b|rc)(\d+))?(?:\.(post\d+))?(?:\.(dev\d+))?", package_version
    )
    if match is None:
        return ""
    release, kind, number, post, dev = match.groups()
    segments = release.split(".")
    version = ".".join(segments + ["0"] * (3 - len(segments)))
    if kind:
        version += f"-{PRE_RELEASES[kind]}.{number}"
    if post or dev:
        version += f"+{post or ''}{dev or ''}"
    return version
