"""Starts runs again whose person asked for it (``run --again N``): decides, has it done, tells it.

The decision is pure (:mod:`..resume.again`), and in the store before anything follows from it. The
supervisor of the ended run does it (:mod:`..launch.next_command`): it reads its order once, so that a
daemon that is killed at any moment loses no attempt and starts none twice.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from middlewatch.sentinels.kit.loss.losses import Losses

from ..config.run_spec import run_id
from ..judge.incident import END, note
from ..judge.incidents import Change, Incident
from ..launch import next_command
from ..report import again_words
from ..report.again_words import Restart
from ..resume.again import ALLOWED, Attempt, Resume, Stop, cause_of, decide
from ..resume.phases import PhaseMissed, PhasePlan, PhaseUnclear, judge
from ..system.errors import Refused
from ..text.moments import ahead
from .alerting import Alerter
from .attempts_seen import AttemptsSeen
from .context import Context
from .ordering import Ordering
from .phases_seen import end_of_phase, is_last, plan_of
from .restarts import Restarts
from .restoring import Restorer
from .watched_run import WatchedRun

HELD_S = 120.0
"""Seconds for which a push about a fatal trouble waits for the end of its run and what becomes of it,
from the second attempt on. The end itself is known after 8 s, or 60 s without an exit record; what is
left is our choice."""
Tell = Callable[[WatchedRun, Change], None]


class Again(Restarts):
    """All runs that are started again by themselves, or may be."""

    def __init__(self, context: Context, alerter: Alerter, tell: Tell, restorer: Restorer) -> None:
        self._context = context
        self._alerter = alerter
        self._tell = tell
        self._known: dict[str, Restart] = restorer.each("again", Restart.from_json)
        self._seen = AttemptsSeen(context, self._known)
        self._ordering = Ordering(context)
        self._released: set[str] = set()
        """Incidents whose push has waited long enough."""
        context.restarts = self

    # -- in time ------------------------------------------------------------------------

    def tick(self) -> None:
        """Once a second: decide about runs that have ended, and go on with what was decided."""
        for gone in self._known.keys() - self._context.runs.keys():
            del self._known[gone]
            self._context.store.drop("again", gone)
        for watched in list(self._context.runs.values()):
            if watched.spec.again or watched.spec.plan:
                self._look(watched)

    def _look(self, watched: WatchedRun) -> None:
        if watched.alive:
            self._release(watched)
            return
        known = self._known.get(watched.spec.id)
        if known is None:
            self._decide(watched)
        elif known.state == "waiting":
            self._wait(watched, known)
        elif known.state == "ordered":
            self._follow(watched, known)

    def _release(self, watched: WatchedRun) -> None:
        """Push what has waited in vain for an end."""
        if not watched.spec.again_used:
            return
        for incident in self._context.incidents.open(watched.spec.id):
            late = self._context.clock.now() - incident.opened_at >= HELD_S
            if late and incident.alerted_at is None and incident.id not in self._released:
                self._released.add(incident.id)
                if _of_end(incident):
                    self._alerter.alert(watched, Change("opened", incident))

    # -- the decision -------------------------------------------------------------------

    def _decide(self, watched: WatchedRun) -> None:
        spec, now, config = watched.spec, self._context.clock.now(), self._context.config.again
        if self._seen.followed(watched):
            self._leave(watched, Stop("it was started again by hand", quiet=True))
            return
        if spec.plan and (watched.state == "finished" or not spec.again):
            self._end_phase(watched)
            return
        attempts = self._seen.all(watched)
        made = decide(attempts, spec.again_used, spec.again, config, now)
        if isinstance(made, Resume) and (gone := self._ordering.gone(watched)) is not None:
            if not gone:
                return
            made = Stop(gone)
        if isinstance(made, Stop):
            self._leave(watched, made)
        else:
            self._plan(watched, made, attempts[-1])

    def _end_phase(self, watched: WatchedRun) -> None:
        """Decide whether the next phase begins."""
        plan, spec = plan_of(watched), watched.spec
        if plan is None:
            self._leave(watched, Stop(f"the plan of its phases cannot be read: {spec.plan}"))
            return
        place = plan.place(spec.phase)
        end = end_of_phase(watched, self._seen.before(watched))
        made = judge(plan.phases[place], end)
        if isinstance(made, PhaseUnclear) or (gone := self._ordering.gone(watched)) == "":
            return
        if isinstance(made, PhaseMissed):
            self._leave(watched, Stop(made.why, quiet=self._seen.attempt(watched).by_person))
            return
        save = end.save.path if end.save else ""
        milestones = tuple(dict.fromkeys((*spec.milestones, save)))
        watched.spec = replace(spec, milestones=milestones)
        watched.index_stale = True
        if place == len(plan.phases) - 1:
            self._leave(watched, Stop("all phases are done", quiet=True))
        elif gone:
            self._leave(watched, Stop(gone))
        else:
            self._begin_phase(watched, plan, place + 1, made.why, save)

    def _begin_phase(
        self, watched: WatchedRun, plan: PhasePlan, place: int, why: str, save: str
    ) -> None:
        spec, context, now = watched.spec, self._context, self._context.clock.now()
        one = Restart(
            spec.id,
            "waiting",
            why,
            now,
            at=now,
            number=place + 1,
            most=len(plan.phases),
            phase=plan.phases[place].name,
            next_run=run_id(spec.name),
        )
        self._known[spec.id] = one
        context.store.put("run", spec.id, watched.save(), now)
        self._keep(one)
        folder = str(self._seen.folder(watched))
        words = again_words.begins(
            one, spec.name, context.host, context.status(watched), save, folder
        )
        self._alerter.send(replace(words, run=spec.name))
        context.store.flush()

    # -- it is started again ------------------------------------------------------------

    def _plan(self, watched: WatchedRun, made: Resume, last: Attempt) -> None:
        spec, context, now = watched.spec, self._context, self._context.clock.now()
        used = spec.again_used
        one = Restart(
            spec.id,
            "waiting",
            made.why,
            now,
            at=made.at,
            number=used + 2,
            most=spec.again + 1,
            next_run=run_id(spec.name),
            cause=last.cause,
            step=last.step,
            losses=watched.history.accumulators[Losses].save()
            if Losses in watched.history.accumulators
            else {},
        )
        ends, cause = self._seen.ends(watched), self._seen.cause(watched)
        talk = self._seen.talk(watched) or cause
        one.talk = talk.id if talk else ""
        self._known[spec.id] = one
        context.store.put("again", spec.id, one.to_json(), now)
        context.asides[spec.id] = f"{one.attempt.capitalize()} begins {ahead(one.at, now)}."
        status = context.status(watched)
        words = again_words.resuming(one, spec.name, context.host, status, cause, now)
        told = self._alerter.send(replace(words, run=spec.name))
        for incident in ends:
            if told and incident.alerted_at is None:
                incident.alerted_at = now
            if talk is not None and incident.run == spec.id and talk is not incident:
                self._join(watched, talk, incident)
            context.save_incident(incident)
        context.store.flush()

    def _join(self, watched: WatchedRun, talk: Incident, incident: Incident) -> None:
        """Make the end of this attempt a part of the incident that was told first."""
        number = watched.spec.again_used + 1
        note(talk, f"attempt {number}|{END}", f"attempt {number}: {incident.summary}")
        incident.state, incident.resolved_at = "resolved", self._context.clock.now()
        incident.details["part_of"] = talk.id
        self._tell(watched, Change("merged", incident, talk.id))
        self._context.save_incident(talk)

    def _wait(self, watched: WatchedRun, one: Restart) -> None:
        if self._seen.followed(watched):
            self._leave(watched, Stop("it was started again by hand", quiet=True))
        elif self._context.clock.now() >= one.at:
            one.state, one.ordered_at = "ordered", self._context.clock.now()
            self._keep(one)
            if why := self._ordering.give(watched, one):
                self._leave(watched, Stop(why))

    def _follow(self, watched: WatchedRun, one: Restart) -> None:
        """See what came of an order."""
        if one.next_run in self._context.runs:
            one.state = "started"
            self._keep(one)
            words = f"{one.attempt} goes on as {one.next_run}"
            self._context.asides[one.run] = f"It goes on: {words}."
            watched.spec = replace(watched.spec, notes=(*watched.spec.notes, words))
            self._context.store.put("run", one.run, watched.save(), self._context.clock.now())
        elif why := self._ordering.trouble(watched, one):
            self._leave(watched, Stop(why))

    # -- it is left ---------------------------------------------------------------------

    def _leave(self, watched: WatchedRun, made: Stop) -> None:
        spec, context, now = watched.spec, self._context, self._context.clock.now()
        last, cause = self._seen.attempt(watched), self._seen.cause(watched)
        was = self._known.get(spec.id)
        talk = self._seen.talk(watched)
        one = Restart(
            spec.id,
            "left",
            made.why,
            now,
            number=spec.again_used + 1,
            cause=last.cause,
            step=last.step,
            talk=was.talk if was and was.talk else (talk.id if talk else ""),
        )
        self._known[spec.id] = one
        self._keep(one)
        with contextlib.suppress(OSError):
            next_command.say(self._seen.folder(watched), ())
        if made.quiet or self._was_told(watched, cause, last):
            if spec.again_used:
                self._push_held(watched)
            return
        context.asides.pop(spec.id, None)
        page = context.page_of(cause) if cause else None
        lines = [
            again_words.line(n, a.run, a.cause, a.step)
            for n, a in enumerate(self._seen.all(watched), 1)
        ]
        message = again_words.left(
            one,
            spec.name,
            context.host,
            context.status(watched),
            cause,
            page,
            (_what(watched), *lines),
        )
        if self._alerter.send(replace(message, run=spec.name)):
            for incident in self._seen.ends(watched):
                incident.alerted_at = incident.alerted_at or now
                context.save_incident(incident)
        context.store.flush()

    def _was_told(self, watched: WatchedRun, cause: Incident | None, last: Attempt) -> bool:
        """True where the first push about the end has said already that no retry helps."""
        first = not watched.spec.again_used and not watched.spec.plan and cause is not None
        return bool(first and cause and cause.alerted_at and last.retry not in ALLOWED)

    def _push_held(self, watched: WatchedRun) -> None:
        for incident in self._seen.ends(watched):
            if incident.alerted_at is None:
                self._alerter.alert(watched, Change("opened", incident))

    def _keep(self, one: Restart) -> None:
        self._context.store.put("again", one.run, one.to_json(), self._context.clock.now())
        self._context.store.flush()

    # -- what others ask ----------------------------------------------------------------

    def holds(self, incident: Incident) -> bool:
        """True while a push about an end waits for what becomes of the run."""
        watched = self._context.runs.get(incident.run)
        if watched is None or not (watched.spec.again and watched.spec.again_used):
            return False
        waits = incident.alerted_at is None and incident.run not in self._known
        young = self._context.clock.now() - incident.opened_at < HELD_S
        return waits and young and _of_end(incident)

    def tells_end(self, watched: WatchedRun) -> bool:
        """True for a run whose failed end is told by the push on what becomes of it."""
        if watched.state == "finished":
            return not is_last(watched)
        return bool(watched.spec.again and watched.spec.again_used)

    def promise(self, run: str, incident: str) -> str:
        """A sentence for the first push about an end: whether the run is started again."""
        watched, about = self._context.runs.get(run), self._context.incidents.get(incident)
        if watched is None or about is None or not watched.spec.again or not _of_end(about):
            return ""
        trouble, retry = cause_of([{"class": about.trouble}])
        if retry in ALLOWED:
            return (
                f"If that is its end, it is started again by itself (--again {watched.spec.again})."
            )
        return f"It is not started again by itself: after {trouble or about.trouble} that does not help."

    def seed(self, watched: WatchedRun) -> None:
        """Give a new attempt the losses of the attempt before, as those of its own log."""
        spec = watched.spec
        known = self._known.get(spec.resumed_from or "")
        earlier = self._context.runs.get(spec.resumed_from or "")
        if earlier is None or spec.attempt == earlier.spec.attempt:
            return
        own = earlier.history.accumulators.get(Losses)
        losses = known.losses if known is not None else own.save() if own is not None else None
        old, new = earlier.spec.logs[:1], spec.logs[:1]
        if losses and old and new and Losses in watched.history.accumulators:
            watched.history.accumulators[Losses].restore(_renamed(losses, old[0], new[0]))

    def limit(self, watched: WatchedRun, most: int) -> dict[str, Any]:
        """Set how often the run may be started again; 0 calls off what was decided."""
        run, known = watched.spec.id, self._known.get(watched.spec.id)
        if most and not (self._seen.folder(watched) / next_command.FIFO).exists():
            raise Refused(
                f"{run} was not started with --again, so nobody keeps the environment of its command",
                "the next time: middlewatch run --again 3 -- CMD",
            )
        if known is not None and known.state in ("ordered", "started"):
            raise Refused(f"{run} is being started again as {known.next_run}", "end that one")
        watched.spec = replace(watched.spec, again=most)
        if known is not None and not most:
            self._leave(watched, Stop("a person has called it off", quiet=True))
        elif known is not None and known.state == "waiting":
            known.most = most + 1
            self._keep(known)
        if not most:  # a supervisor that does not wait yet has nothing to wait for
            (self._seen.folder(watched) / next_command.FIFO).unlink(missing_ok=True)
        self._context.store.put("run", run, watched.save(), self._context.clock.now())
        self._context.store.flush()
        return {"run": run, "again": self.shown(watched)}

    def shown(self, watched: WatchedRun) -> dict[str, Any] | None:
        """``again`` in ``status --json``; ``None``: nobody asked for it."""
        known, spec = self._known.get(watched.spec.id), watched.spec
        if not (spec.again or spec.plan) and known is None:
            return None
        decision = known.shown() if known else None
        return {"limit": spec.again, "used": spec.again_used, "decision": decision}


def _what(watched: WatchedRun) -> str:
    """What does not happen, for the push that says so."""
    plan, spec = plan_of(watched), watched.spec
    if plan is None or (watched.state == "failed" and spec.again):
        return "not started again"
    later = plan.phases[plan.place(spec.phase) + 1 :]
    return f"phase {later[0].name} is not begun" if later else f"phase {spec.phase} missed its aim"


def _of_end(incident: Incident) -> bool:
    return incident.fatal or incident.tells_end or incident.holds_end


def _renamed(value: Any, old: str, new: str) -> Any:
    """The same value with the name of one file in place of another."""
    if isinstance(value, dict):
        return {key: _renamed(one, old, new) for key, one in value.items()}
    if isinstance(value, list):
        return [_renamed(one, old, new) for one in value]
    return new if value == old else value
