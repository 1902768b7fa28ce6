"""``kill -9`` at any moment, of the daemon, of the runner, of both: every cell exactly once, none lost."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from middlewatch.daemon.system import procfs

from ..fakes.box import Box
from .queues import RAN, Queue, queue

CELLS = 100
KILLS = 20
SEED = 18
CELL_S = 0.1
FLOW = 4
"""Cells that may begin beyond those that were waited for: so many end while the kill comes."""
WAITS = f"until test ${{0#c}} -lt $(cat allowed); do sleep {CELL_S}; done; sleep {CELL_S}; "
"""A cell waits for its turn, so that the queue is never through before the last kill, however slow the box is."""


@pytest.fixture
def sweep(box: Box) -> Iterator[Queue]:
    text = f"@command sh -c '{RAN}{WAITS}test ${{0#c}} != 13' {{name}}\n"
    text += "".join(f"c{number}:\n" for number in range(CELLS))
    made = queue(box, text)
    allow(made, 0)
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


def allow(sweep: Queue, cells: int) -> None:
    """Let that many cells get on."""
    fresh = sweep.file.with_name("allowed.new")
    fresh.write_text(str(cells))
    fresh.replace(sweep.file.with_name("allowed"))


def has_begun(sweep: Queue, cells: int) -> bool:
    return len(sweep.ran()) >= cells


def killed_at_random(box: Box, sweep: Queue, victims: tuple[str, ...]) -> None:
    """Kill all of ``victims`` at :data:`KILLS` random moments while cells begin and end, and bring back what a
    person would."""
    chance = random.Random(SEED)
    for begun in sorted(chance.sample(range(2, CELLS - 10), KILLS)):
        allow(sweep, begun + FLOW)
        box.until(partial(has_begun, sweep, begun), f"{begun} cells have begun")
        pids = {
            "runner": box.until(sweep.runner, "the runner"),
            "daemon": box.until(lambda: box.ask("ping")["pid"], "the daemon"),
        }
        time.sleep(chance.uniform(0.0, 2 * CELL_S))
        for victim in victims:
            kill(box, pids[victim])
        if "runner" in victims:
            sweep.command()  # starts the daemon as well
        else:
            box.command("start")
    allow(sweep, CELLS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "victims",
    [
        pytest.param(("daemon",), marks=pytest.mark.long),
        pytest.param(("runner",), marks=pytest.mark.long),
        ("runner", "daemon"),
    ],
)
def test_what_is_killed_loses_and_doubles_no_cell(
    box: Box, sweep: Queue, victims: tuple[str, ...]
) -> None:
    sweep.command("--at-once", "2")
    killed_at_random(box, sweep, victims)
    is_true(box, sweep, sweep.over())
