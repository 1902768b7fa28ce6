"""Parses pages of the handbook: of a rule (the sentinel's module docstring) and of a class.

A page starts with one sentence, its title. Labelled paragraphs follow, each up to the next label.
The page of a rule says how it decides, with the labels :data:`LABELS`. The page of a class
(``sentinels/handbook/CLASS.txt``) says what the trouble looks like and what to do, with the labels
:data:`CLASS_LABELS`. ``Remedy:`` has numbered steps, each marked [safe] or [costly]. Under
``Confirm:``, each line ``$ command`` is followed by what its output means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

LABELS = ("Decides", "Classes", "Sources")
"""Labels of the page of a rule."""
CLASS_LABELS = ("Topic", "Symptom", "Confirm", "Cause", "Remedy", "Not", "Retry", "See", "Sources")
"""Labels of the page of a class; ``Sources`` may be missing."""
RETRIES = {
    "yes": "yes",
    "once": "once",
    "only after a change": "after_change",
    "only when the cause is known": "after_cause",
    "ask": "ask",
    "no": "no",
    "nothing to retry": "none",
}
"""The words with which ``Retry:`` of a class begins -> the value in JSON."""
_STEP = re.compile(r"^\s*\d+\.\s+\[(safe|costly)\]\s+(.*)$")


@dataclass(frozen=True, slots=True)
class RemedyStep:
    """One step of the remedy."""

    text: str
    safe: bool


@dataclass(frozen=True, slots=True)
class Check:
    """One command that changes nothing, and what its output means. Empty command: only advice."""

    command: str
    expect: str


@dataclass(frozen=True, slots=True)
class HandbookPage:
    """One page of the handbook."""

    name: str
    title: str
    sections: dict[str, str]
    steps: tuple[RemedyStep, ...]
    classes: tuple[str, ...]
    checks: tuple[Check, ...] = ()

    @property
    def first_step(self) -> RemedyStep:
        """The first step of the remedy."""
        return self.steps[0]

    @property
    def retry(self) -> str:
        """A value of :data:`RETRIES`, or ``""`` if ``Retry:`` begins with none of its keys."""
        told = self.sections.get("Retry", "").lower()
        return next((word for k, word in RETRIES.items() if re.match(rf"{k}\b", told)), "")

    def words(self, label: str) -> tuple[str, ...]:
        """The names in a section that is a list of names."""
        return tuple(self.sections.get(label, "").replace(",", " ").split())


def parse(name: str, text: str, labels: Sequence[str] = LABELS) -> HandbookPage:
    """Split a page into an :class:`HandbookPage`. Text before the first label is the title."""
    label_of = re.compile(rf"^({'|'.join(labels)}):\s*(.*)$")
    title: list[str] = []
    sections: dict[str, list[str]] = {}
    steps: list[list[str]] = []
    safe: list[bool] = []
    here: str | None = None
    for raw in text.splitlines():
        line = raw.strip()
        label = label_of.match(line)
        if label:
            here = label[1]
            sections.setdefault(here, [])
            line = label[2]
        if here is None:
            title.append(line)
            continue
        step = _STEP.match(line)
        if here == "Remedy" and step:
            safe.append(step[1] == "safe")
            steps.append([step[2]])
        elif here == "Remedy" and steps and line:
            steps[-1].append(line)
        if line:
            sections[here].append(line)
    checks = _checks(sections.get("Confirm", []))
    return HandbookPage(
        name=name,
        title=" ".join(t for t in title if t),
        sections={k: _joined(k, v, checks) for k, v in sections.items()},
        steps=tuple(RemedyStep(" ".join(s), ok) for s, ok in zip(steps, safe, strict=True)),
        classes=tuple(" ".join(sections.get("Classes", [])).replace(",", " ").split()),
        checks=checks,
    )


def _joined(label: str, lines: list[str], checks: Sequence[Check]) -> str:
    if label == "Confirm" and any(c.command for c in checks):
        return "\n".join(f"$ {c.command}\n{c.expect}" if c.command else c.expect for c in checks)
    return ("\n" if label == "Remedy" else " ").join(lines)


def _checks(lines: Sequence[str]) -> tuple[Check, ...]:
    """The commands, each with the text that follows it."""
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
        elif line:
            found.append(("", [line]))
    return tuple(Check(command, " ".join(expect)) for command, expect in found)
