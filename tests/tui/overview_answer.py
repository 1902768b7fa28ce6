"""An `overview` answer as the daemon gives it, for the tests of the screens."""

from __future__ import annotations

import math
from typing import Any

GIB = 1024**3
GUILTY = "step 4200/5000 | train_loss nan | lr 3.0e-04"


def incident(id: str = "a1b2", severity: str = "critical", **changes: Any) -> dict[str, Any]:  # noqa: A002
    return {
        "id": id,
        "run": "gpt-ab12",
        "class": "nan_loss",
        "severity": severity,
        "state": "open",
        "opened_at": "2026-03-01T02:10:00.000+01:00",
        "last_seen_at": "2026-03-01T02:12:58.000+01:00",
        "resolved_at": None,
        "count": 7,
        "summary": "loss is nan since step 4200",
        "cause": "fp16 overflow, a peak learning rate too high, or a bad batch",
        "evidence": [
            {"kind": "log", "text": GUILTY, "at": "2026-03-01T02:10:00.000+01:00"},
            {"kind": "gpu", "text": "gpu0 at 98 %, 612 W", "at": None},
        ],
        "remedy": {
            "id": "nan_loss",
            "first_step": "stop the run and resume from the last verified checkpoint",
            "safe": True,
        },
        "alerted_at": "2026-03-01T02:10:02.000+01:00",
        **changes,
    }


def run(id: str = "gpt-ab12", **changes: Any) -> dict[str, Any]:  # noqa: A002
    return {
        "run": id,
        "name": id.partition("-")[0],
        "state": "running",
        "state_reason": "a step every 0.8 s",
        "since": "2026-02-28T23:13:00.000+01:00",
        "pid": 4242,
        "command": ["python", "train.py"],
        "cwd": "/data/gpt",
        "started_at": "2026-02-28T23:12:00.000+01:00",
        "ended_at": None,
        "exit": None,
        "now": {
            "step": 4200,
            "total": 5000,
            "epoch": None,
            "values": {"train_loss": 2.31, "lr": 3e-4, "tokens_per_s": 182_000.0},
            "step_interval_s": 0.8,
            "eta": "2026-03-01T02:24:00.000+01:00",
            "last_step_at": "2026-03-01T02:12:59.000+01:00",
        },
        "curve": {
            "metric": "train_loss",
            "points": [[n * 20, 2.2 + 8.7 * math.exp(-n / 30)] for n in range(211)],
        },
        "paces": [[n * 70, 1.25 - 0.2 * (n == 40)] for n in range(1, 61)],
        "gpus": [0],
        "logs": [
            {
                "path": "/data/gpt/train.log",
                "bytes": 1_280_000,
                "lines": 4300,
                "grown_at": "2026-03-01T02:12:59.000+01:00",
                "state": "ok",
                "detail": "",
                "buffered": False,
            }
        ],
        "log_tail": [
            f"step {n}/5000 | train_loss {2.2 + n / 1e5:.4f} | lr 3.0e-04" for n in range(4151, 4201)
        ],
        "processes": [
            {"pid": 4242 + n, "rank": n, "name": "python", "state": "R", "cpu_ratio": 0.98,
             "rss_bytes": 6 * GIB}
            for n in range(2)
        ],
        "checkpoints": {
            "count": 3,
            "latest": {
                "path": "/data/gpt/out/ckpt_4000.pt",
                "step": 4000,
                "saved_at": "2026-03-01T02:01:00.000+01:00",
                "bytes": 14 * GIB,
                "state": "ok",
                "level": "finite",
            },
            "best": None,
            "resume_from": "/data/gpt/out/ckpt_4000.pt",
        },
        "incidents": [],
        "notes": [],
        **changes,
    }  # fmt: skip


def gpu(index: int, **changes: Any) -> dict[str, Any]:
    return {
        "index": index,
        "name": "NVIDIA H100 80GB HBM3",
        "util_ratio": 0.98,
        "mem_used_bytes": 70 * GIB,
        "mem_total_bytes": 80 * GIB,
        "power_w": 612.0,
        "power_limit_w": 700.0,
        "temp_c": 66.0,
        "sm_clock_mhz": 1755.0,
        "throttle": [],
        "lost": False,
        "age_s": 1.0,
        **changes,
    }


def disk(mount: str, **changes: Any) -> dict[str, Any]:
    return {
        "mount": mount,
        "fstype": "ext4",
        "total_bytes": 2000 * GIB,
        "free_bytes": 900 * GIB,
        "total_inodes": 100_000,
        "free_inodes": 97_000,
        "read_only": False,
        "holds": ["checkpoints"],
        "saves_left": None,
        "age_s": 4.0,
        **changes,
    }


def overview(*runs: dict[str, Any], gpus: int = 2, **changes: Any) -> dict[str, Any]:
    return {
        "host": "box3",
        "version": "0.1.0",
        "updated_at": "2026-03-01T02:13:00.000+01:00",
        "daemon": {"pid": 1, "uptime_s": 11_530.5, "rss_bytes": 15_000_000},
        "runs": list(runs or (run(),)),
        "box": {
            "gpus": [gpu(n) for n in range(gpus)],
            "disks": [
                disk("/data", free_bytes=45 * GIB, saves_left=3.2),
                disk("/", total_inodes=None, free_inodes=None),
            ],
            "memory": {
                "cgroup": "/docker/abc",
                "limit_bytes": 64 * GIB,
                "current_bytes": 62 * GIB,
                "working_set_bytes": 48 * GIB,
                "oom_kills": 0,
                "age_s": 1.0,
            },
        },
        "watch": [
            {"source": "nvml", "state": "ok", "since": "2026-03-01T00:00:00+01:00", "detail": ""},
        ],
        **changes,
    }


def troubled() -> dict[str, Any]:
    """A night gone wrong: a NaN, a stalled second run, a blind source."""
    sick = run(state="failing", state_reason="loss is nan", incidents=[incident()])
    sick["log_tail"][-3] = GUILTY
    sick["now"]["values"]["train_loss"] = "nan"
    sick["curve"]["points"][-4:] = [[x, "nan"] for x, _ in sick["curve"]["points"][-4:]]
    other = run("vit-cd34", state="stalled", state_reason="no step for 12 min",
                incidents=[incident("c3d4", "warning", run="vit-cd34", summary="no step for 12 min",
                                    evidence=[], **{"class": "stall"})])  # fmt: skip
    watch = [
        {"source": "nvml", "state": "stalled", "since": "2026-03-01T02:10:00+01:00",
         "detail": "no answer for 180 s"},
        {"source": "kernel_log", "state": "unsupported", "since": "2026-03-01T00:00:00+01:00",
         "detail": "no permission to read /dev/kmsg"},
    ]  # fmt: skip
    return overview(sick, other, watch=watch)


def checkpoints() -> dict[str, Any]:
    """An index as the daemon gives it: two good saves and a cut one."""

    def one(step: int, state: str, level: str | None, **changes: Any) -> dict[str, Any]:
        return {
            "path": f"/data/gpt/out/ckpt_{step}.pt",
            "step": step,
            "saved_at": f"2026-03-01T0{step // 2000}:01:00.000+01:00",
            "bytes": 14 * GIB,
            "files": 1,
            "format": "torch",
            "metrics": {"train_loss": 2.31},
            "tags": [],
            "verified": {
                "state": state,
                "level": level,
                "at": "2026-03-01T02:02:00+01:00",
                "detail": "",
            },
            "digest": f"xxh3:{step:032x}",
            "mirrored": None,
            **changes,
        }

    cut = one(3000, "corrupt", "structure", digest=None)
    cut["verified"]["detail"] = "the archive has no end"
    kept = one(2000, "ok", "finite", tags=["best"], mirrored={"state": "ok", "to": "nas:saves"})
    newest = one(4000, "ok", "finite", tags=["latest"])
    return {
        "run": "gpt-ab12",
        "checkpoints": [kept, cut, newest],
        "resume_from": newest["path"],
        "best": kept["path"],
    }
