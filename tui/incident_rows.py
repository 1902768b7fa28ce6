"""Rows about incidents: one in a list, several folded into one, and all that is known of one. Pure."""

from __future__ import annotations

from middlewatch.daemon.text import figures
from middlewatch.daemon.text.rows import BLANK, Row, Span, Tone, cut, fill, pad, row, wrap
from middlewatch.sentinels.handbook import page

from . import answer, order
from .answer import Answer
from .desk import Link
from .order import Folded

SEVERITY: dict[str, Tone] = {"critical": "bad", "warning": "warn"}


def incident_row(one: Folded, link: Link, width: int, chosen: bool, several: bool) -> Row:
    """One incident in one row: severity, class, how many, what happened, since when. ``several``:
    the box has several runs, so that it is told which one it is about."""
    incident = one.first
    severity = answer.text(incident, "severity") or "unknown"
    taken = " (ack)" if answer.text(incident, "state") == "acknowledged" else ""
    age = f" {figures.roughly(link.since(incident, 'opened_at'))}"
    short = width < 60
    label = severity.upper() if severity == "critical" else severity
    label = fill(label[:4] if short else label, 4 if short else 8)
    trouble = answer.text(incident, "class")
    many = f"{len(one.all)}× " if len(one.all) > 1 else ""
    names = order.runs_of(one)
    whose = ""
    if several and names:
        whose = f"{cut(names[0], 12)}: " if len(names) == 1 else f"{len(names)} runs: "
    start = row(
        Span("> " if chosen else "  ", "title"),
        Span(label, SEVERITY.get(severity, "dim")),
        Span(f" {fill(trouble, 16) if width >= 76 else cut(trouble, 14)} "),
        Span(many, "bad"),
        Span("" if short else whose, "dim"),
        Span(answer.text(incident, "summary") + taken, "title" if chosen else ""),
    )
    return pad(start, width - len(age)) + row(Span(age, "dim"))


def paragraph(text: str, width: int, tone: Tone = "", indent: str = "  ") -> list[Row]:
    """Indented text, wrapped; no rows for an empty text."""
    lines = wrap(text, width - len(indent) - 2) if text else []
    return [row(indent, Span(line, tone)) for line in lines]


def everything(incident: Answer, link: Link, width: int) -> list[Row]:
    """All that is known about one incident: what happened, evidence, times, first step, the page
    of the handbook; wrapped to ``width`` cells."""
    if not incident:
        return [BLANK, row("  This incident is no longer open."), row("  Esc goes back.")]
    severity = answer.text(incident, "severity") or "unknown"
    rows = [
        row("  ", Span(severity.upper(), SEVERITY.get(severity, "")),
            f"  {answer.text(incident, 'state') or 'open'}  on run {answer.text(incident, 'run') or '?'}",
            Span(f"  id {answer.text(incident, 'id') or '?'}", "dim")),
        BLANK,
        *paragraph(answer.text(incident, "summary"), width, "title"),
        *_cost(incident, width),
        BLANK,
    ]  # fmt: skip
    cause = answer.text(incident, "cause")
    if cause and cause != answer.text(incident, "class"):
        rows += [row(Span(" Cause", "title")), *paragraph(cause, width), BLANK]
    remedy = answer.record(incident, "remedy")
    step = answer.text(remedy, "first_step")
    if step:
        word = (
            Span("safe", "good")
            if remedy.get("safe") is True
            else Span("costly: read the handbook first", "warn")
        )
        rows += [row(Span(" First step", "title"), " (", word, ")"), *paragraph(step, width), BLANK]
    rows += [row(Span(" Evidence", "title")), *(_evidence(incident, width) or [row(Span("  none kept", "dim"))])]  # fmt: skip
    symptoms = answer.texts(incident, "symptoms")
    if symptoms:
        rows += [BLANK, row(Span(" Explained by it", "title"))]
        rows += [line for text in symptoms for line in paragraph(text, width)]
    rows += [BLANK, row(Span(" Times", "title")), *_times(incident, link, width)]
    trouble = answer.text(incident, "class")
    ends = f"middlewatch explain {trouble or 'CLASS'}; middlewatch ack {answer.text(incident, 'id') or 'ID'}"
    return [*rows, *_handbook(trouble, width), BLANK, row(Span(f"  {ends}", "dim"))]


def _cost(incident: Answer, width: int) -> list[Row]:
    return paragraph(answer.text(answer.record(incident, "cost"), "text"), width, "warn")


def _times(incident: Answer, link: Link, width: int) -> list[Row]:
    times = answer.finite(incident, "count")
    rows = []
    for key, says in (
        ("since", "began"),
        ("opened_at", "opened"),
        ("alerted_at", "alerted"),
        ("last_seen_at", "last seen"),
    ):
        at = answer.moment(incident, key)
        if at is not None:
            age = figures.ago(link.since(incident, key))
            rows.append(row(f"  {says:<10}", f" {at:%Y-%m-%d %H:%M:%S}  ", Span(age, "dim")))
        elif key == "alerted_at":
            rows.append(row("  alerted    ", Span("not pushed yet", "warn")))
    if times and times > 1:
        rows.append(row(f"  reported   {times:.0f} times"))
    return [pad(line, width) for line in rows]


def _evidence(incident: Answer, width: int) -> list[Row]:
    rows: list[Row] = []
    for each in answer.records(incident, "evidence"):
        at = answer.moment(each, "at")
        kind = f"  {answer.text(each, 'kind') or '?':<10} {f'{at:%H:%M:%S}' if at else '':<8} "
        if width < 60:
            kind = f"  {answer.text(each, 'kind') or '?':<7} "
        guilty = answer.text(each, "kind") == "log"
        for line in answer.lines(each, "text") or [""]:
            for piece in wrap(line, width - len(kind) - 1):
                rows.append(row(Span(kind, "dim"), Span(piece, "bad" if guilty else "")))
                kind = " " * len(kind)
    return rows


def _handbook(trouble: str, width: int) -> list[Row]:
    """The page of the class: symptom, commands that only look, cause, every step of the remedy."""
    about = page(trouble)
    if about is None:
        return []
    rows = [BLANK, row(Span(f" Handbook: {trouble}", "title")), *paragraph(about.title, width)]
    for label in ("Symptom", "Confirm", "Cause", "Remedy", "Not", "Retry"):
        rows += [BLANK, row(Span(f" {label}", "title"))]
        if label == "Remedy":
            for number, step in enumerate(about.steps, 1):
                begin = f"  {number}. "
                word = Span("[safe]   ", "good") if step.safe else Span("[costly] ", "warn")
                for line in wrap(step.text, width - len(begin) - 11):
                    rows.append(row(begin, word, line))
                    begin, word = " " * len(begin), Span(" " * 9)
        elif label == "Confirm":
            for check in about.checks:
                if check.command:
                    rows.append(row(Span("  $ ", "dim"), check.command))
                rows += paragraph(check.expect, width, "dim", "    ")
        else:
            rows += paragraph(about.sections.get(label, ""), width)
    return rows
