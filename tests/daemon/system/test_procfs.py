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
    assert procfs.cmdline(me)
    assert me in procfs.pids()


def test_children_and_environment_of_a_real_child() -> None:
    env = {**os.environ, "RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "8"}
    with subprocess.Popen(["sleep", "30"], env=env) as child:
        try:
            deadline = time.monotonic() + 120
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
    assert procfs.wchan(pid) is None
    assert procfs.children(pid) is None
    assert procfs.cmdline(pid) == ()
    assert procfs.ranks(pid) == (None, None, None)


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


def test_the_first_of_two_variables_counts_as_for_getenv(tmp_path: Path) -> None:
    (tmp_path / "5").mkdir()
    (tmp_path / "5/environ").write_bytes(b"A=1\0A=2\0B=\0=x\0junk\0C=\xff\0")
    assert procfs.environ(5, str(tmp_path)) == {"A": "1", "B": "", "C": "\udcff"}
    assert procfs.environ(6, str(tmp_path)) == {}


def test_identity_terminal_and_hangup(tmp_path: Path) -> None:
    home = tmp_path / "5"
    home.mkdir()
    (home / "stat").write_bytes(line(pid=5, ticks=77).replace(b" 1 1 0 -1 ", b" 4 3 34817 -1 "))
    (home / "status").write_text("Name:\tx\nSigIgn:\t0000000000000001\nSigCgt:\t0\n")
    root = str(tmp_path)
    assert procfs.start_ticks(5, root) == 77
    assert procfs.terminal(5, root) == (3, 34817)
    assert procfs.ignores_hangup(5, root)
    (home / "stat").write_bytes(line(pid=5, state="Z"))
    (home / "status").write_text("SigIgn:\t0000000000000002\n")
    assert procfs.start_ticks(5, root) is None, "it has ended"
    assert not procfs.ignores_hangup(5, root)
    assert (procfs.start_ticks(6, root), procfs.terminal(6, root)) == (None, None)
    assert not procfs.ignores_hangup(6, root)


def test_this_process_and_this_box() -> None:
    me = os.getpid()
    assert procfs.owner(me) == os.geteuid()
    assert procfs.shares_root(me)
    assert procfs.cwd(me) == os.getcwd()
    assert os.path.samefile(procfs.exe(me), sys.executable)
    assert procfs.exists(me)
    began = procfs.boot_time() + (procfs.start_ticks(me) or 0) * procfs.TICK_S
    assert began <= time.time() + 2
    assert (procfs.uptime_s() or 0.0) > 0


def test_boot_and_routes_of_a_tree(tmp_path: Path) -> None:
    root = str(tmp_path)
    assert (procfs.boot_id(root), procfs.boot_time(root), procfs.uptime_s(root)) == ("", 0.0, None)
    assert procfs.default_routes(root) == set()
    for name, text in (
        ("sys/kernel/random/boot_id", "b00t\n"),
        ("stat", "cpu 1 2\nbtime 1700000000\n"),
        ("uptime", "12.5 3\n"),
        (
            "net/route",
            "Iface\tDestination\neth0\t00000000\t01\nlo\t00000000\t0\neth1\t0000FEA9\t0\n",
        ),
        ("net/ipv6_route", f"{'0' * 32} 00 {'0' * 32} 00 x wlan0\nfe80 40 0 0 x eth1\n"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert (procfs.boot_id(root), procfs.boot_time(root)) == ("b00t", 1700000000.0)
    assert procfs.uptime_s(root) == 12.5
    assert procfs.default_routes(root) == {"eth0", "wlan0"}


def test_a_file_longer_than_a_page_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(bytes(range(256)) * 1000)
    assert procfs.read_file(str(path), 1 << 20) == path.read_bytes()
    assert procfs.read_file(str(path), 100_001) == path.read_bytes()[:100_001]
    assert procfs.read_file(str(path), 10) == path.read_bytes()[:10]
    assert procfs.read_or_none(str(tmp_path / "none")) is None
