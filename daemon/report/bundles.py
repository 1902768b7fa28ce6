"""Many pushes about the same class at once are one push with a list: fifty dead runs are one call."""

from __future__ import annotations

from collections.abc import Sequence

from .messages import MAX_BODY, Message

FROM = 5
"""Waiting pushes of one class that are sent together. Our choice: four can be read one by one."""
_SHORTEST = 60
"""Characters of a line at least: name of the run, and the beginning of what happened."""
_FIRST_STEP = "First step"


def alike(first: Message, other: Message) -> bool:
    """True for two messages that may stand in one list: of the same class, and said the same way."""
    if not first.trouble or (first.trouble, first.kind) != (other.trouble, other.kind):
        return False
    return _label(first) == _label(other)


def bundle(messages: Sequence[Message]) -> Message:
    """One message for all of these, which are alike: a line for each, and the first step of the first.

    What does not fit is counted; the incidents have it all.
    """
    first = messages[0]
    step = next((line for line in first.body.split("\n") if line.startswith(_FIRST_STEP)), "")
    tail = (
        [step, "All of them: middlewatch incidents"]
        if step
        else ["All of them: middlewatch incidents"]
    )
    room = MAX_BODY - sum(len(line) + 1 for line in tail)
    lines: list[str] = []
    width = max(_SHORTEST, room // len(messages) - 1)
    for place, one in enumerate(messages):
        text = one.title.partition("] ")[2] or one.title
        text = text if len(text) <= width else text[: width - 1] + "…"
        rest = f"… and {len(messages) - place} more"
        last = place == len(messages) - 1
        if len(text) + (0 if last else len(rest) + 1) > room:
            lines.append(rest)
            break
        lines.append(text)
        room -= len(text) + 1
    title = f"{_label(first)} {len(messages)} at once: {first.trouble}"
    return Message(title, "\n".join([*lines, *tail]), first.kind, first.incident, first.trouble)


def _label(message: Message) -> str:
    """``[CRITICAL]``: what stands before the names; a reminder is labelled without its number."""
    return message.title.partition("]")[0].partition(",")[0] + "]"
