"""``src/man/middlewatch.1``: the manual page, from the parser of arguments."""

from __future__ import annotations

import argparse
import re

from middlewatch.daemon.cli.arguments import build

FILES = (
    ("/etc/middlewatch/config.toml", "the configuration of root; that of a user is in $XDG_CONFIG_HOME/middlewatch"),
    ("/var/lib/middlewatch", "the state of root's daemon; that of a user is in $XDG_STATE_HOME/middlewatch"),
)  # fmt: skip
VARIABLES = (
    ("MIDDLEWATCH_CONFIG", "the configuration file, where --config does not name one"),
    ("MIDDLEWATCH_STATE_DIR", "the state directory, where --state-dir does not name one"),
    ("MIDDLEWATCH_ALERT_URLS", "alert URLs, separated by commas"),
    ("NO_COLOR", "if set, nothing is coloured"),
    ("FORCE_COLOR", "if set, text is coloured also where the output is no terminal"),
)


def man_page() -> str:
    """The page as roff. It names no version: it changes only when commands or options do."""
    parser = build()
    (sub,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    lines = [
        '.\\" Generated from the code. Change it there, then: python tests/house/test_docs.py --write',
        ".TH MIDDLEWATCH 1",
        ".SH NAME",
        "middlewatch \\- watches long GPU trainings on rented boxes",
        ".SH SYNOPSIS",
        ".B middlewatch",
        "\\fICOMMAND\\fR [\\fIOPTION\\fR...]",
        ".br",
        ".B mw",
        "\\fICOMMAND\\fR [\\fIOPTION\\fR...]",
        ".SH DESCRIPTION",
        "A daemon that watches training runs, calls a phone through Apprise when something breaks, verifies",
        "checkpoints, and says what was wrong with a run that is over.",
        "\\fB\\-\\-json\\fR, \\fB\\-\\-state\\-dir\\fR and \\fB\\-\\-config\\fR may stand before or after the command.",
        ".SH COMMANDS",
    ]
    for name, command in sub.choices.items():
        lines += _command(name, command)
    lines.append(".SH EXIT STATUS")
    for status, what in re.findall(
        r"(\d) ([^,\n]+)", str(parser.epilog).partition("exit codes:")[2]
    ):
        lines += [".TP", f".B {status}", _plain(what)]
    for title, rows in (("ENVIRONMENT", VARIABLES), ("FILES", FILES)):
        lines.append(f".SH {title}")
        for word, what in rows:
            lines += [".TP", f".B {_plain(word)}", _plain(what)]
    return "\n".join(lines) + "\n"


def _command(name: str, command: argparse.ArgumentParser) -> list[str]:
    given = [f"\\fI{_plain(_shown(a))}\\fR" for a in command._actions if not a.option_strings]
    text = command.description or "Show the help of a command."
    lines = [".SS " + " ".join([f"middlewatch {name}", *given]), _plain(text)]
    for action in command._actions:
        if action.help and "--help" not in action.option_strings:
            lines += [".TP", _label(action), _plain(action.help)]
    example = (command.epilog or "").removeprefix("example: ")
    return [*lines, ".PP", "Example:", f".B {_plain(example)}"] if example else lines


def _label(action: argparse.Action) -> str:
    names = ", ".join(f"\\fB{_plain(option)}\\fR" for option in action.option_strings)
    value = "" if action.nargs == 0 else f"\\fI{_plain(_shown(action))}\\fR"
    return f"{names} {value}".strip()


def _shown(action: argparse.Action) -> str:
    return (
        "|".join(action.choices) if action.choices else str(action.metavar or action.dest.upper())
    )


def _plain(text: str) -> str:
    """Text in which roff finds nothing to obey."""
    text = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return f"\\&{text}" if text[:1] in (".", "'") else text
