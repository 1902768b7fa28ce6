"""A run with thousands of saves: what one more costs does not grow with those that are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.history import BoxHistory
from middlewatch.daemon.judge.incidents import Incidents
from middlewatch.daemon.service.context import Context
from middlewatch.daemon.service.publishing import MANY_SAVES, RESTS, Publisher
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.daemon.system.loop import Loop
from middlewatch.daemon.system.pump import Pump
from middlewatch.daemon.system.store import Store
from middlewatch.sentinels.kit import CheckpointSeen

from ...fakes.clock import FakeClock


def saves(count: int, now: float) -> list[CheckpointSeen]:
    return [
        CheckpointSeen(now, f"/w/step_{n}.pt", now + n, 1, 1, "torch", step=float(n), state="ok")
        for n in range(count)
    ]


class Source:
    """The saves of a run, and how often somebody looked at all of them."""

    def __init__(self, known: list[CheckpointSeen]) -> None:
        self.known = known
        self.looks = 0

    def checkpoints(self) -> list[CheckpointSeen]:
        self.looks += 1
        return self.known

    def growing(self) -> None:
        return None

    def notes(self) -> list[str]:
        return []


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def watched(clock: FakeClock) -> WatchedRun:
    return WatchedRun(RunSpec(name="gpt", id="gpt-1"), BoxHistory(), clock)


def test_all_are_looked_at_once_for_many_that_are_seen_together(
    clock: FakeClock, watched: WatchedRun
) -> None:
    source: Any = Source(saves(300, clock.now()))
    watched.saves.source = source
    for number in range(0, 300, 3):
        watched.add_observations(source.known[number : number + 3])
    watched.view(clock.now())
    assert source.looks == 1
    assert len(watched.history.checkpoints) == 300
    assert watched.index_stale


@pytest.mark.parametrize(("count", "pauses"), [(3, False), (MANY_SAVES, True)])
def test_one_more_save_is_written_when_writing_has_paused(
    count: int, pauses: bool, tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = Loop(clock, lambda error: pytest.fail(repr(error)))
    state = StateDir(tmp_path / "state")
    state.take()
    store = Store(state.store, state.reserve, tmp_path)
    pump = Pump(loop, clock, pytest.fail)
    context = Context(state, parse("", ""), clock, store, Incidents(), pump)
    watched = WatchedRun(RunSpec(name="gpt", id="gpt-1"), context.box, clock)
    context.runs["gpt-1"] = watched
    publisher = Publisher(context, pytest.fail)
    flush = store.flush

    def slow() -> bool:
        clock.jump(1.0)  # so long does writing take
        return flush()

    monkeypatch.setattr(store, "flush", slow)
    source: Any = Source(saves(count, clock.now()))
    watched.saves.source = source
    watched.note_checkpoints()
    assert publisher.is_due(watched)
    publisher.publish(watched)
    assert not publisher.is_due(watched), "nothing has changed"
    source.known = saves(count + 1, clock.now())
    watched.note_checkpoints()
    assert publisher.is_due(watched) is not pauses
    clock.jump(RESTS + 0.1)
    assert publisher.is_due(watched)
    store.close()
    loop.close()
