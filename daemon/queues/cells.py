"""Read a queue file: cells, and settings for the cells below them.

::

    # three learning rates
    @command python train.py --out {dir} --config
    base:    configs/base.yaml
    lr-3e-4: configs/base.yaml --lr 3e-4
    eval:    @after=cell:base @gpus=0  configs/eval.yaml

Everything here is pure.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..system.errors import ConfigError
from ..text.similar import meant
from .words import Word, lines, split

PAGE = "how a queue file is written: docs/queue.md"
LONGEST_NAME = 80
"""Characters of a name, which is that of a folder too: the longest name of a file has 255 bytes, and a
character of Chinese three. Our choice."""
WITHIN_S = 86400.0
"""How long a cell waits for what it comes after, if nothing else is said: a day. Our choice."""
GATES = ("exists", "good", "cell")
RESERVED = ("failed", "all")
"""Words of ``--retry``, which no cell may be called."""

_NAME = re.compile(r"\w[\w.+=@-]*")
_CELL = re.compile(r"(?P<name>[^\s:#@][^\s:]*)[ \t]*:(?=\s|$)(?P<rest>.*)", re.DOTALL)
_SETTING = re.compile(r"@(?P<key>[A-Za-z][A-Za-z-]*)(=(?P<value>.*))?", re.DOTALL)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TIME = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PLACE = re.compile(r"\{(name|dir|epochs)\}")


@dataclass(frozen=True, slots=True)
class Gate:
    """What has to be there before a cell starts.

    ``exists``: a file that is not empty, or a folder with something in it, unchanged for a moment;
    ``good``: a save that ``middlewatch verify`` calls ok; ``cell``: another cell, finished with exit
    status 0. ``what``: an absolute path, or the name of a cell.
    """

    kind: str
    what: str


@dataclass(frozen=True, slots=True)
class Settings:
    """What the lines with ``@`` say. Paths are absolute."""

    command: tuple[str, ...] = ()
    workdir: str = ""
    cells: str = ""
    """The folder that has a folder for each cell."""
    gpus: int = 1
    epochs: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    after: tuple[Gate, ...] = ()
    within_s: float = WITHIN_S
    max_time_s: float = 0.0
    pinned: bool = True
    """A script that was changed after the cell was queued: the one of then is run."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One line. ``words``: the command, whole; ``dir``: the folder that is its alone."""

    name: str
    line: int
    words: tuple[str, ...]
    dir: str
    settings: Settings

    @property
    def trackers(self) -> str:
        """The folder for files of trackers, beside that of the cell, which is left to the command."""
        return str(Path(self.dir).parent / ".trackers" / self.name)

    @property
    def digest(self) -> str:
        """Changes when what is started changes: words, folder, environment, working folder. 16 hex digits."""
        said = self.settings
        parts: list[Any] = [self.words, self.dir, sorted(said.env.items()), said.workdir]
        parts += [said.gpus, said.max_time_s]
        return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class QueueFile:
    """All cells in their order."""

    path: str
    cells: tuple[Cell, ...] = ()


def parse(text: str, path: str) -> QueueFile:
    """The cells that ``text`` describes; ``path``: the file, absolute, whose folder is where relative
    paths begin. Raises ConfigError with the line it is about."""
    return _Parser(path).read(text)


class _Parser:
    def __init__(self, path: str) -> None:
        self.path = path
        self.folder = os.path.dirname(path)
        stem = os.path.splitext(os.path.basename(path))[0]
        self.below = Settings(workdir=self.folder, cells=str(Path(self.folder, f"{stem}.cells")))
        self.cells: dict[str, Cell] = {}
        self.line = 0

    def error(self, message: str, hint: str = PAGE) -> ConfigError:
        return ConfigError(f"{self.path}, line {self.line}: {message}", hint)

    def read(self, text: str) -> QueueFile:
        if "\0" in text:
            raise ConfigError(f"{self.path} is no text: it has a NUL byte", PAGE)
        for self.line, line in lines(text):
            said = line.strip()
            if not said or said.startswith("#"):
                continue
            if said.startswith("@"):
                self._directive(said)
            else:
                self._cell(said)
        self._gates_known()
        return QueueFile(self.path, tuple(self.cells.values()))

    def _words(self, text: str) -> list[Word]:
        try:
            words = split(text)
        except ValueError as error:
            raise self.error(
                str(error), "close the quote, or write \\' for an apostrophe"
            ) from None
        for word in words:
            if word.of_shell:
                hint = f"quote it if it is meant as it stands, or: bash -c '… {word.text} …'"
                raise self.error(f"{word.text} {word.of_shell}: no shell reads this line", hint)
        return words

    # -- settings -----------------------------------------------------------------------

    def _directive(self, text: str) -> None:
        head, *rest = self._words(text)
        match = _SETTING.fullmatch(head.text)
        if match is None:
            raise self.error(f"cannot read {head.text!r}", "a setting is like @gpus 1")
        values = [word.text for word in rest]
        if match["value"] is not None:
            values.insert(0, match["value"])
        self.below = self._set(self.below, match["key"], values)

    def _set(self, settings: Settings, key: str, values: Sequence[str]) -> Settings:
        taker = _TAKERS.get(key)
        if taker is None:
            near = meant(key, _TAKERS) or f"there are: {', '.join('@' + k for k in _TAKERS)}"
            raise self.error(f"there is no setting @{key}", near)
        try:
            return taker(self, settings, values)
        except ValueError as error:
            raise self.error(f"@{key}: {error}") from None

    def absolute(self, path: str) -> str:
        """``path``, from the folder of the file."""
        return os.path.normpath(Path(self.folder) / path)

    # -- cells --------------------------------------------------------------------------

    def _cell(self, text: str) -> None:
        match = _CELL.fullmatch(text)
        if match is None:
            hint = "like: base: python train.py --out {dir}"
            if "\uff1a" in text.split(" ", 1)[0]:
                hint = "the sign behind the name is : (U+003A), not the full-width one"
            raise self.error("a cell is a name, a colon, a space and its words", hint)
        name = match["name"]
        self._check_name(name)
        words = self._words(match["rest"])
        settings = self.below
        while words and words[0].bare.startswith("@"):
            found = _SETTING.fullmatch(words[0].text)
            if found is None or found["value"] is None:
                raise self.error(
                    f"cannot read {words[0].text}",
                    "before the command of a cell stands @KEY=VALUE; quote a word that begins with @",
                )
            if found["key"] in ("command", "cells"):
                raise self.error(
                    f"@{found['key']} is a line of its own, for all cells below it", PAGE
                )
            settings = self._set(settings, found["key"], [found["value"]])
            del words[0]
        given = (*settings.command, *(word.text for word in words))
        if not given:
            raise self.error(f"{name} has no command", "add it, or @command above it")
        folder = str(Path(settings.cells) / name)
        self.cells[name] = Cell(
            name=name,
            line=self.line,
            words=self._filled(given, name, folder, settings),
            dir=folder,
            settings=self._filled_env(settings, name, folder),
        )

    def _check_name(self, name: str) -> None:
        if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
            hint = f"letters, digits and . - + = @ _, at most {LONGEST_NAME}; it is the name of a folder"
            raise self.error(f"{name!r} cannot be the name of a cell", hint)
        if name in RESERVED:
            raise self.error(f"{name!r} is a word of --retry", "call the cell something else")
        if name in self.cells:
            there = self.cells[name].line
            raise self.error(
                f"{name} stands in line {there} already", "every cell has its own name"
            )

    def _filled(
        self, words: Sequence[str], name: str, folder: str, settings: Settings
    ) -> tuple[str, ...]:
        known = {"name": name, "dir": folder, "epochs": settings.epochs}

        def value(match: re.Match[str]) -> str:
            found = known[match[1]]
            if not found:
                raise self.error(f"{name} has no number of epochs", "like @epochs=3")
            return found

        return tuple(_PLACE.sub(value, word) for word in words)

    def _filled_env(self, settings: Settings, name: str, folder: str) -> Settings:
        values = self._filled(tuple(settings.env.values()), name, folder, settings)
        return replace(settings, env=dict(zip(settings.env, values, strict=True)))

    def _gates_known(self) -> None:
        """A cell comes after one that stands above it: so nothing waits for itself."""
        for cell in self.cells.values():
            for gate in cell.settings.after:
                if gate.kind != "cell":
                    continue
                self.line = cell.line
                other = self.cells.get(gate.what)
                if other is None:
                    near = meant(gate.what, self.cells) or "it names another cell of this file"
                    raise self.error(f"there is no cell {gate.what!r}", near)
                if other.line >= cell.line:
                    raise self.error(
                        f"{cell.name} comes after {other.name}, which stands below it",
                        "write it below that cell",
                    )


# ------------------------------------------------------------------------ what each setting takes


def seconds(text: str) -> float:
    """Seconds of a time like ``90s``, ``30m``, ``2h``, ``1d``. Raises ValueError."""
    match = _TIME.fullmatch(text)
    if match is None or not float(match[1]):
        raise ValueError(f"cannot read the time {text!r}: it is like 90s, 30m, 2h or 1d")
    return float(match[1]) * _SECONDS[match[2]]


def _one(values: Sequence[str]) -> str:
    if len(values) != 1 or not values[0]:
        raise ValueError("it takes one value")
    return values[0]


def _gpus(value: str) -> int:
    if not (value.isascii() and value.isdigit()) or int(value) > 1024:
        raise ValueError(f"{value!r} is no number of GPUs")
    return int(value)


def _epochs(value: str) -> str:
    if not (value.isascii() and value.isdigit()) or not int(value):
        raise ValueError(f"{value!r} is no number of epochs")
    return value


def _env(settings: Settings, values: Sequence[str]) -> Settings:
    found = dict(settings.env)
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not _VARIABLE.fullmatch(name):
            raise ValueError(f"{value!r} is not like NAME=VALUE")
        found[name] = text
    return replace(settings, env=found)


def _scripts(value: str) -> bool:
    if value not in ("pinned", "newest"):
        raise ValueError(f"{value!r} is neither pinned nor newest")
    return value == "pinned"


def _after(parser: _Parser, settings: Settings, values: Sequence[str]) -> Settings:
    """``exists:PATH``, ``good:PATH``, ``cell:NAME``; none: the cells below wait for nothing."""
    gates = []
    for value in values:
        kind, colon, what = value.partition(":")
        if not colon or not what or kind not in GATES:
            known = ", ".join(f"{one}:…" for one in GATES)
            raise ValueError(f"cannot read {value!r}: it is one of {known}")
        gates.append(Gate(kind, what if kind == "cell" else parser.absolute(what)))
    return replace(settings, after=tuple(gates))


_Taker = Callable[[_Parser, Settings, Sequence[str]], Settings]
_TAKERS: Mapping[str, _Taker] = {
    "command": lambda _, s, v: replace(s, command=tuple(v)),
    "workdir": lambda p, s, v: replace(s, workdir=p.absolute(_one(v))),
    "cells": lambda p, s, v: replace(s, cells=p.absolute(_one(v))),
    "gpus": lambda _, s, v: replace(s, gpus=_gpus(_one(v))),
    "epochs": lambda _, s, v: replace(s, epochs=_epochs(_one(v))),
    "env": lambda _, s, v: _env(s, v),
    "after": _after,
    "within": lambda _, s, v: replace(s, within_s=seconds(_one(v))),
    "max-time": lambda _, s, v: replace(s, max_time_s=seconds(_one(v))),
    "scripts": lambda _, s, v: replace(s, pinned=_scripts(_one(v))),
}
"""Key of each setting -> what takes its words."""
