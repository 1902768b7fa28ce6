"""Runs rows on benches, several at the same time: most of them wait."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from .bench import Bench
from .lab import RANK, Fault, NotRun, Outcome
from .watchers import Watcher

Make = Callable[[], Watcher]


@dataclass(frozen=True)
class Task:
    """One row, one watcher, one repeat."""

    fault: Fault
    watcher: str
    make: Make
    repeat: int
    seed: int
    patience_s: float = 0.0
    """Watch a fault at least so long after its injection: some peers are slow by design."""


def run(task: Task, keep: Path | None = None, stop: threading.Event | None = None) -> Outcome:
    """One row from the start of its watcher to the last alarm; cleans up whatever happens."""
    fault = task.fault
    outcome = Outcome(fault, task.watcher, task.repeat, begun=time.time())
    root = Path(tempfile.mkdtemp(prefix=f"faultlab-{fault.number}-"))
    # A socket's path has 107 characters at most, and a mount must be visible to the daemon.
    bench = Bench(root, task.make(), f"{task.seed}-{fault.number}-{fault.name}-{task.repeat}", stop)
    try:
        fault.arrange(bench)
        _watch(bench, outcome, task.patience_s)
    except (NotRun, pytest.skip.Exception) as reason:
        outcome.state, outcome.reason = "not run", str(reason)
    except Exception as error:  # noqa: BLE001  one broken row must not take the others along
        outcome.state, outcome.reason = "broken", f"{type(error).__name__}: {error}"[-500:]
    finally:
        outcome.ended = time.time()
        bench.end()
        if keep is not None:
            shutil.copytree(
                root,
                keep / f"{fault.number}-{fault.name}-{task.watcher}-{task.repeat}",
                ignore=lambda folder, names: _unkept(folder, names),
                dirs_exist_ok=True,
            )
        bench.clean()
        shutil.rmtree(root, ignore_errors=True)
    return outcome


def _unkept(folder: str, names: list[str]) -> set[str]:
    """Large and special files are not worth keeping."""
    paths = {name: Path(folder) / name for name in names}
    return {
        name
        for name, path in paths.items()
        if not path.is_dir() and (not path.is_file() or path.stat().st_size > 4 << 20)
    }


def _watch(bench: Bench, outcome: Outcome, patience_s: float) -> None:
    fault = outcome.fault
    begun = time.monotonic()
    if fault.kind == "control":
        while time.monotonic() - begun < fault.length_s:
            bench.pause(0.5)
        outcome.alarms = bench.watcher.alarms()
        return
    while (injected := bench.injected()) is None:
        if time.monotonic() - begun > fault.begins_within_s:
            raise TimeoutError("the trouble never began")
        bench.pause(0.2)
    outcome.injected = injected
    # Several watchers at once know themselves when all of them have spoken.
    enough: Callable[[Outcome], bool] = getattr(bench.watcher, "heard_enough", _told)
    settled: float | None = None
    while settled is None or time.time() < settled:
        outcome.alarms = bench.watcher.alarms()
        if settled is None and enough(outcome):
            settled = time.time() + fault.after_s
        if time.time() > injected + max(fault.patience_s, patience_s, fault.after_s):
            break
        bench.pause(0.5)
    outcome.alarms = bench.watcher.alarms()
    outcome.late = bench.too_late()


def _told(outcome: Outcome) -> bool:
    fault = outcome.fault
    return any(
        a.trouble in fault.classes
        and RANK.get(a.severity, -1) >= RANK[fault.least]
        and a.at >= (outcome.injected or 0)
        for a in outcome.alarms
    )


@dataclass
class Board:
    """What is going on, for whoever shows it."""

    total: int
    done: list[Outcome] = field(default_factory=list)
    running: list[Task] = field(default_factory=list)


def run_all(
    tasks: Sequence[Task],
    jobs: int,
    show: Callable[[Board, Outcome | None], None],
    keep: Path | None = None,
) -> list[Outcome]:
    """All of them, at most ``jobs`` at a time and no more cores than there are."""
    cores = float(os.cpu_count() or 1)
    board, changed, stop = Board(len(tasks)), threading.Condition(), threading.Event()
    # The long ones first, so that nothing long is left alone in the end.
    waiting = sorted(tasks, key=lambda t: -max(t.fault.deadline_s, t.fault.length_s))

    def work(task: Task) -> None:
        outcome = run(task, keep, stop)
        with changed:
            board.running.remove(task)
            board.done.append(outcome)
            show(board, outcome)
            changed.notify_all()

    def fits(task: Task) -> bool:
        used = sum(t.fault.weight for t in board.running)
        return not board.running or used + task.fault.weight <= cores

    def turn() -> None:
        while waiting or board.running:
            free = jobs - len(board.running)
            fitting = next((t for t in waiting if fits(t)), None) if free > 0 else None
            if fitting is None:
                changed.wait(1.0)
                show(board, None)
                continue
            waiting.remove(fitting)
            board.running.append(fitting)
            threading.Thread(target=work, args=(fitting,)).start()

    with changed:
        try:
            turn()
        except KeyboardInterrupt:
            # What was started is ended all the same, and the table tells what is known.
            waiting.clear()
            stop.set()
            turn()
    order = {(t.fault.number, t.fault.name, t.watcher, t.repeat): n for n, t in enumerate(tasks)}
    return sorted(
        board.done, key=lambda o: order[(o.fault.number, o.fault.name, o.watcher, o.repeat)]
    )
