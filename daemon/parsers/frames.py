"""Frames of tracebacks: whose file a line shows, as Python, IPython and Rich write it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PYTHON = re.compile(
    r'^\s{1,12}File "(?P<file>[^"]{1,300})", line (?P<line>\d{1,7}), in (?P<name>\S{1,80})'
)
_IPYTHON = re.compile(
    r"^(?:File (?P<file>[~/.\w][^:\n]{0,300}\.py):(?P<line>\d{1,7}),),? in (?P<name>[\w<>.]{1,80})"
)
_CELL = re.compile(
    r"^(?P<file>Cell In ?\[\d+\]), line (?P<line>\d{1,7})(?:,? in (?P<name>[\w<>.]{1,80})|\s*$)"
)
_RICH = re.compile(
    r"^\s*[\u2502|] (?P<file>[~/.\w][^:\n]{0,300}\.py):(?P<line>\d{1,7}) in (?P<name>[\w<>.]{1,80})\s+[\u2502|]\s*$"
)
"""Rich's box; a path that is too long for its width is broken into two lines, and not read."""
_LIBRARY = re.compile(
    r"(?:site|dist)-packages[/\\]|[/\\]lib[/\\]python[\d.]+[/\\]|[/\\]envs[/\\][^/\\]+[/\\]lib[/\\]"
    r"|[/\\]Python\d*[/\\]Lib[/\\]|[/\\]bin[/\\][\w-]+$|^<(?!ipython)"
)
"""Where the files of Python and of installed packages lie; the programs that pip puts into ``bin`` are of packages."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a traceback."""

    file: str
    line: int
    name: str
    """Of the function; ``<module>`` at the top of a file."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.name}"

    @property
    def own(self) -> bool:
        """Whether it is in a file of the program's own, not of Python or of an installed package."""
        return _LIBRARY.search(self.file) is None


def frame_of(text: str, *, indented: bool = True) -> Frame | None:
    """The frame that this line shows; ``None`` for any other line. ``indented``: as it stands in the log."""
    match = (
        _PYTHON.match(text if indented else f"  {text}")
        or _IPYTHON.match(text)
        or _CELL.match(text)
        or _RICH.match(text)
    )
    if match is None:
        return None
    name = match["name"] or "<module>"
    return Frame(match["file"], int(match["line"]), name.rstrip(","))
