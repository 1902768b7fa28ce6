"""The views as text at five sizes, compared with what is kept in ``snapshots/``.

After a change that is meant: ``MIDDLEWATCH_SNAPSHOTS=write pytest tests/tui/test_snapshots.py``, and the
difference is read before it is committed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from rich.style import Style

from middlewatch.tui import frame
from middlewatch.tui.themes import LOOKS, ascii_only

from .hands import TABS, Hands
from .overview_answer import checkpoints, incident, overview, run, troubled

KEPT = Path(__file__).parent / "snapshots"
SIZES = ((45, 20), (60, 20), (80, 24), (120, 40), (200, 60))
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


@pytest.mark.parametrize("look", ["dark", "light", "colour-blind", "mono"])
@pytest.mark.parametrize("view", ["overview", "run", "incident"])
def test_its_colours_are_as_they_were(view: str, look: str) -> None:
    """Each stretch of a row with its style in brackets, where that is not the usual one."""
    hands = Hands(night())
    hands.desk.incident = "a1b2"
    hands.views[view].shown()
    rows = frame.draw(hands.desk.link, hands.views[view], TABS, 80, 24)
    styles = LOOKS[look].styles
    told = "\n".join(
        "".join(f"[{_named(styles[s.tone])}]{s.text}[/]" if s.tone else s.text for s in line)
        for line in rows
    )
    _compare(f"{view}-80x24-{look}", told)


def _named(style: Style) -> str:
    colours = [c.name for c in (style.color, style.bgcolor) if c is not None]
    marks = [m for m in ("bold", "dim", "underline", "reverse") if getattr(style, m)]
    return " ".join([*marks, " on ".join(colours)]).strip()


def _light(colour: str) -> float:
    """Relative luminance of ``#rrggbb`` (WCAG 2.2)."""
    parts = (int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("look", ["dark", "light", "colour-blind"])
def test_every_tone_can_be_read(look: str) -> None:
    """A contrast of 4.5 to 1, as WCAG 2.2 asks of text (criterion 1.4.3)."""
    for tone, style in LOOKS[look].styles.items():
        assert style.color is not None
        assert style.bgcolor is not None
        one, other = sorted((_light(style.color.name), _light(style.bgcolor.name)))
        assert (other + 0.05) / (one + 0.05) >= 4.5, tone


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
