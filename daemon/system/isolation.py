"""What failed because of a mistake in middlewatch: counted, left out for a while, tried again.

A part is a rule, a log's parser, a source, the page of a run, the words of a push: something of which
one may fail while all others go on. Parts that work are not known here and cost nothing.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .bounded import Overrun

FAILURES = 3
"""Failures in a row after which a part is left out for a while. Our choice: one or two may be about
what it was asked just then."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 60.0, 3600.0
"""A part that fails again at once after a pause is left out for twice as long, up to an hour."""


@dataclass(slots=True)
class Part:
    """A part that has failed. Times are epoch seconds."""

    kind: str
    """``rule``, ``parser``, ``source``, ``page``, ``message``."""
    name: str
    failures: int = 0
    """Since the daemon started."""
    in_row: int = 0
    """Since it last worked."""
    error: str = ""
    """Type and words of the newest failure."""
    trace: str = ""
    """The end of its traceback."""
    failed_at: float = 0.0
    worked_at: float | None = None
    """When it worked for the first time after its newest failure; ``None``: it has not."""
    pause_s: float = 0.0
    """Seconds after the newest failure in which it is left out."""

    def left_out(self, now: float) -> bool:
        """True while it is not asked. A wall clock that was set back ends the pause."""
        return 0.0 <= now - self.failed_at < self.pause_s

    @property
    def tried_again_at(self) -> float | None:
        """When it is asked again; ``None`` if it is not left out."""
        return self.failed_at + self.pause_s if self.pause_s else None


class Isolation:
    """The parts that have failed. ``tell`` gets one text for the log per part and error."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._parts: dict[tuple[str, str], Part] = {}
        self._told: set[tuple[str, str, str]] = set()
        self._endless: dict[str, float] = {}
        """Code of which a call did not end, by its name -> when that was last, epoch seconds."""

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts.values())

    def __bool__(self) -> bool:
        """Whether any part has failed since the daemon started."""
        return bool(self._parts)

    def get(self, kind: str, name: str) -> Part | None:
        """The part, if it has failed since the daemon started."""
        return self._parts.get((kind, name))

    def left_out(self, kind: str, name: str, now: float) -> bool:
        """Whether the part must not be asked now."""
        part = self._parts.get((kind, name))
        return part is not None and part.left_out(now)

    def cpu_s(self, code: str, usual_s: float, short_s: float, now: float) -> float:
        """CPU seconds that a call of this code may take: ``short_s`` if another one did not end, about
        whatever run it was, within the last hour."""
        at = self._endless.get(code)
        return usual_s if at is None or not 0 <= now - at < LONGEST_PAUSE_S else short_s

    def failed(
        self,
        kind: str,
        name: str,
        error: Exception,
        now: float,
        *,
        at_once: bool = True,
        code: str = "",
    ) -> Part:
        """Note a failure. One that computes for ever is left out ``at_once``, others after some.

        ``code``: what other parts run as well, see :meth:`cpu_s`.
        """
        if code and isinstance(error, Overrun):
            self._endless[code] = now
        part = self._parts.setdefault((kind, name), Part(kind, name))
        part.failures += 1
        part.in_row += FAILURES if at_once and isinstance(error, Overrun) else 1
        part.error = f"{type(error).__name__}: {error}"[:200]
        part.trace = "".join(traceback.format_exception(error, limit=-2))[-400:]
        part.failed_at, part.worked_at = now, None
        if part.in_row >= FAILURES:
            part.pause_s = min(LONGEST_PAUSE_S, 2 * part.pause_s or FIRST_PAUSE_S)
        mark = (kind, name, type(error).__name__)
        if mark not in self._told:
            self._told.add(mark)
            trace = "".join(traceback.format_exception(error))
            self._tell(f"{kind} {name} failed:\n{trace}")
        return part

    def worked(self, kind: str, name: str, now: float) -> None:
        """Note that it did what it should; needed only for parts that :meth:`get` knows."""
        part = self._parts.get((kind, name))
        if part is not None and part.worked_at is None:
            part.in_row, part.pause_s, part.worked_at = 0, 0.0, now

    def one(self, kind: str, name: str) -> Isolated:
        """This part alone, for what knows no other."""
        return Isolated(self, kind, name)

    def forget(self, kind: str, name: str) -> None:
        """The part is there no more (its run has ended)."""
        self._parts.pop((kind, name), None)

    def broken(self) -> list[Part]:
        """Parts that have failed so often that they are left out, and have not worked since."""
        return [part for part in self._parts.values() if part.in_row >= FAILURES]


@dataclass(frozen=True, slots=True)
class Isolated:
    """One part of an :class:`Isolation`."""

    isolation: Isolation
    kind: str
    name: str

    def left_out(self, now: float) -> bool:
        """Whether it must not be asked now (epoch seconds)."""
        return self.isolation.left_out(self.kind, self.name, now)

    def failed(self, error: Exception, now: float) -> None:
        """It raised."""
        self.isolation.failed(self.kind, self.name, error, now)

    def worked(self, now: float) -> None:
        """It did what it should."""
        self.isolation.worked(self.kind, self.name, now)
