"""A daemon that takes up hundreds of runs gives a sign of life meanwhile, and judges none before all are known."""

from __future__ import annotations

import contextlib
import gc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.config.schema import Config
from middlewatch.daemon.judge.history import BoxHistory
from middlewatch.daemon.service.app import App
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.daemon.system.loop import ROUND_S
from middlewatch.daemon.system.store import Store

from ...fakes.clock import FakeClock

RUNS = 40


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    clock = FakeClock()
    state = StateDir(tmp_path / "state")
    state.take()
    store = Store(state.store, state.reserve, tmp_path)
    for number in range(RUNS):
        log = tmp_path / f"{number}.log"
        log.write_text(f"step {number + 1}/100 loss 2.5\n")
        spec = RunSpec(name=f"run{number}", id=f"run{number}-1a", logs=(str(log),))
        watched = WatchedRun(spec, BoxHistory(), clock)
        store.put("run", spec.id, watched.save(), clock.now())
    store.close()
    take_up = App._take_up

    def slow(self: App, run: str, doc: dict[str, Any]) -> None:
        clock.jump(ROUND_S / 4)
        take_up(self, run, doc)

    monkeypatch.setattr(App, "_take_up", slow)
    monkeypatch.setattr(gc, "freeze", lambda: None)  # those of the tests go on
    monkeypatch.setattr(gc, "set_threshold", lambda *_: None)
    made = App(state, Config(), clock)
    yield made
    with contextlib.suppress(OSError):  # closed already
        made._close()


def test_a_sign_of_life_comes_while_runs_are_taken_up(app: App) -> None:
    ping = app._server._handlers["ping"]
    app.begin()
    known = []
    while len(app.context.runs) < RUNS:
        before = len(app.context.runs)
        app._loop.turn(0.0)
        assert ping({})["pid"]
        known.append(len(app.context.runs) - before)
    assert max(known) <= 5
    app._loop.turn(0.0)
    assert app._judging.ready


def test_a_question_about_runs_is_answered_when_all_are_known(app: App) -> None:
    app.begin()
    app._loop.turn(0.0)
    assert 0 < len(app.context.runs) < RUNS
    assert not app._judging.ready
    answer = b"".join(app._server._handlers["runs"]({}).page(None))
    assert len(json.loads(answer)["data"]) == RUNS
    assert app._judging.ready
    app._loop.turn(0.0)
    assert len(app.context.runs) == RUNS


def test_one_that_is_stopped_half_way_forgets_nothing(app: App, tmp_path: Path) -> None:
    app.begin()
    app._loop.turn(0.0)
    app._loop.stop()
    app._close()
    store = Store(app.context.state.store, app.context.state.reserve, tmp_path)
    assert len(list(store.all("run"))) == RUNS
    store.close()
