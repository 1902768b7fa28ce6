"""Incidents: findings with the same fingerprint over time, in one state machine.

Sentinels have no memory of what they reported; it is here. Incidents are opened, raised, corrected
and resolved, and symptoms are joined to the incident of their cause. There is no I/O and the time
is an argument, so that a test can try any order of findings. Storing incidents and pushing them is
done elsewhere.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from middlewatch.sentinels.kit import Finding, Severity

from .causes import cause_rank
from .incident import (
    MAX_EVIDENCE,
    MOST_SYMPTOMS,
    QUIET,
    Change,
    ChangeKind,
    Incident,
    forget,
    holds,
    is_cause,
    is_symptom,
    may_meet,
    merge,
    note,
    tag_of,
)
from .register import Register

__all__ = [
    "MAX_EVIDENCE",
    "MOST_SYMPTOMS",
    "QUIET",
    "Change",
    "ChangeKind",
    "Incident",
    "Incidents",
]

SHARED_S = 5.0
"""Seconds without a finding of any run before a trouble of the box may be over."""


class Incidents:
    """All incidents of all runs that are still of interest."""

    def __init__(
        self,
        known: Iterable[Incident] = (),
        users: Callable[[str], Sequence[str]] = lambda place: (),
    ) -> None:
        self._known = Register(known)
        self.users = users
        """The living runs that use a place of the box."""

    def all(self) -> list[Incident]:
        """Every incident, oldest first."""
        return self._known.all()

    def open(self, run: str | None = None) -> list[Incident]:
        """Incidents that are not resolved, oldest first; only those that concern ``run`` if given."""
        return self._known.open() if run is None else self._known.of_run(run)

    def of_run(self, run: str) -> list[Incident]:
        """All that concern ``run``, also those that are resolved."""
        return [*self._known.resolved_of(run), *self._known.of_run(run)]

    def get(self, incident_id: str) -> Incident | None:
        """The incident with this id, if it is known."""
        return self._known.get(incident_id)

    def forget_resolved(self, before: float) -> None:
        """Drop incidents resolved before ``before`` (epoch seconds); the store has them."""
        self._known.forget_resolved(before)

    def update(
        self,
        run: str,
        findings: Sequence[tuple[str, Finding]],
        asked: Mapping[str, float],
        now: float,
        recovered: Callable[[Incident, float], str] = lambda incident, since: "",
    ) -> list[Change]:
        """Take in one round of judgement about ``run``; returns what changed.

        ``findings`` are (sentinel, finding); ``asked`` maps every sentinel that was asked in
        this round to the seconds without a finding after which its incidents may be resolved.
        ``recovered`` says, of an incident and by evidence newer than a time (epoch seconds), what
        is well again; while it has no words the incident stays open.
        """
        changes: list[Change] = []
        seen: set[tuple[str, str, str]] = set()
        ordered = sorted(findings, key=lambda f: cause_rank(f[1].trouble))
        for sentinel, finding in ordered:
            seen.add((run, sentinel, finding.key))
            changes += self._take(run, sentinel, finding, now)
        for incident in self.open(run):
            is_past = [
                f.details.get("over") is True
                for sentinel, f in findings
                if sentinel == incident.sentinel and f.trouble == incident.trouble
            ]
            incident.over = incident.over or (bool(is_past) and all(is_past))
            clears = asked.get(incident.sentinel)
            if clears is None:
                continue
            if incident.asked_from is None:
                incident.asked_from = now
            if incident.fingerprint in seen or (incident.shared and incident.last_seen_at == now):
                continue
            if incident.shared:  # the other runs are judged a moment earlier or later
                clears = max(clears, SHARED_S)
            quiet_since = max(incident.last_seen_at, incident.asked_from)
            if now - quiet_since >= clears and (words := recovered(incident, quiet_since)):
                changes.append(self.resolve(incident, now, words))
        return changes

    def resolve(self, incident: Incident, now: float, outcome: str) -> Change:
        """Resolve ``incident``; ``outcome``: what was seen to be well again."""
        incident.state = "resolved"
        incident.resolved_at = now
        incident.details["outcome"] = outcome
        return Change("resolved", incident)

    def acknowledge(self, incident: Incident) -> None:
        """A person has seen it: no reminders from here on."""
        if incident.state == "open":
            incident.state = "acknowledged"

    def _take(self, run: str, sentinel: str, finding: Finding, now: float) -> list[Change]:
        if finding.place:
            told = self._of_box(run, sentinel, finding, now)
            if told is not None:
                return told
        same = self._same(run, sentinel, (finding.key, *finding.replaces))
        if same:
            return self._again(same, finding, now)
        others = [i for i in self.open(run) if may_meet(finding, i)]
        holder = next((i for i in others if holds(i, sentinel, finding)), None)
        if holder and not (
            cause_rank(finding.trouble) < cause_rank(holder.trouble)
            and is_cause(finding, holder, now)
        ):
            return self._join(holder, sentinel, finding, now)
        if not holder:
            causes = [i for i in others if is_symptom(finding, i, now)]
            cause = min(causes, key=lambda i: cause_rank(i.trouble), default=None)
            if cause:
                return self._join(cause, sentinel, finding, now)
        symptoms = [i for i in others if i is holder or is_cause(finding, i, now)]
        if symptoms:
            worst = max(symptoms, key=lambda i: (i is holder, i.severity, -cause_rank(i.trouble)))
            changes = [self._correct(worst, sentinel, finding, now)]
            return changes + [merge(worst, i, now) for i in symptoms if i is not worst]
        # What is left of a trouble that is over (a save that a full disk damaged) was told with it.
        if finding.severity < Severity.CRITICAL:
            over = (i for i in self._known.resolved_of(run) if i.run == run)
            if any(holds(i, sentinel, finding) for i in over):
                return []
        return [self._open(run, sentinel, finding, now)]

    def _of_box(self, run: str, sentinel: str, finding: Finding, now: float) -> list[Change] | None:
        """Take in what the run reports of a place of the box, if that is an incident already.

        The run is one of those concerned then, and nothing is told anew. ``None``: there is none.
        """
        there = self._known.at_place(finding.place)
        named = (i for i in there if (i.sentinel, i.key) == (sentinel, finding.key))
        holder = next(named, None)
        if holder is None:
            return None
        changes: list[Change] = []
        if not holder.concerns(run):
            holder.runs.append(run)
            self._known.file(holder)
            changes.append(Change("joined", holder))
        own = self._same(run, sentinel, (finding.key,))
        if own is not None and own is not holder:
            changes.append(merge(holder, own, now))
        if holder.shared:
            finding = replace(finding, fatal=False)
        return changes + self._again(holder, finding, now)

    def _settle_place(self, incident: Incident, finding: Finding, now: float) -> None:
        """Note which runs a trouble of the box concerns, and when it began."""
        incident.since = (
            now if finding.since is None and now > incident.opened_at else finding.since
        )
        incident.place, incident.runs = finding.place, []
        if finding.place:
            users = self.users(finding.place)
            incident.runs = list(dict.fromkeys([incident.run, *users]))
        if incident.shared:  # the end of one run is not that of the others
            incident.fatal = False
        self._known.file(incident)

    def _open(self, run: str, sentinel: str, finding: Finding, now: float) -> Change:
        incident = Incident(
            id=self._new_id(run, sentinel, finding, now),
            run=run,
            trouble=finding.trouble,
            sentinel=sentinel,
            key=finding.key,
            severity=finding.severity,
            state="open",
            opened_at=now,
            last_seen_at=now,
            asked_from=now,
            changed_at=now,
            summary=finding.summary,
            fatal=finding.fatal,
            remedy=finding.remedy,
            evidence=list(finding.evidence[:MAX_EVIDENCE]),
            details=dict(finding.details),
        )
        self._settle_place(incident, finding, now)
        return Change("opened", incident)

    def _same(self, run: str, sentinel: str, keys: Sequence[str]) -> Incident | None:
        """The run's own open incident of this sentinel with one of these keys."""
        own = (i for i in self._known.of_run(run) if (i.run, i.sentinel) == (run, sentinel))
        return next((i for i in own if i.key in keys), None)

    def _again(self, incident: Incident, finding: Finding, now: float) -> list[Change]:
        incident.last_seen_at = now
        incident.count += 1
        prefix = f"{incident.sentinel}|{incident.key}|"
        before, line = incident.trouble, f"{incident.trouble}: {incident.summary}"
        other = finding.trouble != before
        replaced = incident.key in finding.replaces
        # The run was said to be alive, and it has ended after all.
        ended = not other and finding.details.get("main") is True and not incident.tells_end
        anew = replaced or ended
        incident.key = finding.key if replaced else incident.key
        incident.fatal = incident.fatal or finding.fatal
        if finding.place and not incident.place:
            self._settle_place(incident, finding, now)
        if finding.severity > incident.severity:
            was = incident.severity.label
            self._restate(incident, finding, now)
            incident.state = "open"  # the person acknowledged a lower severity
            change = Change("raised", incident, was)
        elif anew or (other and cause_rank(finding.trouble) < cause_rank(before)):
            self._restate(incident, finding, now)
            change = Change("corrected", incident, before)
        elif other and note(
            incident, prefix + finding.trouble, f"{finding.trouble}: {finding.summary}"
        ):
            return [Change("joined", incident)]
        else:
            if not other and finding.severity < incident.severity and not incident.joined:
                # Milder now, as when a good save follows a bad one: no push, but the status page
                # has to show the new text.
                incident.summary, incident.remedy = finding.summary, finding.remedy
            return []
        if other:
            forget(incident, prefix + finding.trouble)
            note(incident, prefix + before, line)
        return [change]

    def _restate(self, incident: Incident, finding: Finding, now: float) -> None:
        incident.trouble = finding.trouble
        incident.severity = max(finding.severity, incident.severity)
        incident.summary = finding.summary
        incident.remedy = finding.remedy
        incident.details = dict(finding.details)
        incident.changed_at = now
        fresh = [e for e in finding.evidence if e not in incident.evidence]
        incident.evidence = (fresh + incident.evidence)[:MAX_EVIDENCE]

    def _join(
        self, incident: Incident, sentinel: str, finding: Finding, now: float
    ) -> list[Change]:
        """Add a symptom to the incident that explains it."""
        if finding.severity >= min(incident.severity, Severity.CRITICAL):
            incident.last_seen_at = now  # a milder symptom must not keep it open
            incident.fatal = incident.fatal or finding.fatal
        if finding.details.get("newest") and finding.trouble == incident.trouble:
            # Of several bad saves the newest is shown: a restart would load that one.
            incident.summary, incident.remedy = finding.summary, finding.remedy
            incident.details = dict(finding.details)
        line = f"{finding.trouble}: {finding.summary}"
        mild, grave = (tag_of(sentinel, finding.key, s) for s in (Severity.INFO, Severity.CRITICAL))
        if finding.severity is Severity.CRITICAL:
            forget(incident, mild)
        known_as = grave if grave in incident.joined else mild
        fresh = note(incident, grave if finding.severity is Severity.CRITICAL else known_as, line)
        if fresh:
            room = MAX_EVIDENCE - len(incident.evidence)
            incident.evidence += [e for e in finding.evidence if e not in incident.evidence][:room]
        again = incident.over and fresh and finding.trouble == incident.trouble
        if finding.severity > incident.severity or (again and finding.details.get("newest")):
            was = Severity.WARNING.label if again else incident.severity.label
            incident.severity, incident.over = max(finding.severity, incident.severity), False
            incident.state, incident.changed_at = "open", now
            return [Change("raised", incident, was)]
        return [Change("joined", incident)] if fresh else []

    def _correct(self, incident: Incident, sentinel: str, finding: Finding, now: float) -> Change:
        """Make ``finding`` the cause of an incident that was opened for a symptom of it."""
        was, severity = incident.trouble, incident.severity
        incident.fatal = incident.fatal or finding.fatal
        for kind in (Severity.INFO, Severity.CRITICAL):
            forget(incident, tag_of(sentinel, finding.key, kind))
        tag = tag_of(incident.sentinel, incident.key, severity)
        note(incident, tag, f"{was}: {incident.summary}")
        incident.sentinel, incident.key = sentinel, finding.key
        incident.last_seen_at = now
        self._settle_place(incident, finding, now)
        self._restate(incident, finding, now)
        worse = incident.severity > severity
        if worse:
            incident.state = "open"
        return Change("corrected", incident, was, worse)

    def _new_id(self, run: str, sentinel: str, finding: Finding, now: float) -> str:
        """An id that a restarted daemon gives again to a trouble whose incident was lost with it.

        So a push that has to be sent twice names the same incident. The day is part of it, because
        troubles of the same kind come again after the old ones are forgotten.
        """
        day = int(now // 86400)
        about = (run, sentinel, finding.key, finding.trouble, finding.file, finding.line, day)
        for number in itertools.count():
            fresh = hashlib.sha256(repr((*about, number)).encode("utf-8", "replace")).hexdigest()[
                :6
            ]
            if fresh not in self._known:
                return fresh
        raise AssertionError  # the count has no end
