"""What becomes of the runs that are found while the watch goes on."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.run_spec import Rank, RunSpec, run_id
from middlewatch.daemon.judge.incidents import Change, Incident, Incidents
from middlewatch.daemon.service.alerting import Alerter
from middlewatch.daemon.service.context import Context
from middlewatch.daemon.service.finding import LAST_LINES_S, Finding
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.daemon.system import procfs
from middlewatch.daemon.system.loop import Loop
from middlewatch.daemon.system.pump import Pump
from middlewatch.daemon.system.store import Store
from middlewatch.sentinels.kit import (
    ContainerSeen,
    LogGrowth,
    ProcessEnded,
    ProcessesSeen,
    ProcessSample,
    Severity,
    Step,
)
from middlewatch.sentinels.kit import Finding as Found

from ...fakes.clock import FakeClock

ALERTS = '[alerts]\nurls = ["json://127.0.0.1:9/"]\n'


class Desk:
    """A daemon without its sources: what is found, and what is pushed about it."""

    def __init__(self, root: Path) -> None:
        self.clock = FakeClock()
        self.said: list[str] = []
        self.saved: dict[str, Mapping[str, Any] | None] = {}
        self.loop = Loop(self.clock, lambda error: pytest.fail(repr(error)))
        state = StateDir(root)
        self.context = Context(
            state=state,
            config=parse(ALERTS, "f"),
            clock=self.clock,
            store=Store(state.store, state.reserve, root),
            incidents=Incidents(),
            pump=Pump(self.loop, self.clock, self.said.append),
        )
        self.alerter = Alerter(self.context, self.loop, self.said.append)
        self.finding = self.fresh()

    def fresh(self) -> Finding:
        return Finding(
            self.context, self.alerter, self.watch, lambda run: None, self.tell, self.said.append
        )

    def watch(self, spec: RunSpec, saved: Mapping[str, Any] | None) -> WatchedRun:
        spec = replace(spec, id=run_id(spec.name))
        watched = WatchedRun(spec, self.context.box, self.clock, saved)
        self.context.runs[spec.id] = watched
        self.saved[spec.id] = saved
        return watched

    def tell(self, watched: WatchedRun, change: Change) -> None:
        self.alerter.alert(watched, change)

    def found(self, **more: Any) -> WatchedRun | None:
        """One run is found; the run under watch that it becomes, if it does."""
        base = RunSpec(
            name="gpt",
            pid=400,
            start_ticks=4,
            command=("python", "main.py"),
            cwd="/w",
            started_at=self.clock.now(),
        )
        before = set(self.context.runs)
        self.finding.take([replace(base, **more).to_json()])
        fresh = [run for name, run in self.context.runs.items() if name not in before]
        return fresh[0] if fresh else None

    def new(self, **more: Any) -> WatchedRun:
        run = self.found(**more)
        assert run is not None
        return run

    def end(self, run: WatchedRun, code: int | None = 1) -> None:
        now = self.clock.now()
        run.add_observations([ProcessEnded(now, run.spec.pid or 0, True, code)])
        self.finding.look_at(run)

    def close_run(self, run: WatchedRun) -> None:
        run.ended_at = self.clock.now()
        run.state = "failed"
        self.finding.ended(run)
        self.alerter.alert_end(run)

    def crash(self, run: WatchedRun) -> Incident:
        finding = Found("python_exception", Severity.CRITICAL, "KeyError: 'x'", fatal=True)
        (change,) = self.context.incidents.update(
            run.spec.id, [("crash", finding)], {}, self.clock.now()
        )
        self.alerter.alert(run, change)
        return change.incident

    def report(
        self,
        run: WatchedRun,
        *losses: float,
        first: int = 1,
        values: Mapping[str, float] | None = None,
    ) -> None:
        now = self.clock.now()
        for number, loss in enumerate(losses, first):
            run.add_observations([Step(now, number, {"train_loss": loss, **(values or {})})])
        self.finding.look_at(run)

    def says(self, run: WatchedRun, *lines: str) -> None:
        run.logs.newest = list(lines)
        size = sum(map(len, lines)) + run.history.logs.get("l", LogGrowth(0, "l", 0, 0, 0)).bytes
        run.add_observations([LogGrowth(self.clock.now(), "l", size, 1, self.clock.now())])
        self.finding.look_at(run)

    @property
    def pushed(self) -> list[tuple[str, str]]:
        """(label, body) of all messages, oldest first."""
        docs = sorted(
            (d for _, d in self.context.store.all("message")), key=lambda d: d["created_at"]
        )
        return [(d["title"].split("]")[0].strip("["), d["body"]) for d in docs]

    @property
    def labels(self) -> list[str]:
        return [label for label, _ in self.pushed]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.finding.switch(False)
    made.alerter.outbox.close()
    made.context.store.close()
    made.loop.close()


def sample(pid: int, ticks: int, rank: int | None = None) -> ProcessSample:
    return ProcessSample(pid, ticks, 1, "python", "S", 0.0, rank)


# ------------------------------------------------------------------------------------ provisional


def test_what_shows_no_sign_of_training_wakes_nobody(desk: Desk) -> None:
    run = desk.new(provisional="it holds a GPU")
    desk.crash(run)
    desk.says(run, "INFO: serving on 8000", "epoch time 3 s", "GET /predict 200")
    desk.end(run)
    desk.close_run(run)
    desk.alerter.remind()
    assert desk.pushed == []
    assert run.state == "finished"
    assert run.reason.startswith("not a training: it holds a GPU")
    assert desk.context.incidents.open() == []


@pytest.mark.parametrize(
    "values", [{"lr": 0.1}, {"grad_norm": 1.0}, {}], ids=["lr", "grad", "losses"]
)
def test_numbers_show_that_it_trains_and_what_is_open_is_told_then(
    desk: Desk, values: dict[str, float]
) -> None:
    run = desk.new(provisional="it holds a GPU")
    desk.crash(run)
    desk.report(run, 3.0, 2.9, values=values)
    assert run.spec.provisional == ""
    assert desk.labels == ["CRITICAL"]
    desk.alerter.remind()
    assert desk.labels == ["CRITICAL"]


def test_one_loss_may_be_a_result(desk: Desk) -> None:
    run = desk.new(provisional="it holds a GPU")
    desk.report(run, 3.0)
    assert run.spec.provisional


def test_an_evaluation_may_print_the_loss_of_every_batch(desk: Desk) -> None:
    run = desk.new(provisional="it holds a GPU", command=("python", "evaluate.py", "--ckpt", "x"))
    desk.report(run, 3.0, 2.9, 2.8, 2.7)
    desk.says(run, "Epoch 3/10 was loaded")
    assert run.spec.provisional
    desk.report(run, 2.6, first=9, values={"lr": 0.1})
    assert not run.spec.provisional


@pytest.mark.parametrize(
    "line",
    [
        "***** Running training *****",
        "Starting training for 3 epochs",
        '  File "/w/main.py", line 40, in train_one_epoch',
        "    loss.backward()",
        "trainable params: 4,194,304 || all params: 6,742,609,920",
        "Epoch [2/30]",
    ],
)
def test_words_show_that_it_trains(desk: Desk, line: str) -> None:
    run = desk.new(provisional="it holds a GPU")
    desk.says(run, "loading", line)
    assert run.spec.provisional == ""


@pytest.mark.parametrize(
    "line",
    [
        "tokenizing training data: 10%",
        "evaluating 3/10 batches",
        "loaded train split",
        "training=False",
    ],
)
def test_words_that_others_use_as_well(desk: Desk, line: str) -> None:
    run = desk.new(provisional="it holds a GPU")
    desk.says(run, line)
    assert run.spec.provisional


# ---------------------------------------------------------------------------------------- attempts


def test_the_same_command_again_is_an_attempt_of_the_same_run(desk: Desk) -> None:
    first = desk.new(name="bert", logs=("/l",))
    desk.crash(first)
    desk.end(first)
    desk.clock.jump(4)
    second = desk.new(name="bert-2", pid=410, start_ticks=9, provisional="it holds a GPU")
    assert (second.spec.name, second.spec.attempt) == ("bert", 2)
    assert second.spec.resumed_from == first.spec.id
    assert second.spec.provisional == ""
    assert any(note.startswith("attempt 2: ") for note in second.spec.notes)
    assert any(second.spec.id in note for note in first.spec.notes)
    desk.close_run(first)
    label, body = desk.pushed[-1]
    assert label == "FAILED"
    assert f"attempt 2 of the same command goes on as {second.spec.id} (pid 410)" in body


def test_a_container_that_is_started_again_is_an_attempt_at_any_time(desk: Desk) -> None:
    """Its folder may be known by the pid only, and nothing else has started it."""
    first = desk.new(name="bert", cwd="/proc/400/root/w", container="ab" * 32)
    desk.end(first)
    desk.clock.jump(4 * 3600)
    again = desk.new(pid=410, start_ticks=9, cwd="/proc/410/root/w", container="ab" * 32)
    assert (again.spec.name, again.spec.attempt) == ("bert", 2)
    assert again.spec.resumed_from == first.spec.id
    desk.end(again)
    desk.clock.jump(4 * 3600)
    other = desk.new(pid=420, start_ticks=19, cwd="/proc/420/root/w", container="cd" * 32)
    assert other.spec.attempt == 1


def test_what_follows_in_its_container_is_told(desk: Desk) -> None:
    run = desk.new(container="ab" * 32)
    now = desk.clock.now()
    desk.end(run)
    assert desk.context.asides == {}
    run.add_observations([ContainerSeen(now, "gpt", "restarting", policy="on-failure:3")])
    desk.finding.look_at(run)
    assert desk.context.asides[run.spec.id] == (
        "Docker starts its container gpt again, by its restart policy on-failure:3."
    )


def test_the_same_command_of_another_user_is_no_attempt(desk: Desk) -> None:
    """Else that user could have it said that our run goes on, and its incidents resolved."""
    first = desk.new(uid=0, gid=0)
    desk.crash(first)
    desk.end(first)
    desk.clock.jump(4)
    second = desk.new(pid=410, start_ticks=9, uid=1234, gid=1234)
    assert (second.spec.attempt, second.spec.resumed_from) == (1, None)
    desk.end(second)
    desk.clock.jump(4)
    third = desk.new(pid=420, start_ticks=12, uid=0, gid=0)
    assert (third.spec.attempt, third.spec.resumed_from) == (2, first.spec.id)


def test_steps_of_the_next_attempt_end_the_conversation(desk: Desk) -> None:
    first = desk.new()
    desk.crash(first)
    desk.end(first)
    second = desk.new(pid=410, start_ticks=9)
    desk.close_run(first)
    desk.finding.look_at(second)
    assert "RESOLVED" not in desk.labels
    desk.report(second, 2.0, 1.9, first=120)
    assert desk.labels.count("RESOLVED") == 1
    titles = [doc["title"] for _, doc in desk.context.store.all("message")]
    assert any(f"attempt 2 ({second.spec.id}) trains again; step 121 now" in t for t in titles)
    desk.report(second, 1.8, first=122)
    assert desk.labels.count("RESOLVED") == 1


def test_epochs_of_the_next_attempt_do_as_well(desk: Desk) -> None:
    """A log that counts nothing else."""
    first = desk.new()
    desk.crash(first)
    desk.end(first)
    second = desk.new(pid=410, start_ticks=9)
    desk.close_run(first)
    for epoch in (9.0, 10.0):
        assert "RESOLVED" not in desk.labels
        second.add_observations([Step(desk.clock.now(), None, {"train_loss": 1.0}, epoch)])
        desk.finding.look_at(second)
    titles = [doc["title"] for _, doc in desk.context.store.all("message")]
    assert any("trains again; epoch 10 now" in t for t in titles)


@pytest.mark.parametrize("status", [1, 0])
def test_the_next_attempt_of_a_wrapper_knows_how_the_one_before_ended(
    desk: Desk, status: int
) -> None:
    with subprocess.Popen(["bash", "-c", "read line; :"], stdin=subprocess.PIPE) as wrapper:
        while not procfs.cmdline(wrapper.pid)[1:]:
            pass  # it has just begun to be this program
        parent = {"parent_pid": wrapper.pid, "parent_ticks": procfs.start_ticks(wrapper.pid)}
        first = desk.new(**parent)
        desk.end(first, status)
        second = desk.new(pid=410, start_ticks=9, **parent)
        first.exit = {"code": status, "signal": None}
        desk.close_run(first)
        desk.report(second, 2.0, 1.9, 1.8)
        assert second.history.facts.after_failure is (status == 1)


@pytest.mark.parametrize(
    ("command", "attempt"),
    [
        (("python", "main.py", "--resume", "out/last.pt"), 2),
        (("python", "main.py", "--seed", "2"), 1),
        (("python", "other.py"), 1),
    ],
)
def test_a_sweep_is_no_series_of_attempts(
    desk: Desk, command: tuple[str, ...], attempt: int
) -> None:
    first = desk.new(parent_pid=7, parent_ticks=1)
    desk.end(first)
    desk.clock.jump(9000)
    second = desk.new(pid=410, start_ticks=9, command=command, parent_pid=7, parent_ticks=1)
    assert second.spec.attempt == attempt


def test_the_same_command_on_another_day_is_a_new_run(desk: Desk) -> None:
    first = desk.new()
    desk.end(first)
    desk.clock.jump(86400)
    assert desk.new(pid=410, start_ticks=9).spec.attempt == 1


def test_two_of_the_same_command_at_once_are_two_runs(desk: Desk) -> None:
    first = desk.new(pid=os.getpid(), start_ticks=procfs.start_ticks(os.getpid()))
    second = desk.new(pid=410, start_ticks=9)
    assert (first.spec.name, second.spec.name) == ("gpt", "gpt-2")
    assert second.spec.resumed_from is None


def test_a_real_restart_is_seen_at_once(desk: Desk, tmp_path: Path) -> None:
    """The next attempt of a wrapper is in the push about the end of the one before."""
    script = tmp_path / "job.py"
    script.write_text("import time\nprint('up', flush=True)\ntime.sleep(120)\n")
    command = (sys.executable, str(script))
    first = desk.new(
        command=command,
        parent_pid=os.getpid(),
        parent_ticks=procfs.start_ticks(os.getpid()),
        cwd=str(tmp_path),
    )
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        desk.end(first)
        desk.crash(first)
    finally:
        process.kill()
        process.communicate()
    said = f"A new attempt of the same command has begun (pid {process.pid})."
    assert said in desk.pushed[-1][1]


@pytest.mark.parametrize("limited", [True, False])
def test_a_share_of_time_is_no_trouble_when_what_gave_it_goes_on(
    desk: Desk, tmp_path: Path, limited: bool
) -> None:
    run = desk.new(parent_pid=os.getpid(), parent_ticks=procfs.start_ticks(os.getpid()))
    desk.end(run, 124)
    details = {"limited": True, "requeued": True} if limited else {}
    ended = Found("sigterm_received", Severity.CRITICAL, "ended", fatal=True, details=details)
    (change,) = desk.context.incidents.update(run.spec.id, [("crash", ended)], {}, desk.clock.now())
    desk.alerter.alert(run, change)
    with subprocess.Popen(["sleep", "100"]) as after:  # the next one of the same shell
        time.sleep(LAST_LINES_S + 0.2)  # its age comes from the kernel
        desk.clock.jump(10)
        desk.finding.look_at(run)
        after.kill()
    assert desk.context.incidents.open(run.spec.id) == ([] if limited else [change.incident])
    assert desk.labels == ([] if limited else ["CRITICAL"])


def test_what_another_run_has_written_to_a_log_is_not_read_again(
    desk: Desk, tmp_path: Path
) -> None:
    log = tmp_path / "all.log"
    log.write_text("step 1 loss 3.0\nTraceback (most recent call last):\n")
    first = desk.new(logs=(str(log),))
    first.start_sources(desk.context.pump, _inotify(), lambda: None, {})
    with contextlib.suppress(IndexError):
        for pumped in desk.context.pump.all():
            pumped.read()
    desk.end(first)
    second = desk.new(pid=410, start_ticks=9, command=("python", "b.py"), logs=(str(log),))
    saved = desk.saved[second.spec.id]
    assert saved is not None
    state = saved["tails"][str(log)]
    assert state["offset"] == log.stat().st_size
    assert "tracebacks" not in state["reader"]
    first.stop_sources(desk.context.pump)


def test_the_last_lines_of_the_job_before_are_its_own(desk: Desk, tmp_path: Path) -> None:
    """The next job of a queue is found before the end of the first, and its end, were read."""
    log = tmp_path / "queue.log"
    log.write_text("step 1 loss 3.0\n")
    first = desk.new(logs=(str(log),))
    first.start_sources(desk.context.pump, _inotify(), lambda: None, {})
    for pumped in desk.context.pump.all():
        if pumped.source.name.startswith("log_tail"):
            pumped.read()
    with log.open("a") as file:
        file.write("step 2 loss 2.5\nstep 3 loss 2.1\n")
    second = desk.new(pid=410, start_ticks=9, command=("python", "b.py"), logs=(str(log),))
    saved = desk.saved[second.spec.id]
    assert saved is not None
    assert saved["tails"][str(log)]["offset"] == log.stat().st_size
    assert [step for _, step in first.history.step_times] == [1, 2, 3]
    first.stop_sources(desk.context.pump)


def _inotify() -> Any:
    from middlewatch.daemon.system.inotify import Inotify

    return Inotify()


# --------------------------------------------------------------------------------- what is watched


def test_what_is_watched_already_is_not_found_again(desk: Desk) -> None:
    run = desk.new(ranks=(Rank(401, 5, 0),))
    run.add_observations([ProcessesSeen(desk.clock.now(), (sample(402, 6),))])
    assert desk.found() is None
    assert desk.found(pid=401, start_ticks=5) is None
    assert desk.found(pid=402, start_ticks=6) is None
    assert desk.found(pid=402, start_ticks=7) is not None  # the number was used again


def test_a_log_that_is_watched_alone_needs_no_second_watch(desk: Desk) -> None:
    desk.watch(RunSpec(name="log", logs=("/l",)), None)
    assert desk.found(logs=("/l",)) is None
    assert desk.found(logs=("/l", "/m")) is not None


def test_a_run_that_is_being_started_is_left_to_its_command(desk: Desk) -> None:
    assert desk.found(exit_file="/x") is None
    desk.clock.jump(60)
    assert desk.found(exit_file="/x", started_at=desk.clock.now() - 60) is not None


def test_ranks_that_outlive_their_launcher_go_on_and_are_told(desk: Desk) -> None:
    run = desk.new(ranks=(Rank(401, 5, 0), Rank(402, 6, 1)), logs=("/l",))
    alive = (sample(401, 5, 0), sample(402, 6, 1), sample(403, 7))
    run.add_observations([ProcessesSeen(desk.clock.now(), alive)])
    desk.end(run, None)
    assert desk.found(pid=401, start_ticks=5, ranks=(Rank(401, 5, 0),)) is None  # not yet over
    desk.close_run(run)
    _, body = desk.pushed[-1]
    assert "Its launcher (pid 400) is gone, 2 of its ranks still run." in body
    assert desk.found(pid=403, start_ticks=7, ranks=(Rank(403, 7),)) is None  # a helper
    left = desk.new(pid=401, start_ticks=5, ranks=(Rank(401, 5, 0), Rank(402, 6, 1)))
    assert (left.spec.name, left.spec.attempt) == ("gpt", 1)
    assert left.spec.resumed_from == run.spec.id
    assert left.spec.logs == ("/l",)
    assert any("2 ranks of" in note for note in left.spec.notes)


def test_it_is_remembered_over_a_restart(desk: Desk) -> None:
    assert desk.finding.switch(True)
    desk.finding.switch(True)
    again = desk.fresh()
    again.begin()
    assert again.on
    assert not again.switch(False)
    last = desk.fresh()
    last.begin()
    assert not last.on


def test_nothing_is_looked_for_unless_asked(desk: Desk) -> None:
    desk.finding.begin()
    assert not desk.finding.on


def test_a_damaged_answer_is_said_once_and_harms_nothing(desk: Desk) -> None:
    assert desk.finding.take([{"name": 3}]) == 0
    assert "cannot be read" in desk.said[-1]


def test_what_the_next_job_of_a_queue_writes_is_not_of_the_one_before(
    desk: Desk, tmp_path: Path
) -> None:
    """Both write one log; the second is started by the same shell and prints at once."""
    now = time.time()
    first = desk.new(
        parent_pid=os.getpid(),
        parent_ticks=procfs.start_ticks(os.getpid()),
        started_at=now - 60,
        pid=4194303,
    )
    desk.clock.set_wall(now - 1.0)
    first.add_observations([ProcessesSeen(now - 1.0, (sample(4194303, 4),))])
    desk.report(first, 0.4, first=5000)
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        desk.clock.set_wall(time.time() + 0.5)
        desk.report(first, 3.0, 2.9, first=1)
        first.add_observations([ProcessesSeen(desk.clock.now(), ())])
        desk.end(first, None)
    finally:
        process.kill()
        process.wait()
    assert [step for _, step in first.history.step_times] == [5000]
    assert [step.number for step in first.history.steps] == [5000]


def test_nor_when_the_daemon_was_started_anew_and_has_not_seen_it_alive(
    desk: Desk, tmp_path: Path
) -> None:
    """The job ended while no daemon was there: it is known when it lived last."""
    now = time.time()
    desk.clock.set_wall(now - 30.0)
    first = desk.new(
        parent_pid=os.getpid(),
        parent_ticks=procfs.start_ticks(os.getpid()),
        started_at=now - 60,
        pid=4194303,
    )
    first.add_observations([ProcessesSeen(now - 30.0, (sample(4194303, 4),))])
    desk.report(first, 0.4, first=5000)
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        desk.clock.set_wall(time.time() + 0.5)
        again = WatchedRun(first.spec, desk.context.box, desk.clock, first.save())
        desk.context.runs[first.spec.id] = again
        desk.report(again, 3.0, 2.9, first=1)
        desk.end(again, None)
    finally:
        process.kill()
        process.wait()
    assert [step for _, step in again.history.step_times] == [5000]


def test_what_it_wrote_itself_while_no_daemon_was_there_is_its_own(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next daemon reads it late, seconds after the same shell has started something else."""
    began = desk.clock.now()
    first = desk.new(started_at=began - 60, pid=4194303)
    first.add_observations([ProcessesSeen(began, (sample(4194303, 4),))])
    desk.report(first, 0.4, first=5000)
    desk.clock.jump(30.0)
    again = WatchedRun(first.spec, desk.context.box, desk.clock, first.save())
    desk.context.runs[first.spec.id] = again
    monkeypatch.setattr(desk.finding, "_next_since", lambda watched: began + 20.0)
    desk.report(again, 0.39, 0.38, first=5001)
    desk.end(again, 0)
    assert [step for _, step in again.history.step_times] == [5000, 5001, 5002]
