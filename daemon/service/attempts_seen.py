"""The attempts of a run that is started again, as the daemon has seen them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from middlewatch.sentinels.kit import Severity
from middlewatch.sentinels.kit.classes import row
from middlewatch.sentinels.kit.leaving import ENDED_HERE

from ..judge.incident import age
from ..judge.incidents import Incident
from ..report.again_words import Restart
from ..resume.again import Attempt, cause_of, time_limit
from .context import Context
from .watched_run import WatchedRun


class AttemptsSeen:
    """Looks at attempts. ``known``: what was decided about those that have ended, by run."""

    def __init__(self, context: Context, known: Mapping[str, Restart]) -> None:
        self._context = context
        self._known = known

    def before(self, watched: WatchedRun) -> list[WatchedRun]:
        """The attempts before this one, oldest first."""
        return [*self._context.attempts_before(watched.spec)][::-1]

    def all(self, watched: WatchedRun) -> list[Attempt]:
        """This attempt and all before it, oldest first."""
        return [self.attempt(one) for one in (*self.before(watched), watched)]

    def attempt(self, watched: WatchedRun) -> Attempt:
        """One attempt, for the decision."""
        known, spec, history = self._known.get(watched.spec.id), watched.spec, watched.history
        trouble, retry = cause_of([{"class": one.trouble} for one in self.ends(watched)])
        if known is not None:  # as it was then: its incidents may be over or merged now
            trouble = known.cause
        limit, ended = time_limit(spec.command), watched.ended_at or 0.0
        return Attempt(
            spec.id,
            ended,
            trouble,
            retry,
            max((step for _, step in history.step_times), default=None),
            finished=watched.state == "finished",
            by_person=any(p.name == "stop" and p.file == ENDED_HERE for p in history.phases),
            timed_out=limit is not None and ended - watched.facts.started_at >= limit - 1.0,
        )

    def ends(self, watched: WatchedRun) -> list[Incident]:
        """Its open incidents that may have ended it, oldest first."""
        found = (
            one
            for one in self._context.incidents.open(watched.spec.id)
            if not row(one.trouble).bad_save
            and (one.severity is Severity.CRITICAL or one.tells_end or one.holds_end)
        )
        return sorted(found, key=age)

    def cause(self, watched: WatchedRun) -> Incident | None:
        """The one of them that decides; ``None``: why it ended is not known."""
        ends = self.ends(watched)
        trouble, _ = cause_of([{"class": one.trouble} for one in ends])
        return next((one for one in ends if one.trouble == trouble), None)

    def talk(self, watched: WatchedRun) -> Incident | None:
        """The incident of an attempt before that is not over: all attempts are one conversation."""
        for before in self._context.attempts_before(watched.spec):
            known = self._known.get(before.spec.id)
            incident = self._context.incidents.get(known.talk) if known and known.talk else None
            if incident is not None and incident.state != "resolved":
                return incident
        return None

    def followed(self, watched: WatchedRun) -> bool:
        """True when another run goes on from this one already."""
        run = watched.spec.id
        return any(one.spec.resumed_from == run for one in self._context.runs.values())

    def folder(self, watched: WatchedRun) -> Path:
        """Its folder in the state directory."""
        return self._context.state.run(watched.spec.id)
