"""Processes of a run: real trees that fork, stop, die and daemonise, and trees on disk."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.config.run_spec import Rank, RunSpec
from middlewatch.daemon.sources import processes as module
from middlewatch.daemon.sources.main_end import EXIT_FILE_READS
from middlewatch.daemon.sources.processes import Processes
from middlewatch.daemon.system import procfs
from middlewatch.daemon.system.listing import FRESH_S, Listing
from middlewatch.sentinels.kit import Observation, ProcessEnded, ProcessesSeen, ProcessSample

from ...fakes.clock import FakeClock

pytestmark = pytest.mark.usefixtures("with_and_without_descriptors")
STAT = (
    "{pid} ({name}) {state} {ppid} 1 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 {threads} 0 {ticks}"
    " 1000000 250 1 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 {status}\n"
)


class FakeProc:
    """A /proc on disk. A process that leaves is emptied: an open descriptor sees that."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.parents: dict[int, int | None] = {}

    def put(
        self,
        pid: int,
        ppid: int = 1,
        *,
        state: str = "S",
        ticks: int = 100,
        name: str = "python",
        threads: int = 1,
        status: int = 0,
        env: str = "",
        listed: bool = True,
    ) -> None:
        home = self.root / str(pid)
        (home / "task" / str(pid)).mkdir(parents=True, exist_ok=True)
        (home / "stat").write_text(STAT.format(**locals()))
        (home / "environ").write_text(env.replace(" ", "\0"))
        (home / "io").write_text("rchar: 10\nwchar: 20\nread_bytes: 30\nwrite_bytes: 40\n")
        (home / "wchan").write_text("futex_do_wait")
        (home / "task" / str(pid) / "children").touch()
        if self.parents.get(pid) != ppid:
            self.list_children(self.parents.get(pid), without=pid)
            self.parents[pid] = ppid if listed else None
            self.list_children(self.parents[pid])

    def list_children(self, ppid: int | None, without: int | None = None) -> None:
        file = self.root / str(ppid) / "task" / str(ppid) / "children"
        if file.exists():
            there = [
                pid for pid, parent in self.parents.items() if parent == ppid and pid != without
            ]
            file.write_text(" ".join(map(str, there)))

    def drop(self, pid: int) -> None:
        home = self.root / str(pid)
        (home / "stat").write_text("")
        for path in sorted(home.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        home.rmdir()


@pytest.fixture
def box(tmp_path: Path) -> FakeProc:
    root = tmp_path / "proc"
    root.mkdir()
    return FakeProc(root)


@pytest.fixture
def watch(box: FakeProc) -> Iterator[Callable[..., Processes]]:
    made: list[Processes] = []

    def make(pid: int | None = 10, **spec: object) -> Processes:
        made.append(Processes(RunSpec("run", pid=pid, **spec), str(box.root)))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for source in made:
        source.close()
        source.close()


def look(
    source: Processes, now: float = 1.0
) -> tuple[list[ProcessEnded], dict[int, ProcessSample]]:
    seen: list[Observation] = list(source.read(now))
    (last,) = [o for o in seen if isinstance(o, ProcessesSeen)]
    assert seen[-1] is last
    ended = [o for o in seen if isinstance(o, ProcessEnded)]
    return ended, {sample.pid: sample for sample in last.processes}


def looks(source: Processes, times: int) -> tuple[list[ProcessEnded], dict[int, ProcessSample]]:
    ended: list[ProcessEnded] = []
    samples: dict[int, ProcessSample] = {}
    for _ in range(times):
        more, samples = look(source)
        ended += more
    return ended, samples


def test_nothing_without_a_pid(watch: Callable[..., Processes]) -> None:
    assert list(watch(None).read(1.0)) == []


def test_main_and_descendants(box: FakeProc, watch: Callable[..., Processes]) -> None:
    box.put(10)
    box.put(11, 10, env="RANK=0 LOCAL_RANK=0")
    box.put(12, 11, env="RANK=0 LOCAL_RANK=0")
    box.put(99)
    ended, samples = look(watch())
    assert ended == []
    assert set(samples) == {10, 11, 12}
    assert (samples[11].rank, samples[12].rank, samples[10].rank) == (0, None, None)
    first = samples[10]
    assert (first.read_bytes, first.write_bytes) == (10, 20)
    assert (first.wchan, first.state, first.start_ticks) == ("futex_do_wait", "S", 100)


def test_the_same_command_is_known_and_a_copy_of_its_parent_is_none(
    box: FakeProc, watch: Callable[..., Processes]
) -> None:
    box.put(10)
    (box.root / "10" / "cmdline").write_bytes(b"bash\0loop.sh\0")
    source = watch()

    def started(pid: int, ppid: int, *words: str) -> None:
        box.put(pid, ppid)
        (box.root / str(pid) / "cmdline").write_bytes("\0".join([*words, ""]).encode())

    started(11, 10, "python", "train.py", "--lr=\xff")
    started(12, 11, "python", "train.py", "--lr=\xff")
    _, samples = looks(source, 6)
    assert samples[11].program is not None
    assert samples[12].program is None, "a worker that was forked"
    box.drop(12)
    box.drop(11)
    ended, _ = looks(source, 2)
    assert {e.pid: e.program for e in ended} == {11: samples[11].program, 12: None}
    started(13, 10, "python", "train.py", "--lr=\xff")
    started(14, 10, "python", "train.py", "--lr=1")
    _, again = looks(source, 6)
    assert again[13].program == samples[11].program != again[14].program


def test_a_launcher_with_the_rank_of_its_node_gives_way(
    box: FakeProc, watch: Callable[..., Processes]
) -> None:
    box.put(10, env="RANK=0 WORLD_SIZE=1")
    for local in range(2):
        box.put(20 + local, 10, env=f"RANK={local} LOCAL_RANK={local}")
    _, samples = look(watch())
    assert {pid: s.rank for pid, s in samples.items()} == {10: None, 20: 0, 21: 1}


def test_given_ranks_are_believed(box: FakeProc, watch: Callable[..., Processes]) -> None:
    box.put(10)
    box.put(11, 1, env="RANK=7")
    _, samples = look(watch(ranks=(Rank(11, 100, 2),)))
    assert samples[11].rank == 2


def test_dear_figures_come_now_and_then_or_on_request(
    box: FakeProc, watch: Callable[..., Processes]
) -> None:
    box.put(10)
    source = watch()
    got = [look(source)[1][10].read_bytes for _ in range(module.CLOSER_EVERY + 1)]
    assert got == [10, *([None] * (module.CLOSER_EVERY - 1)), 10]
    source.closer_look = True
    assert look(source)[1][10].wchan == "futex_do_wait"


def test_bytes_of_sockets_are_counted_while_a_silence_is_judged() -> None:
    source = Processes(RunSpec("gpt", pid=os.getpid()))
    try:
        assert look(source)[1][os.getpid()].socket_bytes is None
        source.closer_look = True
        counted = [
            look(source)[1][os.getpid()].socket_bytes is not None
            for _ in range(2 * module.SOCKETS_EVERY)
        ]
        assert sum(counted) == 2
        source.closer_look = False
        assert look(source)[1][os.getpid()].socket_bytes is None
    finally:
        source.close()


def test_new_children_are_found_also_those_of_other_threads(
    box: FakeProc, watch: Callable[..., Processes]
) -> None:
    box.put(10)
    source = watch()
    looks(source, 2)
    box.put(11, 10)
    assert 11 in looks(source, module.TREE_EVERY)[1]
    box.put(12, 10, listed=False)
    assert 12 in looks(source, module.TREE_EVERY)[1]


def test_children_are_found_where_the_kernel_does_not_list_them(
    box: FakeProc, watch: Callable[..., Processes]
) -> None:
    box.put(10)
    box.put(11, 10)
    box.put(12, 11)
    box.put(50)
    for path in box.root.rglob("children"):
        path.unlink()
    assert set(look(watch())[1]) == {10, 11, 12}


def test_a_reused_pid_is_gone(box: FakeProc, watch: Callable[..., Processes]) -> None:
    box.put(10)
    box.put(11, 10)
    source = watch(start_ticks=100)
    look(source)
    box.put(11, 1, ticks=500)
    ended, samples = look(source)
    assert [(e.pid, e.main, e.exit_code, e.signal) for e in ended] == [(11, False, None, None)]
    assert set(samples) == {10}
    box.put(10, 1, ticks=500)
    ended, samples = look(source)
    assert [(e.pid, e.main) for e in ended] == [(10, True)]
    assert samples == {}


def test_reused_before_the_first_look(box: FakeProc, watch: Callable[..., Processes]) -> None:
    box.put(10, ticks=500)
    box.put(11, ticks=500)
    ended, samples = look(watch(start_ticks=100, ranks=(Rank(11, 100, 1),)))
    assert [(e.pid, e.main, e.rank) for e in ended] == [(11, False, 1), (10, True, None)]
    assert samples == {}


def test_orphans_are_kept(box: FakeProc, watch: Callable[..., Processes]) -> None:
    box.put(10)
    box.put(11, 10)
    source = watch()
    look(source)
    box.drop(10)
    box.put(11, 1)
    ended, samples = look(source)
    assert [(e.pid, e.main, e.name) for e in ended] == [(10, True, "python")]
    assert set(samples) == {11}
    ended, samples = looks(source, 7)
    assert ended == []
    assert set(samples) == {11}


def test_a_zombie_has_ended_and_is_told_once(
    box: FakeProc, watch: Callable[..., Processes]
) -> None:
    box.put(10)
    box.put(11, 10, env="RANK=4")
    source = watch()
    look(source)
    box.put(11, 10, state="Z", status=9)
    ended, samples = looks(source, 12)
    assert [(e.pid, e.signal, e.exit_code, e.rank) for e in ended] == [(11, 9, None, 4)]
    assert set(samples) == {10}


def test_a_process_whose_first_thread_left_goes_on(
    box: FakeProc, watch: Callable[..., Processes]
) -> None:
    box.put(10, state="Z", threads=3)
    ended, samples = look(watch())
    assert ended == []
    assert samples[10].state == "Z"


@pytest.mark.parametrize(
    ("status", "code", "number"), [(0, 0, None), (256, 1, None), (9, None, 9), (139, None, 11)]
)
def test_status_of_a_main_zombie(
    box: FakeProc,
    watch: Callable[..., Processes],
    status: int,
    code: int | None,
    number: int | None,
) -> None:
    box.put(10, state="Z", status=status)
    ended, _ = looks(watch(), 3)
    assert [(e.main, e.exit_code, e.signal) for e in ended] == [(True, code, number)]


def exit_record(
    pid: int = 10, ticks: int = 100, code: int | None = 0, number: int | None = None
) -> str:
    ending = {"pid": pid, "start_ticks": ticks, "exit_code": code, "signal": number}
    times = {"core": False, "started_at": 1.0, "ended_at": 5.0, "max_rss_bytes": 0}
    return json.dumps({**ending, **times})


def test_the_exit_file_is_waited_for(
    box: FakeProc, watch: Callable[..., Processes], tmp_path: Path
) -> None:
    file = tmp_path / "exit.json"
    file.write_bytes(b" " * 100 + b"\0" * 100)
    box.put(10)
    source = watch(exit_file=str(file))
    look(source)
    box.drop(10)
    assert looks(source, 3)[0] == []
    file.write_text(exit_record(code=3) + " \n\0\0")
    ended, _ = looks(source, 5)
    assert [(e.main, e.exit_code, e.signal) for e in ended] == [(True, 3, None)]


def test_an_exit_file_that_comes_too_late_corrects(
    box: FakeProc, watch: Callable[..., Processes], tmp_path: Path
) -> None:
    file = tmp_path / "exit.json"
    box.put(10)
    source = watch(exit_file=str(file))
    look(source)
    box.drop(10)
    ended, _ = looks(source, EXIT_FILE_READS + 1)
    assert [(e.exit_code, e.signal) for e in ended] == [(None, None)]
    file.write_text(exit_record(code=None, number=9))
    ended, _ = looks(source, 3)
    assert [(e.main, e.exit_code, e.signal) for e in ended] == [(True, None, 9)]


def test_an_end_while_nobody_watched_is_told_at_once(
    box: FakeProc, watch: Callable[..., Processes], tmp_path: Path
) -> None:
    file = tmp_path / "exit.json"
    file.write_text(exit_record(code=1))
    ended, samples = look(watch(exit_file=str(file), start_ticks=100))
    assert [(e.main, e.exit_code) for e in ended] == [(True, 1)]
    assert samples == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0\0",
        "{",
        "[]",
        "null",
        '{"pid": 10}',
        exit_record(ticks=7),
        exit_record(pid=11),
        "[" * 90000,
    ],
)
def test_other_exit_files_do_not_count(
    box: FakeProc, watch: Callable[..., Processes], tmp_path: Path, text: str
) -> None:
    file = tmp_path / "exit.json"
    file.write_text(text)
    ended, _ = looks(watch(exit_file=str(file), start_ticks=100), 5)
    assert [(e.main, e.exit_code, e.signal) for e in ended] == [(True, None, None)]


def test_the_number_of_processes_is_bounded(box: FakeProc, watch: Callable[..., Processes]) -> None:
    box.put(10)
    for pid in range(1000, 1000 + module.MOST + 20):
        box.put(pid, 10)
    source = watch()
    assert len(look(source)[1]) == module.MOST
    assert source.left_out == 21


# -- real processes ---------------------------------------------------------------------


def start(code: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-I", "-S", "-c", code]
    return subprocess.Popen(argv, start_new_session=True, stdout=subprocess.PIPE)


@contextlib.contextmanager
def running(code: str) -> Iterator[subprocess.Popen[bytes]]:
    child = start(code)
    try:
        assert child.stdout
        child.stdout.readline()
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        assert child.stdout
        child.stdout.close()


def until(
    source: Processes, wanted: Callable[[list[ProcessEnded], dict[int, ProcessSample]], bool]
) -> None:
    ended: list[ProcessEnded] = []
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        more, samples = look(source)
        ended += more
        if wanted(ended, samples):
            return
        time.sleep(0.01)
    pytest.fail(f"not seen; ended {ended}")


TREE = """
import os, time
for _ in range(2):
    if not os.fork():
        os.fork()
        time.sleep(60)
print(flush=True)
time.sleep(60)
"""


def test_a_real_tree_that_stops_and_dies() -> None:
    with (
        running(TREE) as child,
        contextlib.closing(Processes(RunSpec("x", pid=child.pid))) as source,
    ):
        until(
            source, lambda ended, seen: len(seen) == 5 and {s.state for s in seen.values()} == {"S"}
        )
        source.closer_look = True
        sample = look(source)[1][child.pid]
        assert sample.read_bytes is not None
        assert sample.rss_bytes
        os.kill(child.pid, signal.SIGSTOP)
        until(source, lambda ended, seen: seen[child.pid].state == "T")
        os.kill(child.pid, signal.SIGKILL)
        # A zombie until we reap it: its status can be read from the kernel.
        until(source, lambda ended, seen: [(e.main, e.signal) for e in ended] == [(True, 9)])
        assert len(look(source)[1]) == 4


def test_a_real_main_that_was_reaped_leaves_its_daemon() -> None:
    code = """
import os, time
if not os.fork():
    os.setsid()
    print(os.getpid(), flush=True)
    time.sleep(60)
time.sleep(60)
"""
    child = start(code)
    assert child.stdout
    daemon = int(child.stdout.readline())
    try:
        with contextlib.closing(Processes(RunSpec("x", pid=child.pid))) as source:
            until(source, lambda ended, seen: set(seen) == {child.pid, daemon})
            child.kill()
            child.wait()
            ended, samples = look(source)
            (end,) = ended
            assert (end.main, end.exit_code) == (True, None)
            # older kernels keep the status to its parent
            assert end.signal in (signal.SIGKILL, None)
            assert set(samples) == {daemon}
            os.kill(daemon, signal.SIGKILL)
            until(source, lambda ended, seen: [(e.pid, e.main) for e in ended] == [(daemon, False)])
            assert look(source) == ([], {})
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(daemon, signal.SIGKILL)
        child.kill()
        child.wait()
        child.stdout.close()


def test_what_has_left_the_tree_is_known_by_its_environment(
    box: FakeProc, watch: Callable[..., Processes]
) -> None:
    mine = "MIDDLEWATCH_RUN=/state/x/exit.json"
    box.put(10, env=mine)
    box.put(20, env=f"A=1 {mine}", name="tmux: server")
    box.put(21, 20, env=mine)
    box.put(30, env="MIDDLEWATCH_RUN=/state/y/exit.json")
    box.put(31, env=mine, ticks=99, name="an earlier run with the same file")
    box.put(32, env=mine, name="our daemon")
    (box.root / "32" / "cmdline").write_text("python\0-m\0middlewatch.daemon\0")
    source = watch(exit_file="/state/x/exit.json", start_ticks=100)
    assert set(look(source)[1]) == {10, 20, 21}
    assert set(look(watch(start_ticks=100))[1]) == {10}, "a run of somebody else has no variable"
    box.put(40, env=mine, ticks=200)
    assert set(looks(source, module.TREE_EVERY + 1)[1]) == {10, 20, 21, 40}


def started(
    box: FakeProc, tmp_path: Path, code: int = 0, seconds: float = 0.2
) -> dict[str, object]:
    """A run whose start script has ended and left ``python train.py`` behind; its spec."""
    file = tmp_path / "exit.json"
    record = {"pid": 10, "start_ticks": 100, "exit_code": code, "signal": None, "core": False}
    times = {"started_at": 1000.0, "ended_at": 1000.0 + seconds, "max_rss_bytes": 1}
    file.write_text(json.dumps({**record, **times}))
    for pid, words in ((20, "bash"), (21, "python\0train.py"), (22, "python\0-m\0tensorboard")):
        box.put(pid, env=f"MIDDLEWATCH_RUN={file}")
        (box.root / str(pid) / "cmdline").write_text(words + "\0")
    return {"exit_file": str(file), "start_ticks": 100}


def test_a_start_script_hands_over_to_the_program_that_it_has_left(
    box: FakeProc, watch: Callable[..., Processes], tmp_path: Path
) -> None:
    source = watch(**started(box, tmp_path))
    ended, samples = looks(source, 10)
    assert (ended, set(samples)) == ([], {20, 21, 22})
    box.drop(21)
    ended, _ = looks(source, EXIT_FILE_READS + 2)
    assert [(e.pid, e.main, e.exit_code) for e in ended] == [(21, True, None)]


@pytest.mark.parametrize(("code", "seconds"), [(1, 0.2), (0, 4000.0)])
def test_what_failed_or_ran_for_long_was_the_run_itself(
    box: FakeProc, watch: Callable[..., Processes], tmp_path: Path, code: int, seconds: float
) -> None:
    ended, _ = looks(watch(**started(box, tmp_path, code, seconds)), 2)
    assert [(e.pid, e.main, e.exit_code) for e in ended] == [(10, True, code)]


def test_servers_that_are_left_do_not_go_on_as_the_run(
    box: FakeProc, watch: Callable[..., Processes], tmp_path: Path
) -> None:
    spec = started(box, tmp_path)
    box.drop(21)
    ended, _ = looks(watch(**spec), EXIT_FILE_READS + 2)
    assert [(e.pid, e.main, e.exit_code) for e in ended] == [(10, True, 0)]


def open_files() -> set[tuple[str, str]]:
    """(descriptor, what it is) of this process."""
    found = set()
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # that of the list itself
            found.add((fd, os.readlink(f"/proc/self/fd/{fd}")))
    return found


def test_no_descriptor_is_left_open() -> None:
    with running(TREE) as child:
        before = open_files()
        source = Processes(RunSpec("x", pid=child.pid))
        looks(source, 12)
        source.close()
        # What another test has left open may be closed meanwhile: where descriptors are scarce, it is.
        assert open_files() - before == set()


HIDDEN = """
import ctypes, os, sys
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.sources.processes import Processes
if ctypes.CDLL(None, use_errno=True).mount(b"proc", b"/proc", b"proc", 0, b"hidepid=%d" % int(sys.argv[1])):
    sys.exit("no mount")
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
try:
    list(Processes(RunSpec("x", pid=int(sys.argv[2]))).read(1.0))
except PermissionError as error:
    print(error)
"""


@pytest.mark.system
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount proc with hidepid")
@pytest.mark.parametrize("level", ["1", "2"])
def test_a_hidden_process_is_said_to_be_hidden(level: str) -> None:
    done = subprocess.run(
        ["unshare", "-m", sys.executable, "-c", HIDDEN, level, str(os.getpid())],
        capture_output=True,
        text=True,
        check=False,
    )
    if "no mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip(f"proc cannot be mounted here: {done.stderr.strip()}")
    assert "is hidden from us" in done.stdout, done.stderr


COVERED = """
import ctypes, sys
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.sources.processes import Processes
if ctypes.CDLL(None, use_errno=True).mount(b"none", b"/proc", b"tmpfs", 0, None):
    sys.exit("no mount")
try:
    print(list(Processes(RunSpec("x", pid=int(sys.argv[1]))).read(1.0)))
except PermissionError as error:
    print(error)
"""


@pytest.mark.system
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount over /proc")
def test_a_process_that_takes_signals_but_has_no_directory_is_hidden() -> None:
    done = subprocess.run(
        ["unshare", "-m", sys.executable, "-c", COVERED, str(os.getpid())],
        capture_output=True,
        text=True,
        check=False,
    )
    if "no mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip(f"/proc cannot be covered here: {done.stderr.strip()}")
    assert "is hidden from us" in done.stdout, done.stdout + done.stderr


def test_a_second_of_ten_processes_is_cheap() -> None:
    code = TREE.replace("range(2)", "range(4)")
    with (
        running(code) as child,
        contextlib.closing(Processes(RunSpec("x", pid=child.pid))) as source,
    ):
        until(source, lambda ended, seen: len(seen) == 9)
        began = time.process_time()
        for _ in range(60):
            list(source.read(1.0))
        # About 180 µs on a slow core; a bound that only a change of method can break.
        assert (time.process_time() - began) / 60 < 0.002
    assert procfs.stat(child.pid) is None


def test_runs_share_one_listing_of_the_box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted are listings of /proc and reads of the processes of others, for twenty runs."""
    clock, fake = FakeClock(), FakeProc(tmp_path)
    mains, others = range(100, 120), range(1000, 1050)
    for pid in (*mains, *others):
        fake.put(pid)
    listed: list[str] = []
    looked: list[int] = []
    pids, stat = procfs.pids, procfs.stat

    def list_all(root: str) -> list[int]:
        listed.append(root)
        return pids(root)

    def look_at(pid: int, root: str) -> procfs.Stat | None:
        looked.append(pid)
        return stat(pid, root)

    monkeypatch.setattr(procfs, "pids", list_all)
    monkeypatch.setattr(procfs, "stat", look_at)
    shared = Listing(clock, str(tmp_path))
    runs = [
        Processes(RunSpec(name="r", pid=pid, start_ticks=100), str(tmp_path), shared)
        for pid in mains
    ]
    for run in runs:
        list(run.read(0.0))
    assert len(listed) == 1
    assert sorted(pid for pid in looked if pid in others) == list(others)
    fake.put(2000, ppid=mains[0], listed=False)
    clock.jump(FRESH_S)
    _, samples = looks(runs[0], module.TREE_EVERY)
    assert len(listed) == 2, "an old listing is not used"
    assert 2000 in samples
    for run in runs:
        run.close()
