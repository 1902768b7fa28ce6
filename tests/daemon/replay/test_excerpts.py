"""Excerpts of logs of many systems, in our own words: what is read out of them, and what not.

``excerpts/*.txt``: ``=== classes ; verdict ; title`` and the log below it, up to the next. The
first class is the cause where the verdict is ``failed``; ``-`` asks for no verdict. Below the
titles of ``innocent.txt`` nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.replay.one_log import Replay, ReplayRules
from middlewatch.sentinels.kit import discover

SENTINELS = discover()
HERE = Path(__file__).parent / "excerpts"
COMPANIONS = {
    "python_exception", "rank_failed", "process_killed", "sigterm_received", "launch_error",
}  # fmt: skip
"""Fallout that may be told beside the exact class."""


def excerpts(path: Path) -> Iterator[tuple[str, str]]:
    """(head, log) of every excerpt of a file."""
    for part in path.read_text(encoding="utf-8").split("=== ")[1:]:
        head, _, log = part.partition("\n")
        yield head, log


def replayed(log: str) -> list[dict[str, Any]]:
    bugs: list[str] = []
    reading = Replay("a.log", ReplayRules(SENTINELS, {}, bugs.append))
    said = list(reading.read([log.encode()], metrics=False))
    assert not bugs
    return said


def told(said: list[dict[str, Any]], *roles: str) -> set[str]:
    """Classes that are told as a warning or worse, of all roles or of these."""
    return {
        r["class"]
        for r in said
        if r["type"] == "finding"
        and r["severity"] != "info"
        and (not roles or r["details"].get("role", "root") in roles)
    }


def misread(head: str, log: str) -> str:
    """What is wrong with what was read of an excerpt; "" for nothing."""
    classes, verdict, _ = head.split(" ; ")
    wanted = classes.split(",")
    said = replayed(log)
    found, roots, end = told(said), told(said, "root"), said[-1]
    if not set(wanted) <= found:
        return f"{head}: found {sorted(found)}"
    # what only follows from a root is allowed beside it
    if not roots <= {*wanted, *COMPANIONS}:
        return f"{head}: roots {sorted(roots)}"
    if verdict != "-" and (end["verdict"], end["cause"]) != (verdict, wanted[0]):
        return f"{head}: {end['verdict']}, {end['cause']}"
    return ""


@pytest.mark.parametrize("topic", sorted({p.stem for p in HERE.glob("*.txt")} - {"innocent"}))
def test_trouble_is_read(topic: str) -> None:
    found = [misread(head, log) for head, log in excerpts(HERE / f"{topic}.txt")]
    assert found
    assert [wrong for wrong in found if wrong] == []


def test_innocent_lines_say_nothing() -> None:
    for head, log in excerpts(HERE / "innocent.txt"):
        said = replayed(log)
        assert not told(said), head
        assert said[-1]["verdict"] != "failed", head
