"""What went away together with a process, with real terminals and a copied /proc."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.sources.session import AT_ONCE_S, Session

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture
def terminal() -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The master of a terminal, and a process that leads a session on it."""
    master, slave = pty.openpty()
    process = _on(slave, SLEEP)
    yield master, process
    process.kill()
    process.wait()
    with contextlib.suppress(OSError):
        os.close(master)


def _on(slave: int, command: list[str]) -> subprocess.Popen[bytes]:
    take = "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    run = take + "sys.stdout.write('x'); sys.stdout.flush(); os.execv(sys.argv[1], sys.argv[1:])"
    process = subprocess.Popen(
        [sys.executable, "-c", run, *command], stdin=slave, stdout=subprocess.PIPE
    )
    os.close(slave)
    assert process.stdout is not None
    assert process.stdout.read(1) == b"x"
    process.stdout.close()
    return process


def test_a_terminal_that_closes(terminal: tuple[int, subprocess.Popen[bytes]]) -> None:
    master, process = terminal
    session = Session(process.pid)
    session.check_terminal(100.0)
    assert session.gone_with(101.0) == ""  # killed by hand: the terminal is still there
    os.close(master)
    process.wait()
    assert process.returncode == -1
    session.check_terminal(101.0)  # too late to be seen alive
    assert session.gone_with(101.5) == "session"
    assert session.gone_with(101.0 + AT_ONCE_S) == ""  # it was closed long before


def test_the_next_terminal_has_the_number_of_the_closed_one(
    terminal: tuple[int, subprocess.Popen[bytes]],
) -> None:
    master, process = terminal
    was = os.readlink(f"/proc/{process.pid}/fd/0")
    session = Session(process.pid)
    session.check_terminal(100.0)
    os.close(master)
    process.wait()
    opened: list[tuple[int, int]] = []
    while was not in [os.ttyname(slave) for _, slave in opened] and len(opened) < 20:
        opened.append(pty.openpty())
    session.check_terminal(100.5)
    assert session.gone_with(101.0) == "session"
    for pair in opened:
        os.close(pair[0])
        os.close(pair[1])


def test_a_restarted_watch_knows_the_terminal(
    terminal: tuple[int, subprocess.Popen[bytes]],
) -> None:
    master, process = terminal
    saved = Session(process.pid).state()
    session = Session(process.pid, saved)
    session.check_terminal(100.0)
    os.close(master)
    process.wait()
    assert session.gone_with(101.0) == "session"


def test_without_a_terminal_nothing_can_hang_up() -> None:
    process = subprocess.Popen(SLEEP, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        session = Session(process.pid)
        session.check_terminal(100.0)
    finally:
        process.kill()
        process.wait()
    assert session.gone_with(100.5) == ""
    assert session.state()["terminal"] == ""


def test_nohup_does_not_hear_it() -> None:
    master, slave = pty.openpty()
    process = _on(slave, ["/usr/bin/nohup", *SLEEP])
    try:
        for _ in range(200):
            session = Session(process.pid)
            if session.state()["terminal"] == "":
                break
        else:
            pytest.skip("nohup did not start")
    finally:
        process.kill()
        process.wait()
        os.close(master)


def box(root: Path, boot: str, first: int) -> str:
    """A /proc with a boot id and a first process."""
    kernel = root / "sys/kernel/random"
    kernel.mkdir(parents=True, exist_ok=True)
    (kernel / "boot_id").write_text(f"{boot}\n")
    (root / "1").mkdir(exist_ok=True)
    fields = ["S", "0", "1", "1", "0", *["0"] * 14, str(first), *["0"] * 31]
    (root / "1/stat").write_text(f"1 (init) {' '.join(fields)}\n")
    return str(root)


def test_another_boot_and_another_container(tmp_path: Path) -> None:
    saved = Session(4711, root=box(tmp_path, "aaaa", 10)).state()
    assert Session(4711, saved, root=str(tmp_path)).gone_with(1.0) == ""
    assert Session(4711, saved, root=box(tmp_path, "aaaa", 99)).gone_with(1.0) == "container"
    assert Session(4711, saved, root=box(tmp_path, "bbbb", 99)).gone_with(1.0) == "box"


@pytest.mark.parametrize("saved", [{}, {"boot": "", "first": 0}, {"boot": None}])
def test_a_store_that_knows_nothing_proves_nothing(
    tmp_path: Path, saved: dict[str, object]
) -> None:
    session = Session(4711, saved, root=str(tmp_path / "nothing"))
    session.check_terminal(1.0)
    assert session.gone_with(1.0) == ""
