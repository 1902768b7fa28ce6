"""Questions to the person at the terminal. They go to standard error: what is printed may be JSON."""

from __future__ import annotations

import contextlib
import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ..system.errors import MiddlewatchError, UsageError
from . import console

Answer = TypeVar("Answer")


class NoAnswer(UsageError):
    """The input ended at a question."""


def can_ask() -> bool:
    """True when somebody can read a question and answer it."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str, default: str = "") -> str:
    """A line of text; Enter takes ``default``. Raises :class:`NoAnswer`."""
    shown = f" [{default}]" if default else ""
    console.complain(f"  {question}{shown}: ", end="")
    line = sys.stdin.readline()
    if not line.endswith("\n"):
        console.complain("")
        raise NoAnswer("the input ended at a question: nothing was changed")
    return line.strip() or default


def ask_secret(question: str) -> str:
    """A line that is not shown while it is typed: a terminal may be recorded."""
    with _silent():
        answer = ask(f"{question} (is not shown)")
    console.complain("")
    return answer


def agreed(question: str, *, default: bool) -> bool:
    """Yes or no; asked again until it is one of them."""
    while True:
        answer = ask(f"{question} [{'Y/n' if default else 'y/N'}]").lower()
        if answer in ("", "y", "yes", "n", "no"):
            return answer.startswith("y") if answer else default
        console.complain("  y or n, please")


def pick(title: str, choices: Sequence[str]) -> tuple[int, str]:
    """(place of the choice that was made; what was typed). The first choice is the default. A URL
    is taken as well, as choice -1."""
    console.complain(title)
    for number, choice in enumerate(choices, 1):
        console.complain(f"  {number}  {choice}")
    while True:
        answer = ask("which", "1")
        if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(choices):
            return int(answer) - 1, answer
        if "://" in answer:
            return -1, answer
        console.complain(f"  a number from 1 to {len(choices)}, please")


def until_right(attempt: Callable[[], Answer]) -> Answer:
    """What ``attempt`` returns; a mistake of the person is told, and it is tried again."""
    while True:
        try:
            return attempt()
        except NoAnswer:
            raise
        except MiddlewatchError as error:
            console.complain(f"  {error}")
            if error.hint:
                console.complain(f"  {error.hint}")


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """The terminal shows nothing that is typed."""
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    quiet = termios.tcgetattr(fd)
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
