"""Rules of the person: judged, told and ended like every other trouble of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.engine import Engine
from middlewatch.daemon.judge.incidents import Incident, Incidents
from middlewatch.daemon.service.alerting import Alerter
from middlewatch.daemon.service.context import Context
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.daemon.system.loop import Loop
from middlewatch.daemon.system.pump import Pump
from middlewatch.daemon.system.store import Store
from middlewatch.sentinels.kit import Step, discover
from middlewatch.sentinels.kit.own_rules import follow, look

from ...fakes.clock import FakeClock

RULE = '[[rule]]\nname = "high"\nmetric = "loss"\nabove = 9.0\nfor = "10m"\n'


class Desk:
    """A daemon with one run and a clock of its own; nobody takes its pushes, they are in the store."""

    def __init__(self, root: Path, config: str) -> None:
        self.root, self.text = root, config
        self.clock = FakeClock()
        self.step = 0.0
        self.open(None)

    def open(self, saved: dict[str, object] | None) -> None:
        self.loop = Loop(self.clock, lambda error: pytest.fail(repr(error)))
        state = StateDir(self.root)
        store = Store(state.store, state.reserve, self.root)
        incidents = Incidents(Incident.from_json(doc) for _, doc in store.all("incident"))
        config = parse(f'[alerts]\nurls = ["json://127.0.0.1:9/"]\n{self.text}', "f")
        pump = Pump(self.loop, self.clock, pytest.fail)
        self.context = Context(state, config, self.clock, store, incidents, pump)
        self.engine = Engine(discover(), config.limits, incidents, pump.isolation)
        spec = RunSpec(name="gpt", id="gpt-1")
        self.watched = WatchedRun(spec, self.context.box, self.clock, saved)
        follow(self.watched.history.accumulators, config.rules_for("gpt"))
        self.context.runs["gpt-1"] = self.watched
        self.alerter = Alerter(self.context, self.loop, lambda line: None)

    def close(self) -> None:
        self.alerter.outbox.close()
        self.context.store.close()
        self.loop.close()

    def restart(self) -> None:
        saved = self.watched.save()
        self.context.store.flush()
        self.close()
        self.open(saved)

    def report(self, loss: float, times: int = 1) -> None:
        """So many reports, one a minute."""
        for _ in range(times):
            self.clock.jump(60.0)
            self.step += 1
            self.watched.history.add(Step(self.clock.now(), self.step, {"train_loss": loss}))
            view = self.watched.view(self.clock.now())
            for change in self.engine.judge("gpt-1", view, {Step}, tick=True):
                self.alerter.alert(self.watched, change)
            look(self.watched.history.accumulators, self.clock.now(), "running")

    @property
    def titles(self) -> list[str]:
        docs = sorted(
            (doc for _, doc in self.context.store.all("message")), key=lambda d: d["created_at"]
        )
        return [doc["title"] for doc in docs]

    @property
    def of_rule(self) -> list[Incident]:
        return [i for i in self.context.incidents.all() if i.trouble == "own_rule"]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Callable[[str], Desk]]:
    made: list[Desk] = []

    def make(config: str) -> Desk:
        made.append(Desk(tmp_path, config))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_one_conversation_over_a_restart(desk: Callable[[str], Desk]) -> None:
    d = desk(RULE)
    d.report(12.0, 6)
    d.restart()
    d.report(12.0, 30)
    d.restart()
    d.report(12.0, 5)
    d.report(3.0, 11)
    (incident,) = d.of_rule
    assert incident.state == "resolved"
    told = [title for title in d.titles if "high" in title]
    assert [title.split("]")[0] for title in told] == ["[WARNING", "[RESOLVED"]
    assert "high: loss is 12, above 9 for 10 min" in told[0]
    assert "loss is 3: high has not held for 10 min" in told[1]


def test_it_stays_apart_from_what_else_happens(desk: Callable[[str], Desk]) -> None:
    d = desk(RULE.replace('for = "10m"\n', 'severity = "critical"\n'))
    d.report(3.0, 40)
    d.report(12.0)
    d.report(float("nan"), 3)
    (incident,) = d.of_rule
    assert incident.symptoms == []
    assert "loss_nan" in {i.trouble for i in d.context.incidents.open()}
    assert incident in d.context.incidents.open()


def test_a_silence_holds_for_it(desk: Callable[[str], Desk]) -> None:
    d = desk(RULE)
    d.alerter.silences.add("", "own_rule", 7200.0)
    d.report(12.0, 20)
    assert len(d.of_rule) == 1
    assert d.titles == []


def test_quiet_hours_keep_a_warning_back(desk: Callable[[str], Desk]) -> None:
    # The clock of the test stands at 22:13 UTC.
    d = desk('quiet = "22:00-07:00"\nzone = "UTC"\n' + RULE)
    d.report(12.0, 20)
    assert d.titles == []
    (kept,) = d.alerter.kept.all().values()
    assert kept.why == "quiet hours"
    assert "above 9 for 10 min" in kept.title


def test_a_note_is_not_pushed(desk: Callable[[str], Desk]) -> None:
    d = desk(RULE + 'severity = "info"\n')
    d.report(12.0, 20)
    assert len(d.of_rule) == 1
    assert d.titles == []


def test_a_rule_that_was_taken_out_ends_its_incident(desk: Callable[[str], Desk]) -> None:
    d = desk(RULE)
    d.report(12.0, 20)
    d.text = ""
    d.restart()
    d.report(12.0, 2)
    (incident,) = d.of_rule
    assert incident.state == "resolved"
    assert "not in the configuration any more" in str(incident.details["outcome"])


def test_a_rule_that_is_switched_off(desk: Callable[[str], Desk]) -> None:
    assert "own_rule" in parse("[sentinels.own_rule]\nenabled = false\n" + RULE, "f").disabled
