"""``audit``: what a new box has, and what can be watched on it."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

from ..box.audit import audit as look_over
from ..box.audit_launch import Asked
from ..client import RemoteError
from ..system.errors import DaemonUnreachable, UsageError
from . import console
from .context import client, configuration, state
from .offline import stored_runs
from .sizes import size_of


def audit(args: argparse.Namespace) -> int:
    """Examine the box; exit 1 when one of the checks is bad."""
    if args.saves < 0 or (args.saves and not args.save_size):
        raise UsageError(
            "--saves is a number of saves of --save-size", "--save-size 12GiB --saves 20"
        )
    asked = Asked(
        tuple(args.command[1:] if args.command[:1] == ["--"] else args.command),
        size_of(args.save_size) if args.save_size else 0,
        args.saves,
        tuple(args.route),
    )
    report = look_over(state(args).root, configuration(args), runs=_runs(args), asked=asked)
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
