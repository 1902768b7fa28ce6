"""The checks before a launch, with real sockets, files and scripts."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from middlewatch.daemon.box import audit_launch
from middlewatch.daemon.box.audit_launch import Asked
from middlewatch.daemon.box.audit_line import AuditLine
from middlewatch.sentinels.kit import GpuSample


def gpu(index: int, used: int = 0) -> GpuSample:
    return GpuSample(0.0, index, f"GPU-{index}", "H100", mem_used_bytes=used, mem_total_bytes=80)


def by_name(lines: list[AuditLine]) -> dict[str, AuditLine]:
    return {line.what: line for line in lines}


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("torchrun --nproc_per_node 8 train.py", 8),
        ("torchrun --nproc-per-node=4 train.py", 4),
        ("accelerate launch --num_processes 2 train.py", 2),
        ("deepspeed --num_gpus 8 train.py", 8),
        ("torchrun --nproc_per_node gpu train.py", None),
        ("torchrun --nproc_per_node", None),
        ("python train.py", None),
    ],
)
def test_processes_asked_for(command: str, asked: int | None) -> None:
    assert audit_launch.gpus_asked(command.split()) == asked


def test_more_gpus_asked_than_there() -> None:
    words = ("torchrun", "--nproc_per_node", "8", "train.py")
    lines = by_name([*audit_launch.gpu_checks(words, [gpu(0), gpu(1)], {})])
    assert (lines["GPUs asked"].state, lines["GPUs asked"].detail) == (
        "bad",
        "8 processes asked for, 2 GPUs may be used",
    )
    some = [*audit_launch.gpu_checks((*words[:2], "2"), [gpu(i) for i in range(4)], {})]
    assert by_name(some)["GPUs asked"].state == "ok"


def test_gpus_that_are_hidden_or_not_there() -> None:
    two = [gpu(0), gpu(1)]
    words = ("torchrun", "--nproc_per_node=2")
    lines = by_name([*audit_launch.gpu_checks(words, two, {"CUDA_VISIBLE_DEVICES": "1"})])
    assert lines["GPUs asked"].state == "bad"
    (wrong,) = audit_launch.gpu_checks((), two, {"CUDA_VISIBLE_DEVICES": "0,7"})
    assert (wrong.state, "GPU 7" in wrong.detail) == ("bad", True)
    (empty,) = audit_launch.gpu_checks((), two, {"CUDA_VISIBLE_DEVICES": ""})
    assert empty.state == "bad"
    assert [*audit_launch.gpu_checks((), two, {"CUDA_VISIBLE_DEVICES": "0,1"})] == []
    assert [*audit_launch.gpu_checks((), [], {"CUDA_VISIBLE_DEVICES": ""})] == []


def test_a_gpu_that_somebody_uses() -> None:
    lines = [*audit_launch.gpu_checks((), [gpu(0), gpu(1, used=30)], {})]
    assert [(line.what, line.state) for line in lines] == [("memory of GPU 1", "warn")]


def test_a_rendezvous_port_that_is_taken() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        words = ("torchrun", f"--master_port={port}", "train.py")
        taken = audit_launch.rendezvous(words, {})
        assert (taken.state, taken.what) == ("bad", f"rendezvous port {port}")
        by_variable = audit_launch.rendezvous((), {"MASTER_PORT": str(port)})
        assert by_variable.state == "bad"
    assert audit_launch.rendezvous(words, {}).state == "ok"
    end = ("torchrun", "--rdzv-endpoint", f"127.0.0.1:{port}", "train.py")
    assert audit_launch.rendezvous(end, {}).what == f"rendezvous port {port}"


def test_a_master_that_nobody_knows() -> None:
    line = audit_launch.rendezvous((), {"MASTER_ADDR": "no-such-node.invalid"})
    assert (line.state, "MASTER_ADDR" in line.detail) == ("bad", True)


def test_the_default_port_is_that_of_torchrun() -> None:
    assert audit_launch.rendezvous((), {}).what == "rendezvous port 29500"
    assert audit_launch.rendezvous((), {"MASTER_PORT": "many"}).what == "rendezvous port 29500"


def test_what_a_shell_still_has_from_before() -> None:
    env = {"RANK": "0", "WORLD_SIZE": "8", "NCCL_P2P_DISABLE": "1", "CUDA_LAUNCH_BLOCKING": "0"}
    env |= {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "0", "TORCH_DISTRIBUTED_DEBUG": "INFO"}
    lines = by_name([*audit_launch.left_over(env)])
    assert set(lines) == {"rank variables", "NCCL_P2P_DISABLE", "TORCH_NCCL_ASYNC_ERROR_HANDLING"}
    assert [*audit_launch.left_over({})] == []
    assert [*audit_launch.left_over({"RANK": "0", "SLURM_JOB_ID": "7"})] == []


def test_infiniband_is_used_where_it_is(tmp_path: Path) -> None:
    port = tmp_path / "infiniband/mlx5_0/ports/1"
    port.mkdir(parents=True)
    (tmp_path / "net/eth0").mkdir(parents=True)
    (tmp_path / "net/eth0/speed").write_text("25000\n")
    (port / "state").write_text("4: ACTIVE\n")
    lines = by_name([*audit_launch.interconnect({}, tmp_path)])
    assert lines["InfiniBand"].state == "ok"
    assert "eth0 25 Gbit/s" in lines["interfaces"].detail
    off = by_name([*audit_launch.interconnect({"NCCL_IB_DISABLE": "1"}, tmp_path)])
    assert off["InfiniBand"].state == "warn"
    (port / "state").write_text("1: DOWN\n")
    assert by_name([*audit_launch.interconnect({}, tmp_path)])["InfiniBand"].state == "warn"


def test_an_interface_that_is_not_there(tmp_path: Path) -> None:
    for name in ("eth0", "lo"):
        (tmp_path / "net" / name).mkdir(parents=True)
    for value, bad in (("eth", False), ("=eth", True), ("ib0", True), ("^lo", False)):
        lines = [*audit_launch.interconnect({"NCCL_SOCKET_IFNAME": value}, tmp_path)]
        assert bool(lines) == bad, value


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import os\nimport transformers\nos.environ['HF_ENDPOINT'] = 'x'", ["HF_ENDPOINT"]),
        ("import os\nos.environ['HF_ENDPOINT'] = 'x'\nimport transformers", []),
        (
            "from os import environ\nfrom datasets import x\nenviron.setdefault('HF_HOME', 'x')",
            ["HF_HOME"],
        ),
        ("import os, trl\nos.putenv('HF_HUB_OFFLINE', '1')", ["HF_HUB_OFFLINE"]),
        ("import os, torch\nos.environ['HF_HOME'] = 'x'", []),
        ("import os, transformers\nos.environ['WANDB_MODE'] = 'x'", []),
    ],
)
def test_a_setting_that_comes_after_the_import(tmp_path: Path, text: str, names: list[str]) -> None:
    (tmp_path / "train.py").write_text(text)
    lines = [*audit_launch.order_of_imports(("python", "train.py"), tmp_path)]
    assert [(line.what, line.state) for line in lines] == [(name, "bad") for name in names]


def test_a_script_that_is_none(tmp_path: Path) -> None:
    assert [*audit_launch.order_of_imports(("bash", "x.sh"), tmp_path)] == []
    (tmp_path / "train.py").write_text("def (:")
    (line,) = audit_launch.order_of_imports(("python", "train.py"), tmp_path)
    assert (line.what, line.state) == ("script", "bad")


def test_room_for_the_saves_that_are_planned(tmp_path: Path) -> None:
    room = os.statvfs(tmp_path)
    free = room.f_bavail * room.f_frsize
    assert audit_launch.budget(Asked(save_bytes=free // 10, saves=4), tmp_path).state == "ok"
    tight = audit_launch.budget(Asked(save_bytes=free // 5, saves=4), tmp_path)
    assert tight.state in ("ok", "warn")  # others write here as well
    full = audit_launch.budget(Asked(save_bytes=free, saves=20), tmp_path)
    assert (full.state, "20 saves of" in full.detail) == ("bad", True)


def test_how_many_more_saves_of_a_run_fit(tmp_path: Path) -> None:
    room = os.statvfs(tmp_path)
    free = room.f_bavail * room.f_frsize
    path = str(tmp_path / "a.pt")
    states = []
    for size in (free // 100, free // 3, free * 2):
        run = {"run": "gpt", "checkpoints": {"latest": {"path": path, "bytes": size}}}
        (line,) = audit_launch.saves_that_fit([run])
        states.append(line.state)
    assert states == ["ok", "warn", "bad"]
    assert [*audit_launch.saves_that_fit([{"run": "x"}, {"run": "y", "checkpoints": {}}])] == []
