"""Runs the sentinels on a view and hands their findings to the incidents. No I/O.

A sentinel is asked only when an observation of a type that it names (``on``) arrived, or once a
second if it judges silence (``every_tick``). One that raises, or computes for ever, has a bug: the
others are asked all the same, and other runs are judged by it. After some failures in a row
(:mod:`..system.isolation`) a finding of class ``blind`` says so, and it is not asked about this run
for a while. One that computed for ever about a run has less time about all others, and one that does so
about several runs is asked about none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from middlewatch.sentinels.kit import Evidence, Finding, OpenIncident, Sentinel, Severity, View

from ..config.secrets import mask, mask_values
from ..system.bounded import RULE_CPU_S, SHORT_CPU_S, Overrun, bounded
from ..system.isolation import FAILURES, Isolation, Part
from .incidents import Change, Incident, Incidents
from .refutation import refuted

LineLookup = Callable[[str, int], "str | None"]


class Engine:
    """Asks the sentinels and updates the incidents."""

    def __init__(
        self,
        sentinels: Mapping[str, Sentinel],
        limits: Mapping[str, Any],
        incidents: Incidents,
        isolation: Isolation,
    ) -> None:
        self.incidents = incidents
        self._sentinels = dict(sentinels)
        self._limits = dict(limits)
        self._isolation = isolation
        self._worth: dict[tuple[frozenset[type], bool], tuple[tuple[str, Sentinel], ...]] = {}
        """(types that arrived, tick) -> sentinels to ask: a cache, as few combinations occur."""

    def findings(
        self, view: View, fresh: Collection[type], *, tick: bool, run: str = ""
    ) -> tuple[list[tuple[str, Finding]], dict[str, float]]:
        """Ask every sentinel that may have something to report.

        Returns ``[(sentinel, finding)]``, and every sentinel that was asked with its
        ``clears_after_s``. ``fresh``: the types of the observations that arrived since the last
        call. ``tick``: ask those that judge silence as well.
        """
        found: list[tuple[str, Finding]] = []
        asked: dict[str, float] = {}
        isolation = self._isolation
        for name, sentinel in self._worth_asking(frozenset(fresh), tick=tick):
            if sentinel.accumulators and view.all_quiet(sentinel.accumulators):
                asked[name] = sentinel.clears_after_s  # asked in effect: it has nothing to report
                continue
            part = everywhere = None
            if isolation:  # rarely: no part of ours has ever failed
                part, everywhere = (isolation.get("rule", of) for of in (_part(name, run), name))
                out = next((p for p in (part, everywhere) if p and p.left_out(view.now)), None)
                if out is not None:
                    found.append((name, _broken(name, out)))
                    continue
            most_s = isolation.cpu_s(name, RULE_CPU_S, SHORT_CPU_S, view.now)
            try:
                reported = bounded(partial(sentinel, view, self._limits.get(name)), most_s)
            except Exception as error:  # noqa: BLE001 - one broken sentinel must not stop the others
                part = self._failed(name, run, error, view.now)
                if part.in_row >= FAILURES:
                    found.append((name, _broken(name, part)))
                continue
            if part is not None:
                isolation.worked("rule", part.name, view.now)
            if everywhere is not None and everywhere.pause_s:  # tried again after its pause
                isolation.worked("rule", everywhere.name, view.now)
            asked[name] = sentinel.clears_after_s
            found += [(name, finding) for finding in reported]
        return found, asked

    def _worth_asking(
        self, fresh: frozenset[type], *, tick: bool
    ) -> tuple[tuple[str, Sentinel], ...]:
        known = self._worth.get((fresh, tick))
        if known is None:
            known = self._worth[fresh, tick] = tuple(
                (name, sentinel)
                for name, sentinel in self._sentinels.items()
                if (tick and sentinel.every_tick) or not fresh.isdisjoint(sentinel.on)
            )
        return known

    def judge(
        self,
        run: str,
        view: View,
        fresh: Collection[type],
        *,
        tick: bool,
        line: LineLookup = lambda file, number: None,
    ) -> list[Change]:
        """One round of judgement about one run; returns the changes of its incidents.

        ``line`` gives the text of a log line by file and number, ``None`` if it is not kept.
        """
        found, asked = self.findings(view, fresh, tick=tick, run=run)
        proven = [(name, prove(finding, line)) for name, finding in found]
        changes = self.incidents.update(
            run, proven, asked, view.now, lambda one, since: self._recovered(one, view, since)
        )
        return changes + self._refute(run, view, {(n, f.key) for n, f in found}, asked)

    def _recovered(self, one: Incident, view: View, since: float) -> str:
        """What is well again of an open incident, by evidence after ``since`` (epoch seconds)."""
        if one.key == _self_key(one.sentinel):
            return f"the rule {one.sentinel} works again"
        sentinel = self._sentinels.get(one.sentinel)
        if sentinel is None or sentinel.recovered is None:
            return ""
        case = OpenIncident(one.trouble, one.key, one.opened_at, since, one.details)
        try:
            limits = self._limits.get(one.sentinel, sentinel.limits)
            most_s = self._isolation.cpu_s(one.sentinel, RULE_CPU_S, SHORT_CPU_S, view.now)
            return bounded(partial(sentinel.recovered, view, limits, case), most_s)
        except Exception as error:  # noqa: BLE001 - the incident stays open; the others are judged
            self._failed(one.sentinel, one.run, error, view.now)
            return ""

    def _failed(self, name: str, run: str, error: Exception, now: float) -> Part:
        isolation = self._isolation
        if run and isinstance(error, Overrun):
            part, everywhere = isolation.get("rule", _part(name, run)), isolation.get("rule", name)
            tried_again = everywhere is not None and everywhere.pause_s > 0.0
            # The same run once more says nothing about the others.
            if part is None or not part.in_row or tried_again:
                isolation.failed("rule", name, error, now, at_once=False, code=name)
        return isolation.failed("rule", _part(name, run), error, now, code=name)

    def _refute(
        self, run: str, view: View, reported: Collection[tuple[str, str]], asked: Collection[str]
    ) -> list[Change]:
        """Resolve incidents that new evidence refutes and their sentinel no longer reports."""
        return [
            self.incidents.resolve(one, view.now, words)
            for one in self.incidents.open(run)
            if one.sentinel in asked
            and (one.sentinel, one.key) not in reported
            and (words := refuted(one, view))
        ]


def _part(sentinel: str, run: str) -> str:
    """A rule that fails for one run is asked about the others."""
    return f"{sentinel} of {run}" if run else sentinel


def _broken(name: str, part: Part) -> Finding:
    return Finding(
        trouble="blind",
        key=_self_key(name),
        severity=Severity.WARNING,
        summary=f"the rule {name} fails with an error and judges nothing: a bug of middlewatch",
        evidence=(Evidence("process", part.trace),),
        remedy="report it with the daemon's log",
    )


def _self_key(sentinel: str) -> str:
    """Key of the incident that says that a rule itself is broken."""
    return f"self:{sentinel}"


def prove(finding: Finding, line: LineLookup) -> Finding:
    """The finding with the text of its log line as first evidence, and all secrets masked."""
    evidence = finding.evidence
    if finding.line:
        text = line(finding.file, finding.line)
        if text:
            shown = Evidence("log", f"{finding.file}:{finding.line}: {mask(text.strip())[:380]}")
            rest = tuple(e for e in evidence if not (e.kind == "log" and e.text in text))
            evidence = (shown, *rest)
    return replace(
        finding,
        summary=mask(finding.summary),
        evidence=tuple(replace(e, text=mask(e.text)) for e in evidence),
        details=mask_values(finding.details),
    )
