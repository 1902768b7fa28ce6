"""``alert``: who is called; a new URL, an old one, and a test push."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ..config.phones import all_urls, own_urls, print_of, shown, tags_of, write_urls
from ..config.schema import Config
from ..config.secrets import mask_urls
from ..report.channels import lacking
from ..report.deliveries import words_of
from ..report.messages import TEST
from ..report.notifier import notifier
from ..report.routes import targets
from ..system.clock import SystemClock
from ..system.errors import ConfigError, DaemonUnreachable, UsageError
from . import asking, console
from .context import client, configuration, state, taken_state
from .phone import ADD, phone_words

TEST_S = 35.0
"""Seconds for a test push: the notifier gives each service 30."""


def alert(args: argparse.Namespace) -> int:
    """Add, remove or list URLs, or send a test push to every one (exit 1 when one failed); or the rules
    of the person."""
    words: list[str] = args.url
    if args.action == "rules":
        from .alert_rules import rules  # imported here: it reads logs

        return rules(args, words)
    if len(words) > 1:
        args.parser.unknown(words[1:])
    args.url = words[0] if words else None
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

    _, url = tags_of(url)
    hint = "the services and how they are written: https://github.com/caronc/apprise/wiki"
    service = url.partition("://")[0]
    if apprise.Apprise.instantiate(url) is None:
        if wanted := lacking(url):
            raise UsageError(
                f"{which}{service[:20]}:// wants {wanted}, which is not installed",
                f"install it beside middlewatch: {sys.executable} -m pip install '{wanted}'",
            )
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
        rows, words = routes["urls"], [*phone_words(args, routes), *routes["notes"]]
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
    return _delivered(args, routes["test"], len(routes["urls"])) if routes["urls"] else []


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
        if configuration(args).heartbeat.url:
            words.append("heartbeat: not rung: only the daemon knows whether its watch is whole")
    else:
        words = phone_words(args, routes)
        heartbeat = routes["heartbeat"] or {"set": False}
        if not routes["urls"] and not heartbeat["set"]:
            raise ConfigError(words[0], f"add one: {ADD}")
        results = _delivered(args, routes["test"], len(routes["urls"])) if routes["urls"] else []
        if heartbeat["set"]:
            results.append(_rung(args, heartbeat))
        elif not args.json:
            words.append("no heartbeat is set: nobody is told if this box falls silent")
        words += client(args).ask("routes")["notes"]  # as it is after the test
    if args.json:
        console.as_json(results)
    else:
        for one in results:
            verdict = "delivered" if one["ok"] else f"FAILED: {one['error']}"
            console.say(f"{one['url']}: {verdict}")
        for line in words:
            console.say(line)
    return int(not results or not all(one["ok"] for one in results))


def _delivered(args: argparse.Namespace, test: str, urls: int) -> list[dict[str, Any]]:
    """The results of a push of the daemon, one for each of so many ``urls``, as far as they come within
    :data:`TEST_S`. Raises UsageError when there are none."""
    clock = SystemClock()
    until = clock.monotonic() + TEST_S
    results: list[dict[str, Any]] = []
    while clock.monotonic() < until:
        push = next((p for p in client(args).ask("outbox") if p["id"] == test), None)
        results = push["results"] if push is not None else []
        if len(results) >= urls:
            return results
        clock.sleep(0.2)
    if not results:
        raise UsageError("the daemon has sent the test push, and no service has answered yet")
    late = {"url": f"{urls - len(results)} more", "ok": False, "error": "no answer yet"}
    return [*results, late]


def _rung(args: argparse.Namespace, before: dict[str, Any]) -> dict[str, Any]:
    """What came of a ping of the heartbeat, in the shape of the other results."""
    clock = SystemClock()
    until = clock.monotonic() + TEST_S
    now = before
    while clock.monotonic() < until and now["answers"] == before["answers"]:
        clock.sleep(0.2)
        now = client(args).ask("routes")["heartbeat"]
    error = now["trouble"]
    if now["answers"] == before["answers"]:
        error = error or "the daemon has pinged it, and there is no answer yet"
    elif now["blind"] and not error:
        error = f"no success is pinged: {'; '.join(now['blind'][:2])}"
    return {"url": "heartbeat", "ok": not error, "error": error}


def _test_push(config: Config, urls: tuple[str, ...]) -> list[dict[str, Any]]:
    """Push to every URL. Raises UsageError when the notifier does not answer."""
    clock = SystemClock()
    child = notifier()
    told = words_of(TEST, config.alerts)
    jobs = [told | {"id": t.mark, "url": t.url, "label": t.label} for t in targets(urls)]
    try:
        if not child.ask({"jobs": jobs}, clock.monotonic()):
            raise UsageError(f"the notifier cannot be started: {child.start_error}")
        until, results = clock.monotonic() + TEST_S, dict[str, dict[str, Any]]()
        while clock.monotonic() < until and len(results) < len(jobs):
            results |= {str(one["id"]): one for one in child.answers() if "id" in one}
            if not child.alive:
                break
            clock.sleep(0.05)
        if len(results) == len(jobs):
            return [results[job["id"]] for job in jobs]
        words = mask_urls(child.last_words, urls)
        raise UsageError(f"the notifier gave no answer: {words or 'it timed out'}")
    finally:
        child.close()
