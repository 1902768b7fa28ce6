"""``kill -9`` at any moment, of the daemon, of the runner, of both: every cell exactly once, none lost."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from middlewatch.daemon.system import procfs

from ..fakes.box import Box
from .queues import RAN, Queue, queue

CELLS = 100
KILLS = 20
SEED = 18


@pytest.fixture
def sweep(box: Box) -> Iterator[Queue]:
    text = f"@command sh -c '{RAN}sleep 0.1; test ${{0#c}} != 13' {{name}}\n"
    text += "".join(f"c{number}:\n" for number in range(CELLS))
    made = queue(box, text)
    yield made
    made.close()


def kill(box: Box, pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    box.until(lambda: procfs.start_ticks(pid) is None, f"{pid} is gone")


def is_true(box: Box, sweep: Queue, told: dict[str, Any]) -> None:
    """Every cell ran once, and the roster and the daemon say so."""
    names = [f"c{number}" for number in range(CELLS)]
    assert sweep.ran() == {name: [name] for name in names}
    assert told["counts"] == {"finished": CELLS - 1, "failed": 1}
    assert told["failed"] == ["c13"]
    assert [cell["cell"] for cell in told["cells"]] == names
    assert {cell["attempts"] for cell in told["cells"]} == {1}
    records = sweep.records()
    assert [record for record in records if record["t"] == "lost"] == []
    ended = [record["cell"] for record in records if record["t"] == "ended"]
    assert sorted(ended) == sorted(names)
    runs = {run["run"]: run for run in box.ask("runs")}
    for cell in told["cells"]:
        assert cell["exit_code"] == int(cell["cell"] == "c13")
        assert runs[cell["run"]]["name"] == cell["cell"]


def killed_at_random(
    box: Box, sweep: Queue, *, daemon: bool, runner: bool, longest_s: float
) -> int:
    """Kill at random moments until :data:`KILLS` have been done, and bring back what a person would. The
    number of kills that came while cells were left."""
    chance = random.Random(SEED)
    meant = 0
    for _ in range(KILLS):
        time.sleep(chance.uniform(0.0, longest_s))
        victims = []
        if runner and (pid := sweep.runner()) is not None:
            victims.append(pid)
            meant += 1
        if daemon:
            victims.append(box.until(lambda: box.ask("ping")["pid"], "the daemon"))
            meant += not runner and sweep.runner() is not None
        for pid in victims:
            kill(box, pid)
        if runner:
            sweep.command()  # starts the daemon as well
        else:
            box.command("start")
    return meant


@pytest.mark.slow
def test_the_daemon_is_killed(box: Box, sweep: Queue) -> None:
    sweep.command("--at-once", "2")
    meant = killed_at_random(box, sweep, daemon=True, runner=False, longest_s=1.0)
    told = sweep.over()
    is_true(box, sweep, told)
    assert meant > 1, "kills came while the queue ran"


@pytest.mark.slow
def test_the_runner_is_killed(box: Box, sweep: Queue) -> None:
    sweep.command("--at-once", "2")
    meant = killed_at_random(box, sweep, daemon=False, runner=True, longest_s=1.0)
    told = sweep.over()
    is_true(box, sweep, told)
    assert meant > 1, "kills came while the queue ran"


@pytest.mark.slow
def test_both_are_killed(box: Box, sweep: Queue) -> None:
    sweep.command("--at-once", "2")
    meant = killed_at_random(box, sweep, daemon=True, runner=True, longest_s=0.5)
    told = sweep.over()
    is_true(box, sweep, told)
    assert meant > 1, "kills came while the queue ran"
