"""``audit``, ``alert test``, ``config``."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

from .. import wire
from ..audit import audit as look_over
from ..child import JsonChild
from ..client import RemoteError
from ..clock import SystemClock
from ..config import Config, rows
from ..errors import ConfigError, DaemonUnreachable, UsageError
from ..masking import mask_urls
from ..sinks.phone import DEADLINE_S, NOTIFIER_ARGV
from . import out
from .context import client, configuration, state
from .offline import stored_runs


def audit(args: argparse.Namespace) -> int:
    """The first look over a fresh box; exit 1 when something needs a person."""
    report = look_over(state(args).root, configuration(args), runs=_runs(args))
    if args.json:
        out.as_json(report)
    else:
        for check in report["checks"]:
            print(f"{out.paint(check['state']):>8}  {check['what']}: {out.clean(check['detail'])}")
    return int(any(check["state"] == "bad" for check in report["checks"]))


def _runs(args: argparse.Namespace) -> list[dict[str, Any]]:
    """The runs of the daemon; where none runs, those of its store, without their cadence."""
    with contextlib.suppress(DaemonUnreachable, RemoteError):
        found: list[dict[str, Any]] = client(args).ask("runs")
        return found
    specs = stored_runs(state(args))
    return [{"run": s.id or s.name, "checkpoint_dirs": list(s.checkpoint_dirs)} for s in specs]


def alert(args: argparse.Namespace) -> int:
    """Send a test push to every URL and say what became of it; exit 1 when one failed."""
    config = configuration(args)
    if not config.alert_urls:
        raise ConfigError(
            "no alert URL is set",
            'put urls = ["ntfy://…"] under [alerts], or set $MIDDLEWATCH_ALERT_URLS',
        )
    results = _test_push(config)
    if args.json:
        out.as_json(results)
    else:
        for one in results:
            verdict = "delivered" if one["ok"] else f"FAILED: {one['error']}"
            print(f"{out.clean(one['url'])}: {out.clean(verdict)}")
    return int(not all(one["ok"] for one in results))


def _test_push(config: Config) -> list[dict[str, Any]]:
    """Every URL is tried, whatever the mode: a ladder's lower steps must hold too."""
    clock = SystemClock()
    child = JsonChild(NOTIFIER_ARGV, DEADLINE_S, start_deadline_s=DEADLINE_S)
    message = {
        "id": "test",
        "title": "[TEST] middlewatch can reach you",
        "body": "This is a test push: the way to your phone works.",
        "kind": "info",
        "urls": list(config.alert_urls),
        "mode": "all",
    }
    try:
        if not child.ask(message, clock.monotonic()):
            raise UsageError(f"the notifier cannot be started: {child.start_error}")
        while not child.overdue(clock.monotonic()):
            for answer in child.answers():
                results: list[dict[str, Any]] = answer["results"]
                return results
            if not child.alive:
                break
            clock.sleep(0.05)
        words = mask_urls(child.last_words, config.alert_urls)
        raise UsageError(f"the notifier gave no answer: {words or 'it timed out'}")
    finally:
        child.close()


def config(args: argparse.Namespace) -> int:
    """Validate, or show every value with its origin."""
    settings = configuration(args)
    if args.action == "check":
        urls = settings.alert_urls
        data = {"ok": True, "path": settings.path or None, "alert_urls": len(urls)}
        if args.json:
            out.as_json(data)
        else:
            where = settings.path or "no file, all defaults"
            print(f"the configuration is fine ({where}; {len(urls)} alert URLs)")
        return 0
    values = [{"key": k, "value": v, "origin": o} for k, v, o in rows(settings)]
    if args.json:
        out.as_json(values)
    else:
        out.table(
            ("KEY", "VALUE", "FROM"),
            [(v["key"], wire.dumps(v["value"]), v["origin"]) for v in values],
        )
    return 0
