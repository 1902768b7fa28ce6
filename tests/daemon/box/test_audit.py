from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from middlewatch.daemon.box import audit as audit_module
from middlewatch.daemon.box import machine
from middlewatch.daemon.box.audit import audit, cpu
from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.phones import write_urls
from middlewatch.daemon.system import jsonlines
from middlewatch.sentinels.kit import DiskSample, GpuSample, MemorySample

from ...fakes.nvml_library import NvmlDouble
from ..box_tree import BoxTree

SECRET = "json://bob:hunter22@example.org/"


@pytest.fixture(autouse=True)
def no_urls_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIDDLEWATCH_ALERT_URLS", raising=False)


def test_a_look_over_this_box(tmp_path: Path) -> None:
    config = parse(f"[alerts]\nurls = ['{SECRET}']", "f")
    seen = json.loads(jsonlines.dumps(audit(tmp_path / "state", config, tmp_path)))
    checks = {c["what"]: c for c in seen["checks"]}
    assert {"GPUs", "memory", "CPU", "/dev/shm", "network", "kernel log", "inotify", "stacks",
            "alerts", "service"} <= set(checks)  # fmt: skip
    assert all(c["state"] in ("ok", "warn", "bad", "unknown") for c in checks.values())
    assert all(c["detail"] for c in checks.values())
    disk = next(d for d in seen["box"]["disks"] if "cwd" in d["holds"])
    assert disk["total_bytes"] > 0
    assert f"disk {disk['mount']}" in checks
    assert checks["alerts"]["detail"].startswith("1 URLs")
    assert "hunter22" not in json.dumps(seen)
    assert not (tmp_path / "state").exists()  # it looks, and makes nothing
    assert seen["cpu"]["allowed"] >= 1
    assert seen["host"]


def test_nobody_to_tell_is_bad(tmp_path: Path) -> None:
    seen = audit(tmp_path, parse("", ""), tmp_path)
    alerts = next(c for c in seen["checks"] if c["what"] == "alerts")
    assert alerts["state"] == "bad"


def test_a_url_that_was_given_to_the_daemon_counts(tmp_path: Path) -> None:
    file = StateDir(tmp_path).alert_urls
    write_urls(file, [SECRET])
    for mode, state in ((0o600, "ok"), (0o666, "bad")):
        file.chmod(mode)
        seen = audit(tmp_path, parse("", ""), tmp_path)
        alerts = next(c for c in seen["checks"] if c["what"] == "alerts")
        assert alerts["state"] == state
        assert SECRET not in json.dumps(seen)


def test_gpus_through_the_driver(nvml_double: NvmlDouble, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "middlewatch.daemon", "audit", "--json"]
    done = subprocess.run(
        [*words, "--state-dir", tmp_path],
        env={**os.environ, **nvml_double.env},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    seen = json.loads(done.stdout)
    gpus = next(c for c in seen["checks"] if c["what"] == "GPUs")
    assert (gpus["state"], gpus["detail"][:4]) == ("ok", "2 x ")
    assert len(seen["box"]["gpus"]) == 2


# ------------------------------------------------------------------------ storage and cadence


def test_where_saves_would_lie(tmp_path: Path) -> None:
    box = BoxTree(tmp_path / "box").env("RUNPOD_POD_ID", "RUNPOD_API_KEY")
    box.mount("/workspace").mount("/dev/shm", "tmpfs")
    text = {"text": "saves every 30 min", "every_s": 1800.0}
    runs: list[dict[str, Any]] = [
        {"run": "gpt-1", "checkpoint_dirs": ["/dev/shm/out"], "checkpoints": {"cadence": text}},
        {"run": "gpt-2", "checkpoint_dirs": ["/workspace/out"]},
    ]
    config = parse("[checkpoints]\ninterruption_hours = 24", "f")
    seen = audit(tmp_path / "state", config, Path("/root/gpt"), runs, str(box.root))
    seen = json.loads(jsonlines.dumps(seen))
    checks = {c["what"]: c for c in seen["checks"]}
    assert checks["platform"]["state"] == "ok"
    assert checks["platform"]["detail"].startswith("RunPod by env RUNPOD_POD_ID")
    assert seen["platforms"][0]["id"] == "runpod"
    assert checks["storage /dev/shm/out (checkpoints of gpt-1)"]["state"] == "warn"
    assert checks["storage /workspace/out (checkpoints of gpt-2)"]["state"] == "ok"
    assert "/workspace" in checks["storage /root/gpt (cwd)"]["detail"]
    rows = {row["path"]: row for row in seen["durability"]}
    assert rows["/workspace/out"]["survives_stop"] is True
    assert rows["/workspace/out"]["survives_destroy"] is False
    assert "38 min where a save takes 30 s" in checks["cadence"]["detail"]
    assert checks["cadence gpt-1"]["detail"] == "saves every 30 min"
    assert [row["every_s"] for row in seen["cadence"]["rule_of_thumb"]] == [600, 1800, 3600, 7200]
    assert [row["save_s"] for row in seen["cadence"]["by_save_time"]] == [5, 30, 120]


def test_a_box_that_nobody_knows(tmp_path: Path) -> None:
    box = BoxTree(tmp_path / "box")
    seen = audit(tmp_path / "state", parse("", ""), Path("/root/gpt"), root=str(box.root))
    checks = {c["what"]: c for c in seen["checks"]}
    assert (checks["platform"]["state"], seen["platforms"]) == ("unknown", [])
    assert checks["storage /root/gpt (cwd)"]["state"] == "unknown"
    assert "interruption_hours" in checks["cadence"]["detail"]
    assert seen["cadence"]["by_save_time"] == []


# ------------------------------------------------------------------------ single checks


def disk(**more: Any) -> DiskSample:
    values: dict[str, Any] = {
        "at": 0.0, "mount": "/data", "fstype": "ext4", "total_bytes": 1000, "free_bytes": 500,
        "total_inodes": 100, "free_inodes": 50, "holds": ("cwd",), **more,
    }  # fmt: skip
    return DiskSample(**values)


@pytest.mark.parametrize(
    ("sample", "state", "words"),
    [
        (disk(), "ok", "50 of 100 inodes free"),
        (disk(free_bytes=50), "warn", ""),
        (disk(free_bytes=5), "bad", ""),
        (disk(free_inodes=5), "warn", ""),
        (disk(free_inodes=0), "bad", ""),
        (disk(total_inodes=None, free_inodes=None), "ok", "inodes unknown"),
        (disk(read_only=True), "bad", "READ-ONLY"),
        (disk(total_bytes=0, free_bytes=0), "ok", ""),
    ],
)
def test_disks(sample: DiskSample, state: str, words: str) -> None:
    check = audit_module._disk_check(sample)
    assert check.state == state
    assert words in check.detail


@pytest.mark.parametrize(
    ("limit", "used", "state"), [(None, 10, "ok"), (100, 10, "ok"), (100, 95, "warn")]
)
def test_memory(limit: int | None, used: int, state: str) -> None:
    sample = MemorySample(0.0, "/", limit, used, used, 0, host_available_bytes=10)
    assert audit_module._memory_check(sample).state == state
    assert audit_module._memory_check(None).state == "unknown"


def test_a_lost_gpu_is_bad_and_none_is_a_warning() -> None:
    lost = [GpuSample(0.0, 0, name="H100"), GpuSample(0.0, 1, name="H100", lost=True)]
    assert audit_module._gpu_check(lost, "").state == "bad"
    none = audit_module._gpu_check([], "no driver")
    assert (none.state, "no driver" in none.detail) == ("warn", True)


def test_cores_that_are_ours() -> None:
    have = cpu()
    assert have["allowed"] == len(os.sched_getaffinity(0))
    assert have["quota"] is None or have["quota"] > 0


# ------------------------------------------------------------------------ the machine


def test_the_machine_is_told(tmp_path: Path) -> None:
    seen = json.loads(jsonlines.dumps(audit(tmp_path / "state", parse("", ""), tmp_path)))
    told, checks = seen["machine"], {c["what"]: c for c in seen["checks"]}
    total = Path("/proc/meminfo").read_text().split()[1]
    assert told["memory_bytes"] == int(total) * 1024
    assert told["threads"] == seen["cpu"]["host"]
    assert told["booted_at"][:2] == "20"
    assert checks["machine"]["detail"].startswith("up for ")
    assert f"{told['threads']} threads" in checks["machine"]["detail"]


class Partition(NamedTuple):
    device: str
    mountpoint: str
    fstype: str


def test_other_disks_are_named_once_and_dead_servers_are_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = str(tmp_path)
    (tmp_path / "hosts").write_text("")
    parts = [
        Partition("/dev/a", here, "ext4"),
        Partition("/dev/a", str(tmp_path.parent), "ext4"),
        Partition("server:/x", "/", "nfs4"),
        Partition("/dev/loop0", "/proc", "squashfs"),
        Partition("/dev/b", str(tmp_path / "hosts"), "ext4"),
        Partition("/dev/c", str(tmp_path / "gone"), "ext4"),
    ]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: parts)
    (one,) = machine.other_disks()
    room = os.statvfs(here)
    assert (one.mount, one.device, one.fstype) == (here, "/dev/a", "ext4")
    assert one.total == room.f_blocks * room.f_frsize
    assert list(machine.other_disks([here])) == []


def test_what_is_told_of_a_machine() -> None:
    told = {
        "booted_at": 0.0, "cores": None, "threads": 8, "memory_bytes": 1 << 30, "swap_bytes": 0,
        "users": ["ann", "bob"],
        "other_disks": [{"mount": "/nvme", "free": 1 << 30, "total": 2 << 30, "fstype": "xfs"}],
    }  # fmt: skip
    checks = {c.what: c.detail for c in audit_module._machine_checks(told, 7200.0)}
    assert checks == {
        "machine": "up for 2 h; 8 threads, 1.0 GiB, no swap",
        "users": "logged in: ann, bob",
        "disk /nvme": "1.0 GiB of 2.0 GiB free, xfs (holds no folder that is checked here)",
    }
