"""The facts about runs and their box as plain dicts, for every screen, page and command.

``status --json``, the status page and the TUI show the same dict, so that they cannot
disagree. Times are ISO 8601, unknown is ``None``, sizes are bytes, ratios are 0..1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

from middlewatch.sentinels.kit import (
    CheckpointSaved,
    CheckpointSeen,
    DiskSample,
    GpuSample,
    HandbookPage,
    MemorySample,
    ProcessesSeen,
    SourceState,
)
from middlewatch.sentinels.kit.saves.damage import written
from middlewatch.sentinels.kit.saves.pattern import LOOKED_AT, expect

from ..config.run_spec import RunSpec
from ..config.secrets import mask, mask_values
from ..judge.history import BoxHistory, RunHistory
from ..judge.incidents import Incident
from ..system.clock import iso
from .first_steps import first_step
from .last_save import unseen_claim

LONGEST_ETA_S = 10 * 365 * 86400.0
"""With more seconds to go there is no ETA: a log can name any total."""


PACES = 60
"""Stretches of the pace of a run: as many as a curve on half a screen has columns. Our choice."""


def incident(
    one: Incident, entry: HandbookPage | None, spec: RunSpec | None = None
) -> dict[str, Any]:
    """One incident in the shape of ``incidents --json``. ``spec``: of its run."""
    step, safe = first_step(one, entry, spec)
    return {
        "id": one.id,
        "run": one.run,
        "runs": one.runs or [one.run],
        "class": one.trouble,
        "severity": one.severity.label,
        "state": one.state,
        "opened_at": iso(one.opened_at),
        "since": iso(one.onset),
        "last_seen_at": iso(one.last_seen_at),
        "resolved_at": iso(one.resolved_at),
        "count": one.count,
        "summary": mask(one.summary),
        "cause": one.trouble,
        "sentinel": one.sentinel,
        "symptoms": mask_values(one.symptoms),
        "details": mask_values(one.details),
        "evidence": [{"kind": e.kind, "text": mask(e.text), "at": iso(e.at)} for e in one.evidence],
        "remedy": {
            "id": entry.name if entry else one.sentinel,
            "first_step": mask(step),
            "safe": safe,
        },
        "alerted_at": iso(one.alerted_at),
    }


def now_block(history: RunHistory, now: float, *, moving: bool = True) -> dict[str, Any]:
    """How far the training is: step, newest metrics, seconds per step, expected end.

    ``moving`` False: the run has ended or stalled, so no end is to be expected.
    """
    step = history.step_times[-1][1] if history.step_times else None
    last_at = history.step_times[-1][0] if history.step_times else None
    return {
        "step": step,
        "total": history.total or history.facts.expected_steps,
        "epoch": history.epoch,
        "values": dict(history.latest),
        "step_interval_s": seconds_per_step(history),
        "eta": iso(eta_of(history, now)) if moving else None,
        "last_step_at": iso(last_at),
    }


def eta_of(history: RunHistory, now: float) -> float | None:
    """When the last step is expected (epoch seconds); ``None`` where that cannot be told."""
    step = history.step_times[-1][1] if history.step_times else None
    total = history.total or history.facts.expected_steps
    per_step = seconds_per_step(history)
    if step is None or not total or not per_step or total <= step:
        return None
    left = (total - step) * per_step
    return now + left if left < LONGEST_ETA_S else None


def seconds_per_step(history: RunHistory) -> float | None:
    """Seconds per training step over the newest 64 reports; ``None`` before the second."""
    marks = list(history.step_times)[-64:]
    if len(marks) < 2 or marks[-1][1] <= marks[0][1] or marks[-1][0] <= marks[0][0]:
        return None
    return (marks[-1][0] - marks[0][0]) / (marks[-1][1] - marks[0][1])


def curve(history: RunHistory) -> dict[str, Any]:
    """The loss over the whole run, at most 240 points."""
    for name in ("train_loss", "eval_loss"):
        if name in history.curves:
            thin = history.curves[name].thinned()
            return {"metric": name, "points": [list(p) for p in thin.points]}
    return {"metric": None, "points": []}


def paces(history: RunHistory) -> list[list[float]]:
    """Steps per second over the newest reports of a step (512 at most), in at most :data:`PACES` stretches of
    equally many reports: pairs of the last step of a stretch and its mean."""
    marks = list(history.step_times)
    share = max(1, math.ceil((len(marks) - 1) / PACES))
    ends = marks[::-1][::share][::-1]
    return [
        [step, round((step - first) / (at - begun), 4)]
        for (begun, first), (at, step) in pairwise(ends)
        if at > begun and step >= first
    ]


def processes(looks: Iterable[ProcessesSeen]) -> list[dict[str, Any]]:
    """Every process of the newest sample, with its use of the CPU in cores over the last 6 s."""
    seen = list(looks)
    if not seen:
        return []
    last = seen[-1]
    first = next((s for s in seen if last.at - s.at <= 6), last)
    before = {(p.pid, p.start_ticks): p.cpu_s for p in first.processes}
    span_s = last.at - first.at
    rows = []
    for p in last.processes:
        was = before.get((p.pid, p.start_ticks))
        ratio = (p.cpu_s - was) / span_s if was is not None and span_s > 0 else None
        rows.append(
            {
                "pid": p.pid,
                "rank": p.rank,
                "name": p.name,
                "state": p.state,
                "cpu_ratio": ratio,
                "rss_bytes": p.rss_bytes,
            }
        )
    return rows


def folders(spec: RunSpec) -> list[dict[str, Any]]:
    """Every checkpoint folder of a run, how it is known, and what of it is the run's."""
    known = map(spec.folder, spec.checkpoint_dirs)
    return [{"path": f.path, "why": f.why, "whole": f.whole, "names": list(f.names)} for f in known]


def checkpoints(
    known: Iterable[CheckpointSeen],
    index: Mapping[str, Any],
    claims: Iterable[CheckpointSaved] = (),
    now: float = 0.0,
) -> dict[str, Any]:
    """How many there are, the newest, the best, the one to resume from, and what is awaited."""
    known = list(known)
    by_path = {c.path: c for c in known}
    newest = by_path.get(index.get("latest") or "")
    judged = [e for e in index.get("checkpoints", ()) if e["verified"]["level"] is not None]
    return {
        "count": len(by_path),
        "latest": None
        if newest is None
        else {
            "path": newest.path,
            "step": newest.step,
            "saved_at": iso(newest.saved_at),
            "bytes": newest.bytes,
            "state": newest.state,
            "level": newest.level,
        },
        "last_verified": {"path": judged[-1]["path"], **judged[-1]["verified"]} if judged else None,
        "pending": [
            {"path": c.path, "step": c.step, "saved_at": iso(c.saved_at), "detail": c.detail}
            for c in known
            if c.state == "pending"
        ],
        "claimed": unseen(known, claims, now),
        "best": index.get("best"),
        "resume_from": index.get("resume_from"),
        "durability": _durability(by_path.get(index.get("resume_from") or "")),
    }


def unseen(
    known: Sequence[CheckpointSeen], claims: Iterable[CheckpointSaved], now: float
) -> dict[str, Any] | None:
    """The newest save that the log claims, if no checkpoint is known that may be it."""
    claim = unseen_claim(known, claims)
    if claim is None:
        return None
    return {
        "path": claim.path,
        "step": claim.step,
        "at": iso(claim.at),
        "age_s": round(now - claim.at, 1),
    }


def _durability(seen: CheckpointSeen | None) -> dict[str, Any] | None:
    """Whether a checkpoint survives the end of its box; ``None`` where that was not looked at."""
    if seen is None or seen.durability is None:
        return None
    place = seen.durability
    return {
        "survives_stop": place.survives_stop,
        "survives_destroy": place.survives_destroy,
        "where": place.where,
        "better": place.better,
        "text": place.words,
    }


def box(
    history: BoxHistory,
    memory: MemorySample | None,
    saves: Callable[[str], Iterable[CheckpointSeen]],
    now: float,
) -> dict[str, Any]:
    """GPUs, disks and memory. ``saves``: those that may lie on a mount, newest first; asked for no more
    than are needed to know what the next save takes."""
    return {
        "gpus": [_gpu(samples[-1], now) for _, samples in sorted(history.gpus.items())],
        "disks": [
            _disk(samples[-1], saves, history, now) for _, samples in sorted(history.disks.items())
        ],
        "memory": None if memory is None else _memory(memory, now),
    }


def _gpu(g: GpuSample, now: float) -> dict[str, Any]:
    return {
        "index": g.index,
        "name": g.name,
        "util_ratio": g.util_ratio,
        "mem_used_bytes": g.mem_used_bytes,
        "mem_total_bytes": g.mem_total_bytes,
        "power_w": g.power_w,
        "power_limit_w": g.power_limit_w,
        "temp_c": g.temp_c,
        "sm_clock_mhz": g.sm_clock_mhz,
        "throttle": list(g.throttle),
        "lost": g.lost,
        "age_s": round(now - g.at, 1),
    }


def _disk(
    d: DiskSample,
    saves: Callable[[str], Iterable[CheckpointSeen]],
    history: BoxHistory,
    now: float,
) -> dict[str, Any]:
    left = None
    if "checkpoints" in d.holds:
        known = (c for c in saves(d.mount) if written(c))
        here = (c for c in known if _mount_of(c.path, history.disks) == d.mount)
        need = expect(list(islice(here, LOOKED_AT))[::-1])
        if need and need.bytes:
            left = d.free_bytes / need.bytes
            if d.free_inodes is not None and need.files:
                left = min(left, d.free_inodes / need.files)
            left = round(left, 1)
    return {
        "mount": d.mount,
        "fstype": d.fstype,
        "total_bytes": d.total_bytes,
        "free_bytes": d.free_bytes,
        "total_inodes": d.total_inodes,
        "free_inodes": d.free_inodes,
        "read_only": d.read_only,
        "holds": list(d.holds),
        "saves_left": left,
        "age_s": round(now - d.at, 1),
    }


def _mount_of(path: str, mounts: Iterable[str]) -> str:
    above = [m for m in mounts if path == m or path.startswith(m.rstrip("/") + "/")]
    return max(above, key=len, default="")


def _memory(m: MemorySample, now: float) -> dict[str, Any]:
    return {
        "cgroup": m.cgroup,
        "limit_bytes": m.limit_bytes,
        "current_bytes": m.current_bytes,
        "working_set_bytes": m.working_set_bytes,
        "oom_kills": m.oom_kills,
        "pressure_full_avg10": m.pressure_full_avg10,
        "host_available_bytes": m.host_available_bytes,
        "age_s": round(now - m.at, 1),
    }


def source(state: SourceState) -> dict[str, Any]:
    """One line of the list of sources."""
    return {
        "source": state.source,
        "state": state.state,
        "since": iso(state.since),
        "detail": mask(state.detail),
    }


def logs(history: RunHistory, spec: RunSpec) -> list[dict[str, Any]]:
    """Every log of the run: its size, its state, and whether its writer buffers whole blocks."""
    rows = []
    for path in spec.all_logs:
        growth = history.logs.get(path)
        state = history.sources.get(f"log_tail:{path}")
        whole_blocks = bool(growth and growth.chunk_bytes and growth.chunk_bytes % 4096 == 0)
        rows.append(
            {
                "path": path,
                "bytes": growth.bytes if growth else None,
                "lines": growth.lines if growth else None,
                "grown_at": iso(growth.grown_at) if growth else None,
                "state": state.state if state else "starting",
                "detail": mask(state.detail) if state else "",
                "buffered": whole_blocks,
            }
        )
    return rows
