"""What ``middlewatch watchbox`` says: a box that does not answer any more, and one that does again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from middlewatch.sentinels.kit.numbers import number, span

from ..config.secrets import mask
from ..text.chat import defused
from ..text.moments import past
from ..text.terminal import one_line
from .messages import MAX_BODY, Message
from .silence_words import NAMED, changes


@dataclass(frozen=True, slots=True)
class BoxAnswer:
    """One answer of a box: run -> (state, step)."""

    runs: Mapping[str, tuple[str, float | None]]
    at: float
    """Epoch seconds."""


def silent(box: str, here: str, why: str, last: BoxAnswer, now: float, silent_s: float) -> Message:
    """The push when a box has not answered for some minutes."""
    title = f"[CRITICAL] {_short(box, 60)}: no answer for {span(silent_s)}"
    lines = [
        f"Asked over ssh from {_short(here, 60)}. Last answer: {past(last.at, now)}",
        f"Why: {_short(why, 300)}",
    ]
    lines += [f"Run then: {_run(run, *known)}" for run, known in list(last.runs.items())[:NAMED]]
    lines += _more(last.runs)
    lines += [
        "Either the box is gone or cut off, or its daemon has ended, or this side has no network.",
        f"First step: look at it in the console of its provider; ssh {_short(box, 60)} middlewatch status",
    ]
    return Message(title, _fit(lines), "failure", trouble="watchbox", severity="critical")


def back(
    box: str,
    before: BoxAnswer,
    after: BoxAnswer,
    incidents: Sequence[Mapping[str, Any]],
    silent_s: float,
) -> Message:
    """The push when it answers again: what was missed."""
    title = f"[BACK] {_short(box, 60)} answers again after {span(silent_s)}"
    lines = [f"No answer from {past(before.at, after.at)} on."]
    told = [*changes(before.runs, after.runs)]
    told += [f"{run}: not known there any more" for run in before.runs if run not in after.runs]
    told += [
        f"{_run(run, *known)}, new" for run, known in after.runs.items() if run not in before.runs
    ]
    lines += [f"Run: {_short(one, 120)}" for one in told[:NAMED]] + _more(told)
    lines += [
        f"Found since: {one['severity']} {_short(one['summary'], 110)} ({one['id']})"
        for one in incidents[:NAMED]
    ]
    lines += _more(incidents)
    if not incidents:
        lines.append("No trouble was found since.")
    return Message(title, _fit(lines), "success", trouble="watchbox", severity="critical")


def _run(run: str, state: str, step: float | None) -> str:
    return f"{_short(run, 60)}, {state}" + ("" if step is None else f" at step {number(step)}")


def _more(some: Sequence[Any] | Mapping[str, Any]) -> list[str]:
    return [f"and {len(some) - NAMED} more"] if len(some) > NAMED else []


def _short(text: str, limit: int) -> str:
    text = defused(one_line(mask(str(text))))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _fit(lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    return body if len(body) <= MAX_BODY else body[: MAX_BODY - 1] + "…"
