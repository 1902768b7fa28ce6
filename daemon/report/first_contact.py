"""The push about a platform that is sent once per box: its clocks, its meter, what is worth knowing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..config.platform_profiles import Profile
from .messages import MAX_BODY, Message

SIGNS = 3
"""Signs of a platform that are named."""


def lines(profile: Profile) -> Iterator[str]:
    """What to know about a platform, the most important first."""
    for row in profile.about("meter.stop"):
        undo = row.get("undo")
        can = "" if undo is None else " (can be undone)" if undo else " (cannot be undone)"
        yield f"Stops the meter: {row['says']}{can}"
    if billing := profile.says("meter.keeps_billing"):
        yield f"Still billed after it: {billing}"
    for row in profile.clocks:
        yield f"Clock: {row['what']}, {row['after']}: {row['effect']}"
    for row in profile.about("convenience"):
        yield f"Worth knowing: {row['says']}"


def message(host: str, name: str, signs: Sequence[str], told: Iterator[str]) -> Message:
    """The push; what does not fit is in ``middlewatch platform``."""
    last = "All of it, with source and month: middlewatch platform"
    body = [f"Recognised by {', '.join(signs[:SIGNS])}. This is told once."]
    room = MAX_BODY - len(last) - len(body[0]) - 2
    for line in told:
        if len(line) + 1 > room:
            break
        body.append(line)
        room -= len(line) + 1
    title = f"[INFO] {host[:60]} is a box of {name}: what to know once"
    return Message(title, "\n".join([*body, last]), "info", key=f"greeted {name} {host}")
