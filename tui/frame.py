"""The first and the last row of every view, and what is shown where there is no answer. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from middlewatch.daemon.text import figures
from middlewatch.daemon.text.rows import BLANK, Row, Span, cut, ends, pad, row, wrap

from . import answer
from .desk import Link
from .incident_rows import paragraph
from .view import View

LEAST_WIDTH, LEAST_HEIGHT = 40, 12
"""Smallest terminal, in cells: a phone held upright has 45 columns. In a smaller one there would not
be a row for each part of the overview."""


class Tab(NamedTuple):
    """A view in the last row: where it stands, and its key."""

    begin: int
    end: int
    key: str
    """The key that opens it, as Textual names it."""


def header(link: Link, width: int, title: str = "", box: str = "") -> Row:
    """The first row: name of the box, the view, whether the daemon answers, and the time there."""
    found = link.answer or {}
    up = answer.finite(answer.record(found, "daemon"), "uptime_s")
    name = Span(answer.text(found, "host") or answer.clean(box) or "middlewatch", "title")
    version = answer.text(found, "version")
    at = answer.moment(found, "updated_at")
    clock = row(Span(f"{at:%H:%M}" if at else "no time", "dim"))
    of = Span(f"  {title}" if title else "")
    started = f"  daemon up {figures.roughly(up)}" if found else ""
    full = row(" ", name, of, Span(started, "dim"), Span(f"  middlewatch {version}" if version else "", "dim"))  # fmt: skip
    if not link.silent:
        return ends(full, clock, width)
    age = figures.duration(link.age_s)
    late = f" no answer for {age}" if link.answer is not None else f" no answer yet ({age})"
    why = f": {cut(link.reason, width // 3)}" if link.reason else ""
    last = row(" last ", *clock) if found else BLANK
    return ends(row(" ", name), row(Span(f"{late}{why} ", "alert"), *last), width)


def footer(views: Sequence[tuple[str, str]], now: str, width: int) -> tuple[Row, list[Tab]]:
    """The last row: the views with their keys, the present one marked; ``views`` are (key, title).
    In a narrow window the others have their key only."""
    tail = (("colon", " :", " do"), ("question_mark", " ?", " help"), ("q", " q", " quit"))
    brief = (("colon", " :", ""), *tail[1:])
    least = (("question_mark", " ?", ""), ("q", " q", " quit"))
    for named, end in ((True, tail), (True, brief), (False, tail), (False, brief), (False, least)):
        spans, tabs, x = [], [], 0
        for key, title in views:
            here = title == now
            words = f" {key} {title}" if named or here else f" {key}"
            words += " " if here else ""
            spans.append(Span(words, "alert" if here else "title"))
            tabs.append(Tab(x, x + cell_len(words), key))
            x += cell_len(words)
        for key, sign, does in end:
            spans += [Span(sign, "title"), Span(does, "dim")]
            tabs.append(Tab(x, x + cell_len(sign + does), key))
            x += cell_len(sign + does)
        if x <= width:
            break
    return pad(tuple(spans), width), tabs


def waiting(link: Link, width: int) -> list[Row]:
    """What is shown before the first answer."""
    if not link.silent:
        return [BLANK, row("  asking the daemon …")]
    reason = paragraph(link.reason, width)
    return [BLANK, *reason, BLANK, *paragraph(link.hint, width), BLANK,
            row(Span("  Trying again every second. The runs do not need this screen.", "dim"))]  # fmt: skip


def too_small(width: int, height: int) -> list[Row]:
    """What is shown in a window in which nothing has its place."""
    said = wrap(
        f"make the window larger: it is {width}x{height}, and {LEAST_WIDTH}x{LEAST_HEIGHT} "
        "is the least. q quits; the runs continue.",
        max(2, width - 2),
    )
    lines: list[Row] = [row(" ", line) for line in said]
    return [pad(line, width) for line in [*lines, *[BLANK] * height][: max(0, height)]]


def draw(
    link: Link, view: View, views: Sequence[tuple[str, str]], width: int, height: int, box: str = ""
) -> list[Row]:
    """The whole screen: exactly ``height`` rows of ``width`` cells."""
    if width < LEAST_WIDTH or height < LEAST_HEIGHT:
        return too_small(width, height)
    room = height - 2
    body = (
        waiting(link, width)
        if link.answer is None and view.needs_answer
        else view.draw(width, room)
    )
    body = [*body, *[BLANK] * room][:room]
    last, _ = footer(views, view.title, width)
    title = "" if view.name == "overview" else view.title
    return [pad(line, width) for line in (header(link, width, title, box), *body, last)]
