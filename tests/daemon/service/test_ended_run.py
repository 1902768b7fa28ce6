"""A run that has ended gives its memory back, and everything that is asked about it is still answered."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

import pytest

from middlewatch.daemon.checkpoints.ranking import RankingRules
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.history import BoxHistory
from middlewatch.daemon.service.held_end import MOST_S
from middlewatch.daemon.service.watched_run import REST_S, WatchedRun
from middlewatch.daemon.system.inotify import Inotify
from middlewatch.daemon.system.loop import Loop
from middlewatch.daemon.system.pump import Pump
from middlewatch.sentinels.kit import (
    CheckpointSeen,
    LogEvent,
    MemorySample,
    ProcessEnded,
    ProcessesSeen,
    ProcessSample,
)

from ...fakes.clock import FakeClock

KEPT_BYTES = 100_000
"""Memory that an ended run may keep (our choice). 0.43 MB was measured before; most of what is left is
the curve and the times of 256 reports."""
RUNS = 8


def lived(folder: Path, clock: FakeClock, pump: Pump, inotify: Inotify) -> WatchedRun:
    """A run that has logged 2,000 steps, and was seen by every kind of source until it ended."""
    folder.mkdir()
    log = folder / "log"
    now = clock.now()
    log.write_text(
        "".join(f"step {n}/4000 loss {2 + 1 / n:.4f} lr 3e-04\n" for n in range(1, 2001))
    )
    spec = RunSpec(name="gpt", id="gpt-1a2b", pid=2**22 + 7, start_ticks=7, logs=(str(log),))
    watched = WatchedRun(spec, BoxHistory(), clock)
    watched.logs.start(pump, inotify)
    watched.logs.read_now()
    for at in range(120):
        ranks = tuple(ProcessSample(10 + n, 7, 1, "python", "R", at, n) for n in range(8))
        watched.add_observations([
            ProcessesSeen(now + at, ranks),
            MemorySample(now + at, "/job", 1 << 30, 1 << 20, 1 << 20, 0),
            LogEvent(now + at, "cuda_oom", "root", "critical", True, f"out of memory: {at}", str(log)),
        ])  # fmt: skip
    watched.history.checkpoints = [CheckpointSeen(now, "/w/a.pt", now, 1, 1, "torch", state="ok")]
    watched.add_observations([ProcessEnded(now, spec.pid or 0, main=True, exit_code=0)])
    watched.take_end()
    clock.jump(REST_S / 2)
    watched.update_state(watched.view(clock.now()), ())
    watched.reindex(clock.now(), RankingRules())
    watched.stop_sources(pump)
    pump.loop.turn(0.0)
    return watched


def parts() -> tuple[FakeClock, Pump, Inotify]:
    clock = FakeClock()
    bugs: list[str] = []
    return clock, Pump(Loop(clock, lambda error: None), clock, bugs.append), Inotify()


def test_what_is_asked_later_is_answered_as_before(tmp_path: Path) -> None:
    clock, pump, inotify = parts()
    watched = lived(tmp_path / "run", clock, pump, inotify)
    watched.rest(clock.now())
    assert not watched.resting  # a late exit record may still come
    clock.jump(REST_S)
    now = clock.now()
    before, stored = watched.status(now, []), watched.save()
    rules = RankingRules()
    watched.reindex(now, rules)
    index = watched.index
    watched.rest(now)
    assert watched.resting
    assert watched.status(now, []) == before
    watched.reindex(now, rules)
    assert watched.index == index
    assert watched.save()["tails"] == stored["tails"]
    assert watched.history.process_samples[-1].processes  # its ranks may outlive it
    again = WatchedRun(watched.spec, BoxHistory(), clock, watched.save())
    assert again.status(now, [])["now"] == before["now"]
    assert again.status(now, [])["curve"] == before["curve"]
    inotify.close()


def test_the_memory_is_given_back(tmp_path: Path) -> None:
    clock, pump, inotify = parts()
    lived(tmp_path / "warm", clock, pump, inotify)  # what is shared by all runs is there
    tracemalloc.start()
    try:
        empty = tracemalloc.get_traced_memory()[0]
        runs = [lived(tmp_path / str(n), clock, pump, inotify) for n in range(RUNS)]
        full = tracemalloc.get_traced_memory()[0] - empty
        clock.jump(REST_S)
        for watched in runs:
            watched.rest(clock.now())
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0] - empty
    finally:
        tracemalloc.stop()
        inotify.close()
    assert full > 3 * kept
    assert kept < RUNS * KEPT_BYTES


def dying(folder: Path, later: float = 0.5) -> tuple[WatchedRun, FakeClock]:
    """A run whose main process is seen to be gone before its last lines are read."""
    clock, pump, inotify = parts()
    log = folder / "log"
    log.write_text("step 1/9 loss 2.5\n")
    spec = RunSpec(name="gpt", id="gpt-1a2b", pid=2**22 + 7, start_ticks=7, logs=(str(log),))
    watched = WatchedRun(spec, BoxHistory(), clock)
    watched.logs.start(pump, inotify)
    watched.logs.read_now()
    with log.open("a") as grown:
        grown.write(
            "Traceback (most recent call last):\nOSError: [Errno 28] No space left on device\n"
        )
    # The wait is not counted from here: the look that was level, and the end, may have the same time.
    clock.jump(later)
    watched.add_observations([ProcessEnded(clock.now(), 2**22 + 7, main=True, exit_code=1)])
    return watched, clock


@pytest.mark.parametrize("later", [0.5, 0.0])
@pytest.mark.parametrize("set_back", [0.0, 60.0])
def test_an_end_is_not_judged_before_the_last_lines_are_read(
    tmp_path: Path, later: float, set_back: float
) -> None:
    """``later``: seconds after the last look; the clock is ``set_back`` before the end is judged."""
    watched, clock = dying(tmp_path, later)
    assert watched.gone_at == clock.now()
    clock.set_wall(clock.now() - set_back)
    assert watched.view(clock.now()).ending is None
    watched.take_end()
    view = watched.view(clock.now())
    assert view.ending is not None
    assert "disk_full" in {event.trouble for event in view.events}


def test_an_end_waits_for_a_far_log_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched, clock = dying(tmp_path)
    monkeypatch.setattr(watched.logs, "level", lambda: False)
    watched.add_observations([ProcessEnded(clock.now(), 2**22 + 7, main=True, exit_code=2)])
    for _ in range(2):
        watched.take_end()
        assert watched.view(clock.now()).ending is None
        clock.jump(MOST_S - 1)
    clock.jump(2.0)
    watched.fresh.clear()
    watched.take_end()
    ending = watched.view(clock.now()).ending
    assert ending is not None
    assert ending.exit_code == 2, "what was learnt of it last"
    assert ProcessEnded in watched.fresh
