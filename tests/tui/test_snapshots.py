"""The views as text at three sizes, compared with what is kept in ``snapshots/``.

After a change that is meant: ``MIDDLEWATCH_SNAPSHOTS=write pytest tests/tui/test_snapshots.py``, and the
difference is read before it is committed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from middlewatch.tui.themes import ascii_only

from .hands import Hands
from .overview_answer import checkpoints, incident, overview, run, troubled

KEPT = Path(__file__).parent / "snapshots"
SIZES = ((45, 20), (60, 20), (80, 24), (120, 40))
VIEWS = ("overview", "run", "gpus", "checkpoints", "incidents", "incident", "log", "disks", "coverage", "help")  # fmt: skip


def night() -> dict[str, Any]:
    """A night gone wrong, with an incident of which the handbook has a page."""
    found = troubled()
    sick = incident()
    sick.update({"class": "loss_nan", "details": {"step": 4140}})
    sick["remedy"]["id"] = "loss_nan"
    found["runs"][0]["incidents"] = [sick]
    return found


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_as_it_was(view: str, size: tuple[int, int]) -> None:
    hands = Hands(night(), answers={"checkpoints": checkpoints()})
    hands.desk.incident = "a1b2"
    _compare(f"{view}-{size[0]}x{size[1]}", hands.draw(view, *size))


def test_a_quiet_night_is_as_it_was() -> None:
    _compare("quiet-80x24", Hands(overview(run(), gpus=8)).draw("overview"))


def test_in_ascii_it_is_as_it_was() -> None:
    screen = ascii_only(Hands(night()).draw("overview"))
    assert screen.isascii()
    assert [len(line) for line in screen.split("\n")] == [
        len(line) for line in Hands(night()).draw("overview").split("\n")
    ]
    _compare("ascii-80x24", screen)


def _compare(name: str, screen: str) -> None:
    path = KEPT / f"{name}.txt"
    text = "\n".join(line.rstrip() for line in screen.split("\n")) + "\n"
    if os.environ.get("MIDDLEWATCH_SNAPSHOTS") == "write":
        KEPT.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
