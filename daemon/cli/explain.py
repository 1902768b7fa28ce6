"""``explain``: show pages of the handbook on the terminal."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from typing import Any

from middlewatch.sentinels.handbook import TOPICS, page, pages
from middlewatch.sentinels.kit import HandbookPage, handbook

from ..system.errors import DaemonUnreachable, UsageError
from ..text.rows import Row, Span, Tone, cut, fill, row, wrap
from ..text.similar import meant
from . import console, incidents
from .console import columns, print_rows
from .context import client, state
from .offline import stored_incidents

_ID = re.compile(r"[0-9a-f]{6}")
_SHOWN = ("Decides", "Symptom", "Confirm", "Cause", "Remedy", "Not", "Retry", "Sources")
_SAFETY: dict[bool, tuple[str, Tone]] = {True: ("safe", "good"), False: ("costly", "warn")}


def explain(args: argparse.Namespace) -> int:
    """Show the page of a class, of a rule, or of the class of an incident; without a name, the
    index. Raises UsageError for a name that is none of them."""
    rules = handbook()
    if args.what is None:
        book = pages()
        if args.json:
            console.as_json([_entry(e, rules) for e in book.values()])
        else:
            print_rows(_index(book, rules, columns()))
        return 0
    about, one = _find(args, rules)
    if args.json:
        console.as_json({**_entry(about, rules), "incident": one})
        return 0
    if one is not None:
        incidents.describe(one)
        console.say()
    print_rows(_page(about, rules, columns()))
    return 0


def _find(args: argparse.Namespace, rules: Mapping[str, HandbookPage]) -> tuple[HandbookPage, Any]:
    """(page, incident); the incident is ``None`` when a class or a rule was asked for."""
    about = _named(args.what, rules)
    if about is not None:
        return about, None
    try:
        known = client(args).ask("incidents", all=True)
    except DaemonUnreachable:
        known = stored_incidents(state(args), everything=True)
    one = next((i for i in known if i["id"] == args.what), None)
    if one is None:
        names = [*pages(), *rules]
        hint = meant(args.what.replace("-", "_"), dict.fromkeys(names))
        if not hint and _ID.fullmatch(args.what):
            hint = "middlewatch incidents --all shows them; middlewatch explain shows all pages"
        hint = hint or "all pages: middlewatch explain"
        raise UsageError(f"there is no class, rule or incident {args.what!r}", hint)
    about = _named(one["class"], rules) or rules.get(one["sentinel"])
    if about is None:
        raise UsageError(f"this version knows no class {one['class']!r}", "see the incident")
    return about, one


def _named(name: str, rules: Mapping[str, HandbookPage]) -> HandbookPage | None:
    """The page called ``name``. For a class and a rule of one name it is the page of the class,
    because incidents show the class."""
    return page(name) or rules.get(name) or _rule_of(name, rules)


def _rule_of(trouble: str, rules: Mapping[str, HandbookPage]) -> HandbookPage | None:
    return next((e for e in rules.values() if trouble in e.classes), None)


def _entry(about: HandbookPage, rules: Mapping[str, HandbookPage]) -> dict[str, Any]:
    """A page as ``explain --json`` prints it."""
    rule = about if about.classes else _rule_of(about.name, rules)
    return {
        "id": about.name,
        "kind": "rule" if about.classes else "class",
        "title": about.title,
        "topic": about.sections.get("Topic"),
        "rule": rule.name if rule else None,
        "classes": list(about.classes) or [about.name],
        "sections": about.sections,
        "checks": [{"command": c.command, "expect": c.expect} for c in about.checks],
        "steps": [{"text": s.text, "safe": s.safe} for s in about.steps],
        "retry": about.retry or None,
        "see": list(about.words("See")),
    }


def _index(
    book: Mapping[str, HandbookPage], rules: Mapping[str, HandbookPage], width: int
) -> Iterator[Row]:
    """Classes by topic, then the rules that do not have the name of a class."""
    names = max(len(name) for name in (*book, *rules))
    for topic in TOPICS:
        yield row(Span(topic, "title"))
        for entry in book.values():
            if entry.sections.get("Topic") == topic:
                yield _line(entry, names, width)
        yield row()
    yield row(Span("rules with several classes", "title"))
    for rule in rules.values():
        if rule.name not in book:
            yield _line(rule, names, width)
    yield row()
    yield row(Span(cut("One page: middlewatch explain NAME", width), "dim"))


def _line(entry: HandbookPage, names: int, width: int) -> Row:
    return row(Span(f"  {fill(entry.name, names)}  "), Span(cut(entry.title, width - names - 4)))


def _page(about: HandbookPage, rules: Mapping[str, HandbookPage], width: int) -> Iterator[Row]:
    for line in wrap(f"{about.name}: {about.title}", width):
        yield row(Span(line, "title"))
    yield from _told("  ", _whose(about, rules), width, "dim")
    for label in _SHOWN:
        if label not in about.sections:
            continue
        yield row()
        yield row(Span(label, "title"))
        if label == "Remedy":
            yield from _ladder(about, width)
        elif label == "Confirm":
            yield from _confirm(about, width)
        else:
            yield from _told("  ", about.sections[label], width)
    see = about.words("See") or about.classes
    if see:
        yield row()
        yield row(Span("See", "title"))
        yield from _told("  ", " ".join(see), width)


def _whose(about: HandbookPage, rules: Mapping[str, HandbookPage]) -> str:
    if about.classes:
        return f"a rule; its limits: [sentinels.{about.name}] in middlewatch config show"
    rule = _rule_of(about.name, rules)
    told = f"; reported by the rule {rule.name}, see [sentinels.{rule.name}]" if rule else ""
    return about.sections.get("Topic", "") + told


def _confirm(about: HandbookPage, width: int) -> Iterator[Row]:
    """Rows of the checks. A command is never wrapped, so that it can be copied."""
    for check in about.checks:
        if check.command:
            yield row(Span("  $ ", "dim"), Span(check.command))
        yield from _told("    " if check.command else "  ", check.expect, width)


def _ladder(about: HandbookPage, width: int) -> Iterator[Row]:
    for number, step in enumerate(about.steps, 1):
        word, tone = _SAFETY[step.safe]
        begin = f"  {number}. "
        for place, line in enumerate(wrap(step.text, width - len(begin) - 9)):
            head = f"[{word}]" if place == 0 else ""
            indent = begin if place == 0 else " " * len(begin)
            yield row(Span(indent), Span(fill(head, 9), tone), Span(line))


def _told(indent: str, text: str, width: int, tone: Tone = "") -> Iterator[Row]:
    for line in wrap(text, width - len(indent)):
        yield row(Span(indent), Span(line, tone))
