"""Incidents: findings with the same fingerprint over time, in one state machine.

Sentinels have no memory of what they reported; it is here. Incidents are opened, raised, corrected
and resolved, and symptoms are joined to the incident of their cause. There is no I/O and the time
is an argument, so that a test can try any order of findings. Storing incidents and pushing them is
done elsewhere.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from middlewatch.sentinels.kit import Evidence, Finding, Severity, codec

from .causes import JOIN_S, cause_rank, ends_hang, explains, linked

State = Literal["open", "acknowledged", "resolved"]
ChangeKind = Literal["opened", "raised", "corrected", "resolved", "joined", "merged"]
QUIET: frozenset[ChangeKind] = frozenset({"joined", "merged"})
"""Changes that are stored but never pushed: a symptom was added to an incident, or an incident
turned out to be a part of another."""
END = "end"
"""Key of the findings about the end of a run."""
MAX_EVIDENCE = 12
"""Pieces of evidence kept of one incident."""
MOST_SYMPTOMS = 1000
"""Symptoms kept of one incident, the newest. Our choice: more than the ranks of any run that we
know of, and some 300 kB at most."""


@dataclass(slots=True)
class Incident:
    """One trouble of one run, over time. Times are epoch seconds."""

    id: str
    run: str
    trouble: str
    sentinel: str
    key: str
    severity: Severity
    state: State
    opened_at: float
    last_seen_at: float
    summary: str
    count: int = 1
    resolved_at: float | None = None
    fatal: bool = False
    remedy: str = ""
    evidence: list[Evidence] = field(default_factory=list)
    details: dict[str, object] = field(default_factory=dict)
    symptoms: list[str] = field(default_factory=list)
    """Other findings that this incident explains, one line each, in their newest wording."""
    joined: list[str] = field(default_factory=list)
    """Tags (:func:`_tag`) of the findings in ``symptoms``, in the same order. A finding with one of
    these tags stays part of this incident while it is open."""
    changed_at: float | None = None
    """When it was last opened, raised or corrected: findings at most :data:`JOIN_S` later join."""
    alerted_at: float | None = None
    reminders: int = 0
    asked_from: float | None = field(default=None, compare=False, metadata=codec.UNSAVED)
    """When this daemon first asked its sentinel about it: a restart proves nothing, so silence
    counts from there."""
    over: bool = False
    """Its sentinel reports only past events (``details["over"]``): a new one is pushed again."""

    @property
    def fingerprint(self) -> tuple[str, str, str]:
        """Findings with the same fingerprint are the same trouble."""
        return (self.run, self.sentinel, self.key)

    @property
    def tells_end(self) -> bool:
        """True when the incident itself is about the end of the run."""
        return self.key == END or self.details.get("main") is True

    @property
    def holds_end(self) -> bool:
        """True when the finding about the end of the run became a symptom of this incident."""
        return any(tag.endswith(f"|{END}") for tag in self.joined)

    def to_json(self) -> dict[str, Any]:
        """A plain dict for the store."""
        data: dict[str, Any] = codec.dump(self)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Incident:
        """Load what :meth:`to_json` gave, also that of another version. Raises ValueError."""
        return codec.load(cls, data)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of an incident."""

    kind: ChangeKind
    incident: Incident
    was: str = ""
    """``corrected``: the class before. ``raised``: the severity before. ``merged``: the id of the
    incident that it is a part of now."""
    worse: bool = False
    """A correction that also raised the severity."""


class Incidents:
    """All incidents of all runs that are still of interest."""

    def __init__(self, known: Iterable[Incident] = ()) -> None:
        self._all: dict[str, Incident] = {i.id: i for i in known}

    def all(self) -> list[Incident]:
        """Every incident, oldest first."""
        return sorted(self._all.values(), key=_age)

    def open(self, run: str | None = None) -> list[Incident]:
        """Incidents that are not resolved, oldest first; only those of ``run`` if given."""
        found = [
            i for i in self._all.values() if i.state != "resolved" and (run is None or i.run == run)
        ]
        return sorted(found, key=_age) if len(found) > 1 else found

    def get(self, incident_id: str) -> Incident | None:
        """The incident with this id, if it is known."""
        return self._all.get(incident_id)

    def forget_resolved(self, before: float) -> None:
        """Drop incidents resolved before ``before`` (epoch seconds); the store has them."""
        for incident in list(self._all.values()):
            if incident.resolved_at is not None and incident.resolved_at < before:
                del self._all[incident.id]

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
            if incident.fingerprint in seen:
                continue
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
        same = self._same(run, sentinel, finding.key)
        if same:
            return self._again(same, finding, now)
        others = self.open(run)
        holder = next((i for i in others if _holds(i, sentinel, finding)), None)
        if holder and not (
            cause_rank(finding.trouble) < cause_rank(holder.trouble)
            and _explains(finding, holder, now)
        ):
            return self._join(holder, sentinel, finding, now)
        if not holder:
            causes = [i for i in others if _explained(finding, i, now)]
            cause = min(causes, key=lambda i: cause_rank(i.trouble), default=None)
            if cause:
                return self._join(cause, sentinel, finding, now)
        symptoms = [i for i in others if i is holder or _explains(finding, i, now)]
        if symptoms:
            worst = max(symptoms, key=lambda i: (i is holder, i.severity, -cause_rank(i.trouble)))
            changes = [self._correct(worst, sentinel, finding, now)]
            return changes + [_merge(worst, i, now) for i in symptoms if i is not worst]
        # What is left of a trouble that is over (a save that a full disk damaged) was told with it.
        over = (i for i in self._all.values() if i.run == run and i.state == "resolved")
        if finding.severity < Severity.CRITICAL and any(_holds(i, sentinel, finding) for i in over):
            return []
        return [self._open(run, sentinel, finding, now)]

    def _open(self, run: str, sentinel: str, finding: Finding, now: float) -> Change:
        incident = Incident(
            id=self._new_id(),
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
        self._all[incident.id] = incident
        return Change("opened", incident)

    def _same(self, run: str, sentinel: str, key: str) -> Incident | None:
        for incident in self._all.values():
            if incident.state != "resolved" and incident.fingerprint == (run, sentinel, key):
                return incident
        return None

    def _again(self, incident: Incident, finding: Finding, now: float) -> list[Change]:
        incident.last_seen_at = now
        incident.count += 1
        incident.fatal = incident.fatal or finding.fatal
        prefix = f"{incident.sentinel}|{incident.key}|"
        before, line = incident.trouble, f"{incident.trouble}: {incident.summary}"
        other = finding.trouble != before
        if finding.severity > incident.severity:
            was = incident.severity.label
            self._restate(incident, finding, now)
            incident.state = "open"  # the person acknowledged a lower severity
            change = Change("raised", incident, was)
        elif other and cause_rank(finding.trouble) < cause_rank(before):
            self._restate(incident, finding, now)
            change = Change("corrected", incident, before)
        elif other and _note(
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
            _forget(incident, prefix + finding.trouble)
            _note(incident, prefix + before, line)
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
        mild, grave = (_tag(sentinel, finding.key, s) for s in (Severity.INFO, Severity.CRITICAL))
        if finding.severity is Severity.CRITICAL:
            _forget(incident, mild)
        known_as = grave if grave in incident.joined else mild
        fresh = _note(incident, grave if finding.severity is Severity.CRITICAL else known_as, line)
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
            _forget(incident, _tag(sentinel, finding.key, kind))
        tag = _tag(incident.sentinel, incident.key, severity)
        _note(incident, tag, f"{was}: {incident.summary}")
        incident.sentinel, incident.key = sentinel, finding.key
        incident.last_seen_at = now
        self._restate(incident, finding, now)
        worse = incident.severity > severity
        if worse:
            incident.state = "open"
        return Change("corrected", incident, was, worse)

    def _new_id(self) -> str:
        while (fresh := secrets.token_hex(3)) in self._all:
            continue
        return fresh


def _age(incident: Incident) -> tuple[float, str]:
    return incident.opened_at, incident.id


def _near(incident: Incident, now: float) -> bool:
    since = incident.opened_at if incident.changed_at is None else incident.changed_at
    return now - since <= JOIN_S


def _explained(finding: Finding, cause: Incident, now: float) -> bool:
    """True when an open incident is the cause of ``finding``."""
    near = _near(cause, now)
    return explains(
        cause.trouble, cause.severity, finding.trouble, finding.severity, finding.key, near=near
    )


def _explains(finding: Finding, symptom: Incident, now: float) -> bool:
    """True when ``finding`` is the cause of an open incident."""
    near = _near(symptom, now)
    if symptom.trouble == "hang" and finding.severity is Severity.CRITICAL and not near:
        return ends_hang(finding.trouble)
    if finding.severity < symptom.severity and not linked(finding.trouble, symptom.trouble):
        return False
    return explains(
        finding.trouble, finding.severity, symptom.trouble, symptom.severity, symptom.key, near=near
    )


def _merge(cause: Incident, other: Incident, now: float) -> Change:
    """Make ``other`` a part of ``cause``: the two turned out to be one trouble."""
    tag = _tag(other.sentinel, other.key, other.severity)
    _note(cause, tag, f"{other.trouble}: {other.summary}")
    for tag, line in zip(other.joined, other.symptoms, strict=True):
        _note(cause, tag, line)
    cause.fatal = cause.fatal or other.fatal
    other.state, other.resolved_at = "resolved", now
    other.details["part_of"] = cause.id
    return Change("merged", other, cause.id)


def _tag(sentinel: str, key: str, severity: Severity) -> str:
    """By which a symptom is recognised when it comes again; critical and milder ones differ."""
    return f"{'' if severity is Severity.CRITICAL else '~'}{sentinel}|{key}"


def _holds(incident: Incident, sentinel: str, finding: Finding) -> bool:
    """True when ``finding`` is a symptom of ``incident`` already."""
    tags = {_tag(sentinel, finding.key, s) for s in (finding.severity, Severity.CRITICAL)}
    return not tags.isdisjoint(incident.joined)


def _note(incident: Incident, tag: str, line: str) -> bool:
    """Add a symptom; True if it is new. A known one gets the newest line: its numbers change."""
    if tag in incident.joined:
        incident.symptoms[incident.joined.index(tag)] = line
        return False
    if len(incident.joined) >= MOST_SYMPTOMS:  # a run with NaN weights adds one with every save
        del incident.joined[0], incident.symptoms[0]
    incident.joined.append(tag)
    incident.symptoms.append(line)
    return True


def _forget(incident: Incident, tag: str) -> None:
    """Remove a symptom: it turned out to be the cause, or critical, which has another tag."""
    if tag in incident.joined:
        place = incident.joined.index(tag)
        del incident.joined[place], incident.symptoms[place]
