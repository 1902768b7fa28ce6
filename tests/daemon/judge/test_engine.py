from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from middlewatch.daemon.judge import engine as engine_module
from middlewatch.daemon.judge.engine import Engine, prove
from middlewatch.daemon.judge.incidents import Incident, Incidents
from middlewatch.daemon.system.bounded import RULE_CPU_S, SHORT_CPU_S, Overrun
from middlewatch.daemon.system.isolation import (
    FAILURES,
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    Isolation,
)
from middlewatch.sentinels.kit import (
    Evidence,
    Finding,
    LogEvent,
    OpenIncident,
    RunFacts,
    Sentinel,
    Severity,
    Step,
    View,
)


@dataclass(frozen=True)
class Limits:
    loud: bool = False


class Rule:
    """A sentinel whose rule does what the test says."""

    def __init__(self, on: tuple[type, ...] = (Step,), *, every_tick: bool = False) -> None:
        self.asked = 0
        self.says: list[Finding] = []
        self.error: Exception | None = None
        self.well = "the loss is 0.5 again"
        self.cases: list[OpenIncident] = []
        self.sentinel = Sentinel(
            self.check, Limits(), on, every_tick, clears_after_s=10.0, recovered=self.recovered
        )

    def recovered(self, view: View, limits: Limits, case: OpenIncident) -> str:
        self.cases.append(case)
        if self.error is not None:
            raise self.error
        return self.well

    def check(self, view: View, limits: Limits) -> Iterator[Finding]:
        self.asked += 1
        if self.error is not None:
            raise self.error
        yield from self.says
        if limits.loud:
            yield Finding("hang", Severity.INFO, "loud")


def view(now: float = 100.0) -> View:
    return View(now=now, run=RunFacts("gpt", 0.0, 0.0))


class Bench:
    def __init__(self, limits: dict[str, Any] | None = None, **rules: Rule) -> None:
        self.bugs: list[str] = []
        self.incidents = Incidents()
        sentinels = {name: rule.sentinel for name, rule in rules.items()}
        self.engine = Engine(sentinels, limits or {}, self.incidents, Isolation(self.bugs.append))

    def judge(self, *fresh: type, now: float = 100.0, tick: bool = False) -> list[str]:
        return [c.kind for c in self.engine.judge("run", view(now), fresh, tick=tick)]


def test_a_rule_is_asked_when_something_it_cares_about_arrived() -> None:
    steps, events, silence = Rule(), Rule((LogEvent,)), Rule((LogEvent,), every_tick=True)
    bench = Bench(steps=steps, events=events, silence=silence)
    bench.judge(Step)
    assert (steps.asked, events.asked, silence.asked) == (1, 0, 0)
    bench.judge(tick=True)
    assert (steps.asked, events.asked, silence.asked) == (1, 0, 1)
    bench.judge(Step, LogEvent, tick=True)
    assert (steps.asked, events.asked, silence.asked) == (2, 1, 2)


def test_only_a_rule_that_was_asked_can_clear() -> None:
    rule = Rule()
    bench = Bench(rule=rule)
    rule.says = [Finding("loss_nan", Severity.CRITICAL, "nan")]
    assert bench.judge(Step) == ["opened"]
    rule.says = []
    assert bench.judge(LogEvent, now=500.0) == []
    assert bench.judge(Step, now=500.0) == ["resolved"]


def test_silence_alone_resolves_nothing() -> None:
    rule = Rule()
    bench = Bench(rule=rule)
    rule.says = [Finding("loss_nan", Severity.CRITICAL, "nan", key="k", details={"step": 7})]
    bench.judge(Step)
    rule.says, rule.well = [], ""
    assert bench.judge(Step, now=9999.0) == []
    (case,) = rule.cases
    assert (case.trouble, case.key, case.quiet_since) == ("loss_nan", "k", 100.0)
    assert case.details == {"step": 7}
    rule.well = "the loss is 0.5 again"
    assert bench.judge(Step, now=10000.0) == ["resolved"]
    assert bench.incidents.all()[0].details["outcome"] == "the loss is 0.5 again"


def test_a_rule_that_cannot_say_whether_it_is_over_keeps_it_open() -> None:
    rule = Rule()
    bench = Bench(rule=rule)
    rule.says = [Finding("loss_nan", Severity.CRITICAL, "nan")]
    bench.judge(Step)
    rule.says, rule.error = [], None
    rule.sentinel = replace(rule.sentinel, recovered=None)
    bench.engine = Engine(
        {"rule": rule.sentinel}, {}, bench.incidents, Isolation(bench.bugs.append)
    )
    assert bench.judge(Step, now=9999.0) == []


def test_an_error_in_the_question_whether_it_is_over_keeps_it_open() -> None:
    rule = Rule()
    bench = Bench(rule=rule)
    rule.says = [Finding("loss_nan", Severity.CRITICAL, "nan")]
    bench.judge(Step)
    rule.says = []
    rule.sentinel = replace(rule.sentinel, recovered=lambda *_: str(1 // 0))
    bench.engine = Engine(
        {"rule": rule.sentinel}, {}, bench.incidents, Isolation(bench.bugs.append)
    )
    assert bench.judge(Step, now=9999.0) == []
    assert "ZeroDivisionError" in bench.bugs[0]


def test_a_restart_proves_nothing() -> None:
    """Only what was seen after the start of the daemon resolves an incident from before it."""
    rule = Rule()
    bench = Bench(rule=rule)
    rule.says = [Finding("loss_nan", Severity.CRITICAL, "nan")]
    bench.judge(Step)
    docs = [one.to_json() for one in bench.incidents.all()]
    bench.incidents = Incidents(map(Incident.from_json, docs))
    bench.engine = Engine(
        {"rule": rule.sentinel}, {}, bench.incidents, Isolation(bench.bugs.append)
    )
    rule.says = []
    assert bench.judge(Step, now=9999.0) == []
    assert rule.cases == []
    assert bench.judge(Step, now=10009.0) == ["resolved"]
    assert rule.cases[0].quiet_since == 9999.0


def test_limits_reach_the_rule() -> None:
    assert Bench(rule=Rule()).judge(Step) == []
    assert Bench({"rule": Limits(loud=True)}, rule=Rule()).judge(Step) == ["opened"]


def test_a_broken_rule_is_told_once_and_becomes_an_incident_of_our_own() -> None:
    broken, other = Rule(), Rule()
    broken.error = KeyError("x")
    other.says = [Finding("loss_nan", Severity.CRITICAL, "nan")]
    bench = Bench(broken=broken, other=other)
    kinds = [bench.judge(Step) for _ in range(FAILURES + 2)]
    assert kinds == [["opened"], [], ["opened"], [], []]
    assert len(bench.bugs) == 1
    assert "KeyError: 'x'" in bench.bugs[0]
    ours = next(i for i in bench.incidents.open() if i.sentinel == "broken")
    assert (ours.trouble, ours.severity) == ("blind", Severity.WARNING)
    assert "broken fails with an error" in ours.summary
    broken.error = None
    asked = broken.asked
    assert asked == FAILURES, "it is not asked again at once"
    assert bench.judge(Step, now=100.0 + FIRST_PAUSE_S) == ["resolved"]
    assert broken.asked == asked + 1


def test_after_one_run_the_others_pay_less_for_a_rule_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody is answered while it computes: one second, then half of it about two more runs."""
    rule, other = Rule(), Rule()
    rule.error = Overrun("it did not end")
    bench = Bench(rule=rule, other=other)
    most: list[float] = []

    def noted(call: Callable[[], Any], cpu_s: float) -> Any:
        most.append(cpu_s)
        return call()

    monkeypatch.setattr(engine_module, "bounded", noted)
    now = 100.0
    for run in (f"run{n}" for n in range(300)):
        bench.engine.findings(view(now), {Step}, tick=False, run=run)
    assert rule.asked == FAILURES
    assert most == [RULE_CPU_S] + [RULE_CPU_S, SHORT_CPU_S] * 2 + [RULE_CPU_S] * 298
    most.clear()
    for run in (
        f"run{n}" for n in range(300)
    ):  # and no more than one of them when it is tried again
        bench.engine.findings(view(now + FIRST_PAUSE_S), {Step}, tick=False, run=run)
    assert rule.asked == FAILURES + 1
    assert most.count(SHORT_CPU_S) == 1


def test_a_rule_without_end_about_one_run_is_asked_about_the_others_for_ever() -> None:
    rule = Rule()
    bench = Bench(rule=rule)
    now = 100.0
    for _ in range(2 * FAILURES):
        now += LONGEST_PAUSE_S
        rule.error = Overrun("it did not end")
        bench.engine.findings(view(now), {Step}, tick=False, run="strange")
        rule.error = None
        for run in ("a", "b"):
            found, asked = bench.engine.findings(view(now), {Step}, tick=False, run=run)
            assert not found
            assert asked


def test_a_rule_that_computes_for_ever_about_several_runs_is_asked_about_none() -> None:
    """After a pause one run is enough to see that it works again."""
    rule = Rule()
    rule.error = Overrun("it did not end")
    bench = Bench(rule=rule)
    now, runs = 100.0, [f"run{n}" for n in range(300)]
    for run in runs:
        found, _ = bench.engine.findings(view(now), {Step}, tick=False, run=run)
    assert rule.asked == FAILURES
    assert [finding.trouble for _, finding in found] == ["blind"]
    rule.error = None
    later = now + LONGEST_PAUSE_S
    for run in runs:
        found, asked = bench.engine.findings(view(later), {Step}, tick=False, run=run)
        assert not found
        assert asked
    assert rule.asked == FAILURES + len(runs)


def test_errors_that_are_not_in_a_row_are_no_incident() -> None:
    rule = Rule()
    bench = Bench(rule=rule)
    for turn in range(12):
        rule.error = None if turn % 3 == 2 else ValueError("now and then")
        assert bench.judge(Step) == []


def test_a_broken_rule_keeps_its_open_incident() -> None:
    rule = Rule()
    bench = Bench(rule=rule)
    rule.says = [Finding("loss_nan", Severity.CRITICAL, "nan")]
    bench.judge(Step)
    rule.error = ValueError("x")
    bench.judge(Step, now=1000.0)
    assert bench.incidents.open()[0].trouble == "loss_nan"


# ------------------------------------------------------------------------ proof


def found(**more: Any) -> Finding:
    return Finding("loss_nan", Severity.CRITICAL, "nan", **more)


def test_the_guilty_line_comes_first() -> None:
    said = found(file="a.log", line=7, evidence=(Evidence("log", "loss nan"), Evidence("gpu", "x")))
    proven = prove(said, lambda file, line: f"  {file} step {line} loss nan\n")
    assert [e.text for e in proven.evidence] == ["a.log:7: a.log step 7 loss nan", "x"]


@pytest.mark.parametrize("text", [None, ""])
def test_a_line_that_is_gone_leaves_the_evidence_as_it_is(text: str | None) -> None:
    said = found(file="a.log", line=7, evidence=(Evidence("log", "loss nan"),))
    assert prove(said, lambda file, line: text).evidence == said.evidence


def test_secrets_are_masked_in_all_that_is_kept() -> None:
    key = "abcdefgh1234"
    said = found(
        file="a.log",
        line=1,
        evidence=(Evidence("process", f"WANDB_API_KEY={key}"),),
        details={"message": f"api_key={key}", "step": 3, "exception": None},
    )
    said = Finding(
        said.trouble,
        said.severity,
        f"token={key}",
        evidence=said.evidence,
        details=said.details,
        file="a.log",
        line=1,
    )
    proven = prove(said, lambda file, line: f"password: {key} " + "x" * 9999)
    assert key not in repr(proven)
    assert proven.details["step"] == 3
    assert len(proven.evidence[0].text) < 450
