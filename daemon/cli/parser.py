"""The parser of arguments, with words for mistyped ones."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import NoReturn

from ..text.similar import meant


class Parser(argparse.ArgumentParser):
    """An argument parser that says what was meant by a mistyped command or choice."""

    def error(self, message: str) -> NoReturn:
        """Leave with status 2 and words that help."""
        wrong = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if wrong:
            names = re.findall(r"[\w-]+", wrong[2])
            near = meant(wrong[1], names)
            message = (
                message[: wrong.start()]
                + f"there is no {wrong[1]!r}; "
                + (near or f"there are: {', '.join(names)}")
            )
        super().error(message)


Add = Callable[..., Parser]
"""Adds a command with its help, and returns its parser."""
