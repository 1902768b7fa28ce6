"""Tables: a header line names the columns of the rows below it.

CSV loggers, notebooks' ``| Step | Training Loss |``, and the column heads that detection
trainers print before each epoch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .fields import NUMBER_TEXT, SIZE_UNITS, Field, unit_factor
from .synonyms import canonical, fold

MAX_COLUMNS = 64
_NAME = re.compile(r"[^\W\d][\w /().@%:-]{0,40}")
_CELL = re.compile(rf"\s*(?P<number>{NUMBER_TEXT})(?P<unit>[KMGT]i?B?|%|ms|s)?\s*:?\s*")
_FRACTION = re.compile(r"\s*(?P<number>\d+)/\d+\s*")
_TWO_CELLS = re.compile(
    rf"^\s*[|│┃]\s*(?P<key>[^\W\d][\w/ .@()-]{{0,60}}?)\s*[|│┃]\s*(?P<number>{NUMBER_TEXT})\s*[|│┃]?\s*$"
)
_YOLO_ROW = re.compile(r"^\s*(?P<epoch>\d+)/\d+\s+(?P<mem>\d+(?:\.\d+)?)G\s+\d")


@dataclass(frozen=True, slots=True)
class Header:
    """The columns of a table."""

    mark: str
    """What stands between two cells: ``|``, a tab, a comma, or a space for any blanks."""
    names: tuple[str, ...]


def _cells(text: str, mark: str) -> list[tuple[int, str]]:
    """(position, text) of every cell."""
    if mark == " ":
        return [(m.start(), m.group()) for m in re.finditer(r"\S+", text)]
    cells: list[tuple[int, str]] = []
    at = 0
    for cell in text.split(mark):
        cells.append((at, cell))
        at += len(cell) + 1
    if mark == "|" and len(cells) > 2:
        cells = [c for i, c in enumerate(cells) if c[1].strip() or 0 < i < len(cells) - 1]
    return cells


def header_of(text: str) -> Header | None:
    """The header that this line is, if it names at least two numbers of a training run."""
    if len(text) > 1000 or any(c.isdigit() and f"/{c}" in text for c in "0123456789"):
        return None
    for mark, least in (("|", 2), ("\t", 2), (",", 2), (" ", 4)):
        if mark != " " and mark not in text:
            continue
        cells = [c.strip().strip('"') for _, c in _cells(text, mark)]
        if not least <= len(cells) <= MAX_COLUMNS or not all(_NAME.fullmatch(c) for c in cells):
            continue
        names = [canonical(fold(c)) for c in cells]
        counted = any(n in ("step", "epoch") for n in names)
        measured = sum(
            1
            for n, c in zip(names, cells, strict=True)
            if n not in (None, "step", "epoch") or _is_loss(c)
        )
        if (counted and measured) or measured >= 2:
            return Header(mark, tuple(cells))
    return None


def _is_loss(cell: str) -> bool:
    return fold(cell).endswith((" loss", "/loss"))


def row_fields(text: str, header: Header) -> list[Field]:
    """The fields of a row under ``header``; empty when the line is no row of it."""
    cells = _cells(text, header.mark)
    short = len(header.names) - len(cells)
    if short > (1 if header.mark == " " else 0) or (short < 0 and header.mark != " "):
        return []
    fields: list[Field] = []
    parts = [n for n in header.names if _is_loss(n)]
    whole = any(canonical(fold(n)) == "train_loss" for n in header.names)
    for name, (at, cell) in zip(header.names, cells, strict=False):
        match = _CELL.fullmatch(cell)
        folded = fold(name)
        ours = canonical(folded)
        if match is None:
            fraction = _FRACTION.fullmatch(cell) if ours in ("epoch", "step") else None
            if fraction is None:
                if cell.strip() and not fields:
                    return []
                continue
            match = fraction
        start, end = match.span("number")
        own = name if ours is None else ours
        unit = match.groupdict().get("unit") or None
        if (
            ours is None
            and name in parts
            and not whole
            and not folded.startswith(("val", "eval", "test"))
        ):
            own = "+" + name  # box, class, objectness: the sum is what the optimiser sees
        factor, reading = unit_factor(ours or "", folded, unit)
        if ours == "gpu_mem_bytes" and unit in SIZE_UNITS:
            factor = SIZE_UNITS[unit]
        fields.append(Field(own, at + start, at + end, factor, reading))
    return fields if len(fields) >= 2 else []


def two_cells(text: str) -> tuple[str, Field] | None:
    """(key, field) of a ``| key | value |`` row."""
    match = _TWO_CELLS.match(text)
    if match is None:
        return None
    folded = fold(match["key"])
    name = canonical(folded)
    factor, reading = unit_factor(name or "", folded, None)
    own = match["key"].strip()
    numbered = any(c.isdigit() for c in own)
    return own, Field(name or own, *match.span("number"), factor, reading, numbered)


def headless_row(text: str) -> list[Field]:
    """Epoch and GPU memory of a detection trainer's result row without its header."""
    match = _YOLO_ROW.match(text)
    if match is None:
        return []
    return [
        Field("epoch", *match.span("epoch")),
        Field("gpu_mem_bytes", *match.span("mem"), 2.0**30),
    ]
