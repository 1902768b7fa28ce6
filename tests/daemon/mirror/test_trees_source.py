"""How the daemon lets trees be mirrored: which are asked for, when that ends, and what it says."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.schema import MirrorSettings
from middlewatch.daemon.mirror.trees import (
    MOST_TREES,
    PAUSE_S,
    TREE_COPIER_ARGV,
    RunFolders,
    TreesSource,
    words_about,
)
from middlewatch.daemon.system.errors import ConfigError
from middlewatch.daemon.system.worker import JsonWorker

NOW = 1_800_000_000.0
PATIENCE_S = 120.0


class Box:
    """Some runs, and the source that is shown them."""

    def __init__(self, home: Path, copier: JsonWorker | None = None, **settings: Any) -> None:
        self.now = NOW
        self.runs: dict[str, RunFolders] = {}
        self.told: dict[str, list[dict[str, Any]]] = {}
        self.copier = copier or JsonWorker(TREE_COPIER_ARGV, 60.0)
        settings = {"to": str(home / "far"), "also": ("logs/",), **settings}
        (home / "state").mkdir()
        self.source = TreesSource(
            MirrorSettings(**settings),
            lambda: self.runs.values(),
            self.told.__setitem__,
            str(home / "state"),
            self.copier,
        )

    def run(self, cwd: Path, run: str = "gpt-1a2b", ended_at: float | None = None) -> Path:
        self.runs[run] = RunFolders(run, run.rpartition("-")[0], str(cwd), (), ended_at, None)
        (cwd / "logs").mkdir(parents=True, exist_ok=True)
        return cwd / "logs"

    def until(self, reached: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not reached():
            assert time.monotonic() < deadline, f"not reached: {what}; {self.told}"
            self.now += 2
            list(self.source.read(self.now))
            fds = list(self.source.fds())
            if fds and select.select(fds, [], [], 0.2)[0]:
                list(self.source.ready(fds[0], self.now))


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    box = Box(tmp_path)
    yield box
    box.source.close()


def test_a_run_that_ended_is_copied_whole_and_then_left(box: Box, tmp_path: Path) -> None:
    logs = box.run(tmp_path / "run")
    (logs / "a.txt").write_text("a")
    box.until(lambda: (tmp_path / "far/gpt/logs/a.txt").exists(), "it is copied")
    (logs / "late.txt").write_text("the last words")
    box.run(tmp_path / "run", ended_at=box.now)
    box.until(lambda: not box.source._trees_due(box.now), "nothing is left to do")
    assert (tmp_path / "far/gpt/logs/late.txt").read_text() == "the last words"
    assert box.told["gpt-1a2b"][0]["state"] == "ok"
    assert box.source.impaired == ""


def test_what_ended_long_ago_and_other_runs_are_not_asked_for(tmp_path: Path) -> None:
    box = Box(tmp_path, runs=("gpt",))
    box.run(tmp_path / "a", ended_at=NOW - 7200)
    box.run(tmp_path / "b", run="bert-0000")
    box.runs["gpt-2b3c"] = RunFolders("gpt-2b3c", "gpt", "", (), None, None)
    assert box.source._trees_due(NOW) == []
    box.run(tmp_path / "c", run="gpt-3c4d")
    box.run(tmp_path / "c", run="gpt-4d5e")
    found = box.source._trees_due(NOW)
    assert [(t["source"], t["place"]) for t in found] == [(f"{tmp_path}/c/logs", "gpt/logs")]
    box.source.close()


def test_more_folders_than_a_question_holds(tmp_path: Path) -> None:
    box = Box(tmp_path, JsonWorker((sys.executable, "-c", ""), 60.0, walls=""))
    for number in range(MOST_TREES + 1):
        box.run(tmp_path / f"{number}", run=f"gpt{number}-0000")
    list(box.source.read(box.now))
    assert "only 100 folders" in box.source.impaired
    box.source.close()


def test_a_place_that_fails_is_told(box: Box, tmp_path: Path) -> None:
    (tmp_path / "far").write_text("no folder")
    logs = box.run(tmp_path / "run")
    (logs / "a.txt").write_text("a")
    box.until(lambda: box.source.impaired, "it fails")
    assert "gpt/logs" in box.source.impaired
    assert box.told["gpt-1a2b"][0]["behind_files"] == 1


def test_a_copier_that_ends_is_told_and_asked_later(tmp_path: Path) -> None:
    program = "import sys; sys.stdin.readline(); print('no module', file=sys.stderr); sys.exit(1)"
    box = Box(tmp_path, JsonWorker((sys.executable, "-c", program), 60.0, walls=""))
    box.run(tmp_path / "run")
    box.until(lambda: box.source.impaired, "it ends")
    assert "no module" in box.source.impaired
    starts = box.copier.starts
    list(box.source.read(box.now + PAUSE_S / 2))
    assert box.copier.starts == starts
    box.source.close()


def test_what_is_behind_is_said_in_words() -> None:
    row = {"path": "/run/logs", "to": "/far", "behind_files": 3, "behind_bytes": 2048}
    row |= {"behind_s": 90.0, "why": "nfs does not tell of changes", "watching": "polling"}
    late, polled = words_about([row])
    assert "3 files of /run/logs" in late
    assert "nfs does not tell of changes" in polled
    assert words_about([row | {"behind_s": 2.0, "why": ""}]) == []


@pytest.mark.parametrize("folder", ["/abs", "../up", "a/../..", ".", ""])
def test_folders_outside_the_run_are_refused(folder: str) -> None:
    with pytest.raises(ConfigError, match="working directory"):
        parse(f'[mirror]\nto = "/far"\nalso = ["{folder}"]\n', "config.toml")


def test_a_destination_is_needed() -> None:
    with pytest.raises(ConfigError, match="destination"):
        parse('[mirror]\nalso = ["logs/"]\n', "config.toml")
