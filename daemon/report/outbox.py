"""The outbox: every push is kept until a service took it.

A message is first handed to the notifier and then stored, so that a slow or full disk delays no
push. Messages that are still queued in the store after a crash are sent again: each is delivered at
least once. Failed deliveries are tried again with growing pauses, and all at once, in their order, as
soon as another one worked. What waits and is about the same class is sent as one (:mod:`.bundles`).

Pauses and ages are measured by the monotonic clock: the other one is set, at times by days.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from middlewatch.sentinels.kit import codec

from ..config.schema import Alerts
from ..config.secrets import mask_lines, mask_urls
from ..system.descriptors import Spare
from ..system.worker import JsonWorker, module_argv
from . import bundles
from .messages import Message

NOTIFIER_ARGV = module_argv("middlewatch.daemon.report.notifier_worker")

DEADLINE_S = 90.0
"""Seconds for one message to all its URLs: Apprise gives each URL about 8 s."""
PAUSES_S = (5.0, 15.0, 60.0, 300.0, 900.0)
"""Seconds before each new try of a message; the last pause is repeated."""
GIVE_UP_S = 3 * 86400.0
"""A push that is three days late is of no use; the incident itself stays in the store."""
DAY_S = 86400.0
KEYS = 300
"""Keys of messages that are remembered: those of a bad night on a full box. Our choice."""
WARNINGS_A_DAY = 12
"""Warnings pushed per day at most; for critical incidents there is no limit."""


@dataclass(slots=True)
class Queued:
    """One message in the outbox. Times are epoch seconds."""

    id: str
    message: Message
    created_at: float
    state: str = "queued"
    """``queued``, ``sent``, ``failed`` (given up) or ``silent`` (nobody to send it to)."""
    attempts: int = 0
    next_at: float = 0.0
    """When the next try is planned, as the clock is now."""
    sent_at: float | None = None
    error: str = ""
    results: list[dict[str, Any]] = field(default_factory=list)
    """Results of the newest attempt, one for each URL (named by number and scheme only)."""

    def to_json(self) -> dict[str, Any]:
        """A plain dict for the store; the fields of the message are on the same level."""
        data: dict[str, Any] = codec.dump(self)
        data.update(data.pop("message"))
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Queued:
        """Load what :meth:`to_json` gave, also that of another version. Raises ValueError."""
        return codec.load(cls, {**data, "message": data})


def notifier() -> JsonWorker:
    """The child that pushes. It may change files only where temporary ones belong, and is started even if
    no descriptor is left."""
    folders = (os.environ.get("TMPDIR", "/tmp"),)
    return JsonWorker(NOTIFIER_ARGV, DEADLINE_S, walls="notifier", folders=folders, spare=Spare())


class Outbox:
    """Sends messages through the notifier, one at a time."""

    def __init__(
        self,
        urls: tuple[str, ...],
        alerts: Alerts,
        keep: Callable[[Queued], None],
        *,
        queued: Iterable[Queued] = (),
        new_id: Callable[[], str],
        delivered: Callable[[], object] = lambda: None,
    ) -> None:
        """``keep`` stores a message, ``delivered`` is called once after those that were sent together:
        what was sent must not be sent again after a crash."""
        self.urls = urls
        self.mode = alerts.mode
        self.trouble = ""
        """Why the newest delivery failed; empty after one that worked."""
        self._keep = keep
        self._delivered = delivered
        self._new_id = new_id
        before = sorted(queued, key=lambda q: q.created_at)
        # Without a URL queued messages stay in the store until there is one again.
        self._queue = [q for q in before if q.state == "queued" and urls]
        self._known: dict[str, Queued] = {}
        """Key -> the message that has it, of the newest :data:`KEYS`."""
        for one in before:
            self._remember(one)
        self._outstanding: list[Queued] = []
        """The messages of the push that is on its way: several, if they are sent as one."""
        self._born: dict[str, float] = {}
        """Message id -> monotonic seconds of its creation."""
        self._due: dict[str, float] = {}
        """Message id -> monotonic seconds before which it is not tried again."""
        self._released: set[str] = set()
        """Messages whose pause was ended by the success of another one, until they wait a whole one."""
        self._took: dict[str, set[str]] = {}
        """Message id -> URLs that took it: in mode ``all`` a new try leaves them out."""
        self._asked: list[str] = []
        self._child = notifier()
        self._warned: list[float] = []

    def fileno(self) -> int | None:
        """File descriptor of the notifier's answers, to wait on; ``None`` while it does not run."""
        return self._child.fileno()

    def push(self, message: Message, now: float, mono: float) -> Queued | None:
        """Queue a message and send it at once if nothing else is on its way.

        One with the ``key`` of a message that is known already, also from before a restart, is not
        sent again. ``None`` when the day's budget of warnings is used up.
        """
        known = self._known.get(message.key) if message.key else None
        if known is not None:
            return known
        message = replace(message, title=mask_lines(message.title), body=mask_lines(message.body))
        if message.kind == "warning" and not self._affordable(mono):
            return None
        queued = Queued(self._new_id(), message, now, "queued" if self.urls else "silent")
        self._remember(queued)
        if self.urls:
            self._queue.append(queued)
            self.pump(now, mono)
        self._keep(queued)
        return queued

    def _remember(self, queued: Queued) -> None:
        if queued.message.key and queued.state in ("queued", "sent"):
            self._known[queued.message.key] = queued
            if len(self._known) > KEYS:
                del self._known[next(iter(self._known))]

    def _affordable(self, mono: float) -> bool:
        self._warned = [at for at in self._warned if mono - at < DAY_S]
        if len(self._warned) >= WARNINGS_A_DAY:
            return False
        self._warned.append(mono)
        return True

    def pump(self, now: float, mono: float) -> None:
        """Take answers, restart a notifier that is overdue, send the message that is due."""
        for answer in self._child.answers() if self._child.fileno() is not None else ():
            self._take(answer, now, mono)
        if self._outstanding and self._child.overdue(mono):
            self._child.restart()
            self._failed("the notifier did not answer", now, mono)
        if self._outstanding and not self._child.alive:
            words = mask_urls(self._child.last_words, self.urls)[-200:]
            self._failed(f"the notifier ended: {words or 'it wrote no error'}", now, mono)
        if self._outstanding:
            return
        for queued in self._queue:
            self._born.setdefault(queued.id, mono - max(0.0, now - queued.created_at))
        due = [q for q in self._queue if self._due.get(q.id, mono) <= mono]
        if not due or not self.urls:
            return  # without a URL they wait for one
        took = self._took.get(due[0].id, set())
        together = [q for q in due if self._goes_with(due[0], q)]
        if len(together) < bundles.FROM:
            together = due[:1]
        message = due[0].message
        if len(together) > 1:
            message = bundles.bundle([q.message for q in together])
        urls = [u for u in self.urls if u not in took]
        if not urls:  # the only one that had refused it was removed
            self._sent(together, now)
            return
        mode = "all" if message.every else self.mode
        question = asdict(message) | {"id": due[0].id, "urls": urls, "mode": mode}
        if self._child.ask(question, mono):
            for queued in together:
                queued.attempts += 1
                if self._due.pop(queued.id, 0.0) > 0.0:
                    self._released.discard(queued.id)  # it has waited a whole pause
            self._outstanding = together
            self._asked = urls
        elif self._child.start_error:
            self.trouble = self._child.start_error
        elif self._child.stuck_pid is not None:
            self.trouble = f"the notifier (pid {self._child.stuck_pid}) cannot be killed"

    def _goes_with(self, first: Queued, other: Queued) -> bool:
        if self._took.get(first.id, set()) != self._took.get(other.id, set()):
            return False
        return first is other or bundles.alike(first.message, other.message)

    def _take(self, answer: dict[str, Any], now: float, mono: float) -> None:
        sent = self._outstanding
        if not sent or answer.get("id") != sent[0].id:
            return
        results = answer.get("results", ())
        for queued in sent:
            queued.results = list(results)
        if answer.get("ok"):
            self._outstanding = []
            self._sent(sent, now)
            self._release()
            return
        took = {url for url, r in zip(self._asked, results, strict=False) if r["ok"]}
        for queued in sent:
            self._took.setdefault(queued.id, set()).update(took)
        errors = [f"{r['url']}: {r['error']}" for r in results if not r["ok"]]
        self._failed("; ".join(errors) or "no URL accepted it", now, mono)

    def _sent(self, messages: Iterable[Queued], now: float) -> None:
        self.trouble = ""
        for queued in messages:
            self._forget(queued)
            queued.state, queued.sent_at, queued.error = "sent", now, ""
            self._keep(queued)
        self._delivered()

    def _release(self) -> None:
        """What waits is due at once, because a service can be reached again. A message is released
        once in a pause: it may be one that no service will ever take."""
        for queued in self._queue:
            if queued.id in self._due and queued.id not in self._released:
                self._released.add(queued.id)
                self._due[queued.id] = 0.0

    def _failed(self, why: str, now: float, mono: float) -> None:
        failed, self._outstanding = self._outstanding, []
        self.trouble = why
        part = random.uniform(0.8, 1.2)
        for queued in failed:
            queued.error = why
            pause = PAUSES_S[min(queued.attempts, len(PAUSES_S)) - 1] * part
            queued.next_at, self._due[queued.id] = now + pause, mono + pause
            if mono - self._born.get(queued.id, mono) > GIVE_UP_S:
                queued.state = "failed"
                self._forget(queued)
            self._keep(replace(queued))

    def _forget(self, queued: Queued) -> None:
        self._queue.remove(queued)
        for known in (self._took, self._due, self._born):
            known.pop(queued.id, None)
        self._released.discard(queued.id)

    def oldest_s(self, mono: float) -> float | None:
        """How long the oldest message waits, in seconds; ``None`` if none does."""
        return max((mono - self._born.get(q.id, mono) for q in self._queue), default=None)

    def waiting(self) -> list[Queued]:
        """The messages that wait or are being sent, oldest first."""
        return list(self._queue)

    def busy(self) -> bool:
        """True while messages wait or are being sent."""
        return bool(self._queue)

    def close(self) -> None:
        """End the notifier; queued messages stay queued."""
        self._child.close()
