"""Field reports, group I: rows that our own command answers."""

from __future__ import annotations

import pytest

from mlcc_infra.cli import destroy
from mlcc_infra.cli.exit_codes import ExitCode
from mlcc_infra.cli.main import run


@pytest.mark.parametrize(
    "options",
    [
        ["--exclude", "urn", "--exclude-protected"],
        ["--exclude-protected"],
        ["--target", "urn", "--exclude", "x"],
    ],
)
def test_i8_options_that_leave_things_out_are_not_taken_and_so_never_combined(
    options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> int:
        raise AssertionError("nothing is destroyed by a call that is wrong")

    monkeypatch.setattr(destroy, "run_to_end", never)
    assert run(["destroy", "mlcc-demo", *options]) == ExitCode.USAGE
