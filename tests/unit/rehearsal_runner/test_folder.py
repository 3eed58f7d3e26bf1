"""The private folder: temporary, or one the user keeps and nobody else's files are in."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlcc_infra.errors import UserError
from mlcc_rehearsal.runner.folder import open_folder


def test_a_temporary_folder_is_gone_at_the_end() -> None:
    folder = open_folder()
    assert folder.backend.is_dir()
    folder.close()
    assert not folder.path.exists()


def test_two_rehearsals_have_two_folders() -> None:
    one, other = open_folder(), open_folder()
    assert one.path != other.path
    one.close()
    other.close()


def test_a_kept_folder_stays(tmp_path: Path) -> None:
    folder = open_folder(tmp_path / "kept")
    (folder.logs / "api.jsonl").write_text("{}")
    folder.close()
    assert (tmp_path / "kept" / "logs" / "api.jsonl").read_text() == "{}"
    assert not folder.replaced


def test_keeping_in_the_same_folder_again_starts_with_a_fresh_account(tmp_path: Path) -> None:
    first = open_folder(tmp_path / "kept")
    (first.backend / "state.json").write_text("{}")
    first.close()
    second = open_folder(tmp_path / "kept")
    assert second.replaced
    assert list(second.backend.iterdir()) == []
    second.close()


def test_a_folder_with_somebodys_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match=r"thesis\.tex"):
        open_folder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(UserError, match="no folder"):
        open_folder(file)


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    assert not folder.replaced
    folder.close()


def test_two_rehearsals_cannot_keep_one_folder_at_once(tmp_path: Path) -> None:
    first = open_folder(tmp_path / "kept")
    (first.backend / "state.json").write_text("{}")
    with pytest.raises(UserError, match="another rehearsal"):
        open_folder(tmp_path / "kept")
    assert (first.backend / "state.json").exists()
    first.close()
