"""``audit``: what a new box has, and what can be watched on it."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

from ..box.audit import audit as look_over
from ..client import RemoteError
from ..system.errors import DaemonUnreachable
from . import console
from .context import client, configuration, state
from .offline import stored_runs


def audit(args: argparse.Namespace) -> int:
    """Examine the box; exit 1 when one of the checks is bad."""
    report = look_over(state(args).root, configuration(args), runs=_runs(args))
    if args.json:
        console.as_json(report)
    else:
        for check in report["checks"]:
            shown = console.paint(check["state"], width=8)
            console.say(shown, f"  {check['what']}: {check['detail']}")
    return int(any(check["state"] == "bad" for check in report["checks"]))


def _runs(args: argparse.Namespace) -> list[dict[str, Any]]:
    """The runs that the daemon knows; without a daemon, those of its store, which do not tell how
    often a run saves."""
    with contextlib.suppress(DaemonUnreachable, RemoteError):
        found: list[dict[str, Any]] = client(args).ask("runs")
        return found
    specs = stored_runs(state(args))
    return [{"run": s.id or s.name, "checkpoint_dirs": list(s.checkpoint_dirs)} for s in specs]
