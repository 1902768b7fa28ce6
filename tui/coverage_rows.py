"""Rows about what does not work: sources that are blind, pushes that do not get through. Pure."""

from __future__ import annotations

from middlewatch.daemon.text import figures
from middlewatch.daemon.text.rows import Row, Span, Tone, row

from . import answer
from .answer import Answer
from .desk import Link


def blind(found: Answer, run: Answer, link: Link) -> list[Row]:
    """Rows about what does not work, the worst first: broken sources, alerts, the store; then
    sources that are starting, those that this box does not have, and notes."""
    daemon = answer.record(found, "daemon")
    rows = []
    for key, says in (
        ("alert_trouble", "alerts are not delivered"),
        ("store_trouble", "not kept on disk"),
    ):
        trouble = answer.text(daemon, key)
        if trouble:
            rows.append(_note("blind", says, f": {trouble}", "warn"))
    if daemon.get("alert_urls") == 0:
        rows.append(_note("no phone", "no push is sent: no alert URL is configured", "", "warn"))
    broken, waiting, absent = [], [], []
    for source in answer.records(found, "watch"):
        state = answer.text(source, "state") or "unknown"
        name = answer.text(source, "source") or "?"
        detail = answer.text(source, "detail")
        detail = f": {detail}" if detail else ""
        since = figures.roughly(link.since(source, "since"))
        if state == "unsupported":
            absent.append(_note("not here", name, detail, "dim"))
        elif state == "starting":
            waiting.append(_note("starting", name, detail, "dim"))
        elif state != "ok":
            broken.append(_note("blind", f"{name} {state} {since}", detail, "warn"))
    notes = [_note("note", note, "", "dim") for note in answer.texts(run, "notes")]
    return [*broken, *rows, *waiting, *absent, *notes]


def _note(label: str, says: str, more: str, tone: Tone) -> Row:
    return row(Span(f"  {label:<8} ", tone), says, Span(more, "dim"))
