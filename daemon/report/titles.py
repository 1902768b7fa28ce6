"""The title of a push: its first 40 characters are what a locked screen shows."""

from __future__ import annotations

LOCKED = 40
"""Characters of a title that a locked screen shows at least."""
SAID = 10
"""Of these, so many tell what happened at least: two words. Our choice."""
HOST = 6
"""Characters of the name of a box that are told at least, where its name is cut. Our choice."""
NAME = 14
"""Characters of the name of a run, where the whole one would leave no room for that."""


def titled(label: str, who: str, host: str, what: str, brief: str = "") -> str:
    """``[CRITICAL] run7 on box3: loss is NaN``. Of a long name of the box only the beginning is told; with
    a long name of the run the box comes last, in brackets, and the middle of the name is left out.
    ``brief``: what stands for the names of several runs then. The body tells what is left out here."""
    begin = f"[{label}] {who} on "
    room = LOCKED - min(SAID, len(what)) - len(begin) - len(": ")
    if len(host) <= room:
        return f"{begin}{host}: {what}"
    if room >= HOST:
        return f"{begin}{host[: room - 1]}…: {what}"
    return f"[{label}] {brief or shortened(who)}: {what} ({host})"


def shortened(name: str) -> str:
    """A name without its middle: names of runs differ at their ends."""
    if len(name) <= NAME:
        return name
    end = (NAME - 1) // 2
    return f"{name[: NAME - 1 - end]}…{name[-end:]}"
