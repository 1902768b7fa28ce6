"""The words of a digest: a report at a person's cadence, also when nothing has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from middlewatch.sentinels.kit.numbers import number

from ..config.secrets import mask
from ..config.times import local, shown
from ..judge.causes import FORECASTS
from ..text.chat import defused
from ..text.terminal import one_line
from .messages import MAX_BODY, Message

RUNS, RISKS, KEPT = 6, 4, 5
"""Runs, open incidents and pushes kept back that are named; the rest is counted: a phone shows no more."""
TROUBLE = "digest"
"""What stands in the place of a class, for the routes."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """What a digest says of one run; its numbers are those of ``status --json``."""

    run: str
    name: str
    state: str
    step: float | None
    total: float | None
    loss: float | None
    eta: float | None
    verified: int
    bad: int
    resume_step: float | None


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a digest is made of. Times are epoch seconds."""

    host: str
    now: float
    since: float
    """When the last one was."""
    next_at: float | None
    runs: Sequence[RunLine]
    before: Mapping[str, Mapping[str, Any]]
    """Run -> what the last digest said of it."""
    incidents: Sequence[Mapping[str, Any]]
    kept: Sequence[tuple[float, str, str]]
    """(when, title, why) of what was kept back."""
    blind: Sequence[str]
    heartbeat: str


def digest(facts: Facts, zone: tzinfo | None) -> Message:
    """The push."""
    troubled = [one for one in facts.incidents if one["class"] not in FORECASTS]
    forecasts = [one for one in facts.incidents if one["class"] in FORECASTS]
    dead = [one for one in facts.runs if one.state == "failed"]
    lines = [_run(one, facts.before.get(one.run, {}), zone) for one in facts.runs[:RUNS]]
    lines += _more(facts.runs, RUNS, "runs", "middlewatch runs")
    for label, some in (("Open", troubled), ("Forecast", forecasts)):
        lines += [f"{label}: {_incident(one)}" for one in some[:RISKS]]
        lines += _more(some, RISKS, f"{label.lower()} incidents", "middlewatch incidents")
    if not forecasts:
        lines.append("Forecast: nothing is expected to run out")
    lines += [f"Blind: {_short(one, 120)}" for one in facts.blind[:2]]
    lines += _kept(facts.kept, zone)
    tail = [facts.heartbeat] if facts.heartbeat else []
    tail.append(f"Since {shown(facts.since, zone)}; next: {_next(facts.next_at, zone)}")
    fine = not troubled and not dead and not facts.blind
    label = "STILL FINE" if fine else "REPORT"
    title = f"[{label}] {_short(facts.host, 60)}: {_summary(facts, len(troubled), len(dead))}"
    return Message(title, _fit(lines, tail), "info", trouble=TROUBLE)


def _summary(facts: Facts, troubled: int, dead: int) -> str:
    living = sum(one.state not in ("finished", "failed") for one in facts.runs)
    parts = [_count(living, "run", "runs") + " watched" if living else "no run is watched"]
    finished = sum(one.state == "finished" for one in facts.runs)
    parts += [f"{finished} finished"] if finished else []
    parts += [f"{dead} failed"] if dead else []
    parts += [_count(troubled, "incident", "incidents") + " open"] if troubled else []
    parts += [f"{len(facts.kept)} kept back"] if facts.kept else []
    return ", ".join(parts)


def _count(of: int, one: str, many: str) -> str:
    return f"{of} {one if of == 1 else many}"


def _run(one: RunLine, before: Mapping[str, Any], zone: tzinfo | None) -> str:
    parts = [f"{_short(one.name, 40)}: {one.state}"]
    if one.step is not None:
        of = "" if not one.total else f" of {number(one.total)}"
        was = _number(before.get("step"))
        more = f" (+{number(one.step - was)})" if was is not None and one.step >= was else ""
        parts.append(f"step {number(one.step)}{of}{more}")
    if one.loss is not None:
        was = _number(before.get("loss"))
        then = "" if was is None else f" (was {number(was)})"
        parts.append(f"loss {number(one.loss)}{then}")
    if one.eta is not None:
        parts.append(f"ends {shown(one.eta, zone)}")
    saves = "no checkpoint verified yet"
    if one.verified:
        new = one.verified - int(before.get("verified") or 0)
        saves = _count(one.verified, "checkpoint", "checkpoints") + " verified"
        saves += f" ({new} new)" if before and new > 0 else ""
        saves += (
            "" if one.resume_step is None else f", to resume from step {number(one.resume_step)}"
        )
    parts.append(saves + (f", {one.bad} BAD" if one.bad else ""))
    return ", ".join(parts)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _incident(one: Mapping[str, Any]) -> str:
    return f"{one['severity']} {_short(one['summary'], 110)} ({one['id']})"


def _kept(kept: Sequence[tuple[float, str, str]], zone: tzinfo | None) -> list[str]:
    """The newest pushes that were kept back, with their time."""
    if not kept:
        return []
    reasons = ", ".join(dict.fromkeys(why for _, _, why in kept))
    lines = [f"Kept back ({_short(reasons, 100)}):"]
    for at, title, _ in kept[-KEPT:]:
        lines.append(f"{local(at, zone):%H:%M} {_short(title, 110)}")
    if len(kept) > KEPT:
        lines.append(f"and {len(kept) - KEPT} earlier ones: middlewatch incidents --all")
    return lines


def _more(some: Sequence[Any], named: int, what: str, where: str) -> list[str]:
    return [f"and {len(some) - named} more {what}: {where}"] if len(some) > named else []


def _next(at: float | None, zone: tzinfo | None) -> str:
    return "after quiet hours in which something is kept back" if at is None else shown(at, zone)


def _short(text: str, limit: int) -> str:
    text = defused(one_line(mask(str(text))))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _fit(lines: Sequence[str], tail: Sequence[str]) -> str:
    """All within the length of a body: the last lines always, of the others as many as fit."""
    end = "\n".join(tail)
    room = MAX_BODY - len(end) - 1
    kept: list[str] = []
    for line in lines:
        if len("\n".join([*kept, line])) > room - 2:
            kept.append("…")
            break
        kept.append(line)
    return "\n".join([*kept, end])
