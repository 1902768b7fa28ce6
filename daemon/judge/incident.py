"""One incident: a trouble over time, the symptoms that it explains, and what can change of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from middlewatch.sentinels.kit import Evidence, Finding, Severity, codec

from .causes import JOIN_S, ends_hang, explains, linked

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
    """Tags (:func:`tag_of`) of the findings in ``symptoms``, in the same order. A finding with one of
    these tags stays part of this incident while it is open."""
    changed_at: float | None = None
    """When it was last opened, raised or corrected: findings at most :data:`JOIN_S` later join."""
    alerted_at: float | None = None
    reminders: int = 0
    asked_from: float | None = field(default=None, compare=False, metadata=codec.UNSAVED)
    """When this daemon first asked its sentinel about it: a restart proves nothing, so silence
    counts from there."""
    place: str = ""
    """The part of the box that it is about (:attr:`Finding.place`); empty for a trouble of the run.
    ``run`` is then the first run that reported it."""
    runs: list[str] = field(default_factory=list)
    """The runs that a trouble of the box concerns, ``run`` among them; empty for one of a run."""
    since: float | None = None
    """When the trouble that it is about now began; ``None``: when it was opened."""
    over: bool = False
    """Its sentinel reports only past events (``details["over"]``): a new one is pushed again."""

    @property
    def fingerprint(self) -> tuple[str, str, str]:
        """Findings with the same fingerprint are the same trouble."""
        return (self.run, self.sentinel, self.key)

    @property
    def onset(self) -> float:
        """When the trouble that it is about now began: not that of a symptom told before."""
        return self.opened_at if self.since is None else self.since

    @property
    def shared(self) -> bool:
        """True for a trouble of the box that concerns several runs."""
        return len(self.runs) > 1

    def concerns(self, run: str) -> bool:
        """True when the run has this trouble, alone or with others."""
        return run == self.run or run in self.runs

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
        for name in ("place", "runs", "since"):  # older daemons do not know them
            if not data[name]:
                del data[name]
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


def age(incident: Incident) -> tuple[float, str]:
    """The older one sorts first."""
    return incident.opened_at, incident.id


def is_near(incident: Incident, now: float) -> bool:
    """True while a further finding may be a symptom of it, or the cause."""
    since = incident.opened_at if incident.changed_at is None else incident.changed_at
    return now - since <= JOIN_S


def may_meet(finding: Finding, other: Incident) -> bool:
    """False where a trouble of the box that concerns several runs has to stay apart.

    Only another trouble of the box takes its place; a trouble of one run joins it as a mild symptom
    at most, so that what happens to one of the runs is told by the name of that run.
    """
    return not other.shared or bool(finding.place) or finding.severity < Severity.CRITICAL


def is_symptom(finding: Finding, cause: Incident, now: float) -> bool:
    """True when an open incident is the cause of ``finding``."""
    return explains(
        cause.trouble,
        cause.severity,
        finding.trouble,
        finding.severity,
        finding.key,
        near=is_near(cause, now),
        details=finding.details,
    )


def is_cause(finding: Finding, symptom: Incident, now: float) -> bool:
    """True when ``finding`` is the cause of an open incident."""
    if symptom.shared and not finding.place:
        return False
    near = is_near(symptom, now)
    if symptom.trouble == "hang" and finding.severity is Severity.CRITICAL and not near:
        return ends_hang(finding.trouble)
    if finding.severity < symptom.severity and not linked(finding.trouble, symptom.trouble):
        return False
    return explains(
        finding.trouble,
        finding.severity,
        symptom.trouble,
        symptom.severity,
        symptom.key,
        near=near,
        details=symptom.details,
    )


def merge(cause: Incident, other: Incident, now: float) -> Change:
    """Make ``other`` a part of ``cause``: the two turned out to be one trouble."""
    tag = tag_of(other.sentinel, other.key, other.severity)
    note(cause, tag, f"{other.trouble}: {other.summary}")
    for tag, line in zip(other.joined, other.symptoms, strict=True):
        note(cause, tag, line)
    cause.fatal = cause.fatal or other.fatal
    other.state, other.resolved_at = "resolved", now
    other.details["part_of"] = cause.id
    return Change("merged", other, cause.id)


def tag_of(sentinel: str, key: str, severity: Severity) -> str:
    """By which a symptom is recognised when it comes again; critical and milder ones differ."""
    return f"{'' if severity is Severity.CRITICAL else '~'}{sentinel}|{key}"


def holds(incident: Incident, sentinel: str, finding: Finding) -> bool:
    """True when ``finding`` is a symptom of ``incident`` already."""
    tags = {tag_of(sentinel, finding.key, s) for s in (finding.severity, Severity.CRITICAL)}
    return not tags.isdisjoint(incident.joined)


def note(incident: Incident, tag: str, line: str) -> bool:
    """Add a symptom; True if it is new. A known one gets the newest line: its numbers change."""
    if tag in incident.joined:
        incident.symptoms[incident.joined.index(tag)] = line
        return False
    if len(incident.joined) >= MOST_SYMPTOMS:  # a run with NaN weights adds one with every save
        del incident.joined[0], incident.symptoms[0]
    incident.joined.append(tag)
    incident.symptoms.append(line)
    return True


def forget(incident: Incident, tag: str) -> None:
    """Remove a symptom: it turned out to be the cause, or critical, which has another tag."""
    if tag in incident.joined:
        place = incident.joined.index(tag)
        del incident.joined[place], incident.symptoms[place]
