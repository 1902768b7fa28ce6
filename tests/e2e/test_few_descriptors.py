"""A daemon that may open 128 files and no more, and forty runs; then one that has none left at all."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
from typing import Any

import pytest

from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.system import procfs
from middlewatch.daemon.system.descriptors import LEAST_RESERVE

from ..fakes.box import Box
from .test_doctor import check, doctor

LIMIT, RUNS = 128, 40
SOON = "[sentinels.blind]\nfor_s = 12\n"
"""Twelve seconds, as the watch looks at its own descriptors every ten."""
TRAINER = """
import os, sys, time
folder, steps = sys.argv[1], 0
log = open(f"{folder}/train.log", "a", buffering=1)
while not os.path.exists(f"{folder}/end"):
    steps += 1
    if os.path.exists(f"{folder}/rotate"):
        os.replace(f"{folder}/train.log", f"{folder}/train.log.1")
        os.unlink(f"{folder}/rotate")
        log = open(f"{folder}/train.log", "a", buffering=1)
    if os.path.exists(f"{folder}/delete"):
        os.unlink(f"{folder}/train.log")
        os.unlink(f"{folder}/delete")
    loss = "nan" if os.path.exists(f"{folder}/nan") else f"{2 + 1 / steps:.4f}"
    log.write(f"step {steps}/100000 loss {loss} lr 3e-04\\n")
    time.sleep(0.5)
print(steps, file=open(f"{folder}/steps.new", "w"), flush=True)
os.replace(f"{folder}/steps.new", f"{folder}/steps")
while True:
    time.sleep(60)
"""
"""Two lines a second; ends to write when it is told to, and says how many lines it wrote."""


def begin(box: Box, limit: int) -> int:
    """Start a daemon with this hard limit and half of it as its soft limit; returns its pid."""
    limits = f'ulimit -Sn {limit // 2}; ulimit -Hn {limit}; exec "$0" -m middlewatch.daemon daemon'
    box.spawn("sh", "-c", limits, sys.executable)
    return int(box.until(lambda: box.ask("ping"), "the daemon")["pid"])


def train(box: Box, name: str) -> tuple[str, int]:
    """Start a training beside middlewatch, and put it under watch; returns its id and pid."""
    folder = box.root / name
    folder.mkdir()
    with open(os.devnull, "w") as null:
        pid = box.spawn(sys.executable, "-c", TRAINER, str(folder), stdout=null, stderr=null).pid
    spec = RunSpec(name, pid, procfs.start_ticks(pid), logs=(f"{folder}/train.log",))
    answer = box.ask("watch", spec=spec.to_json())
    assert answer["new"]
    return str(answer["run"]), pid


def lines(run: dict[str, Any]) -> int:
    return sum(log["lines"] or 0 for log in run["logs"])


def order(box: Box, name: str, what: str) -> None:
    """Have a training do something to its log."""
    order = box.root / name / what
    order.touch()
    box.until(lambda: not order.exists(), f"{name} to {what}")


def check_lines(box: Box, name: str, run: str) -> None:
    """Have a training write no more: each of its lines must be counted once."""
    folder = box.root / name
    (folder / "end").touch()
    box.until((folder / "steps").exists, f"the last line of {name}")
    wrote = int((folder / "steps").read_text())
    box.until(lambda: lines(box.status(run)) >= wrote, f"all lines of {name}")
    assert lines(box.status(run)) == wrote, name


def starve(daemon: int) -> None:
    """Lower its limit to the first number that is free: nothing can be opened until something is closed."""
    taken = {int(fd) for fd in os.listdir(f"/proc/{daemon}/fd")}
    free = next(number for number in range(len(taken) + 1) if number not in taken)
    resource.prlimit(daemon, resource.RLIMIT_NOFILE, (free, 1024))


def own_limits(pid: int) -> tuple[int, int]:
    return resource.prlimit(pid, resource.RLIMIT_NOFILE)


def _as_it_was_started(daemon: int) -> bool:
    """Whether its children have the soft limit that it was started with; one that was just forked has not yet."""
    children = [pid for pid in procfs.children(daemon) or () if procfs.exists(pid)]
    with contextlib.suppress(ProcessLookupError):
        return all(own_limits(pid)[0] == LIMIT // 2 for pid in children)
    return False


@pytest.mark.slow
def test_forty_runs_with_a_hundred_and_twenty_eight_descriptors(box: Box) -> None:
    daemon = begin(box, LIMIT)
    assert own_limits(daemon) == (LIMIT, LIMIT), "raised to what is allowed"
    names = [f"run{n}" for n in range(RUNS)]
    runs = {name: train(box, name) for name in names}
    box.until(lambda: min(map(lines, box.ask("runs"))) >= 3, "lines of each log")
    box.until(lambda: _as_it_was_started(daemon), "children with the limit of the daemon's start")

    status, report = doctor(box)
    own = report["footprint"]
    assert own["descriptors_limit"] == LIMIT
    assert own["descriptors"] <= LIMIT - own["descriptors_reserved"] + 8, (
        "but for a client, a child"
    )
    assert 0 < own["descriptors_kept"] < own["descriptors"]
    assert own["descriptors_without"] > RUNS
    told = check(report, "descriptors")
    assert (status, told["state"]) == (1, "odd")
    assert "opened anew for each look" in told["detail"]
    bad = [one for one in report["checks"] if one["state"] == "bad"]
    assert not bad, "nothing is missing: it takes more CPU"

    for number in (7, 38):
        order(box, f"run{number}", "rotate")
        order(box, f"run{number + 1}", "delete")
    (box.root / "run33" / "nan").touch()
    push = box.push(lambda p: "nan" in p.title.lower(), "the NaN")
    assert "run33 on" in push.title
    os.kill(runs["run21"][1], signal.SIGKILL)
    ended = next(p for p in box.started if p.pid == runs["run21"][1])
    ended.wait()
    push = box.push(lambda p: "] run21 on" in p.title, "the end of a run")
    assert box.status(runs["run21"][0])["exit"] == {"code": None, "signal": signal.SIGKILL}

    for name in names:
        if name != "run21":
            check_lines(box, name, runs[name][0])
    assert box.ask("doctor")["footprint"]["descriptors"] < LIMIT


def test_when_nothing_is_left_it_is_told_and_goes_on_with_less(box: Box) -> None:
    box.configure(SOON)
    daemon = begin(box, 1024)
    first, _ = train(box, "first")
    box.steps(1, first)
    before = lines(box.status(first))
    own = box.ask("doctor")["footprint"]
    # How many it needs depends on the box; half the reserve is taken, so all kept ones are given back.
    few = own["descriptors"] - own["descriptors_kept"] + LEAST_RESERVE // 2 - 3
    resource.prlimit(daemon, resource.RLIMIT_NOFILE, (few, 1024))
    box.until(lambda: not box.ask("doctor")["footprint"]["descriptors_kept"], "nothing is kept")
    starve(daemon)

    second, _ = train(box, "second")
    for _ in range(5):
        assert box.ask("ping")["pid"] == daemon

    def blind(run: str) -> bool:
        told = {w["source"]: (w["state"], w["detail"]) for w in box.status(run)["watch"]}
        state, detail = told["processes"]
        return state in ("failed", "impaired") and (
            "no descriptor is left" in detail or "Too many open files" in detail
        )

    box.until(lambda: blind(first) and blind(second), "both say that they have none")
    box.push(lambda p: "nearly no descriptors left" in p.title + p.body, "it is told")
    assert {box.status(run)["state"] for run in (first, second)} <= {"running", "unknown"}
    assert not [p for p in box.receiver.pushes if "Too many open files" in p.title], "once"

    resource.prlimit(daemon, resource.RLIMIT_NOFILE, (1024, 1024))
    box.until(lambda: lines(box.status(first)) > before, "the log is read on")
    for name, run in (("first", first), ("second", second)):
        check_lines(box, name, run)
        box.until(lambda: not blind(first) and not blind(second), "both are looked at again")
    box.push(lambda p: "[RESOLVED]" in p.title and "the watch itself" in p.title, "it is over")
