"""The readers of /proc: the real one, trees on disk, and any bytes at all."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.system import procfs

STAT = (
    "{pid} ({name}) {state} {ppid} 1 1 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 {threads} 0 {ticks}"
    " 1000000 250 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 {status}\n"
)


def line(
    pid: int = 7,
    name: str = "python",
    state: str = "S",
    ppid: int = 1,
    ticks: int = 999,
    threads: int = 1,
    status: int = 0,
) -> bytes:
    return STAT.format(**locals()).encode()


@pytest.mark.parametrize("name", ["python", "a b", "((", "x) S 9 (y", "", ") Z 1"])
def test_any_name_is_read(name: str) -> None:
    seen = procfs.parse_stat(line(name=name))
    assert seen is not None
    assert (seen.name, seen.state, seen.ppid, seen.start_ticks) == (name, "S", 1, 999)
    assert seen.cpu_s == pytest.approx(200 / os.sysconf("SC_CLK_TCK"))
    assert seen.rss_bytes == 250 * os.sysconf("SC_PAGE_SIZE")


@given(st.binary(max_size=400))
def test_garbage_is_no_stat_line(data: bytes) -> None:
    seen = procfs.parse_stat(data)
    assert seen is None or seen.state


@given(st.binary(max_size=200), st.binary(max_size=20))
def test_number_takes_any_bytes(data: bytes, name: bytes) -> None:
    found = procfs.number(data, name)
    assert found is None or found >= 0


def test_number_stands_after_a_whole_name_at_the_start_of_a_line() -> None:
    data = b"total_x 1\nx 22\nx_y 3\nword max\n"
    assert procfs.number(data, b"x ") == 22
    assert procfs.number(data, b"total_x ") == 1
    assert procfs.number(data, b"y ") is None
    assert procfs.number(data, b"word ") is None
    assert procfs.number(b"", b"x ") is None


@pytest.mark.parametrize(
    ("state", "threads", "ended"), [("Z", 1, True), ("Z", 5, False), ("S", 1, False)]
)
def test_a_first_thread_that_left_is_no_end(state: str, threads: int, ended: bool) -> None:
    seen = procfs.parse_stat(line(state=state, threads=threads))
    assert seen is not None
    assert seen.ended is ended


def test_our_own_process() -> None:
    me = os.getpid()
    seen = procfs.stat(me)
    assert seen is not None
    assert (seen.pid, seen.ppid) == (me, os.getppid())
    assert seen.rss_bytes > 1 << 20
    assert seen.cpu_s > 0
    io = procfs.io(me)
    assert io is not None
    assert io.rchar > 0
    assert (procfs.voluntary_switches(me) or -1) >= 0
    assert procfs.cmdline(me)
    assert me in procfs.pids()


def test_children_and_environment_of_a_real_child() -> None:
    env = {**os.environ, "RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "8"}
    with subprocess.Popen(["sleep", "30"], env=env) as child:
        try:
            deadline = time.monotonic() + 5
            while procfs.cmdline(child.pid) != ("sleep", "30") and time.monotonic() < deadline:
                time.sleep(0.005)
            assert procfs.ranks(child.pid) == (3, 1, 8)
            assert child.pid in (procfs.children(os.getpid()) or ())
            assert child.pid in (procfs.children(os.getpid(), all_threads=False) or ())
            while procfs.wchan(child.pid) is None and time.monotonic() < deadline:
                time.sleep(0.005)
            assert "sleep" in (procfs.wchan(child.pid) or "sleep")
        finally:
            child.kill()


def test_what_is_gone_is_none() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    pid = child.pid
    assert procfs.stat(pid) is None
    assert procfs.io(pid) is None
    assert procfs.voluntary_switches(pid) is None
    assert procfs.wchan(pid) is None
    assert procfs.children(pid) is None
    assert procfs.cmdline(pid) == ()
    assert procfs.ranks(pid) == (None, None, None)


def test_a_kept_file_belongs_to_the_process_not_to_the_pid() -> None:
    child = subprocess.Popen(["sleep", "30"])
    file = procfs.KeptFile(f"/proc/{child.pid}/stat")
    try:
        assert procfs.parse_stat(file.read())
        assert procfs.parse_stat(file.read())
        child.kill()
        child.wait()
        with pytest.raises(ProcessLookupError):
            file.read()
    finally:
        file.close()
        file.close()


@pytest.mark.parametrize(("code", "status"), [("raise SystemExit(3)", 3 << 8), ("pass", 0)])
def test_exit_status_of_a_real_zombie(code: str, status: int) -> None:
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", code])
    try:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        seen = procfs.stat(child.pid)
        assert seen is not None
        assert seen.ended
        assert procfs.exit_status(seen) == status
    finally:
        child.wait()


def test_environment_with_odd_values(tmp_path: Path) -> None:
    (tmp_path / "5").mkdir()
    (tmp_path / "5/environ").write_bytes(
        b"XRANK=1\0RANK=\0LOCAL_RANK=-1\0WORLD_SIZE=4\0WORLD_SIZE=5\0RANK=99999999999\0\xff=\xff"
    )
    assert procfs.ranks(5, str(tmp_path)) == (None, None, 4)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", ()),
        (b"a\0b c\0", ("a", "b c")),
        (b"a\0\0", ("a", "")),
        (b"\xff\0", ("\udcff",)),
        (b"x", ("x",)),
    ],
)
def test_command_lines(tmp_path: Path, data: bytes, words: tuple[str, ...]) -> None:
    (tmp_path / "5").mkdir()
    (tmp_path / "5/cmdline").write_bytes(data)
    assert procfs.cmdline(5, str(tmp_path)) == words
