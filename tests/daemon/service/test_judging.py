"""Many runs under watch: what is done about them is spread over turns, and pushes come first."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.engine import Engine
from middlewatch.daemon.judge.incidents import Change, Incidents
from middlewatch.daemon.service.alerting import Alerter
from middlewatch.daemon.service.attribution import Attribution
from middlewatch.daemon.service.context import Context
from middlewatch.daemon.service.judging import Judging
from middlewatch.daemon.service.publishing import PAGE_S, Publisher
from middlewatch.daemon.service.watched_run import LATE_RECORD_S, WatchedRun
from middlewatch.daemon.sources.searches import Searches
from middlewatch.daemon.system.inotify import Inotify
from middlewatch.daemon.system.loop import ROUND_S, Loop
from middlewatch.daemon.system.pump import Pump
from middlewatch.daemon.system.store import Store
from middlewatch.sentinels.kit import ProcessEnded, Step, View, discover

from ...fakes.clock import FakeClock

RUNS = 40
CONTRACT_S = 60.0


class Desk:
    """A daemon without sources, in which writing the files of a run takes a while."""

    def __init__(self, root: Path) -> None:
        self.clock = FakeClock()
        self.loop = Loop(self.clock, lambda error: pytest.fail(repr(error)))
        state = StateDir(root / "state")
        state.take()
        self.store = Store(state.store, state.reserve, root)
        config = parse('[alerts]\nurls = ["json://127.0.0.1:9/"]\nfinished = true\n', "f")
        pump = Pump(self.loop, self.clock, pytest.fail)
        self.context = Context(state, config, self.clock, self.store, Incidents(), pump)
        self.alerter = Alerter(self.context, self.loop, lambda line: None)
        self.publisher = Publisher(self.context, pytest.fail)
        self.engine = Engine(discover(), {}, self.context.incidents, pump.isolation)
        self.judging = Judging(
            self.context,
            self.loop,
            self.engine,
            self.alerter,
            self.publisher,
            Attribution(self.context),
            lambda change: None,
            None,
            30.0,
        )
        self.done: list[str] = []
        """What was done, in order: ``push RUN``, ``files RUN``."""

    def watch(self, number: int) -> WatchedRun:
        spec = RunSpec(name=f"run{number}", id=f"run{number}-1a", pid=2**22 + number, start_ticks=7)
        watched = WatchedRun(spec, self.context.box, self.clock)
        self.context.runs[spec.id] = watched
        return watched

    def follow(self, watched: WatchedRun, inotify: Inotify) -> None:
        """Read its logs, and judge it when a step is seen."""
        watched.saves.searches = Searches(most=0)  # nobody looks where it saves
        run = watched.spec.id
        watched.start_sources(self.context.pump, inotify, lambda: self.judging.soon(run), {})

    def turns(self, count: int) -> None:
        for _ in range(count):
            self.loop.turn(0.0)

    def close(self) -> None:
        self.alerter.outbox.close()
        self.store.close()
        self.loop.close()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


def test_the_pushes_of_all_that_end_together_come_before_the_files_of_any(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    push, publish = desk.alerter.outbox.push, desk.publisher.publish

    def pushed(message: object, *more: float) -> object:
        desk.done.append(f"push {message.key.split()[0]}")  # type: ignore[attr-defined]
        return push(message, *more)  # type: ignore[arg-type]

    def published(watched: WatchedRun, *, anew: bool = False) -> None:
        publish(watched, anew=anew)
        desk.done.append(f"files {watched.spec.id}")
        desk.clock.jump(ROUND_S / 3)  # so long does writing take

    monkeypatch.setattr(desk.alerter.outbox, "push", pushed)
    monkeypatch.setattr(desk.publisher, "publish", published)
    runs = [desk.watch(number) for number in range(RUNS)]
    now = desk.clock.now()
    for watched in runs:
        watched.add_observations([Step(now, 100.0, {"train_loss": 2.0})])
    desk.judging.tick()
    desk.turns(2 * RUNS)
    assert Counter(desk.done) == Counter(f"files {run.spec.id}" for run in runs)
    desk.done.clear()
    for watched in runs:
        watched.add_observations([ProcessEnded(now, watched.spec.pid or 0, True, exit_code=0)])
    desk.clock.jump(LATE_RECORD_S + 1.0)
    desk.judging.tick()
    desk.turns(1)
    assert sum(one.startswith("push") for one in desk.done) == RUNS
    desk.turns(2)
    assert desk.done.count(f"files {runs[-1].spec.id}") == 0, "clients are heard in between"
    desk.turns(RUNS)
    for watched in runs:
        assert not watched.alive
        first = desk.done.index(f"push {watched.spec.id}")
        assert first < RUNS + 5
        assert f"files {watched.spec.id}" in desk.done[first:]
        page = desk.context.state.status_page(watched.spec.id).read_text()
        assert page.startswith(f"# {watched.spec.id}: finished")


def test_a_run_that_logs_is_judged_once_a_second_and_not_twice(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what was just read of it and by the silence of everything else at the same time."""
    inotify = Inotify()
    logs = [tmp_path / f"{number}.log" for number in range(RUNS)]
    for number, log in enumerate(logs):
        log.write_text("")
        spec = RunSpec(name=f"run{number}", id=f"run{number}-1a", logs=(str(log),))
        watched = WatchedRun(spec, desk.context.box, desk.clock)
        desk.context.runs[spec.id] = watched
        desk.follow(watched, inotify)
    desk.loop.every(1.0, desk.judging.tick)
    desk.turns(5)
    judged: list[tuple[str, bool, bool]] = []
    judge = desk.engine.judge

    def noted(run: str, view: View, fresh: set[type], *, tick: bool, **more: Any) -> list[Change]:
        judged.append((run, tick, Step in fresh))
        return judge(run, view, fresh, tick=tick, **more)

    monkeypatch.setattr(desk.engine, "judge", noted)
    for step in range(1, 6):
        for log in logs:
            with log.open("a") as file:
                file.write(f"step {step}/100 loss 2.5 lr 3e-04\n")
        desk.clock.jump(1.0)
        desk.turns(5)
    assert len(judged) <= 5 * RUNS + 2
    assert all(tick for _, tick, _ in judged[2:])
    assert sum(seen for _, _, seen in judged) == 5 * RUNS
    inotify.close()


def test_runs_that_are_silent_are_judged_although_others_always_have_something(desk: Desk) -> None:
    loud, silent = desk.watch(0), [desk.watch(number) for number in range(1, RUNS)]
    judged: list[str] = []
    look_closer = WatchedRun.look_closer

    def again(self: WatchedRun, *more: Any) -> None:
        judged.append(self.spec.id)
        desk.clock.jump(ROUND_S)  # so slow is the box
        look_closer(self, *more)
        loud.add_observations([Step(desk.clock.now(), float(len(judged)), {"train_loss": 2.0})])
        desk.judging.soon(loud.spec.id)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WatchedRun, "look_closer", again)
        desk.judging.tick()
        desk.turns(4 * RUNS)
    assert {run.spec.id for run in silent} <= set(judged)
    assert judged.count(loud.spec.id) >= 2 * RUNS


def test_the_pages_of_many_runs_are_spread_evenly_over_the_minute(desk: Desk) -> None:
    runs = [desk.watch(number) for number in range(300)]
    for watched in runs:
        desk.publisher.publish(watched)
    written = {watched.spec.id: [0.0] for watched in runs}
    each_second = []
    for second in range(1, 4 * int(PAGE_S)):
        desk.clock.jump(1.0)
        old = [watched for watched in runs if desk.publisher.is_old(watched)]
        for watched in old:
            desk.publisher.reindex(watched)
            desk.publisher._beats[watched.spec.id] = desk.publisher._beat(watched.spec.id)
            written[watched.spec.id].append(float(second))
        each_second.append(len(old))
    assert max(each_second) <= 5 * len(runs) / PAGE_S
    for times in written.values():
        gaps = [b - a for a, b in zip(times, [*times[1:], 4 * PAGE_S], strict=True)]
        assert max(gaps) <= CONTRACT_S


def test_a_page_alone_is_one_sync_of_the_disk(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = desk.watch(0)
    desk.publisher.publish(watched)
    synced: list[int] = []
    fsync = os.fsync

    def counted(fd: int) -> None:
        synced.append(fd)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", counted)
    desk.publisher.publish(watched)
    assert len(synced) == 1


def test_all_is_stored_before_the_last_pages_and_these_are_left_where_the_disk_is_slow(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [desk.watch(number) for number in range(RUNS)]
    for watched in runs:
        desk.publisher.publish(watched)
    flushes: list[int] = []
    flush = desk.store.flush

    def slow() -> bool:
        flushes.append(len(desk.store._dirty))
        desk.clock.jump(1.0)
        return flush()

    monkeypatch.setattr(desk.store, "flush", slow)
    for watched in runs:
        watched.add_observations([Step(desk.clock.now(), 7.0, {"train_loss": 2.0})])
    for call in desk.publisher.last():
        call()
    assert flushes[0] == RUNS
    assert 1 < len(flushes) < RUNS
    docs = dict(desk.store.all("run"))
    again = [WatchedRun(run.spec, desk.context.box, desk.clock, docs[run.spec.id]) for run in runs]
    assert [run.history.steps[-1].number for run in again] == [7.0] * RUNS
