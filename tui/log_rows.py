"""Rows about a log: its title, and which lines are evidence of an open incident. Pure."""

from __future__ import annotations

from middlewatch.daemon.text import figures
from middlewatch.daemon.text.rows import Row, Span, first_fit, pad, row

from . import answer
from .answer import Answer
from .desk import Link

SHORTEST_MARK = 8
"""If a log line is part of a piece of evidence, or the other way round, the two count as the same
when the shorter has at least this many characters: a short word like ``Killed`` would otherwise
mark many lines."""


def log_title(run: Answer, link: Link, width: int) -> Row:
    """Path of the log, its size, when it last grew, and problems with reading it."""
    logs = answer.records(run, "logs")
    if not logs:
        return row(Span("none known" if run else "", "dim"))
    log = logs[0]
    path = answer.text(log, "path") or "?"
    state = answer.text(log, "state")
    detail = answer.text(log, "detail")
    bad = state + (f": {detail}" if detail else "") if state not in ("", "ok") else ""
    return pad(
        first_fit(width, *(
            row(name, Span(f" {figures.size(answer.finite(log, 'bytes'))}, grown "
                           f"{figures.ago(link.since(log, 'grown_at'))}", "dim"),
                Span("  stdout is buffered" if log.get("buffered") is True else "", "warn"),
                Span(f"  {bad}" if bad else "", "bad"),
                Span(f"  +{len(logs) - 1} more" if len(logs) > 1 else "", "dim"))
            for name in (path, path.rpartition("/")[2])
        )),
        width,
    )  # fmt: skip


def guilty_lines(run: Answer, tail: list[str]) -> set[str]:
    """Lines of the tail that are evidence in an unresolved incident of the run."""
    said = {
        line.strip()
        for incident in answer.records(run, "incidents")
        if answer.text(incident, "state") != "resolved"
        for evidence in answer.records(incident, "evidence")
        if answer.text(evidence, "kind") == "log"
        for line in answer.lines(evidence, "text")
        if line.strip()
    }
    return {line for line in set(tail) if any(_same(line.strip(), each) for each in said)}


def _same(line: str, evidence: str) -> bool:
    shorter, longer = sorted((line, evidence), key=len)
    return line == evidence or (len(shorter) >= SHORTEST_MARK and shorter in longer)


def log_row(text: str, guilty: bool) -> Row:
    """A line of the log; one that is evidence (``guilty``) has a ``!`` in front, for NO_COLOR."""
    return row(Span("! ", "bad"), Span(text, "bad")) if guilty else row("  ", text)
