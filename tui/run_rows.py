"""Rows about one run: its line in a list, its state in words, its checkpoints, processes, curve. Pure."""

from __future__ import annotations

from middlewatch.daemon.text import figures, plot
from middlewatch.daemon.text.rows import Row, Span, Tone, cut, cut_left, fill, first_fit, pad, row

from . import answer, order
from .answer import Answer
from .desk import Link

STATES: dict[str, Tone] = {
    "running": "good",
    "finished": "good",
    "stalled": "warn",
    "failing": "bad",
    "failed": "bad",
}
LONGEST_NAME = 24
"""Cells for the name of a run on a screen that is wide enough to show the reason of its state."""


def run_titles(width: int) -> Row:
    """The titles of the columns of :func:`run_row`."""
    return row(Span("".join(fill(name, size, right=True) for name, size in _columns(width)), "dim"))


def _columns(width: int) -> list[tuple[str, int]]:
    if width < 60:
        return [("step", 8), ("loss", 9)]
    columns = [("step", 15), ("loss", 11)]
    if width >= 72:
        columns.append(("pace", 13))
    if width >= 96:
        columns += [("tokens/s", 10), ("done", 6)]
    return [*columns, ("left", 13)]


def run_row(run: Answer, link: Link, width: int, chosen: bool) -> Row:
    """One run in one row: state, step, loss, pace, time left."""
    now = answer.record(run, "now")
    step, total = answer.number(now, "step"), answer.number(now, "total")
    values = answer.record(now, "values")
    moves = order.moving(run)
    eta = link.since(now, "eta") if moves else None
    loss = answer.number(values, "train_loss")
    broken = figures.metric(loss) in ("nan", "inf", "-inf")
    plan = f"/{figures.count(total)}" if total and width >= 60 else ""
    cells: dict[str, tuple[str, Tone]] = {
        "step": (figures.count(step) + plan, ""),
        "loss": (figures.metric(loss), "bad" if broken else ""),
        "pace": (figures.pace(answer.number(now, "step_interval_s") if moves else None), ""),
        "tokens/s": (figures.amount(answer.number(values, "tokens_per_s") if moves else None), ""),
        "done": (figures.percent(step, total), ""),
        "left": (figures.duration(None if eta is None else -eta), ""),
    }
    state = answer.text(run, "state") or "unknown"
    columns = _columns(width)
    room = width - 11 - sum(size for _, size in columns)
    why = room - LONGEST_NAME - 2 if room > 2 * LONGEST_NAME else 0
    reason = f"  {fill(answer.text(run, 'state_reason'), why - 2)}" if why else ""
    room -= why
    name = answer.text(run, "name") or answer.text(run, "run") or "?"
    return pad(
        row(
            Span("> " if chosen else "  ", "title"),
            Span(fill(name, room), "title" if chosen else ""),
            " ",
            Span(fill(state, 8), STATES.get(state, "dim")),
            Span(reason, "dim"),
            *(Span(fill(cells[key][0], size, right=True), cells[key][1]) for key, size in columns),
        ),
        width,
    )


def story(run: Answer, link: Link) -> Row:
    """State of the run in words: for how long, how it ended, and the reason."""
    state = answer.text(run, "state") or "unknown"
    parts = [Span(state, STATES.get(state, "dim"))]
    since = link.since(run, "since")
    if since is not None:
        parts.append(Span(f" for {figures.roughly(since)}"))
    status = answer.record(run, "exit")
    code, signal = answer.finite(status, "code"), answer.finite(status, "signal")
    if signal is not None:
        parts.append(Span(f", ended by signal {signal:.0f}", "bad"))
    elif code is not None:
        parts.append(Span(f", exit code {code:.0f}", "bad" if code else "good"))
    reason = answer.text(run, "state_reason")
    return (*parts, Span(f": {reason}" if reason else ""))


def saves(run: Answer, link: Link, width: int) -> Row:
    """The checkpoints of a run in one row: how many, the newest, its verdict, where to resume."""
    held = answer.record(run, "checkpoints")
    latest = answer.record(held, "latest")
    number = answer.finite(held, "count")
    if not latest:
        found = "unknown" if number is None else "none seen yet"
        return row(Span("checkpoints ", "dim"), found)
    step = answer.number(latest, "step")
    state = answer.text(latest, "state") or "unknown"
    level = answer.text(latest, "level")
    tone: Tone = "good" if state == "ok" else "bad" if state in ("corrupt", "incomplete") else "dim"
    resume = answer.text(held, "resume_from")
    begin = (
        f"{figures.count(number)}, latest {'' if step is None else f'step {figures.count(step)} '}"
    )
    size = figures.size(answer.finite(latest, "bytes"))
    age = figures.ago(link.since(latest, "saved_at"))
    verdict = Span(f"{state} ({level})" if level else state, tone)
    name = Span("checkpoints ", "dim")
    ways = (
        row(name, f"{begin}{size} {age} ", verdict, _resume(latest, resume, 48)),
        row(name, f"{begin}{size} {age} ", verdict, _resume(latest, resume, 16)),
        row(name, f"{begin}{age} ", Span(state, tone), _resume(latest, resume, 16)),
    )
    return first_fit(width, *ways)


def _resume(latest: Answer, path: str, room: int) -> Span:
    if not path:
        return Span(", none to resume from", "bad")
    newest = room < len(path) and path == answer.text(latest, "path")
    return Span(", resume from " + ("it" if newest else cut_left(path, room)))


def processes(run: Answer) -> Row:
    """The processes of a run in one row: number in each state, range of CPU use, total memory."""
    listed = answer.records(run, "processes")
    if not listed:
        return row(Span("processes ", "dim"), "none seen")
    states: dict[str, int] = {}
    for each in listed:
        state = answer.text(each, "state") or "?"
        states[state] = states.get(state, 0) + 1
    busy = [c for each in listed if (c := answer.finite(each, "cpu_ratio")) is not None]
    memory = [m for each in listed if (m := answer.finite(each, "rss_bytes")) is not None]
    cpu = f", cpu {figures.spread([round(100 * c, -1) for c in busy], '%')} each" if busy else ""
    resident = f", {figures.size(sum(memory))} resident" if memory else ""
    stuck: Tone = "warn" if states.keys() & {"D", "T", "Z", "X", "t"} else ""
    return row(
        Span("processes ", "dim"),
        f"{len(listed)}: ",
        Span(" ".join(f"{number} {state}" for state, number in sorted(states.items())), stuck),
        cpu + resident,
    )


def points_of(run: Answer) -> list[plot.Point]:
    """The (step, loss) points of the curve of a run; a value may be NaN or infinite."""
    return pairs_of(answer.record(run, "curve"), "points")


def pairs_of(record: Answer, key: str) -> list[plot.Point]:
    """The pairs of numbers in the list under ``key``."""
    points = record.get(key)
    pairs = points if isinstance(points, list) else []
    return [
        (x, y)
        for pair in pairs
        if isinstance(pair, list) and len(pair) == 2
        and (x := answer.as_number(pair[0])) is not None
        and (y := answer.as_number(pair[1])) is not None
    ]  # fmt: skip


def curve(run: Answer, width: int, height: int) -> list[Row]:
    """The loss curve under a legend row, ``height`` rows in all."""
    drawn = answer.record(run, "curve")
    name = answer.text(drawn, "metric") or "loss"
    known = points_of(run)
    if not known:
        return [row(Span(f"{name}: no values yet", "dim")), *[()] * (height - 1)]
    picture = plot.draw(tuple(known), width, height - 1)
    broken = (Span(f" {picture.broken} {plot.BROKEN} not finite", "bad"),) if picture.broken else ()
    if picture.low is None or picture.high is None:
        return [row(cut(name, width), *broken), *picture.rows]
    span = f"{picture.high:.4g}..{picture.low:.4g}{' log' if picture.logarithmic else ''}"
    start = Span(f" from step {figures.count(known[0][0])}", "dim")
    short = cut(name, max(4, width - len(span) - 1))
    brief = (Span(f" {picture.broken}{plot.BROKEN}", "bad"),) if picture.broken else ()
    legend = first_fit(
        width,
        row(f"{name} {span}", *broken, start),
        row(f"{name} {span}", *broken),
        row(f"{name} {span}", *brief),
        row(span, *brief) if broken else row(f"{short} {span}"),
    )
    return [legend, *picture.rows]
