"""``completion``: a program for the shell that completes commands, options, values and names of runs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from middlewatch.sentinels.kit.classes import CLASSES

from ..system.errors import MiddlewatchError, UsageError
from . import arguments, console
from .context import client

ANSWER_S = 0.5
"""Seconds for the names of the runs: nobody waits longer for the Tab key. Our choice."""
_RUNS = {"bash": "_middlewatch_names_runs", "zsh": "_middlewatch_names_runs", "tcsh": ""}
_FILES = frozenset(("FILE", "PATH", "path", "file", "DEST"))
_FOLDERS = frozenset(("DIR",))
_PREAMBLE = {
    "bash": """
_middlewatch_names_runs() { compgen -W "$(middlewatch completion runs 2>/dev/null)" -- "$1"; }
""",
    "zsh": """
_middlewatch_names_runs() { compadd -- ${(f)"$(middlewatch completion runs 2>/dev/null)"} }
""",
    "tcsh": "",
}


def completion(args: argparse.Namespace) -> int:
    """Print the program for a shell, or with ``runs`` the names of the runs that the daemon knows."""
    if args.shell == "runs":
        return _names(args)
    try:
        import shtab  # imported here: only this command needs it
    except ImportError:
        raise UsageError(
            "completion needs the package shtab",
            "pip install shtab, where middlewatch is installed",
        ) from None
    parser = arguments.build()
    # Written here once, and again for every value with choices: shtab would not know them else.
    files: dict[str, Any] = {"file": shtab.FILE, "folder": shtab.DIRECTORY}
    for command in _commands(parser).values():
        for action in command._actions:  # noqa: SLF001 - argparse has no other way to list them
            _say_what(action, files)
    written: Any = shtab.complete
    print(written(parser, args.shell, preamble=_PREAMBLE))
    return 0


def _commands(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    actions = parser._actions  # noqa: SLF001 - argparse has no other way to list them
    sub: Any = next(a for a in actions if a.metavar == "COMMAND")
    commands: Mapping[str, argparse.ArgumentParser] = sub.choices
    return commands


def _say_what(action: argparse.Action, files: Mapping[str, Any]) -> None:
    """Tell shtab how the value of an option or argument is completed."""
    metavar = str(action.metavar or action.dest)
    if action.dest == "run" and action.nargs != 0:
        action.complete = _RUNS  # type: ignore[attr-defined]
    elif action.dest == "trouble" and not action.choices:
        action.choices = [row.name for row in CLASSES]
    elif metavar in _FILES and action.nargs != 0:
        action.complete = files["file"]  # type: ignore[attr-defined]
    elif metavar in _FOLDERS and action.nargs != 0:
        action.complete = files["folder"]  # type: ignore[attr-defined]


def _names(args: argparse.Namespace) -> int:
    """Print names and ids of the runs; nothing when no daemon answers at once."""
    try:
        known = client(args, ANSWER_S).ask("runs")
    except MiddlewatchError:
        return 0
    for name in sorted(
        {r["run"] for r in known} | {r["name"] for r in known if " " not in r["name"]}
    ):
        console.say(name)
    return 0
