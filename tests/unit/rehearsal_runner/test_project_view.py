"""The engine's files are written in a view of the project; the checkout is only read."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from mlcc_rehearsal.runner.project_view import (
    ProjectView,
    find_checkout,
    find_project,
    stack_files,
    stack_of,
)

SALT = "encryptionsalt: v1:made-in-the-rehearsal"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    (root / "stacks").mkdir(parents=True)
    (root / "library").mkdir()
    (root / "Pulumi.yaml").write_text(
        yaml.safe_dump(
            {
                "name": "mlcc",
                "runtime": {"name": "python", "options": {"virtualenv": ".venv"}},
                "stackConfigDir": "stacks",
            }
        )
    )
    (root / "__main__.py").write_text("import library\n")
    (root / "stacks" / "Pulumi.one.yaml").write_text("config:\n  aws:region: us-west-2\n")
    (root / "stacks" / "schema.json").write_text("{}")
    return root


@pytest.fixture
def view(project: Path, tmp_path: Path) -> ProjectView:
    return ProjectView.of(project, tmp_path / "run" / "projects")


def stack_file(view: ProjectView, stack: str = "one") -> Path:
    return view.folder / "stacks" / f"Pulumi.{stack}.yaml"


def test_programs_run_in_the_checkout_with_its_virtual_environment(view: ProjectView, project: Path) -> None:
    copied = yaml.safe_load((view.sync() / "Pulumi.yaml").read_text())
    assert copied["main"] == str(project)
    assert copied["runtime"]["options"]["virtualenv"] == str(project / ".venv")
    assert copied["stackConfigDir"] == "stacks"


def test_a_program_in_a_subfolder_stays_there(view: ProjectView, project: Path) -> None:
    (project / "library" / "__main__.py").touch()
    (project / "Pulumi.yaml").write_text("name: mlcc\nruntime: python\nmain: library\n")
    copied = yaml.safe_load((view.sync() / "Pulumi.yaml").read_text())
    assert copied["main"] == str(project / "library")


def test_stack_files_are_copies_and_everything_else_is_a_link(view: ProjectView, project: Path) -> None:
    folder = view.sync()
    assert not stack_file(view).is_symlink()
    assert not (folder / "Pulumi.yaml").is_symlink()
    assert (folder / "library").readlink() == project / "library"
    assert (folder / "stacks" / "schema.json").readlink() == project / "stacks" / "schema.json"


def test_what_the_engine_writes_into_a_stack_file_stays_out_of_the_checkout(
    view: ProjectView, project: Path
) -> None:
    before = (project / "stacks" / "Pulumi.one.yaml").read_text()
    view.sync()
    stack_file(view).write_text(f"{SALT}\n{before}")
    view.sync()
    assert SALT in stack_file(view).read_text(), "the next command sees what the last one wrote"
    assert (project / "stacks" / "Pulumi.one.yaml").read_text() == before


def test_an_edit_in_the_checkout_arrives_and_the_salt_stays(view: ProjectView, project: Path) -> None:
    view.sync()
    stack_file(view).write_text(f"{SALT}\nconfig:\n  mlcc:changed: by a command\n")
    (project / "stacks" / "Pulumi.one.yaml").write_text("config:\n  aws:region: eu-west-1\n")
    view.sync()
    assert yaml.safe_load(stack_file(view).read_text()) == {
        "config": {"aws:region": "eu-west-1"},
        "encryptionsalt": "v1:made-in-the-rehearsal",
    }


def test_stack_files_that_come_and_go_in_the_checkout_do_so_in_the_view(
    view: ProjectView, project: Path
) -> None:
    view.sync()
    (project / "stacks" / "Pulumi.two.yaml").write_text("config: {}\n")
    (project / "stacks" / "Pulumi.one.yaml").unlink()
    view.sync()
    assert stack_file(view, "two").exists()
    assert not stack_file(view).exists()


def test_a_stack_file_removed_by_the_engine_does_not_come_back(view: ProjectView) -> None:
    view.sync()
    stack_file(view).unlink()
    view.sync()
    assert not stack_file(view).exists()


def test_new_and_removed_files_of_the_checkout_are_followed(view: ProjectView, project: Path) -> None:
    view.sync()
    (project / "new.txt").touch()
    (project / "__main__.py").unlink()
    folder = view.sync()
    assert (folder / "new.txt").exists()
    assert not (folder / "__main__.py").is_symlink()


def test_stack_files_beside_the_project_file_are_copied_too(tmp_path: Path) -> None:
    project = tmp_path / "plain"
    project.mkdir()
    (project / "Pulumi.yaml").write_text("name: plain\nruntime: yaml\n")
    (project / "Pulumi.dev.yaml").write_text("config: {}\n")
    view = ProjectView.of(project, tmp_path / "projects")
    folder = view.sync()
    assert not (folder / "Pulumi.dev.yaml").is_symlink()
    assert list(stack_files(project)) == ["dev"]


def test_an_unreadable_project_file_is_left_for_the_engine_to_judge(view: ProjectView, project: Path) -> None:
    (project / "Pulumi.yaml").write_text("name: [unclosed\n")
    assert (view.sync() / "Pulumi.yaml").read_text() == "name: [unclosed\n"


def test_version_control_data_is_no_part_of_the_view(view: ProjectView, project: Path) -> None:
    (project / ".git").mkdir()
    assert not (view.sync() / ".git").exists()


def test_commands_at_once_make_one_view(view: ProjectView) -> None:
    with ThreadPoolExecutor(8) as pool:
        folders = set(pool.map(lambda _: view.sync(), range(16)))
    assert folders == {view.folder}
    assert json.loads((view.folder / "Pulumi.yaml").read_text())["name"] == "mlcc"


def test_projects_of_one_name_have_views_of_their_own(tmp_path: Path) -> None:
    one, other = (
        ProjectView.of(tmp_path / "a" / "x", tmp_path),
        ProjectView.of(tmp_path / "b" / "x", tmp_path),
    )
    assert one.folder != other.folder


def test_the_project_is_searched_upwards(project: Path) -> None:
    assert find_project(project / "library") == project
    assert find_project(project) == project
    assert find_project(Path(os.sep)) is None


def test_the_checkout_is_the_repository_around_the_project(project: Path) -> None:
    assert find_checkout(project) == project
    (project.parent / ".git").mkdir()
    assert find_checkout(project) == project.parent


@pytest.mark.parametrize(
    ("name", "stack"),
    [
        ("Pulumi.mlcc-demo.yaml", "mlcc-demo"),
        ("Pulumi.a.b.yaml", "a.b"),
        ("Pulumi.dev.yml", "dev"),
        ("Pulumi.yaml", None),
        ("schema.json", None),
        ("Pulumi.dev.yaml.bak", None),
    ],
)
def test_a_stack_file_is_known_by_its_name(name: str, stack: str | None) -> None:
    assert stack_of(name) == stack
