"""What a person does about an incident: acknowledge it, silence its class. Nothing without a yes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from middlewatch.daemon.text.rows import cut

from . import answer
from .answer import Answer
from .desk import Desk, Done

_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
LONGEST_S = 30 * 86400
"""The daemon takes no longer silence."""


def or_tell(desk: Desk, take: Done) -> Done:
    """Hands on an answer; a refusal is shown."""

    def done(told: Any) -> None:
        if isinstance(told, Exception):
            desk.services.tell(answer.clean(str(told)), bad=True)
        else:
            take(told)

    return done


def acknowledge(desk: Desk, incidents: Sequence[Answer]) -> None:
    """Acknowledge incidents, after a yes."""
    fresh = [one for one in incidents if answer.text(one, "state") == "open"]
    if not fresh:
        desk.services.tell("it is acknowledged or resolved already")
        return
    summary = cut(answer.text(fresh[0], "summary"), 60)
    what = (
        f"this incident: {summary}"
        if len(fresh) == 1
        else f"{len(fresh)} incidents like: {summary}"
    )

    def yes() -> None:
        for one in fresh:
            name = answer.text(one, "id")
            words = f"{name} is acknowledged"
            told = or_tell(desk, partial(_say, desk, words))
            desk.services.ask("ack", {"id": name}, told)

    desk.services.confirm(f"Acknowledge {what}?  No reminder of it is sent any more.", yes)


def _say(desk: Desk, words: str, _told: Any) -> None:
    desk.services.tell(words)


def silence(desk: Desk, incident: Answer) -> None:
    """Silence the class of an incident on its run: the person types for how long, and says yes."""
    trouble, run = answer.text(incident, "class"), answer.text(incident, "run")
    if not trouble or not run:
        return

    def typed(text: Any) -> None:
        for_s = seconds(str(text))
        if for_s is None:
            desk.services.tell("write the time like 30m, 2h or 1d (30 days at most)", bad=True)
            return

        def yes() -> None:
            args = {"run": run, "class": trouble, "for_s": for_s}
            told = or_tell(desk, lambda _: desk.services.tell(f"{trouble} of {run} is silenced"))
            desk.services.ask("silence", args, told)

        desk.services.confirm(f"Send no push about {trouble} of {run} for {text}?", yes)

    desk.services.prompt(f"Silence {trouble} of {run} for", "2h", typed)


def seconds(text: str) -> float | None:
    """Seconds of a time like ``30m``; ``None`` if it is none, or none that the daemon takes."""
    match = _SPAN.fullmatch(text.strip())
    found = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    return found if 0 < found <= LONGEST_S else None
