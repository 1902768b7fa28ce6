"""Pushes about incidents: which change of an incident is worth one, reminders, silences."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from middlewatch.sentinels.kit import Severity

from ..config import times
from ..config.phones import all_urls
from ..judge.incident import age
from ..judge.incidents import QUIET, Change, Incident
from ..report import messages, silence_words
from ..report.deliveries import Answered, RouteState
from ..report.digest import TROUBLE as DIGEST
from ..report.last_save import last_good
from ..report.outbox import WARNINGS_A_DAY, Outbox, Queued
from ..report.routes import severity_of, unknown_tags
from ..system.errors import ConfigError
from ..system.loop import Loop
from .context import Context
from .crash_loop import LOOPS
from .evidence import EvidenceFiles
from .flapping import COMES_AND_GOES, STAYS_S, Flapping, about_end
from .kept_back import KeptBack
from .restoring import Restorer
from .silences import Silences
from .watched_run import WatchedRun
from .wording import Wording

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
        self.silences = Silences(context.store, context.clock, self._restorer, context.silences)
        self.evidence = EvidenceFiles(context, log_line)
        self._wording = Wording(context, self.evidence)
        self._fd: int | None = None
        self._lost_store = ("", 0)
        self.routes_trouble = ""
        """Why the URLs that a person gave the daemon cannot be used."""
        queued = list(self._restorer.each("message", Queued.from_json).values())
        self.outbox = Outbox(
            self._urls(),
            context.config.alerts,
            self._keep,
            queued=queued,
            new_id=_new_id,
            delivered=context.store.flush,
            rules=context.config.routes,
            zone=context.zone,
        )
        self._flapping = Flapping(queued)
        self.kept = KeptBack(context.store, self._restorer, _new_id)
        context.push_trouble = lambda: self.routes_trouble or self.outbox.trouble
        context.kept_back = lambda: self.kept.sentence(context.clock.now())

    def _urls(self) -> tuple[str, ...]:
        """The alert URLs of the configuration, and those that a person gave the daemon itself."""
        urls, self.routes_trouble = self._context.config.alert_urls, ""
        try:
            urls = all_urls(urls, self._context.state.alert_urls)
        except ConfigError as error:
            self.routes_trouble = str(error)
        if unknown := unknown_tags(urls, self._context.config.routes):
            self.routes_trouble = (
                f"no section [routes.{unknown[0]}] says what URLs with the tag {unknown[0]} get: "
                "they get everything"
            )
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

    def notes(self) -> list[str]:
        """What a person has to know who asks who is called: trouble, and what nobody was told."""
        trouble = self.routes_trouble or self.outbox.trouble
        kept = self.kept.sentence(self._context.clock.now())
        return [
            *([f"pushes do not get through: {trouble}"] if trouble else []),
            *filter(None, [kept]),
        ]

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
        self._context.save_incident(incident)  # it is committed with the push about it
        if self._worth_a_push(change) and self._push(
            self._wording.with_facts(watched, change), aside_of, change.kind
        ):
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
        if self._silenced(run, "") or self._context.restarts.tells_end(watched):
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
                message = self._wording.worded(
                    "the end of a run",
                    lambda: messages.failed(name, host, self._context.status(watched), cause, page),
                    messages.plain_end(name, host, watched.reason),
                )
                about = about_end(self._context.loops.barren(run))
                self._push(replace(message, key=f"{run} failed", about=about), run, "end")

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
                yield partial(self.remind_of, incident)

    def remind_of(self, incident: Incident) -> None:
        """Push an open incident again, whoever it concerns."""
        now = self._context.clock.now()
        watched = self._context.runs[incident.run]
        message = self._wording.of_change(watched, Change("opened", incident))
        kind = "stays" if incident.alerted_at is None else "reminder"
        if incident.alerted_at is not None:
            incident.reminders += 1
            title = message.title.replace("]", f", reminder {incident.reminders}]", 1)
            message = replace(message, title=title, key="")
        if self._push(message, incident.run, kind):
            incident.alerted_at = now
        self._context.save_incident(incident)

    def _wants_reminder(self, incident: Incident) -> bool:
        now, repeat = self._context.clock.now(), self._context.config.alerts.repeat_s
        about = self._context.about(incident)
        if incident.alerted_at is None:
            wait_s = repeat[0] if repeat else STAYS_S
            wait_s = self._flapping.wait_s(about, incident.id, now, wait_s)
            if now - incident.opened_at < wait_s or (wait_s and not self._goes_on(incident)):
                return False
        elif self._flapping.verdict(about, incident.id, "reminder", now) == "hold":
            return False
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
            and self._reaches(incident, now)
        )

    def _reaches(self, incident: Incident, now: float) -> bool:
        """Whether some route takes a push about it now: one that none takes is looked at again later."""
        watched, severity = self._context.runs[incident.run], incident.severity.label
        stub = messages.Message(
            "", "", "failure", trouble=incident.trouble, severity=severity, run=watched.spec.name
        )
        return self.outbox.reaches(stub, now)

    def _goes_on(self, incident: Incident) -> bool:
        """True while a run that the trouble concerns lives: what is over is told once."""
        runs = (self._context.runs.get(run) for run in (incident.run, *incident.runs))
        return any(run is not None and run.alive for run in runs)

    def _begins_again(self, incident: Incident) -> bool:
        """True while another attempt of the job that has ended may still come."""
        if self._context.restarts.holds(incident):
            return True
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
        return self.silences.covers(run, trouble)

    def send(self, message: messages.Message) -> bool:
        """Push what is about middlewatch itself, or about all runs."""
        return self._push(message)

    def ping(self, job: dict[str, Any], told: Answered) -> None:
        """Have the notifier ping a dead man's switch; ``told`` gets what came of it."""
        clock = self._context.clock
        self.outbox.ping(job, told, clock.now(), clock.monotonic())
        self._wire()

    def _push(self, message: messages.Message, run: str = "", kind: str = "") -> bool:
        """Push a message, or keep it back; whether somebody is called."""
        clock = self._context.clock
        now, watched = clock.now(), self._context.runs.get(run)
        verdict = self._flapping.verdict(message.about, message.incident, kind, now)
        quiet = times.within(self._context.config.alerts.quiet, now, self._context.zone)
        if verdict == "hold":
            self._hold(message, "it comes and goes", now)
            return False
        if quiet and severity_of(message) is Severity.WARNING:
            self._hold(message, "quiet hours", now)
            return False
        if watched is not None and not message.run:
            message = replace(message, run=watched.spec.name)
        if verdict == "last":
            aside = LOOPS if self._context.loops.barren(run) else COMES_AND_GOES
            message = messages.with_aside(message, aside)
        promised = self._context.restarts.promise(run, message.incident)
        if aside := self._context.asides.get(run) or promised:
            message = messages.with_aside(message, aside)
        if self._context.drill:
            message = messages.drilled(message)
        queued = self.outbox.push(message, now, clock.monotonic())
        self._wire()
        if queued is None:
            self._hold(message, f"{WARNINGS_A_DAY} warnings in a day", now)
        elif queued.created_at >= now:
            if queued.state != "silent":
                self._flapping.note(message.about, message.incident, now)
            elif self.outbox.urls:
                self._hold(message, "no route takes it", now)
        return queued is not None and queued.state != "silent"

    def _hold(self, message: messages.Message, why: str, now: float) -> None:
        """Nobody is called; the next digest and the status tell it. A digest itself has no next one."""
        self._log_line(f"not pushed ({why}): {message.title}")
        if message.trouble != DIGEST:
            self.kept.add(message, why, now)

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
        """Put silences, and messages that wait or were kept back, into a store that is new."""
        self.silences.put_again()
        self.kept.put_again()
        for queued in self.outbox.waiting():
            self._keep(queued)

    def pump(self) -> None:
        """Take the answers of the notifier child, and send the messages that are due."""
        if self.outbox.busy() or self._fd is not None:
            now, mono = self._context.clock.now(), self._context.clock.monotonic()
            self.outbox.pump(now, mono)
            for line in self.outbox.newly_broken(mono):
                self._tell_broken(line, now)
            self._wire()

    def _tell_broken(self, line: RouteState, now: float) -> None:
        """Tell the other routes of one that takes no pushes; alone, it is on the status page only."""
        self._log_line(f"{line.target.label} takes no pushes: {line.trouble}")
        if len(self.outbox.routes()) > 1:
            day, label = int(now // 86400), line.target.label
            host, mark = self._context.host, line.target.mark
            self.send(silence_words.route_broken(host, label, line.trouble, day, mark))

    def _wire(self) -> None:
        """Let the loop watch the notifier's pipe; every new notifier child has a new pipe."""
        if self._fd is not None:
            self._loop.unwatch(self._fd, self.pump)
        self._fd = self.outbox.fileno()
        if self._fd is not None:
            self._loop.watch(self._fd, self.pump)


def _new_id() -> str:
    return secrets.token_hex(8)
