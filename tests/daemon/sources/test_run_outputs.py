"""The files that the processes of a run print to: real processes, real /proc."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.sources.run_outputs import AGES_S, LATER_S, QUIET_S, Output, RunOutputs
from middlewatch.daemon.system import procfs
from middlewatch.daemon.system.processes import Process

TALK = "print('begun', flush=True); import time; time.sleep(60)"


class Stage:
    """Programs started in a folder, and a source that looks at them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pids: list[int] = []
        self.known: list[str] = []
        self.silent = True
        self.found: list[Output] = []
        self.started: list[subprocess.Popen[bytes]] = []
        self.now = time.time()
        self.source = RunOutputs(
            lambda: self.pids, lambda: self.known, lambda: self.silent, self.found.append
        )

    def start(self, line: str) -> int:
        """Start a line of shell; the pid of what it execs."""
        made = subprocess.Popen(
            ["/bin/bash", "-c", line],
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.started.append(made)
        self.pids.append(made.pid)
        return made.pid

    def python(self, code: str, where: str) -> int:
        """Start ``python -c code`` with a redirection, and wait until it has printed."""
        (self.folder / "code.py").write_text(code)
        pid = self.start(f"exec {sys.executable} code.py {where}")
        path = self.folder / where.strip("> ").split()[0]
        before = path.stat().st_size if path.exists() else 0
        self.until(lambda: path.exists() and path.stat().st_size > before)
        # The kernel counts a write for its process a moment after the file has grown.
        wrote = path.stat().st_size - before
        self.until(lambda: (io := procfs.io(pid)) is not None and io.wchar >= wrote)
        return pid

    def until(self, what: Callable[[], Any]) -> None:
        deadline = time.monotonic() + 120
        while not what():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def look(self, after_s: float = 0.0) -> list[str]:
        """Names of the files found by now."""
        self.now += after_s
        self.source.read(self.now)
        return [Path(one.path).name for one in self.found]

    def end(self) -> None:
        for process in self.started:
            process.kill()
            process.wait()
            assert process.stdin is not None
            process.stdin.close()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.end()


def test_a_training_that_its_start_script_sends_to_a_file(stage: Stage) -> None:
    stage.python(TALK, "> train.log 2>&1")
    assert stage.look() == ["train.log"]
    assert stage.found[0] == Output(str(stage.folder / "train.log"), None, from_start=True)
    stage.look(LATER_S)
    assert len(stage.found) == 1


def test_what_is_read_already_is_not_found_again_under_any_name(stage: Stage) -> None:
    (stage.folder / "link.log").symlink_to(stage.folder / "train.log")
    stage.known.append(str(stage.folder / "link.log"))
    stage.python(TALK, "> train.log")
    assert stage.look() == []


def test_a_process_that_execs_later_is_looked_at_again(stage: Stage) -> None:
    stage.start(f'read go; exec {sys.executable} -c "{TALK}" > late.log')
    process = stage.started[-1]
    assert stage.look() == []
    assert process.stdin is not None
    process.stdin.write(b"go\n")
    process.stdin.flush()
    log = stage.folder / "late.log"
    stage.until(lambda: log.exists() and log.read_text())
    assert stage.look(AGES_S[1]) == ["late.log"]


def test_what_others_had_appended_before_is_not_of_this_run(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    (stage.folder / "queue.log").write_text("step 1 loss 3.0\n" * 100_000)
    stage.python(TALK, ">> queue.log")
    monkeypatch.setattr(Process, "started_at", property(lambda process: stage.now))
    assert stage.look() == ["queue.log"]
    assert not stage.found[0].from_start


def test_a_log_that_is_new_is_read_from_its_start_although_it_is_appended_to(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.python(TALK, ">> new.log")
    monkeypatch.setattr(Process, "started_at", property(lambda process: stage.now))
    assert stage.look() == ["new.log"]
    assert stage.found[0].from_start


@pytest.mark.parametrize("name", ["evaluate.py", "tensorboard.py", "preprocess.py"])
def test_a_side_job_does_not_speak_for_the_run(stage: Stage, name: str) -> None:
    script = stage.folder / name
    script.write_text(TALK)
    stage.start(f"exec {sys.executable} {name} > side.log")
    log = stage.folder / "side.log"
    stage.until(lambda: log.exists() and log.read_text())
    assert stage.look() == []


def test_the_copy_that_tee_writes(stage: Stage) -> None:
    pid = stage.start("exec tee copy.txt > /dev/null")
    stage.until(
        lambda: Process("/proc", pid).comm == "tee" and (stage.folder / "copy.txt").exists()
    )
    assert stage.look() == ["copy.txt"]


def test_a_copy_of_what_is_printed_as_well_is_not_read_twice(stage: Stage) -> None:
    stage.known.append(str(stage.folder / "out.log"))
    pid = stage.start("exec tee copy.txt > out.log")
    stage.until(
        lambda: Process("/proc", pid).comm == "tee" and (stage.folder / "copy.txt").exists()
    )
    assert stage.look() == []


def test_a_log_that_the_program_writes_itself_counts_while_nothing_else_reports(
    stage: Stage,
) -> None:
    code = "log = open('own.log', 'w'); data = open('cache.bin', 'wb'); " + TALK
    stage.start(f'exec {sys.executable} -c "{code}" > /dev/null')
    stage.until(lambda: (stage.folder / "cache.bin").exists())
    assert stage.look() == []  # it may have a better log
    stage.silent = False
    for age in AGES_S[1:]:
        assert stage.look(age) == []
    stage.silent = True
    assert stage.look(LATER_S) == ["own.log"]


def test_a_log_that_was_deleted_is_read_through_its_process(stage: Stage) -> None:
    pid = stage.python(TALK, "> gone.log")
    (stage.folder / "gone.log").unlink()
    stage.look()
    assert [one.via for one in stage.found] == [f"/proc/{pid}/fd/1"]


def test_processes_that_are_gone_harm_nothing(stage: Stage) -> None:
    stage.pids = [4194303, 0]
    assert stage.look() == []


@pytest.mark.parametrize(("name", "found"), [("sweep.py", []), ("stages.py", ["part.log"])])
def test_what_a_trial_prints_is_for_its_search(stage: Stage, name: str, found: list[str]) -> None:
    (stage.folder / "train.py").write_text(TALK)
    (stage.folder / name).write_text(
        "import subprocess, sys\n"
        "out = open('part.log', 'wb')\n"
        "part = subprocess.Popen([sys.executable, 'train.py'], stdout=out)\n"
        "print(part.pid, flush=True)\n"
        "input()\n"
        "part.kill()\n"
    )
    stage.start(f"exec {sys.executable} {name} > main.log")
    log = stage.folder / "main.log"
    stage.until(lambda: log.exists() and log.read_text().endswith("\n"))
    stage.pids = [int(log.read_text())]
    stage.until(lambda: (stage.folder / "part.log").stat().st_size > 0)
    assert stage.look() == found
    stage.started[0].communicate(b"\n", timeout=120)


WRITES = """
import os, pathlib, time
here = pathlib.Path("runs", "a")
here.mkdir(parents=True)
for pid in (os.getpid(), 1):
    (here / f"events.out.tfevents.1700.box.{pid}.0").write_bytes(b"")
(here / "metrics.csv").write_text("step,loss\\n")
print("begun", flush=True)
time.sleep(60)
"""


def test_files_of_metrics_that_are_not_kept_open(stage: Stage) -> None:
    (stage.folder / "old.csv").touch()
    pid = stage.python(WRITES, "> train.log")
    assert stage.look() == ["train.log"]
    own = f"events.out.tfevents.1700.box.{pid}.0"
    assert sorted(stage.look(QUIET_S + LATER_S)) == [own, "metrics.csv", "train.log"]
    assert len(stage.look(LATER_S)) == 3


def test_the_file_of_weights_and_biases(stage: Stage) -> None:
    make = "import os; os.makedirs('wandb/run-7'); open('wandb/run-7/run-7.wandb', 'wb').close(); "
    stage.python(make + TALK, "> train.log")
    stage.look()
    assert "run-7.wandb" in stage.look(QUIET_S + LATER_S)


def test_the_losses_of_mlflow(stage: Stage) -> None:
    metrics = f"mlruns/81/{'5badaa88' * 4}/metrics"
    make = f"import os; os.makedirs('{metrics}/val'); "
    make += (
        f"[open('{metrics}/' + key, 'w').close() for key in ('acc', 'train_loss', 'val/loss')]; "
    )
    stage.python(make + TALK, "> train.log")
    stage.look()
    assert {"train_loss", "loss"} <= set(found := stage.look(QUIET_S + LATER_S))
    assert "acc" not in found


def test_files_of_metrics_are_not_read_beside_a_log_with_reports(stage: Stage) -> None:
    stage.silent = False
    stage.python(WRITES, "> train.log")
    stage.look()
    assert stage.look(QUIET_S + LATER_S) == ["train.log"]


def test_of_several_tables_nobody_knows_which_is_of_this_run(stage: Stage) -> None:
    (stage.folder / "b").mkdir()
    stage.python(WRITES + "pathlib.Path('b', 'results.csv').touch()\n", "> train.log")
    for name in ("b/results.csv", "b/train_history.tsv"):
        (stage.folder / name).touch()
    stage.look()
    assert not any("csv" in name for name in stage.look(QUIET_S + LATER_S))
