"""Milestones are loaded once, by real torch in a child of the daemon."""

from __future__ import annotations

import contextlib
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.checkpoints.ranking import RankingRules
from middlewatch.daemon.checkpoints.rebuild import on_disk, verify_one
from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.incidents import Incidents
from middlewatch.daemon.service.context import Context
from middlewatch.daemon.service.milestones import MilestoneLoads
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.daemon.system.clock import SystemClock
from middlewatch.daemon.system.loop import Loop
from middlewatch.daemon.system.pump import Pump
from middlewatch.daemon.system.store import Store

LONGEST_S = 120.0


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    torch: Any = pytest.importorskip("torch")
    folder = tmp_path / "out"
    folder.mkdir()
    for name in ("step_100.pt", "step_200.pt", "model_final.pt"):
        torch.save({"model": {"w": torch.ones(300)}, "step": 200}, folder / name)
    return folder


@pytest.fixture
def context(tmp_path: Path, saved: Path) -> Iterator[Context]:
    """Of a daemon with one run, which has ended, and its three saves."""
    clock = SystemClock()
    with contextlib.closing(Loop(clock, lambda error: pytest.fail(repr(error)))) as loop:
        state = StateDir(tmp_path / "state")
        state.take()
        with contextlib.closing(Store(state.store, state.reserve, tmp_path)) as store:
            pump = Pump(loop, clock, pytest.fail)
            made = Context(state, parse("", ""), clock, store, Incidents(), pump)
            spec = RunSpec(name="gpt", id="gpt-1", command=(sys.executable, "train.py"), cwd="/")
            watched = made.runs["gpt-1"] = WatchedRun(spec, made.box, clock)
            now = clock.now()
            seen = [verify_one(one, now, "finite") for one in on_disk([str(saved)], now)]
            watched.history.checkpoints = seen
            watched.reindex(now, RankingRules())
            made.state.run("gpt-1").mkdir(parents=True)
            yield made


def levels(context: Context) -> dict[str, tuple[str, str]]:
    entries = context.runs["gpt-1"].index["checkpoints"]
    return {Path(e["path"]).name: (e["verified"]["state"], e["verified"]["level"]) for e in entries}


def go_on(loads: MilestoneLoads, said: list[str]) -> None:
    """Until there is no child that has to answer."""
    until = time.monotonic() + LONGEST_S
    loads.read(0.0)
    while loads._worker.waiting:
        assert time.monotonic() < until, said
        for fd in select.select(list(loads.fds()), [], [], 1.0)[0]:
            loads.ready(fd, 0.0)


def test_a_milestone_is_loaded_and_no_other(context: Context, saved: Path) -> None:
    said: list[str] = []
    with contextlib.closing(MilestoneLoads(context, said.append)) as loads:
        go_on(loads, said)
        assert (levels(context), said) == (
            {
                "model_final.pt": ("ok", "load"),
                "step_100.pt": ("ok", "finite"),
                "step_200.pt": ("ok", "finite"),
            },
            [],
        )
        go_on(loads, said)
        assert loads._worker.starts == 1, "it is loaded once"


def test_what_no_python_can_load_stays_as_it_is(context: Context, saved: Path) -> None:
    torch: Any = pytest.importorskip("torch")
    torch.save({"model": torch.nn.Linear(3, 3)}, saved / "model_final.pt")
    watched, now = context.runs["gpt-1"], context.clock.now()
    watched.history.checkpoints = [
        verify_one(one, now, "finite") for one in on_disk([str(saved)], now)
    ]
    watched.reindex(now, RankingRules())
    entry = next(e for e in watched.index["checkpoints"] if "final" in e["path"])
    assert entry["verified"]["state"] == "ok", "the level of structure does not refuse it"
    said: list[str] = []
    with contextlib.closing(MilestoneLoads(context, said.append)) as loads:
        go_on(loads, said)
    assert levels(context)["model_final.pt"][1] != "load"
    assert "model_final.pt is a milestone: load not tried" in said[0]
