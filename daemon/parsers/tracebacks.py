"""Python tracebacks: from the head over the frames to the exception at the end.

Several ranks may print tracebacks at the same time, each line with its rank prefix. They are
followed separately.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated

from middlewatch.sentinels.kit.codec import UNSAVED, Keyed

from .frames import frame_of
from .raised import Open, Raised
from .text import MAX_TEXT

HEAD = "Traceback (most recent call last)"
_HEAD = re.compile(
    r"Traceback \(most recent call last\)"
    r"(?P<rest>:?\s*$|:?\s*[\u2500-\u257f|+=-].*$|:?[\\ ]+n?\s*.*\bFile\b.*$)",
    re.DOTALL,
)
"""The head and what may follow it: nothing, the edge of a box, or the rest of the traceback where a
log collector has joined the lines. With anything else it is a sentence about tracebacks."""
_CHAIN = (
    "During handling of the above exception",
    "The above exception was the direct cause",
)
_FRAME = re.compile(r'^\s{1,12}File "[^"]{1,300}", line \d+, in \S')
_SCRIPT = re.compile(r'^\s{1,12}File "(?P<file>[^"<]{1,300})", line \d+, in <module>$')
"""The first frame of an exception that nobody caught in the main thread of a script."""
_IGNORED = re.compile(
    r'^(?:Exception ignored in\b|(?:.{0,400}\])?Exception in thread (?!")|--- Logging error ---|Error in (?:atexit|sys\.)\S+:'
    r"|(?:\w+:\w+:)?(?:Task|Future) exception was never retrieved|An error occurred during Hydra's exception formatting)"
)
_THREAD = re.compile(r"(?:.{0,400}\])?Exception in thread (?P<name>[^\"\n]{1,60}?):?\s*$")
_CODE = re.compile(r"-+> ?\d+ +(?P<cell>\S.*)|\S(?!-*>)|\s+(?!\d+ )(?P<text>\S.*)")
"""The line of the program below a frame: the next one, or the one with the arrow of IPython."""
_BETWEEN = re.compile(
    r"^(?:[\u2500-\u257f|+]|> File |-+> ?\d+|File [~/<]|Cell In ?\[|<ipython-input|/\S+ in \S|~/\S+ in \S|\d{1,3}  +\S|\[\.\.\. skipp)"
)
"""Lines without indentation that belong to a traceback: Rich, loguru, IPython, C++ frames."""
_REDRAWN = re.compile(r"%\|| it/s\b|s/it\b")
_OF_DATA = re.compile(
    r"torch/utils/data/|DataLoader worker|/webdataset/|/torchdata/|grain/python"
    r"|^(?!.*(?:site|dist)-packages/).*(?:, in __getitems?__\b"
    r"|[/\"](?:data|corpus|shards?|data_?(?:sets?|loader|loading|module|reader|pipe(?:line)?))\.py\", line )"
)
"""Frames, and the message, of an exception that was raised while a batch of data was read. One that a
data set has caught itself shows no frame of the loader; a loop of one's own has one in a module that is called so."""
_OF_SAVE = re.compile(
    r"\b(?:torch\.save|pickle\.dump)\(|\bsave_(?:checkpoint|pretrained|model|state|file|weights)\w*\b|\.savez?(?:_compressed)?\("
)
"""Frames of an exception that was raised while a checkpoint was saved."""
_OF_LOAD = re.compile(
    r"\b(?:torch\.load|load_file|safe_open|msgpack_restore)\("
    r"|\b(?:load|restore|resume)_(?:from_)?(?:checkpoint|pretrained|model|state|weights)\w*\("
)
"""The same while one was loaded."""
_NO_MESSAGE = ("", "Graph execution error:")
"""What stands before a message that begins in the lines below; the second one is TensorFlow's."""
_BEFORE_MESSAGE = re.compile(
    r"Detected at node .{1,200} \(most recent call last\):|<stack traces unavailable>|File \".{1,300}\", line \d+, in |Stack trace for op definition:"
)
"""What TensorFlow writes between ``Graph execution error:`` and the message: where the node was defined."""
_QUOTES = ('"""', "'''")
_ERROR_NAME = re.compile(
    r"^(?P<name>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?:\(\w+\))?(?::(?:\s(?P<message>.*))?)?$",
    re.DOTALL,
)
_LOOKS_LIKE_ERROR = re.compile(
    r"(?:Error|Exception|ExceptionGroup|Interrupt|Exit|Iteration|Warning|[Tt]imeout|Failure|Abort|Fault|Refused|Exceeded"
    r"|Exhausted|Unavailable|NotFound|Cancelled|Diverged|gaierror|Quit)$"
)
_CAMEL = re.compile(r"^_?[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+$")
_DOTTED = re.compile(r"^(?:error|Empty|Full|Panic)$")
_JOINED = re.compile(
    r"(?:^|\\n|\s)(?P<name>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit))(?P<tail>:\s?.*)?$",
    re.DOTALL,
)

_EMPTY = ("ChildFailedError", "KeyboardInterrupt")
"""Exceptions with a colon and no message: a table of ranks follows, or nothing."""
MAX_BLANK = 2

MAX_OPEN = 64
"""Tracebacks followed at once: the ranks of eight nodes."""
MAX_LINES = 400
_PASSES = re.compile(r"[/\\](?:tqdm[/\\]\w+|functools|_?contextlib|c10d_logger)\.py$")
"""Files whose frames only pass a call on."""
MAX_CODE = 120
"""Characters that are kept of the line of the program that a frame shows."""
ANNOUNCED = 3
"""Limit on the lines of other processes between an announcement and its traceback."""
MAX_STRAY = 40
"""Limit on the lines of other processes within a traceback; after them it is given up."""

OPENINGS = (
    _HEAD.pattern,
    _IGNORED.pattern,
    _FRAME.pattern,
    *(rf"^{re.escape(announced)}" for announced in _CHAIN),
)
"""Every line for which :meth:`Tracebacks.concerns` is true matches one of them."""


_WRAPPERS = ("RuntimeError", "ImportError", "SystemError", "Exception")
"""What extensions in C++ raise in place of the exception that came to them."""
_WRAPPED = re.compile(
    r"(?P<name>KeyboardInterrupt|SystemExit|MemoryError|[A-Z]\w+Error)(?::\s*(?P<message>.*))?$"
)


def _unwrapped(text: str, name: str, message: str) -> tuple[str, str, str]:
    """(text, class name, message) of an exception; of the one in its message in place of one that only wraps it:
    ``RuntimeError: KeyboardInterrupt:``."""
    inner = _WRAPPED.match(message) if name in _WRAPPERS else None
    if inner is None:
        return text, name, message
    return message.rstrip(": "), inner["name"], inner["message"] or ""


def split_error(text: str) -> tuple[str, str] | None:
    """(class name, message) of a ``SomeError: message`` line; ``None`` for any other line."""
    match = _ERROR_NAME.match(text)
    if match is None:
        return None
    name = match["name"].rpartition(".")[2]
    if _LOOKS_LIKE_ERROR.search(name):
        return name, (match["message"] or "").strip()
    dotted = "." in match["name"]
    if dotted and (
        _CAMEL.match(name) or _DOTTED.match(name) or (name[0].isupper() and match["message"])
    ):
        return name, (match["message"] or "").strip()
    if text.rstrip() != match["name"] and _CAMEL.match(name) and ":" in text:
        return name, (match["message"] or "").strip()
    return None


def _shape(text: str) -> str:
    return re.sub(r"\d+", "0", text)


@dataclass(eq=False)
class Tracebacks:
    """Follows the open tracebacks of one log."""

    open: Annotated[dict[str, Open], Keyed("prefix")] = field(default_factory=dict)
    """By the prefix of their lines, which shows the rank; empty for none."""
    _ignored: int = 0
    _chained: int = 0
    """Number of lines within which the traceback announced in this way may still begin."""
    _handled: bool = field(default=False, metadata=UNSAVED)
    """The announced one came while another was handled, and was not caused by it."""
    _thread: str = ""
    """The thread of which the newest such line spoke."""
    _raised: str = field(default="", metadata=UNSAVED)
    """The newest exception, or the first one of its chain."""
    _raised_by: str = field(default="", metadata=UNSAVED)
    """The prefix of its lines."""

    @property
    def active(self) -> bool:
        """Whether every line must be given to :meth:`feed` now."""
        return bool(self.open or self._ignored or self._chained)

    @staticmethod
    def concerns(text: str) -> bool:
        """Whether a line of this shape must always be given to :meth:`feed`."""
        return (
            (HEAD in text and _HEAD.search(text) is not None)
            or text.startswith(_CHAIN)
            or bool(_IGNORED.match(text) or _FRAME.match(text))
        )

    def feed(self, prefix: str, text: str, line: int) -> tuple[bool, Raised | None]:
        """Take a line: (whether it belongs to a traceback, the exception if it ends one).

        ``prefix``: prefix of the line with the rank, else empty. ``line``: its number.
        """
        head = _HEAD.search(text) if HEAD in text else None
        if head is not None:
            if self._wraps(prefix, text[: head.start()]):
                return True, None
            return True, self._begin(prefix, text, head, line)
        if text.startswith(_CHAIN):
            self._chained, self._handled = ANNOUNCED, text.startswith(_CHAIN[0])
            return True, None
        if _IGNORED.match(text):
            self._ignored = ANNOUNCED
            thread = _THREAD.match(text)
            self._thread = thread["name"] if thread else ""
            return True, None
        trace = self.open.get(prefix)
        if trace is not None:
            return self._follow(prefix, trace, text, line)
        if _FRAME.match(text):
            # the head is missing: the log begins here, or its head went elsewhere
            return True, self._open(prefix, Open(line, text, "", *self._announced(), headless=True))
        if self._ignored and split_error(text) is not None:
            self._ignored = 0  # an exception without a traceback
            return True, None
        self._ignored = max(0, self._ignored - 1)
        self._chained = max(0, self._chained - 1)
        return False, None

    def _wraps(self, prefix: str, before: str) -> bool:
        """Whether the error at the end of the open traceback has another traceback as its message, as data loaders
        pass on what their workers raise: it goes on, to the error of that one."""
        trace = self.open.get(prefix)
        if trace is None or trace.seen == 0 or trace.error:
            return False
        named = split_error(before.strip())
        return named is not None and not named[1]

    def _announced(self) -> tuple[bool, bool]:
        said = bool(self._ignored), bool(self._chained)
        self._ignored = self._chained = 0
        return said

    def _begin(self, prefix: str, text: str, head: re.Match[str], line: int) -> Raised | None:
        ignored, chained = self._announced()
        if "File" in head["rest"]:
            return self._joined(text, head["rest"], line, ignored, chained)
        lead = _shape(text[: head.start()])
        if lead.endswith("+ Exception Group "):
            lead = lead[: -len("+ Exception Group ")] + "| "
        indent = len(text) - len(text.lstrip(" "))
        one = Open(line, text, lead if lead.strip() else "", ignored, chained, indent=indent)
        return self._open(prefix, one)

    def _open(self, prefix: str, trace: Open) -> Raised | None:
        """Begin to follow a traceback; an open one of the same process is given up and returned."""
        before = self.open.pop(prefix, None)
        if len(self.open) >= MAX_OPEN:
            self.open.pop(next(iter(self.open)))
        trace.prefix, trace.text = prefix, trace.text[: MAX_TEXT + 1]
        if trace.chained and self._raised_by == prefix:
            trace.cause = self._raised
        trace.handled = trace.chained and self._handled
        self.open[prefix] = trace
        return None if before is None else self._unfinished(before)

    @staticmethod
    def _joined(text: str, rest: str, line: int, ignored: bool, chained: bool) -> Raised:
        """A whole traceback in one line, as JSON writers and log collectors print it."""
        last = re.split(r"\\n(?=\S)", rest.rstrip(" \"'}],"))[-1]
        match = _JOINED.search(last)
        if match is None:
            return Raised(line, text, "", "", "", ignored, chained)
        name, message = match["name"], (match["tail"] or "")[1:].strip()
        error = f"{name}: {message}" if message else name
        return Raised(line, text, error, name.rpartition(".")[2], message, ignored, chained)

    def _follow(self, prefix: str, trace: Open, text: str, line: int) -> tuple[bool, Raised | None]:
        if trace.error:
            return self._with_message(prefix, trace, text.strip())
        trace.seen += 1
        trace.data = trace.data or _OF_DATA.search(text) is not None
        trace.save = trace.save or _OF_SAVE.search(text) is not None
        trace.load = trace.load or _OF_LOAD.search(text) is not None
        if trace.lead:
            text = self._without_lead(trace.lead, text)
        if trace.indent and text[: trace.indent].isspace():
            text = text[trace.indent :]
        if trace.seen == 1 and (first := _SCRIPT.match(text)):
            trace.script = first["file"]
        frame = frame_of(text)
        inner = frame is not None and not frame.own and _PASSES.search(frame.file) is None
        if inner and not (trace.frame and trace.inner):
            trace.inner = text.strip()[: MAX_TEXT + 1]
        if frame is not None and frame.own:
            trace.inner = trace.code = ""
            trace.frame, trace.frame_line = text.strip()[: MAX_TEXT + 1], line
            trace.code_due = True
            if trace.ignored and self._thread:
                trace.thread = self._thread
        elif trace.code_due and (code := _CODE.match(text)):
            trace.code, trace.code_due = (code["cell"] or code["text"] or "")[:MAX_CODE], False
        if text[:1].isspace() or _BETWEEN.match(text):
            return self._given_up(prefix, trace, stray=False)
        error = split_error(text)
        if error is None:
            return self._given_up(prefix, trace, stray=not _REDRAWN.search(text))
        if text.rstrip().endswith(":") and error[1] in _NO_MESSAGE and error[0] not in _EMPTY:
            trace.error = text
            return True, None
        del self.open[prefix]
        return True, self._ended(trace, text, *error)

    def _with_message(self, prefix: str, trace: Open, text: str) -> tuple[bool, Raised | None]:
        """An exception with a colon and nothing behind it has a message that begins with a new line."""
        if (not text and trace.blank < MAX_BLANK) or (
            _BEFORE_MESSAGE.match(text) and trace.seen < MAX_LINES
        ):
            trace.blank += not text
            trace.seen += 1
            return True, None
        del self.open[prefix]
        if text in _QUOTES:  # the message is the traceback of a worker: that one tells
            return True, None
        if not re.search(r"[^\W\d_]{2}", text):
            return False, self._unfinished(trace)
        error = f"{trace.error.rstrip()} {text}"
        return True, self._ended(trace, error, *(split_error(error) or ("", "")))

    def _ended(self, trace: Open, text: str, name: str, message: str) -> Raised:
        told = _unwrapped(text, name, message)
        how = trace.ignored, trace.chained, trace.data, trace.save, trace.load
        where = trace.script, trace.thread, trace.frame
        # What the next one names as its cause, or was raised beside: the first of the chain.
        self._raised, self._raised_by = (trace.cause or told[0])[: MAX_TEXT + 1], trace.prefix
        return Raised(
            *(trace.line, trace.text, *told),
            *how,
            *where,
            frame_line=trace.frame_line,
            inner=trace.inner,
            code=trace.code,
            handled=trace.handled,
            cause=trace.cause,
        )

    def _given_up(self, prefix: str, trace: Open, stray: bool) -> tuple[bool, Raised | None]:
        trace.stray += stray
        if trace.stray <= MAX_STRAY and trace.seen <= MAX_LINES:
            return not stray, None
        del self.open[prefix]
        return not stray, self._unfinished(trace)

    @staticmethod
    def _without_lead(lead: str, text: str) -> str:
        """The text without what the log library wrote before it, if it did."""
        at = 0
        for wanted in re.split(r"0", lead):
            if not text.startswith(wanted, at):
                return text
            at += len(wanted)
            while at < len(text) and text[at].isdigit():
                at += 1
        return text[at:]

    def _unfinished(self, trace: Open) -> Raised | None:
        if trace.error:
            return self._ended(trace, trace.error, *(split_error(trace.error) or ("", "")))
        if trace.headless:
            return None
        return Raised(
            trace.line,
            trace.text,
            *("", "", ""),
            trace.ignored,
            trace.chained,
            frame=trace.frame,
            frame_line=trace.frame_line,
            inner=trace.inner,
            code=trace.code,
        )

    def finish(self) -> list[Raised]:
        """At the end of the log: the tracebacks whose end never came."""
        left = [self._unfinished(t) for t in self.open.values()]
        self.open.clear()
        return [raised for raised in left if raised is not None]
