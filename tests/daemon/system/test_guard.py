"""Guards with real children, on any file system: the children do not know that it is not far."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.system.far import Far, FarMounts
from middlewatch.daemon.system.guard import (
    DEADLINE_S,
    GIVE_UP_S,
    MOST_GUARDS,
    START_S,
    Guard,
    Guards,
)

from ...fakes.clock import FakeClock

ECHO = """
import json, sys, time
for line in sys.stdin:
    message = json.loads(line)
    words = message["questions"]
    if any(q.get("die") for q in words.values()):
        sys.exit(3)
    if any(q.get("sleep") for q in words.values()):
        time.sleep(1000)
    print(json.dumps({"answers": {c: {"said": q["say"], "with": len(words)} for c, q in words.items()}}), flush=True)
"""
FAR = Far("0:50", "/mnt", "nfs4")


class Bench:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.guards = Guards((sys.executable, "-c", ECHO), self.clock)
        self.guard = self.guards.guard(FAR, "log")

    def hear(self, client: str) -> dict[str, Any]:
        """The answer to a client; the child is given real time for it."""
        deadline = time.monotonic() + 180
        while (answer := self.guard.take(client)) is None:
            assert time.monotonic() < deadline
            fd = self.guard.fileno()
            select.select([] if fd is None else [fd], [], [], 0.1)
        return answer


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.guards.close()


def test_questions_that_wait_go_together(bench: Bench) -> None:
    for client in "abc":
        assert bench.guard.ask(client, {"say": client})
    assert bench.hear("a") == {"said": "a", "with": 1}
    assert [bench.hear(client) for client in "bc"] == [{"said": c, "with": 2} for c in "bc"]
    assert bench.guard.take("a") is None


def test_one_question_a_client(bench: Bench) -> None:
    assert bench.guard.ask("a", {"say": 1})
    assert not bench.guard.ask("a", {"say": 2})
    assert bench.hear("a")["said"] == 1
    assert bench.guard.ask("a", {"say": 3})


def test_a_child_that_ends_is_asked_again(bench: Bench) -> None:
    bench.guard.ask("a", {"say": 1, "die": True})
    deadline = time.monotonic() + 180
    while not bench.guard.ask("a", {"say": 2}):
        assert time.monotonic() < deadline
        time.sleep(0.01)
        bench.clock.jump(1)
    bench.clock.jump(2)
    assert bench.hear("a")["said"] == 2


def test_late_is_counted_from_the_first_question_that_was_not_answered(bench: Bench) -> None:
    bench.guard.ask("a", {"say": 0})
    bench.hear("a")
    bench.guard.ask("a", {"say": 1, "sleep": True})
    bench.clock.jump(DEADLINE_S)
    assert bench.guard.late_s("a") == 0
    bench.clock.jump(GIVE_UP_S + 1)
    bench.guard.turn()  # replaced now
    bench.guard.ask("a", {"say": 2})
    assert bench.guard.late_s("a") == DEADLINE_S + GIVE_UP_S + 1  # nobody waits for a CPU
    bench.clock.jump(2)
    assert bench.hear("a")["said"] == 2
    assert bench.guard.late_s("a") == 0


def test_a_child_that_starts_is_given_more_time(bench: Bench) -> None:
    bench.guard.ask("a", {"say": 1, "sleep": True})
    bench.clock.jump(START_S)
    assert bench.guard.late_s("a") == 0
    bench.clock.jump(1)
    deadline = time.monotonic() + 180
    while not bench.guard.late_s("a"):  # while it works, as at its start, it is not late
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert bench.guard.late_s("a") == START_S + 1


def test_the_child_ends_with_its_last_client(bench: Bench) -> None:
    for client in "ab":
        bench.guard.ask(client, {"say": client})
        bench.hear(client)
    bench.guard.leave("a")
    assert bench.guard.fileno() is not None
    bench.guard.leave("b")
    assert bench.guard.fileno() is None


def test_an_answer_to_who_has_left_is_dropped(bench: Bench) -> None:
    bench.guard.ask("b", {"say": "b"})
    bench.guard.ask("a", {"say": "a"})
    bench.guard.leave("b")
    assert bench.hear("a")["said"] == "a"
    assert bench.guard.take("b") is None


def test_one_child_for_each_file_system_and_lane_and_not_too_many(bench: Bench) -> None:
    made: list[Guard] = [
        bench.guards.guard(Far(f"0:{n}", f"/mnt/{n}", "nfs4"), "log") for n in range(50, 70)
    ]
    assert made[0] is bench.guard
    assert len(set(map(id, made))) == MOST_GUARDS
    assert bench.guards.guard(FAR, "scan") is not bench.guard
    assert bench.guards.guard(Far("0:69", "/mnt/69", "nfs4"), "log") is made[-1]


@pytest.mark.parametrize(
    ("fstype", "is_far"),
    [("ext4", False), ("overlay", False), ("nfs4", True), ("fuse.x", True), ("newfs", True)],
)
def test_only_what_is_known_to_be_local_is_touched(
    tmp_path: Path, fstype: str, is_far: bool
) -> None:
    proc = tmp_path / "proc" / "self"
    proc.mkdir(parents=True)
    (tmp_path / "data").mkdir()
    (proc / "mountinfo").write_text(
        "20 1 8:1 / / rw - ext4 /dev/a rw\n" + f"21 20 0:50 / /data rw - {fstype} x rw\n"
    )
    mounts = FarMounts(str(tmp_path))
    assert (mounts.of("/data/a/b", 1.0) is not None) is is_far
    assert mounts.of("/etc", 1.0) is None
    assert (list(mounts.below("/")) == ["/data"]) is is_far
    mounts.close()
