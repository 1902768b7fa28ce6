"""The watch over the loop, with a real loop that is really stuck."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.sources.log_tail import LogTail
from middlewatch.daemon.system.loop import Loop
from middlewatch.daemon.system.loop_watch import STUCK_S, LoopWatch
from middlewatch.daemon.system.pump import Pump

from ...fakes.clock import FakeClock
from ..sources.test_log_tail import Lines


class Bench:
    """A loop, its watch, and a named pipe in which a call gets stuck until it is released."""

    def __init__(self, root: Path) -> None:
        self.clock = FakeClock()
        self.told: list[str] = []
        self.loop = Loop(self.clock, lambda error: self.told.append(repr(error)))
        self.watch = LoopWatch(self.loop, self.clock, self.told.append)
        self.pipe = root / "pipe"
        os.mkfifo(self.pipe)

    def block(self) -> None:
        """Stuck as in a dead mount: ``open`` waits for somebody at the other end."""
        path = str(self.pipe)
        os.close(os.open(path, os.O_RDONLY))

    def release(self) -> None:
        with self.pipe.open("w"):
            pass

    def during(self, call: Callable[[], None], *looks: float) -> None:
        """Look after each number of seconds while the loop is stuck in ``call``."""

        def other() -> None:
            while self.loop.serving is None:
                time.sleep(0.001)
            time.sleep(0.05)  # until it is in the kernel; a look too early would see it there, too
            self.watch.look()
            for seconds in looks:
                self.clock.jump(seconds)
                self.watch.look()
            self.release()

        thread = threading.Thread(target=other)
        thread.start()
        self.loop.serve(call)
        thread.join()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.loop.close()


def test_a_stuck_call_is_named_while_it_is_stuck(bench: Bench) -> None:
    bench.during(bench.block, STUCK_S + 2)
    (told,) = bench.told
    assert told.startswith("the loop is stuck for 7 s in ")
    assert "block" in told
    bench.watch.look()
    assert bench.told[1].startswith("the loop goes on; it was stuck for 7 s in ")
    (past,) = bench.watch.past
    assert past.for_s == STUCK_S + 2
    assert bench.watch.now is None


def test_it_is_told_ever_less_often(bench: Bench) -> None:
    bench.during(bench.block, *[3.0] * 20)
    assert [line.split()[5] for line in bench.told] == ["6", "12", "24", "48"]


def test_a_short_call_and_a_waiting_loop_are_nothing(bench: Bench) -> None:
    bench.during(bench.block, 3.0)
    for _ in range(10):
        bench.clock.jump(100)
        bench.watch.look()
    assert bench.told == []


def test_many_short_calls_are_not_one_long_one(bench: Bench) -> None:
    for _ in range(10):
        bench.loop.serve(lambda: None)
        bench.clock.jump(4)
        bench.watch.look()
    assert bench.told == []


def test_the_source_and_the_path_are_named(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pump = Pump(bench.loop, bench.clock, bench.told.append)
    path = str(tmp_path / "a.log")
    Path(path).write_text("a\n")
    pumped = pump.add(LogTail(path, Lines(), None), lambda seen: None)
    real = os.stat

    def stuck(name: str, **more: Any) -> os.stat_result:
        if name == path and not bench.told:
            bench.block()
        return real(name, **more)

    monkeypatch.setattr(os, "stat", stuck)
    bench.during(pumped.read, 6.0)
    assert f"log_tail:{path}" in bench.told[0]
    assert " next_of at " in bench.told[0]
    assert f"at {path}" in bench.told[0]


def test_a_thread_does_the_looking(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = threading.Event()
    monkeypatch.setattr("middlewatch.daemon.system.loop_watch.LOOK_S", 0.01)
    monkeypatch.setattr(bench.watch, "look", looked.set)
    bench.watch.start()
    assert looked.wait(180)
    bench.watch.close()
    bench.watch.close()
