"""Reading what `pulumi version` answers."""

import pytest

from mlcc_infra.engine.versions import CEILING, FLOOR, PINNED, parse, show


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v3.276.0\n", (3, 276, 0)),
        ("3.276.0", (3, 276, 0)),
        ("v3.10.2+dirty", (3, 10, 2)),
        ("", None),
        ("pulumi 3.276.0", None),
        ("v3.276", None),
        ("command not found", None),
    ],
)
def test_versions_are_read_and_what_is_none_is_not(text: str, version: tuple[int, int, int] | None) -> None:
    assert parse(text) == version


@pytest.mark.parametrize("text", ["v3.276.0-alpha.1", "v3.276.0-dev.0+abc", "v4.0.0-rc.1"])
def test_pre_release_is_older_than_its_release(text: str) -> None:
    found = parse(text)
    release = parse(text.split("-")[0])
    assert found is not None
    assert release is not None
    assert found < release


def test_what_the_installer_and_the_build_bring_is_new_enough() -> None:
    assert FLOOR <= PINNED < CEILING
    assert show(PINNED) == "3.276.0"
