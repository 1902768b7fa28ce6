"""``alert``: who is called; a new URL, an old one, and a test push."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..config.phones import all_urls, own_urls, print_of, shown, write_urls
from ..config.schema import Config
from ..config.secrets import mask_urls
from ..report.messages import TEST
from ..report.outbox import notifier
from ..system.clock import SystemClock
from ..system.errors import ConfigError, DaemonUnreachable, UsageError
from . import asking, console
from .context import client, configuration, state, taken_state
from .phone import ADD, phone_words

TEST_S = 30.0
"""Seconds for a test push by the daemon; its services have about 8 each."""


def alert(args: argparse.Namespace) -> int:
    """Add, remove or list URLs, or send a test push to every one; exit 1 when one failed."""
    if args.action == "add":
        return _add(args)
    if args.action == "remove":
        return _remove(args)
    if args.url:
        raise UsageError(f"`alert {args.action}` takes no URL", "did you mean `alert add URL`?")
    return _list(args) if args.action == "list" else _test(args)


def _add(args: argparse.Namespace) -> int:
    url = _given(args.url).strip()
    if not url:
        raise UsageError("which URL?", f"example: {ADD}")
    check_url(url)
    path = taken_state(args).alert_urls
    known = own_urls(path)
    if url not in known:
        write(path, (*known, url))
    return _told(args, f"{shown(url)} is called from now on; try it: middlewatch alert test")


def _given(url: str | None) -> str:
    """The URL, asked for or read from standard input (``-``): every user can read a command line."""
    if url is None and asking.can_ask():
        return asking.ask_secret("URL")
    return sys.stdin.readline() if url == "-" else url or ""


def _remove(args: argparse.Namespace) -> int:
    path, wanted = state(args).alert_urls, args.url or ""
    known = own_urls(path)
    left = tuple(url for url in known if wanted not in (url, print_of(url)))
    if len(left) == len(known):
        raise UsageError(
            f"no URL that was added is called {wanted or 'so'}",
            "name it, or its fingerprint: middlewatch alert list",
        )
    write(path, left)
    return _told(args, f"{shown(next(u for u in known if u not in left))} is not called any more")


def check_url(url: str, which: str = "") -> None:
    """Raises UsageError for a URL that no service understands; it is not shown but for its service."""
    if "://" not in url:
        service = url.partition("/")[0]
        like = (
            f"{service.partition('.')[0] or 'ntfy'}s://{service}/…"
            if "ntfy" in service
            else "SERVICE://…"
        )
        raise UsageError(
            f"{which or 'the URL '}has no scheme: it says which service is called",
            f"write it like {like}; example: ntfys://ntfy.sh/my-topic",
        )
    import apprise

    hint = "the services and how they are written: https://github.com/caronc/apprise/wiki"
    service = url.partition("://")[0]
    if apprise.Apprise.instantiate(url) is None:
        raise UsageError(
            f"{which}{service[:20]}:// is of no service, or not written as that wants it", hint
        )


def write(path: Path, urls: tuple[str, ...]) -> None:
    """Keep the URLs for the daemon. Raises UsageError."""
    try:
        write_urls(path, urls)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror or error}",
            "make room on its disk (df -h, df -i), or name another --state-dir",
        ) from error


def _told(args: argparse.Namespace, words: str) -> int:
    """Have a running daemon take up the change, and say it."""
    try:
        routes = client(args).ask("routes", reload=True)
    except DaemonUnreachable:
        routes = None
    if args.json:
        console.as_json({"daemon": routes is not None, "urls": routes["urls"] if routes else None})
        return 0
    console.say(words if routes is not None else f"{words} (once the daemon runs)")
    return 0


def _list(args: argparse.Namespace) -> int:
    try:
        routes = client(args).ask("routes")
        rows, words = routes["urls"], phone_words(args, routes)
    except DaemonUnreachable:
        rows, words = [shown(url) for url in _urls(args)], ["the daemon does not run"]
    if args.json:
        console.as_json(rows)
        return 0
    for row in rows:
        console.say(row)
    for line in words:
        console.say(line)
    return 0


def _urls(args: argparse.Namespace) -> tuple[str, ...]:
    """The URLs that a daemon would use that was started here and now."""
    return all_urls(configuration(args).alert_urls, state(args).alert_urls)


def test_by_daemon(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Have the daemon send a test push to all that it calls; the result of each URL, none without one.

    Raises UsageError when no service answers in time.
    """
    routes = client(args).ask("routes", reload=True, test=True)
    return _delivered(args, routes["test"]) if routes["urls"] else []


def _test(args: argparse.Namespace) -> int:
    """A test push by the daemon, whose routes are the truth; without one by this command."""
    try:
        routes = client(args).ask("routes", test=True)
    except DaemonUnreachable:
        urls = _urls(args)
        if not urls:
            raise ConfigError("no alert URL is set", f"add one: {ADD}") from None
        results, words = (
            _test_push(configuration(args), urls),
            ["sent by this command: the daemon does not run"],
        )
    else:
        words = phone_words(args, routes)
        if not routes["urls"]:
            raise ConfigError(words[0], f"add one: {ADD}")
        results = _delivered(args, routes["test"])
    if args.json:
        console.as_json(results)
    else:
        for one in results:
            verdict = "delivered" if one["ok"] else f"FAILED: {one['error']}"
            console.say(f"{one['url']}: {verdict}")
        for line in words:
            console.say(line)
    return int(not results or not all(one["ok"] for one in results))


def _delivered(args: argparse.Namespace, test: str) -> list[dict[str, Any]]:
    """The results of a push of the daemon. Raises UsageError when there are none in :data:`TEST_S`."""
    clock = SystemClock()
    until = clock.monotonic() + TEST_S
    while clock.monotonic() < until:
        push = next((p for p in client(args).ask("outbox") if p["id"] == test), None)
        if push is not None and push["results"]:
            results: list[dict[str, Any]] = push["results"]
            return results
        clock.sleep(0.2)
    raise UsageError("the daemon has sent the test push, and no service has answered yet")


def _test_push(config: Config, urls: tuple[str, ...]) -> list[dict[str, Any]]:
    """Push to every URL. Raises UsageError when the notifier does not answer."""
    clock = SystemClock()
    child = notifier()
    message = asdict(TEST) | {"id": "test", "urls": list(urls), "mode": "all"}
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
        words = mask_urls(child.last_words, urls)
        raise UsageError(f"the notifier gave no answer: {words or 'it timed out'}")
    finally:
        child.close()
