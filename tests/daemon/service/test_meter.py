"""The meter of the box: incidents about money and clocks, their reminders, what is told once."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.box.durability import PathDurability
from middlewatch.daemon.box.platforms import Platform
from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.incidents import Incident, Incidents
from middlewatch.daemon.service.alerting import Alerter
from middlewatch.daemon.service.context import Context
from middlewatch.daemon.service.meter import Meter, box_start
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.daemon.system.clock import iso
from middlewatch.daemon.system.errors import ConfigError
from middlewatch.daemon.system.loop import Loop
from middlewatch.daemon.system.pump import Pump
from middlewatch.daemon.system.store import Store
from middlewatch.sentinels.kit import Finding, Severity

from ...fakes.clock import FakeClock

PRICE = '[cost]\nprice_per_hour = 2.10\ncurrency = "$"\n'
ALERTS = '[alerts]\nhost = "box3"\nurls = ["json://127.0.0.1:9/"]\n'
RUNPOD = Platform("runpod", "RunPod", "rental", ("env RUNPOD_POD_ID",), (), "", "")


class Desk:
    """A daemon's parts with a clock that is moved by hand, and what is queued for the phone."""

    def __init__(self, root: Path, text: str, *platforms: Platform) -> None:
        self.clock = FakeClock()
        self.loop = Loop(self.clock, lambda error: pytest.fail(repr(error)))
        state = StateDir(root / "state")
        state.root.mkdir(exist_ok=True)
        store = Store(state.store, state.reserve, state.root)
        with contextlib.ExitStack() as undo:
            undo.callback(store.close)  # a file of the person may be refused below
            config = parse(text, str(root / "config.toml"))
            pump = Pump(self.loop, self.clock, lambda line: None)
            known = [Incident.from_json(doc) for _, doc in store.all("incident")]
            self.context = Context(state, config, self.clock, store, Incidents(known), pump)
            self.context.durability = PathDurability(platforms)
            self.alerter = Alerter(self.context, self.loop, lambda line: None)
            self.meter = Meter(self.context, self.alerter, self.alerter.alert)
            undo.pop_all()
        self.context.box_start = self.clock.now() - 3600

    def run(self, name: str, state: str = "running") -> WatchedRun:
        watched = WatchedRun(RunSpec(name=name, id=f"{name}-1"), self.context.box, self.clock)
        self.context.runs[watched.spec.id] = watched
        if state != "running":
            watched.state = state  # type: ignore[assignment]
            watched.ended_at = self.clock.now()
        return watched

    def wait(self, seconds: float, look_s: float = 60.0) -> None:
        for _ in range(round(seconds / look_s)):
            self.clock.jump(look_s)
            self.meter.look()

    @property
    def pushes(self) -> list[dict[str, Any]]:
        docs = (doc for _, doc in self.context.store.all("message"))
        return sorted(docs, key=lambda doc: doc["created_at"])

    @property
    def open(self) -> list[Incident]:
        return self.context.incidents.open()

    def close(self) -> None:
        self.alerter.outbox.close()
        self.context.store.close()
        self.loop.close()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    made: list[Desk] = []

    def make(text: str = ALERTS + PRICE, *platforms: Platform) -> Desk:
        made.append(Desk(tmp_path, text, *platforms))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_paid_box_without_a_run_is_told_with_its_money(desk: Any) -> None:
    d = desk()
    d.run("gpt", "finished")
    d.wait(14 * 60)
    assert d.open == []
    d.wait(2 * 60)
    (one,) = d.open
    assert (one.trouble, one.severity.label) == ("box_idle", "warning")
    assert "gpt finished 16 min ago, and the box still costs 2.1 $ an hour" in one.summary
    (push,) = d.pushes
    assert push["title"].startswith("[WARNING] gpt on box3: gpt finished 15 min ago")
    assert "[cost] price_per_hour" in push["body"]


def test_the_reminders_widen_and_tell_the_sum_of_that_time(desk: Any) -> None:
    d = desk()
    d.run("gpt", "failed")
    d.wait(3 * 86400, look_s=300.0)
    ages = [round((p["created_at"] - d.pushes[0]["created_at"]) / 3600) for p in d.pushes]
    gaps = [b - a for a, b in itertools.pairwise(ages)]
    assert gaps[:4] == [1, 3, 8, 24]
    assert set(gaps[4:]) <= {24}
    assert "reminder 3]" in d.pushes[3]["title"]
    assert "gpt ended 12 h" in d.pushes[3]["title"]
    assert "25.7" in d.pushes[3]["title"]


def test_a_new_run_ends_it(desk: Any) -> None:
    d = desk()
    d.run("gpt", "finished")
    d.wait(20 * 60)
    d.run("next")
    d.wait(60)
    assert d.open == []
    assert d.pushes[-1]["title"].startswith("[RESOLVED] gpt on box3")
    assert "a run is alive again: next" in d.pushes[-1]["title"]


def test_acknowledged_and_silenced_are_not_reminded(desk: Any) -> None:
    d = desk()
    d.run("gpt", "finished")
    d.wait(20 * 60)
    d.context.incidents.acknowledge(d.open[0])
    d.wait(86400, look_s=600.0)
    assert len(d.pushes) == 1


def test_without_a_price_nothing_is_said(desk: Any) -> None:
    d = desk(ALERTS)
    run = d.run("gpt", "finished")
    d.wait(86400, look_s=600.0)
    assert d.open == []
    assert d.pushes == []
    status = d.context.status(run)
    assert status["cost"] is None
    assert status["platform"] is None


def test_a_box_that_was_off_meanwhile_did_not_cost_then(desk: Any) -> None:
    d = desk()
    d.run("gpt", "finished")
    d.clock.jump(86400)
    d.context.box_start = d.clock.now() - 60  # started again a minute ago
    d.wait(10 * 60)
    assert d.open == []
    d.wait(5 * 60)
    assert "0.56 $ for nothing" in d.open[0].summary
    assert d.open[0].onset == d.context.box_start


def test_the_balance_is_counted_down_and_told_a_day_before(desk: Any) -> None:
    d = desk()
    read_at = iso(d.clock.now())
    d.close()
    text = PRICE + f'balance = 63.0\nbalance_at = "{read_at}"\n'  # 30 hours
    d = desk(ALERTS + text)
    run = d.run("gpt")
    d.wait(5 * 3600, look_s=600.0)
    assert d.open == []
    cost = d.context.status(run)["cost"]
    assert cost["balance_hours"] == 25.0
    assert cost["balance"] == 52.5
    d.wait(2 * 3600, look_s=600.0)
    (one,) = d.open
    assert one.trouble == "platform_clock"
    assert "balance of" in one.summary
    assert "the box may be stopped" in one.summary


def test_the_clock_stays_with_the_run_that_it_was_told_about(desk: Any) -> None:
    d = desk()
    read_at = iso(d.clock.now())
    d.close()
    d = desk(ALERTS + PRICE + f'balance = 20.0\nbalance_at = "{read_at}"\n')
    d.run("gpt")
    d.wait(120)
    d.context.runs["gpt-1"].ended_at = d.clock.now()
    d.run("next")
    d.wait(120)
    assert [i.run for i in d.open] == ["gpt-1"]
    assert len(d.pushes) == 1


def test_the_platform_is_told_once_per_box(desk: Any) -> None:
    d = desk(ALERTS, RUNPOD)
    d.meter.look()
    assert d.pushes == []  # not before a run is there: an empty daemon greets nobody
    d.run("gpt")
    d.wait(300)
    (push,) = d.pushes
    assert push["title"] == "[INFO] box3 is a box of RunPod: what to know once"
    assert "Stops the meter: terminate (cannot be undone)" in push["body"]
    assert "Clock: balance runs out" in push["body"]
    assert len(push["body"]) <= 1000
    assert push["body"].endswith("middlewatch platform")
    d.close()
    again = desk(ALERTS, RUNPOD)
    again.run("gpt")
    again.wait(300)
    assert len(again.pushes) == 1


def test_the_own_file_of_a_person_gives_a_price_and_better_words(desk: Any, tmp_path: Path) -> None:
    own = tmp_path / "platforms.toml"
    own.write_text(
        '[runpod]\nprice_per_hour = 3.0\ncurrency = "USD"\n'
        'fact = [{ key = "meter.keeps_billing", says = "nothing, by my contract" }]\n'
    )
    own.chmod(0o600)
    d = desk(ALERTS, RUNPOD)
    status = d.context.status(d.run("gpt", "finished"))
    assert status["cost"]["price_from"] == "price_per_hour of runpod in platforms.toml"
    assert status["platform"]["keeps_billing"] == "nothing, by my contract"
    own.write_text("[runpod]\nprice = 3.0\n")
    with pytest.raises(ConfigError, match="has no list 'price'"):
        desk(ALERTS, RUNPOD)


def test_the_start_of_this_box_is_in_the_past() -> None:
    now = 2e9
    began = box_start(now)
    assert began is not None
    assert began < now


def told(d: Any, finding: Finding) -> None:
    """One finding about the run, told as the daemon does it."""
    found = [(finding.trouble, finding)]
    for change in d.context.incidents.update("gpt-1", found, {"hang": 0.0}, d.clock.now()):
        d.alerter.alert(d.context.runs["gpt-1"], change)


def test_the_push_about_a_hang_tells_its_cost_and_the_next_one_the_sum(desk: Any) -> None:
    d = desk()
    d.run("gpt")
    d.clock.jump(3600)
    since = d.clock.now() - 600
    told(d, Finding("hang", Severity.CRITICAL, "no step for 10 min", since=since))
    assert "Cost so far: 10 min, 0.35 $ (2.1 $ an hour)" in d.pushes[-1]["body"]
    (one,) = d.open
    assert d.context.incident_json(one)["cost"]["amount"] == 0.35
    d.clock.jump(31 * 60)
    for change in d.context.incidents.update(
        "gpt-1", [], {"hang": 0.0}, d.clock.now(), lambda *_: "steps go on"
    ):
        d.alerter.alert(d.context.runs["gpt-1"], change)
    assert d.pushes[-1]["title"].startswith("[RESOLVED]")
    assert "The hang cost 41 min, 1.44 $." in d.pushes[-1]["body"]


def test_the_push_about_a_hang_without_a_price_tells_no_cost(desk: Any) -> None:
    d = desk(ALERTS)
    d.run("gpt")
    d.clock.jump(3600)
    told(d, Finding("hang", Severity.CRITICAL, "no step for 10 min"))
    assert "ost so far" not in d.pushes[-1]["body"]
    assert d.context.incident_json(d.open[0])["cost"] is None


def test_quiet_hours_hold_the_reminders_back_and_count_none(desk: Any) -> None:
    d = desk(ALERTS.replace("[alerts]\n", '[alerts]\nquiet = "00:00-23:59"\n') + PRICE)
    d.run("gpt", "finished")
    d.wait(12 * 3600, look_s=300.0)
    (one,) = d.open
    assert d.pushes == []
    assert (one.reminders, one.alerted_at) == (0, None)
