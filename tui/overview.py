"""The overview screen, in exactly ``width`` by ``height`` cells. Pure."""

from __future__ import annotations

from typing import NamedTuple

from middlewatch.daemon.text import figures
from middlewatch.daemon.text.rows import (
    BLANK,
    Row,
    Span,
    beside,
    cut,
    ends,
    first_fit,
    heading,
    pad,
    row,
    width_of,
    window,
)

from . import answer, box, panels
from .answer import Answer
from .state import Link, ScreenState, chosen_incident, chosen_run, incidents, index_of, runs

LEAST_WIDTH, LEAST_HEIGHT = 60, 16
"""Smallest terminal, in cells. In a smaller one there would not be a row for each section, or the
state of a run would be cut."""

SHORTEST_MARK = 8
"""If a log line is part of a piece of evidence, or the other way round, the two count as the same
when the shorter has at least this many characters: a short word like ``Killed`` would otherwise
mark many lines."""


class Layout(NamedTuple):
    """Number of rows of each section, without its heading."""

    runs: int
    middle: int
    incidents: int
    blind: int
    log: int


def plan_layout(height: int, runs: int, middle: int, incidents: int, blind: int) -> Layout:
    """Divide ``height`` rows among the sections. The other arguments are the rows that each would
    need; the log gets the rest.

    Seven rows are always taken: header, footer, four headings and the checkpoint row.
    """
    room = height - 7
    of_runs = min(max(1, runs), max(1, room // 5))
    of_incidents = min(incidents, max(1, room // 5))
    of_blind = min(blind, max(1, room // 8))
    left = room - of_runs - of_incidents - of_blind
    tall = max(middle, room // 3)
    of_middle = max(2, min(tall, max(4, room * 2 // 3), left - max(2, room // 4)))
    return Layout(of_runs, of_middle, of_incidents, of_blind, left - of_middle)


def draw(link: Link, look: ScreenState, width: int, height: int) -> list[Row]:
    """The overview, ``height`` rows of ``width`` cells."""
    found = link.answer
    if found is None:
        body = _waiting(link, width)
        room = height - 2
        body = [*body, *[BLANK] * room][:room]
        return [pad(line, width) for line in (header(link, width), *body, footer(width))]
    run, listed = chosen_run(found, look), incidents(found)
    machine = answer.record(found, "box")
    wanted = sum(max(1, len(answer.records(machine, kind))) for kind in ("gpus", "disks")) + 1
    blind = panels.blind(found, run, link)
    share = plan_layout(height, len(runs(found)) or 2, wanted, len(listed), len(blind))
    lines = [header(link, width)]
    lines += _runs(link, look, width, share.runs)
    lines += _middle(run, machine, link, width, share.middle)
    lines += _incidents(link, look, width, share.incidents)
    lines += _first_of(blind, width, share.blind)
    lines += _log(run, link, look, width, share.log)
    lines.append(footer(width))
    return [pad(line, width) for line in lines]


def header(link: Link, width: int) -> Row:
    """The first row: name of the box, whether its daemon answers, and the time there."""
    found = link.answer or {}
    up = answer.finite(answer.record(found, "daemon"), "uptime_s")
    name = Span(answer.text(found, "host") or "middlewatch", "title")
    version = answer.text(found, "version")
    at = answer.moment(found, "updated_at")
    clock = row(Span(f"{at:%H:%M}" if at else "no time", "dim"))
    started = f"  daemon up {figures.roughly(up)}" if found else ""
    full = row(" ", name, started, Span(f"  middlewatch {version}" if version else "", "dim"))
    if not link.silent:
        return ends(full, clock, width)
    age = figures.duration(link.age_s)
    late = f" no answer for {age}" if link.answer is not None else f" no answer yet ({age})"
    why = f": {cut(link.reason, width // 3)}" if link.reason else ""
    last = row(" last ", *clock) if found else BLANK
    return ends(row(" ", name), row(Span(f"{late}{why} ", "alert"), *last), width)


def footer(width: int) -> Row:
    """The last row: the keys."""
    keys = (
        *(("q", "quit"), ("?", "help"), ("Tab/1-3", "focus"), ("j/k", "select")),
        *(("Enter", "open"), ("i", "incidents"), ("l", "log")),
    )
    spans: list[Span] = []
    for key, does in keys:
        spans += [Span(f" {key}", "title"), Span(f" {does} ", "dim")]
    return pad(tuple(spans), width)


def _waiting(link: Link, width: int) -> list[Row]:
    if not link.silent:
        return [BLANK, row("  asking the daemon …")]
    reason = panels.paragraph(link.reason, width)
    return [BLANK, *reason, BLANK, *panels.paragraph(link.hint, width), BLANK,
            row(Span("  Trying again every second. The runs do not need this screen.", "dim"))]  # fmt: skip


def _runs(link: Link, look: ScreenState, width: int, height: int) -> list[Row]:
    listed = runs(link.answer or {})
    if not listed:
        hints = [row("  No run is watched. Find the runs of this box: ", Span("middlewatch watch", "title")),
                 row("  Start one that continues after logout: ", Span("middlewatch run -- CMD", "title"))]  # fmt: skip
        if height < 2:
            hints = [row("  No run yet: ", Span("middlewatch watch", "title"), " or ",
                         Span("middlewatch run -- CMD", "title"))]  # fmt: skip
        return [heading("Runs", row("none"), width, look.focus == "runs"), *hints]
    chosen = index_of(listed, "run", look.run)
    first = window(len(listed), chosen, height)
    shown = listed[first : first + height]
    many = (
        f"{first + 1}-{first + len(shown)} of {len(listed)}"
        if len(listed) > height
        else str(len(listed))
    )
    titles = panels.run_titles(width)
    start = width - width_of(titles)
    title = heading("Runs", row(many), start, look.focus == "runs")
    rows = [panels.run_row(run, link, width, first + n == chosen) for n, run in enumerate(shown)]
    return [(*title, *titles), *rows]


def _middle(run: Answer, machine: Answer, link: Link, width: int, height: int) -> list[Row]:
    """The box on the left, the curve on the right, the checkpoints below.

    Only the changed part of a row is sent to the terminal. So the curve, which has three bytes per
    cell but changes rarely, is not sent again with every new reading of the box.
    """
    left = min(66, max(38, width * 54 // 100))
    name = answer.text(run, "name") or answer.text(run, "run") or "Box"
    title = panels.story(run, link) if run else BLANK
    rows = beside(
        box.rows_of(machine, left, height),
        panels.curve(run, width - left - 1, height) if run else [],
        left,
        width - left - 1,
    )
    rows = [*rows, *[BLANK] * height][:height]
    saved = panels.saves(run, link, width - 2) if run else BLANK
    full = (*saved, Span("   "), *panels.processes(run)) if run else BLANK
    return [
        heading(cut(name, 24), title, width),
        *rows,
        (Span("  "), *first_fit(width - 2, full, saved)),
    ]


def _incidents(link: Link, look: ScreenState, width: int, height: int) -> list[Row]:
    found = link.answer or {}
    listed = incidents(found)
    focused = look.focus == "incidents"
    if not listed:
        return [heading("Incidents", row(Span("none open", "good")), width, focused)]
    critical = sum(answer.text(i, "severity") == "critical" for i in listed)
    worst = (Span(f", {critical} critical", "bad"),) if critical else ()
    rows = incident_rows(link, look, width, height)
    return [heading("Incidents", row(f"{len(listed)} open", *worst), width, focused), *rows]


def incident_rows(link: Link, look: ScreenState, width: int, height: int) -> list[Row]:
    """``height`` rows of the incident list around the chosen one."""
    found = link.answer or {}
    listed = incidents(found)
    several = len(runs(found)) > 1
    chosen = index_of(listed, "id", answer.text(chosen_incident(found, look), "id"))
    first = window(len(listed), chosen, height)
    return [
        panels.incident_row(
            each, link, width, first + n == chosen, answer.text(each, "run") if several else ""
        )
        for n, each in enumerate(listed[first : first + height])
    ]


def _first_of(rows: list[Row], width: int, height: int) -> list[Row]:
    """The first ``height`` rows; if there are more, the last one shows how many."""
    shown = [pad(line, width) for line in rows[:height]]
    rest = len(rows) - len(shown)
    if rest and shown:
        more = f" +{rest} more"
        shown[-1] = pad(rows[height - 1], width - len(more)) + row(Span(more, "warn"))
    return shown


def _log(run: Answer, link: Link, look: ScreenState, width: int, height: int) -> list[Row]:
    tail = answer.texts(run, "log_tail")
    end = max(0, len(tail) - min(look.scroll, max(0, len(tail) - height)))
    shown = tail[max(0, end - height) : end]
    guilty = guilty_lines(run, tail)
    rows = [log_row(text, text in guilty) for text in shown]
    hidden = sum(text in guilty for text in tail) - sum(text in guilty for text in shown)
    more = Span(f"  {hidden} marked out of sight: l shows all" if hidden else "", "bad")
    title = heading("Log", (*log_title(run, link, width - 6 - len(more.text)), more), width,
                    look.focus == "log")  # fmt: skip
    return [title, *rows, *[BLANK] * (height - len(rows))]


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
