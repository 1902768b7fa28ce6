"""Troubles of the box: memory, disk, inodes, GPUs. Real cgroups, real tmpfs."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Program = Callable[[str], list[str]]
CGROUP_V1 = Path("/sys/fs/cgroup/memory")
LIMIT = 96 << 20


@pytest.fixture
def cgroup() -> Iterator[Path]:
    """A memory cgroup of 96 MiB, version 1 or 2, whichever this machine lets us make."""
    name = f"middlewatch-test-{os.getpid()}"
    v2 = Path("/sys/fs/cgroup")
    controllers = v2 / "cgroup.subtree_control"
    if os.geteuid() != 0:
        pytest.skip("needs root to make a cgroup")
    if (CGROUP_V1 / "memory.limit_in_bytes").exists():
        folder = CGROUP_V1 / name
        limit, swap = folder / "memory.limit_in_bytes", folder / "memory.memsw.limit_in_bytes"
    elif controllers.exists() and "memory" in controllers.read_text():
        folder = v2 / name
        limit, swap = folder / "memory.max", folder / "memory.swap.max"
    else:
        pytest.skip("no memory controller can be used here")
    try:
        folder.mkdir()
        limit.write_text(str(LIMIT))
        if swap.exists():
            swap.write_text(str(LIMIT) if "memsw" in swap.name else "0")
    except OSError as error:
        pytest.skip(f"a memory cgroup cannot be made: {error}")
    yield folder
    for _ in range(50):
        for pid in (folder / "cgroup.procs").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        try:
            folder.rmdir()
            return
        except OSError:
            time.sleep(0.1)


def _inside(cgroup: Path, *command: str) -> list[str]:
    return ["/bin/sh", "-c", f'echo $$ > {cgroup}/cgroup.procs; exec "$@"', "sh", *command]


@pytest.mark.system
def test_the_kernel_kills_the_trainer_for_memory(cgroup: Path, box: Any, program: Program) -> None:
    words = (*program("trainer"), "eat", "--at", "20", "--size", str(400 << 20))
    run = box.run(*_inside(cgroup, *words), name="gpt")
    box.until(lambda: box.status(run)["exit"], "the end of the trainer")
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"))
    assert "killed because memory ran out (limit 96.0 MiB); the run has ended" in push.title
    one = box.incident("cgroup_oom_kill")
    assert one["run"] == run
    assert any("oom_kill" in e["text"] and e["kind"] == "cgroup" for e in one["evidence"])
    assert box.status(run)["exit"] == {"code": None, "signal": 9}
    time.sleep(3)
    assert len([p for p in box.receiver.pushes if "CRITICAL" in p.title]) == 1, (
        "one cause, one push"
    )


@pytest.mark.system
def test_the_kernel_kills_a_worker_for_memory(cgroup: Path, box: Any, program: Program) -> None:
    words = (*program("trainer"), "worker", "--at", "20", "--size", str(400 << 20))
    run = box.run(*_inside(cgroup, *words), name="gpt")
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"))
    assert "killed because memory ran out" in push.title
    assert "the run itself is still alive" in push.title
    one = box.incident("cgroup_oom_kill")
    assert one["run"] == run
    assert one["details"]["main"] is False
    box.steps(30)
    assert box.status(run)["pid"] is not None


@pytest.mark.system
def test_the_disk_is_full_during_torch_save(
    mount: Callable[[str], Path], box: Any, program: Program
) -> None:
    pytest.importorskip("torch")
    out = mount("size=24m")
    run = box.run(
        *program("torch_saver"), str(out), name="gpt", options=("--checkpoints", str(out))
    )
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"))
    assert "will not fit" in push.title or "is full" in push.title
    assert str(out) in push.body
    one = box.incident("disk_full")
    assert one["run"] == run
    assert any(e["kind"] == "disk" for e in one["evidence"])
    box.until(lambda: box.status(run)["state"] == "failed")
    # What the full disk left behind is no checkpoint to resume from.
    index = box.ask("checkpoints", run=run)
    assert index["resume_from"] is None or "step-3" not in index["resume_from"]
    assert not [p for p in box.receiver.pushes if "python_exception" in p.body.split("\n")[0]]


@pytest.mark.slow
@pytest.mark.system
def test_the_next_checkpoint_will_not_fit(
    mount: Callable[[str], Path], box: Any, program: Program
) -> None:
    """Told before the save that fails, not after it: the fourth, which never begins."""
    out = mount("size=24m")
    words = (
        "none",
        "--save-every",
        "60",
        "--saves",
        "3",
        "--size",
        str(7 << 20),
        "--out",
        str(out),
    )
    run = box.run(*program("trainer"), *words, options=("--checkpoints", str(out)), name="gpt")
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"))
    assert "the next checkpoint (7.0 MiB" in push.title
    assert box.status(run)["state"] in ("failing", "failed")
    assert len(list(out.glob("*.safetensors"))) == 3


@pytest.mark.system
def test_the_inodes_are_used_up(mount: Callable[[str], Path], box: Any, program: Program) -> None:
    out = mount("size=16m,nr_inodes=200")
    words = ("litter", "--at", "10", "--out", str(out), "--sleep", "0.3")
    run = box.run(*program("trainer"), *words, options=("--checkpoints", str(out)), name="gpt")
    push = box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"))
    assert "no inodes left" in push.title
    one = box.incident("inode_exhausted")
    assert one["run"] == run
    assert any("inodes free" in e["text"] for e in one["evidence"])


@pytest.mark.system
def test_pushes_leave_though_our_own_disk_is_full(
    mount: Callable[[str], Path], box: Any, program: Program
) -> None:
    """The state directory itself lies on the full disk: tell first, write down later."""
    disk = mount("size=8m")
    box.state = disk / "state"
    run = box.run(*program("trainer"), "nan", "--at", "60", "--sleep", "0.1", name="gpt")
    box.steps(5)

    def told() -> list[Any]:
        # Again and again: a store that could not write gives its journal back, more than 1 %.
        with contextlib.suppress(OSError), (disk / "filler").open("ab", buffering=0) as filler:
            while filler.write(b"x" * 65536):
                pass
        return [p for p in box.receiver.pushes if "full" in p.title]

    push, *_ = box.until(told, "a push")
    assert str(disk) in push.title
    assert box.status(run)["run"] == run


def test_a_gpu_falls_off_the_bus(box: Any, program: Program, nvml_double: Any) -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("a real driver is here: a run uses the GPUs whose device files it opens")
    box.extra_env.update(nvml_double.env, CUDA_VISIBLE_DEVICES="1")
    nvml_double.scenario(nvml_double.stored("two_h100"))
    run = box.run(*program("trainer"), "none", name="gpt")
    box.until(lambda: len(box.ask("overview")["box"]["gpus"]) == 2, "two GPUs")
    nvml_double.scenario(nvml_double.stored("two_h100") + "\nlost = 1\n")
    box.push(lambda p: p.title.startswith("[CRITICAL] gpt on"))
    one = box.incident("gpu_lost")
    assert one["run"] == run
    assert one["evidence"][0]["kind"] == "gpu"


def test_a_gpu_of_nobody_falls_off_the_bus(box: Any, program: Program, nvml_double: Any) -> None:
    """No process of a run is seen on it: a warning about the box."""
    box.extra_env.update(nvml_double.env)
    nvml_double.scenario(nvml_double.stored("two_h100"))
    box.run(*program("trainer"), "none", name="gpt")
    box.run(*program("trainer"), "none", name="bert")
    box.until(lambda: len(box.ask("overview")["box"]["gpus"]) == 2, "two GPUs")
    nvml_double.scenario(nvml_double.stored("two_h100") + "\nlost = 1\n")
    push = box.push(lambda p: "is lost to the driver" in p.title)
    assert push.title.startswith("[WARNING] ")
    assert "no run is known to use it" in push.title
    one = box.incident("gpu_lost")
    assert len(one["runs"]) == 2
    assert len([p for p in box.receiver.pushes if "is lost" in p.title]) == 1


@pytest.mark.slow
def test_the_driver_hangs(box: Any, program: Program, nvml_double: Any) -> None:
    """A call that never returns: told as blindness, and the daemon lives."""
    box.configure("[sentinels.blind]\nfor_s = 3\n")
    box.extra_env.update(nvml_double.env)
    nvml_double.scenario(nvml_double.stored("two_h100"))
    run = box.run(*program("trainer"), "none", name="gpt")
    box.until(lambda: box.ask("overview")["box"]["gpus"], "the GPUs")
    hang = "delay_ms.nvmlDeviceGetPowerUsage = 600000\n"
    nvml_double.scenario(hang + nvml_double.stored("two_h100"))
    push = box.push(lambda p: p.title.startswith("[WARNING] gpt on"))
    assert "nvml" in push.title
    assert "has not answered" in push.title
    one = box.incident("blind")
    assert one["run"] == run
    before = box.status(run)["now"]["step"]
    box.steps(before + 10)
    nvml_double.scenario(nvml_double.stored("two_h100"))
    box.push(lambda p: p.title.startswith("[RESOLVED] gpt on"))


def test_an_exit_status_that_found_no_place(box: Any, program: Program) -> None:
    """Something is in the way of the record: the copy in memory tells the end."""
    run = box.run(*program("trainer"), "early", "--at", "40", "--steps", "40", name="gpt")
    box.steps(5)
    record = box.state / "runs" / run / "exit.json"
    record.unlink()
    record.mkdir()
    box.until(lambda: box.status(run)["exit"], "the end")
    box.until(lambda: box.status(run)["exit"]["code"] == 0, "its status")
    box.push(lambda p: p.title.startswith("[FINISHED] gpt on"))
    record.rmdir()  # the supervisor goes on trying for minutes: let it find its place, and end
