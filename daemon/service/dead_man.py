"""The dead man's switch: a service is pinged after each pass that really saw everything.

Success is pinged only if every vital source of every living run has answered (:mod:`.vital`). Where one
has not for a while, ``fail`` says which. Where this daemon hangs, is frozen or is gone with its box,
nothing is pinged, and the service tells it after its grace time. When pings are accepted again after a
silence longer than that, one push says what was missed. What was accepted last is in the store.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from middlewatch import __version__
from middlewatch.sentinels.kit import codec
from middlewatch.sentinels.kit.numbers import number, span

from ..config.secrets import mask
from ..report import silence_words
from ..report.silence_words import Missed
from ..system import procfs
from ..system.clock import iso
from .alerting import Alerter
from .context import Context
from .vital import blind_spots

BLIND_S = 30.0
"""Seconds without a full pass before ``fail`` is pinged, as in the rule `blind`: a log that is rotated
exists again within seconds."""
AGAIN_S = 10.0
"""Seconds before a ping that was not accepted is tried again, and between looks of a blind watch."""
CATCH_UP_S = 20.0
"""Seconds after a silence in which logs and ends are read before it is told what was missed: the end of a
run is known 8 s after its process has gone."""
RUNS_KEPT = 300
"""Runs whose state is remembered for the next return."""


@dataclass
class Beat:
    """What is stored. Times are epoch seconds."""

    accepted_at: float | None = None
    """When a ping was accepted last, whatever it said."""
    accepted: str = ""
    """What it said."""
    runs: dict[str, tuple[str, float | None]] = field(default_factory=dict)
    """Run -> its state and step at that time."""
    away_from: float | None = None
    """Since when nothing was accepted, of a silence that is still to be told."""
    away_to: float | None = None
    """Until when."""
    away_runs: dict[str, tuple[str, float | None]] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    """Why nothing came, as far as it is known here."""


class DeadMan:
    """Pings the service of ``[heartbeat]``; without a URL it does nothing."""

    def __init__(self, context: Context, alerter: Alerter, log_line: Callable[[str], None]) -> None:
        self._context = context
        self._alerter = alerter
        self._log_line = log_line
        self._settings = context.config.heartbeat
        doc = dict(context.store.all("box")).get("heartbeat") or {}
        try:
            self._beat = codec.load(Beat, doc)
        except ValueError:  # of another version: the next ping writes it anew
            self._beat = Beat()
        if doc and not self._settings.url:  # what is set up anew later begins anew
            context.store.drop("box", "heartbeat")
        self.trouble = ""
        """Why the newest ping was not accepted; empty if it was."""
        self.answers = 0
        """Pings that were answered, in whatever way, by this daemon."""
        self._refused = self._asked = self._ringing = self._started = False
        self._due = 0.0
        self._looked: float | None = None
        self._blind_since: float | None = None
        self._blind: list[str] = []
        self._tell_at: float | None = None

    @property
    def on(self) -> bool:
        """Whether there is a URL."""
        return bool(self._settings.url)

    # -- each second ------------------------------------------------------------------------

    def tick(self) -> None:
        """Look, and ping if it is time; called once a second."""
        if not self.on:
            return
        clock = self._context.clock
        now, mono = clock.now(), clock.monotonic()
        self._mind_standstill(mono)
        self._look(now, mono)
        if self._tell_at is not None and mono >= self._tell_at:
            self._tell(now)
        if self._asked or mono < self._due:
            return
        if not self._started:
            self._send("start", now, mono)
        elif not self._blind:
            self._send("success", now, mono)
        elif self._ringing:
            self._send("log", now, mono)
        elif mono - (self._blind_since or mono) >= BLIND_S:
            self._send("fail", now, mono)

    def ring(self) -> None:
        """Ping now: a person wants to see it arrive."""
        self._due, self._ringing = 0.0, True

    def _mind_standstill(self, mono: float) -> None:
        """Note that this daemon stood still: it was frozen, or its box was."""
        before, self._looked = self._looked, mono
        if before is not None and mono - before > self._settings.every_s:
            self._note(f"the daemon stood still for {span(mono - before)}")

    def _look(self, now: float, mono: float) -> None:
        self._blind = blind_spots(self._context.runs.values(), self._context.pump.all(), now)
        if not self._blind:
            self._blind_since = None
        elif self._blind_since is None:
            self._blind_since = mono

    def _note(self, why: str) -> None:
        if why not in self._beat.reasons:
            self._beat.reasons = [*self._beat.reasons, why][-5:]

    # -- pinging ----------------------------------------------------------------------------

    def _send(self, signal: str, now: float, mono: float) -> None:
        self._asked, self._ringing, self._started = True, False, True
        self._due = mono + self._settings.every_s
        job = {
            "url": self._settings.url,
            "label": "heartbeat",
            "service": self._settings.kind,
            "ping": signal,
            "body": self._body(signal),
        }
        self._alerter.ping(job, partial(self._answered, signal))

    def _body(self, signal: str) -> str:
        """One line of status, and what is blind."""
        living = self._context.living_runs()
        opened = len(self._context.incidents.open())
        runs = [self._run(one.spec.name, one.history.step_times, one.state) for one in living[:3]]
        runs += [f"and {len(living) - 3} more"] if len(living) > 3 else []
        head = f"middlewatch {__version__} on {self._context.host}: "
        words = {"start": "the watch begins", "fail": "BLIND"}.get(signal)
        parts = [words] if words else []
        parts += [f"{len(living)} runs watched" if living else "no run is watched", *runs]
        parts.append(f"{opened} incidents open")
        lines = [head + "; ".join(parts), *(f"blind: {one}" for one in self._blind[:10])]
        return "\n".join(mask(line) for line in lines)

    @staticmethod
    def _run(name: str, steps: Any, state: str) -> str:
        return f"{name} {state}" + (f" at step {number(steps[-1][1])}" if steps else "")

    def _answered(self, signal: str, answer: dict[str, Any]) -> None:
        clock = self._context.clock
        now, mono = clock.now(), clock.monotonic()
        self._asked = False
        self.answers += 1
        if not answer.get("sent", True):  # the service has no such signal, and has heard nothing
            self._due = mono if signal == "start" else self._due
            return
        if answer["ok"]:
            self._accepted(signal, now, mono)
            return
        wait_s = answer.get("retry_after_s")
        # Who does not know us is not asked more often than who does.
        again_s = self._settings.every_s if answer["refused"] else AGAIN_S
        pause_s = max(again_s, wait_s or 0.0) * random.uniform(1.0, 1.3)
        self._due = min(self._due, mono + pause_s) if wait_s is None else mono + pause_s
        if self.trouble != answer["error"]:
            self._log_line(f"the heartbeat was not accepted: {answer['error']}")
        self.trouble = str(answer["error"])
        self._note(f"pings were not accepted: {self.trouble}")
        if answer["refused"] and not self._refused:
            self._refused = True
            self._alerter.send(
                silence_words.refused(self._context.host, self.trouble, int(now // 86400))
            )

    def _accepted(self, signal: str, now: float, mono: float) -> None:
        beat, last = self._beat, self._beat.accepted_at
        silent_s = self._settings.every_s + self._settings.grace_s
        if last is not None and now - last > silent_s and beat.away_to is None:
            beat.away_from, beat.away_to, beat.away_runs = last, now, beat.runs
            booted = procfs.boot_time() or 0.0
            if last < booted <= now:
                self._note(f"the box was started again at {iso(booted)}")
            elif self._context.started_at > last:
                self._note("the daemon was not running")
        if beat.away_to is None:
            beat.reasons = []
        elif self._tell_at is None:
            self._tell_at = mono + CATCH_UP_S
        if self.trouble:
            self._log_line("the heartbeat is accepted again")
        self.trouble, self._refused = "", False
        beat.accepted_at, beat.accepted = now, signal
        beat.runs = self._states()
        if signal == "start":
            self._due = mono  # the first full pass follows as soon as there is one
        self._keep(now)

    def _states(self) -> dict[str, tuple[str, float | None]]:
        known = list(self._context.runs.items())[-RUNS_KEPT:]
        steps = {run: one.history.step_times for run, one in known}
        return {run: (one.state, steps[run][-1][1] if steps[run] else None) for run, one in known}

    def _keep(self, now: float) -> None:
        self._context.store.put("box", "heartbeat", codec.dump(self._beat), now)
        self._context.store.flush()

    # -- the return -------------------------------------------------------------------------

    def _tell(self, now: float) -> None:
        """One push about the silence that is over."""
        beat, self._tell_at = self._beat, None
        if beat.away_from is None or beat.away_to is None:
            return
        incidents = [
            f"{one.severity.label} {one.summary}"
            for one in self._context.incidents.all()
            if one.opened_at >= beat.away_from
        ]
        missed = Missed(
            since=beat.away_from,
            until=beat.away_to,
            pings=max(1, int((beat.away_to - beat.away_from) // self._settings.every_s)),
            reasons=tuple(beat.reasons),
            runs=tuple(silence_words.changes(beat.away_runs, self._states())),
            incidents=tuple(incidents),
        )
        message = silence_words.back(self._context.host, missed, self._context.zone)
        self._alerter.send(replace(message, key=f"back {beat.away_from:.0f}"))
        beat.away_from = beat.away_to = None
        beat.away_runs, beat.reasons = {}, []
        self._keep(now)

    # -- facts ------------------------------------------------------------------------------

    def blind(self) -> list[str]:
        """What was not seen at the last look."""
        if not self.on:
            context = self._context
            return blind_spots(context.runs.values(), context.pump.all(), context.clock.now())
        return list(self._blind)

    def facts(self) -> dict[str, Any]:
        """How it stands, for ``status``, ``doctor`` and ``alert test``."""
        beat = self._beat
        return {
            "set": self.on,
            "every_s": self._settings.every_s,
            "grace_s": self._settings.grace_s,
            "accepted_at": iso(beat.accepted_at) if self.on else None,
            "accepted": beat.accepted if self.on else "",
            "age_s": None
            if beat.accepted_at is None or not self.on
            else max(0.0, self._context.clock.now() - beat.accepted_at),
            "trouble": self.trouble,
            "blind": [mask(one) for one in self._blind],
            "answers": self.answers,
        }

    def sentence(self) -> str:
        """The same for a person; empty without a URL."""
        return silence_words.standing(self.facts()) if self.on else ""
