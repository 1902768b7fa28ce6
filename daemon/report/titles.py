"""The title of a push: its first 40 characters are what a locked screen shows."""

from __future__ import annotations

LOCKED = 40
"""Characters of a title that a locked screen shows at least."""
SAID = 12
"""Of these, so many tell what happened at least: enough for `loss is NaN`. Our choice."""
NAME = 14
"""Characters of the name of a run, where the whole one would leave no room for that."""


def titled(label: str, who: str, host: str, what: str, brief: str = "") -> str:
    """``[CRITICAL] run7 on box3: loss is NaN``; with long names the box comes last, in brackets, and the
    middle of the name is left out. ``brief``: what stands for the names of several runs then."""
    begin = f"[{label}] {who} on {host}: "
    if len(begin) + min(SAID, len(what)) <= LOCKED:
        return begin + what
    return f"[{label}] {brief or shortened(who)}: {what} ({host})"


def shortened(name: str) -> str:
    """A name without its middle: names of runs differ at their ends."""
    if len(name) <= NAME:
        return name
    end = (NAME - 1) // 2
    return f"{name[: NAME - 1 - end]}…{name[-end:]}"

