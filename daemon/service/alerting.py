"""Telling people: which change of an incident is worth a push, and reminding them."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from middlewatch.sentinels.kit import Severity

from ..judge.incidents import QUIET, Change, Incident
from ..report import messages
from ..report.outbox import Phone, Queued
from ..system.loop import Loop
from .context import Room
from .watched_run import WatchedRun


class Teller:
    """Decides and composes; the phone delivers."""

    def __init__(self, room: Room, loop: Loop, say: Callable[[str], None]) -> None:
        self._room = room
        self._loop = loop
        self._say = say
        self._silences: list[dict[str, Any]] = []
        for silence_id, silence in list(room.store.all("silence")):
            if silence["until"] > room.clock.now():
                self._silences.append(silence)
            else:
                room.store.drop("silence", silence_id)
        self._fd: int | None = None
        self.phone = Phone(
            room.config.alert_urls,
            room.config.alerts,
            self._keep,
            queued=_queued(room, say),
            new_id=lambda: secrets.token_hex(8),
        )

    def _keep(self, queued: Queued) -> None:
        self._room.store.put("message", queued.id, queued.to_json(), self._room.clock.now())
        if queued.sent_at is not None:
            self._room.store.flush()  # what was sent must not be sent again after a crash
        if queued.error:
            self._say(f"push {queued.id} failed (attempt {queued.attempts}): {queued.error}")

    def tell(self, watched: WatchedRun, change: Change) -> None:
        """Push first, then write down."""
        incident = change.incident
        if change.kind in QUIET:
            self._room.keep(incident)
            return
        self._say(f"{incident.run}: {change.kind} {incident.severity.label} {incident.summary}")
        if self._worth_a_push(change) and self._push(self._compose(watched, change)):
            incident.alerted_at = self._room.clock.now()
        self._room.keep(incident)

    def tell_end(self, watched: WatchedRun) -> None:
        """Push that a run reached its end, once and if that is wanted."""
        if watched.told_end:
            return
        watched.told_end = True
        wanted = self._room.config.alerts.finished and not self._silenced(watched.spec.id, "")
        if watched.state == "finished" and wanted:
            name, status = watched.spec.name, self._room.status(watched)
            self._push(messages.finished(name, self._room.host, status))

    def remind(self) -> None:
        """Repeat open critical incidents ever more rarely until somebody looks.

        One that opened during a silence is told when the silence is over.
        """
        now, repeat = self._room.clock.now(), self._room.config.alerts.repeat_s
        for incident in self._room.keeper.open():
            watched = self._room.runs.get(incident.run)
            if watched is None or not self._wants_reminder(incident):
                continue
            message = self._compose(watched, Change("opened", incident))
            if incident.alerted_at is not None:
                if not repeat:
                    continue
                wait = repeat[min(incident.reminders, len(repeat) - 1)]
                if now - incident.alerted_at < wait:
                    continue
                incident.reminders += 1
                title = message.title.replace("]", f", reminder {incident.reminders}]", 1)
                message = replace(message, title=title)
            if self._push(message):
                incident.alerted_at = now
            self._room.keep(incident)

    def _wants_reminder(self, incident: Incident) -> bool:
        return (
            incident.severity is Severity.CRITICAL
            and incident.state == "open"
            and bool(self.phone.urls)
            and not self._silenced(incident.run, incident.trouble)
        )

    def _worth_a_push(self, change: Change) -> bool:
        incident, alerts = change.incident, self._room.config.alerts
        if self._silenced(incident.run, incident.trouble):
            return False
        if change.kind == "resolved":
            return alerts.resolved and incident.alerted_at is not None
        return incident.severity >= Severity.parse(alerts.min_severity)

    def _silenced(self, run: str, trouble: str) -> bool:
        now = self._room.clock.now()
        return any(
            s["until"] > now and s["run"] in ("", run) and s["class"] in ("", trouble)
            for s in self._silences
        )

    def silence(self, run: str, trouble: str, for_s: float) -> dict[str, Any]:
        """Push nothing about ``run`` and class ``trouble`` (empty: any) for a while."""
        now = self._room.clock.now()
        made = {"run": run, "class": trouble, "until": now + for_s}
        self._silences = [s for s in self._silences if s["until"] > now] + [made]
        self._room.store.put("silence", secrets.token_hex(4), made, now)
        return made

    def _compose(self, watched: WatchedRun, change: Change) -> messages.Message:
        return messages.compose(
            change,
            watched.spec.name,
            self._room.host,
            self._room.page_of(change.incident),
            watched.history.checkpoints,
            self._room.clock.now(),
        )

    def _push(self, message: messages.Message) -> bool:
        clock = self._room.clock
        if self._room.drill:
            message = messages.drilled(message)
        queued = self.phone.push(message, clock.now(), clock.monotonic())
        self._wire()
        return queued is not None and queued.state != "silent"

    def pump(self) -> None:
        """Take the notifier's answers, send what is due."""
        if self.phone.busy() or self._fd is not None:
            self.phone.pump(self._room.clock.now(), self._room.clock.monotonic())
            self._wire()

    def _wire(self) -> None:
        """Wait on the notifier's answers; its pipe is another with every child."""
        if self._fd is not None:
            self._loop.unwatch(self._fd, self.pump)
        self._fd = self.phone.fileno()
        if self._fd is not None:
            self._loop.watch(self._fd, self.pump)


def _queued(room: Room, say: Callable[[str], None]) -> list[Queued]:
    """What a crash left in the store; a message that cannot be read is said and left out."""
    found = []
    for message_id, doc in room.store.all("message"):
        try:
            found.append(Queued.from_json(doc))
        except (KeyError, TypeError, ValueError) as error:
            say(f"message {message_id} of the store is not usable: {type(error).__name__}: {error}")
    return found
