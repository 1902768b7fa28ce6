"""The first rows of the screen: the worst thing in words, what would be lost, what to do. Pure."""

from __future__ import annotations

from middlewatch.daemon.text import figures
from middlewatch.daemon.text.rows import Row, Span, cut, pad, row, wrap

from . import answer, order
from .answer import Answer
from .desk import Link
from .incident_rows import SEVERITY


def verdict(link: Link, run: Answer, width: int, height: int) -> list[Row]:
    """At most ``height`` rows (three at least) about the box and its selected run."""
    found = link.answer or {}
    listed = order.folded(order.incidents(found))
    lines = [*_worst(found, listed, link, width, max(1, height - 2))]
    lines.append(lost(run, link, width))
    if listed or not run:
        lines.append(_step(run, listed, width))
    return [pad(line, width) for line in lines[:height]]


def _worst(
    found: Answer, listed: list[order.Folded], link: Link, width: int, height: int
) -> list[Row]:
    runs = order.runs(found)
    if not listed:
        if not runs:
            return [row(Span(" Nothing is watched here yet.", "title"))]
        alive = [run for run in runs if run.get("ended_at") is None]
        words = f"{len(alive)} of {len(runs)} runs live" if alive else f"{len(runs)} runs, all over"
        return [row(" ", Span("All is well", "good"), f": {words}, no open incident")]
    first = listed[0].first
    severity = answer.text(first, "severity") or "unknown"
    label = f" {severity.upper() if severity == 'critical' else severity} "
    names = order.runs_of(listed[0])
    whose = cut(names[0], 20) if len(names) == 1 else f"{len(names)} runs"
    said = f"{whose}: {answer.text(first, 'summary')}"
    age = figures.roughly(link.since(first, "opened_at"))
    rest = len(listed) - 1
    tail = f" ({age}{f'; +{rest} more' if rest else ''})"
    tone = SEVERITY.get(severity, "dim")
    room = width - len(label) - 1
    lines = wrap(said + tail, room)
    if len(lines) > height:
        last = cut(said, room * height - len(tail) - height)
        lines = wrap(last + tail, room)[:height]
    start = Span(label, tone)
    rows = []
    for line in lines:
        rows.append(row(start, Span(line, "title")))
        start = Span(" " * len(label))
    return rows


def lost(run: Answer, link: Link, width: int) -> Row:
    """What of the work would have to be done again if the run ended now, or has to be after its end."""
    if not run:
        return row("  Find the runs of this box: ", Span("middlewatch watch", "title"))
    name = cut(answer.text(run, "name") or answer.text(run, "run"), 16)
    held = answer.record(run, "checkpoints")
    latest, resume = answer.record(held, "latest"), answer.text(held, "resume_from")
    step = answer.finite(answer.record(run, "now"), "step")
    done = answer.text(run, "state") == "finished"
    over = run.get("ended_at") is not None
    if done:
        return row(f"  {name} is finished; ", *_kept(resume))
    begin = f"  {name} ended: lost " if over else f"  If {name} ended now you would lose "
    if width < 60:
        begin = f"  {cut(name, 8)} {'lost' if over else 'would lose'} "
    if not resume:
        if step is None:
            return row(begin, Span("everything", "bad"), ": no good checkpoint")
        return row(begin, Span(f"all {figures.count(step)} steps", "bad"), ": no good checkpoint")
    saved = answer.finite(latest, "step")
    if answer.text(latest, "path") != resume or saved is None or step is None:
        return row(begin, "what came after ", resume.rstrip("/").rpartition("/")[2])
    age = link.since(latest, "saved_at")
    work = f"{figures.count(max(0.0, step - saved))} steps"
    time = "" if age is None or over else f", {figures.roughly(age)}"
    gone = answer.record(held, "durability").get("survives_destroy") is False
    place = Span("; the save goes with the box" if gone else "", "warn")
    which = "" if width < 60 else f" (save of step {figures.count(saved)})"
    return row(begin, Span(work + time, "title"), which, place)


def _kept(resume: str) -> Row:
    if resume:
        return row("newest good save: ", resume.rstrip("/").rpartition("/")[2])
    return row(Span("no good checkpoint", "bad"))


def _step(run: Answer, listed: list[order.Folded], width: int) -> Row:
    """The first thing to do, and the key that shows the rest."""
    if not run:
        return row(
            "  Start one that goes on after logout: ", Span("middlewatch run -- CMD", "title")
        )
    remedy = answer.record(listed[0].first, "remedy")
    step = answer.text(remedy, "first_step")
    word = "" if remedy.get("safe") is True else "costly: "
    key = " w: open it"
    begin = row("  Do: ", Span(word, "warn"), step or "see its evidence")
    return pad(begin, width - len(key)) + row(Span(key, "dim"))
