"""``alert test``: send a test push, to see whether alerts reach the phone."""

from __future__ import annotations

import argparse
from typing import Any

from ..config.schema import Config
from ..config.secrets import mask_urls
from ..report.outbox import notifier
from ..system.clock import SystemClock
from ..system.errors import ConfigError, UsageError
from . import console
from .context import configuration


def alert(args: argparse.Namespace) -> int:
    """Send a test push to every URL and print which were delivered; exit 1 when one failed."""
    config = configuration(args)
    if not config.alert_urls:
        raise ConfigError(
            "no alert URL is set",
            'put urls = ["ntfy://…"] under [alerts], or set $MIDDLEWATCH_ALERT_URLS',
        )
    results = _test_push(config)
    if args.json:
        console.as_json(results)
    else:
        for one in results:
            verdict = "delivered" if one["ok"] else f"FAILED: {one['error']}"
            console.say(f"{one['url']}: {verdict}")
    return int(not all(one["ok"] for one in results))


def _test_push(config: Config) -> list[dict[str, Any]]:
    """Push to every URL, also in mode ``ladder``, which normally tries the next URL only after one
    failed: the test has to cover all of them. Raises UsageError when the notifier does not answer.
    """
    clock = SystemClock()
    child = notifier()
    message = {
        "id": "test",
        "title": "[TEST] middlewatch can reach you",
        "body": "This is a test push: alerts reach your phone.",
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
