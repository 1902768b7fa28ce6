"""What comes and goes all day is told a few times a day: a phone that buzzes all night is switched off.

Pushes are counted by what they are about (:attr:`.messages.Message.about`), over 24 hours, and across
restarts by the messages in the store. Nothing here holds back a trouble that came only once or twice, or
one that ends its run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from middlewatch.sentinels.kit import Severity

from ..judge.incident import Incident
from ..report.outbox import Queued

WINDOW_S = 86400.0
MOST = 6
"""Pushes about one trouble that comes and goes, in 24 hours at most (asked for by those who are woken)."""
TIMES = 3
"""Times that it has come from which it flaps: twice may be a coincidence. Our choice."""
LOOP = " gains nothing"
LOOP_TIMES = 2
"""The same for attempts that gain nothing, after the death of the first one."""
STAYS_S = 1800.0
"""Seconds that it must be there to be told once more after that, if reminders are switched off."""
STAYS_LONG_S = 7200.0
"""Seconds that it must be there to be told beyond :data:`MOST`: that is no flapping any more, and a run
may stand still. Twelve a day at most. Our choice."""

COMES_AND_GOES = (
    "It comes and goes. What follows of it today is on the status page and in the digest; "
    "if it stays, it is pushed again."
)
"""Said by the last push about it."""

Verdict = Literal["push", "last", "hold"]


def about(incident: Incident, barren: str) -> str:
    """What an incident is about, the same each time that it comes; empty: each time is told.

    ``barren``: the attempt since which the attempts of its run have gained nothing, see
    :mod:`.crash_loop`: whatever each of them dies of is one trouble. A warning holds back nothing critical."""
    if barren and incident.severity is Severity.CRITICAL:
        return about_end(barren)
    if incident.fatal or incident.tells_end or incident.holds_end:
        return ""  # a death
    severity = incident.severity.label
    return (
        f"{barren or incident.run} {incident.sentinel} {incident.key} {incident.trouble} {severity}"
    )


def about_end(barren: str) -> str:
    """What the end of a run is about, for attempts that gain nothing; for others empty: it is always told."""
    return f"{barren}{LOOP}" if barren else ""


def _times(about: str) -> int:
    return LOOP_TIMES if about.endswith(LOOP) else TIMES


class Flapping:
    """Counts the pushes about each trouble."""

    def __init__(self, before: Iterable[Queued]) -> None:
        self._told: dict[str, list[tuple[float, str]]] = {}
        """What -> (when, id of the incident) of each push about it."""
        for one in before:
            if one.message.about and one.state != "silent":  # nobody was told
                self.note(one.message.about, one.message.incident, one.created_at)

    def note(self, about: str, incident: str, at: float) -> None:
        """A push was made. Times are epoch seconds."""
        if about:
            self._told.setdefault(about, []).append((at, incident))

    def verdict(self, about: str, incident: str, kind: str, now: float) -> Verdict:
        """Whether a push of this ``kind`` (of change, ``reminder``, ``end``: that of its run, or ``stays``: it has been there for
        :meth:`wait_s`) about it is made. ``last``: it is, and has to say that what follows is not."""
        told = self._recent(about, now)
        others = {one for _, one in told if one != incident}
        times = _times(about)
        flaps = len(others) + 1 >= times
        if kind == "stays":
            return "last" if flaps else "push"
        if flaps and (len(told) >= MOST or kind in ("resolved", "end")):
            return "hold"
        if kind == "opened" and len(others) >= times:
            return "hold"
        first = kind == "opened" and len(others) == times - 1
        return "last" if first or (others and len(told) == MOST - 1) else "push"

    def wait_s(self, about: str, incident: str, now: float, stays_s: float) -> float:
        """Seconds that an incident must be there before it is told for the first time: none, unless it
        comes and goes; then ``stays_s``, and after :data:`MOST` pushes :data:`STAYS_LONG_S`."""
        if self.verdict(about, incident, "opened", now) != "hold":
            return 0.0
        return stays_s if len(self._recent(about, now)) < MOST else max(stays_s, STAYS_LONG_S)

    def _recent(self, about: str, now: float) -> list[tuple[float, str]]:
        if not about or about not in self._told:
            return []
        # One from the future was made before the clock was set back.
        told = [one for one in self._told[about] if abs(now - one[0]) < WINDOW_S]
        if told:
            self._told[about] = told
        else:
            del self._told[about]
        return told
