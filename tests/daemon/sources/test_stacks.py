"""Stacks of real processes: a lock, an endless loop, a loader that waits; and none to be had."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.sources.programs.stacks import place, summary_of
from middlewatch.daemon.sources.stacks import Stacks, Suspect, find_spy
from middlewatch.daemon.system import procfs
from middlewatch.daemon.system.clock import SystemClock
from middlewatch.daemon.system.errors import Unsupported
from middlewatch.sentinels.kit import ProcessesSeen, ProcessSample, RunFacts, StackSeen, View
from middlewatch.sentinels.kit.pace.stack_summary import stack_summaries, unchanged
from middlewatch.sentinels.kit.pace.verdicts import idle_verdict, spin_verdict
from middlewatch.sentinels.kit.pace.work import work_of

from ...fakes.clock import FakeClock

PATIENCE_S = 120.0

LOCK = """
import threading
def train_step():
    lock = threading.Lock()
    lock.acquire()
    print("ready", flush=True)
    lock.acquire()
train_step()
"""
LOOP = """
def train_step():
    print("ready", flush=True)
    x = 0
    while True:
        x = 1 - x
train_step()
"""
LOADER = """
import multiprocessing, time
def work(queue):
    time.sleep(60)
def train():
    queue = multiprocessing.Queue()
    worker = multiprocessing.Process(target=work, args=(queue,), daemon=True)
    worker.start()
    print("ready", flush=True)
    queue.get()
train()
"""


def spy_works() -> str:
    """Why there are no stacks here; empty where there are."""
    try:
        spy = find_spy([str(Path(sys.executable).parent)])
    except Unsupported as error:
        return str(error)
    with started(LOCK) as process:
        done = subprocess.run(
            [spy, "dump", "--nonblocking", "--pid", str(process.pid)],
            capture_output=True,
            check=False,
        )
    return "" if done.returncode == 0 else "ptrace is not permitted here"


@contextlib.contextmanager
def started(program: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program of a few lines, once it says that it is ready."""
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(0.05)  # and does what it was started for
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def spy() -> None:
    why = spy_works()
    if why:
        pytest.skip(why)


@pytest.fixture
def source(spy: None) -> Iterator[Stacks]:
    stacks = Stacks(SystemClock(), deadline_s=PATIENCE_S)
    yield stacks
    stacks.close()


def looks(source: Stacks, pid: int, count: int = 1, rank: int | None = None) -> list[StackSeen]:
    """Some stacks of a process, five seconds apart by the source's own time."""
    source.wanted = (Suspect(pid, rank),)
    found: list[StackSeen] = []
    now = 1000.0
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < deadline, "not in time"
        source.read(now)
        for fd in source.fds():
            if select.select([fd], [], [], 0.5)[0]:
                before = len(found)
                seen = source.ready(fd, now)
                found += [one for one in seen if isinstance(one, StackSeen)]
                now += 5.0 * (len(found) - before)
    return found


def view_of(pid: int, stacks: list[StackSeen], *processes: dict[str, Any]) -> View:
    """A silent run: sixteen looks at its processes; ``cores`` says what each of them burns."""
    seen = []
    for second in range(17):
        samples = []
        for fields in processes:
            burnt = fields.get("cores", 0.0) * second
            given = {k: v for k, v in fields.items() if k != "cores"}
            samples.append(ProcessSample(**{**given, "cpu_s": burnt}))
        seen.append(ProcessesSeen(1000.0 + second, tuple(samples)))
    facts = RunFacts("run", 0.0, 0.0, pid)
    return View(1016.0, facts, process_samples=tuple(seen), stacks=tuple(stacks))


def process(pid: int, **fields: Any) -> dict[str, Any]:
    return {"pid": pid, "start_ticks": 1, "ppid": 1, "name": "python", "state": "S", **fields}


def test_a_lock(source: Stacks) -> None:
    with started(LOCK) as running:
        deadline = time.monotonic() + PATIENCE_S
        stat = Path(f"/proc/{running.pid}/stat")
        seen = ""
        while seen[-20:] != "S" * 20:  # it waits, also on a busy box, and not for its turn only
            assert time.monotonic() < deadline, "it never waited"
            seen += stat.read_text().rpartition(")")[2].split()[0]
            time.sleep(0.01)
        (stack,) = looks(source, running.pid, rank=3)
    assert (stack.pid, stack.rank) == (running.pid, 3)
    assert stack.frames[0] == "train_step (<string>:7)"
    assert (stack.own, stack.active, stack.gil) == (0, False, False)
    view = view_of(running.pid, [stack], process(running.pid, wchan="futex_do_wait"))
    work = work_of(view.process_samples, view.now, 15.0)
    assert work is not None
    verdict = idle_verdict(view, work, 0.0)
    assert (verdict.name, verdict.does) == (
        "lock",
        "waits for a lock (train_step at <string>:7)",
    )


def test_an_endless_loop(source: Stacks) -> None:
    with started(LOOP) as running:
        stacks = looks(source, running.pid, 3)
        state = Path(f"/proc/{running.pid}/stat").read_text().rpartition(")")[2].split()[0]
        assert state == "R", "it was never paused"
    assert all(s.active for s in stacks)
    assert sum(s.gil for s in stacks) >= 2
    view = view_of(running.pid, stacks, process(running.pid, state="R", cores=1.0))
    assert len(unchanged(view, 0.0, running.pid)) == 3
    work = work_of(view.process_samples, view.now, 15.0)
    assert work is not None
    verdict = spin_verdict(view, work, 0.0)
    assert verdict is not None
    assert (verdict.name, verdict.sure) == ("spin", True)
    assert (
        "spins: it burns CPU at one place in 3 of 3 stacks (train_step at <string>:" in verdict.does
    )


def test_a_main_process_that_waits_for_its_workers(source: Stacks) -> None:
    with started(LOADER) as running:
        (stack,) = looks(source, running.pid)
    (one,) = stack_summaries(View(1001.0, RunFacts("r", 0, 0), stacks=(stack,)), 0.0, [running.pid])
    assert one.kind == "input"
    view = view_of(
        running.pid,
        [stack],
        process(running.pid, wchan="pipe_read"),
        process(running.pid + 1, ppid=running.pid),
    )
    work = work_of(view.process_samples, view.now, 15.0)
    assert work is not None
    assert idle_verdict(view, work, 0.0).name == "input"
    assert "waits for its data (" in idle_verdict(view, work, 0.0).does


def test_without_py_spy(tmp_path: Path) -> None:
    source = Stacks(SystemClock(), [str(tmp_path), "", "relative"])
    assert list(source.read(1.0)) == [], "nobody asked"
    source.wanted = (Suspect(1),)
    with pytest.raises(Unsupported, match="py-spy is not installed"):
        source.read(2.0)
    assert list(source.fds()) == [], "and no child was started"
    source.close()


def fake_spy(folder: Path, body: str) -> list[str]:
    script = folder / "py-spy"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)
    return [str(folder)]


def until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.01)


def test_ptrace_is_refused(tmp_path: Path) -> None:
    body = "echo 'Permission Denied: try again with elevated permissions' >&2; exit 1"
    source = Stacks(SystemClock(), fake_spy(tmp_path, body))
    source.wanted = (Suspect(1), Suspect(2))
    source.read(1.0)
    (fd,) = source.fds()
    select.select([fd], [], [], PATIENCE_S)
    with pytest.raises(Unsupported, match="cannot be taken here: Permission Denied"):
        source.ready(fd, 1.0)
    source.close()


def test_an_answer_that_does_not_come(tmp_path: Path) -> None:
    clock = FakeClock()
    source = Stacks(clock, fake_spy(tmp_path, "exec sleep 60"))
    source.wanted = (Suspect(1), Suspect(2))
    source.read(clock.now())
    until(lambda: source._child.pid and procfs.children(source._child.pid))
    (hung,) = procfs.children(source._child.pid or 0) or ()
    clock.jump(4.9)
    source.read(clock.now())
    assert running(hung)
    clock.jump(0.2)
    source.read(clock.now())
    until(lambda: not running(hung) and source._child.stuck_pid is None)
    clock.jump(2.0)  # the child's pause
    source.read(clock.now())
    assert source._asked == Suspect(2), "the first one is left alone"
    clock.jump(5.1)
    with pytest.raises(Unsupported, match="does not answer within 5 s"):
        source.read(clock.now())
    source.close()


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_process_that_is_no_python_is_tried_three_times(tmp_path: Path) -> None:
    source = Stacks(SystemClock(), fake_spy(tmp_path, "echo 'Error: no version' >&2; exit 1"))
    source.wanted = (Suspect(1),)
    asked = 0
    for turn in range(8):
        source.read(1000.0 + 6 * turn)
        for fd in source.fds():
            if source._asked is None:
                continue
            asked += 1
            select.select([fd], [], [], PATIENCE_S)
            assert list(source.ready(fd, 1000.0 + 6 * turn)) == []
    assert asked == 3
    source.close()


def test_places() -> None:
    assert place("/v/lib/python3.12/site-packages/torch/cuda/__init__.py") == (
        "torch/cuda/__init__.py",
        False,
    )
    assert place("/usr/lib/python3.11/threading.py") == ("python/threading.py", False)
    assert place("<frozen runpy>") == ("python/frozen runpy", False)
    assert place("/home/me/train.py") == ("train.py", True)


def test_of_many_threads_the_main_one_is_told() -> None:
    frame = {"name": "f", "filename": "/a/b.py", "line": 3}
    others = {"thread_name": "pin", "os_thread_id": 8, "frames": [], "active": True}
    main = {"thread_name": None, "os_thread_id": 7, "frames": [frame] * 60, "owns_gil": True}
    answer = summary_of([others, main], 7)
    assert answer["frames"] == ["f (b.py:3)"] * 40
    assert (answer["own"], answer["active"], answer["gil"]) == (0, False, True)
    assert answer["threads"] == 2
    assert (answer["active"], summary_of([others | {"frames": [frame]}], 8)["active"]) == (
        False,
        True,
    )
    nameless = {"thread_name": "MainThread", "frames": [frame], "active": True}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as waits:
        stat = Path(f"/proc/{waits.pid}/stat")
        until = time.monotonic() + PATIENCE_S
        while stat.read_text().rpartition(")")[2].split()[0] != "S" and time.monotonic() < until:
            time.sleep(0.01)
        assert summary_of([nameless], waits.pid)["active"] is False, "as the system says"
        waits.communicate(b"")
    assert summary_of([others], 8)["error"] == "no Python frames"
