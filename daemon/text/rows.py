"""Rows of text, from which every screen and report is built. Pure.

A row is a tuple of spans. A span has a text and a *tone* (``good``, ``warn``, …), for which the
widget or command chooses the colour. Widths are terminal cells: a Chinese character takes two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from rich.cells import cell_len, get_character_cell_size

Tone = Literal["", "dim", "title", "good", "warn", "bad", "alert"]


class Span(NamedTuple):
    """A part of a row with one tone."""

    text: str
    tone: Tone = ""


Row = tuple[Span, ...]
BLANK: Row = ()


def row(*parts: str | Span) -> Row:
    """A row of plain strings and spans."""
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts)


def width_of(line: Row) -> int:
    """Cells that the row takes."""
    return sum(cell_len(span.text) for span in line)


def cut(text: str, width: int) -> str:
    """``text`` in at most ``width`` cells; what was longer ends in ``…``."""
    if cell_len(text) <= width:
        return text
    if width <= 0:
        return ""
    return clip(text, width - 1) + "…"


def cut_left(text: str, width: int) -> str:
    """Like :func:`cut`, but keeps the end, which is the most useful part of a path."""
    if cell_len(text) <= width:
        return text
    return "…" + clip(text[::-1], width - 1)[::-1] if width > 0 else ""


def clip(text: str, width: int) -> str:
    """As many first characters as fit into ``width`` cells."""
    used = 0
    for index, character in enumerate(text):
        used += get_character_cell_size(character)
        if used > width:
            return text[:index]
    return text


def fill(text: str, width: int, right: bool = False) -> str:
    """``text`` in exactly ``width`` cells, cut or padded; ``right`` puts it to the right."""
    text = cut(text, width)
    space = " " * (width - cell_len(text))
    return space + text if right else text + space


def pad(line: Row, width: int) -> Row:
    """The row in exactly ``width`` cells, cut or padded, without empty or split spans."""
    spans: list[Span] = []
    left = width
    for span in line:
        if left <= 0:
            break
        used = cell_len(span.text)
        if used > left:
            span = Span(fill(span.text, left), span.tone)
            used = left
        left -= used
        if not span.text:
            continue
        if spans and spans[-1].tone == span.tone:
            span = Span(spans.pop().text + span.text, span.tone)
        spans.append(span)
    if left > 0:
        tail = " " * left
        if spans and spans[-1].tone == "":
            tail = spans.pop().text + tail
        spans.append(Span(tail))
    return tuple(spans)


def first_fit(width: int, *lines: Row) -> Row:
    """The first of several rows that fits into ``width`` cells; the last one if none does."""
    return next((line for line in lines if width_of(line) <= width), lines[-1])


def ends(left: Row, right: Row, width: int) -> Row:
    """``left`` and ``right`` at the two ends of a row; if there is little room, ``left`` is cut."""
    room = width - width_of(right) - 1
    return pad(left, max(0, room)) + row(" ") + right


def beside(
    left: Sequence[Row], right: Sequence[Row], left_width: int, right_width: int
) -> list[Row]:
    """Two columns, one cell apart, with as many rows as the longer one."""
    height = max(len(left), len(right))
    return [
        (*pad(_at(left, y), left_width), Span(" "), *pad(_at(right, y), right_width))
        for y in range(height)
    ]


def _at(lines: Sequence[Row], y: int) -> Row:
    return lines[y] if y < len(lines) else BLANK


def wrap(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width`` cells, broken at spaces where there are any."""
    found: list[str] = []
    width = max(2, width)
    while cell_len(text) > width:
        head = clip(text, width)
        space = head.rfind(" ")
        if text[len(head) : len(head) + 1] != " " and space > width // 2:
            head = head[:space]
        found.append(head.rstrip())
        text = text[len(head) :].lstrip()
    return [*found, text]


def heading(label: str, rest: Row, width: int, focused: bool = False) -> Row:
    """The headline of a section: its name (reversed while it has the keyboard focus), ``rest``."""
    title = Span(f"[{label}]", "alert") if focused else Span(f" {label} ", "title")
    return pad((title, Span(" "), *rest), width)


def window(total: int, chosen: int, height: int) -> int:
    """Index of the first of ``height`` visible items, such that item ``chosen`` is visible."""
    if total <= height or chosen < height:
        return 0
    return min(chosen - height + 1, total - height)


def plain(lines: Iterable[Row]) -> str:
    """The rows as text without tones."""
    return "\n".join("".join(span.text for span in line).rstrip() for line in lines)
