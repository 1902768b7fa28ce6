"""Handbook entries: a sentinel's module docstring, parsed.

The docstring starts with one sentence, then has labelled paragraphs: ``Symptom:``,
``Confirm:``, ``Cause:``, ``Remedy:`` (numbered steps, each marked [safe] or [costly]),
``Not:`` (what not to do), ``Retry:`` (whether a retry is allowed), ``Classes:`` (the
vocabulary classes it speaks about). A paragraph runs until the next label.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LABELS = ("Symptom", "Confirm", "Cause", "Remedy", "Not", "Retry", "Classes", "Sources")
_LABEL = re.compile(rf"^({'|'.join(LABELS)}):\s*(.*)$")
_STEP = re.compile(r"^\s*\d+\.\s+\[(safe|costly)\]\s+(.*)$")


@dataclass(frozen=True, slots=True)
class RemedyStep:
    """One step of the ladder."""

    text: str
    safe: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """One page of the handbook."""

    name: str
    title: str
    sections: dict[str, str]
    steps: tuple[RemedyStep, ...]
    classes: tuple[str, ...]

    @property
    def first_step(self) -> RemedyStep:
        """The first step of the ladder."""
        return self.steps[0]


def parse(name: str, docstring: str) -> Entry:
    """Split a docstring into an :class:`Entry`. Unknown text before a label is the title."""
    title: list[str] = []
    sections: dict[str, list[str]] = {}
    steps: list[list[str]] = []
    safe: list[bool] = []
    here: str | None = None
    for raw in docstring.splitlines():
        line = raw.strip()
        label = _LABEL.match(line)
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
    return Entry(
        name=name,
        title=" ".join(t for t in title if t),
        sections={k: ("\n" if k == "Remedy" else " ").join(v) for k, v in sections.items()},
        steps=tuple(RemedyStep(" ".join(s), ok) for s, ok in zip(steps, safe, strict=True)),
        classes=tuple(" ".join(sections.get("Classes", [])).replace(",", " ").split()),
    )
