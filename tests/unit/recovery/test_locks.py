"""Who holds a stack, and whether that process can still be at work."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mlcc_infra.recovery.locks import (
    Holder,
    Lock,
    judge,
    mend_files,
    parse_elapsed,
    parse_lock,
    process_age,
    read_locks,
)

# As engine 3.276.0 writes it.
TEXT = '{"pid":11483,"username":"me","hostname":"desk","timestamp":"2026-11-30T11:12:31.694751814Z"}'
NOW = datetime(2026, 11, 30, 11, 22, 31, tzinfo=UTC)


def test_a_lock_file_is_read_as_the_engine_writes_it() -> None:
    lock = parse_lock(TEXT)
    assert (lock.user, lock.host, lock.pid) == ("me", "desk", 11483)
    assert lock.age(NOW) == pytest.approx(599.3, abs=0.1)


@pytest.mark.parametrize("zone", ["+02:00", "-07:00"])
def test_a_local_time_is_read_with_its_zone(zone: str) -> None:
    lock = parse_lock(TEXT.replace("Z", zone))
    assert lock.since.utcoffset() != timedelta(0)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"pid": 1}', TEXT.replace("11483", '"x"')])
def test_what_is_no_lock_file_is_said_to_be_none(text: str) -> None:
    with pytest.raises(ValueError, match="not a lock file"):
        parse_lock(text)


@pytest.mark.parametrize(
    ("age", "holder"),
    [
        pytest.param(None, Holder.DEAD, id="no such process"),
        pytest.param(640.0, Holder.ALIVE, id="started before it took the lock"),
        pytest.param(596.0, Holder.ALIVE, id="started as it took the lock"),
        pytest.param(60.0, Holder.DEAD, id="a later process got the number"),
    ],
)
def test_a_holder_lives_when_its_process_does_and_is_as_old_as_the_lock(
    age: float | None, holder: Holder
) -> None:
    assert judge(parse_lock(TEXT), now=NOW, host="desk", process_age=lambda _pid: age) is holder


def test_on_another_host_nobody_knows_and_no_process_is_looked_for() -> None:
    def never(_pid: int) -> float | None:
        raise AssertionError("a process of this host says nothing about that one")

    assert judge(parse_lock(TEXT), now=NOW, host="laptop", process_age=never) is Holder.ELSEWHERE


def test_the_name_of_a_host_is_the_same_in_capitals() -> None:
    assert judge(parse_lock(TEXT), now=NOW, host="DESK", process_age=lambda _pid: None) is Holder.DEAD


@pytest.mark.parametrize(
    ("text", "seconds"), [("00:07", 7), ("01:02", 62), ("01:00:01", 3601), ("2-03:04:05", 183845)]
)
def test_the_time_a_process_has_run_is_read_as_posix_prints_it(text: str, seconds: float) -> None:
    assert parse_elapsed(text) == seconds


def test_a_process_of_this_host_has_an_age_and_one_that_has_ended_has_none() -> None:
    assert process_age(os.getpid()) is not None
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert process_age(child.pid) is None


def test_a_process_that_only_waits_to_be_reaped_has_none() -> None:
    child = subprocess.Popen([sys.executable, "-c", "print()"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.read()  # to its end
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process_age(child.pid) is None
    child.wait()


def folder_of_locks(root: Path) -> Path:
    folder = root / ".pulumi" / "locks" / "organization" / "mlcc" / "mlcc-demo"
    folder.mkdir(parents=True)
    return folder


def test_the_locks_of_a_file_backend_are_listed_oldest_first(tmp_path: Path) -> None:
    folder = folder_of_locks(tmp_path)
    (folder / "a.json").write_text(TEXT)
    (folder / "b.json").write_text(TEXT.replace("2026", "2025").replace("11483", "7"))
    (folder / "b.json.attrs").write_text("{}")
    found = read_locks(f"file://{tmp_path}?no_tmp_dir=true", "mlcc", "mlcc-demo")
    assert [lock.pid for lock in found or []] == [7, 11483]


def test_locks_of_another_stack_are_not_this_ones(tmp_path: Path) -> None:
    (folder_of_locks(tmp_path) / "a.json").write_text(TEXT)
    assert read_locks(f"file://{tmp_path}", "mlcc", "mlcc-eks") == []


def test_a_backend_in_the_home_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (folder_of_locks(tmp_path) / "a.json").write_text(TEXT)
    assert len(read_locks("file://~", "mlcc", "mlcc-demo") or []) == 1


@pytest.mark.parametrize("backend", ["https://api.pulumi.com", "gs://bucket", "azblob://container"])
def test_other_backends_show_no_locks(backend: str) -> None:
    assert read_locks(backend, "mlcc", "mlcc-demo") is None


class Bucket:
    """A bucket with objects, as boto3 reads it."""

    def __init__(self, objects: dict[str, str]) -> None:
        self.objects = objects

    def get_paginator(self, operation: str) -> Any:
        assert operation == "list_objects_v2"
        return self

    def paginate(self, Bucket: str, Prefix: str) -> list[dict[str, Any]]:  # noqa: N803 - AWS's names
        assert Bucket == "team-state"
        return [{"Contents": [{"Key": key} for key in self.objects if key.startswith(Prefix)]}]

    def get_object(self, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803 - AWS's names
        assert Bucket == "team-state"
        return {"Body": self}

    def read(self) -> bytes:
        return TEXT.encode()


def test_the_locks_of_a_bucket_are_read_below_its_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "pulumi/.pulumi/locks/organization/mlcc/mlcc-demo/a.json"
    asked: list[dict[str, str]] = []

    def client(query: dict[str, str]) -> Bucket:
        asked.append(query)
        return Bucket({key: TEXT, "elsewhere/a.json": TEXT})

    monkeypatch.setattr("mlcc_infra.recovery.locks._bucket_client", client)
    found = read_locks("s3://team-state/pulumi?region=us-east-2&profile=ops", "mlcc", "mlcc-demo")
    assert [lock.pid for lock in found or []] == [11483]
    assert asked == [{"region": "us-east-2", "profile": "ops"}]


def test_attributes_that_a_kill_left_half_written_are_removed_and_sound_ones_stay(tmp_path: Path) -> None:
    folder = tmp_path / ".pulumi" / "stacks" / "mlcc"
    folder.mkdir(parents=True)
    for name, text in (("mlcc-demo", ""), ("mlcc-eks", '{"md5":""}')):
        (folder / f"{name}.json").write_text("{}")
        (folder / f"{name}.json.attrs").write_text(text)
    backend = f"file://{tmp_path}"
    assert mend_files(backend, "mlcc", "mlcc-demo") == ["mlcc-demo.json.attrs"]
    assert mend_files(backend, "mlcc", "mlcc-demo") == []
    assert mend_files(backend, "mlcc", "mlcc-eks") == []
    assert (folder / "mlcc-demo.json").exists()
    assert (folder / "mlcc-eks.json.attrs").exists()


def test_a_lock_of_the_future_is_no_negative_age() -> None:
    lock = Lock(user="me", host="desk", pid=1, since=NOW + timedelta(hours=1))
    assert lock.age(NOW) == 0
