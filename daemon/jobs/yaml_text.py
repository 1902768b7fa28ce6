"""Write plain values as YAML that a person reads and changes. Only what a manifest needs; nothing is read.

Every text that is not plainly one is quoted as JSON quotes it, which YAML reads the same
(https://yaml.org/spec/1.2.2/#chapter-1-introduction-to-yaml), so that `on`, `0x10` and `12:30` stay texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

NOTE = "#"
"""A key that begins so is a comment: its value is written above the key that follows."""
_PLAIN = re.compile(r"(--?)?[A-Za-z/]([A-Za-z0-9_./=:+-]*[A-Za-z0-9_./=+-])?")
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
"""YAML 1.1 reads these as something else than a text, in any case of letters."""
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Characters that YAML does not allow as they are or takes for an end of line, and JSON does not (YAML 1.2.2,
5.1 and 5.4)."""


def documents(*values: Mapping[str, Any]) -> str:
    """One document for each value, with ``---`` between them."""
    return "---\n".join("\n".join(_lines(value, "")) + "\n" for value in values)


def scalar(value: str | int | float | bool | None) -> str:
    """A value on one line."""
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _lines(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            if key.startswith(NOTE):
                yield from (f"{indent}# {line}".rstrip() for line in each.split("\n"))
            else:
                yield from _entry(f"{indent}{scalar(key)}:", each, f"{indent}  ")
    else:
        for each in value:
            yield from _item(each, indent)


def _item(value: Any, indent: str) -> Iterator[str]:
    """An element of a list; the first line of a mapping stands beside its dash."""
    if not _nested(value):
        yield from _entry(f"{indent}-", value, f"{indent}  ")
        return
    lines = list(_lines(value, f"{indent}  "))
    while lines[0].startswith(f"{indent}  #"):
        yield lines.pop(0)[2:]
    yield f"{indent}- {lines[0].lstrip()}"
    yield from lines[1:]


def _entry(head: str, value: Any, inside: str) -> Iterator[str]:
    """``head`` and what belongs to it, on its line or below it."""
    if _nested(value):
        yield head
        yield from _lines(value, inside)
    elif isinstance(value, str) and _is_script(value):
        yield f"{head} |"
        yield from (f"{inside}{line}".rstrip() for line in value.rstrip("\n").split("\n"))
    elif isinstance(value, Mapping):
        yield f"{head} {{}}"
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield f"{head} []"
    else:
        yield f"{head} {scalar(value)}"


def _nested(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple)) and bool(value)


def _is_script(text: str) -> bool:
    """A text that is the same written as a block: one end of line at its end, no odd characters or blanks."""
    lines = text.split("\n")
    return (
        len(lines) > 2
        and not lines[-1]
        and bool(lines[-2])
        and not lines[0].startswith((" ", "\n"))
        and bool(lines[0])
        and all(line == line.rstrip() and line.isprintable() for line in lines)
    )
