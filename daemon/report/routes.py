"""Routes: who is called by which message. A route is an alert URL with its tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from fnmatch import fnmatchcase

from middlewatch.sentinels.kit import Severity

from ..config import times
from ..config.phones import print_of, tags_of
from ..config.schema import Route
from .messages import Message

_OF_KIND = {"failure": Severity.CRITICAL, "warning": Severity.WARNING}


@dataclass(frozen=True, slots=True)
class Target:
    """One URL that is called. ``mark`` names it where it must not be shown."""

    url: str
    tags: tuple[str, ...]
    mark: str
    label: str
    """What is shown of it: its place in the list, and its service."""


def targets(urls: Iterable[str]) -> list[Target]:
    """The URLs of the configuration, in their order."""
    found = []
    for number, told in enumerate(urls, 1):
        tags, url = tags_of(told)
        # A URL without a scheme may be a secret by itself: only its number is shown.
        scheme, there, _ = url.partition("://")
        label = f"url {number} ({scheme}://)" if there else f"url {number}"
        found.append(Target(url, tags, print_of(told), label))
    return found


def fits(
    target: Target, message: Message, rules: Mapping[str, Route], at: float, zone: tzinfo | None
) -> bool:
    """Whether a message of the time ``at`` (epoch seconds) goes to this URL.

    Without tags everything does; with several, what one of them lets through. A tag that no section
    describes lets everything through: a mistake in the configuration must not silence a phone.
    """
    if message.every or not target.tags:
        return True
    return any(tag not in rules or _lets(rules[tag], message, at, zone) for tag in target.tags)


def _lets(rule: Route, message: Message, at: float, zone: tzinfo | None) -> bool:
    if severity_of(message) < Severity.parse(rule.min_severity):
        return False
    if rule.hours and not times.within(rule.hours, at, zone):
        return False
    if rule.classes and not any(fnmatchcase(message.trouble, one) for one in rule.classes):
        return False
    return not rule.runs or any(fnmatchcase(message.run, one) for one in rule.runs)


def severity_of(message: Message) -> Severity:
    """The severity by which a message is routed."""
    if message.severity:
        return Severity.parse(message.severity)
    return _OF_KIND.get(message.kind, Severity.INFO)


def unknown_tags(urls: Iterable[str], rules: Mapping[str, Route]) -> list[str]:
    """Tags of URLs that no section ``[routes.TAG]`` describes."""
    return sorted({tag for url in urls for tag in tags_of(url)[0] if tag not in rules})
