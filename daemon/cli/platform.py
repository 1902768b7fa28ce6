"""``platform``: what the platform keeps, bills and ends, and where each fact comes from."""

from __future__ import annotations

import argparse
import textwrap
import time
from collections.abc import Iterator, Mapping
from typing import Any

from ..box.platform_report import report
from ..config.platform_profiles import OLD_MONTHS, ids
from ..system.errors import UsageError
from ..text.similar import meant
from . import console
from .context import configuration

LABEL = 25
"""Columns of the titles of the facts; the longest has 24."""


def platform(args: argparse.Namespace) -> int:
    """Show the platform of this box, or the one that is named."""
    name = args.name or ""
    told = report(configuration(args), time.time(), name)  # noqa: TID251 - a command
    if told is None:
        raise UsageError(
            f"nothing is known of a platform called {name!r}",
            meant(name, ids()) or f"there are: {', '.join(ids())}",
        )
    if args.json:
        console.as_json(told)
        return 0
    for line in _lines(told, named=bool(name)):
        console.say(line)
    return 0


def _lines(told: Mapping[str, Any], *, named: bool) -> Iterator[str]:
    yield f"{told['name']} ({told['id']}): {told['kind']}"
    if told["recognised"]:
        yield f"  this box, recognised by {', '.join(told['signs'])}"
    elif not named:
        yield '  this box was not recognised; if you know better: [platform] name = "NAME"'
        yield f"  names: {', '.join(ids())}"
    if told["price_per_hour"]:
        yield from _row("price", f"{told['price_per_hour']:g} {told['currency']} an hour".strip())
    yield ""
    for place in told["storage"]:
        stop, destroy = _answer(place["survives_stop"]), _answer(place["survives_destroy"])
        text = f"stop: {stop}; destroy: {destroy}. {place['says']}"
        yield from _row(place["path"], text + _mark(place))
    yield ""
    before = ""
    for fact in told["facts"]:
        text = fact["says"]
        if "can_be_undone" in fact and fact["about"] == "meter.stop":
            text += "; it can be undone" if fact["can_be_undone"] else "; it cannot be undone"
        yield from _row("" if fact["title"] == before else fact["title"], text + _mark(fact))
        before = fact["title"]
    if told["clocks"]:
        yield ""
        yield "What ends or deletes something by itself:"
    for clock in told["clocks"]:
        end = clock["strikes_at_if_stopped_now"]
        date = f"; stopped now, that is {end[:16].replace('T', ' ')} UTC" if end else ""
        text = f"{clock['after']}: {clock['effect']}{date}"
        yield from _row(clock["what"], text + _mark(clock))
    if told["old_facts"] or told["unchecked_facts"]:
        yield ""
        yield (
            f"{told['old_facts']} facts were read more than {OLD_MONTHS} months ago, and "
            f"{told['unchecked_facts']} were never looked up: check them before money depends on them"
        )


def _row(title: str, text: str) -> list[str]:
    """A title and its text, wrapped beside it."""
    first = f"  {title:<{LABEL}}" if len(title) <= LABEL else f"  {title} "
    return textwrap.wrap(
        text,
        width=console.WIDEST,
        initial_indent=first,
        subsequent_indent=" " * (LABEL + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _answer(survives: bool | str) -> str:
    if isinstance(survives, str):
        return survives
    return "kept" if survives else "lost"


def _mark(fact: Mapping[str, Any]) -> str:
    """Where a fact is from, in few words."""
    if fact["unchecked"]:
        return " [never looked up]"
    if fact["old"]:
        return f" [{fact['month']}: {fact['age_months']} months old, check it]"
    return f" [{fact['month']}]" if fact["month"] else " [yours]"
