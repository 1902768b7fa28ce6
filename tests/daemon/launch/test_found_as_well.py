"""What trains without looking like it, and what looks like it without training."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from middlewatch.daemon.launch.discover import FoundRun, discover
from middlewatch.daemon.launch.purpose import purpose
from middlewatch.daemon.system.processes import Processes

from .test_programs import FakeProc

TORCH = "7f00-7f01 r-xp 00 fe:00 1 /v/torch/lib/libtorch_cpu.so\n"


class FakeBox(FakeProc):
    """A /proc with open files."""

    def opens(self, pid: int, files: Mapping[int, str], *, reads: tuple[int, ...] = ()) -> None:
        folder = Path(self.path, str(pid))
        for name in ("fd", "fdinfo"):
            (folder / name).mkdir(exist_ok=True)
        for fd, target in files.items():
            (folder / "fd" / str(fd)).symlink_to(target)
            (folder / "fdinfo" / str(fd)).write_text(f"flags:\t0{'0' if fd in reads else '1'}\n")

    def runs(self, *gpu: int) -> list[FoundRun]:
        return discover(proc=self.path, look_s=0, gpu_pids=gpu)


@pytest.fixture
def box(tmp_path: Path) -> FakeBox:
    return FakeBox(tmp_path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("train", "train"),
        ("main train", "train"),
        ("main eval", "other"),
        ("main", ""),
        ("main --lr 3e-4", "train"),
        ("main --max-epochs=10", "train"),
        ("run trainer.max_epochs=10 optim.lr=0.1", "train"),
        ("main --mode train", "train"),
        ("main --mode=evaluate --ckpt x", "other"),
        ("train --mode test", "other"),
        ("train_and_eval", "train"),
        ("prepare_train_data", "other"),
        ("prepare_then_train", "train"),
        ("train_tokenizer", "other"),
        ("eval_finetuned", "other"),
        ("evaluate --batch-size 8 --split train", "other"),
        ("bench --max-steps 100", "other"),
        ("main --data data/train --out x", ""),
        ("api_server --port 8000", "other"),
        ("constrained", ""),
        ("main data.txt", ""),
    ],
)
def test_what_a_program_says_of_itself(line: str, said: str) -> None:
    name, *arguments = line.split()
    assert purpose(name, arguments) == said


@pytest.mark.parametrize(
    ("line", "doubt"),
    [
        ("python train.py", ""),
        ("python main.py --learning-rate 0.1", ""),
        ("python main.py", "it has a framework of machine learning loaded"),
        ("python -m vllm.entrypoints.openai.api_server", "it has a framework"),
        ("python /v/bin/torchrun --nproc-per-node 2 main.py", ""),
        ("python /v/bin/torchrun --nproc-per-node 2 main.py eval", "it has a framework"),
        ("python /v/bin/accelerate launch tools/evaluate.py --model x", "it has a framework"),
        ("python /v/bin/litgpt finetune_lora x", ""),
        ("python /v/bin/litgpt serve x", "it has a framework"),
    ],
)
def test_only_what_says_that_it_trains_is_believed(box: FakeBox, line: str, doubt: str) -> None:
    box.add(7, line, maps=TORCH)
    (run,) = box.runs()
    assert run.provisional.startswith(doubt)
    assert bool(run.provisional) == bool(doubt)


def test_a_faceless_program_on_a_gpu_is_found_and_provisional(box: FakeBox) -> None:
    box.add(7, "python main.py")
    assert box.runs() == []
    (run,) = box.runs(7)
    assert run.provisional == "it holds a GPU"


def test_our_own_helpers_are_no_runs(box: FakeBox) -> None:
    line = "python -c import~sys;~sys.path[0:1]=[];~from~middlewatch.x~import~main"
    process = box.add(7, line, maps=TORCH)
    path = Path(box.path, "7", "cmdline")
    path.write_text(path.read_text().replace("~", " "))
    assert process.pid == 7
    assert box.runs(7) == []


def test_where_nothing_is_printed_event_files_are_the_log(box: FakeBox, tmp_path: Path) -> None:
    events = tmp_path / "events.out.tfevents.1700.host.7.0"
    events.touch()
    box.add(7, "python main.py", maps=TORCH)
    box.opens(7, {1: "/dev/null", 2: "/dev/null", 5: str(events)})
    (run,) = box.runs()
    assert run.provisional == ""
    assert run.logs == (str(events),)
    assert not [note for note in run.notes if "log" in note]


def test_an_executed_notebook_is_found_with_its_kernel(box: FakeBox) -> None:
    box.add(5, "python /v/bin/jupyter-nbconvert --to notebook --execute train_vae.ipynb")
    box.add(6, "python -m ipykernel_launcher -f /r/kernel.json", ppid=5, maps=TORCH)
    box.add(8, "python /v/bin/jupyter nbconvert --to html train_vae.ipynb")
    box.add(9, "python /v/bin/jupyter-lab")
    box.add(10, "python -m ipykernel_launcher -f /r/other.json", ppid=9, maps=TORCH)
    (run,) = box.runs()
    assert (run.name, run.pid, run.provisional) == ("train_vae", 5, "")


def test_an_executed_report_is_provisional(box: FakeBox) -> None:
    box.add(5, "python /v/bin/papermill figures.ipynb out.ipynb")
    (run,) = box.runs()
    assert run.provisional == "it executes a notebook"


def test_the_log_of_screen_is_found_by_its_window(box: FakeBox, tmp_path: Path) -> None:
    logs = [tmp_path / f"screenlog.{n}" for n in (0, 1)]
    for log in logs:
        log.write_text("step 1 loss 2\n")
    box.add(4, "SCREEN -L", comm="screen")
    box.opens(4, {3: "/dev/ptmx", 5: "/dev/ptmx", 6: str(logs[0]), 7: str(logs[1])})
    box.add(5, "bash", ppid=4, comm="bash")
    box.add(7, "python train.py", ppid=5, env={"STY": "4.pts-0.box", "WINDOW": "1"})
    box.opens(7, {1: "/dev/pts/3", 2: "/dev/pts/3"})
    (run,) = box.runs()
    assert run.logs == (str(logs[1]),)
    assert run.home == "screen"
    assert not any("terminal" in note for note in run.notes)


def test_a_terminal_that_nobody_records_has_no_log(box: FakeBox, tmp_path: Path) -> None:
    (tmp_path / "agent.log").write_text("x\n")
    box.add(4, "code-server", comm="node")
    box.opens(4, {3: "/dev/ptmx", 6: str(tmp_path / "agent.log")})
    box.add(7, "python train.py", ppid=4)
    box.opens(7, {1: "/dev/pts/3", 2: "/dev/pts/3"})
    (run,) = box.runs()
    assert run.logs == ()
    assert "prints to terminal /dev/pts/3" in " ".join(run.notes)


def slurm(box: FakeBox, tmp_path: Path, *, srun: bool = True) -> Path:
    """A job script that started two tasks with srun, on the node where the script runs."""
    out = tmp_path / "slurm-77.out"
    out.write_text("step 1 loss 2\n")
    (tmp_path / "slurmd.log").write_text("step 1 loss 9\n")
    env = {"SLURM_JOB_ID": "77", "SLURM_JOB_NAME": "bert"}
    place = "0::/system.slice/slurmstepd.scope/job_77/step_{}/user/task_0"
    box.add(10, "slurmstepd: [77.batch]", comm="slurmstepd")
    box.add(11, "/bin/bash /var/spool/slurmd/job00077/slurm_script", ppid=10, comm="slurm_script",
            env=env, cgroup=place.format("batch"))  # fmt: skip
    box.opens(11, {1: str(out), 2: str(out)})
    if srun:
        for pid, parent in ((12, 11), (13, 12)):  # srun forks a copy of itself
            box.add(pid, "srun python main.py", ppid=parent, comm="srun",
                    env=env, cgroup=place.format("batch"))  # fmt: skip
            box.opens(pid, {1: str(out), 2: str(out)})
    box.add(20, "slurmstepd: [77.0]", comm="slurmstepd")
    box.opens(20, {5: "pipe:[9]", 6: str(tmp_path / "slurmd.log")}, reads=(5,))
    for rank in range(2):
        ranks = {**env, "SLURM_PROCID": str(rank), "SLURM_NTASKS": "2", "SLURM_STEP_ID": "0"}
        box.add(21 + rank, "python main.py", ppid=20, env=ranks, maps=TORCH,
                cgroup=place.format("0"))  # fmt: skip
        box.opens(21 + rank, {1: "pipe:[9]", 2: "pipe:[9]"})
    return out


def test_tasks_of_srun_are_one_run_with_the_output_of_the_job(box: FakeBox, tmp_path: Path) -> None:
    out = slurm(box, tmp_path)
    (run,) = box.runs()
    assert run.logs == (str(out),)
    assert (run.name, run.home, run.pid, run.world_size) == ("bert", "slurm", 12, 2)
    assert [(rank.rank, rank.pid) for rank in run.ranks] == [(0, 21), (1, 22)]


def test_without_srun_the_script_of_the_job_shows_where(box: FakeBox, tmp_path: Path) -> None:
    out = slurm(box, tmp_path, srun=False)
    (run,) = box.runs()
    assert run.logs == (str(out),)


def test_tasks_on_another_host_name_the_way_to_their_output(box: FakeBox, tmp_path: Path) -> None:
    box.add(20, "slurmstepd: [77.0]", comm="slurmstepd")
    (tmp_path / "slurmd.log").write_text("x\n")
    box.opens(20, {5: "pipe:[9]", 6: str(tmp_path / "slurmd.log")}, reads=(5,))
    box.add(21, "python train.py", ppid=20, env={"SLURM_JOB_ID": "77", "SLURM_PROCID": "1"})
    box.opens(21, {1: "pipe:[9]", 2: "pipe:[9]"})
    (run,) = box.runs()
    assert run.logs == ()
    assert "scontrol show job 77" in " ".join(run.notes)


def test_two_steps_of_a_job_stay_two_runs(box: FakeBox) -> None:
    env = {"SLURM_JOB_ID": "77"}
    box.add(10, "slurmstepd", comm="slurmstepd")
    for at, seed in ((30, "1"), (40, "2")):
        box.add(at, f"srun -n1 python train.py --seed {seed}", ppid=10, comm="srun", env=env)
        task = {**env, "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}
        box.add(at + 1, f"python train.py --seed {seed}", ppid=10, env=task)
    assert [(run.pid, run.ranks[0].pid) for run in box.runs()] == [(30, 31), (40, 41)]


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    if shutil.which("script") is None:
        pytest.skip("script is not installed")
    program, record = tmp_path / "train_toy.py", tmp_path / "typescript"
    program.write_text("import time\nprint('step 1 loss 2.0', flush=True)\ntime.sleep(60)\n")
    process = subprocess.Popen(
        ["script", "-q", "-f", "-c", f"{sys.executable} {program}", str(record)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    yield program, record
    for one in Processes().descendants(process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def test_a_run_under_screen_is_read_from_its_log(tmp_path: Path) -> None:
    if shutil.which("screen") is None:
        pytest.skip("screen is not installed")
    program, record = tmp_path / "train_toy.py", tmp_path / "screenlog.0"
    program.write_text("import time\nprint('step 1 loss 2.0', flush=True)\ntime.sleep(60)\n")
    folder = tmp_path / "screens"
    folder.mkdir(mode=0o700)
    env = {**os.environ, "SCREENDIR": str(folder)}
    words = ["screen", "-L", "-d", "-m", "-S", "toy", sys.executable, str(program)]
    subprocess.run(words, cwd=tmp_path, env=env, check=True)
    try:
        _recorded(program, record)
    finally:
        subprocess.run(["screen", "-S", "toy", "-X", "quit"], env=env, check=False)


def test_a_run_under_script_is_read_from_its_record(recorded: tuple[Path, Path]) -> None:
    _recorded(*recorded)


def _recorded(program: Path, record: Path) -> None:
    deadline = time.monotonic() + 120
    while not record.exists() or "step 1" not in record.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    runs = [run for run in discover(look_s=0) if str(program) in run.command]
    assert [run.logs for run in runs] == [(str(record),)]
