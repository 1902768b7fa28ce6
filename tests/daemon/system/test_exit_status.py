"""How reaped processes ended: by pidfd, and by the process connector."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from middlewatch.daemon.system import exit_status
from middlewatch.daemon.system.descriptors import LEAST_RESERVE, Descriptors, Use
from middlewatch.daemon.system.exit_status import ExitStatuses


def _waiting(then: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sh", "-c", f"read line; {then}"], stdin=subprocess.PIPE)


@pytest.fixture(params=["pidfd", "connector"])
def exits(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ExitStatuses]:
    since = (0, 0) if request.param == "pidfd" else (999, 0)
    monkeypatch.setattr(exit_status, "_PIDFD_SINCE", since)
    with contextlib.closing(ExitStatuses()) as made:
        probe = _waiting("exit 3")
        made.follow([probe.pid])
        probe.communicate(b"\n")
        if made.status(probe.pid) is None:
            pytest.skip(f"this kernel, or our rights, give no status by {request.param}")
        yield made


def test_the_status_of_a_process_whose_parent_has_taken_it(exits: ExitStatuses) -> None:
    ends = [_waiting("exit 3"), _waiting("kill -9 $$"), _waiting("kill -11 $$"), _waiting("exit 0")]
    exits.follow(p.pid for p in ends)
    assert [exits.status(p.pid) for p in ends] == [None] * 4, "they live"
    for process in ends:
        process.communicate(b"\n")
    found = [exits.status(p.pid) for p in ends]
    assert [s and s & 0x7F for s in found] == [0, signal.SIGKILL, signal.SIGSEGV, 0]
    assert found[0] is not None
    assert found[0] >> 8 == 3


def test_a_thread_that_ends_is_not_the_end_of_its_process(exits: ExitStatuses) -> None:
    code = (
        "import threading, sys; sys.stdin.readline()\n"
        "t = threading.Thread(target=int); t.start(); t.join()\n"
        "print(flush=True); sys.stdin.readline(); sys.exit(7)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin
    assert process.stdout
    exits.follow([process.pid])
    process.stdin.write(b"\n")
    process.stdin.flush()
    process.stdout.readline()
    assert exits.status(process.pid) is None
    process.communicate(b"\n")
    assert exits.status(process.pid) == 7 << 8


def test_who_is_not_followed_is_not_known(exits: ExitStatuses) -> None:
    one, other = _waiting("exit 1"), _waiting("exit 2")
    exits.follow([one.pid, other.pid])
    exits.forget(one.pid)
    one.communicate(b"\n")
    other.communicate(b"\n")
    assert exits.status(one.pid) is None
    assert exits.status(other.pid) == 2 << 8


def test_no_descriptor_is_left(exits: ExitStatuses) -> None:
    before = len(os.listdir("/proc/self/fd"))
    more = ExitStatuses()
    more.follow([os.getpid(), os.getppid()])
    more.close()
    more.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_nothing_is_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exit_status, "_PIDFD_SINCE", (999, 0))

    def refused(*_: object) -> object:
        raise PermissionError

    monkeypatch.setattr(f"{exit_status.__name__}.socket.socket", refused)
    with contextlib.closing(ExitStatuses()) as exits:
        process = _waiting("exit 3")
        exits.follow([process.pid])
        process.communicate(b"\n")
        assert exits.status(process.pid) is None


def _room_for(few: int, kind: str) -> Descriptors:
    """A budget in which only descriptors of one kind count, and ``few`` more may be kept."""

    def count() -> int:
        links = []
        for fd in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # the one that lists them
                links.append(os.readlink(f"/proc/self/fd/{fd}"))
        return sum(link.startswith(kind) for link in links)

    limit = count() + few + LEAST_RESERVE
    return Descriptors(lambda: limit, count)


def _tells(exits: ExitStatuses) -> None:
    """Skips unless the kernel tells how a reaped process ended."""
    probe = _waiting("exit 3")
    exits.follow([probe.pid])
    probe.communicate(b"\n")
    told = exits.status(probe.pid)
    exits.forget(probe.pid)
    if told is None:
        pytest.skip("this kernel, or our rights, give no status")


def test_the_main_process_goes_before_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is room for two pidfds, and no connector, which would need but one descriptor."""
    monkeypatch.setattr(exit_status, "_CONNECTOR", 31)
    budget = _room_for(2, "anon_inode:[pidfd]")
    with contextlib.closing(ExitStatuses(budget)) as exits:
        _tells(exits)
        workers, main = [_waiting("exit 4") for _ in range(3)], _waiting("exit 5")
        exits.follow([p.pid for p in workers])
        assert [exits.lacks(p.pid) for p in workers] == [False, False, True]
        exits.follow([main.pid], Use.MAIN_EXIT)
        assert [exits.lacks(p.pid) for p in workers] == [True, False, True]
        assert not exits.lacks(main.pid)
        assert budget.figures().without[Use.EXIT] == 2
        workers[0].communicate(b"\n")
        assert exits.status(workers[0].pid) is None
        exits.forget(workers[0].pid)
        workers[1].communicate(b"\n")
        assert not budget.make_room(99), "all are given back, and it is not enough"
        assert exits.status(workers[1].pid) == 4 << 8, "it had ended before"
        assert exits.lacks(main.pid)
        exits.try_again([workers[2].pid])
        assert exits.lacks(main.pid), "it does not live, as far as the caller knows"
        exits.try_again([main.pid, workers[2].pid])
        for process, status in ((main, 5), (workers[2], 4)):
            assert not exits.lacks(process.pid)
            process.communicate(b"\n")
            assert exits.status(process.pid) == status << 8
        exits.close()
        assert not any(budget.figures().without)


def test_the_connector_takes_one_descriptor_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exit_status, "_PIDFD_SINCE", (999, 0))
    budget = _room_for(1, "socket:")
    with contextlib.closing(ExitStatuses(budget)) as exits:
        _tells(exits)
        ends = [_waiting("exit 4") for _ in range(3)]
        exits.follow(p.pid for p in ends)
        assert not any(exits.lacks(p.pid) for p in ends)
        ends[0].communicate(b"\n")
        assert not budget.make_room(99)
        assert exits.status(ends[0].pid) == 4 << 8, "it was sent before"
        assert exits.lacks(ends[1].pid)
        ends[1].communicate(b"\n")
        exits.try_again([ends[2].pid])
        ends[2].communicate(b"\n")
        assert [exits.status(p.pid) for p in ends] == [4 << 8, None, 4 << 8]
