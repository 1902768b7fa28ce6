"""What is said about the heartbeat: how it stands, and what was missed in a silence that is over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from middlewatch.sentinels.kit.numbers import number, span

from ..config.secrets import mask
from ..config.times import shown
from ..system.clock import epoch
from ..text.chat import defused
from ..text.moments import past
from ..text.terminal import one_line
from .messages import MAX_BODY, Message

NAMED = 5
"""Runs and incidents that are named. Our choice."""


@dataclass(frozen=True, slots=True)
class Missed:
    """What was missed in a silence. Times are epoch seconds."""

    since: float
    until: float
    pings: int
    reasons: Sequence[str]
    runs: Sequence[str]
    incidents: Sequence[str]


def changes(
    before: Mapping[str, tuple[str, float | None]], now: Mapping[str, tuple[str, float | None]]
) -> Iterator[str]:
    """What has become of the runs that lived before the silence."""
    for run, (state, step) in before.items():
        if state in ("finished", "failed") or run not in now:
            continue
        became, at = now[run]
        went = ""
        if step is not None and at is not None and at != step:
            went = f", step {number(step)} to {number(at)}"
        yield f"{run}: {state}" + ("" if became == state else f", now {became}") + went


def back(host: str, missed: Missed, zone: tzinfo | None) -> Message:
    """The push when pings are accepted again."""
    lasted = span(missed.until - missed.since)
    title = f"[BACK] middlewatch on {_short(host, 60)} was not heard for {lasted}"
    between = f"From {shown(missed.since, zone)} to {shown(missed.until, zone)}"
    lines = [
        f"{between}; about {missed.pings} pings are missing.",
        f"Why: {_short('; '.join(missed.reasons), 300) or 'not known here'}",
    ]
    for label, some in (("Run", missed.runs), ("Found since", missed.incidents)):
        lines += [f"{label}: {_short(one, 120)}" for one in some[:NAMED]]
        lines += [f"and {len(some) - NAMED} more"] if len(some) > NAMED else []
    if not missed.incidents:
        lines.append("No trouble was found since.")
    body = "\n".join(lines)
    body = body if len(body) <= MAX_BODY else body[: MAX_BODY - 1] + "…"
    # As severe as the alarm of the service that it takes back: it goes the same way.
    return Message(title, body, "success", trouble="heartbeat", severity="critical")


def refused(host: str, why: str, day: int) -> Message:
    """The push about a ping URL that the service does not know; once a ``day``."""
    title = f"[WARNING] middlewatch on {_short(host, 60)}: the heartbeat is refused"
    lines = [
        f"The service does not take the pings: {_short(why, 200)}",
        "If this box falls silent, nobody will tell you.",
        "First step: compare [heartbeat] url with the ping URL of the check: middlewatch alert test",
    ]
    key = f"heartbeat refused {day}"
    return Message(title, "\n".join(lines), "warning", trouble="heartbeat", key=key)


def route_broken(host: str, label: str, why: str, day: int, mark: str) -> Message:
    """The push, over the other routes, about one that does not take pushes; once a ``day``."""
    title = f"[WARNING] middlewatch on {_short(host, 60)}: {label} does not take pushes"
    lines = [
        f"{label}: {_short(why, 300)}",
        "Pushes go over the other URLs as long as that lasts.",
        "First step: middlewatch alert test",
    ]
    key = f"route {mark} broken {day}"
    return Message(title, "\n".join(lines), "warning", trouble="route", key=key)


def standing(facts: Mapping[str, Any]) -> str:
    """How the heartbeat stands, as one sentence; ``facts``: those of ``status --json``."""
    last = "no ping was accepted yet"
    if facts["accepted_at"] is not None:
        at = epoch(facts["accepted_at"])
        last = f"last ping accepted at {past(at, at + facts['age_s'])}, {facts['accepted']}"
    if facts["trouble"]:
        return f"Heartbeat: not accepted: {facts['trouble']}; {last}"
    if facts["blind"]:
        return f"Heartbeat: no success is pinged: {'; '.join(facts['blind'][:2])}; {last}"
    return f"Heartbeat: {last}"


def _short(text: str, limit: int) -> str:
    text = defused(one_line(mask(text)))
    return text if len(text) <= limit else text[: limit - 1] + "…"
