"""Checks of what the configuration says about hours, digests, routes, templates, heartbeat, answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fnmatch import translate
from typing import Any

from . import templates, times
from .phones import TAG
from .schema import Config

LEAST_BEAT_S = 10.0
"""Seconds between two pings at least: services take one a second, and count grace in minutes. Our choice."""
LEAST_ANSWER_S, MOST_ANSWER_S = 60.0, 7 * 86400.0
"""Seconds for which a button can be pressed. Our choice."""
MOST_PORT = 65535
_TOPIC = re.compile(r"https?://[^/\s,;\"]+/[\w\-]{1,64}")
"""As ntfy names topics (docs.ntfy.sh)."""
_ADDRESS = re.compile(
    r"([a-z0-9]+)://(?:[^\s/@]*@)?(?:[\w.\-]+|\[[\da-fA-F:.]+\])(?::(\d{1,5}))?(?:[/?]\S*)?"
)
"""Scheme, somebody who asks, host, port, the rest. Not by urllib, which the daemon has no other use for."""
_WINDOW = 'write it like "22:00-07:00"'


def check_hours(config: Config) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with it) of every value that cannot be used."""
    alerts, digest = config.alerts, config.digest
    for at in digest.at:
        if _unfit(times.minutes, at):
            yield "digest.at", f'cannot read {at!r}; write each time like "08:00" (24 hours)'
    if _unfit(times.every_s, digest.every):
        problem = f'cannot read {digest.every!r}; write it like "6h", ten minutes ("10m") at least'
        yield "digest.every", problem
    if alerts.quiet and _unfit(times.window, alerts.quiet):
        yield "alerts.quiet", f"cannot read {alerts.quiet!r}; {_WINDOW}"
    if _unfit(times.zone_of, alerts.zone):
        problem = (
            f'{alerts.zone!r} is no time zone of this box; write it like "Europe/Berlin" '
            "(a box without zones: pip install tzdata)"
        )
        yield "alerts.zone", problem
    if alerts.proxy and not _is_http(alerts.proxy, ("http", "https", "socks5", "socks5h")):
        yield "alerts.proxy", 'is no proxy; write it like "http://proxy:3128"'
    for key in ("title", "body"):
        if problem := templates.wrong(getattr(alerts, key)):
            yield f"alerts.{key}", problem
    yield from _heartbeat(config)
    yield from _answers(config)
    for tag, route in config.routes.items():
        if not TAG.fullmatch(tag):
            yield f"routes.{tag}", "is no tag; a tag has letters, digits, - and _ only"
        if route.hours and _unfit(times.window, route.hours):
            yield f"routes.{tag}.hours", f"cannot read {route.hours!r}; {_WINDOW}"
        for key, patterns in (("classes", route.classes), ("runs", route.runs)):
            if any(not pattern or _unfit(translate, pattern) for pattern in patterns):
                yield f"routes.{tag}.{key}", "has an empty pattern"


def _heartbeat(config: Config) -> Iterator[tuple[str, str]]:
    beat = config.heartbeat
    if beat.url and not _is_http(beat.url, ("http", "https")):
        yield "heartbeat.url", 'is no ping URL; it is written like "https://hc-ping.com/UUID"'
    if beat.every_s < LEAST_BEAT_S:
        yield "heartbeat.every_s", f'must be "{LEAST_BEAT_S:.0f}s" at least'
    if beat.grace_s < beat.every_s:
        yield "heartbeat.grace_s", "must be as long as every_s at least: one ping may be late"


def _answers(config: Config) -> Iterator[tuple[str, str]]:
    topic = config.answers.topic
    if topic and not (_is_http(topic, ("http", "https")) and _TOPIC.fullmatch(topic)):
        yield "answers.topic", 'is no topic of ntfy; it is written like "https://ntfy.sh/TOPIC"'
    if not LEAST_ANSWER_S <= config.answers.expires_s <= MOST_ANSWER_S:
        yield "answers.expires_s", 'must lie between "1m" and "7d"'
    if topic and not config.answers.actions:
        yield "answers.actions", "is empty; leave the topic out for pushes without buttons"


def _unfit(read: Callable[[str], Any], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return True
    return False


def _is_http(url: str, schemes: tuple[str, ...]) -> bool:
    match = _ADDRESS.fullmatch(url)
    return match is not None and match[1] in schemes and 0 < int(match[2] or 80) <= MOST_PORT
