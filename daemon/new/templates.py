"""Fill a template: a text with places like ``<<steps>>``, each for one value.

Strict: a place without a value and a value that cannot stand there are errors. A value is written as the
kind of file wants it (a literal of Python, TOML or YAML, a word of a shell); ``<<#note>>`` is text for a
comment, on one line.
"""

from __future__ import annotations

import json
import re
import shlex
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path

FOLDER = Path(__file__).with_name("templates")
ENDING = ".in"
"""Of a template, so that no tool takes it for a program."""
Value = str | int | float | bool | tuple[str, ...]
_UNSAFE = ("Cc", "Cs", "Zl", "Zp")
"""Categories of Unicode that end a line in one of these formats or cannot stand in it."""
_PLACE = re.compile(r"<<(#?)(\w+)>>")


def filled(template: str, values: Mapping[str, Value]) -> str:
    """The text of ``templates/TEMPLATE.in`` with its places filled.

    Raises KeyError for a place that has no value and ValueError for a value that its file cannot hold:
    both are mistakes of ours, not of the user.
    """
    text = (FOLDER / f"{template}{ENDING}").read_text(encoding="utf-8")
    write = _WRITE[template.rpartition(".")[2]]

    def value_of(place: re.Match[str]) -> str:
        value = values[place[2]]
        return _comment(value) if place[1] else write(value)

    return _PLACE.sub(value_of, text)


def _comment(value: Value) -> str:
    text = str(value)
    if not text.isprintable():
        raise ValueError(f"a comment is one line: {text!r}")
    return text


def _python(value: Value) -> str:
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(value: Value) -> str:
    """A string of TOML, YAML, JSON and Python alike; all of them read these escapes the same way."""
    if any(unicodedata.category(char) in _UNSAFE for char in str(value)):
        raise ValueError(f"has characters that cannot be printed: {value!r}")
    return json.dumps(value, ensure_ascii=False)


def _plain(value: Value) -> str:
    """A value of TOML, YAML or JSON. YAML 1.1 takes ``1e-05`` for a word: it gets a point."""
    if isinstance(value, float):
        text = repr(value)
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    if isinstance(value, tuple):
        return f"[{', '.join(map(_quoted, value))}]"
    return _quoted(value)


def _shell(value: Value) -> str:
    words = value if isinstance(value, tuple) else (str(value),)
    return shlex.join(words)


_WRITE: Mapping[str, Callable[[Value], str]] = {
    "py": _python,
    "toml": _plain,
    "yaml": _plain,
    "json": _plain,
    "sh": _shell,
}
"""Ending of a file -> how a value is written in it."""
