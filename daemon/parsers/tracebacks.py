"""Python tracebacks: from their head, over the frames, to the exception that ends them.

Ranks may print theirs at the same time, each line behind its rank prefix; each is followed
by itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .text import MAX_TEXT

HEAD = "Traceback (most recent call last)"
_CHAIN = (
    "During handling of the above exception",
    "The above exception was the direct cause",
)
_FRAME = re.compile(r'^\s{1,12}File "[^"]{1,300}", line \d+, in \S')
_IGNORED = re.compile(r"^Exception (?:ignored in|in thread)\b")
_ERROR_NAME = re.compile(
    r"^(?P<name>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?:\(\w+\))?(?::(?:\s(?P<message>.*))?)?$",
    re.DOTALL,
)
_LOOKS_LIKE_ERROR = re.compile(
    r"(?:Error|Exception|Interrupt|Exit|Iteration|Warning|[Tt]imeout|Failure|Abort|Fault|Refused|Exceeded|Exhausted"
    r"|Unavailable|NotFound|Cancelled|Diverged|gaierror|Quit)$"
)
_CAMEL = re.compile(r"^_?[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+$")

MAX_OPEN = 64
"""Tracebacks followed at once: the ranks of eight nodes."""
MAX_LINES = 400
MAX_STRAY = 40
"""Lines of other output within a traceback, printed by other processes, before it is given up."""


@dataclass(slots=True)
class Open:
    """A traceback whose exception has not come yet."""

    line: int
    text: str
    lead: str
    """What the log library writes before each line, as a shape."""
    ignored: bool
    chained: bool
    seen: int = 0
    stray: int = 0


@dataclass(frozen=True, slots=True)
class Raised:
    """The exception at the end of a traceback."""

    head_line: int
    head_text: str
    text: str
    """``SomeError: message``; empty when the traceback never came to its end."""
    exception: str
    """Class name without its module."""
    message: str
    ignored: bool
    """Printed for an exception that went no further (in a finaliser or a thread)."""
    chained: bool
    """Raised while another exception was handled, or caused by it."""


def split_error(text: str) -> tuple[str, str] | None:
    """(class name, message) of a ``SomeError: message`` line."""
    match = _ERROR_NAME.match(text)
    if match is None:
        return None
    name = match["name"].rpartition(".")[2]
    if _LOOKS_LIKE_ERROR.search(name) or ("." in match["name"] and _CAMEL.match(name)):
        return name, (match["message"] or "").strip()
    if text.rstrip() != match["name"] and _CAMEL.match(name) and ":" in text:
        return name, (match["message"] or "").strip()
    return None


def _shape(text: str) -> str:
    return re.sub(r"\d+", "0", text)


class Tracebacks:
    """Follows the open tracebacks of one log."""

    ATOMS = (
        "traceback (most recent call last)",
        "during handling of the above exception",
        "the above exception was the direct cause",
        "exception ignored in",
        "exception in thread",
        '", line ',
    )
    """As in a signature: one of them is in every line that :meth:`concerns` this class."""

    def __init__(self) -> None:
        self.open: dict[str, Open] = {}
        """By prefix of their lines (rank), empty for none."""
        self._ignored = False
        self._chained = False

    @property
    def active(self) -> bool:
        """Lines have to be shown to :meth:`feed` now."""
        return bool(self.open) or self._ignored or self._chained

    @staticmethod
    def concerns(text: str) -> bool:
        """A line of this shape must be shown to :meth:`feed` at any time."""
        return (
            HEAD in text
            or text.startswith(_CHAIN)
            or bool(_IGNORED.match(text) or _FRAME.match(text))
        )

    def feed(self, prefix: str, text: str, line: int) -> tuple[bool, Raised | None]:
        """(the line belongs to a traceback, the exception it ends with)."""
        at = text.find(HEAD)
        if at >= 0:
            return True, self._begin(prefix, text, at, line)
        if text.startswith(_CHAIN):
            self._chained = True
            return True, None
        if _IGNORED.match(text):
            self._ignored = True
            return True, None
        trace = self.open.get(prefix)
        if trace is None and _FRAME.match(text):
            # the head is missing: the log begins here, or its head went elsewhere
            return True, self._begin(prefix, text, 0, line)
        if trace is None:
            self._ignored = self._chained = False
            return False, None
        return self._follow(prefix, trace, text)

    def _begin(self, prefix: str, text: str, at: int, line: int) -> Raised | None:
        before = self.open.pop(prefix, None)
        if len(self.open) >= MAX_OPEN:
            self.open.pop(next(iter(self.open)))
        lead = _shape(text[:at])
        self.open[prefix] = Open(
            line, text, lead if lead.strip() else "", self._ignored, self._chained
        )
        self._ignored = self._chained = False
        return None if before is None else self._unfinished(before)

    def _follow(self, prefix: str, trace: Open, text: str) -> tuple[bool, Raised | None]:
        trace.seen += 1
        if trace.lead:
            text = self._without_lead(trace.lead, text)
        if text[:1].isspace() or text.startswith(("|", "+")):
            return self._given_up(prefix, trace, stray=False)
        error = split_error(text)
        if error is None:
            return self._given_up(prefix, trace, stray=True)
        del self.open[prefix]
        raised = Raised(trace.line, trace.text, text, *error, trace.ignored, trace.chained)
        return True, raised

    def _given_up(self, prefix: str, trace: Open, stray: bool) -> tuple[bool, Raised | None]:
        trace.stray += stray
        if trace.stray <= MAX_STRAY and trace.seen <= MAX_LINES:
            return not stray, None
        del self.open[prefix]
        return not stray, self._unfinished(trace)

    @staticmethod
    def _without_lead(lead: str, text: str) -> str:
        """Cut off what the log library wrote before the line, when it did."""
        at = 0
        for wanted in re.split(r"0", lead):
            if not text.startswith(wanted, at):
                return text
            at += len(wanted)
            while at < len(text) and text[at].isdigit():
                at += 1
        return text[at:]

    @staticmethod
    def _unfinished(trace: Open) -> Raised:
        return Raised(trace.line, trace.text, "", "", "", trace.ignored, trace.chained)

    def finish(self) -> list[Raised]:
        """The log has ended: tracebacks that never came to their exception."""
        left = [self._unfinished(t) for t in self.open.values()]
        self.open.clear()
        return left

    def save(self) -> dict[str, object]:
        """What the next lines depend on, as plain JSON values."""
        rows = [
            [p, t.line, t.text[: MAX_TEXT + 1], t.lead, t.ignored, t.chained, t.seen, t.stray]
            for p, t in self.open.items()
        ]
        return {"open": rows, "ignored": self._ignored, "chained": self._chained}

    def restore(self, state: object) -> None:
        """Take back what :meth:`save` gave; anything else is passed over."""
        if not isinstance(state, dict):
            return
        self._ignored = state.get("ignored") is True
        self._chained = state.get("chained") is True
        rows = state.get("open")
        for row in rows if isinstance(rows, list) else ():
            if not isinstance(row, list) or len(row) != 8 or len(self.open) >= MAX_OPEN:
                continue
            prefix, line, text, lead, ignored, chained, seen, stray = row
            if type(line) is int and type(seen) is int and type(stray) is int:
                self.open[str(prefix)] = Open(
                    line, str(text), str(lead), ignored is True, chained is True, seen, stray
                )
