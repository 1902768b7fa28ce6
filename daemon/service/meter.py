"""The meter of the box: what it costs, clocks that end it, and a box that is paid for nothing.

It looks at all runs, also at those that have ended, so it is no sentinel: these judge a run that
lives. Where no price is known it says nothing about money.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from middlewatch.sentinels.kit import Evidence, Finding, Severity
from middlewatch.sentinels.kit.findings import LONGEST_SUMMARY

from ..box import clocks, money
from ..box.platform_report import of_box
from ..config import times
from ..judge.incidents import Change, Incident
from ..report import first_contact
from ..system import procfs
from ..system.clock import epoch
from ..text.figures import duration
from .alerting import Alerter
from .context import Context
from .watched_run import WatchedRun

LOOK_S = 5.0
"""Seconds between two looks. A look takes well under 1 ms; our choice."""
NAME = "meter"
"""What incidents of it have for a sentinel."""
CLASSES = ("box_idle", "platform_clock")
"""What it can tell."""
PAID_ROLES = ("rental", "notebook")
"""Platforms whose conveniences and clocks are told once: a cloud machine may be anybody's build box."""


class Meter:
    """Tells what money is spent for; ``tell`` gets every change of an incident."""

    def __init__(
        self, context: Context, alerter: Alerter, tell: Callable[[WatchedRun, Change], None]
    ) -> None:
        """Raises ConfigError for a mistake in the person's file about the platform."""
        self._context = context
        self._alerter = alerter
        self._tell = tell
        self._tried: dict[str, float] = {}
        """Incident -> when it was last tried to be pushed again."""
        config = context.config
        context.profile, self._platform = of_box(config, context.durability.platforms)
        context.price = money.price(config.cost, context.profile)
        context.box_start = box_start(context.clock.now())
        since = config.cost.since
        context.paid_since = epoch(since) if since else context.box_start

    def look(self) -> None:
        """Open, renew or resolve what is to be told now, and send the reminders that are due."""
        context, now = self._context, self._context.clock.now()
        known = [r for r in context.runs.values() if not r.spec.provisional]
        mine = [i for i in context.incidents.open() if i.sentinel == NAME]
        if not known and not mine:
            return
        self._greet(now)
        findings: dict[str, list[Finding]] = {i.run: [] for i in mine}
        newest = max(known, key=lambda r: (r.alive, r.ended_at or 0.0, r.facts.started_at))
        for run, finding in self._findings(newest, mine, now):
            findings.setdefault(run, []).append(finding)
        for run, found in findings.items():
            self._update(run, found, now)

    def _update(self, run: str, found: Sequence[Finding], now: float) -> None:
        context = self._context
        watched = context.runs.get(run)
        if watched is None:
            return
        named = [(NAME, one) for one in found]
        for change in context.incidents.update(run, named, {NAME: 0.0}, now, self._well_again):
            if change.kind == "opened":
                self._tried[change.incident.id] = now
            self._tell(watched, change)
        newest = {one.key: one for one in found}
        for incident in context.incidents.open(run):
            one = newest.get(incident.key) if incident.sentinel == NAME else None
            if one is not None:  # amounts and times go on: a reminder says what is true now
                incident.summary, incident.details = one.summary, dict(one.details)
                self._repeat(incident, now)

    def _repeat(self, incident: Incident, now: float) -> None:
        """Push an open incident again after the intervals of ``[cost] idle_repeat_s``.

        The reminders about runs say nothing of it: no run lives. What is kept back (quiet hours, a
        silence, many warnings in a day) is tried again after the shortest interval.
        """
        context = self._context
        alerts, every = context.config.alerts, context.config.cost.idle_repeat_s
        if not every or incident.state != "open" or not self._alerter.outbox.urls:
            return
        if incident.severity < Severity.parse(alerts.min_severity):
            return
        if self._alerter.silences.covers(incident.run, incident.trouble):
            return
        if times.within(alerts.quiet, now, context.zone):
            return
        told, tried = incident.alerted_at, self._tried.get(incident.id)
        wait_s = every[min(incident.reminders, len(every) - 1)]
        if told is not None and now - told < wait_s:
            return
        if tried is not None and now - tried < every[0]:
            return
        self._tried[incident.id] = now
        reminders = incident.reminders
        self._alerter.remind_of(incident)
        if incident.alerted_at == told:
            incident.reminders = reminders

    def _well_again(self, incident: Incident, since: float) -> str:
        """Why a trouble that is not found any more is over."""
        if incident.trouble == "box_idle":
            living = [r.spec.name for r in self._context.living_runs()]
            return (
                f"a run is alive again: {living[0]}"
                if living
                else "the price is not known any more"
            )
        return "that end was put off"

    def _findings(
        self, newest: WatchedRun, mine: Sequence[Incident], now: float
    ) -> Iterator[tuple[str, Finding]]:
        idle = self._idle(newest, now)
        if idle is not None:
            yield newest.spec.id, idle
        # It stays with the run that it was told about: a new run is no new trouble.
        told = {i.key: i.run for i in mine if i.trouble == "platform_clock"}
        for clock in self._context.clocks(now):
            if clock.is_due(now):
                key = f"clock:{clock.name}"
                run = told.get(key, newest.spec.id)
                yield run if run in self._context.runs else newest.spec.id, self._clock(clock, now)

    def _idle(self, newest: WatchedRun, now: float) -> Finding | None:
        """The box costs money and no run of it lives."""
        context = self._context
        price, cost = context.price, context.config.cost
        if price is None or context.living_runs() or newest.ended_at is None:
            return None
        since = max(newest.ended_at, context.box_start or 0.0)
        idle_s = now - since
        if idle_s < cost.idle_after_s:
            return None
        ended = "finished" if newest.state == "finished" else "ended"
        return Finding(
            trouble="box_idle",
            severity=Severity.WARNING,
            key="idle",
            summary=f"{newest.spec.name} {ended} {duration(now - newest.ended_at)} ago, and the box"
            f" still costs {price.rate}: {price.money(price.amount(idle_s))} for nothing so far",
            evidence=tuple(self._proof(now)),
            details={
                "idle_s": round(idle_s, 1),
                "amount": round(price.amount(idle_s), 4),
                "currency": price.currency,
                "price_per_hour": price.per_hour,
                "price_from": price.told_by,
            },
            since=since,
        )

    def _proof(self, now: float) -> Iterator[Evidence]:
        context = self._context
        if context.price is not None:
            yield Evidence(
                "process", f"no run lives; the price is from {context.price.told_by}", now
            )
        verb = clocks.stop_words(context.profile)
        if verb:
            yield Evidence("process", f"stops the meter on {verb}", now)
        if context.profile is not None:
            for sentence in clocks.if_stopped(context.profile, now)[:1]:
                yield Evidence("process", sentence, now)

    def _clock(self, clock: clocks.Running, now: float) -> Finding:
        left_s = clock.ends_at - now
        return Finding(
            trouble="platform_clock",
            severity=Severity.WARNING,
            key=f"clock:{clock.name}",
            summary=f"{clock.text}; then: {clock.effect}"[:LONGEST_SUMMARY],
            evidence=(Evidence("process", clock.text, now),),
            details={"ends_at": clock.ends_at, "left_s": round(left_s, 1), "clock": clock.name},
        )

    def _greet(self, now: float) -> None:
        """Tell once per box what is worth knowing about its platform."""
        context, platform = self._context, self._platform
        if platform is None or context.profile is None or context.drill:
            return
        if platform.role not in PAID_ROLES or not context.phones:
            return
        told = {"platform": platform.id, "host": context.host}
        if dict(context.store.all("box")).get("greeted") == told:
            self._platform = None
            return
        message = first_contact.message(
            context.host, context.profile.name, platform.signs, first_contact.lines(context.profile)
        )
        if self._alerter.send(message):
            context.store.put("box", "greeted", told, now)
            self._platform = None


def box_start(now: float, root: str = procfs.PROC) -> float | None:
    """When the box was started, in epoch seconds: the start of process 1, which in a container is that
    of the container; ``None`` where it is not known."""
    first, uptime_s = procfs.stat(1, root), procfs.uptime_s(root)
    if first is None or uptime_s is None:
        return None
    return now - uptime_s + first.start_ticks * procfs.TICK_S
