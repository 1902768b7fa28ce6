from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.launch import supervisor
from middlewatch.daemon.launch.exit_record import ExitRecord, read_exit
from middlewatch.daemon.launch.handshake import pack
from middlewatch.daemon.launch.start import Launched, launch, line_buffered, safe_name
from middlewatch.daemon.system.errors import UsageError

T = TypeVar("T")


def until(look: Callable[[], T | None], seconds: float = 120.0) -> T:
    deadline = time.monotonic() + seconds
    while True:
        answer = look()
        if answer:
            return answer
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def lives(pid: int) -> bool:
    """Not gone and not a zombie (nobody reaps orphans in some containers)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


Start = Callable[..., Launched]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Launched] = []

    def begin(command: Sequence[str], name: str = "toy", **options: Any) -> Launched:
        options.setdefault("log", tmp_path / "logs" / f"{name}.log")
        options.setdefault("cwd", tmp_path)
        launched = launch(command, name=name, exit_file=tmp_path / name / "exit.json", **options)
        started.append(launched)
        return launched

    yield begin
    for one in started:
        for pid in (one.pid, one.supervisor_pid):
            if lives(pid):
                with contextlib.suppress(OSError):
                    os.killpg(pid, signal.SIGKILL) if pid == one.pid else os.kill(pid, 9)
        Path(supervisor.spare_path(one.exit_file)).unlink(missing_ok=True)


def ended(one: Launched) -> ExitRecord:
    return until(lambda: read_exit(one.exit_file))


def text(one: Launched) -> str:
    return Path(one.log).read_text()


def test_the_exit_code_and_the_output_are_kept(start: Start) -> None:
    one = start(["sh", "-c", "echo out; echo err >&2; exit 3"])
    record = ended(one)
    assert (record.exit_code, record.signal, record.core) == (3, None, False)
    assert (record.pid, record.start_ticks) == (one.pid, one.start_ticks)
    assert 0 < record.ended_at - record.started_at < 10
    assert record.max_rss_bytes > 100_000
    assert text(one) == "out\nerr\n"
    assert one.via == "setsid"


def test_the_exit_file_is_one_page_before_and_after(start: Start) -> None:
    one = start(["sleep", "0.2"])
    assert Path(one.exit_file).read_bytes().strip() == b""
    assert Path(one.exit_file).stat().st_size == supervisor.RECORD_BYTES
    assert read_exit(one.exit_file) is None
    ended(one)
    assert Path(one.exit_file).stat().st_size == supervisor.RECORD_BYTES
    assert json.loads(Path(one.exit_file).read_text())["exit_code"] == 0


def test_a_signal_is_kept(start: Start) -> None:
    record = ended(start(["sh", "-c", "kill -9 $$"]))
    assert (record.exit_code, record.signal) == (None, 9)


def test_the_last_part_of_a_pipeline_decides_as_the_shell_says(start: Start) -> None:
    assert ended(start(["sh", "-c", "echo x | false"])).exit_code == 1


def test_the_log_is_appended_to(start: Start) -> None:
    ended(start(["echo", "one"]))
    second = start(["echo", "two"])
    ended(second)
    assert text(second) == "one\ntwo\n"


def test_a_missing_command_is_told_at_once(start: Start, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot start no-such-thing: No such file"):
        start(["no-such-thing", "--lr", "1"])
    record = read_exit(str(tmp_path / "toy" / "exit.json"))
    assert record is not None
    assert (record.exit_code, record.pid) == (127, None)
    assert "cannot start 'no-such-thing'" in (tmp_path / "logs" / "toy.log").read_text()


def test_what_is_not_executable_is_126(start: Start, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("no program")
    with pytest.raises(UsageError, match="Permission denied"):
        start(["./data.txt"])
    record = read_exit(str(tmp_path / "toy" / "exit.json"))
    assert record is not None
    assert record.exit_code == 126


def test_a_script_without_an_interpreter_line_runs(start: Start, tmp_path: Path) -> None:
    script = tmp_path / "run me.sh"
    script.write_text('echo "got $1"\n')
    script.chmod(0o755)
    for buffering in (False, True):
        one = start(["./run me.sh", "a b"], name=f"s{buffering}", keep_buffering=buffering)
        ended(one)
        assert text(one) == "got a b\n"


def test_names_and_arguments_of_any_script(start: Start) -> None:
    one = start(["echo", "größe", "日本", "two\nlines"], name="läuft 日本")
    ended(one)
    assert text(one) == "größe 日本 two\nlines\n"


def test_the_environment_is_the_callers_and_output_is_not_held_back(start: Start) -> None:
    show = [sys.executable, "-c", "import os; print(os.environ['A'], 'x'); os.kill(os.getpid(), 9)"]
    env = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    one = start(show, env={**env, "A": "ä=b\nc"})
    ended(one)
    assert text(one) == "ä=b\nc x\n"
    kept = start(show, name="kept", env={**env, "A": "1"}, keep_buffering=True)
    ended(kept)
    assert text(kept) == ""  # what sat in the buffer died with the process


def test_a_large_environment_arrives(start: Start) -> None:
    big = {f"V{number}": "x" * 100_000 for number in range(12)}
    one = start(["sh", "-c", "echo ${#V0} ${#V11}"], env={"PATH": os.environ["PATH"], **big})
    ended(one)
    assert text(one) == "100000 100000\n"


def test_a_c_program_is_line_buffered_and_keeps_its_pid(start: Start, tmp_path: Path) -> None:
    if shutil.which("stdbuf") is None:
        pytest.skip("stdbuf is not installed")
    os.mkfifo(tmp_path / "in")
    one = start(["cut", "-c1-", "in"])
    with (tmp_path / "in").open("w") as pipe:
        print("step 1", file=pipe, flush=True)
        until(lambda: text(one) == "step 1\n")
        assert Path(f"/proc/{one.pid}/comm").read_text() == "cut\n"
    assert ended(one).exit_code == 0


def test_python_and_missing_commands_do_not_go_through_stdbuf(tmp_path: Path) -> None:
    script = tmp_path / "torchlike"
    script.write_text(f"#!{sys.executable}\n")
    script.chmod(0o755)
    env = {"PATH": os.environ["PATH"]}
    for command in ([sys.executable, "x.py"], ["./torchlike"], ["no-such-thing"]):
        assert line_buffered(command, tmp_path, env) == command
    assert line_buffered(["cat"], tmp_path, {"PATH": str(tmp_path)}) == ["cat"]


def test_stdin_is_empty_and_nothing_else_is_inherited(start: Start) -> None:
    one = start(["sh", "-c", "cat; ls /proc/$$/fd; readlink /proc/$$/fd/0; exec true"])
    ended(one)
    assert text(one).split() == ["0", "1", "2", "/dev/null"]


def test_signals_are_as_after_a_fresh_login(start: Start) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        one = start(["grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"])
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        signal.signal(signal.SIGHUP, before)
    ended(one)
    # glibc keeps two for itself, and its posix_spawn (in subprocess since 3.13) ignores one.
    known = sum(1 << (number - 1) for number in signal.valid_signals())
    assert [int(line.split()[1], 16) & known for line in text(one).splitlines()] == [0, 0]


def test_command_and_keeper_have_sessions_of_their_own_without_a_terminal(start: Start) -> None:
    one = start(["sleep", "20"])
    assert os.getsid(one.pid) == os.getpgid(one.pid) == one.pid
    assert os.getsid(one.supervisor_pid) not in (os.getsid(0), one.pid)
    fields = Path(f"/proc/{one.pid}/stat").read_text().rpartition(")")[2].split()
    assert fields[4] == "0"  # tty_nr
    fds = Path(f"/proc/{one.supervisor_pid}/fd")

    def only_null() -> bool:
        with contextlib.suppress(FileNotFoundError):  # closed while we look
            return {str(path.readlink()) for path in fds.iterdir()} == {"/dev/null"}
        return False

    until(only_null)


def test_both_survive_the_hangup_of_the_session(start: Start) -> None:
    one = start(["sh", "-c", "sleep 0.4; echo alive"])
    for signum in (signal.SIGHUP, signal.SIGINT, signal.SIGTSTP):
        os.kill(one.supervisor_pid, signum)
    assert ended(one).exit_code == 0
    assert text(one) == "alive\n"


def test_a_killed_keeper_costs_only_the_exit_status(start: Start) -> None:
    one = start(["sh", "-c", "sleep 0.4; echo still here"])
    os.kill(one.supervisor_pid, signal.SIGKILL)
    until(lambda: text(one) == "still here\n")
    until(lambda: not lives(one.pid))
    assert read_exit(one.exit_file) is None


def test_sigterm_goes_to_the_whole_group_and_is_written_down(start: Start) -> None:
    one = start(["sh", "-c", "trap 'echo saving; exit 7' TERM; echo ready; sleep 30 & wait"])
    until(lambda: text(one) == "ready\n")
    os.kill(one.supervisor_pid, signal.SIGTERM)
    record = ended(one)
    assert record.exit_code == 7
    assert "saving" in text(one)


def test_a_record_that_cannot_be_written_is_kept_in_memory(tmp_path: Path) -> None:
    """A limit on file sizes refuses the write, as a full disk does."""
    exit_file = str(tmp_path / "exit.json")
    code = (
        "import resource, signal, sys; sys.path.insert(0, sys.argv[1]); import supervisor\n"
        "supervisor.RETRIES_S = ()\n"
        "supervisor.reserve(sys.argv[2])\n"
        "whole = supervisor.write_whole\n"
        "def refused(path, data):\n"
        "    limit = 16 if path == sys.argv[2] else resource.RLIM_INFINITY\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))\n"
        "    return whole(path, data)\n"
        "supervisor.write_whole = refused\n"
        "supervisor.save(sys.argv[2], supervisor.record(supervisor.never_ran(9)))\n"
    )
    folder = str(Path(supervisor.__file__).parent)
    try:
        subprocess.run([sys.executable, "-I", "-c", code, folder, exit_file], check=True)
        record = read_exit(exit_file)
        assert record is not None
        assert record.exit_code == 9
    finally:
        Path(supervisor.spare_path(exit_file)).unlink(missing_ok=True)


@pytest.mark.system
def test_a_disk_that_fills_up_does_not_swallow_the_record(tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare to mount a small tmpfs")
    disk = tmp_path / "disk"
    disk.mkdir()
    code = (
        "import sys, time, pathlib\n"
        "from middlewatch.daemon.launch.start import launch\n"
        "from middlewatch.daemon.launch.exit_record import read_exit\n"
        "one = launch(['sh', '-c', 'cat /dev/zero > filler; exit 5'], name='full', log='l/run.log',"
        " exit_file='exit.json', cwd='.')\n"
        "end = time.monotonic() + 120\n"
        "while not read_exit(one.exit_file) and time.monotonic() < end: time.sleep(0.02)\n"
        "print(pathlib.Path('exit.json').read_text().strip()[:300])\n"
        "print(pathlib.Path(one.log).read_text())\n"
    )
    mount = f"mount -t tmpfs -o size=64k none {disk} && cd {disk} && exec {sys.executable} -c"
    run = subprocess.run(
        ["unshare", "-m", "sh", "-c", f'{mount} "$0"', code],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if "permission denied" in run.stderr.lower() and "mount" in run.stderr:
        pytest.skip("mounting is not allowed here")
    assert json.loads(run.stdout.splitlines()[0])["exit_code"] == 5, run.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"command": []}, "no command"),
        ({"cwd": "/no/such/place"}, "not a directory"),
        ({"log": "."}, "is a directory"),
        ({"log": "/dev/null/x.log"}, "cannot create"),
        ({"command": ["echo", "a\0b"]}, "NUL"),
    ],
)
def test_nonsense_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    options: dict[str, Any] = {"command": ["true"], "cwd": tmp_path, "log": tmp_path / "a.log"}
    options |= change
    if options["log"] == ".":
        options["log"] = tmp_path
    with pytest.raises(UsageError, match=message):
        launch(
            options["command"],
            name="x",
            log=options["log"],
            exit_file=tmp_path / "exit.json",
            cwd=options["cwd"],
        )


def test_a_missing_tool_is_named(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="tmux is not installed"):
        start(["/bin/true"], via="tmux")
    with pytest.raises(UsageError, match="systemd does not run here"):
        start(["/bin/true"], via="systemd")


@pytest.mark.system
def test_a_tmux_session_shows_the_log_and_may_be_killed(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    monkeypatch.setenv("TMUX_TMPDIR", str(tmp_path))
    monkeypatch.delenv("TMUX", raising=False)

    def tmux(*args: str) -> str:
        done = subprocess.run(["tmux", *args], capture_output=True, text=True, check=False)
        return done.stdout

    try:
        one = start(
            ["sh", "-c", "echo $SECRET; sleep 1; echo end"],
            name="in tmux",
            via="tmux",
            env={**os.environ, "SECRET": "hunter"},
        )
        assert one.look == "tmux attach -t mw-in-tmux"
        until(lambda: "hunter" in tmux("capture-pane", "-p", "-t", "mw-in-tmux"))
        with pytest.raises(UsageError, match="duplicate session"):
            start(["true"], name="in tmux", via="tmux")
    finally:
        tmux("kill-server")
    assert ended(one).exit_code == 0
    assert text(one) == "hunter\nend\n"


def test_a_keeper_is_hardly_larger_than_a_bare_interpreter(start: Start) -> None:
    def own(pid: int) -> int:  # the pages of the program file are every Python's on the box
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

    bare = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert bare.stdout is not None
    bare.stdout.readline()
    one = start(["sleep", "20"])
    try:
        # 1.3 to 1.6 MB are left from compiling its own source; `signal` alone would be 0.7 MB more.
        assert own(one.supervisor_pid) < own(bare.pid) + 2000
    finally:
        bare.communicate()


@pytest.mark.parametrize("data", [b"", b" " * 4096, b"{}", b"[1]", b'{"pid": "x"}', b"\xff" * 99])
def test_a_broken_exit_file_says_nothing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "exit.json").write_bytes(data)
    assert read_exit(str(tmp_path / "exit.json")) is None


@given(st.dictionaries(st.sampled_from("abc"), st.one_of(st.none(), st.booleans(), st.integers())))
def test_records_are_json(fields: dict[str, object]) -> None:
    data = supervisor.record(fields)
    assert json.loads(data) == fields
    assert len(data) == supervisor.RECORD_BYTES


@given(
    st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), min_size=1),
    st.dictionaries(st.from_regex(r"[A-Z]+", fullmatch=True), st.text("ab=\n é")),
)
def test_orders_arrive_as_they_were(argv: list[str], env: dict[str, str]) -> None:
    read, write = os.pipe()
    os.write(write, pack("/", argv, env))
    os.close(write)
    try:
        cwd, got_argv, got_env = supervisor.read_orders(f"/proc/self/fd/{read}")
    finally:
        os.close(read)
    assert (cwd, got_argv) == (b"/", [os.fsencode(word) for word in argv])
    assert got_env == {os.fsencode(k): os.fsencode(v) for k, v in env.items()}


@given(st.text())
def test_safe_names_suit_tmux_and_systemd(name: str) -> None:
    safe = safe_name(name)
    assert safe
    assert len(safe) <= 60
    assert set(safe) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def test_limits_of_the_shell_are_inherited(start: Start) -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    one = start(["sh", "-c", "ulimit -n"])
    ended(one)
    assert text(one).strip() == str(soft)


def files_of(pid: int) -> list[str]:
    found = []
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(fd))
    return found


def test_a_supervisor_whose_launcher_was_killed_still_records_the_end(tmp_path: Path) -> None:
    exit_file = tmp_path / "exit.json"
    for name in ("orders", "report"):
        os.mkfifo(tmp_path / name)
    orders = os.open(tmp_path / "orders", os.O_RDWR)
    report = os.open(tmp_path / "report", os.O_RDONLY | os.O_NONBLOCK)
    words = ["--name", "toy", "--log", str(tmp_path / "log"), "--exit-file", str(exit_file)]
    words += ["--orders", str(tmp_path / "orders"), "--report", str(tmp_path / "report")]
    process = subprocess.Popen([sys.executable, "-I", "-S", supervisor.__file__, *words])
    until(lambda: str(tmp_path / "report") in files_of(process.pid))
    os.close(report)  # it has come so far that it will answer, and nobody reads the answer
    os.write(orders, pack(str(tmp_path), ["sh", "-c", "exit 5"], {"PATH": os.environ["PATH"]}))
    assert process.wait(timeout=120) == 5
    record = read_exit(str(exit_file))
    assert record is not None
    assert record.exit_code == 5
    os.close(orders)


def test_a_supervisor_whose_launcher_was_killed_early_does_not_stay(tmp_path: Path) -> None:
    for name in ("orders", "report"):
        os.mkfifo(tmp_path / name)
    program = (
        f"import sys; sys.path.insert(0, {str(Path(supervisor.__file__).parent)!r})\n"
        "import supervisor; supervisor.ORDERS_S = 1\n"
        "sys.exit(supervisor.supervise(supervisor.parse(sys.argv[1:])))"
    )
    words = ["--name", "toy", "--log", str(tmp_path / "log"), "--exit-file", str(tmp_path / "exit")]
    words += ["--orders", str(tmp_path / "orders"), "--report", str(tmp_path / "report")]
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", program, *words])
    try:
        assert process.wait(timeout=120) == -signal.SIGALRM
    finally:
        process.kill()
        process.wait()
    assert not (tmp_path / "exit").exists(), "nothing was started"
