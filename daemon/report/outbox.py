"""The outbox: every push is kept until a service took it.

A message is stored before it is handed to the notifier. Those that are still queued in the store after a
crash are sent again: each is delivered at least once, under the same id. Each route (a URL) has its own
tries and pauses, so that one that hangs holds up no other; what a service says about when to come again
is obeyed. Failed deliveries are tried again with growing pauses, and all at once as soon as another one
worked. Messages about one incident keep their order on each route. What waits and is about the same
class is sent as one (:mod:`.bundles`).

Pauses and ages are measured by the monotonic clock: the other one is set, at times by days.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import tzinfo
from typing import Any

from ..config.schema import Alerts, Route
from ..config.secrets import mask_lines, mask_urls
from . import bundles, routes
from .deliveries import (
    GIVE_UP_S,
    HEDGE_S,
    KEYS,
    PAUSES_S,
    WARNINGS_A_DAY,
    Answered,
    Budget,
    Buttons,
    Job,
    Pings,
    Queued,
    RouteState,
    failure,
)
from .messages import Message
from .notifier import DEADLINE_S, notifier
from .tries import Tries

__all__ = ["GIVE_UP_S", "PAUSES_S", "WARNINGS_A_DAY", "Outbox", "Queued"]


class Outbox:
    """Sends messages through the notifier, one at a time to each route."""

    def __init__(
        self,
        urls: tuple[str, ...],
        alerts: Alerts,
        keep: Callable[[Queued], None],
        *,
        queued: Iterable[Queued] = (),
        new_id: Callable[[], str],
        delivered: Callable[[], object] = lambda: None,
        rules: Mapping[str, Route] | None = None,
        zone: tzinfo | None = None,
    ) -> None:
        """``keep`` stores a message, ``delivered`` commits what was stored: a message before it is sent,
        and once after those that were sent together, which must not be sent again after a crash.
        ``rules``: what the URLs with a tag get."""
        self.buttons: Buttons = lambda message: []
        self.mode = alerts.mode
        self.child_trouble = ""
        """Why the notifier itself failed; empty after it worked."""
        self._alerts = alerts
        self._rules, self._zone = rules or {}, zone
        self._routes: dict[str, RouteState] = {}
        self._urls: tuple[str, ...] = ()
        self.urls = urls
        self._keep = keep
        self._commit = delivered
        self._new_id = new_id
        before = sorted(queued, key=lambda q: q.created_at)
        # Without a URL queued messages stay in the store until there is one again.
        self._queue = [q for q in before if q.state == "queued" and urls]
        self._known: dict[str, Queued] = {}
        """Key -> the message that has it, of the newest :data:`KEYS`."""
        for one in before:
            self._remember(one)
        self._jobs: dict[str, Job] = {}
        """What is on its way, by id."""
        self._pings = Pings()
        self._number = 0
        self._newest = before[-1].created_at if before else 0.0
        self._born: dict[str, float] = {}
        """Message id -> monotonic seconds of its creation."""
        self._tries = Tries()
        self._child = notifier()
        warned = [q for q in before if q.message.kind == "warning"]
        # What no route takes costs nothing, as nobody was called.
        self._budget = Budget([q.created_at for q in warned if q.state != "silent" or not urls])

    @property
    def urls(self) -> tuple[str, ...]:
        """All alert URLs, with their tags."""
        return self._urls

    @urls.setter
    def urls(self, urls: tuple[str, ...]) -> None:
        known, self._urls, self._routes = self._routes, urls, {}
        for target in routes.targets(urls):
            line = self._routes[target.mark] = known.get(target.mark) or RouteState(target)
            line.target = target  # its number may be another one now

    @property
    def trouble(self) -> str:
        """Why deliveries fail: of each route that does, and of the notifier; empty if all is well."""
        failing = [f"{o.target.label}: {o.trouble}" for o in self._routes.values() if o.trouble]
        if stranded := len(self._stranded()) if self._routes else 0:
            failing.append(f"no URL takes {stranded} of the pushes that wait")
        return self.child_trouble or "; ".join(failing)

    def newly_broken(self, mono: float) -> Iterator[RouteState]:
        """Routes that somebody has to know of, each once until it works again."""
        for line in self._routes.values():
            if not line.told and line.broken(mono):
                line.told = True
                yield line

    def routes(self) -> list[RouteState]:
        """How each route stands, in the order of the URLs."""
        return list(self._routes.values())

    def fileno(self) -> int | None:
        """File descriptor of the notifier's answers, to wait on; ``None`` while it does not run."""
        return self._child.fileno()

    # -- taking in --------------------------------------------------------------------------

    def push(self, message: Message, now: float, mono: float) -> Queued | None:
        """Store a message, and send it at once.

        One with the ``key`` of a message that is known already, also from before a restart, is not
        sent again. ``None`` when the day's budget of warnings is used up.
        """
        known = self._known.get(message.key) if message.key else None
        if known is not None:
            return known
        message = replace(message, title=mask_lines(message.title), body=mask_lines(message.body))
        calls = not self._routes or self.reaches(message, now)
        if message.kind == "warning" and calls and not self._budget.take(now, mono):
            return None
        # A start sorts them by their time: no two have the same.
        self._newest = self._newest + 1e-6 if self._newest - 1.0 < now <= self._newest else now
        queued = Queued(self._new_id(), message, self._newest)
        if not self._fitting(queued):
            queued.state = "silent"
        self._remember(queued)
        self._keep(queued)
        if queued.state == "queued":
            self._commit()
            self._queue.append(queued)
            self._hurry(queued)
            self.pump(now, mono)
        return queued

    def reaches(self, message: Message, now: float) -> bool:
        """Whether a route takes this message at ``now``."""
        return bool(self._for(message, now))

    def _remember(self, queued: Queued) -> None:
        if queued.message.key and queued.state in ("queued", "sent"):
            self._known[queued.message.key] = queued
            if len(self._known) > KEYS:
                del self._known[next(iter(self._known))]

    def _hurry(self, newest: Queued) -> None:
        """What waits and is about the same incident is due at once: it has to arrive before this."""
        for queued in self._of_incident(newest):
            for mark in self._routes:
                self._tries.hurry(queued, mark)

    def _of_incident(self, one: Queued) -> list[Queued]:
        incident = one.message.incident
        return [q for q in self._queue if incident and q.message.incident == incident]

    def ping(self, job: dict[str, Any], told: Answered, now: float, mono: float) -> None:
        """Send a ping (see the notifier); ``told`` gets what came of it."""
        self._pings.add(job | {"proxy": self._alerts.proxy}, told, mono)
        self.pump(now, mono)

    # -- sending ----------------------------------------------------------------------------

    def pump(self, now: float, mono: float) -> None:
        """Take answers, restart a notifier that is overdue, send what is due."""
        for answer in self._child.answers() if self._child.fileno() is not None else ():
            self._take(answer, now, mono)
        began = [*(job.began for job in self._jobs.values()), *self._pings.began()]
        late = any(mono - at > DEADLINE_S for at in began)
        if late or self._child.overdue(mono):
            self._child.restart()
            self._lost("the notifier did not answer", now, mono)
        elif not self._child.alive and (self._jobs or self._pings.going):
            words = mask_urls(self._child.last_words, (*self._urls, self._alerts.proxy))[-200:]
            self._lost(f"the notifier ended: {words or 'it wrote no error'}", now, mono)
        for queued in self._queue:
            self._born.setdefault(queued.id, mono - max(0.0, now - queued.created_at))
        if self._child.waiting:
            return  # it says at once that it has taken the last ones
        self._finish_taken(now)
        self._give_up_stranded(mono)
        jobs = self._choose(mono)
        told = [job.question(self._alerts, self.buttons) for job in jobs]
        told += self._pings.questions(mono, self.child_trouble)
        if not told:
            return
        if self._child.ask({"jobs": told}, mono):
            self._pings.handed_over(mono)
            self._under_way(jobs, mono)
        elif self._child.start_error:
            self.child_trouble = self._child.start_error
        elif self._child.stuck_pid is not None:
            self.child_trouble = f"the notifier (pid {self._child.stuck_pid}) cannot be killed"

    def _under_way(self, jobs: list[Job], mono: float) -> None:
        for job in jobs:
            self._jobs[job.id], job.line.busy = job, True
            for queued in job.messages:
                self._tries.begin(queued, job.line.target.mark)

    # -- choosing ---------------------------------------------------------------------------

    def _for(self, message: Message, at: float) -> list[RouteState]:
        """The routes that a message of the time ``at`` is for."""
        lines = self._routes.values()
        return [o for o in lines if routes.fits(o.target, message, self._rules, at, self._zone)]

    def _fitting(self, queued: Queued) -> list[RouteState]:
        """The routes that it is for, by the hour of its creation."""
        return self._for(queued.message, queued.created_at)

    def _missing(self, queued: Queued) -> list[RouteState]:
        """The routes that still have to take it; of a ladder none once one has."""
        if queued.took and not self._to_all(queued):
            return []
        return [line for line in self._fitting(queued) if line.target.mark not in queued.took]

    def _to_all(self, queued: Queued) -> bool:
        return queued.message.every or self.mode == "all"

    def _choose(self, mono: float) -> list[Job]:
        """A job for each route that has something to do."""
        ready: dict[str, list[Queued]] = {}
        before: dict[str, set[str]] = {}
        """Incident -> routes on which something about it waits already."""
        for queued in self._queue:
            missing = self._missing(queued)
            waits = before.setdefault(queued.message.incident, set())
            for line in self._now(queued, missing, mono):
                if not (queued.message.incident and line.target.mark in waits):
                    ready.setdefault(line.target.mark, []).append(queued)
            marks = [line.target.mark for line in missing]
            waits |= {mark for mark in marks if not self._tries.lets_pass(queued, mark, mono)}
        jobs, taken = [], set[str]()
        for mark, some in ready.items():
            some = [q for q in some if self._to_all(q) or q.id not in taken]
            if some:
                together = self._together(some, mark)
                taken |= {q.id for q in together}
                self._number += 1
                jobs.append(Job(f"job {self._number}", self._routes[mark], together, mono))
        return jobs

    def _now(self, queued: Queued, missing: list[RouteState], mono: float) -> list[RouteState]:
        """The routes to which the message may go now."""
        free = [line for line in missing if self._tries.may(queued, line, mono)]
        if self._to_all(queued):
            return free
        under_way = [job.began for job in self._jobs.values() if queued in job.messages]
        if under_way and mono - max(under_way) < HEDGE_S:
            return []
        for line in sorted(missing, key=lambda line: line.pause_until > mono):
            if line in free:
                return [line]
            if self._soon_free(line, mono):
                return []  # the next one is for when this one fails, not for when it has much to do
        return []

    def _soon_free(self, line: RouteState, mono: float) -> bool:
        """Whether it works, and is busy with another message only since a moment ago."""
        began = [job.began for job in self._jobs.values() if job.line is line]
        return not line.failures and bool(began) and mono - max(began) < HEDGE_S

    def _together(self, some: list[Queued], mark: str) -> list[Queued]:
        """What goes as one: the oldest message and what is like it. One that failed again and again may
        be one that no service takes: others come first, unless the route has just worked."""
        first = min(some, key=lambda queued: self._tries.many(queued, mark))
        alike = [q for q in some if q is first or bundles.alike(first.message, q.message)]
        return alike if len(alike) >= bundles.FROM else [first]

    # -- answers ----------------------------------------------------------------------------

    def _take(self, answer: dict[str, Any], now: float, mono: float) -> None:
        self.child_trouble = ""
        self._pings.take(answer)
        job = self._jobs.pop(str(answer.get("id")), None)
        if job is None:
            return
        job.line.busy = False
        result = {key: answer[key] for key in ("url", "ok", "error", "seconds")}
        waiting = [q for q in job.messages if q in self._queue]
        for queued in waiting:
            queued.note(result)
        if not answer["ok"]:
            self._failed(job, waiting, answer, now, mono)
            return
        job.line.worked()
        for queued in waiting:
            queued.took = list(dict.fromkeys([*queued.took, job.line.target.mark]))
        self._settle(waiting, now)
        self._release(job.line.target.mark)

    def _settle(self, messages: Iterable[Queued], now: float) -> None:
        """Store what a route took; what all have taken is sent."""
        for queued in messages:
            if not self._missing(queued):
                self._forget(queued)
                queued.state, queued.sent_at, queued.error = "sent", now, ""
            self._keep(queued)
        self._commit()

    def _finish_taken(self, now: float) -> None:
        """What is missing nowhere any more, as the URL that had refused it was removed, is sent."""
        done = [q for q in self._queue if q.took and not self._missing(q)]
        if done:
            self._settle(done, now)

    def _stranded(self) -> list[Queued]:
        """What waits and is for none of the routes, as these are others now than when it was made."""
        return [q for q in self._queue if not q.took and not self._fitting(q)]

    def _give_up_stranded(self, mono: float) -> None:
        """What no route takes waits for one as long as for one that fails."""
        for queued in self._stranded():
            if mono - self._born[queued.id] > GIVE_UP_S:
                queued.state, queued.error = "failed", "no URL takes it"
                self._forget(queued)
                self._keep(queued)

    def _release(self, mark: str) -> None:
        """What waits for a route is due at once, because it can be reached again."""
        for queued in self._queue:
            self._tries.release(queued, mark)

    def _lost(self, why: str, now: float, mono: float) -> None:
        """The notifier is gone, and with it what was on its way."""
        self.child_trouble = why
        jobs, self._jobs = list(self._jobs.values()), {}
        nothing = failure(why)
        self._pings.lost(nothing)
        for job in jobs:
            job.line.busy = False
            self._failed(job, [q for q in job.messages if q in self._queue], nothing, now, mono)

    def _failed(
        self, job: Job, waiting: list[Queued], result: dict[str, Any], now: float, mono: float
    ) -> None:
        mark, label = job.line.target.mark, job.line.target.label
        tries = self._tries.most(job.messages, mark)
        place = len(PAUSES_S) if result.get("refused") else min(tries, len(PAUSES_S))
        pause = PAUSES_S[place - 1] * random.uniform(0.8, 1.2)
        job.line.broke(result, mono, pause)
        why = result["error"] if "url" not in result else f"{label}: {job.line.trouble}"
        for queued in waiting:
            queued.error = why
            queued.next_at = now + max(pause, job.line.hold_until - mono)
            self._tries.failed(queued, mark, mono, pause)
            if self._tries.lets_pass(queued, mark, mono):
                for other in self._of_incident(queued):
                    if other.created_at > queued.created_at:
                        self._tries.hurry(other, mark)
            if mono - self._born.get(queued.id, mono) > GIVE_UP_S:
                queued.state = "failed"
                self._forget(queued)
            self._keep(replace(queued))

    def _forget(self, queued: Queued) -> None:
        self._queue.remove(queued)
        self._born.pop(queued.id, None)
        self._tries.forget(queued, self._routes)

    def oldest_s(self, mono: float) -> float | None:
        """How long the oldest message waits, in seconds; ``None`` if none does."""
        return max((mono - self._born.get(q.id, mono) for q in self._queue), default=None)

    def waiting(self) -> list[Queued]:
        """The messages that wait or are being sent, oldest first."""
        return list(self._queue)

    def busy(self) -> bool:
        """True while messages or pings wait or are being sent."""
        return bool(self._queue or self._jobs or self._pings)

    def close(self) -> None:
        """End the notifier; queued messages stay queued."""
        self._child.close()
