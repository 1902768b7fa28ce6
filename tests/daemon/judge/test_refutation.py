"""A trouble that never was, and how a push says what changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from middlewatch.daemon.judge.engine import Engine
from middlewatch.daemon.judge.incidents import Change, Incidents
from middlewatch.daemon.judge.refutation import refuted
from middlewatch.daemon.report.messages import MAX_BODY, compose, drilled
from middlewatch.daemon.system.isolation import Isolation
from middlewatch.sentinels.kit import Finding, ProcessEnded, RunFacts, Sentinel, Severity, View

CRITICAL = Severity.CRITICAL


def view(now: float = 2000.0, **more: Any) -> View:
    return View(now=now, run=RunFacts("gpt", 0.0, 0.0), **more)


class Bench:
    """A rule that says what the test says, under the real engine."""

    def __init__(self, name: str, trouble: str) -> None:
        self.says = True
        self.trouble = trouble
        sentinel = Sentinel(self.check, None, (ProcessEnded,), every_tick=True, clears_after_s=30.0)
        self.incidents = Incidents()
        self.engine = Engine({name: sentinel}, {}, self.incidents, Isolation(lambda _: None))

    def check(self, view: View, limits: object) -> Iterator[Finding]:
        if self.says:
            yield Finding(self.trouble, CRITICAL, f"{self.trouble} happened", key="end")

    def tick(self, shown: View) -> list[Change]:
        return self.engine.judge("run", shown, (), tick=True)


def words(change: Change) -> str:
    """Of the push: what the title says, the body does not say again."""
    push = compose(change, "gpt", "box3", None, (), 2000.0)
    return f"{push.title}\n{push.body}"


def test_an_exit_status_of_0_that_comes_late_refutes_a_silent_end() -> None:
    bench = Bench("silent_end", "silent_end")
    gone = ProcessEnded(1000.0, 7, True)
    bench.tick(view(1003.0, endings=[gone]))
    known = view(1026.0, endings=[gone, ProcessEnded(1020.0, 7, True, exit_code=0)])
    assert bench.tick(known) == []  # the rule still says it: before its planned end
    bench.says = False
    (change,) = bench.tick(known)
    assert (change.kind, bench.incidents.open()) == ("resolved", [])
    assert "its exit status arrived late: it is 0" in words(change)


def test_an_end_that_is_seen_again_after_a_restart_refutes_nothing() -> None:
    """Its rule waits for the last lines once more, and is quiet meanwhile."""
    bench = Bench("silent_end", "silent_end")
    ended = ProcessEnded(1000.0, 7, True, exit_code=0)
    bench.tick(view(1003.0, endings=[ended]))
    (incident,) = bench.incidents.open()
    bench.says = False
    assert bench.tick(view(1050.0, endings=[ProcessEnded(1049.0, 7, True, exit_code=0)])) == []
    incident.details["exitcode"] = 0  # what it was opened with: it is no news
    assert bench.tick(view(1050.0, endings=[ended])) == []


def test_nothing_refutes_what_is_true() -> None:
    bench = Bench("crash", "process_killed")
    bench.tick(view())
    assert refuted(bench.incidents.open()[0], view()) == ""


def test_a_corrected_push_says_what_changed() -> None:
    incidents = Incidents()
    for trouble, now in (("memory_pressure", 1000.0), ("cgroup_oom_kill", 1900.0)):
        severity = Severity.WARNING if trouble == "memory_pressure" else CRITICAL
        found = [(trouble, Finding(trouble, severity, f"{trouble} happened"))]
        (change,) = incidents.update("run", found, {}, now)
        change.incident.alerted_at = now
    message = compose(change, "gpt", "box3", None, (), 1900.0)
    assert message.title.startswith("[CRITICAL] gpt on box3: cgroup_oom_kill")
    assert "The warning memory_pressure has come true: cgroup_oom_kill." in (message.body)


def test_a_drill_is_marked_and_keeps_its_last_lines() -> None:
    finding = Finding("hang", CRITICAL, "x" * 290, remedy="y" * 380)
    (change,) = Incidents().update("run", [("hang", finding)], {}, 1.0)
    change.incident.symptoms = ["z" * 200] * 2
    message = drilled(compose(change, "gpt", "box3", None, (), 2.0))
    assert message.title.startswith("[DRILL] [CRITICAL] gpt on box3: ")
    assert message.body.startswith("This is a drill: ")
    assert len(message.body) <= MAX_BODY
    last = message.body.split("\n")[-2:]
    assert last[0].startswith("First step: ")
    assert last[1].startswith("Incident ")
