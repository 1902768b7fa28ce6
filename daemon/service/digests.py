"""When a digest is due, and what goes into it. What the last one said is in the store.

The slot (the time at which it was due) is the key of the push: a daemon that is killed between the push
and its note of it sends it once all the same. One that was not running at the time sends one when it is
back, not one for each that was missed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from ..config import times
from ..judge.incidents import Incident
from ..report import digest as words
from ..report import facts
from .alerting import Alerter
from .context import Context
from .watched_run import WatchedRun

LOOK_S = 5.0
"""Seconds between two looks whether one is due."""
AHEAD_S = 3600.0
"""Seconds by which the time of the last one may lie in the future: more, and the clock was set back."""


class Digests:
    """Sends digests. ``blind``: what cannot be seen now; ``heartbeat``: a sentence about it."""

    def __init__(
        self,
        context: Context,
        alerter: Alerter,
        blind: Callable[[], list[str]],
        heartbeat: Callable[[], str],
    ) -> None:
        self._context = context
        self._alerter = alerter
        self._blind = blind
        self._heartbeat = heartbeat
        self._look_at = 0.0
        doc = dict(context.store.all("box")).get("digest") or {}
        self._told_at = _seconds(doc.get("told_at"))
        before = doc.get("runs")
        self._before: dict[str, dict[str, Any]] = before if isinstance(before, dict) else {}
        if self._told_at is None:
            self._note(context.clock.now(), self._before)
            context.store.flush()

    def next_at(self) -> float | None:
        """When the next one is due (epoch seconds); ``None``: at no time that is known."""
        settings, after = self._context.config.digest, self._told_at or 0.0
        found = [times.next_after(settings.at, after, self._context.zone)]
        every_s = times.every_s(settings.every)
        found.append(after + every_s if every_s else None)
        return min((at for at in found if at is not None), default=None)

    def tick(self) -> None:
        """Send one if it is due."""
        mono = self._context.clock.monotonic()
        if mono < self._look_at:
            return
        self._look_at = mono + LOOK_S
        now = self._context.clock.now()
        if self._told_at is not None and self._told_at > now + AHEAD_S:
            self._note(now, self._before)  # the clock was set back
        due = self.next_at()
        if due is not None:
            if due <= now:
                self._send(due, now)
            return
        # Without a digest the warnings of the quiet hours are told at their end.
        alerts = self._context.config.alerts
        ended = times.last_end(alerts.quiet, now, self._context.zone)
        told_at = now if self._told_at is None else self._told_at
        kept = self._alerter.kept.all().values()
        if ended is not None and told_at < ended and any(one.at < ended for one in kept):
            self._send(ended, now)

    def _send(self, slot: float, now: float) -> None:
        context, kept = self._context, self._alerter.kept.all()
        since = self._told_at or now
        runs = [
            watched
            for watched in context.runs.values()
            if not watched.spec.provisional
            and (watched.alive or (watched.ended_at or 0.0) >= since)
        ]
        told = [self._line(watched) for watched in runs]
        # Worked out before it is sent: the next one is that after now.
        self._told_at = now
        report = words.Facts(
            host=context.host,
            now=now,
            since=since,
            next_at=self.next_at(),
            runs=told,
            before=self._before,
            incidents=[self._incident(one) for one in context.incidents.open()],
            kept=[(one.at, one.title, one.why) for one in kept.values()],
            blind=self._blind(),
            heartbeat=self._heartbeat(),
        )
        message = words.digest(report, context.zone)
        if self._alerter.send(replace(message, key=f"digest {slot:.0f}")):
            self._alerter.kept.told(list(kept))
        self._note(now, {line.run: asdict(line) for line in told})
        context.store.flush()

    def _incident(self, one: Incident) -> dict[str, Any]:
        return {
            "id": one.id,
            "class": one.trouble,
            "severity": one.severity.label,
            "summary": one.summary,
        }

    def _line(self, watched: WatchedRun) -> words.RunLine:
        block = facts.now_block(watched.history, self._context.clock.now())
        loss = block["values"].get("train_loss")
        entries = watched.index["checkpoints"]
        states = [entry["verified"]["state"] for entry in entries]
        resume = watched.index.get("resume_from")
        found = (entry["step"] for entry in entries if entry["path"] == resume)
        eta = facts.eta_of(watched.history, self._context.clock.now())
        return words.RunLine(
            run=watched.spec.id,
            name=watched.spec.name,
            state=watched.state,
            step=block["step"],
            total=block["total"],
            loss=loss if isinstance(loss, (int, float)) else None,
            eta=eta if watched.alive else None,
            verified=states.count("ok"),
            bad=states.count("corrupt") + states.count("incomplete"),
            resume_step=next(found, None),
        )

    def _note(self, now: float, runs: dict[str, dict[str, Any]]) -> None:
        self._told_at, self._before = now, runs
        self._context.store.put("box", "digest", {"told_at": now, "runs": runs}, now)


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
