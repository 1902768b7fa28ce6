"""The report of ``replay`` for a person: what the log is, how it ended, why, what to do first."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence

from middlewatch.sentinels.handbook import page
from middlewatch.sentinels.kit.numbers import number, size, span

from ..config.secrets import mask
from ..replay.log_stream import size_of
from ..replay.one_log import FileLine
from ..replay.picture import picture
from ..replay.story import Story
from ..replay.subject import Subject, grouped
from ..replay.timeline import entries
from ..text.rows import Row, Span, Tone, cut, cut_left, fill, row, wrap
from . import console
from .console import columns, print_rows
from .replay_advice import advice, wrote_last

LABEL = 10
"""Columns for the labels (``cause``, ``do first``) at the left edge."""
_VERDICTS: dict[str, tuple[str, Tone]] = {
    "failed": ("✗ FAILED", "bad"),
    "cut": ("? CUT", "warn"),
    "finished": ("✓ FINISHED", "good"),
}


def print_report(subject: Subject) -> None:
    """Print the report of one log, or of one run with several logs."""
    width = columns()
    print_rows(_report(subject, width))


def _report(subject: Subject, width: int) -> Iterator[Row]:
    """The rows of all sections, with an empty row after each section."""
    told = entries(subject.story, subject.troubles, subject.case.view, subject.root)
    head = [*_headline(subject, width), *_verdict(subject, width)]
    for section in (
        head,
        _why(subject, width),
        list(_timeline(subject, told, width)),
        picture(subject, width),
        _files(subject, width),
    ):
        if section:
            yield from section
            yield row()


# ------------------------------------------------------------------------ the head


def _headline(subject: Subject, width: int) -> Iterator[Row]:
    logs, story = subject.logs, subject.story
    lines, length = sum(log.lines for log in logs), sum(log.bytes for log in logs)
    facts = [f"{grouped(lines)} lines", size(length)]
    packed = {log.packing for log in logs if log.packing}
    if packed:
        disk = sum(size_of(log.file) for log in logs)
        facts[-1] += f" ({'+'.join(sorted(packed))}{f' {size(disk)}' if disk else ''})"
    if len(logs) > 1:
        facts.insert(0, f"{len(logs)} files")
    if subject.encoding != "utf-8":
        facts.append(subject.encoding)
    if subject.quick:
        facts.append("troubles only")
    if subject.framework:
        facts.append(subject.framework)
    words = " · ".join(facts)
    yield row(Span(cut_left(console.clean(subject.name), max(16, width - len(words) - 2)), "title"),
              Span("  " + cut(words, width - 18), "dim"))  # fmt: skip
    course = _course(story)
    if course:
        yield row(Span(cut(course, width), "dim"))


def _course(story: Story) -> str:
    """Steps, epoch, and the time span by the time stamps of the log."""
    parts = []
    if story.first is not None and story.last is not None:
        total = story.total or 0
        of = f" of {grouped(total)}" if total else ""
        last = story.last.step or 0
        part = f" ({last / total:.0%})" if 0 < last <= total else ""
        if story.wrapped:
            parts.append(f"{grouped(story.reports + story.left_out)} reports")
        else:
            parts.append(f"steps {grouped(story.first.step or 0)} → {grouped(last)}{of}{part}")
    if story.epoch is not None:
        parts.append(f"epoch {number(story.epoch)}")
    if story.span is not None:
        begun, ended, length = story.span
        parts.append(f"{begun} → {ended}")
        if length:
            parts[-1] += f", {span(length.total_seconds())}"
    return " · ".join(parts)


def _verdict(subject: Subject, width: int) -> Iterator[Row]:
    word, tone = _VERDICTS[subject.ending.verdict]
    text = _sentence(subject)
    begin = True
    for line in wrap(text, width - len(word) - 2):
        shown = fill(word if begin else "", len(word))
        yield row(Span(f"{shown}  ", tone), Span(line, "title"))
        begin = False
    for log in subject.logs:
        if log.damage:
            where = f"{log.file}: " if len(subject.logs) > 1 else ""
            for line in wrap(console.clean(f"{where}{log.damage}"), width - 2):
                yield row(Span(f"! {line}", "warn"))
    if subject.interrupted:
        yield row(Span("! interrupted: this is what was read so far", "warn"))


def _sentence(subject: Subject) -> str:
    last = subject.story.last
    after = "" if last is None or subject.story.wrapped else f" at step {grouped(last.step or 0)}"
    root = subject.root
    if root is not None:
        on = subject.ending.ran_on
        went_on = f"; the program went on to its end, line {grouped(on)}" if on else ""
        return console.clean(mask(root[0].newest.summary)) + went_on
    if subject.ending.verdict == "finished":
        place = subject.finished_at
        reached = f", line {grouped(place.line)}" if place else ""
        at, words = subject.ran_out
        data = f"; before that, line {grouped(at)}: {console.clean(mask(words))}" if words else ""
        return f"the run reached its end{after}{reached}{data}"
    if begun := subject.ending.newest_start:
        return f"the newest start in this log, line {grouped(begun)}, has no fatal error and no line that says done"
    if last is None and not subject.story.reports:
        if subject.alike[0]:
            times, line = subject.alike
            return f"the log has no training report; its last {times} lines say the same: {console.clean(mask(line))}"
        return "the log has no training report, no fatal error and no line that says done"
    times, line = subject.alike
    if times:
        return f"the log just stops{after}; its last {times} lines say the same: {console.clean(mask(line))}"
    return f"the log just stops{after}; nothing in it says why"


# ------------------------------------------------------------------------ the cause


def _why(subject: Subject, width: int) -> list[Row]:
    """Rows for the cause, its evidence, the first remedy, and the checkpoint to resume from."""
    rows: list[Row] = []
    root = subject.root
    if root is not None:
        told, place = root
        where = f"line {grouped(place.line)}"
        if len(subject.logs) > 1:
            where = f"{console.clean(place.file)}, {where}"
        rows += _labelled("cause", f"{subject.ending.cause}, {where}", width)
        told_of = advice(subject, told, place)
        rows += _quoted(console.clean(told_of.proof), width)
        steps = (("do first", told_of.first), ("then", told_of.then))
        for label, words in (*told_of.reasons, *steps):
            if words:
                rows += _labelled(label, console.clean(words), width)
        rows.append(_hint(f"more: middlewatch explain {subject.ending.cause}"))
    elif subject.ending.verdict == "cut" and subject.story.reports and not subject.interrupted:
        entry = page("silent_end")
        if entry is not None:
            rows += _labelled("do first", entry.first_step.text, width)
            rows.append(_hint(f"more: middlewatch explain {entry.name}"))
    if subject.ending.verdict != "finished":
        rows += _resume(subject, width)
    return rows


def _resume(subject: Subject, width: int) -> list[Row]:
    """Rows for the newest save before the trouble, as the log claims it."""
    root, saves = subject.root, subject.story.saves
    limit = math.inf if root is None else root[0].first.line
    failed = None if root is None else wrote_last(subject, root[0])
    before = [s for s in saves if s.at.order < limit and s.at.order != failed]
    if before and subject.ending.cause in ("ckpt_corrupt", "ckpt_mismatch"):
        # The newest one is what could not be read: it, and what else was saved with it.
        before = [s for s in before if s.at.step != before[-1].at.step]
    good = before[-1] if before else None
    if good is None:
        if not saves:
            return []
        return _labelled("resume", "every known checkpoint was saved after the trouble", width)
    step = "" if good.at.step is None else f"step {grouped(good.at.step)}, "
    when = " before the trouble" if root is not None else ""
    where = f"line {grouped(good.at.line)}"
    if len(subject.logs) > 1:
        where = f"{console.clean(good.at.file)}, {where}"
    claim = f"{step}saved{when} ({where}), as the log claims"
    if good.path is None:
        return _labelled("resume", claim, width)
    path = console.clean(mask(good.path))
    return [
        *_labelled("resume", f"{path}: {claim}", width),
        _hint(f"check it: middlewatch verify {shlex.quote(path)}"),  # not cut: to be copied
    ]


def _labelled(label: str, text: str, width: int) -> list[Row]:
    lines = wrap(" ".join(text.split()), width - LABEL)
    return [
        row(Span(fill(label if not i else "", LABEL), "dim"), line) for i, line in enumerate(lines)
    ]


def _quoted(text: str, width: int) -> list[Row]:
    lines = wrap(text.strip(), width - LABEL - 2)
    if len(lines) > 3:
        lines = [*lines[:2], cut(lines[2] + "…", width - LABEL - 2)]
    return [row(" " * LABEL, Span("│ ", "dim"), line) for line in lines]


def _hint(text: str) -> Row:
    return row(" " * LABEL, Span(text, "dim"))


# ------------------------------------------------------------------------ what happened


def _timeline(
    subject: Subject, told: Sequence[tuple[FileLine | None, str, Tone, str]], width: int
) -> Iterator[Row]:
    ranks = {log.file: log.rank for log in subject.logs}
    several = len(subject.logs) > 1
    shown = []
    for place, sign, tone, text in told:
        where = "" if place is None else grouped(place.line)
        if several and place is not None:
            rank = ranks.get(place.file)
            short = cut_left(console.clean(place.file), 18) if rank is None else f"rank {rank}"
            where = f"{short}:{where}"
        shown.append((where, sign, tone, text))
    room = max([6, *(len(where) for where, _, _, _ in shown)])
    if shown:
        yield row(Span(f"{'line':>{room}}", "dim"))
    for where, sign, tone, text in shown:
        lines = wrap(console.clean(mask(text)), width - room - 4)
        for i, line in enumerate(lines[:2]):
            if i == 1 and len(lines) > 2:
                line = cut(line + "…", width - room - 4)
            left = Span(f"{where if not i else '':>{room}} ", "dim")
            yield row(
                left,
                Span(f"{sign if not i else ' '} ", tone),
                Span(line, tone if tone == "dim" else ""),
            )


# ------------------------------------------------------------------------ many files


def _files(subject: Subject, width: int) -> list[Row]:
    found = []
    for end in subject.ends:
        rank = "" if end["rank"] is None else str(end["rank"])
        found.append(
            (
                str(end["file"]),
                rank,
                str(end["verdict"]),
                str(end["cause"] or ""),
                end["last_step"],
                int(end["lines"]),
            )
        )
    ranked = any(rank for _, rank, *_ in found)
    return _table(found, width, ranked=ranked) if found else []


def table(summaries: Sequence[Subject]) -> None:
    """Print one line for each log, after the reports of several logs."""
    rows = [
        (
            s.name,
            "",
            s.ending.verdict,
            s.ending.cause or "",
            s.case.completion.last_step,
            s.logs[0].lines,
        )
        for s in summaries
    ]
    if rows:
        print_rows(_table(rows, columns(), ranked=False))


def _table(
    rows: Sequence[tuple[str, str, str, str, float | None, int]], width: int, *, ranked: bool
) -> list[Row]:
    cells = [
        (
            rank,
            verdict,
            console.clean(cause) or "-",
            "-" if step is None else grouped(step),
            grouped(lines),
        )
        for _, rank, verdict, cause, step, lines in rows
    ]
    head = ("RANK", "VERDICT", "CAUSE", "STEP", "LINES")
    wide = [max(len(h), *(len(c[i]) for c in cells)) for i, h in enumerate(head)]
    if not ranked:
        wide[0] = 0
    room = max(12, width - sum(w + 2 for w in wide if w))
    names = [cut_left(console.clean(name), room) for name, *_ in rows]
    room = min(room, max(4, *(console.width(name) for name in names)))
    lines: list[Row] = []
    for name, each in zip(("FILE", *names), (head, *cells), strict=True):
        spans = [Span(fill(name, room))]
        for i, (text, w) in enumerate(zip(each, wide, strict=True)):
            if w:
                tone = _VERDICTS[text][1] if text in _VERDICTS else ""
                spans += [Span("  "), Span(fill(text, w, right=i in (0, 3, 4)), tone)]
        lines.append(tuple(spans))
    return [tuple(Span(s.text, "dim") for s in lines[0]), *lines[1:]]
