"""A push in the language and the shape that its reader has chosen; in the notifier child only.

Messages are made, kept and logged in English. Just before they are sent, their lines are replaced by
those of a table (:mod:`.chinese`), and title and body by the templates of ``[alerts]``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from middlewatch.sentinels.handbook import page

from ..config.templates import filled
from .channels import cut
from .chinese import CLASSES, FIRST_STEPS, LABELS, SENTENCES
from .messages import MAX_BODY

LONGEST_TITLE = 250
"""Characters of a title; services cut longer ones, or refuse them (Pushover, Discord, Slack: 250)."""
_LABEL = re.compile(r"\[([A-Z ]+)(?:, reminder (\d+))?\] ")
_SLOT = re.compile(r"\\\{(\w+)\\\}")
_CODE = re.compile(r"`[^`]*`")
_STEP = re.compile(r"First step(?: \(costly\))?: (.*)", re.DOTALL)
_FIELDS = {
    "since": re.compile(r"^Since (.*)$", re.MULTILINE),
    "proof": re.compile(r"^Proof: (.*)$", re.MULTILINE),
    "checkpoint": re.compile(r"^(?:Last|Newest) good checkpoint: (.*)$", re.MULTILINE),
    "first_step": re.compile(r"^First step(?: \(costly\))?: (.*)$", re.MULTILINE),
}
_BOX = re.compile(r"^Box: (.*)$", re.MULTILINE)
"""Whose name is in the title only in part."""
DRILL = "[DRILL] "


@dataclass(frozen=True, slots=True)
class Title:
    """The parts of a title about a run."""

    label: str
    reminder: str
    who: str
    host: str
    what: str


def parts_of(title: str, run: str) -> Title | None:
    """The parts of a title as :mod:`.titles` makes them; ``None`` for one that is not about a run."""
    label = _LABEL.match(title)
    if label is None:
        return None
    rest = title[label.end() :]
    name = label[1], label[2] or ""
    named = re.escape(run) if run and rest.startswith(f"{run} on ") else ".+?"
    first = re.fullmatch(rf"({named}) on ([^:]{{1,61}}): (.*)", rest, re.DOTALL)
    return Title(*name, *first.groups()) if first else None


def phrased(
    title: str,
    body: str,
    *,
    trouble: str = "",
    run: str = "",
    incident: str = "",
    language: str = "en",
    templates: tuple[str, str] = ("", ""),
) -> tuple[str, str]:
    """(title, body) as they are sent. ``templates``: for title and body; empty: none."""
    drill = title.startswith(DRILL)
    title = title[len(DRILL) :] if drill else title
    parts, chinese, english = parts_of(title, run), language == "zh", body
    fields = {"class": trouble, "incident": incident}
    fields |= {
        name: found[1] if (found := one.search(body)) else "" for name, one in _FIELDS.items()
    }
    if chinese:
        lines = [_line(line, trouble) for line in body.split("\n")]
        step = _FIELDS["first_step"].search(body)
        fields["first_step"] = _step(step[1], trouble) if step else ""
        title, body = _title(title, parts, trouble), "\n".join(lines)
    told_title, told_body = title, body
    if parts is not None:
        label = LABELS.get(parts.label, parts.label) if chinese else parts.label
        box = _BOX.search(english)
        host = box[1] if box else parts.host
        fields |= {"severity": label, "run": run or parts.who, "host": host}
        fields |= {"what": _what(parts.what, trouble) if chinese else parts.what}
        fields |= {"title": title, "body": body}
        own_title, own_body = templates
        if own_title:
            told_title = " ".join(filled(own_title, fields).split()) or title
        if own_body:
            told_body = filled(own_body, fields).strip() or body
    if drill:
        told_title = f"[{LABELS['DRILL'] if chinese else 'DRILL'}] {told_title}"
    return told_title[:LONGEST_TITLE], cut(told_body, MAX_BODY)


def _title(title: str, parts: Title | None, trouble: str) -> str:
    """A title in Chinese, as far as the table has it."""
    label = _LABEL.match(title)
    if label is None:
        return title
    again = f"，第 {label[2]} 次提醒" if label[2] else ""
    begin, rest = f"[{LABELS.get(label[1], label[1])}{again}] ", title[label.end() :]
    if parts is None:
        return begin + _sentence(rest)
    what = _what(parts.what, trouble)
    return f"{begin}{parts.who} @ {parts.host}: {what}"


def _what(what: str, trouble: str) -> str:
    """What happened: its sentence, or the name of the class before the English words."""
    told = _sentence(what)
    return told if told != what or trouble not in CLASSES else f"{CLASSES[trouble]}：{what}"


def _line(line: str, trouble: str) -> str:
    step = _STEP.fullmatch(line)
    if step is not None:
        costly = line.startswith("First step (costly)")
        return f"第一步{'(有代价)' if costly else ''}：{_step(step[1], trouble)}"
    return _sentence(line)


def _step(step: str, trouble: str) -> str:
    """A first step in Chinese if it is that of the handbook; else as it is, or its sentence."""
    entry, words = page(trouble), FIRST_STEPS.get(trouble)
    if entry is None or words is None or not entry.steps:
        return _sentence(step)
    expected = _CODE.sub("`", entry.first_step.text)
    commands = _CODE.findall(step)
    # A long one was cut: what is there has to be its beginning, with the commands that are needed.
    needed = len(set(re.findall(r"\{\d\}", words)))
    bare = _CODE.sub("`", step).rstrip("…")
    if not expected.startswith(bare) or len(commands) < needed:
        return _sentence(step)
    return words.format(*commands)


def _sentence(text: str) -> str:
    for pattern, words in _table():
        found = pattern.fullmatch(text)
        if found is not None:
            return _filled(words, found.groupdict())
    return text


def _filled(words: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda slot: _value(slot[1], values), words)


def _value(name: str, values: Mapping[str, str]) -> str:
    value = values.get(name, "")
    return CLASSES.get(value, value) if name in ("was", "now", "class") else value


@lru_cache(maxsize=1)
def _table() -> list[tuple[re.Pattern[str], str]]:
    """The sentences as patterns."""
    found = []
    for english, words in SENTENCES.items():
        pattern = _SLOT.sub(r"(?P<\1>.+?)", re.escape(english))
        found.append((re.compile(pattern, re.DOTALL), words))
    return found
