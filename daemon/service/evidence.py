"""The evidence of an incident: what its run and the box looked like when it was pushed, kept in a file.

The samples that a finding rests on are in memory for two minutes only. The notifier draws what is sent with a
push from the file, and ``middlewatch evidence`` shows it later. Everything in it is masked.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from middlewatch import __version__
from middlewatch.sentinels.kit import DiskSample, GpuSample, MemorySample

from ..config.load import rows
from ..config.secrets import mask, mask_values, mask_words
from ..judge.incidents import Incident
from ..system.bounded import bounded
from ..system.clock import iso
from ..system.errors import Refused
from ..system.private import make_private, open_private
from .context import Context
from .watched_run import WatchedRun

KEPT = 64
"""Files that are kept, the newest: 6 MB at 100 kB each. Our choice."""
A_MINUTE = 12
"""Incidents of which evidence is taken in a minute; one takes some 5 ms. More at once have one cause, and
their pushes come as one. Our choice."""
LINES, SAMPLES, GPUS, PROCESSES = 200, 12, 16, 64
"""Newest lines of the log, samples of each source, GPUs and processes at most. Two minutes are kept in
memory: a sample each ten seconds."""
_LEFT_OUT = (
    "the values of environment variables, alert URLs and everything that looks like a secret",
    "versions of the packages of the trainer: nothing is executed in its environment",
    "the log before its newest lines, and logs other than the one that grew last",
)
_RUN = ("run", "name", "state", "state_reason", "pid", "cwd", "started_at", "ended_at", "exit")
_S = TypeVar("_S", GpuSample, DiskSample, MemorySample)


class EvidenceFiles:
    """Writes and finds the files."""

    def __init__(self, context: Context, log_line: Callable[[str], None]) -> None:
        self._context = context
        self._log_line = log_line
        self._taken: list[float] = []

    def keep(self, watched: WatchedRun, incident: Incident) -> str:
        """Write the facts of this moment; the path of the file, or empty if there is none.

        It is not synced: a push must not wait for a disk, and after a crash of the box the evidence of
        its last second is not worth more than the push.
        """
        mono = self._context.clock.monotonic()
        self._taken = [at for at in self._taken if mono - at < 60.0]
        if len(self._taken) >= A_MINUTE:
            return ""
        self._taken.append(mono)
        path = self._context.state.evidence_of(incident.id)
        try:
            found = bounded(partial(self.facts, watched, incident))
            data = json.dumps(found, separators=(",", ":"), allow_nan=False).encode()
            make_private(path.parent)
            fd = open_private(path, os.O_WRONLY | os.O_TRUNC)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
            self._tidy()
        except (OSError, Refused) as error:
            self._log_line(f"no evidence of {incident.id} is kept: {error}")
            with suppress(OSError):
                path.unlink()  # a part of it is of no use, and takes room
            return ""
        except Exception as error:  # noqa: BLE001 - a mistake of ours must not hold up the push
            self._log_line(f"no evidence of {incident.id} is made: {type(error).__name__}: {error}")
            return ""
        return str(path)

    def _tidy(self) -> None:
        folder = self._context.state.evidence
        known = [(entry.stat().st_mtime, entry.path) for entry in os.scandir(folder)]
        for _, path in sorted(known)[:-KEPT]:
            os.unlink(path)

    def facts(self, watched: WatchedRun, incident: Incident) -> dict[str, Any]:
        """What is known now, as plain values; texts are masked."""
        context, history, now = self._context, watched.history, self._context.clock.now()
        status, at = watched.status(now, []), now
        gpus = sorted(context.box.gpus.items())
        left_out = list(_LEFT_OUT)
        if len(gpus) > GPUS:
            left_out.append(f"{len(gpus) - GPUS} of {len(gpus)} GPUs")
        if len(status["processes"]) > PROCESSES:
            left_out.append(f"{len(status['processes']) - PROCESSES} more processes of the run")
        if not history.stacks:
            left_out.append("stacks: none had been taken")
        log = [path for path in watched.spec.all_logs if path in history.logs]
        growth = history.logs
        return {
            "incident": context.incident_json(incident),
            "written_at": iso(now),
            "run": {name: mask_values(status[name]) for name in _RUN}
            | {"command": " ".join(mask_words(status["command"]))}
            | {"now": mask_values(_finite(status["now"]))},
            "curve": _finite(status["curve"]),
            "moment_step": _finite(_moment(watched, incident)),
            "log": {
                "path": mask(max(log, key=lambda p: growth[p].grown_at or 0.0)) if log else "",
                "lines": [mask(line) for line in watched.logs.newest_lines(LINES)],
            },
            "stacks": [
                {"pid": s.pid, "rank": s.rank, "frames": [mask(f) for f in s.frames]}
                for s in history.stacks
            ],
            "gpus": [_gpu(samples, at) for _, samples in gpus[:GPUS]],
            "memory": [_memory(one, at) for one in _thinned(history.memory)],
            "disks": [_disk(samples, at) for _, samples in sorted(context.box.disks.items())],
            "processes": _finite(mask_values(status["processes"][:PROCESSES])),
            "checkpoints": {
                name: mask_values(status["checkpoints"][name])
                for name in ("count", "best", "resume_from")
            },
            "watch": status["watch"],
            "config": {
                name: mask(str(value))
                for name, value, origin in rows(context.config)
                if origin != "default" and name != "alerts.urls (all)"
            },
            "versions": {
                "middlewatch": __version__,
                "python of middlewatch": ".".join(map(str, sys.version_info[:3])),
                "kernel": os.uname().release,
                "host": context.host,
            },
            "left_out": left_out,
        }


def _moment(watched: WatchedRun, incident: Incident) -> float | None:
    """The step at which the trouble began: that of the finding, else the last one before its onset."""
    step = incident.details.get("step")
    if isinstance(step, (int, float)) and not isinstance(step, bool):
        return float(step)
    before = [s for at, s in watched.history.step_times if at <= incident.onset]
    return before[-1] if before else None


def _finite(value: Any) -> Any:
    """The same without numbers that JSON has not: ``None`` for them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return value


def _thinned(samples: Iterable[_S]) -> Sequence[_S]:
    """At most :data:`SAMPLES` of them, evenly, the newest among them."""
    some = list(samples)
    stride = -(-len(some) // SAMPLES) or 1
    return some[::-1][::stride][::-1]


def _gpu(samples: Iterable[GpuSample], at: float) -> dict[str, Any]:
    some = _thinned(samples)
    return {
        "index": some[-1].index,
        "name": some[-1].name,
        "lost": some[-1].lost,
        "samples": [
            {
                "before_s": max(0.0, at - one.at),
                "util": one.util_ratio,
                "mem_used": one.mem_used_bytes,
                "mem_total": one.mem_total_bytes,
                "power_w": one.power_w,
                "temp_c": one.temp_c,
                "clock_mhz": one.sm_clock_mhz,
                "throttle": list(one.throttle),
            }
            for one in some
        ],
    }


def _memory(one: MemorySample, at: float) -> dict[str, Any]:
    return {
        "before_s": max(0.0, at - one.at),
        "limit": one.limit_bytes,
        "working_set": one.working_set_bytes,
        "host_available": one.host_available_bytes,
        "oom_kills": one.oom_kills,
    }


def _disk(samples: Iterable[DiskSample], at: float) -> dict[str, Any]:
    some = _thinned(samples)
    return {
        "mount": mask(some[-1].mount),
        "fstype": some[-1].fstype,
        "holds": list(some[-1].holds),
        "samples": [
            {
                "before_s": max(0.0, at - one.at),
                "free": one.free_bytes,
                "total": one.total_bytes,
                "free_inodes": one.free_inodes,
                "read_only": one.read_only,
            }
            for one in some
        ],
    }
