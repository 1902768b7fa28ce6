"""The title of a push: its first 40 characters are what a locked screen shows."""

from __future__ import annotations

LOCKED = 40
"""Characters of a title that a locked screen shows at least."""
SAID = 10
"""Of these, so many tell what happened at least, where cutting the name of the box is enough for that: two
words. Our choice."""
HOST = 8
"""Characters of the name of a box that are told at least, where its name is cut. Our choice."""


def titled(label: str, who: str, host: str, what: str, brief: str = "") -> str:
    """``[CRITICAL] run7 on box3: loss is NaN``. The name of a run is always whole: programs and people look
    for it. Of a long name of the box only the beginning is told where that makes room for what happened.
    ``brief``: what stands for the names of several runs where these leave no room."""
    begin = f"[{label}] {who} on "
    if brief and len(begin) + HOST + SAID > LOCKED:
        begin = f"[{label}] {brief} on "
    room = max(HOST, LOCKED - min(SAID, len(what)) - len(begin) - len(": "))
    return f"{begin}{host if len(host) <= room else host[: room - 1] + '…'}: {what}"
