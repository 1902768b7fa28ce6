"""What is told about a run when somebody asks for a report: how it went, its curve, every incident, its
checkpoints, the box, the cost."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from middlewatch.sentinels.kit.numbers import number, size

from ..system.clock import epoch
from ..text.figures import count, duration, percent
from . import curve_svg
from .documents import Document, Drawing, Lines, Section, Table, plain

Row = Mapping[str, Any]
MOST_CHECKPOINTS = 200
"""Rows of the table of checkpoints, the newest. Our choice: what a person scrolls through."""
MOST_EVIDENCE = 3
"""Pieces of evidence told of each incident; all of them: ``middlewatch evidence ID``."""


def document(status: Row, incidents: Sequence[Row], index: Row, version: str) -> Document:
    """The report. ``status``, ``incidents`` and ``index`` are as ``status``, ``incidents --all`` and
    ``checkpoints`` with ``--json`` give them."""
    sections = [
        Section("Progress", [Table((), list(_progress(status))), _curve(status, incidents)]),
        Section("Incidents", list(_incidents(incidents))),
        Section("Checkpoints", list(_checkpoints(index))),
        Section("Box", list(_box(status.get("box") or {}))),
        Section("Run", [Table((), list(_facts(status)))]),
        Section("The last lines of its log", [Lines(status.get("log_tail") or ["no lines"])]),
    ]
    lead = (
        f"{status['state']}: {status['state_reason']}"
        if status["state_reason"]
        else status["state"]
    )
    made = f"Made by middlewatch {version} from what was known at {_at(status['updated_at'])}."
    return Document(f"Run {status['run']}", lead, sections, made)


def points_of(status: Row) -> list[tuple[float, float]]:
    """The (step, loss) points of a run; what was not finite is NaN or infinite again."""
    pairs = (status.get("curve") or {}).get("points") or ()
    return [(float(step), float(value)) for step, value in pairs if value is not None]


def moment_of(incidents: Sequence[Row]) -> float | None:
    """The step of the worst incident that has one."""
    return next((mark.step for mark in _marks(incidents)), None)


def _marks(incidents: Sequence[Row]) -> list[curve_svg.Mark]:
    found = []
    for one in incidents:
        step = (one.get("details") or {}).get("step")
        if isinstance(step, (int, float)) and math.isfinite(step):
            found.append(curve_svg.Mark(float(step), plain(one["summary"]), one["severity"]))
    rank = {"critical": 0, "warning": 1}
    return sorted(found, key=lambda mark: rank.get(mark.severity, 2))


def _curve(status: Row, incidents: Sequence[Row]) -> Drawing:
    points = points_of(status)
    finite = [value for _, value in points if math.isfinite(value)]
    if len(finite) < 2:
        return Drawing("", "No curve of a loss is known.")
    name = (status.get("curve") or {}).get("metric") or "loss"
    words = (
        f"{name} from {number(finite[0])} to {number(finite[-1])}, at best {number(min(finite))}"
    )
    broken = len(points) - len(finite)
    words += f"; {broken} of {len(points)} points are not finite." if broken else "."
    return Drawing(curve_svg.draw(points, _marks(incidents)), words)


def _progress(status: Row) -> Iterator[Sequence[str]]:
    now = status["now"]
    step, total = now["step"], now["total"]
    share = f" of {count(total)} ({percent(step, total)})" if total else ""
    yield "step", f"{count(step)}{share}"
    yield "started", _at(status["started_at"])
    if status["ended_at"]:
        yield "ended", _at(status["ended_at"])
        begun, over = epoch(status["started_at"] or status["ended_at"]), epoch(status["ended_at"])
        yield "took", duration(over - begun)
        how = status.get("exit") or {}
        if how.get("signal") is not None:
            yield "ended by", f"signal {how['signal']}"
        elif how.get("code") is not None:
            yield "exit status", str(how["code"])
    elif now["eta"]:
        yield "expected end", _at(now["eta"])
    for name, value in now["values"].items():
        yield name, value if isinstance(value, str) else number(value)
    cost = status.get("cost") or {}
    if cost.get("text"):
        yield "cost", cost["text"]


def _incidents(incidents: Sequence[Row]) -> Iterator[Table | str]:
    if not incidents:
        yield "None."
        return
    rows = []
    for one in incidents:
        over = f" to {_at(one['resolved_at'])}" if one["resolved_at"] else ""
        proofs = [f"{e['kind']}: {e['text']}" for e in one["evidence"][:MOST_EVIDENCE]]
        step = one["remedy"]["first_step"] if one["state"] != "resolved" else ""
        cost = (one.get("cost") or {}).get("text") or ""
        told = ". ".join(part for part in (one["summary"], cost, *proofs) if part)
        rows.append(
            (one["severity"], one["class"], one["state"], _at(one["opened_at"]) + over, told, step)
        )
    yield Table(("severity", "class", "state", "when", "what", "first step"), rows)


def _checkpoints(index: Row) -> Iterator[Table | str]:
    every = index.get("checkpoints") or []
    if not every:
        yield "None was seen."
        return
    resume = index.get("resume_from")
    yield f"Resume from: {resume or 'none is good'}."
    rows = []
    for one in every[::-1][:MOST_CHECKPOINTS]:
        verdict = one["verified"]
        tags = [*one["tags"], *(["resume"] if one["path"] == resume else [])]
        told = (
            verdict["state"],
            verdict["level"] or "",
            " ".join(tags),
            one["digest"] or "",
            one["path"],
        )
        rows.append((count(one["step"]), _at(one["saved_at"]), size(one["bytes"]), *told))
    yield Table(("step", "saved", "size", "verdict", "level", "tags", "digest", "path"), rows)
    if len(every) > MOST_CHECKPOINTS:
        yield f"The newest {MOST_CHECKPOINTS} of {len(every)}."


def _box(box: Row) -> Iterator[Table | str]:
    gpus = box.get("gpus") or []
    if gpus:
        rows = [
            (
                str(g["index"]), g["name"] or "", percent(g["util_ratio"]),
                f"{_size(g['mem_used_bytes'])} of {_size(g['mem_total_bytes'])}",
                _number(g["power_w"], " W"), _number(g["temp_c"], " °C"),
                "lost" if g["lost"] else " ".join(g["throttle"]),
            )
            for g in gpus
        ]  # fmt: skip
        yield Table(("GPU", "name", "use", "memory", "power", "heat", "clock"), rows)
    else:
        yield "No GPU was seen."
    rows_of = [
        (d["mount"], f"{_size(d['free_bytes'])} of {_size(d['total_bytes'])}",
         f"{count(d['free_inodes'])} of {count(d['total_inodes'])}",
         "" if d["saves_left"] is None else f"{d['saves_left']:g}", " ".join(d["holds"]))
        for d in box.get("disks") or []
    ]  # fmt: skip
    if rows_of:
        yield Table(("disk", "free", "free inodes", "saves left", "holds"), rows_of)
    memory = box.get("memory")
    if memory:
        limit = memory["limit_bytes"]
        room = "without a limit" if limit is None else f"of {size(limit)}"
        used = _size(memory["working_set_bytes"])
        yield f"Memory: {used} {room}; {memory['oom_kills'] or 0} OOM kills."


def _facts(status: Row) -> Iterator[Sequence[str]]:
    place = (status["checkpoints"].get("durability") or {}).get("text")
    platform = (status.get("platform") or {}).get("name")
    for name, value in (
        ("command", shlex.join(status["command"] or [])),
        ("folder", status["cwd"]),
        ("lives in", status["home"]),
        ("attempt", status.get("attempt")),
        ("continues", status.get("resumed_from")),
        ("platform", platform),
        ("checkpoints lie", place),
        *(("log", log["path"]) for log in status["logs"]),
        *(("note", note) for note in status["notes"]),
    ):
        if value:
            yield name, str(value)


def _at(told: str | None) -> str:
    """``2026-03-01 02:10:00+01:00``, to the second."""
    if not told:
        return "unknown"
    day, _, time = told.partition("T")
    return f"{day} {time[:8]}{time[12:] if time[8:9] == '.' else time[8:]}"


def _size(value: float | None) -> str:
    return "unknown" if value is None else size(value)


def _number(value: float | None, unit: str) -> str:
    return "unknown" if value is None else f"{value:.0f}{unit}"
