"""The parser of arguments: what it complains of is said in one line, and what to do in the next."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..text.similar import meant

ANYWHERE = {"--json": 0, "--state-dir": 1, "--config": 1}
"""Options that may stand before the command as well, and how many values each has."""
_WRONG_TYPE = re.compile(r"argument (\S+): invalid (\w+) value: '(.*)'", re.DOTALL)
_WRONG_CHOICE = re.compile(
    r"(?:argument (\S+): )?invalid choice: '(.*)' \(choose from (.*)\)", re.DOTALL
)
_OF_ONE = re.compile(r"argument (\S+): (.*)", re.DOTALL)
_KINDS = {"int": "a whole number", "float": "a number"}


COMMAND_BEHIND = frozenset({"launch"})
"""Commands with words of their own before ``--``: argparse would take those for the command behind it."""


class Parser(argparse.ArgumentParser):
    """An argument parser that says what was meant by a mistyped command, option or choice."""

    example = ""
    """How the command is typed."""
    gathers = ""
    """The list of words that may stand before and behind options: argparse takes only those that stand
    together."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does, but for the commands of :data:`COMMAND_BEHIND`."""
        words = list(sys.argv[1:] if args is None else args)
        if "--" not in words or words[0] not in COMMAND_BEHIND:
            return super().parse_known_args(words, namespace)
        place = words.index("--")
        found, left = super().parse_known_args(words[:place], namespace)
        found.command = words[place + 1 :]
        return found, left

    def error(self, message: str) -> NoReturn:
        """Leave with status 2 and words that help."""
        self.wrong(*self._words(message))

    def wrong(self, message: str, hint: str) -> NoReturn:
        """Leave with status 2, a sentence and what to do."""
        from .console import complain  # imported here: the resident process needs none of it

        complain(f"{self.prog}: {message}")
        complain(f"  {hint}")
        raise SystemExit(2)

    def _words(self, message: str) -> tuple[str, str]:
        """What :mod:`argparse` complains of, for a person, and what to do."""
        if found := _WRONG_CHOICE.match(message):
            names = re.findall(r"[\w-]+", found[3])
            near = meant(found[2], names) or f"there are: {', '.join(names)}"
            return f"there is no {found[2]!r}", near
        if found := _WRONG_TYPE.match(message):
            kind = _KINDS.get(found[2], f"a value like {self.example}")
            hint = self._help_of(found[1])
            if found[1] == "--pid":
                hint = f"for its number: pgrep -f {shlex.quote(found[3])}"
            return f"{found[1]} takes {kind}, not {found[3]!r}", hint
        if message.startswith("the following arguments are required: "):
            missing = message.partition(": ")[2]
            return f"{missing} is missing", self._help_of(missing.partition(",")[0])
        if found := _OF_ONE.match(message):
            said = found[2].replace("expected one argument", "a value is missing")
            return f"{found[1]}: {said}", self._help_of(found[1])
        return message, f"see {self.prog} --help"

    def _help_of(self, name: str) -> str:
        """What an option or argument is, and where the rest stands."""
        wanted = set(name.split("/"))
        for action in self._actions:
            if wanted & {*action.option_strings, action.dest, str(action.metavar)} and action.help:
                example = f"; example: {self.example}" if self.example else ""
                return f"{name}: {action.help}{example}"
        return f"see {self.prog} --help"

    def unknown(self, words: Sequence[str]) -> NoReturn:
        """Complain of words that mean nothing to this command."""
        first = words[0]
        if first.startswith("-") and len(first) > 1:
            names = [o for action in self._actions for o in action.option_strings]
            option = first.partition("=")[0]
            near = meant(f"--{option.lstrip('-')}", [n for n in names if n.startswith("--")])
            self.wrong(f"there is no option {option}", near or f"see {self.prog} --help")
        name = self.prog.rpartition(" ")[2]
        self.wrong(
            f"{name} takes no word {first!r}", _stray(name, words) or f"see {self.prog} --help"
        )


def json_option(sub: Parser) -> None:
    """Add the option of nearly every command."""
    sub.add_argument("--json", action="store_true", help="print JSON")


Add = Callable[..., Parser]
"""Adds a command with its help, and returns its parser."""


def _stray(command: str, words: Sequence[str]) -> str:
    """What was meant by a word too many."""
    first, option = shlex.quote(words[0]), ""
    if command == "watch":
        option = "--pid" if words[0].isdecimal() else "--log"
        option = "--checkpoints" if os.path.isdir(words[0]) else option
    elif command in ("silence", "incidents"):
        option = "--run"
    elif command == "alert":
        return "one URL at a time, and in quotes: the shell reads & and ? otherwise"
    return f"did you mean: middlewatch {command} {option} {first}" if option else ""


def in_front(words: Sequence[str]) -> list[str]:
    """The words with the options of :data:`ANYWHERE` that stand before the command behind it."""
    moved: list[str] = []
    rest = list(words)
    while rest and rest[0].partition("=")[0] in ANYWHERE:
        values = 0 if "=" in rest[0] else ANYWHERE[rest[0]]
        moved += rest[: 1 + values]
        del rest[: 1 + values]
    return [*rest[:1], *moved, *rest[1:]]


def parsed(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    """The arguments. Raises SystemExit with status 2 for wrong ones, and 0 after ``--help``."""
    args: argparse.Namespace
    args, left = parser.parse_known_args(in_front(words))
    if left:
        told: Any = getattr(args, "parser", parser)
        if not told.gathers or any(word.startswith("-") for word in left):
            told.unknown(left)
        getattr(args, told.gathers).extend(left)
    return args
