"""One message on its way: what is stored of it, and how one route stands."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from middlewatch.sentinels.kit import codec

from ..config.schema import Alerts
from .bundles import bundle
from .messages import Message
from .routes import Target

PAUSES_S = (5.0, 15.0, 60.0, 300.0, 900.0)
"""Seconds before each new try of a message; the last pause is repeated."""
HEDGE_S = 8.0
"""In mode ``ladder``: seconds after which the next URL is called as well while one has not answered.
Apprise gives a service 4 s to connect and 4 s to answer."""
MANY_TRIES = 6
"""Failures, in some 20 minutes, after which a message lets others pass. Our choice."""
GIVE_UP_S = 3 * 86400.0
"""A push that is three days late is of no use; the incident itself stays in the store."""
KEYS = 300
"""Keys of messages that are remembered: those of a bad night on a full box. Our choice."""
DAY_S = 86400.0
WARNINGS_A_DAY = 12
"""Warnings pushed per day at most; for critical incidents there is no limit."""
BROKEN_S = 900.0
"""Seconds for which a route has failed before it is told to the others: an outage of some minutes mends
itself. One that refuses our token is told at once. Our choice."""

STALE_S = 30.0
"""Seconds after which a ping that could not be handed over is not sent any more: what it says of this
moment would be a lie later. Half of the usual period."""
Answered = Callable[[dict[str, Any]], None]
"""Takes the answer to a ping."""
Buttons = Callable[[Message], "list[tuple[str, str, str]]"]
"""(label, topic, token) of the buttons of a push."""
_NTFY = ("ntfy://", "ntfys://")
"""Only its app has buttons that post something."""


@dataclass(slots=True)
class Queued:
    """One message in the outbox. Times are epoch seconds."""

    id: str
    message: Message
    created_at: float
    state: str = "queued"
    """``queued``, ``sent``, ``failed`` (given up) or ``silent`` (nobody to send it to)."""
    attempts: int = 0
    """Tries at the route that was tried most."""
    next_at: float = 0.0
    """When the next try is planned, as the clock is now."""
    sent_at: float | None = None
    error: str = ""
    results: list[dict[str, Any]] = field(default_factory=list)
    """The newest result of each URL (named by number and scheme only)."""
    took: list[str] = field(default_factory=list)
    """Marks of the URLs that took it: in mode ``all`` a new try leaves them out."""

    def to_json(self) -> dict[str, Any]:
        """A plain dict for the store; the fields of the message are on the same level."""
        data: dict[str, Any] = codec.dump(self)
        data.update(data.pop("message"))
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Queued:
        """Load what :meth:`to_json` gave, also that of another version. Raises ValueError."""
        return codec.load(cls, {**data, "message": data})

    def note(self, result: dict[str, Any]) -> None:
        """Keep the newest result of a URL, in the order of the URLs."""
        kept = [one for one in self.results if one["url"] != result["url"]]
        self.results = sorted([*kept, result], key=lambda one: int(one["url"].split()[1]))


@dataclass(slots=True)
class RouteState:
    """How one route stands. Times are monotonic seconds."""

    target: Target
    busy: bool = False
    failures: int = 0
    """In a row."""
    failed_since: float | None = None
    pause_until: float = 0.0
    """Before this only messages that were not tried here yet are."""
    hold_until: float = 0.0
    """Before this nothing is sent: the service has asked for that."""
    trouble: str = ""
    """Why the newest try failed; empty after one that worked."""
    refused: bool = False
    """It does not know our token or the address."""
    told: bool = False
    """That it is broken was told since it worked."""

    def worked(self) -> None:
        """It took a message."""
        self.failures, self.failed_since, self.trouble = 0, None, ""
        self.pause_until = self.hold_until = 0.0
        self.refused = self.told = False

    def broke(self, result: dict[str, Any], mono: float, pause_s: float) -> None:
        """A try failed; ``pause_s``: how long it is left alone, if it did not say how long itself."""
        self.failures += 1
        self.failed_since = mono if self.failed_since is None else self.failed_since
        self.trouble, self.refused = str(result["error"]), bool(result.get("refused"))
        self.pause_until = mono + pause_s
        if self.refused:
            self.trouble = f"it refuses the token or the address: {self.trouble}"
        wait_s = result.get("retry_after_s")
        if wait_s is not None:
            self.hold_until = mono + float(wait_s)
            self.pause_until = max(self.pause_until, self.hold_until)

    def broken(self, mono: float) -> bool:
        """Whether somebody has to know it."""
        lasted = self.failed_since is not None and mono - self.failed_since >= BROKEN_S
        return self.refused or lasted


@dataclass(slots=True)
class Job:
    """One message, or several as one, on its way to one route."""

    id: str
    line: RouteState
    messages: list[Queued]
    began: float

    def question(self, alerts: Alerts, buttons: Buttons) -> dict[str, Any]:
        """What the notifier is asked."""
        message = self.messages[0].message
        may_answer = len(self.messages) == 1 and self.line.target.url.lower().startswith(_NTFY)
        if len(self.messages) > 1:
            message = bundle([q.message for q in self.messages])
        target = self.line.target
        told = words_of(message, alerts) | {"id": self.id, "key": self.key}
        told |= {"buttons": buttons(message)} if may_answer and message.incident else {}
        return told | {"url": target.url, "label": target.label}

    @property
    def key(self) -> str:
        """By which a receiver knows it again: the id of the message, or one that stands for all. A list
        under the id of its first would be taken for that one alone, and the others be lost."""
        ids = [queued.id for queued in self.messages]
        return ids[0] if len(ids) == 1 else hashlib.sha256(" ".join(ids).encode()).hexdigest()[:16]


class Pings:
    """Pings that wait for the notifier, and those on their way. They are never kept: the next one says
    more than the last."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[dict[str, Any], Answered, float]] = {}
        self._going: dict[str, tuple[Answered, float]] = {}
        self._number = 0

    def __bool__(self) -> bool:
        return bool(self._waiting or self._going)

    def add(self, job: dict[str, Any], told: Answered, mono: float) -> None:
        """Send this as soon as it can be; ``told`` gets the answer."""
        self._number += 1
        name = f"ping {self._number}"
        self._waiting[name] = (job | {"id": name}, told, mono)

    def questions(self, mono: float, why_not: str) -> list[dict[str, Any]]:
        """What is to be handed over; what has waited too long is answered by ``why_not``."""
        for name, (_, told, asked) in list(self._waiting.items()):
            if mono - asked > STALE_S:
                del self._waiting[name]
                told(failure(why_not or "the notifier was busy"))
        return [job for job, _, _ in self._waiting.values()]

    def handed_over(self, mono: float) -> None:
        """The notifier has all that waited."""
        for name, (_, told, _) in self._waiting.items():
            self._going[name] = (told, mono)
        self._waiting.clear()

    def take(self, answer: dict[str, Any]) -> None:
        """Give an answer to who asked, if it is one to a ping."""
        told, _ = self._going.pop(str(answer.get("id")), (None, 0.0))
        if told is not None:
            told(answer)

    def lost(self, nothing: dict[str, Any]) -> None:
        """The notifier is gone."""
        going, self._going = list(self._going.values()), {}
        for told, _ in going:
            told(nothing)

    def began(self) -> Iterator[float]:
        """When those on their way began."""
        yield from (began for _, began in self._going.values())

    @property
    def going(self) -> bool:
        """Whether one is on its way."""
        return bool(self._going)


def words_of(message: Message, alerts: Alerts) -> dict[str, Any]:
    """What the notifier makes the words and the attachments of a push of."""
    names = ("title", "body", "kind", "trouble", "run", "incident", "facts")
    told = {name: getattr(message, name) for name in names}
    told |= {"language": alerts.language, "templates": [alerts.title, alerts.body]}
    return told | {"proxy": alerts.proxy}


def failure(why: str) -> dict[str, Any]:
    """The answer to a job that no notifier gave."""
    return {"ok": False, "error": why, "refused": False, "retry_after_s": None}


class Budget:
    """Counts warnings: at most :data:`WARNINGS_A_DAY` in any 24 hours. ``before``: when those from before
    a restart were made (epoch seconds)."""

    def __init__(self, before: list[float]) -> None:
        self._before = before
        self._at: list[float] = []

    def take(self, now: float, mono: float) -> bool:
        """Count one more; ``False`` if the budget of the day is used up."""
        self._at += [mono - max(0.0, now - at) for at in self._before]
        self._before = []
        self._at = [at for at in self._at if mono - at < DAY_S]
        if len(self._at) >= WARNINGS_A_DAY:
            return False
        self._at.append(mono)
        return True
