"""The troubles that log lines report, and whether the run went on after them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from .accumulator import Accumulator
from .classes import COLLECTIVE, which
from .findings import Evidence, Finding, Severity
from .observations import LogEvent, Observation, Phase, Step
from .view import View

ENOUGH = 2
"""Steps after a trouble that prove that the run went on: one may still have been in a buffer."""
LINGERS = 50
"""The same number for a run that was told from outside to end, and may use its grace period."""
GRACE = which(lambda c: c.grace)
CAUGHT = frozenset(
    {"python_exception", "network_error", "launch_error", "io_error", "cuda_oom", "accel_oom"}
    | {"host_alloc_failed", "ckpt_corrupt", "ckpt_mismatch"}
)
"""What a program can catch: a good last word of its own shows that it did."""
CHAIN_LINES = 400
"""Lines within which exceptions that were raised one while another was handled are printed (our choice)."""
UNBUFFERED = frozenset({"ruby-uncaught", "fortran-runtime", "php-uncaught", "ocaml-uncaught"})
"""Signatures of the last words of runtimes that write what they still hold of the output after them."""
ARGUMENTS = "arguments"
"""Signature of the last words of a parser of arguments, which ends its program with them."""
LOOKUPS = ("FileNotFoundError", "KeyError", "AttributeError", "IndexError", "StopIteration")
"""Exceptions by which a program learns that something is not there, to go another way: what is raised on that way,
and does not name them as its cause, is what it ended with."""
KEPT = 4
"""Separate troubles kept of one class; a further one replaces the last of them."""


@dataclass(slots=True)
class Trouble:
    """Lines of one class that belong together, up to where the run went on."""

    first: LogEvent
    """Its first line with role ``root``, else its first line."""
    newest: LogEvent
    fatal: bool
    count: int = 1
    went_on: bool = False
    """True when enough steps came after the newest line."""
    echo: bool = False
    """True when each of its lines also reports a more exact trouble, of which it is only a
    consequence."""
    begun_again: bool = False
    """The run was started again, or has loaded a save, after the newest line."""
    _before: float | None = None
    _steps: set[float] = field(default_factory=set)

    def goes_on(self, number: float) -> bool:
        """Count a step after the newest line; True when there were enough."""
        if number != self._before:
            self._steps.add(number)
            grace = self.newest.trouble in GRACE or self.newest.signature in UNBUFFERED
            lingers = grace and not self.begun_again
            wanted = LINGERS if lingers else ENOUGH
            self.went_on = len(self._steps) >= wanted
        return self.went_on

    def add_line(self, event: LogEvent, before: float | None, *, echo: bool) -> None:
        """Add a line; ``before``: the last step before it."""
        self.count += 1
        looked_up = self.first.details.get("exception") in LOOKUPS and event.details.get("handled")
        if event.role == "root" and (self.first.role != "root" or looked_up):
            self.first = event
        self.newest, self.went_on, self.begun_again = event, False, False
        self.echo = self.echo and echo
        self._before = before
        self._steps.clear()


class Troubles(Accumulator):
    """The troubles that the lines of the logs reported, by class.

    The lines of a class are one trouble, except that fatal lines are separate from others, and that
    each of the first fatal troubles after which the run went on is separate as well.
    """

    takes: ClassVar[tuple[type, ...]] = (Step, LogEvent, Phase)

    def __init__(self) -> None:
        self.known: dict[str, list[Trouble]] = {}
        """Class -> its troubles, oldest first."""
        self.begun_again: dict[str, int] = {}
        """File -> the line at which a run started (again) after a fatal line."""
        self._pending: list[Trouble] = []
        self._step: dict[str, float] = {}
        self._reports = 0.0
        self._line: tuple[str, int] = ("", 0)
        self._in_line: list[LogEvent] = []

    @property
    def quiet(self) -> bool:
        """True while no line reported a trouble."""
        return not self.known

    def add(self, seen: Observation) -> None:
        """Take in an event, or a step or start that follows one."""
        if isinstance(seen, Step):
            number = seen.number
            if number is not None:
                self._step[seen.file] = number
            elif seen.values and seen.rank is None and seen.file not in self._step:
                self._reports += 1
                number = -self._reports  # of a program that numbers no steps, its reports count
            if number is not None and self._pending:
                self._went_on(seen.file, number)
        elif isinstance(seen, LogEvent):
            self._event(seen)
        elif isinstance(seen, Phase) and seen.name == "trial":
            # the error was of one trial of a search, which goes on with the next
            self._reports += 1
            self._went_on(seen.file, -self._reports)
        elif isinstance(seen, Phase) and seen.name in ("start", "load") and self._failed(seen.file):
            if seen.name == "start":
                self.begun_again[seen.file] = seen.line
            for trouble in self._pending:
                trouble.begun_again = trouble.begun_again or trouble.newest.file == seen.file

    def left_well(self, file: str, line: int) -> None:
        """Note that the program itself said at this line that all went well: what it had complained about
        before did not end it."""
        for trouble in self._pending:
            if trouble.newest.file == file and trouble.newest.line < line:
                trouble.went_on = trouble.went_on or trouble.newest.trouble in CAUGHT

    def _went_on(self, file: str, number: float) -> None:
        self._pending = [t for t in self._pending if t.newest.file != file or not t.goes_on(number)]

    def _failed(self, file: str) -> bool:
        return any(t.fatal for t in self._pending if t.newest.file == file)

    def _event(self, event: LogEvent) -> None:
        before = self._step.get(event.file)
        echo = self._echoes(event)
        group = self.known.setdefault(event.trouble, [])
        same = _continued(group, event)
        if same is not None:
            settled = same.went_on
            same.add_line(event, before, echo=echo)
        else:
            settled = True
            same = Trouble(event, event, event.fatal, echo=echo, _before=before)
            if len(group) == KEPT:
                group.pop()
            group.append(same)
        if settled:
            self._pending.append(same)

    def _echoes(self, event: LogEvent) -> bool:
        """True for an event of a collective class whose line also reports another class.

        The order of the events does not matter: an earlier collective event of the same line is
        marked as an echo here.
        """
        if self._line != (event.file, event.line):
            self._line, self._in_line = (event.file, event.line), []
        others = [
            e for e in self._in_line if (e.trouble in COLLECTIVE) != (event.trouble in COLLECTIVE)
        ]
        self._in_line.append(event)
        if event.trouble in COLLECTIVE:
            return bool(others)
        for other in others:
            known = self.known[other.trouble][-1]
            known.echo = known.echo or known.count == 1
        return False

    def findings_of_log(
        self, *, of: Collection[str] | None = None, but: Collection[str] = ()
    ) -> Iterator[Finding]:
        """A finding for each trouble in a finished log; of severity info if the run went on.

        ``of``: only these classes, if given; ``but``: not these.
        """
        for trouble, group in self.known.items():
            if trouble in but or (of is not None and trouble not in of):
                continue
            for place, one in enumerate(group, 1):
                over = any(later.fatal for later in group[place:])  # the program was started again
                yield _finding(one, trouble if place == 1 else f"{trouble}:{place}", over=over)


def said_in_old_log(view: View, classes: Collection[str]) -> Iterator[Finding]:
    """Findings by the lines of a finished log, for some classes. None for a live run, which is
    judged by its numbers."""
    troubles = view.accumulator(Troubles)
    if troubles is not None and not view.live:
        yield from troubles.findings_of_log(of=classes)


def _continued(group: Sequence[Trouble], event: LogEvent) -> Trouble | None:
    """The trouble of this class to which the event belongs; ``None``: it is a new one."""
    failed = next((t for t in reversed(group) if t.fatal), None)
    if failed is not None and not failed.went_on:
        return None if _of_another_start(failed.newest, event) else failed
    return None if event.fatal else next((t for t in group if not t.fatal), None)


_IMPORTS = ("ModuleNotFoundError", "ImportError")


BETWEEN = 3
"""Lines between the end of a traceback and the head of the next one, at least, of two starts: the ranks of one
write theirs one below the other."""


def _of_another_start(before: LogEvent, event: LogEvent) -> bool:
    """Whether the program that raised this is the next one: the one before had complained of its arguments, or of a
    missing module, with other words, or its exception had gone through the top of the same script some lines above."""
    if _through_the_top(before, event):
        return True
    if event.trouble != "launch_error" or event.rank != before.rank or event.text == before.text:
        return False
    imports = (one.details.get("exception") in _IMPORTS for one in (before, event))
    return event.signature == before.signature == ARGUMENTS or all(imports)


def _through_the_top(before: LogEvent, event: LogEvent) -> bool:
    """Whether two exceptions have ended the same script, one after the other."""
    script, head = event.details.get("script"), event.details.get("traceback_line")
    return (
        bool(script)
        and script == before.details.get("script")
        and before.text != event.text
        and event.rank is None
        and before.rank is None
        and not event.details.get("chained")
        and isinstance(head, int)
        and head - before.line > BETWEEN
    )


def _finding(one: Trouble, key: str, *, over: bool) -> Finding:
    event = one.first
    harmless = one.went_on or one.echo or over
    return Finding(
        trouble=event.trouble,
        key=key,
        severity=Severity.INFO if harmless else Severity.parse(event.severity),
        fatal=one.fatal and not harmless and event.severity != "info",
        summary=describe_event(event),
        evidence=(Evidence("log", event.text, event.at),),
        file=event.file,
        line=event.line,
        details={
            **event.details,
            **_place(one),
            **_newest(one),
            "rank": event.rank,
            "count": one.count,
            "role": event.role,
        },
    )


def _place(one: Trouble) -> dict[str, object]:
    """Where and how a chain of exceptions ends that this one began, and where the
    program's own code was, by the newest traceback: that of the first exception of a chain shows only
    the frames below the one that caught it."""
    newest = one.newest.details
    chain: dict[str, object] = {}
    if newest.get("chained"):
        chain = {"chain_ends": one.newest.line, "chain_last": one.newest.text[:300]}
    known = "frame" in one.first.details
    if known or one.newest.text != one.first.text or "frame" not in newest:
        return chain
    names = ("frame", "frame_line", "traceback_line", "code")
    return chain | {name: newest[name] for name in names if name in newest}


def _newest(one: Trouble) -> dict[str, object]:
    """The newest line about a rank that failed: a launcher tells of it, and the scheduler after it."""
    if one.count == 1 or one.newest.trouble != "rank_failed":
        return {}
    return {"newest_line": one.newest.line, "newest_text": one.newest.text[:120]}


def last_exception(view: View, since: float) -> LogEvent | None:
    """The first exception since ``since`` that the log shows, also one that ended only a thread."""
    found = (
        e
        for e in view.events
        if e.at >= since
        and e.file != "kernel"
        and e.details.get("exception")
        and e.role != "cascade"
    )
    return next(found, None)


def describe_event(event: LogEvent) -> str:
    """An event in one sentence: its exception if there is one, else its line."""
    exception, message = event.details.get("exception"), event.details.get("message")
    if exception:
        text = f"{exception}: {message}" if message else str(exception)
    else:
        text = event.text.strip() or event.trouble
    where = "" if event.rank is None else f" (rank {event.rank})"
    return (text if len(text) <= 160 else text[:159] + "…") + where


def raised_then(view: View, cause: LogEvent) -> str:
    """What was raised at last while ``cause`` was handled: either of the two may say more."""
    chain = (
        e
        for e in reversed(view.events)
        if e.details.get("chained")
        and e.file == cause.file
        and 0 < e.line - cause.line < CHAIN_LINES
    )
    last = next(chain, None)
    if last is None or last.details.get("message") == cause.details.get("message"):
        return ""
    return f", then {describe_event(last)}"
