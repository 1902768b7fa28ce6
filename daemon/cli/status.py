"""``status``: the state of a run now, or as it changes."""

from __future__ import annotations

import argparse
from typing import Any

from ..config.run_spec import ENDED
from ..config.secrets import mask_words
from ..report.status_page import page
from ..system.clock import Clock, SystemClock
from ..system.errors import UsageError
from ..system.json_patch import diff
from . import console
from .context import client
from .runs import loss_of, step_of

EVERY_S = 1.0
"""Seconds between two looks of ``--follow``: the daemon judges a run once a second."""
_ALWAYS_NEW = "/updated_at"
"""It alone makes no change."""


def status(args: argparse.Namespace) -> int:
    """Show one run; exit 1 when an incident is open, or the run failed, is failing or stalled."""
    if args.follow and not args.json:
        raise UsageError(
            "--follow prints lines of JSON", hint="add --json; for a person: middlewatch tui"
        )
    data = _asked(args, args.run)
    bad = _is_bad(data)
    if args.follow:
        return _follow(args, data, SystemClock())
    if args.json:
        console.as_json(data)
    elif args.oneline:
        step, loss = step_of(data["now"]), loss_of(data["now"])
        told = "; ".join(i["summary"] for i in data["incidents"]) or data["state_reason"]
        state = console.paint(data["state"])
        console.say(f"{data['run']} ", state, f" step {step} loss {loss}: {told}")
    else:
        text = page(data, data["box"], data["watch"], data["updated_at"])
        for line in text.splitlines():
            console.say(line)
    return int(bad)


def _asked(args: argparse.Namespace, run: str | None) -> dict[str, Any]:
    data: dict[str, Any] = client(args).ask("status", run=run)
    data["command"] = mask_words(data["command"])
    return data


def _is_bad(data: dict[str, Any]) -> bool:
    return bool(data["incidents"]) or data["state"] in ("failed", "failing", "stalled")


def _follow(args: argparse.Namespace, data: dict[str, Any], clock: Clock) -> int:
    """The whole state on one line, then a JSON patch for each change, until the run has ended."""
    console.as_line({"type": "snapshot", "status": data})
    while data["state"] not in ENDED:
        clock.sleep(EVERY_S)
        newer = _asked(args, data["run"])
        patch = diff(data, newer)
        if any(change["path"] != _ALWAYS_NEW for change in patch):
            console.as_line({"type": "change", "patch": patch})
            data = newer
    return int(_is_bad(data))
