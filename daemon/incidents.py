"""Incidents: findings with the same fingerprint over time. One state machine.

Rules have no memory; this has it: opening, raising, joining symptoms to their cause,
correcting, resolving. The keeper is pure (time comes in), so any order of findings can be
tried in a test; storing and telling are somebody else's business.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from middlewatch.sentinels.kit import Evidence, Finding, Severity

State = Literal["open", "acknowledged", "resolved"]
ChangeKind = Literal["opened", "raised", "corrected", "resolved"]

JOIN_S = 120.0
"""Findings on one run within two minutes of each other are one trouble
(measured policy: symptoms follow their cause within that time)."""
MAX_EVIDENCE = 12

_CAUSES: tuple[frozenset[str], ...] = (
    frozenset({"gpu_lost", "xid", "cuda_ecc", "nvswitch", "mce", "kernel_panic"}),
    frozenset({"cgroup_oom_kill", "host_oom_kill", "cuda_oom", "accel_oom", "shm_exhausted"}),
    frozenset({"disk_full", "inode_exhausted", "quota_exceeded", "disk_error", "fs_error"}),
    frozenset({"loss_nan", "loss_inf", "grad_nonfinite"}),
    frozenset({"loss_diverged", "loss_spike", "loss_scale_exhausted"}),
    frozenset({"stopped"}),
)
_SYMPTOMS: tuple[frozenset[str], ...] = (
    frozenset({"hang"}),
    frozenset({"process_killed", "rank_failed", "sigterm_received"}),
    frozenset({"silent_end", "checkpoint_stale"}),
    frozenset({"throughput_collapse", "blind"}),
    frozenset({"grad_spike", "overflow_skip", "loss_missing", "loss_zero"}),
)


def cause_rank(trouble: str) -> int:
    """Place in the order of causes: GPU fault, OOM, disk, NaN, crash, hang, silence, slow."""
    for rank, classes in enumerate(_CAUSES):
        if trouble in classes:
            return rank
    for rank, classes in enumerate(_SYMPTOMS):
        if trouble in classes:
            return len(_CAUSES) + 1 + rank
    return len(_CAUSES)


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
    """Other findings that this one explains, one line each, as they were last said."""
    joined: list[str] = field(default_factory=list)
    """``sentinel|key`` of those findings, in the same order: they stay part of this incident
    while it lasts."""
    alerted_at: float | None = None
    reminders: int = 0

    @property
    def fingerprint(self) -> tuple[str, str, str]:
        """What makes two findings the same trouble."""
        return (self.run, self.sentinel, self.key)

    def to_json(self) -> dict[str, Any]:
        """A plain dict for the store."""
        data = dataclasses.asdict(self)
        data["severity"] = self.severity.label
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Incident:
        """Back from the store; unknown keys are ignored so that an older daemon can read."""
        known = {f.name for f in dataclasses.fields(cls)}
        values = {k: v for k, v in data.items() if k in known}
        values["severity"] = Severity.parse(values["severity"])
        values["evidence"] = [Evidence(**e) for e in values["evidence"]]
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Change:
    """Something about an incident that is worth telling."""

    kind: ChangeKind
    incident: Incident
    was: str = ""
    """The class or severity before, where that is what changed."""


class IncidentKeeper:
    """All incidents of all runs that are still of interest."""

    def __init__(self, known: Iterable[Incident] = ()) -> None:
        self._all: dict[str, Incident] = {i.id: i for i in known}

    def all(self) -> list[Incident]:
        """Every incident, oldest first."""
        return sorted(self._all.values(), key=lambda i: (i.opened_at, i.id))

    def open(self, run: str | None = None) -> list[Incident]:
        """Those not resolved, oldest first; of one run if given."""
        return [i for i in self.all() if i.state != "resolved" and (run is None or i.run == run)]

    def get(self, incident_id: str) -> Incident | None:
        """By id."""
        return self._all.get(incident_id)

    def forget_resolved(self, before: float) -> None:
        """Drop what was resolved before an instant; the store still has it."""
        for incident in list(self._all.values()):
            if incident.resolved_at is not None and incident.resolved_at < before:
                del self._all[incident.id]

    def update(
        self,
        run: str,
        findings: Sequence[tuple[str, Finding]],
        asked: Mapping[str, float],
        now: float,
    ) -> list[Change]:
        """Take in one round of judgement about ``run``.

        ``findings`` are (sentinel, finding); ``asked`` maps every sentinel that was asked in
        this round to the seconds of silence that clear its incidents.
        """
        changes: list[Change] = []
        seen: set[tuple[str, str, str]] = set()
        ordered = sorted(findings, key=lambda f: cause_rank(f[1].trouble))
        for sentinel, finding in ordered:
            seen.add((run, sentinel, finding.key))
            changes += self._take(run, sentinel, finding, now)
        for incident in self.open(run):
            clears = asked.get(incident.sentinel)
            if clears is None or incident.fingerprint in seen:
                continue
            if now - incident.last_seen_at >= clears:
                changes.append(self.resolve(incident, now))
        return changes

    def resolve(self, incident: Incident, now: float) -> Change:
        """Close one."""
        incident.state = "resolved"
        incident.resolved_at = now
        return Change("resolved", incident)

    def acknowledge(self, incident: Incident) -> None:
        """A person has seen it: no reminders from here on."""
        if incident.state == "open":
            incident.state = "acknowledged"

    def _take(self, run: str, sentinel: str, finding: Finding, now: float) -> list[Change]:
        same = self._same(run, sentinel, finding.key)
        if same:
            return self._again(same, finding, now)
        cause = self._cause_of(run, sentinel, finding, now)
        if cause and cause_rank(finding.trouble) >= cause_rank(cause.trouble):
            self._join(cause, sentinel, finding, now)
            return []
        if cause:
            return [self._correct(cause, sentinel, finding, now)]
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
            summary=finding.summary,
            fatal=finding.fatal,
            remedy=finding.remedy,
            evidence=list(finding.evidence[:MAX_EVIDENCE]),
            details=dict(finding.details),
        )
        self._all[incident.id] = incident
        return [Change("opened", incident)]

    def _same(self, run: str, sentinel: str, key: str) -> Incident | None:
        for incident in self._all.values():
            if incident.state != "resolved" and incident.fingerprint == (run, sentinel, key):
                return incident
        return None

    def _cause_of(self, run: str, sentinel: str, finding: Finding, now: float) -> Incident | None:
        """The open critical incident that a new critical finding belongs to."""
        if finding.severity is not Severity.CRITICAL:
            return None
        critical = [i for i in self.open(run) if i.severity is Severity.CRITICAL]
        for incident in critical:
            if f"{sentinel}|{finding.key}" in incident.joined:
                return incident
        near = [i for i in critical if now - i.opened_at <= JOIN_S]
        return min(near, key=lambda i: cause_rank(i.trouble), default=None)

    def _again(self, incident: Incident, finding: Finding, now: float) -> list[Change]:
        incident.last_seen_at = now
        incident.count += 1
        incident.fatal = incident.fatal or finding.fatal
        if finding.severity > incident.severity:
            was = incident.severity.label
            self._restate(incident, finding)
            incident.state = "open"  # what a person acknowledged was less than this
            return [Change("raised", incident, was)]
        if finding.trouble != incident.trouble and cause_rank(finding.trouble) < cause_rank(
            incident.trouble
        ):
            was = incident.trouble
            self._restate(incident, finding)
            return [Change("corrected", incident, was)]
        return []

    def _restate(self, incident: Incident, finding: Finding) -> None:
        incident.trouble = finding.trouble
        incident.severity = max(finding.severity, incident.severity)
        incident.summary = finding.summary
        incident.remedy = finding.remedy
        incident.details = dict(finding.details)
        fresh = [e for e in finding.evidence if e not in incident.evidence]
        incident.evidence = (fresh + incident.evidence)[:MAX_EVIDENCE]

    def _join(self, incident: Incident, sentinel: str, finding: Finding, now: float) -> None:
        incident.last_seen_at = now
        line = f"{finding.trouble}: {finding.summary}"
        if _note(incident, f"{sentinel}|{finding.key}", line):
            room = MAX_EVIDENCE - len(incident.evidence)
            incident.evidence += [e for e in finding.evidence if e not in incident.evidence][:room]

    def _correct(self, incident: Incident, sentinel: str, finding: Finding, now: float) -> Change:
        was = incident.trouble
        incident.fatal = incident.fatal or finding.fatal
        _forget(incident, f"{sentinel}|{finding.key}")
        _note(incident, f"{incident.sentinel}|{incident.key}", f"{was}: {incident.summary}")
        incident.sentinel, incident.key = sentinel, finding.key
        incident.last_seen_at = now
        self._restate(incident, finding)
        return Change("corrected", incident, was)

    def _new_id(self) -> str:
        while (fresh := secrets.token_hex(3)) in self._all:
            continue
        return fresh


def _note(incident: Incident, tag: str, line: str) -> bool:
    """Write down a symptom; one that is known is said anew, its numbers change all the time."""
    if tag in incident.joined:
        incident.symptoms[incident.joined.index(tag)] = line
        return False
    incident.joined.append(tag)
    incident.symptoms.append(line)
    return True


def _forget(incident: Incident, tag: str) -> None:
    """A symptom that turns out to be the cause is none any more."""
    if tag in incident.joined:
        place = incident.joined.index(tag)
        del incident.joined[place], incident.symptoms[place]
