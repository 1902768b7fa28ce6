"""Who waits for an answer in its terminal, on real terminals, pipes and sockets."""

from __future__ import annotations

import os
import pty
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import IO, Any

import pytest

from middlewatch.daemon.system import procfs
from middlewatch.daemon.system.asking import ASKS, waits_in

ASK = "input('Overwrite? [y/N] ')"
SELECT = "import select; select.select([0], [], [])"
Start = Callable[[str, Any], int]


@pytest.fixture
def start() -> Iterator[Start]:
    begun: list[subprocess.Popen[bytes]] = []

    def one(code: str, stdin: int | IO[Any]) -> int:
        begun.append(
            subprocess.Popen([sys.executable, "-c", code], stdin=stdin, stdout=subprocess.DEVNULL)
        )
        return begun[-1].pid

    yield one
    for process in begun:
        process.kill()
        process.wait()


def asleep_in(pid: int) -> str | None:
    """Where it waits, once it has been started up and sleeps in the same place twice."""
    before = ""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        now = (procfs.read_or_none(f"/proc/{pid}/syscall") or b"").split(b" ")[0].decode()
        if now and now == before and procfs.wchan(pid):
            return waits_in(pid, procfs.wchan(pid))
        before = now if now != "running" else ""
        time.sleep(0.3)
    raise AssertionError("it never slept")


@pytest.mark.parametrize("code", [ASK, SELECT], ids=["read", "select"])
def test_a_question_in_a_terminal(start: Start, code: str) -> None:
    ours, theirs = pty.openpty()
    pid = start(code, theirs)
    os.close(theirs)
    try:
        if procfs.read_or_none(f"/proc/{pid}/syscall") is None:
            pytest.skip("this kernel, or our rights, do not show where a process waits")
        assert asleep_in(pid) == ASKS
    finally:
        os.close(ours)


def test_a_pipe_or_a_socket_is_no_terminal(start: Start) -> None:
    reads, writes = os.pipe()
    one, other = socket.socketpair()
    for stdin in (reads, one.fileno()):
        pid = start(ASK, stdin)
        if procfs.read_or_none(f"/proc/{pid}/syscall") is None:
            pytest.skip("this kernel, or our rights, do not show where a process waits")
        assert asleep_in(pid) != ASKS
    os.close(reads)
    os.close(writes)
    one.close()
    other.close()


def test_what_does_not_wait_there_is_left_as_it_is() -> None:
    assert waits_in(os.getpid(), None) is None
    assert waits_in(os.getpid(), "futex_wait_queue") == "futex_wait_queue"
    assert waits_in(2**22 + 1, "wait_woken") == "wait_woken"
    assert waits_in(os.getpid(), ASKS) == ASKS
