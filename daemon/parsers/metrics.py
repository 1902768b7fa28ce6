"""From a line's text to the numbers of a training report.

By grammar, not by framework: a progress bar, counters, keys with separators, table rows.
A value is NaN because a number was parsed as NaN, never because the letters are there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from . import grammar, heads, tables
from .fields import Field, Plan, Values, plan_for
from .synonyms import RL_KEYS, fold

MEASURES = frozenset(
    {"train_loss", "eval_loss", "grad_norm", "tokens_per_s", "samples_per_s", "step_time_s", "mfu"}
    | {"loss_scale", "accuracy"}
)
"""Any one of these makes a line a report. ``lr`` and memory alone are as often a setting."""
COUNTS = frozenset({"step", "epoch", "total", "of", "rank"})

MAX_TEXT = 16 * 1024
"""Characters looked at: records of many fields reach 5 kB, beyond that are data dumps."""
_CLUE = re.compile(r"\d|\b(?:nan|inf)", re.IGNORECASE)
_PROSE = re.compile(r"[^\W\d]{2,}")
_REMAINING = re.compile(r"(?i:\b(?:eta|elapsed|remaining|time left)\b[\s:=]*[\w:]*)")
_HEAD_WORDS = 3
_INDENTED = re.compile(r"^(?:\s{2,}|\t)\S")

BarKind = Literal["", "train", "evaluate", "plain", "other"]


@dataclass(slots=True)
class Report:
    """What lines of one shape tell; :meth:`read` gives the values of one line."""

    fields: list[Field]
    plan: Plan | None
    bar: BarKind = ""
    """Progress bar on the line: ``plain`` has no label and may be anything."""
    measured: bool = False
    """Has a number of :data:`MEASURES` besides what the bar itself tells."""
    counted: bool = False
    """Names a step or an epoch."""
    head: bool = False
    """Nothing but a step or epoch: the head of a record, or a counter."""
    own: int = 0
    """How many other values it has."""
    cell: bool = False
    """A ``| key | value |`` row."""
    inner: bool = False
    """Indented or a table row: belongs to the record whose head came before."""
    learning: bool = False
    """Carries a key that only reinforcement learning has."""
    row: bool = False
    """Read with the help of a table header."""

    def read(self, piece: bytes) -> Values | None:
        """Values of a line of this shape, ``None`` where only :func:`examine` can tell."""
        return None if self.plan is None else self.plan.read(piece)


@dataclass(slots=True)
class _Draft:
    fields: list[Field] = field(default_factory=list)
    bar: heads.Bar | None = None
    row: bool = False
    cell: bool = False


def examine(text: str, header: tables.Header | None = None) -> Report | None:
    """The report that ``text`` is, or ``None``. ``text`` keeps its rank prefix."""
    text = text[:MAX_TEXT]
    if not _CLUE.search(text):
        return None
    draft = _Draft()
    _, begin, rank = heads.rank_prefix(text)
    rest = heads.blank(text, 0, begin)
    _fill(rest, begin, header, draft)
    if not draft.fields:
        return None
    report = _judged(text, begin, draft)
    if report is not None:
        if rank is not None:
            report.fields.append(rank)
        report.plan = plan_for(text, report.fields)
    return report


def _fill(text: str, begin: int, header: tables.Header | None, draft: _Draft) -> None:
    cell = tables.two_cells(text)
    if cell is not None:
        draft.cell = True
        draft.fields.append(cell[1])
        return
    text, draft.bar = heads.take_bar(text, draft.fields)
    if header is not None:
        row = tables.row_fields(text, header)
        if row:
            draft.row = True
            have = {f.name for f in row}
            draft.fields = row + [f for f in draft.fields if f.name not in have]
            return
    row = tables.headless_row(text)
    if row:
        draft.fields.extend(row)
        return
    text = heads.without_times(text)
    if draft.bar is None:
        text = heads.take_counters(text, draft.fields)
    grammar.scan(text, draft.fields)


def _judged(text: str, begin: int, draft: _Draft) -> Report | None:
    fields = draft.fields
    names = {f.name.lstrip("+") for f in fields}
    if any(f.name.startswith("+") for f in fields):
        names.add("train_loss")
    own = names - COUNTS
    if draft.bar is not None:
        own = own - {"step_time_s"} | ({"step_time_s"} if _own_step_time(fields) else set())
    report = Report(
        fields,
        None,
        bar=_bar_kind(draft.bar),
        measured=bool(own & MEASURES),
        counted=bool(names & {"step", "epoch"}),
        own=len(own),
        cell=draft.cell,
        inner=draft.cell or bool(_INDENTED.match(text[begin:])),
        learning=any(fold(f.name) in RL_KEYS for f in fields),
        row=draft.row,
    )
    report.head = (
        report.counted and not own and draft.bar is None and _only_counts(text, begin, fields)
    )
    worth = (
        report.measured or report.bar or report.head or (own and (report.counted or report.inner))
    )
    return report if worth else None


def _own_step_time(fields: list[Field]) -> bool:
    """Another step time than the bar's, which is always among the first three fields."""
    return sum(1 for f in fields if f.name == "step_time_s") > 1


def _bar_kind(bar: heads.Bar | None) -> BarKind:
    if bar is None:
        return ""
    if not _PROSE.search(bar.label):
        return "plain"
    if bar.evaluating:
        return "evaluate"
    return "train" if bar.training else "other"


def _only_counts(text: str, begin: int, fields: list[Field]) -> bool:
    """The line has hardly a word besides its counters."""
    counts = [f for f in fields if f.name in ("step", "epoch", "total")]
    if len(text) - begin > 160 or not counts:
        return False
    behind = _REMAINING.sub("", text[max(f.end for f in counts) :])
    before = heads.without_times(text[begin : min(f.start for f in counts)])
    return len(_PROSE.findall(behind)) == 0 and len(_PROSE.findall(before)) <= _HEAD_WORDS
