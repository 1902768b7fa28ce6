"""Pushes about incidents: which change of an incident is worth one, reminders, silences."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from middlewatch.sentinels.kit import Severity

from ..box import money
from ..config.phones import all_urls
from ..judge.incident import age
from ..judge.incidents import QUIET, Change, Incident
from ..report import messages
from ..report.last_save import last_good
from ..report.outbox import Outbox, Queued
from ..system.bounded import bounded
from ..system.errors import ConfigError
from ..system.loop import Loop
from .context import Context
from .restoring import Restorer
from .watched_run import WatchedRun

REQUEUED_S = 30.0
"""Seconds for which the end of a job is no push yet if its queue says that it starts it again, or if the
job ended with a status of its own choice after a save: another attempt that trains within that time is
the normal course of a short queue. Our choice: two to twenty seconds were seen."""


class Alerter:
    """Decides which changes are pushed and composes the messages; the outbox delivers them."""

    def __init__(
        self,
        context: Context,
        loop: Loop,
        log_line: Callable[[str], None],
        restorer: Restorer | None = None,
    ) -> None:
        self._context = context
        self._loop = loop
        self._log_line = log_line
        self._restorer = restorer or Restorer(context.store, log_line)
        for silence_id, silence in self._restorer.each("silence", _silence).items():
            if silence["until"] > context.clock.now():
                self._context.silences.append({"id": silence_id, **silence})
            else:
                context.store.drop("silence", silence_id)
        self._fd: int | None = None
        self._lost_store = ("", 0)
        self.routes_trouble = ""
        """Why the URLs that a person gave the daemon cannot be used."""
        self.outbox = Outbox(
            self._urls(),
            context.config.alerts,
            self._keep,
            queued=self._restorer.each("message", Queued.from_json).values(),
            new_id=lambda: secrets.token_hex(8),
            delivered=context.store.flush,
        )

    def _urls(self) -> tuple[str, ...]:
        """The alert URLs of the configuration, and those that a person gave the daemon itself."""
        urls, self.routes_trouble = self._context.config.alert_urls, ""
        try:
            urls = all_urls(urls, self._context.state.alert_urls)
        except ConfigError as error:
            self.routes_trouble = str(error)
        self._context.phones = len(urls)
        return urls

    def reload(self) -> None:
        """Take up the alert URLs as they are now."""
        self.outbox.urls = self._urls()

    def test(self) -> str:
        """Push a test; its id in the outbox."""
        clock = self._context.clock
        queued = self.outbox.push(messages.TEST, clock.now(), clock.monotonic())
        return "" if queued is None else queued.id

    def _keep(self, queued: Queued) -> None:
        self._context.store.put("message", queued.id, queued.to_json(), self._context.clock.now())
        if queued.error:
            self._log_line(f"push {queued.id} failed (attempt {queued.attempts}): {queued.error}")

    def alert(self, watched: WatchedRun, change: Change) -> None:
        """Push the change if it is worth a push, then store the incident.

        In this order, so that the stored incident says whether it was pushed (``alerted_at``).
        """
        incident = change.incident
        if change.kind in QUIET:
            self._context.save_incident(incident)
            return
        self._log_line(
            f"{incident.run}: {change.kind} {incident.severity.label} {incident.summary}"
        )
        aside_of = "" if change.kind == "resolved" else watched.spec.id
        if self._worth_a_push(change) and self._push(self._compose(watched, change), aside_of):
            incident.alerted_at = self._context.clock.now()
            self._promise(watched, change)
        self._context.save_incident(incident)

    def _promise(self, watched: WatchedRun, change: Change) -> None:
        """Remember the save that a push has called still being checked, and its incident (empty:
        the push about the end of the run)."""
        history, now = watched.history, self._context.clock.now()
        if change.kind != "resolved":
            told = last_good(history.checkpoints, history.claimed_saves, change.incident, now)
            if told.awaited is not None:
                watched.saves.promised[told.awaited] = change.incident.id

    def correct_saves(self, watched: WatchedRun) -> None:
        """Push that a save is bad which an earlier push called still being checked."""
        promised = watched.saves.promised
        if not promised:
            return
        known = {seen.path: seen for seen in watched.history.checkpoints}
        for path, incident_id in list(promised.items()):
            seen = known.get(path)
            if seen is not None and seen.state == "pending":
                continue
            del promised[path]
            if seen is None or seen.state not in ("corrupt", "incomplete"):
                continue
            incident = self._context.incidents.get(incident_id)
            told = any(
                one.alerted_at is not None and path in one.details.values()
                for one in self._context.incidents.open(watched.spec.id)
            )
            if not told and not self._silenced(
                watched.spec.id, incident.trouble if incident else ""
            ):
                name, host, index = watched.spec.name, self._context.host, watched.index
                good = index["resume_from"] if index["resume_from"] != path else None
                self._push(messages.not_good(seen, incident_id, name, host, good))

    def alert_end(self, watched: WatchedRun) -> None:
        """Push that a run finished (if ``[alerts] finished`` is set), or that it failed.

        Once for each run. A failed run is told here only where the finding about its end became a
        part of an incident that was told before: the end of a run is always told.
        """
        if watched.end_alerted:
            return
        watched.end_alerted = True
        for seen in watched.history.checkpoints:
            if seen.state == "pending":
                watched.saves.promised.setdefault(seen.path, "")
        run, name, host = watched.spec.id, watched.spec.name, self._context.host
        if self._silenced(run, ""):
            return
        if watched.state == "finished" and self._context.config.alerts.finished:
            message = messages.finished(name, host, self._context.status(watched))
            self._push(replace(message, key=f"{run} finished"), run)
        if watched.state == "failed":
            mine = sorted(self._context.incidents.of_run(run), key=age)
            ended = watched.ended_at or 0.0
            # A fatal trouble that was pushed after the end was found by the end.
            if not any(i.tells_end or (i.fatal and (i.alerted_at or 0.0) >= ended) for i in mine):
                worst = sorted(mine, key=lambda i: (i.holds_end, i.severity), reverse=True)
                cause = next((i for i in worst if i.state != "resolved"), None)
                page = self._context.page_of(cause) if cause else None
                message = self._worded(
                    "the end of a run",
                    lambda: messages.failed(name, host, self._context.status(watched), cause, page),
                    messages.plain_end(name, host, watched.reason),
                )
                self._push(replace(message, key=f"{run} failed"), run)

    def catch_up(self, watched: WatchedRun) -> None:
        """Push what is open of a run about which nothing was pushed so far."""
        for incident in self._context.incidents.open(watched.spec.id):
            if incident.alerted_at is None:
                self.alert(watched, Change("opened", incident))

    def remind(self) -> None:
        """All reminders that are due, at once."""
        for call in self.reminders():
            call()

    def reminders(self) -> Iterator[Callable[[], None]]:
        """Push open critical incidents again, after the intervals of ``[alerts] repeat_s``.

        The reminders end when a person acknowledges the incident, and with the run. An incident that
        opened during a silence is pushed for the first time when the silence is over.
        """
        for incident in self._context.incidents.open():
            if self._wants_reminder(incident):
                yield partial(self._remind, incident)

    def repeat(self, incident: Incident, every: Sequence[float]) -> None:
        """Push an open incident again after the intervals ``every`` (seconds; the last one repeats).

        For what goes on when no run lives, so that the reminders about runs say nothing of it.
        """
        now, alerts = self._context.clock.now(), self._context.config.alerts
        if incident.state != "open" or not self.outbox.urls:
            return
        if incident.severity < Severity.parse(alerts.min_severity):
            return
        if self._silenced(incident.run, incident.trouble):
            return
        if incident.alerted_at is not None:
            if not every:
                return
            if now - incident.alerted_at < every[min(incident.reminders, len(every) - 1)]:
                return
        self._remind(incident)

    def greet(self, message: messages.Message) -> bool:
        """Push what is told once about the platform; False where there is no phone to tell it to."""
        return bool(self.outbox.urls) and self._push(message)

    def _remind(self, incident: Incident) -> None:
        now = self._context.clock.now()
        watched = self._context.runs[incident.run]
        message = self._compose(watched, Change("opened", incident))
        if incident.alerted_at is not None:
            incident.reminders += 1
            title = message.title.replace("]", f", reminder {incident.reminders}]", 1)
            message = replace(message, title=title, key="")
        if self._push(message, incident.run):
            incident.alerted_at = now
        self._context.save_incident(incident)

    def _wants_reminder(self, incident: Incident) -> bool:
        now, repeat = self._context.clock.now(), self._context.config.alerts.repeat_s
        if incident.alerted_at is not None:
            if not repeat:
                return False
            wait = repeat[min(incident.reminders, len(repeat) - 1)]
            if now - incident.alerted_at < wait:
                return False
        return (
            incident.run in self._context.runs
            and (incident.alerted_at is None or self._goes_on(incident))
            and incident.severity is Severity.CRITICAL
            and incident.state == "open"
            and bool(self.outbox.urls)
            and not self._silenced(incident.run, incident.trouble)
            and not self._begins_again(incident)
        )

    def _goes_on(self, incident: Incident) -> bool:
        """True while a run that the trouble concerns lives: what is over is told once."""
        runs = (self._context.runs.get(run) for run in (incident.run, *incident.runs))
        return any(run is not None and run.alive for run in runs)

    def _begins_again(self, incident: Incident) -> bool:
        """True while another attempt of the job that has ended may still come."""
        waits = incident.alerted_at is None and bool(incident.details.get("requeued"))
        return waits and self._context.clock.now() - incident.opened_at < REQUEUED_S

    def _worth_a_push(self, change: Change) -> bool:
        incident, alerts = change.incident, self._context.config.alerts
        if self._silenced(incident.run, incident.trouble) or self._begins_again(incident):
            return False
        if change.kind == "resolved":
            return alerts.resolved and incident.alerted_at is not None
        return incident.severity >= Severity.parse(alerts.min_severity)

    def _silenced(self, run: str, trouble: str) -> bool:
        watched = self._context.runs.get(run)
        if watched is not None and watched.spec.provisional:
            return True  # it has not shown yet that it trains
        now = self._context.clock.now()
        return any(
            s["until"] > now and s["run"] in ("", run) and s["class"] in ("", trouble)
            for s in self._context.silences
        )

    def silence(self, run: str, trouble: str, for_s: float) -> dict[str, Any]:
        """Push nothing about ``run`` and class ``trouble`` (empty: any) for ``for_s`` seconds."""
        now = self._context.clock.now()
        made = {"id": secrets.token_hex(4), "run": run, "class": trouble, "until": now + for_s}
        self._context.silences = [*self.silences(), made]
        self._context.store.put("silence", str(made["id"]), made, now)
        return made

    def silences(self) -> list[dict[str, Any]]:
        """The silences that are not over."""
        now = self._context.clock.now()
        return [s for s in self._context.silences if s["until"] > now]

    def end_silence(self, silence_id: str) -> bool:
        """End a silence now; False when there is none with this id."""
        left = [s for s in self.silences() if s["id"] != silence_id]
        known, self._context.silences = len(left) < len(self.silences()), left
        self._context.store.drop("silence", silence_id)
        return known

    def _compose(self, watched: WatchedRun, change: Change) -> messages.Message:
        now = self._context.clock.now()
        plain = messages.plain(change, watched.spec.name, self._context.host, now)
        words = partial(self._words, watched, change)
        message = self._worded(change.incident.trouble, words, plain)
        # The severity is part of it: a warning that was told holds back nothing critical.
        key = f"{change.incident.id} {change.kind} {change.incident.severity.label}"
        return replace(message, key=key) if change.kind in ("opened", "resolved") else message

    def _worded(
        self, name: str, words: Callable[[], messages.Message], plain: messages.Message
    ) -> messages.Message:
        """What ``words`` makes, or ``plain`` if that fails: a push must go out in any case."""
        now, isolation = self._context.clock.now(), self._context.pump.isolation
        if isolation.left_out("message", name, now):
            return plain
        try:
            message = bounded(words)
        except Exception as error:  # noqa: BLE001 - a mistake in our words
            isolation.failed("message", name, error, now)
            return plain
        isolation.worked("message", name, now)
        return message

    def _words(self, watched: WatchedRun, change: Change) -> messages.Message:
        others = [self._context.runs.get(run) for run in change.incident.runs]
        return messages.compose(
            change,
            watched.spec.name,
            self._context.host,
            self._context.page_of(change.incident),
            watched.history.checkpoints,
            self._context.clock.now(),
            [(o.spec.name, o.history.checkpoints) for o in others if o and o is not watched],
            watched.history.claimed_saves,
            watched.spec,
            self._cost_of(change),
        )

    def _cost_of(self, change: Change) -> str:
        """What an incident cost, as a sentence; empty without a price."""
        context, incident = self._context, change.incident
        found = context.loss_of(incident)
        if change.kind == "resolved":
            return money.ended_text(incident.trouble, found, context.price)
        return "" if found is None or context.price is None else found.text(context.price)

    def _push(self, message: messages.Message, run: str = "") -> bool:
        clock = self._context.clock
        if aside := self._context.asides.get(run):
            message = messages.with_aside(message, aside)
        if self._context.drill:
            message = messages.drilled(message)
        queued = self.outbox.push(message, clock.now(), clock.monotonic())
        self._wire()
        return queued is not None and queued.state != "silent"

    def tell_lost_store(self) -> None:
        """Push that the store was lost and begun anew, or what of it cannot be read; each once."""
        if unread := self._restorer.told():
            self._push(messages.not_read(self._context.host, unread))
        store = self._context.store
        lost = store.set_aside, store.lost_in_use
        if lost == self._lost_store:
            return
        in_use = lost[1] != self._lost_store[1]
        aside = lost[0] if lost[0] != self._lost_store[0] else ""
        self._lost_store = lost
        kept = f"damaged and is set aside as {aside}" if aside else "deleted or replaced"
        self._log_line(f"the store was {kept}")
        self._push(messages.store_lost(self._context.host, aside, in_use=in_use))

    def put_again(self) -> None:
        """Put silences and the messages that wait into a store that is new."""
        now = self._context.clock.now()
        for made in self._context.silences:
            self._context.store.put("silence", str(made["id"]), made, now)
        for queued in self.outbox.waiting():
            self._keep(queued)

    def pump(self) -> None:
        """Take the answers of the notifier child, and send the messages that are due."""
        if self.outbox.busy() or self._fd is not None:
            self.outbox.pump(self._context.clock.now(), self._context.clock.monotonic())
            self._wire()

    def _wire(self) -> None:
        """Let the loop watch the notifier's pipe; every new notifier child has a new pipe."""
        if self._fd is not None:
            self._loop.unwatch(self._fd, self.pump)
        self._fd = self.outbox.fileno()
        if self._fd is not None:
            self._loop.watch(self._fd, self.pump)


def _silence(doc: dict[str, Any]) -> dict[str, Any]:
    """A silence as it was stored. Raises KeyError, TypeError or ValueError for anything else."""
    return {"run": str(doc["run"]), "class": str(doc["class"]), "until": float(doc["until"])}
