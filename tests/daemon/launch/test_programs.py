"""On a /proc made of files: what cannot be started here (containers, Slurm, MPI)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from middlewatch.daemon.launch.discover import describe, discover, name_of
from middlewatch.daemon.launch.groups import find
from middlewatch.daemon.launch.homes import container_id, home_of, unit_of
from middlewatch.daemon.launch.programs import (
    base_name,
    is_excluded,
    is_launcher,
    looks_like_training,
    program,
)
from middlewatch.daemon.system.processes import Process, Processes

ID = "0123456789abcdef" * 4


class FakeProc:
    """Writes the files of /proc that discovery reads."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder)
        self._folder = folder
        (folder / "stat").write_text("cpu 1 2 3\nbtime 1700000000\n")

    def add(
        self,
        pid: int,
        line: str,
        *,
        ppid: int = 1,
        comm: str = "python",
        env: Mapping[str, str] | None = None,
        cgroup: str = "0::/",
        maps: str = "",
        user: int = 0,
    ) -> Process:
        uid = f"\t{user}" * 4
        folder = self._folder / str(pid)
        folder.mkdir()
        rest = f"S {ppid} {pid} {pid} 0 -1 0 0 0 0 0 50 50 0 0 20 0 1 0 {pid * 100} 0 0" + 30 * " 0"
        (folder / "stat").write_text(f"{pid} ({comm}) {rest}\n")
        (folder / "cmdline").write_text("\0".join(line.split()) + "\0")
        (folder / "environ").write_text("\0".join(f"{k}={v}" for k, v in (env or {}).items()))
        (folder / "cgroup").write_text(cgroup + "\n")
        (folder / "maps").write_text(maps)
        (folder / "status").write_text(f"Uid:{uid}\nSigIgn:\t0000000000000000\n")
        return Process(self.path, pid)


@pytest.fixture
def box(tmp_path: Path) -> FakeProc:
    return FakeProc(tmp_path)


@pytest.mark.parametrize(
    ("line", "name", "script"),
    [
        ("python3.11 -u /a/train.py --lr 1", "train.py", True),
        ("python -m torch.distributed.run --nproc 2 x.py", "torch.distributed.run", True),
        ("python -um pkg.train", "pkg.train", True),
        ("python -X faulthandler -W error t.py", "t.py", True),
        ("python -c pass train.py", "python", False),
        ("python", "python", False),
        ("/usr/bin/vim train.py", "vim", False),
        ("./train_gpt2cu -i x", "train_gpt2cu", False),
    ],
)
def test_the_program_of_a_command_line(box: FakeProc, line: str, name: str, script: bool) -> None:
    what = program(box.add(7, line))
    assert (what.name, what.script) == (name, script)


@pytest.mark.parametrize(
    "line",
    [
        "python train.py",
        "python -m pkg.finetune_lora",
        "python /v/bin/torchrun --nproc 2 x.py",
        "/v/bin/python /v/bin/accelerate launch x.py",
        "python /v/bin/litgpt finetune",
        "srun -n 4 python x.py",
        "mpirun -np 2 ./x",
    ],
)
def test_what_looks_like_training(box: FakeProc, line: str) -> None:
    process = box.add(7, line)
    assert looks_like_training(process)
    assert not is_excluded(process)


@pytest.mark.parametrize(
    "line", ["vim train.py", "bash train.sh", "python", "python app.py", "tail -f train.log"]
)
def test_what_does_not(box: FakeProc, line: str) -> None:
    assert not looks_like_training(box.add(7, line))


@pytest.mark.parametrize(
    "line",
    [
        "python -m pip install torch",
        "python /v/bin/pytest tests/train",
        "python -m ipykernel_launcher -f k.json",
        "python -m http.server",
        "python /v/bin/tensorboard --logdir x",
        "python -c from~multiprocessing.resource_tracker~import~main",
        "python -I -S /v/middlewatch/daemon/launch/supervisor.py --name x",
        "python -I -S /v/middlewatch/daemon/keeper.py --name x",
        "python -m middlewatch.daemon",
    ],
)
def test_what_is_never_a_run(box: FakeProc, line: str) -> None:
    assert is_excluded(box.add(7, line))


def test_torch_in_memory_and_ranks_in_the_environment_count_for_python_only(box: FakeProc) -> None:
    torch = "7f00-7f01 r-xp 00 fe:00 1 /v/torch/lib/libtorch_cpu.so\n"
    rank = {"RANK": "0", "WORLD_SIZE": "2"}
    assert looks_like_training(box.add(2, "python app.py", maps=torch))
    assert looks_like_training(box.add(3, "python app.py", env=rank))
    assert not looks_like_training(box.add(4, "sh x.sh", env=rank, maps=torch))
    assert is_launcher(box.add(5, "python -m deepspeed.launcher.launch x.py"))


def test_who_may_see_more_is_named(box: FakeProc) -> None:
    box.add(100, "python train.py", user=0)
    box.add(200, "python train_other.py", user=4_000_000)
    box.add(300, "python train_third.py", env={"HOME": "/root"})
    notes = {run.pid: " ".join(run.notes) for run in discover(proc=box.path, look_s=0.0)}
    assert "environment is not readable: run as root or as root" in notes[100]
    assert "environment is not readable: run as 4000000 or as root" in notes[200]
    assert "environment" not in notes[300]


def test_slurm_tasks_without_a_common_parent_are_one_run(box: FakeProc) -> None:
    box.add(10, "slurmstepd", comm="slurmstepd")
    for rank in range(4):
        env = {"SLURM_PROCID": str(rank), "SLURM_NTASKS": "4", "SLURM_JOB_ID": "77"}
        env |= {"SLURM_STEP_ID": "0", "SLURM_JOB_NAME": "big run"}
        box.add(20 + rank, "python train.py", ppid=10, env=env)
    (run,) = discover(proc=box.path, look_s=0)
    assert [(rank.rank, rank.pid) for rank in run.ranks] == [(0, 20), (1, 21), (2, 22), (3, 23)]
    assert (run.name, run.world_size, run.home, run.pid) == ("big run", 4, "slurm", 20)
    assert run.started_at == 1700000000 + 20


def test_two_jobs_at_the_same_address_stay_two(box: FakeProc) -> None:
    env = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "WORLD_SIZE": "2", "RANK": "0"}
    box.add(20, "python train.py", env=env)
    box.add(30, "python train.py", env=env)
    assert [run.name for run in discover(proc=box.path, look_s=0)] == ["train", "train-2"]


def test_the_first_rank_of_lightning_starts_the_others(box: FakeProc) -> None:
    env = {"LOCAL_RANK": "1", "NODE_RANK": "0", "WORLD_SIZE": "2"}
    box.add(20, "python train.py")
    box.add(21, "python train.py", ppid=20, env=env)
    (run,) = discover(proc=box.path, look_s=0)
    assert [(rank.rank, rank.pid) for rank in run.ranks] == [(0, 20), (1, 21)]


def test_ranks_that_only_the_gpu_knows(box: FakeProc) -> None:
    box.add(20, "python train.py")
    for pid in (21, 22, 23):
        box.add(pid, "python -c from_multiprocessing.spawn_import_spawn_main", ppid=20)
    (run,) = discover(gpu_pids=[21, 22], proc=box.path, look_s=0)
    assert run.pid == 20
    assert [rank.pid for rank in run.ranks] == [21, 22]


def test_a_notebook_counts_when_it_holds_a_gpu(box: FakeProc) -> None:
    box.add(20, "python -m ipykernel_launcher -f k.json")
    assert discover(proc=box.path, look_s=0) == []
    (run,) = discover(gpu_pids=[20], proc=box.path, look_s=0)
    assert run.name == "notebook"


def test_the_climb_ends_at_the_terminal_and_may_end_at_the_first_process(box: FakeProc) -> None:
    box.add(1, "python /v/bin/torchrun train.py", ppid=0)
    box.add(5, "sshd", comm="sshd")
    box.add(6, "bash", ppid=5, comm="bash")
    box.add(7, "python pretrain.py", ppid=6)
    box.add(8, "python train.py", ppid=1, env={"RANK": "0", "WORLD_SIZE": "1"})
    assert [run.pid for run in discover(proc=box.path, look_s=0)] == [1, 7]
    assert describe(7, proc=box.path).pid == 7


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("python /v/bin/torchrun --rdzv-id=exp7 --nproc 2 train.py", "exp7"),
        ("python /v/bin/torchrun --rdzv_id exp8 train.py", "exp8"),
        ("python -m torch.distributed.run --rdzv-id none -m pkg.sft --x", "sft"),
        ("python /v/bin/accelerate launch --config_file a.yaml tools/dpo.py a.py", "dpo"),
        ("python /v/bin/litgpt finetune", "litgpt"),
        ("./train_gpt2cu", "train_gpt2cu"),
    ],
)
def test_names(box: FakeProc, line: str, name: str) -> None:
    assert name_of(box.add(7, line), Processes(box.path)) == name


@pytest.mark.parametrize(
    ("cgroup", "home"),
    [
        ("0::/", "process"),
        ("0::/user.slice/user-0.slice/session-3.scope", "process"),
        ("0::/system.slice/ssh.service", "process"),
        ("0::/system.slice/train.service", "systemd"),
        (
            "1:name=systemd:/user.slice/user-1.slice/user@1.service/app.slice/mw-a.service",
            "systemd",
        ),
        (f"0::/system.slice/docker-{ID}.scope", "docker"),
        (f"4:memory:/docker/{ID}", "docker"),
        (f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope", "docker"),
        ("0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0", "slurm"),
    ],
)
def test_homes_by_cgroup(box: FakeProc, cgroup: str, home: str) -> None:
    process = box.add(7, "python train.py", cgroup=cgroup)
    assert home_of(process, Processes(box.path), None, pane=False) == home
    if home == "docker":
        assert container_id(process) == ID
        assert home_of(process, Processes(box.path), process, pane=False) == "process"
    assert (unit_of(process) is not None) == (home == "systemd")


def test_screen_is_a_home(box: FakeProc) -> None:
    box.add(5, "SCREEN", comm="screen")
    box.add(6, "bash", ppid=5, comm="bash")
    process = box.add(7, "python train.py", ppid=6)
    assert home_of(process, Processes(box.path), None, pane=False) == "screen"


@settings(max_examples=40)
@given(st.binary(max_size=200), st.from_regex(rb"9 \(x\) S( [-0-9a-z]{1,3}){0,25}"))
@example(b"SigIgn:", b"9 (x) S" + b" x" * 25)
@example(b"SigIgn:\tzz\n", b"")
def test_garbage_in_proc_is_no_error(
    tmp_path_factory: pytest.TempPathFactory, a: bytes, b: bytes
) -> None:
    folder = tmp_path_factory.mktemp("proc")
    process = folder / "9"
    process.mkdir()
    for name in ("cmdline", "environ", "cgroup", "maps", "status"):
        (process / name).write_bytes(a)
    (process / "stat").write_bytes(b"9 (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21")
    discover(proc=str(folder), look_s=0, gpu_pids=[9])
    (process / "stat").write_bytes(b)
    discover(proc=str(folder), look_s=0, gpu_pids=[9])


PARTS = st.lists(st.sampled_from(["", ".", "..", "a", "b.py", "/", "//"]), max_size=5)


@given(PARTS.map("/".join) | st.text(max_size=8))
def test_the_last_part_of_a_path(path: str) -> None:
    assert base_name(path) == PurePosixPath(path).name


def test_what_is_no_candidate_keeps_nothing_large(box: FakeProc) -> None:
    for pid, line in ((7, "python serve_it.py"), (8, "python train.py")):
        box.add(pid, line, env={"HOME": "/root"}, maps="/lib/libc.so\n")
    processes = Processes(box.path)
    assert set(find(processes, (), {}, 0.5, 1)) == {8}
    assert not {"environ", "files", "maps"} & set(vars(processes[7]))
    assert processes[7].environ == {"HOME": "/root"}
