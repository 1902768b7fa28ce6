from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.launch.discover import FoundRun, attached, describe, discover
from middlewatch.daemon.launch.start import launch
from middlewatch.daemon.launch.tmux import attach_tmux
from middlewatch.daemon.system import procfs
from middlewatch.daemon.system.errors import Refused, UsageError

from ...fakes import box_wide

T = TypeVar("T")

TOY = """
import time
print("step 1 loss 2.0", flush=True)
time.sleep(30)
"""
RANKS = """
# A launcher like torchrun: it starts two ranks and waits for them.
import os, subprocess, sys
ranks = [
    subprocess.Popen(
        [sys.executable, *sys.argv[1:]],
        env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2",
             "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511"},
    )
    for rank in range(2)
]
for rank in ranks:
    rank.wait()
"""
SEARCH = """
import subprocess, sys
trials = [subprocess.Popen([sys.executable, sys.argv[1], f"--lr={lr}"]) for lr in (1, 2, 3)]
for trial in trials:
    trial.wait()
"""
WORKERS = """
import os, time
for _ in range(2):
    if os.fork() == 0:
        break
time.sleep(30)
"""


def until(look: Callable[[], T | None], seconds: float = 120.0) -> T:
    deadline = time.monotonic() + seconds
    while True:
        answer = look()
        if answer:
            return answer
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def started(pid: int) -> int:
    """When ``pid`` started, in clock ticks since the box did; 0 when it has gone."""
    seen = procfs.stat(pid)
    return seen.start_ticks if seen is not None else 0


class Stage:
    """Starts real processes in sessions of their own and ends all of them afterwards."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[subprocess.Popen[bytes]] = []
        self._pids: set[int] = set()

    def script(self, name: str, text: str = TOY) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def shell(self, line: str, **env: str) -> subprocess.Popen[bytes]:
        """Run ``line``; in it ``$PYTHON`` is this interpreter."""
        process = subprocess.Popen(
            ["bash", "-c", line],
            cwd=self.folder,
            env={**os.environ, "PYTHON": sys.executable, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._started.append(process)
        return process

    def pids(self, script: Path, count: int = 1) -> list[int]:
        """The Python processes that run ``script``, oldest first, once there are ``count``."""

        def look() -> list[int] | None:
            found = []
            for folder in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    words = (folder / "cmdline").read_bytes().split(b"\0")
                    if os.fsencode(script) in words and b"python" in words[0]:
                        found.append(int(folder.name))
            # By the time they started: a process number that has wrapped round tells no age.
            return sorted(found, key=started) if len(found) >= count else None

        pids = until(look)
        self._pids.update(pids)
        return pids

    def pid(self, script: Path) -> int:
        return self.pids(script)[0]

    def ready(self, path: Path) -> None:
        until(lambda: path.exists() and path.stat().st_size > 0)

    def end(self) -> None:
        for pid in [p.pid for p in self._started] + sorted(self._pids):
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(OSError):
                    kill(pid, signal.SIGKILL)
        for process in self._started:
            process.wait(timeout=300)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    actors = Stage(tmp_path)
    yield actors
    actors.end()


def found(*pids: int) -> FoundRun:
    """The one run of the box that holds one of ``pids``."""
    (run,) = runs_of(*pids)
    return run


def runs_of(*pids: int, look_s: float = 0.0) -> list[FoundRun]:
    def holds(run: FoundRun) -> bool:
        return run.pid in pids or any(rank.pid in pids for rank in run.ranks)

    return [run for run in discover(look_s=look_s) if holds(run)]


def test_a_nohup_run_with_its_file(stage: Stage, tmp_path: Path) -> None:
    script = stage.script("train_toy.py")
    stage.shell(f"nohup $PYTHON {script} --out_dir=runs/a --lr 3 > run.log 2>&1 &")
    stage.ready(tmp_path / "run.log")
    pid = stage.pid(script)
    run = found(pid)
    assert run.logs == (str(tmp_path / "run.log"),)
    assert run.home == "nohup"
    assert (run.pid, run.cwd) == (pid, str(tmp_path))
    assert run.name.startswith("train_toy")
    assert run.command[1:] == (str(script), "--out_dir=runs/a", "--lr", "3")
    assert run.checkpoint_dirs == (str(tmp_path / "runs/a"),)
    assert run.log_via == {}
    assert run.notes == ()
    assert run.started_at == pytest.approx(psutil.Process(pid).create_time(), abs=1)
    assert RunSpec.from_json(run.to_json()).logs == run.logs


def test_only_names_of_the_environment_are_kept(stage: Stage) -> None:
    script = stage.script("train_toy.py")
    stage.shell(f"exec $PYTHON {script} > a.log", WANDB_API_KEY="hunter2")
    run = found(stage.pid(script))
    assert "WANDB_API_KEY" in run.env_names
    assert "hunter2" not in str(run.to_json())


def test_a_run_behind_tee(stage: Stage, tmp_path: Path) -> None:
    script = stage.script("train_toy.py")
    stage.shell(f"$PYTHON {script} 2>&1 | cat | tee a.log b.log >/dev/null")
    stage.ready(tmp_path / "b.log")
    assert set(found(stage.pid(script)).logs) == {str(tmp_path / "a.log"), str(tmp_path / "b.log")}


def test_a_run_behind_a_filter_that_writes_a_file(stage: Stage, tmp_path: Path) -> None:
    script = stage.script("train_toy.py")
    stage.shell(f"$PYTHON {script} | sed -u s/step/STEP/ > filtered")
    stage.ready(tmp_path / "filtered")
    assert found(stage.pid(script)).logs == (str(tmp_path / "filtered"),)


def test_a_deleted_log_is_read_through_the_process(stage: Stage, tmp_path: Path) -> None:
    script = stage.script("train_toy.py")
    stage.shell(f"exec $PYTHON {script} > gone.log")
    log = tmp_path / "gone.log"
    stage.ready(log)
    log.unlink()
    pid = stage.pid(script)
    run = found(pid)
    assert run.logs == (str(log),)
    assert Path(run.log_via[str(log)]).read_text() == "step 1 loss 2.0\n"
    log.write_text("somebody else's")  # the name is back, the file is another
    assert found(pid).log_via == {str(log): f"/proc/{pid}/fd/1"}


def test_stdout_thrown_away_but_a_log_is_open(stage: Stage, tmp_path: Path) -> None:
    text = "import time\nf = open('metrics.jsonl', 'a')\nt = open('vocab.bin', 'a')\ntime.sleep(30)"
    script = stage.script("finetune.py", text)
    stage.shell(f"exec $PYTHON {script}")
    stage.pid(script)
    until(lambda: (tmp_path / "vocab.bin").exists())
    run = found(stage.pid(script))
    assert run.logs == (str(tmp_path / "metrics.jsonl"),)


def test_stdout_thrown_away_is_said(stage: Stage) -> None:
    script = stage.script("train_toy.py")
    stage.shell(f"exec $PYTHON {script}")
    run = found(stage.pid(script))
    assert run.logs == ()
    assert "/dev/null" in run.notes[0]


def test_two_ranks_are_one_run(stage: Stage, tmp_path: Path) -> None:
    launcher = stage.script("torchrun", RANKS)
    script = stage.script("pretrain.py", WORKERS)
    stage.shell(f"$PYTHON {launcher} {script} --output_dir out 2>&1 | tee run.log")
    pids = stage.pids(script, count=7)  # the launcher's own line, two ranks, two workers each
    until(lambda: (tmp_path / "run.log").exists())
    run = found(*pids)
    (main,) = stage.pids(launcher)
    assert run.pid == main
    assert [rank.rank for rank in run.ranks] == [0, 1]
    assert len({rank.pid for rank in run.ranks} - {main}) == 2
    assert run.world_size == 2
    assert run.logs == (str(tmp_path / "run.log"),)
    assert run.checkpoint_dirs == (str(tmp_path / "out"),)
    assert run.name.startswith("test_two_ranks_are_one_run"), "many scripts are called pretrain"
    one_of = run.ranks[1].pid
    assert describe(one_of).pid == main
    assert len(describe(one_of).ranks) == 2


def test_ranks_started_by_hand_meet_by_their_address(stage: Stage) -> None:
    script = stage.script("toy.py")
    meeting = "MASTER_ADDR=localhost MASTER_PORT=29733 WORLD_SIZE=2"
    stage.shell(f"env {meeting} RANK=1 $PYTHON {script} & env {meeting} RANK=0 $PYTHON {script}")
    run = found(*stage.pids(script, count=2))
    assert [rank.rank for rank in run.ranks] == [0, 1]
    assert run.pid == run.ranks[0].pid


@pytest.mark.parametrize(
    ("name", "one"), [("hp_search.py", True), ("sweep.py", True), ("queue_of_jobs.py", False)]
)
def test_a_search_is_the_run_and_its_trials_are_not(
    stage: Stage, tmp_path: Path, name: str, one: bool
) -> None:
    trial = stage.script("train_one.py")
    search = stage.script(name, SEARCH)
    stage.shell(f"exec $PYTHON {search} {trial} > search.log")
    main = stage.pid(search)

    def trials() -> list[int] | None:
        # A child that has not reached its exec yet still shows the command of the search.
        all_four = stage.pids(trial, count=4)
        return all_four[1:] if stage.pids(search) == [main] else None

    pids = until(trials)
    runs = runs_of(main, *pids)
    if not one:
        assert sorted(run.pid or 0 for run in runs) == sorted(pids)
        return
    (run,) = runs
    assert (run.pid, [rank.pid for rank in run.ranks]) == (main, [main])
    assert (run.logs, run.provisional) == ((str(tmp_path / "search.log"),), "")


def test_workers_fold_into_their_parent(stage: Stage) -> None:
    script = stage.script("train_toy.py", WORKERS)
    stage.shell(f"exec $PYTHON {script} > a.log")
    pids = stage.pids(script, count=3)
    run = found(*pids)
    assert run.pid == pids[0]
    assert [rank.pid for rank in run.ranks] == [pids[0]]
    assert describe(pids[2]).pid == pids[0]


def test_a_python_that_does_not_train_is_not_found(stage: Stage) -> None:
    idle = stage.script("server.py")
    stage.shell(f"$PYTHON {idle}")
    tested = stage.script("pytest/__main__.py")
    stage.shell(f"PYTHONPATH=. exec $PYTHON -m pytest {stage.script('train_x.py')}")
    pids = [stage.pid(idle), stage.pid(stage.folder / "train_x.py")]
    assert tested.exists()
    assert runs_of(*pids) == []


def test_a_busy_python_is_found_and_doubted(stage: Stage) -> None:
    script = stage.script("experiment.py", "while True: pass")
    process = stage.shell(f"exec timeout 10 $PYTHON {script} > a.log")
    stage.pid(script)

    def look() -> FoundRun | None:
        runs = [r for r in discover(look_s=0.3, min_cpu=0.1) if str(script) in r.command]
        return runs[0] if runs else None

    run = until(look)
    process.kill()
    assert run.command[-1] == str(script)
    assert run.notes == ("taken for a training only because it keeps the CPU busy",)


def test_gpu_pids_are_believed(stage: Stage) -> None:
    script = stage.script("anything.py")
    stage.shell(f"exec $PYTHON {script} > a.log")
    pid = stage.pid(script)
    runs = discover(gpu_pids=[pid, 4194304], look_s=0)
    assert [run.notes for run in runs if run.pid == pid] == [()]


def test_a_described_shell_takes_the_training_below_as_its_ranks(stage: Stage) -> None:
    script = stage.script("train_toy.py")
    shell = stage.shell(f"$PYTHON {script} > a.log; echo done")
    pid = stage.pid(script)
    run = describe(shell.pid)
    assert run.pid == shell.pid
    assert [rank.pid for rank in run.ranks] == [pid]
    assert run.logs[-1].endswith("/a.log")


def test_describing_nothing_is_an_error() -> None:
    with pytest.raises(UsageError, match="no process"):
        describe(4194304)


def test_a_run_of_ours_is_recognised_by_its_keeper(stage: Stage, tmp_path: Path) -> None:
    script = stage.script("train_toy.py")
    one = launch(
        [sys.executable, str(script)],
        name="mine",
        log=tmp_path / "mine.log",
        exit_file=tmp_path / "exit.json",
        cwd=tmp_path,
    )
    stage.pid(script)
    run = found(one.pid)
    assert run.name.startswith("mine")
    assert run.exit_file == str(tmp_path / "exit.json")
    assert run.logs == (str(tmp_path / "mine.log"),)


def test_a_checkpoint_that_is_being_written_shows_its_folder(stage: Stage, tmp_path: Path) -> None:
    text = """
    import os, time
    os.makedirs("deep/checkpoint-500")
    f = open("deep/checkpoint-500/model.safetensors", "wb")
    f.write(bytes(2 << 20)); f.flush()
    print("saving", flush=True)
    time.sleep(30)
    """
    script = stage.script("train_toy.py", text)
    stage.shell(f"exec $PYTHON {script} > a.log")
    stage.ready(tmp_path / "a.log")
    assert found(stage.pid(script)).checkpoint_dirs == (str(tmp_path / "deep"),)


class Tmux:
    """A private tmux server."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket

    def __call__(self, *args: str) -> str:
        return subprocess.run(
            ["tmux", "-S", str(self.socket), *args], capture_output=True, text=True, check=True
        ).stdout


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    with box_wide.not_searched():
        server = Tmux(tmp_path / "tmux.sock")
        yield server
        with contextlib.suppress(subprocess.CalledProcessError):
            server("kill-server")


TICKING = """
import time
for step in range(300):
    print(f"step {step} loss 2.0", flush=True)
    time.sleep(0.1)
"""


def test_a_run_in_tmux_can_be_followed(stage: Stage, tmux: Tmux, tmp_path: Path) -> None:
    script = stage.script("train_toy.py", TICKING)
    tmux("new-session", "-d", "-s", "my work", "-x", "80", "-c", str(tmp_path), "sh")
    until(lambda: tmux("capture-pane", "-p").strip())  # the prompt
    tmux("send-keys", "echo old crash", "Enter")
    until(lambda: tmux("capture-pane", "-p").count("old crash") == 2)
    tmux("send-keys", f"{sys.executable} {script} --lr 1", "Enter")
    run = found(stage.pid(script))
    assert run.home == "tmux"
    assert run.logs == ()
    plan = run.pipe_pane
    assert plan is not None
    assert plan.tty.startswith("/dev/pts/")
    assert f"pipe-pane -o -t {plan.target}" in run.notes[0]
    assert "tmux session my work" in run.notes[0]
    until(lambda: "step 2" in tmux("capture-pane", "-p"))

    followed = attached(run)
    log = Path(plan.log)
    assert followed.logs == (str(log),)
    assert followed.pipe_pane is None
    before = log.stat().st_size
    assert log.read_text().startswith("step 0 loss 2.0\n")
    assert "old crash" not in log.read_text()
    until(lambda: log.stat().st_size > before)
    with pytest.raises(Refused):
        attach_tmux(plan.target, log, plan.socket)
    again = found(stage.pid(script))  # the copy is found the next time
    assert again.logs == (str(log),)
    assert again.pipe_pane is None


def test_the_command_of_the_note_does_the_same(stage: Stage, tmux: Tmux, tmp_path: Path) -> None:
    odd = tmp_path / "it's 100% #{odd} %d"
    odd.mkdir()
    script = stage.script("train_toy.py", TICKING)
    tmux(
        "new-session",
        "-d",
        "sh",
        "-c",
        'cd "$0" && exec "$@"',
        str(odd),
        sys.executable,
        str(script),
    )
    pid = stage.pid(script)
    until(lambda: found(pid).pipe_pane is not None)  # a busy tmux may answer too late
    run = found(pid)
    assert run.pipe_pane is not None
    subprocess.run(["sh", "-c", run.notes[0].partition("to follow it: ")[2]], check=True)
    log = Path(run.pipe_pane.log)
    assert log.parent == odd
    until(lambda: log.exists() and "loss" in log.read_text())


def test_tee_inside_tmux_needs_no_pipe(stage: Stage, tmux: Tmux, tmp_path: Path) -> None:
    script = stage.script("train_toy.py", TICKING)
    line = f"{sys.executable} {script} 2>&1 | tee run.log"
    tmux("new-session", "-d", "-c", str(tmp_path), "sh", "-c", line)
    stage.ready(tmp_path / "run.log")
    run = found(stage.pid(script))
    assert run.logs == (str(tmp_path / "run.log"),)
    assert (run.home, run.pipe_pane, run.notes) == ("tmux", None, ())


def test_no_such_pane(tmux: Tmux, tmp_path: Path) -> None:
    tmux("new-session", "-d", "sleep 5")
    with pytest.raises(UsageError, match="tmux"):
        attach_tmux("%77", tmp_path / "x.log", str(tmux.socket))


@pytest.mark.slow
def test_a_real_torchrun(stage: Stage, tmp_path: Path) -> None:
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = """
    import time
    import torch.distributed as dist
    dist.init_process_group("gloo")
    print(f"rank {dist.get_rank()} is here", flush=True)
    time.sleep(60)
    """
    script = stage.script("job.py", text)
    stage.shell(
        f"exec $PYTHON -m torch.distributed.run --nproc-per-node 2 --master-port {port} "
        f"{script} --save_dir ck > run.log 2>&1"
    )
    log = tmp_path / "run.log"
    until(lambda: log.exists() and log.read_text().count("is here") == 2)
    pids = stage.pids(script, count=3)
    run = found(*pids)
    assert run.pid == pids[0]
    assert [rank.rank for rank in run.ranks] == [0, 1]
    assert run.world_size == 2
    assert run.name.startswith("test_a_real_torchrun"), "many scripts are called job"
    assert run.logs == (str(log),)
    assert run.checkpoint_dirs == (str(tmp_path / "ck"),)
