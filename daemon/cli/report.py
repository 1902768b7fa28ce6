"""``report``: one run as a page for people: HTML that opens from disk, Markdown, or a picture of the loss."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from middlewatch import __version__

from ..client import Client
from ..report import documents, picture, run_report
from ..system.errors import UsageError
from . import console
from .context import client

KINDS = ("html", "md", "png")


def report(args: argparse.Namespace) -> int:
    """Write the report into a file, or to standard output. Raises UsageError for a run without a curve, and
    where the file cannot be written."""
    kind = next((kind for kind in KINDS if getattr(args, kind)), "")
    if not kind:
        suffix = Path(args.out or "").suffix.lstrip(".")
        kind = suffix if suffix in KINDS else "html"
    daemon = client(args)
    status = daemon.ask("status", run=args.run)
    incidents = [
        one
        for one in daemon.ask("incidents", all=True)
        if status["run"] in (one.get("runs") or [one["run"]])
    ]
    made = _made(kind, status, incidents, daemon)
    if args.out == "-":
        sys.stdout.buffer.write(made)
        return 0
    path = Path(args.out or f"{status['run']}.{kind}")
    try:
        path.write_bytes(made)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror or error}", "name another with --out"
        ) from error
    console.say(f"written to {path}")
    return 0


def _made(kind: str, status: Any, incidents: list[Any], daemon: Any) -> bytes:
    if kind == "png":
        facts = {"curve": _curve(status), "moment_step": run_report.moment_of(incidents)}
        drawn = picture.of_facts(facts)
        if drawn is None:
            raise UsageError(
                f"no loss of {status['run']} is known that could be drawn", "--html tells the rest"
            )
        return drawn
    index = daemon.ask("checkpoints", run=status["run"])
    document = run_report.document(status, incidents, index, __version__)
    text = documents.as_html(document) if kind == "html" else documents.as_markdown(document)
    return text.encode("utf-8", "replace")


def markdown(daemon: Client, run: str) -> str:
    """The report of a run as Markdown."""
    status = daemon.ask("status", run=run)
    mine = [
        one
        for one in daemon.ask("incidents", all=True)
        if status["run"] in (one.get("runs") or [one["run"]])
    ]
    return _made("md", status, mine, daemon).decode("utf-8", "replace")


def _curve(status: Any) -> dict[str, Any]:
    """The curve with numbers where JSON has words for those that are not finite."""
    return {"metric": status["curve"]["metric"] or "loss", "points": run_report.points_of(status)}
