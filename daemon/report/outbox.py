"""The outbox: every push is kept until somebody took it.

Order of duty: tell the person, then write it down. A message is handed to the notifier child
at once and stored right after; what a crash leaves in the store is sent again (at least
once, with the message's id as the key). Failed ones are tried again with growing pauses.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from middlewatch.sentinels.kit import codec

from ..config.schema import Alerts
from ..config.secrets import mask_urls
from ..system.worker import JsonWorker, module_argv
from .messages import Message

NOTIFIER_ARGV = module_argv("middlewatch.daemon.report.notifier_worker")

DEADLINE_S = 90.0
"""For one message over all its URLs: Apprise gives each URL about 8 s."""
PAUSES_S = (5.0, 15.0, 60.0, 300.0, 900.0)
GIVE_UP_S = 3 * 86400.0
"""Nobody wants to be told three days late; the incident itself stays on record."""
DAY_S = 86400.0
WARNINGS_A_DAY = 12
"""Budget of warnings per day; criticals have none."""


@dataclass(slots=True)
class Queued:
    """One message on its way."""

    id: str
    message: Message
    created_at: float
    state: str = "queued"
    """``queued``, ``sent``, ``failed`` (given up) or ``silent`` (nobody to send it to)."""
    attempts: int = 0
    next_at: float = 0.0
    sent_at: float | None = None
    error: str = ""
    results: list[dict[str, Any]] = field(default_factory=list)
    """What became of the newest attempt, by URL (which is only named by number and scheme)."""

    def to_json(self) -> dict[str, Any]:
        """A plain dict for the store (with the message's own fields beside)."""
        data: dict[str, Any] = codec.dump(self)
        data.update(data.pop("message"))
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Queued:
        """Back from the store, also of an older or a newer daemon. Raises ValueError."""
        return codec.load(cls, {**data, "message": data})


class Outbox:
    """Sends messages through the notifier child, one at a time."""

    def __init__(
        self,
        urls: tuple[str, ...],
        alerts: Alerts,
        keep: Callable[[Queued], None],
        *,
        queued: Iterable[Queued] = (),
        new_id: Callable[[], str],
    ) -> None:
        self.urls = urls
        self.mode = alerts.mode
        self.trouble = ""
        """Why the newest delivery failed; empty after one that worked."""
        self._keep = keep
        self._new_id = new_id
        # Without a URL they stay in the store, for the day that there is one again.
        self._queue = [q for q in queued if q.state == "queued" and urls]
        self._outstanding: Queued | None = None
        self._took: dict[str, set[str]] = {}
        """Message id -> URLs that have it already: mode ``all`` does not tell them twice."""
        self._asked: list[str] = []
        self._child = JsonWorker(NOTIFIER_ARGV, DEADLINE_S)
        self._warned: list[float] = []

    def fileno(self) -> int | None:
        """The child's answers, to wait on."""
        return self._child.fileno()

    def push(self, message: Message, now: float, mono: float) -> Queued | None:
        """Queue a message and send it at once if nothing else is on its way.

        ``None`` when the day's budget of warnings is used up.
        """
        if message.kind == "warning" and not self._affordable(now):
            return None
        queued = Queued(self._new_id(), message, now, "queued" if self.urls else "silent")
        if self.urls:
            self._queue.append(queued)
            self.pump(now, mono)
        self._keep(queued)
        return queued

    def _affordable(self, now: float) -> bool:
        self._warned = [at for at in self._warned if now - at < DAY_S]
        if len(self._warned) >= WARNINGS_A_DAY:
            return False
        self._warned.append(now)
        return True

    def pump(self, now: float, mono: float) -> None:
        """Take answers, give up on a child that is late, send what is due."""
        for answer in self._child.answers() if self._child.fileno() is not None else ():
            self._take(answer, now)
        if self._outstanding and self._child.overdue(mono):
            self._child.restart()
            self._failed(self._outstanding, "the notifier did not answer", now)
        if self._outstanding and not self._child.alive:
            words = mask_urls(self._child.last_words, self.urls)[-200:]
            self._failed(self._outstanding, f"the notifier ended: {words or 'no words'}", now)
        if self._outstanding:
            return
        # A clock that was set back must not put off what is due: no pause is longer than this.
        longest = 1.2 * PAUSES_S[-1]
        due = next((q for q in self._queue if not now < q.next_at <= now + longest), None)
        if due is None:
            return
        urls = [u for u in self.urls if u not in self._took.get(due.id, ())]
        question = asdict(due.message) | {"id": due.id, "urls": urls, "mode": self.mode}
        if self._child.ask(question, mono):
            due.attempts += 1
            self._outstanding = due
            self._asked = urls
        elif self._child.start_error:
            self.trouble = self._child.start_error
        elif self._child.stuck_pid is not None:
            self.trouble = f"the notifier (pid {self._child.stuck_pid}) cannot be ended"

    def _take(self, answer: dict[str, Any], now: float) -> None:
        queued = self._outstanding
        if queued is None or answer.get("id") != queued.id:
            return
        results = answer.get("results", ())
        queued.results = list(results)
        if answer.get("ok"):
            self._outstanding = None
            self._queue.remove(queued)
            self._took.pop(queued.id, None)
            queued.state, queued.sent_at, queued.error = "sent", now, ""
            self.trouble = ""
            self._keep(queued)
            return
        took = {url for url, r in zip(self._asked, results, strict=False) if r["ok"]}
        self._took.setdefault(queued.id, set()).update(took)
        errors = [f"{r['url']}: {r['error']}" for r in results if not r["ok"]]
        self._failed(queued, "; ".join(errors) or "no URL took it", now)

    def _failed(self, queued: Queued, why: str, now: float) -> None:
        self._outstanding = None
        self.trouble = queued.error = why
        pause = PAUSES_S[min(queued.attempts, len(PAUSES_S)) - 1]
        queued.next_at = now + pause * random.uniform(0.8, 1.2)
        if now - queued.created_at > GIVE_UP_S:
            queued.state = "failed"
            self._queue.remove(queued)
            self._took.pop(queued.id, None)
        self._keep(replace(queued))

    def busy(self) -> bool:
        """Messages wait or are on their way."""
        return bool(self._queue)

    def close(self) -> None:
        """Let the child go; what is queued stays queued."""
        self._child.close()
