"""Folders with more names than are listed at once: nothing is missed, and no scan takes long."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.checkpoints import finder
from middlewatch.daemon.checkpoints.finder import CheckpointFinder, CheckpointPath
from middlewatch.daemon.checkpoints.rebuild import on_disk
from middlewatch.daemon.sources import far_scan, far_worker
from middlewatch.daemon.sources.far_scan import FolderSearch

from .test_finder import LATER, touch

AT_ONCE = 50


class Counted:
    """How many names each scan has listed, and how many descriptors it has kept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names = 0
        some = finder._Rest.some

        def counted(rest: Any, count: int) -> list[os.DirEntry[str]]:
            found = some(rest, count)
            self.names += len(found)
            return found

        monkeypatch.setattr(finder._Rest, "some", counted)

    def since(self) -> int:
        names, self.names = self.names, 0
        return names


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[CheckpointFinder]:
    found = CheckpointFinder([str(tmp_path)], at_once=AT_ONCE)
    yield found
    found.close()


def noise(folder: Path, count: int, name: str = "sample") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"{name}-{number}.txt").touch()


def shown(places: dict[str, CheckpointPath]) -> set[str]:
    return {Path(path).name for path in places}


def settle(folder: Path) -> None:
    """As if nothing had changed here for long."""
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            os.utime(path, (1000, 1000))


def test_a_long_folder_is_gone_through_in_parts(
    tmp_path: Path, made: CheckpointFinder, counted: Counted
) -> None:
    noise(tmp_path, 10 * AT_ONCE)
    for step in range(20):
        touch(tmp_path / f"step-{step}.pt")
    settle(tmp_path)
    listed = []
    while made.first_pass:
        made.scan(LATER)
        listed.append(counted.since())
    assert set(listed[:-1]) == {AT_ONCE}
    assert sum(listed) == 10 * AT_ONCE + 20 + AT_ONCE, "once, and a part to know that it is long"
    assert shown(made.scan(LATER)) == {f"step-{step}.pt" for step in range(20)}
    assert counted.since() == 0, "nothing has changed"


def test_what_lies_beside_and_below_a_long_folder_is_found_at_once(
    tmp_path: Path, made: CheckpointFinder, counted: Counted
) -> None:
    """A data set in the folder of the run, and beside it the saves."""
    noise(tmp_path, 3 * AT_ONCE)
    noise(tmp_path / "data-a", 4 * AT_ONCE)
    noise(tmp_path / "data-b", 4 * AT_ONCE)
    touch(tmp_path / "checkpoints" / "step-1.pt")
    settle(tmp_path)
    seen_after = 0
    while "step-1.pt" not in shown(made.scan(LATER)):
        assert counted.since() <= 2 * AT_ONCE
        seen_after += 1
        assert seen_after < 12
    while made.first_pass:
        made.scan(LATER)
        assert counted.since() <= 2 * AT_ONCE
    touch(tmp_path / "checkpoints" / "step-2.pt")
    assert "step-2.pt" in shown(made.scan(LATER + 10))


def test_a_new_save_in_a_long_folder_and_one_that_is_gone(
    tmp_path: Path, made: CheckpointFinder, counted: Counted
) -> None:
    noise(tmp_path, 4 * AT_ONCE)
    touch(tmp_path / "step-1.pt")
    settle(tmp_path)
    while made.first_pass:
        made.scan(LATER)
    assert shown(made.scan(LATER)) == {"step-1.pt"}
    touch(tmp_path / "step-2.pt")
    (tmp_path / "step-1.pt").unlink()
    os.utime(tmp_path, (2000, 2000))
    scans = 0
    while (there := shown(made.scan(LATER))) != {"step-2.pt"}:
        assert there <= {"step-1.pt", "step-2.pt"}
        scans += 1
        assert scans < 12
    counted.since()
    made.scan(LATER)
    assert counted.since() == 0


def test_descriptors_are_given_back(tmp_path: Path) -> None:
    for name in "abcdefg":
        noise(tmp_path / name, 3 * AT_ONCE)
    settle(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    made = CheckpointFinder([str(tmp_path)], at_once=AT_ONCE)
    most = 0
    for _ in range(60):
        made.scan(LATER)
        most = max(most, len(os.listdir("/proc/self/fd")) - before)
    assert most == 1
    made.close()
    made.scan(LATER)
    (tmp_path / "a").rename(tmp_path.with_name("elsewhere"))
    made.scan(LATER)
    made.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_one_that_is_deleted_while_it_is_gone_through(
    tmp_path: Path, made: CheckpointFinder
) -> None:
    noise(tmp_path / "a", 3 * AT_ONCE)
    touch(tmp_path / "step-1.pt")
    made.scan(LATER)
    for path in (tmp_path / "a").iterdir():
        path.unlink()
    (tmp_path / "a").rmdir()
    for _ in range(5):
        assert shown(made.scan(LATER)) == {"step-1.pt"}
    assert not made.first_pass


def test_a_person_is_told(
    tmp_path: Path, made: CheckpointFinder, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise(tmp_path, 20 * AT_ONCE)
    noise(tmp_path / "b", 2 * AT_ONCE)
    settle(tmp_path)
    made.scan(LATER)
    assert made.notes() == [], "half a minute is no news"
    for _ in range(16):
        made.scan(LATER)
    (told,) = made.notes()
    assert told.startswith(f"{tmp_path} has 7")
    assert " names or more" in told
    assert told.endswith("until a new save there is seen")
    while made.first_pass:
        made.scan(LATER)
    (told,) = made.notes()
    assert told == (
        f"{tmp_path} has 1,001 names of files and folders, and 1 others have many: "
        "it takes up to 84 s until a new save there is seen"
    )
    monkeypatch.setattr(finder, "MOST_FOUND", 5)
    for step in range(6):
        touch(tmp_path / "saves" / f"step-{step}.pt")
    few = CheckpointFinder([str(tmp_path / "saves")])
    assert len(few.scan(LATER)) == 5
    assert "the others are not followed" in few.notes()[0]


def test_more_folders_than_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finder, "MOST_FOLDERS", 10)
    looked: list[str] = []
    stat = finder._mtime_ns

    def counted(path: str) -> int | None:
        looked.append(path)
        return stat(path)

    monkeypatch.setattr(finder, "_mtime_ns", counted)
    for number in range(30):
        touch(tmp_path / f"run{number}" / "step-1.pt")
    made = CheckpointFinder([str(tmp_path)])
    assert len(made.scan(LATER)) == len(looked) == 10
    assert "the others are not followed" in made.notes()[0]


def test_many_long_folders_have_their_turn(tmp_path: Path, counted: Counted) -> None:
    for name in "abcdefghijklmnop":
        noise(tmp_path / name, 3 * AT_ONCE)
        touch(tmp_path / name / "step-1.pt")
    settle(tmp_path)
    made = CheckpointFinder([str(tmp_path)], at_once=AT_ONCE)
    now, found = LATER, set[str]()
    while made.first_pass:
        now += 2.0
        found |= made.scan(now).keys()
        assert counted.since() <= 2 * AT_ONCE
    assert len(found) == 16
    made.close()


def test_what_changes_all_the_time_does_not_keep_others_waiting(
    tmp_path: Path, counted: Counted
) -> None:
    for name in "abcdefghij":
        noise(tmp_path / name, 3 * AT_ONCE)
        touch(tmp_path / name / "step-1.pt")
    made = CheckpointFinder([str(tmp_path)], at_once=AT_ONCE)
    now, found = 1e9, set[str]()
    for turn in range(200):
        now += 2.0
        for path in tmp_path.iterdir():
            os.utime(path, (now + ord(path.name), now + turn))  # more than the finder can follow
        found |= made.scan(now).keys()
        assert counted.since() <= 2 * AT_ONCE
    assert len(found) == 10
    made.close()


def test_a_command_lists_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finder, "MOST_NAMES", AT_ONCE)
    noise(tmp_path, 3 * AT_ONCE)
    for name in "bcdefghijklm":
        noise(tmp_path / name, 3 * AT_ONCE)
    for step in range(100):
        touch(tmp_path / "saves" / f"step-{step}.pt")
        (tmp_path / "saves" / f"step-{step}.pt").write_bytes(b"x")
        (tmp_path / f"step-{step}.pt").write_bytes(b"x")
    assert len(on_disk([str(tmp_path)], LATER)) == 200
    assert len(CheckpointFinder([str(tmp_path)]).scan_all()) == 200


@pytest.mark.parametrize("far", [False, True])
def test_what_is_found_late_was_there_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, far: bool
) -> None:
    """A save that the daemon finds after minutes in a long folder is not one of this watch."""
    monkeypatch.setattr(far_scan, "NAMES_AT_ONCE", AT_ONCE)
    monkeypatch.setattr(finder, "MOST_NAMES", AT_ONCE)
    noise(tmp_path, 18 * AT_ONCE)
    for step in range(30):
        touch(tmp_path / f"step-{step}.pt")
    if far:
        begin = {"folders": [str(tmp_path)], "learnt": []}
        question: dict[str, Any] = {"do": "scan", "now": LATER, "begin": begin}
        answers = []
        for _ in range(22):
            message = {"forget": [], "questions": {"1:scan": question}}
            answers.append(far_worker.answers_to(message)["1:scan"])
            question.pop("begin", None)
        assert [one["first"] for one in answers[:3]] == [True] * 3
        assert not answers[-1]["first"]
        assert "until a new save there is seen" in answers[-1]["notes"][0]
        assert sum(len(one["rows"]) for one in answers) == 30
        far_worker.answers_to({"forget": ["1:scan"], "questions": {}})
        return
    search = FolderSearch([str(tmp_path)])
    found: set[str] = set()
    for _ in range(22):
        found |= search.scan(LATER).keys()
    assert len(found) == 30
    assert all(map(search.was_first, found))
    touch(tmp_path / "step-99.pt")
    os.utime(tmp_path, (2000, 2000))
    while str(tmp_path / "step-99.pt") not in search.scan(LATER):
        pass
    assert not search.was_first(str(tmp_path / "step-99.pt"))
    search.close()
