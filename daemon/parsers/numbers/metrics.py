"""Recognise a line that is a report of a training, and find its numbers.

This works by grammar, not by framework: progress bars, counters, keys with separators, table rows.
A value is NaN only if a number was parsed as NaN, not because the letters occur in the line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from middlewatch.sentinels.kit.metric_keys import fold, is_learning, is_loss

from . import (
    bars,
    counters,
    fixed_forms,
    grammar,
    prefixes,
    program_text,
    settings,
    spelling,
    tables,
)
from .disambiguate import COUNTS, MEASURES, sum_of_parts
from .fields import Field, Values, parse_number
from .plans import LinePlan, plan_for

__all__ = ["COUNTS", "MEASURES", "LineReport", "examine"]

MAX_TEXT = 16 * 1024
"""Limit on the characters read: records of many fields reach 5 kB, longer lines are data."""
HISTORY = 400
"""Characters from which a line may hold the records of several evaluations."""
SEVERAL = 3
"""So often a key must be in it: two may be those of training and evaluation."""
_CLUE = re.compile(r"\d|\b(?:nan|inf)", re.IGNORECASE)
_PROSE = re.compile(r"[^\W\d]{2,}")
_REMAINING = re.compile(
    r"(?i:\b(?:eta|elapsed|remaining|time left|time taken|took|cost|(?:epoch |iteration )?time)\b[\s:=]*[\w:.]*(?: (?:secs?|seconds?|mins?|minutes?|s|m|h)\b)?)"
)
_CLOSING = re.compile(
    r"(?i:\b(?:summary|results?|completed?|finished|done|took)\b)|总结|结果|训练|完成|耗时"
)
_HEAD_WORDS = 3
_INDENTED = re.compile(
    r"^(?:\s{2,}|\t)\S|^ ?[\"'][^\"']{1,80}[\"']: ?[^{\[]{1,60}$|^ \| > "
    r"|^(?:[-=]{0,3}>{1,3}|[*•·»+]) ?[^\W\d]"  # an arrow or a bullet
)
_KEY = re.compile(r"[\"'][^\"'{}]{2,80}[\"']: ?[-\d]")
_MEMBER = re.compile(r"^\s*[\"'][^\"']{1,80}[\"']\s?: ?[^,{}\[\]]{1,60},?\s*$")
_DECIMAL_COMMA = re.compile(
    r"(?i:loss\w*|pérdida|perda|perte|verlust|потери|lr|rate|norm|acc\w*|损失|准确率|学习率)[\"']?\s?[:=：\s]\s?[\"']?-?\d+,\d+(?![\d,.])"
)
_DECIMAL_POINT = re.compile(r"\d\.\d")
_COMMA = re.compile(r"(?<=\d),(?=\d)")

BarKind = Literal["", "train", "evaluate", "plain", "other"]


@dataclass(slots=True)
class LineReport:
    """The fields of lines of one shape; :meth:`read` gives the values of one line."""

    fields: list[Field]
    plan: LinePlan | None
    bar: BarKind = ""
    """Kind of the progress bar on the line; ``plain``: without a label, of unknown purpose."""
    measured: bool = False
    """It has one of :data:`MEASURES`, not only what the bar itself shows."""
    counted: bool = False
    """It has a step or an epoch."""
    head: bool = False
    """It has nothing but a step or epoch: the head of a record, or a counter."""
    own: int = 0
    """Number of its values that are no counters."""
    cell: bool = False
    """A ``| key | value |`` row."""
    inner: bool = False
    """Indented or a table row: it belongs to the record whose head came before."""
    learning: bool = False
    """It has a key that only reinforcement learning has."""
    row: bool = False
    """Read with the help of a table header."""
    member: bool = False
    """One ``"key": value`` of a JSON object written over several lines."""
    step_key: str = ""
    """The log's own name of the step."""
    plan_only: bool = False
    """It has nothing but the planned length of the run."""
    setting: bool = False
    """The planned length comes from a setting, which may mean something else."""
    bare: bool = False
    """Two numbers without a name: it counts only in a series of such lines."""
    plain: bool = False
    """A complete report on one line: a counter and measures, nothing unusual."""

    def read(self, piece: bytes) -> Values | None:
        """Values of a line of this shape; ``None`` where it needs :func:`examine`."""
        return None if self.plan is None else self.plan.read(piece)


@dataclass(slots=True)
class _Draft:
    fields: list[Field] = field(default_factory=list)
    bar: bars.Bar | None = None
    row: bool = False
    cell: bool = False
    bare: bool = False


def examine(text: str, header: tables.Header | None = None) -> LineReport | None:
    """The report in a line, or ``None``. ``text``: the line with its rank prefix."""
    last = _newest_record(text)
    if last:
        report = examine(text[last:], header)
        if report is not None:
            report.plan = None
            for one in report.fields:
                one.start, one.end = one.start + last, one.end + last
        return report
    text = text[:MAX_TEXT]
    if not _CLUE.search(text):
        return None
    if program_text.echoes(text):
        return _setting(text)
    whole, text = text, spelling.usual(text)
    draft = _Draft()
    _, begin, rank = prefixes.rank_prefix(text)
    rest = prefixes.blank(text, 0, begin)
    comma = (
        "," in rest and bool(_DECIMAL_COMMA.search(rest[:1000])) and not _DECIMAL_POINT.search(rest)
    )
    _fill(_COMMA.sub(".", rest) if comma else rest, begin, header, draft)
    report = _judged(text, begin, draft) if draft.fields else None
    if report is None:
        return _setting(whole)
    if report is not None:
        if rank is None and not draft.cell:
            rank = prefixes.rank_inside(rest)
        if rank is not None:
            report.fields = [f for f in report.fields if f.name != "rank"]
            report.fields.append(rank)
        if comma:
            for one in report.fields:
                one.comma = True
        report.plan = plan_for(whole, report.fields)
    return report


def _newest_record(text: str) -> int:
    """Where the last of several records on one line begins, such as a list of all evaluations at the end; else 0."""
    key = _KEY.search(text, 0, HISTORY) if len(text) > HISTORY else None
    if key is None:
        return 0
    named = key[0][: key[0].index(":") + 1]
    begin = text.rfind("{", 0, text.rfind(named))
    return max(begin, 0) if text.count(named) >= SEVERAL else 0


def _setting(text: str) -> LineReport | None:
    """A report of the planned length of the run, if a setting on this line gives it."""
    fields = settings.planned(text)
    if not fields:
        return None
    return LineReport(fields, plan_for(text, fields), plan_only=True, setting=True)


def _fill(text: str, begin: int, header: tables.Header | None, draft: _Draft) -> None:
    cell = tables.two_cells(text)
    if cell is not None:
        draft.cell = True
        draft.fields.append(cell[1])
        return
    text, draft.bar = bars.take_bar(text, draft.fields)
    if header is not None:
        row = tables.row_fields(text, header)
        if row:
            draft.row = True
            have = {f.name for f in row}
            have |= {"total"} if "epoch" in have else set()
            draft.fields = row + [f for f in draft.fields if f.name not in have]
            return
    row = tables.headless_row(text) or fixed_forms.fixed_form(text)
    if row:
        have = {f.name for f in draft.fields}
        draft.fields.extend(f for f in row if f.name not in have)
        return
    if draft.bar is None:
        bare = tables.bare_row(text)
        if bare:
            draft.bare = True
            draft.fields.extend(bare)
            return
    text = prefixes.without_times(text)
    if not _CLUE.search(text):
        return
    if draft.bar is None:
        text = counters.take_counters(text, draft.fields)
    grammar.scan(text, draft.fields)
    _find_the_sum(text, draft.fields)
    names = {f.name.lstrip("+") for f in draft.fields}
    if draft.bar is None and "train_loss" in names and not names & {"step", "epoch"}:
        counters.count_by_any_word(text, draft.fields)


def _find_the_sum(text: str, fields: list[Field]) -> None:
    """``B: 5.1 | C: 2.2 | M: 4.0 | T: 11.3``: take the number that is the sum as the loss."""
    if any(f.name.lstrip("+") in ("train_loss", "eval_loss") for f in fields):
        return
    for chosen in (
        [f for f in fields if len(f.name) == 1],
        [f for f in fields if is_loss(fold(f.name))],
    ):
        if len(chosen) < 4:
            continue
        values = [parse_number(text[f.start : f.end]) * f.factor for f in chosen]
        index = len(chosen) - 1 if chosen[-1].name == "T" else sum_of_parts(values)
        if index is not None:
            chosen[index].name = "train_loss"
            return


def _judged(text: str, begin: int, draft: _Draft) -> LineReport | None:
    fields = draft.fields
    names = {f.name.lstrip("+") for f in fields}
    if any(f.name.startswith("+") for f in fields):
        names.add("train_loss")
    own = names - COUNTS
    if draft.bar is not None and not _own_step_time(fields):
        own = own - {"step_time_s"}
    counted = bool(names & {"step", "epoch"})
    losses = sum(1 for n in own if n not in MEASURES and is_loss(fold(n)))
    if draft.bar is None and not draft.row and _is_prose(text[begin:], len(fields)):
        return None
    report = LineReport(
        fields,
        None,
        bar=_bar_kind(draft.bar, learns="train_loss" in names),
        measured=bool(own & MEASURES),
        counted=counted,
        own=len(own),
        cell=draft.cell,
        inner=draft.cell or bool(_INDENTED.match(text[begin : begin + 200])),
        learning=any(is_learning(fold(f.name)) for f in fields),
        row=draft.row,
        member=len(fields) == 1 and bool(_MEMBER.match(text[begin : begin + 200])),
        step_key=next((f.key for f in fields if f.name == "step"), ""),
        plan_only=not own and not counted and bool(names & {"total", "epochs"}),
        bare=draft.bare,
    )
    # "EM iteration 30/90: mean log-likelihood -5.5469": a measure of a name that nobody knows
    unknown = {"step", "total"} <= names and _DECIMAL_POINT.search(text, begin) is not None
    counts = unknown or _only_counts(text, begin, fields)
    report.head = counted and not own and draft.bar is None and counts
    report.plain = (
        report.measured
        and counted
        and draft.bar is None
        and not (report.inner or report.learning or report.member or report.row)
        and not names & {"epochs", "of"}
    )
    worth = (
        report.measured
        or report.bar
        or report.head
        or (own and (counted or report.inner))
        or losses >= 2
        or (report.learning and own)
        or (report.plan_only and _announces(text, begin, report))
    )
    return report if worth else None


def _is_prose(text: str, fields: int) -> bool:
    """Whether it is a sentence with a few numbers in it, and no report."""
    if any(c in text for c in ":=|[\t："):
        return False
    return len(_PROSE.findall(text[:1000])) > 3 * fields + 4


def _announces(text: str, begin: int, report: LineReport) -> bool:
    """Whether a line announces the length of the run, and is not one setting of many."""
    if len(text) - begin > 160:
        return False
    return report.member or bool(_ANNOUNCED.search(text))


_ANNOUNCED = re.compile(r"\bTotal (?:optimization |training )?steps = [\d,]+|\bNum Epochs = [\d,]+")


def _own_step_time(fields: list[Field]) -> bool:
    """Whether there is a step time besides that of the bar."""
    return any(f.name == "step_time_s" and f.weight >= 0 for f in fields)


def _bar_kind(bar: bars.Bar | None, *, learns: bool) -> BarKind:
    """``learns``: it shows a training loss, whatever it is called (``stage 2:  7%|▋ | 62/900``)."""
    if bar is None:
        return ""
    if not _PROSE.search(bar.label):
        return "plain"
    if bar.evaluating:
        return "evaluate"
    return "train" if bar.training or learns else "other"


def _only_counts(text: str, begin: int, fields: list[Field]) -> bool:
    """Whether the line has at most a few words besides its counters."""
    counts = [f for f in fields if f.name in ("step", "epoch", "total", "epochs")]
    if len(text) - begin > 160 or not counts:
        return False
    text = prefixes.without_times(text)
    behind = _CLOSING.sub("", _REMAINING.sub("", text[max(f.end for f in counts) :]))
    before = text[begin : min(f.start for f in counts)]
    return len(_PROSE.findall(behind)) == 0 and len(_PROSE.findall(before)) <= _HEAD_WORDS
