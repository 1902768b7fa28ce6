"""``runs``: a line for each run that is watched."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from middlewatch.sentinels.kit.numbers import number

from ..config.secrets import mask_words
from ..system.clock import SystemClock, epoch
from ..text.moments import past
from . import console
from .context import client


def runs(args: argparse.Namespace) -> int:
    """Print a line for each run that is watched."""
    known = client(args).ask("runs")
    if args.json:
        console.as_json([{**r, "command": mask_words(r["command"])} for r in known])
        return 0
    if not known:
        console.say("no run is watched; try `middlewatch watch` or `middlewatch run -- CMD`")
        return 0
    now = SystemClock().now()
    rows = [
        (
            r["run"],
            r["state"],
            step_of(r["now"]),
            loss_of(r["now"]),
            len(r["incidents"]),
            past(epoch(r["started_at"]), now),
        )
        for r in known
    ]
    console.table(("RUN", "STATE", "STEP", "LOSS", "OPEN", "STARTED"), rows)
    return 0


def step_of(now: Mapping[str, Any]) -> str:
    """Step of a run and how many are planned, for a person: ``40/5000``; ``-``: not known.

    ``now``: the part of ``status --json`` of that name.
    """
    if now["step"] is None:
        return "-"
    return number(now["step"]) + (f"/{number(now['total'])}" if now["total"] else "")


def loss_of(now: Mapping[str, Any]) -> str:
    """The newest training loss, for a person; ``-``: not known."""
    value = now["values"].get("train_loss")
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.4g}"
