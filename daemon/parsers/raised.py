"""A traceback while it is read, and the exception at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(slots=True)
class Open:
    """A traceback whose end has not come yet."""

    line: int
    text: str
    lead: str
    """Shape of the text that the log library writes before each line."""
    ignored: bool
    chained: bool
    headless: bool = False
    """It began with a frame, so it may be a stack that was printed for another reason."""
    seen: int = 0
    stray: int = 0
    prefix: str = ""
    """Prefix of its lines, which shows the rank; empty for none."""
    indent: int = 0
    """Blanks before the head: a launcher that quotes a traceback indents all of it."""
    data: bool = False
    """One of its frames reads training data."""
    save: bool = False
    """One of its frames saves a checkpoint."""
    load: bool = False
    """One of its frames loads a checkpoint."""
    script: str = ""
    """The file of its first frame, if that is the top of a script."""
    error: str = ""
    """Its last line, if the message begins in the lines below."""
    blank: int = 0
    """Blank lines below that one."""
    thread: str = ""
    """Name of the thread that it ends, once one of its frames is in a file of the program's own."""
    frame: str = ""
    """Its last frame in a file of the program's own."""
    frame_line: int = 0
    inner: str = ""
    """The first frame below that one: what the program called; the last of all where no file is the program's own."""
    code: str = ""
    """The line of the program that the last own frame shows; ..."""
    code_due: bool = False
    """... it is the next one."""
    handled: bool = False
    """It came while another exception was handled, which it does not name as its cause."""
    cause: str = ""
    """The first exception of the chain that this one ends; empty for none."""
    SAVED: ClassVar[Any] = (
        *("prefix", "line", "text", "lead"),
        *("ignored", "chained", "headless", "seen", "stray", "indent", "data", "save", "script"),
        *("load", "error", "blank", "thread", "frame", "frame_line", "inner"),
        *("code", "code_due", "handled"),
    )


@dataclass(frozen=True, slots=True)
class Raised:
    """The exception at the end of a traceback."""

    head_line: int
    head_text: str
    text: str
    """``SomeError: message``; empty when the end of the traceback never came."""
    exception: str
    """Class name without its module."""
    message: str
    ignored: bool
    """The exception did not end the program: it was raised in a finaliser or a thread."""
    chained: bool
    """It was raised while another exception was handled, or caused by one."""
    data: bool = False
    """It was raised while a batch of training data was read."""
    save: bool = False
    """It was raised while a checkpoint was saved."""
    load: bool = False
    """It was raised while a checkpoint was loaded."""
    script: str = ""
    """The script through whose top it went, so that it ended the program; empty if that is not known."""
    thread: str = ""
    """The thread of the program's own that it ended; empty for a library's, and if it ended none."""
    frame: str = ""
    """The last frame in a file of the program's own, and the line of the log where it stands."""
    frame_line: int = 0
    inner: str = ""
    """The frame below that one: what the program had called; the last of all where no file is its own."""
    code: str = ""
    """What stands in that line of the program; empty if the traceback does not show it."""
    handled: bool = False
    """It came while another exception was handled, which it does not name as its cause."""
    cause: str = ""
    """The exception with which the chain began that this one ends; empty if it ends none."""
