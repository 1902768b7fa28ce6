"""Tables: a header line names the columns of the rows below it.

These are CSV and TSV loggers, ``| Step | Training Loss |`` in notebooks, and the headers that
detection trainers print before each epoch. Rows without a header are read if their layout is
unmistakable.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from middlewatch.sentinels.kit.metric_keys import canonical, fold, is_loss

from .disambiguate import COUNTS
from .fields import NUMBER_TEXT, SIZE_UNITS, Field, unit_factor

MAX_COLUMNS = 64
MARKS = "|│┃\t,; "
_NAME = re.compile(r"(?!.*\s[-+]?[\d.]+$)[^\W\d][\w /().@%+'-]{0,40}|#")
_CELL = re.compile(rf"\s*\"?(?P<number>{NUMBER_TEXT})(?P<unit>[KMGT]i?B?|%|ms|s)?\s*\"?:?\s*")
_FRACTION = re.compile(r"\s*(?P<number>\d+)/(?P<of>\d+)\s*")
_TWO_CELLS = re.compile(
    rf"^\s*[|│┃]\s*(?P<key>[^\W\d][\w/ .@()-]{{0,60}}?)\s*[|│┃]\s*(?P<number>{NUMBER_TEXT})\s*[|│┃]?\s*$"
)
_YOLO_ROW = re.compile(r"^\s*(?P<epoch>\d+)/(?P<epochs>\d+)\s+(?P<mem>\d+(?:\.\d+)?)G\s+\d")
_PART = frozenset({"box", "obj", "cls", "dfl", "seg", "pose", "kobj", "mask"})
"""Columns of detection trainers that are losses without the word loss in their names."""
_FIRST_CELL = re.compile(rf"[\s|│┃,;]*\"?{NUMBER_TEXT}(?![^\W\d]{{2}})")
_DIGIT_FRACTION = re.compile(r"/\d")
_BARE = re.compile(
    r"\s*(?P<step>\d{1,9})(?P<mark>[\t,; ])\s{0,3}"
    r"(?P<value>[-+]?\d+\.\d+(?:[eE][-+]?\d+)?|nan|NaN|inf)\s*"
)
_OF_TIME = re.compile(
    r"(?:wall|local|utc)?[ _]?(?:date|time|day|clock|ts)(?:[ _]?(?:time|stamp|utc))?|when|at|zeit|datum|uhrzeit|heure|hora|fecha|data"
    r"|时间|日期|時刻|日時|時間|시간|время|дата"
)
"""Columns with a date or a time of day."""
_PLAIN_NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?:[eE][-+]?\d+)?(?![\w.])")


@dataclass(frozen=True, slots=True)
class Header:
    """The columns of a table."""

    mark: str
    """Separator of cells: ``|``, a tab, a comma, or a space for any number of blanks."""
    names: tuple[str, ...]
    """Columns. Where blanks separate them, one blank may be within a name, or between two that fill
    their columns: a row with as many cells as there are words has a column for each word."""
    SAVED: ClassVar[Any] = ("mark", "*names")


def _cells(text: str, mark: str) -> list[tuple[int, str]]:
    """(position, text) of every cell."""
    if mark == " ":
        return [(m.start(), m.group()) for m in islice(re.finditer(r"\S+", text), MAX_COLUMNS + 1)]
    cells: list[tuple[int, str]] = []
    at = 0
    for cell in text.split(mark, MAX_COLUMNS + 2):
        cells.append((at, cell))
        at += len(cell) + 1
    if mark in "|│┃" and len(cells) > 2:
        cells = [c for i, c in enumerate(cells) if c[1].strip() or 0 < i < len(cells) - 1]
    return cells


def header_of(text: str) -> Header | None:
    """The header in this line, if it names at least two numbers of a training run."""
    if len(text) > 1000 or _DIGIT_FRACTION.search(text):
        return None
    text = text.lstrip("\ufeff \t")
    marked = text[:1] == "#" and text[1:2] in tuple(" sSeEiI\t")
    text = text[1:] if marked else text
    for mark in MARKS:
        if mark != " " and mark not in text:
            continue
        header = _header_with(text, mark, marked)
        if header is not None:
            return header
    return None


def _header_with(text: str, mark: str, marked: bool) -> Header | None:
    if mark == " ":
        wide = re.split(r"\s{2,}", text.strip())
        cells = wide if len(wide) >= 4 else text.split()
        least = 2 if marked else 4 if len(wide) < 3 else 3
    else:
        cells = [c.strip().strip('"') for _, c in _cells(text, mark)]
        least = 2
    if not least <= len(cells) <= MAX_COLUMNS or not all(map(_NAME.fullmatch, cells)):
        return None
    if cells[:2] == ["E", "#"]:
        cells[:2] = ["epoch", "step"]  # spaCy
    names = [canonical(fold(c)) for c in cells]
    counted = any(n in ("step", "epoch") for n in names)
    measured = sum(
        1
        for n, c in zip(names, cells, strict=True)
        if n not in (None, "step", "epoch", "total", "epochs") or is_loss(fold(c))
    )
    return Header(mark, tuple(cells)) if (counted and measured) or measured >= 2 else None


def may_be_row(text: str) -> bool:
    """Whether the line may be a row under some header: its first cell is a number."""
    return _FIRST_CELL.match(text) is not None


def row_fields(text: str, header: Header) -> list[Field]:
    """The fields of a row under ``header``; empty if the line is no such row."""
    # rich draws the edges of its heads heavy and those of its rows light
    mark = "│" if header.mark == "┃" and "│" in text else header.mark
    cells = _cells(text, mark)
    names = header.names
    if header.mark == " " and len(cells) != len(names):
        words = tuple(" ".join(names).split())
        names = words if len(words) == len(cells) else names
    while len(names) - len(cells) > 0 and header.mark != " " and _OF_TIME.fullmatch(fold(names[0])):
        names = names[1:]  # it was taken for the time of the line, and is known
    short = len(names) - len(cells)
    if short > (1 if header.mark == " " else 0) or (short < 0 and header.mark != " "):
        return []
    fields: list[Field] = []
    parts = _parts(names)
    detection = _of_detection(names)
    for name, (at, cell) in zip(names, cells, strict=False):
        folded = fold(name)
        ours = canonical(folded)
        match = _CELL.fullmatch(cell)
        if match is None:
            fraction = _FRACTION.fullmatch(cell) if ours in ("epoch", "step") else None
            if fraction is None:
                if cell.strip() and not fields and not _OF_TIME.fullmatch(folded):
                    return []
                continue
            match = fraction
            start, end = fraction.span("of")
            fields.append(Field("epochs" if ours == "epoch" else "total", at + start, at + end))
        start, end = match.span("number")
        unit = match.groupdict().get("unit") or None
        own = "train_loss" if folded == "total" and detection else ours
        if own is None:
            own = "+" + name if name in parts else name.title() if name in COUNTS else name
        factor, reading = unit_factor(ours or "", folded, unit)
        if ours == "gpu_mem_bytes" and unit in SIZE_UNITS:
            factor = SIZE_UNITS[unit]
        if own == "it/s":
            own = "step_time_s"
        if all(f.name != own for f in fields):
            fields.append(Field(own, at + start, at + end, factor, reading, key=name))
    return fields if len(fields) >= 2 else []


def _of_detection(names: tuple[str, ...]) -> bool:
    """Whether the columns are those of a detection trainer (:data:`_PART`)."""
    folded = {fold(n) for n in names}
    return len(_PART & folded) >= 2 and any(canonical(f) == "gpu_mem_bytes" for f in folded)


def _parts(names: tuple[str, ...]) -> frozenset[str]:
    """Columns whose sum is the loss that is optimised: box, class, objectness."""
    folded = {n: fold(n) for n in names}
    found = {canonical(f) for f in folded.values()}
    if "train_loss" in found:
        return frozenset()
    detection = _of_detection(names)
    if detection and "total" in folded.values():
        return frozenset()
    return frozenset(
        n
        for n, f in folded.items()
        if canonical(f) is None
        and (f.endswith((" loss", "/loss")) or (detection and f in _PART))
        and not f.startswith(("val", "eval", "test", "metrics", "best", "min", "max"))
    )


def two_cells(text: str) -> tuple[str, Field] | None:
    """(key, field) of a ``| key | value |`` row."""
    match = _TWO_CELLS.match(text)
    if match is None:
        return None
    folded = fold(match["key"])
    name = canonical(folded)
    if name in ("total", "epochs"):
        name = "step" if name == "total" else None  # in a table of results: steps so far
    factor, reading = unit_factor(name or "", folded, None)
    own = match["key"].strip()
    numbered = any(c.isdigit() for c in own)
    if name == "it/s":
        name = "step_time_s"
    return own, Field(
        name or (own.title() if own in COUNTS else own),
        *match.span("number"),
        factor,
        reading,
        numbered,
        own,
    )


def headless_row(text: str) -> list[Field]:
    """Epoch, GPU memory and loss of a detection trainer's result row without its header."""
    match = _YOLO_ROW.match(text)
    if match is None:
        return []
    fields = [
        Field("epoch", *match.span("epoch")),
        Field("epochs", *match.span("epochs")),
        Field("gpu_mem_bytes", *match.span("mem"), 2.0**30),
    ]
    losses = list(islice(_PLAIN_NUMBER.finditer(text, match.end("mem")), 4))
    if len(losses) == 4:
        *parts, whole = (float(m.group()) for m in losses)
        if whole > 0 and abs(sum(parts) - whole) <= 2e-3 * whole + 1e-5:
            fields.append(Field("train_loss", *losses[3].span()))
    return fields


def bare_row(text: str) -> list[Field]:
    """Counter and value of a row that is numbers only: ``10<tab>8.46``.

    What they are shows only in consecutive rows with a rising counter (:mod:`.series`).
    """
    match = _BARE.fullmatch(text) if len(text) < 200 else None
    if match is None:
        return []
    return [Field("step", *match.span("step")), Field("column 2", *match.span("value"))]
