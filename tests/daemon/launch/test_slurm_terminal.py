"""Jobs of Slurm that end with the terminal that they were started in."""

from __future__ import annotations

from pathlib import Path

import pytest

from middlewatch.daemon.launch.slurm import held_by_terminal
from middlewatch.daemon.system.processes import Processes

from .test_found_as_well import FakeBox

JOB = {"SLURM_JOB_ID": "77"}


def said(box: FakeBox, pid: int) -> str:
    processes = Processes(box.path)
    return held_by_terminal(processes[pid], processes)


@pytest.fixture
def box(tmp_path: Path) -> FakeBox:
    return FakeBox(tmp_path)


@pytest.mark.parametrize("around", ["sshd", "tmux: server", "SCREEN"])
def test_a_task_of_a_foreground_srun(box: FakeBox, around: str) -> None:
    box.add(3, "login", comm=around)
    box.add(4, "-bash", comm="bash", ppid=3)
    box.add(5, "srun python main.py", comm="srun", ppid=4, env=JOB)
    box.opens(5, {0: "/dev/pts/3", 1: "/dev/pts/3", 2: "/dev/pts/3"})
    box.add(20, "slurmstepd: [77.0]", comm="slurmstepd")
    box.add(21, "python main.py", ppid=20, env=JOB)
    told = said(box, 21)
    assert told == said(box, 5)
    if around == "sshd":
        assert "srun (pid 5) holds it in the foreground of a terminal" in told
    else:
        assert not told


def test_a_run_in_the_shell_of_salloc(box: FakeBox) -> None:
    box.add(4, "salloc -N1", comm="salloc")
    box.opens(4, {0: "/dev/pts/3", 1: "/dev/pts/3", 2: "/dev/pts/3"})
    box.add(5, "bash", comm="bash", ppid=4, env=JOB)
    box.add(6, "python main.py", ppid=5, env=JOB)
    assert "salloc (pid 4) holds it" in said(box, 6)
    (Path(box.path) / "4" / "status").write_text("Uid:\t0\t0\t0\t0\nSigIgn:\t0000000000000001\n")
    assert not said(box, 6)  # nohup salloc


def test_a_batch_job(box: FakeBox) -> None:
    box.add(10, "slurmstepd: [77.batch]", comm="slurmstepd")
    box.add(11, "/bin/bash slurm_script", comm="slurm_script", ppid=10, env=JOB)
    box.add(12, "srun python main.py", comm="srun", ppid=11, env=JOB)
    box.opens(12, {0: "/dev/null", 1: "/home/ada/slurm-77.out"})
    box.add(21, "python main.py", env=JOB)
    assert not said(box, 12)
    assert not said(box, 21)
