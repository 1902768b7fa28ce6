from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.checkpoints.index import build
from middlewatch.daemon.config.schema import MirrorSettings as Settings
from middlewatch.daemon.mirror.source import (
    COPIER_ARGV,
    FIRST_PAUSE_S,
    Copies,
    MirrorSource,
    RunCheckpoints,
    place_of,
)
from middlewatch.daemon.system.clock import iso
from middlewatch.daemon.system.worker import JsonWorker
from middlewatch.sentinels.kit import CheckpointSeen

NOW = 1_800_000_000.0


class Box:
    """One run with some checkpoints, and a mirror that is shown them."""

    def __init__(self, home: Path, copier: JsonWorker | None = None, **settings: Any) -> None:
        self.home = home
        self.index: dict[str, Any] = build("gpt-1a2b", (), NOW)
        self.copies = Copies()
        self.saving_at: float | None = None
        self.ended = False
        self.changed: list[str] = []
        self.copier = copier or JsonWorker(COPIER_ARGV, 30.0)
        self.mirror = MirrorSource(
            Settings(**{"to": str(home / "far"), **settings}),
            self.kept,
            self.changed.append,
            copier=self.copier,
        )

    def kept(self) -> list[RunCheckpoints]:
        folders = [str(self.home / "out")]
        one = RunCheckpoints(
            "gpt-1a2b", "gpt", folders, self.index, self.copies, self.ended, self.saving_at
        )
        return [one]

    def save(self, *steps: int, level: str = "finite", **more: Any) -> None:
        (self.home / "out").mkdir(exist_ok=True)
        seen = []
        for step in steps:
            path = self.home / "out" / f"step_{step}.pt"
            path.write_bytes(os.urandom(1000 + step))
            known = CheckpointSeen(
                at=NOW,
                path=str(path),
                saved_at=NOW + step,
                bytes=1000 + step,
                files=1,
                format="torch",
            )
            seen.append(replace(known, step=float(step), state="ok", level=level, **more))
        self.index = build("gpt-1a2b", seen, NOW)
        self.copies.into(self.index)

    def until(self, holds: Callable[[], bool], now: float = NOW) -> None:
        deadline = time.monotonic() + 120
        while not holds():
            assert time.monotonic() < deadline, self.states()
            self.mirror.read(now)
            fds = list(self.mirror.fds())
            if fds and select.select(fds, [], [], 0.1)[0]:
                self.mirror.ready(fds[0], now)

    def states(self) -> dict[str, str]:
        return {path.rpartition("/")[2]: t["state"] for (path, _), t in self.copies.states.items()}


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    box = Box(tmp_path)
    yield box
    box.mirror.close()


def test_everything_verified_is_copied_the_newest_first(box: Box) -> None:
    box.save(1, 2, 3)
    box.until(lambda: list(box.states().values()) == ["ok"] * 3)
    assert list(box.states()) == ["step_3.pt", "step_2.pt", "step_1.pt"]
    assert sorted(p.name for p in (box.home / "far" / "gpt").glob("*.pt")) == [
        *("step_1.pt", "step_2.pt", "step_3.pt")
    ]
    box.copies.into(box.index)
    told = box.index["checkpoints"][0]["mirrored"]
    assert told["to"] == str(box.home / "far")
    assert told["digest"].startswith("xxh3:")
    assert set(box.changed) == {"gpt-1a2b"}
    remembered = Copies.of(box.index)
    assert remembered.states == box.copies.states
    marked = remembered.marked(
        [
            CheckpointSeen(
                at=NOW, path=told_path(box), saved_at=NOW + 1, bytes=1, files=1, format="torch"
            )
        ]
    )
    assert marked[0].mirrored == str(box.home / "far")
    assert box.mirror.impaired == ""


def told_path(box: Box) -> str:
    return str(box.home / "out" / "step_1.pt")


def test_what_was_not_read_in_full_waits_for_it(box: Box) -> None:
    box.save(1, level="structure")
    for _ in range(3):
        box.mirror.read(NOW)
    assert box.states() == {}
    assert not list(box.mirror.fds())
    box.index["checkpoints"][0]["digest"] = "xxh3:" + "0" * 32
    box.until(lambda: box.states() == {"step_1.pt": "gone"})  # other bytes than were verified
    box.copies.states.clear()
    box.index["checkpoints"][0]["digest"] = None
    box.ended = True  # nobody will read it any more
    box.until(lambda: box.states() == {"step_1.pt": "ok"})


def test_a_save_goes_first(box: Box) -> None:
    box.save(1)
    box.saving_at = NOW - 1
    for _ in range(3):
        box.mirror.read(NOW)
    assert not list(box.mirror.fds())
    box.until(lambda: box.states() == {"step_1.pt": "ok"}, NOW + 10)


def test_a_place_that_fails_is_a_flaw_and_is_tried_again(box: Box) -> None:
    (box.home / "far").write_text("a file")
    box.save(1)
    box.until(lambda: box.states() == {"step_1.pt": "failed"})
    assert "cannot be used" in box.mirror.impaired
    box.mirror.read(NOW + FIRST_PAUSE_S - 1)
    assert not box.copier.waiting
    (box.home / "far").unlink()
    box.until(lambda: box.states() == {"step_1.pt": "ok"}, NOW + FIRST_PAUSE_S)
    assert box.mirror.impaired == ""


def test_a_copier_that_dies_is_told(tmp_path: Path) -> None:
    box = Box(tmp_path, JsonWorker(("sh", "-c", "echo broken >&2"), 30.0))
    box.save(1)
    box.until(lambda: bool(box.mirror.impaired))
    assert box.mirror.impaired == "the copier ended: broken"
    box.mirror.close()


def test_copies_are_not_copied_again(tmp_path: Path) -> None:
    box = Box(tmp_path, to=str(tmp_path / "out" / "copies"))
    box.save(1)
    box.mirror.read(NOW)
    assert not list(box.mirror.fds())
    assert "lies in the folder that is copied" in box.mirror.impaired
    box.mirror.close()


def test_only_some(tmp_path: Path) -> None:
    box = Box(tmp_path, best_only=True)
    box.save(1, 2, metrics={"train_loss": 1.0})
    box.index["best"] = str(tmp_path / "out" / "step_1.pt")
    box.until(lambda: box.states() == {"step_1.pt": "ok"})
    box.mirror.read(NOW)
    assert not box.copier.waiting
    box.mirror.close()
    other = Box(tmp_path, runs=("llama",))
    other.save(1)
    other.mirror.read(NOW)
    assert not list(other.mirror.fds())
    other.mirror.close()


def test_another_save_under_the_same_name_wants_a_copy_of_its_own(box: Box) -> None:
    box.save(1)
    box.until(lambda: box.states() == {"step_1.pt": "ok"})
    before = dict(box.copies.states)
    entry = box.index["checkpoints"][0]
    path = Path(entry["path"])
    path.write_bytes(b"newer")
    entry["saved_at"] = iso(NOW + 50)
    box.copies.into(box.index)
    assert entry["mirrored"] is None
    box.until(lambda: box.states() == {"step_1.pt": "ok"})
    assert box.copies.states.keys() != before.keys()
    assert (box.home / "far" / "gpt" / "step_1.pt").read_bytes() == b"newer"


@pytest.mark.parametrize(
    ("path", "folders", "name", "place"),
    [
        ("/d/out/hf/checkpoint-5", ["/d/out"], "gpt", "gpt/hf/checkpoint-5"),
        ("/d/out/step_5.pt", ["/d/out/"], "", "step_5.pt"),
        ("/d/b/step_5.pt", ["/d/a", "/d/b"], "gpt", "gpt/b/step_5.pt"),
        ("/d/out/deep/step_5.pt", ["/d/out", "/d/out/deep"], "", "deep/step_5.pt"),
        ("/d/out/checkpoint-5", ["/d/out/checkpoint-5"], "gpt", "gpt/checkpoint-5"),
    ],
)
def test_where_a_copy_goes(path: str, folders: list[str], name: str, place: str) -> None:
    assert place_of(path, folders, name) == place
