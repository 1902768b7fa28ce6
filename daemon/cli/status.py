"""``status``: the state of a run now."""

from __future__ import annotations

import argparse

from ..report.status_page import page
from . import console
from .context import client
from .runs import loss_of, step_of


def status(args: argparse.Namespace) -> int:
    """Show one run; exit 1 when an incident is open, or the run failed, is failing or stalled."""
    data = client(args).ask("status", run=args.run)
    bad = bool(data["incidents"]) or data["state"] in ("failed", "failing", "stalled")
    if args.json:
        console.as_json(data)
    elif args.oneline:
        step, loss = step_of(data["now"]), loss_of(data["now"])
        told = (
            "; ".join(console.clean(i["summary"]) for i in data["incidents"])
            or data["state_reason"]
        )
        print(f"{data['run']} {console.paint(data['state'])} step {step} loss {loss}: {told}")
    else:
        text = page(data, data["box"], data["watch"], data["updated_at"])
        print("\n".join(console.clean(line) for line in text.splitlines()))
    return int(bad)
