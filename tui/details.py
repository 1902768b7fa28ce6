"""The screens besides the overview: one incident, all incidents, the log, the keys. Pure."""

from __future__ import annotations

from middlewatch.daemon.text import figures
from middlewatch.daemon.text.rows import BLANK, Row, Span, heading, pad, row, wrap

from . import answer, overview
from .answer import Answer
from .overview import footer, guilty_lines, header, incident_rows, log_title
from .panels import SEVERITY, paragraph
from .state import Link, ScreenState, chosen_incident, chosen_run, incidents

KEYS = (
    ("q, Ctrl+C", "quit; the runs and the daemon continue"),
    ("Esc", "back to the previous screen"),
    ("Tab, 1 2 3", "arrow keys move in runs, incidents, log"),
    ("up down, k j", "select, or scroll"),
    ("PgUp PgDn", "move by ten"),
    ("g G, Home End", "first and last"),
    ("Enter", "open the selected incident; in the log, the whole tail"),
    ("i", "all open incidents"),
    ("l", "the log of the selected run, wrapped"),
    ("Ctrl+L", "draw everything again"),
)
MARKS = (
    ("!", "a log line that is evidence in an open incident"),
    ("×", "a value that was not finite"),
    ("–", "not known (never zero)"),
    ("blind", "a source that cannot read anything now"),
    ("not here", "something this box does not have"),
)


def draw(link: Link, look: ScreenState, width: int, height: int) -> list[Row]:
    """The present screen: exactly ``height`` rows of ``width`` cells."""
    if width < overview.LEAST_WIDTH or height < overview.LEAST_HEIGHT:
        return _too_small(width, height)
    if look.view == "overview":
        return overview.draw(link, look, width, height)
    title, body = _body(link, look, width, height - 3)
    lines = [header(link, width), title, *body[: height - 3]]
    lines += [BLANK] * (height - 1 - len(lines))
    return [pad(line, width) for line in (*lines, footer(width))]


def _body(link: Link, look: ScreenState, width: int, height: int) -> tuple[Row, list[Row]]:
    found = link.answer or {}
    if look.view == "incidents":
        count = len(incidents(found))
        rows = incident_rows(link, look, width, height)
        none = [BLANK, row("  none open")]
        return heading(
            "Incidents", row(f"{count} open, Enter opens, Esc back"), width, True
        ), rows or none
    if look.view == "log":
        return _log(chosen_run(found, look), link, look, width, height)
    if look.view == "incident":
        incident = chosen_incident(found, look)
        trouble = answer.text(incident, "class") or look.incident
        body = incident_page(incident, link, width)
        title = heading(f"Incident {trouble}", row("Esc back"), width, True)
    else:
        title, body = heading("Keys", row("Esc back"), width, True), _help()
    look.scroll = min(look.scroll, max(0, len(body) - height))
    return title, body[look.scroll :]


def incident_page(incident: Answer, link: Link, width: int) -> list[Row]:
    """All that is known about one incident, wrapped to ``width`` cells."""
    if not incident:
        return [BLANK, row("  This incident is no longer open."), row("  Esc goes back.")]
    severity = answer.text(incident, "severity") or "unknown"
    opened, seen = link.since(incident, "opened_at"), link.since(incident, "last_seen_at")
    times = answer.finite(incident, "count")
    alerted = link.since(incident, "alerted_at")
    told = "not pushed yet" if alerted is None else f"alerted {figures.ago(alerted)}"
    rows = [
        row("  ", Span(severity.upper(), SEVERITY.get(severity, "")),
            f"  {answer.text(incident, 'state') or 'open'}  on run {answer.text(incident, 'run') or '?'}",
            Span(f"  id {answer.text(incident, 'id') or '?'}", "dim")),
        BLANK,
        *paragraph(answer.text(incident, "summary"), width, "title"),
        row(Span(f"  opened {figures.ago(opened)}, last seen {figures.ago(seen)}"
                 f"{f', {times:.0f} times' if times and times > 1 else ''}; {told}", "dim")),
        BLANK,
    ]  # fmt: skip
    cause = answer.text(incident, "cause")
    if cause and cause != answer.text(incident, "class"):
        rows += [row(Span(" Cause", "title")), *paragraph(cause, width), BLANK]
    remedy = answer.record(incident, "remedy")
    step = answer.text(remedy, "first_step")
    if step:
        safe = remedy.get("safe") is True
        word = Span("safe", "good") if safe else Span("costly: read the handbook first", "warn")
        rows += [row(Span(" First step", "title"), " (", word, ")"), *paragraph(step, width), BLANK]
    rows.append(row(Span(" Evidence", "title")))
    rows += _evidence(incident, width) or [row(Span("  none kept", "dim"))]
    trouble = answer.text(incident, "class") or "CLASS"
    ends = f"middlewatch explain {trouble}; middlewatch ack {answer.text(incident, 'id') or 'ID'}"
    return [*rows, BLANK, row(Span(f"  {ends}", "dim"))]


def _evidence(incident: Answer, width: int) -> list[Row]:
    rows: list[Row] = []
    for each in answer.records(incident, "evidence"):
        at = answer.moment(each, "at")
        kind = f"  {answer.text(each, 'kind') or '?':<10} {f'{at:%H:%M:%S}' if at else '':<8} "
        guilty = answer.text(each, "kind") == "log"
        for line in answer.lines(each, "text") or [""]:
            for piece in wrap(line, width - len(kind) - 1):
                rows.append(row(Span(kind, "dim"), Span(piece, "bad" if guilty else "")))
                kind = " " * len(kind)
    return rows


def _log(
    run: Answer, link: Link, look: ScreenState, width: int, height: int
) -> tuple[Row, list[Row]]:
    tail = answer.texts(run, "log_tail")
    guilty = guilty_lines(run, tail)
    rows: list[Row] = []
    for line in tail:
        tone: Span = Span("! ", "bad") if line in guilty else Span("  ")
        for piece in wrap(line, width - 3):
            rows.append(row(tone, Span(piece, "bad" if line in guilty else "")))
            tone = Span("  ")
    look.scroll = min(look.scroll, max(0, len(rows) - height))
    end = len(rows) - look.scroll
    behind = Span(f"  {look.scroll} rows below", "warn") if look.scroll else Span("")
    title = (*log_title(run, link, width - 8 - len(behind.text)), behind)
    body = rows[max(0, end - height) : end]
    return heading("Log", title, width, True), body or [BLANK, row("  no lines yet")]


def _help() -> list[Row]:
    keys = [row(Span(f"  {key:<15}", "title"), does) for key, does in KEYS]
    marks = [row(Span(f"  {mark:<15}", "title"), means) for mark, means in MARKS]
    return [*keys, BLANK, row(Span(" Marks", "title")), *marks]


def _too_small(width: int, height: int) -> list[Row]:
    said = wrap(
        f"make the window larger: it is {width}x{height}, and {overview.LEAST_WIDTH}x{overview.LEAST_HEIGHT} "
        "is the least. q quits; the runs continue.",
        max(2, width - 2),
    )
    lines: list[Row] = [row(" ", line) for line in said]
    return [pad(line, width) for line in [*lines, *[BLANK] * height][: max(0, height)]]
