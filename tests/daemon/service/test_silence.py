"""Dead man, digest, quiet hours, flapping: real store, outbox, notifier and a real service on loopback.
Time is moved by hand."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.incidents import Incident, Incidents
from middlewatch.daemon.service.alerting import Alerter
from middlewatch.daemon.service.context import Context
from middlewatch.daemon.service.dead_man import BLIND_S, CATCH_UP_S, DeadMan
from middlewatch.daemon.service.digests import Digests
from middlewatch.daemon.service.flapping import MOST, STAYS_LONG_S
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.daemon.system.loop import Loop
from middlewatch.daemon.system.pump import Pump
from middlewatch.daemon.system.source import Source
from middlewatch.daemon.system.store import Store
from middlewatch.sentinels.kit import Finding, Observation, Severity, Step

from ...fakes.clock import FakeClock
from ...fakes.healthchecks import Healthchecks, Kuma
from ...fakes.receiver import Receiver

HOUR, DAY = 3600.0, 86400.0
PATIENCE_S = 120.0
EVENING = datetime.fromisoformat("2026-03-20T20:00:00+01:00").timestamp()
"""Nine days before summer time begins in Berlin."""


class Eye(Source):
    """A vital source of a run; ``broken`` says why it cannot be read."""

    broken = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self, now: float) -> Iterable[Observation]:
        if self.broken:
            raise OSError(5, self.broken)
        return ()


class Desk:
    """The parts of a daemon that fall silent or do not."""

    def __init__(self, root: Path, settings: str) -> None:
        self.root, self.settings = root, settings
        self.clock = FakeClock(now=EVENING)
        self.said: list[str] = []
        self.open()

    def open(self) -> None:
        self.loop = Loop(self.clock, lambda error: pytest.fail(repr(error)))
        state = StateDir(self.root)
        self.store = Store(state.store, state.reserve, self.root)
        known = Incidents(Incident.from_json(doc) for _, doc in self.store.all("incident"))
        config = parse(self.settings, "f")
        pump = Pump(self.loop, self.clock, self.said.append)
        self.context = Context(state, config, self.clock, self.store, known, pump)
        self.run = WatchedRun(RunSpec(name="gpt", id="gpt-1"), self.context.box, self.clock)
        self.context.runs["gpt-1"] = self.run
        self.alerter = Alerter(self.context, self.loop, self.said.append)
        self.dead_man = DeadMan(self.context, self.alerter, self.said.append)
        self.context.heartbeat = self.dead_man.facts
        self.digests = Digests(
            self.context, self.alerter, self.dead_man.blind, self.dead_man.sentence
        )
        self.eyes = [Eye("processes"), Eye("log_tail:/x.log")]
        for eye in self.eyes:
            pump.add(eye, self.run.add_observations, "gpt-1")

    def close(self) -> None:
        self.alerter.outbox.close()
        self.store.close()
        self.loop.close()

    def restart(self, *, kill: bool = False) -> None:
        if kill:
            self.alerter.outbox.close()
            self.store._leave()
            self.loop.close()
        else:
            self.close()
        self.open()

    def second(self) -> None:
        """What the daemon does once a second, until nothing is on its way any more."""
        self.loop.turn(0.0)
        for part in (self.alerter.pump, self.dead_man.tick, self.digests.tick):
            part()
        deadline, outbox = time.monotonic() + PATIENCE_S, self.alerter.outbox
        while outbox._jobs or outbox._pings or outbox._child.waiting:
            assert time.monotonic() < deadline
            time.sleep(0.002)
            self.alerter.pump()

    def let_pass(
        self, seconds: float, step_s: float, each: Callable[[], object] = lambda: None
    ) -> None:
        """Time goes on in steps; ``each``: what is looked at after every one."""
        until = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until:
            self.clock.jump(step_s)
            self.second()
            each()

    def say(
        self,
        severity: Severity = Severity.CRITICAL,
        key: str = "",
        trouble: str = "loss_nan",
        *,
        fatal: bool = False,
    ) -> None:
        finding = Finding(trouble, severity, f"{trouble} {key} happened", key=key, fatal=fatal)
        for change in self.context.incidents.update(
            "gpt-1", [("nan_loss", finding)], {"nan_loss": 60.0}, self.clock.now()
        ):
            self.alerter.alert(self.run, change)

    def clear(self) -> None:
        for change in self.context.incidents.update(
            "gpt-1", [], {"nan_loss": 60.0}, self.clock.now(), lambda *_: "seen to be well"
        ):
            self.alerter.alert(self.run, change)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    made: list[Desk] = []

    def make(settings: str) -> Desk:
        made.append(Desk(tmp_path, settings))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def service() -> Iterator[Healthchecks]:
    made = Healthchecks(period_s=600.0, grace_s=600.0)
    yield made
    made.close()


def told(receiver: Receiver, label: str) -> list[dict[str, Any]]:
    return [got.data for got in receiver.got if got.data["title"].startswith(f"[{label}")]


def settings(receiver: Receiver, service: Healthchecks | None = None, more: str = "") -> str:
    text = f'[alerts]\nhost = "box3"\nzone = "Europe/Berlin"\nurls = ["{receiver.url}"]\n{more}\n'
    if service is not None:
        text += f'[heartbeat]\nurl = "{service.url}"\nevery_s = "1m"\ngrace_s = "5m"\n'
    return text


# ------------------------------------------------------------------------ dead man


def test_start_then_success_with_a_line_of_status(
    desk: Any, receiver: Receiver, service: Healthchecks
) -> None:
    d = desk(settings(receiver, service))
    assert (service.state, d.dead_man.facts()["accepted_at"]) == ("new", None)
    d.run.add_observations([Step(d.clock.now(), 4200.0, {"train_loss": 2.0})])
    d.let_pass(10.0, 1.0)
    assert service.signals == ["start", "success"]
    assert service.state == "up"
    assert (
        "on box3: 1 runs watched; gpt running at step 4200; 0 incidents open"
        in service.pings[1].body
    )
    d.let_pass(300.0, 10.0)
    assert service.signals == ["start", *["success"] * 6]
    assert d.dead_man.facts()["accepted"] == "success"
    assert d.dead_man.facts()["age_s"] < 60.0


@pytest.mark.parametrize("eye", [0, 1])
def test_with_a_source_that_is_stuck_there_is_no_success(
    desk: Any, receiver: Receiver, service: Healthchecks, eye: int
) -> None:
    d = desk(settings(receiver, service))
    d.let_pass(10.0, 1.0)
    service.pings.clear()
    d.eyes[eye].broken = "the disk does not answer"
    d.let_pass(BLIND_S - 5.0, 1.0)
    d.let_pass(120.0, 5.0)
    assert set(service.signals) == {"fail"}
    assert service.state == "down"
    assert (
        f"blind: {d.eyes[eye].name} of gpt-1: failed (the disk does not answer)"
        in service.pings[0].body
    )
    d.eyes[eye].broken = ""
    d.let_pass(70.0, 5.0)
    assert service.state == "up"


def test_a_source_that_nobody_asks_any_more_is_no_success(
    desk: Any, receiver: Receiver, service: Healthchecks
) -> None:
    """Its state still says that it is well."""
    d = desk(settings(receiver, service))
    d.let_pass(10.0, 1.0)
    service.pings.clear()
    d.context.pump._groups.clear()
    d.context.pump.add(Eye("processes"), d.run.add_observations, "gpt-1")
    d.context.pump.add(d.eyes[1], d.run.add_observations, "gpt-1")
    next(iter(d.context.pump.all())).read = lambda: None
    d.let_pass(200.0, 5.0)
    assert set(service.signals) == {"fail"}


class Far(Eye):
    """A source whose answers come later, and seldom: it had one at its first look."""

    answers_later = True
    looks = 0

    def read(self, now: float) -> Iterable[Observation]:
        self.looks += 1
        return [Step(now, 1.0, {})] if self.looks == 1 else ()


@pytest.mark.parametrize("asked", [True, False])
def test_a_far_source_has_to_be_asked_and_need_not_have_anything_new(
    desk: Any, receiver: Receiver, service: Healthchecks, *, asked: bool
) -> None:
    d = desk(settings(receiver, service))
    far = Far("log_tail:/far/x.log")
    d.context.pump.add(far, d.run.add_observations, "gpt-1")
    d.let_pass(30.0, 1.0)
    if not asked:
        (pumped,) = [one for one in d.context.pump.all() if one.source is far]
        pumped.read = lambda: None
    service.pings.clear()
    d.let_pass(300.0, 5.0)
    assert set(service.signals) == ({"success"} if asked else {"fail"}), service.pings[-1].body


def test_a_run_of_which_nothing_is_read_is_no_success(
    desk: Any, receiver: Receiver, service: Healthchecks
) -> None:
    d = desk(settings(receiver, service))
    d.context.runs["other-1"] = WatchedRun(RunSpec(name="o", id="other-1"), d.context.box, d.clock)
    d.let_pass(120.0, 5.0)
    assert "success" not in service.signals
    assert "blind: other-1: nothing of it is read" in service.pings[-1].body


def test_on_return_one_push_says_what_was_missed(
    desk: Any, receiver: Receiver, service: Healthchecks
) -> None:
    d = desk(settings(receiver, service))
    d.run.add_observations([Step(d.clock.now(), 100.0, {"train_loss": 2.0})])
    d.let_pass(120.0, 10.0)
    d.clock.jump(3 * HOUR)  # frozen: nothing runs
    d.second()
    d.run.add_observations([Step(d.clock.now(), 900.0, {"train_loss": 1.0})])
    d.say()
    d.let_pass(CATCH_UP_S + 70.0, 5.0)
    (back,) = told(receiver, "BACK")
    assert back["title"] == "[BACK] middlewatch on box3 was not heard for 3 h 1 min"
    assert (
        "From 2026-03-20 20:01 CET to 2026-03-20 23:02 CET; about 180 pings are" in back["message"]
    )
    assert "Why: the daemon stood still for 3 h" in back["message"]
    assert "Run: gpt-1: running, step 100 to 900" in back["message"]
    assert "Found since: critical loss_nan happened" in back["message"]
    d.let_pass(HOUR, 30.0)
    assert len(told(receiver, "BACK")) == 1


@pytest.mark.parametrize("kill", [True, False])
def test_a_daemon_that_was_not_running_tells_it_once(
    desk: Any, receiver: Receiver, service: Healthchecks, *, kill: bool
) -> None:
    d = desk(settings(receiver, service))
    d.let_pass(120.0, 10.0)
    d.clock.jump(HOUR)
    d.restart(kill=kill)
    d.second()  # the start is accepted; then it is killed again before it has told anything
    d.restart(kill=True)
    d.let_pass(CATCH_UP_S + 120.0, 10.0)
    d.restart(kill=True)
    d.let_pass(CATCH_UP_S + 120.0, 10.0)
    (back,) = told(receiver, "BACK")
    assert "the daemon was not running" in back["message"]


def test_pings_that_are_not_accepted(desk: Any, receiver: Receiver, service: Healthchecks) -> None:
    d = desk(settings(receiver, service))
    d.let_pass(60.0, 5.0)
    service.status = 503
    d.let_pass(600.0, 5.0)
    assert d.dead_man.facts()["trouble"] == "HTTP 503: Service Unavailable"
    status = d.context.status(d.run)
    assert "HTTP 503" in status["heartbeat"]["trouble"]
    service.status = 200
    d.let_pass(60.0, 5.0)
    assert d.dead_man.facts()["trouble"] == ""
    (back,) = told(receiver, "BACK")
    assert "pings were not accepted: HTTP 503" in back["message"]


def test_a_url_that_is_refused_is_told(
    desk: Any, receiver: Receiver, service: Healthchecks
) -> None:
    service.uuid = "another"
    d = desk(settings(receiver, service))
    d.let_pass(600.0, 10.0)
    (refused,) = told(receiver, "WARNING")
    assert "the heartbeat is refused" in refused["title"]
    assert service.url.rsplit("/", 1)[1] not in json.dumps([g.data for g in receiver.got])
    assert not any(service.url.rsplit("/", 1)[1] in line for line in d.said)
    # It is asked as often as one that knows us, not after every failure.
    assert d.dead_man.answers <= 11


def test_a_service_without_a_start_has_accepted_none(desk: Any, receiver: Receiver) -> None:
    """Uptime Kuma: a daemon that starts again and again, and sees nothing, is not up."""
    kuma = Kuma()
    try:
        text = settings(receiver) + f'[heartbeat]\nurl = "{kuma.url}"\n'
        d = desk(text)
        for _ in range(3):
            d.restart()
            for eye in d.eyes:
                eye.broken = "stale handle"
            d.let_pass(20.0, 5.0)
        assert kuma.told == []
        assert d.dead_man.facts()["accepted_at"] is None
        d.restart()
        d.let_pass(20.0, 5.0)
        assert kuma.told == ["up"]
    finally:
        kuma.close()


# ------------------------------------------------------------------------ digests


def test_fourteen_nights(desk: Any, receiver: Receiver, service: Healthchecks) -> None:
    """One digest each morning at eight of the person's clock, over the change to summer time and two
    kills; no false fail, and the service never thinks that the box is down."""
    more = 'quiet = "22:00-07:00"\nrepeat_s = []'
    text = settings(receiver, service, more).replace('"1m"', '"1h"').replace('"5m"', '"2h"')
    d = desk(text + '[digest]\nat = ["08:00"]\n')
    service.clock, service.period_s, service.grace_s = d.clock.monotonic, HOUR, 2 * HOUR
    states: list[str] = []

    def look() -> None:
        states.append(service.state)

    for night in range(14):
        d.let_pass(4 * HOUR, 1800.0, look)  # midnight
        d.say(Severity.WARNING, key=f"n{night}")
        if night in (3, 9):
            d.restart(kill=True)
        d.let_pass(20 * HOUR, 1800.0, look)
        d.clear()
    assert set(states[1:]) == {"up"}, "as the service sees it, from the first success on"
    reports = [got.data for got in receiver.got if "kept back" in got.data["title"]]
    assert len(reports) == len(receiver.got) == 14, "and nothing else"
    assert "fail" not in service.signals
    assert len(service.signals) >= 14 * 24 - 14
    for night, report in enumerate(reports):
        assert "Kept back (quiet hours):" in report["message"]
        assert f"[WARNING] gpt on box3: loss_nan n{night} happened" in report["message"]
        assert f"loss_nan n{night - 1} happened" not in report["message"].split("Kept back")[1]
    zones = ["CET"] * 8 + ["CEST"] * 6  # of the next one, as each says it
    assert [
        ("08:00 CET" if zone == "CET" else "08:00 CEST") in r["message"]
        for zone, r in zip(zones, reports, strict=True)
    ] == [True] * 14


def test_a_digest_says_how_it_goes(desk: Any, receiver: Receiver) -> None:
    d = desk(settings(receiver) + '[digest]\nevery = "6h"\n')
    d.run.add_observations([Step(d.clock.now(), 100.0, {"train_loss": 2.5}, total=10_000)])
    d.let_pass(6 * HOUR, 600.0)
    first = receiver.got[0].data
    assert first["title"] == "[STILL FINE] box3: 1 run watched"
    assert first["message"].startswith(
        "gpt: running, step 100 of 10000, loss 2.5, no checkpoint verified yet\n"
        "Forecast: nothing is expected to run out\n"
    )
    assert "Since 2026-03-20 20:00 CET; next: 2026-03-21 08:00 CET" in first["message"]
    d.run.add_observations([Step(d.clock.now(), 900.0, {"train_loss": 1.5}, total=10_000)])
    d.restart(kill=True)
    d.run.add_observations([Step(d.clock.now(), 900.0, {"train_loss": 1.5}, total=10_000)])
    d.say()
    d.second()
    d.let_pass(6 * HOUR, 600.0)
    (second,) = told(receiver, "REPORT")
    assert second["title"] == "[REPORT] box3: 1 run watched, 1 incident open"
    assert "step 900 of 10000 (+800), loss 1.5 (was 2.5)" in second["message"]
    assert "Open: critical loss_nan happened" in second["message"]


def test_one_that_was_missed_is_sent_once(desk: Any, receiver: Receiver) -> None:
    d = desk(settings(receiver) + '[digest]\nat = ["08:00", "20:00"]\n')
    d.second()
    d.clock.jump(3 * DAY)
    d.restart(kill=True)
    d.second()
    assert len(receiver.got) == 1
    d.restart(kill=True)
    d.second()
    assert len(receiver.got) == 1


def test_a_kill_between_the_push_and_its_note_sends_it_once(desk: Any, receiver: Receiver) -> None:
    d = desk(settings(receiver) + '[digest]\nat = ["08:00"]\n')
    d.second()
    before = dict(d.store.all("box"))["digest"]
    d.clock.jump(13 * HOUR)
    d.second()
    d.store.put("box", "digest", before, d.clock.now())
    d.restart()
    d.second()
    assert len(receiver.got) == 1


# ------------------------------------------------------------------------ quiet hours


def test_quiet_hours_are_for_warnings_only(desk: Any, receiver: Receiver) -> None:
    d = desk(settings(receiver, more='quiet = "22:00-07:00"'))
    d.let_pass(4 * HOUR, 1800.0)
    d.say(Severity.WARNING, key="w")
    d.say(Severity.CRITICAL, key="c", trouble="cuda_oom")
    d.let_pass(60.0, 30.0)
    assert [got.data["title"].split("]")[0] for got in receiver.got] == ["[CRITICAL"]
    d.restart(kill=True)
    d.let_pass(8 * HOUR, 1800.0)
    # No digest is set: what was kept back is told when the quiet hours end.
    told_then = [got.data for got in receiver.got if "kept back" in got.data["title"]]
    assert len(told_then) == 1
    assert "00:00 [WARNING] gpt on box3: loss_nan w happened" in told_then[0]["message"]


def test_what_the_budget_of_warnings_keeps_back_is_in_the_digest(
    desk: Any, receiver: Receiver
) -> None:
    d = desk(settings(receiver) + '[digest]\nat = ["08:00"]\n')
    for number in range(14):
        d.say(Severity.WARNING, key=f"w{number}")
        d.second()
        d.clock.jump(200.0)
        d.clear()
        d.second()
    assert len(told(receiver, "WARNING")) == 12
    d.let_pass(12 * HOUR, 1800.0)
    (report,) = [got.data for got in receiver.got if "kept back" in got.data["title"]]
    assert "2 kept back" in report["title"]
    assert "Kept back (12 warnings in a day):" in report["message"]


# ------------------------------------------------------------------------ storms


def test_a_storm_is_at_most_three_pushes_and_hides_nothing(desk: Any, receiver: Receiver) -> None:
    """10,000 findings a minute from 8 ranks; another trouble gets through."""
    d = desk(settings(receiver, more="repeat_s = []"))
    for number in range(10_000):
        d.say(key=f"rank{number % 8} line {number}", trouble="python_exception")
        if number % 100 == 99:
            d.clock.jump(0.6)
            d.second()
    assert 1 <= len(receiver.got) <= 3
    before, began = len(receiver.got), d.clock.monotonic()
    d.say(key="gpu", trouble="gpu_lost")
    while not any("gpu_lost" in json.dumps(got.data) for got in receiver.got[before:]):
        d.clock.jump(1.0)
        d.second()
        assert d.clock.monotonic() - began <= 10.0


@pytest.mark.parametrize("open_s", [120.0, 300.0, 2400.0])
def test_flapping_for_a_day(desk: Any, receiver: Receiver, open_s: float) -> None:
    d = desk(settings(receiver))
    until = d.clock.now() + DAY - HOUR
    while d.clock.now() < until:
        d.say()
        d.let_pass(open_s, 60.0)
        for call in d.alerter.reminders():
            call()
        d.clear()
        d.let_pass(300.0, 60.0)
    assert 3 <= len(receiver.got) <= MOST
    assert any("It comes and goes." in got.data["message"] for got in receiver.got)
    # Another trouble is told at once all the same.
    before = len(receiver.got)
    d.say(key="other", trouble="cuda_oom")
    d.second()
    assert len(receiver.got) == before + 1


def test_what_flaps_and_then_stays_is_told(desk: Any, receiver: Receiver) -> None:
    d = desk(settings(receiver))
    for _ in range(5):
        d.say()
        d.let_pass(120.0, 60.0)
        d.clear()
        d.let_pass(300.0, 60.0)
    before = len(receiver.got)
    d.say()
    d.restart(kill=True)
    d.say()
    d.let_pass(60.0, 60.0)
    d.alerter.remind()
    assert len(receiver.got) == before
    d.let_pass(1800.0, 60.0)
    d.alerter.remind()
    d.second()
    assert len(receiver.got) == before + 1
    assert receiver.got[-1].data["title"].startswith("[CRITICAL")


def flap(d: Desk, times: int, *, fatal: bool = False) -> None:
    for _ in range(times):
        d.say(fatal=fatal)
        d.let_pass(120.0, 60.0)
        d.clear()
        d.let_pass(300.0, 60.0)


def test_a_death_is_never_held_back(desk: Any, receiver: Receiver) -> None:
    """A launcher that starts its workers again, all day."""
    d = desk(settings(receiver, more="resolved = false"))
    flap(d, MOST + 3, fatal=True)
    assert len(told(receiver, "CRITICAL")) == MOST + 3


def test_it_is_told_that_something_was_held_back(desk: Any, receiver: Receiver) -> None:
    """No digest is set: the status and who asks for the routes learn of it, and a restart keeps it."""
    d = desk(settings(receiver))
    flap(d, 8)
    d.restart(kill=True)
    d.second()
    (note,) = [one for one in d.context.status(d.run)["notes"] if "kept back" in one]
    assert "pushes were kept back (it comes and goes); the newest, " in note
    assert note in d.alerter.notes()
    assert any(line.startswith("not pushed (it comes and goes): [CRITICAL") for line in d.said)
    assert len(told(receiver, "STILL FINE") + told(receiver, "REPORT")) == 0
    d.let_pass(DAY + HOUR, HOUR)
    assert not any("kept back" in one for one in d.context.status(d.run)["notes"])


def test_what_stays_for_hours_is_told_however_much_was_told_before(
    desk: Any, receiver: Receiver
) -> None:
    d = desk(settings(receiver))
    for _ in range(6):
        d.say()
        d.let_pass(2400.0, 60.0)
        d.alerter.remind()
        d.second()
        d.clear()
        d.let_pass(300.0, 60.0)
    assert len(receiver.got) == MOST
    d.say()
    d.let_pass(STAYS_LONG_S - 600.0, 600.0)
    d.alerter.remind()
    d.second()
    assert len(receiver.got) == MOST
    d.let_pass(1200.0, 600.0)
    for _ in range(3):
        d.alerter.remind()
        d.second()
    assert len(receiver.got) == MOST + 1
    assert receiver.got[-1].data["title"].startswith("[CRITICAL")


def test_no_secret_is_in_what_was_kept_back(desk: Any, receiver: Receiver) -> None:
    d = desk(settings(receiver, more='quiet = "19:00-07:00"'))
    d.say(Severity.WARNING, key="api_key=sk-abcdefghijklmnop0123456789")
    d.store.flush()
    assert len(d.alerter.kept.all()) == 1
    kept = [doc for _, doc in d.store.all("kept")]
    notes = [*d.context.status(d.run)["notes"], *d.alerter.notes()]
    held = [one for one in notes if "kept back" in one]
    assert len(held) == 2
    assert not any("sk-abcdef" in one for one in [*held, *map(str, kept)])


def test_what_flaps_at_noon_makes_no_report(desk: Any, receiver: Receiver) -> None:
    """Quiet hours without a digest: their end tells what was kept back, nothing else does."""
    d = desk(settings(receiver, more='quiet = "22:00-07:00"'))
    d.let_pass(14 * HOUR, 1800.0)
    flap(d, 8)
    assert told(receiver, "STILL FINE") + told(receiver, "REPORT") == []
    d.let_pass(24 * HOUR, 1800.0)
    (report,) = told(receiver, "STILL FINE") + told(receiver, "REPORT")
    assert "it comes and goes" in report["message"]


# ------------------------------------------------------------------------ no route


PAGER = '[routes.pager]\nmin_severity = "critical"\n'


def test_a_report_that_no_route_takes_is_no_flood(desk: Any, receiver: Receiver) -> None:
    text = settings(receiver, more='quiet = "22:00-07:00"').replace("json://", "pager=json://")
    d = desk(text + PAGER)
    d.let_pass(4 * HOUR, 1800.0)
    d.say(Severity.WARNING, key="w")
    d.let_pass(9 * HOUR, 1800.0)
    d.let_pass(600.0, 5.0)
    assert receiver.got == []
    assert len(list(d.store.all("message"))) == 1
    assert [one.why for one in d.alerter.kept.all().values()] == ["quiet hours"]


@pytest.mark.parametrize("kill", [True, False])
def test_what_nobody_was_told_does_not_count_as_told(
    desk: Any, receiver: Receiver, *, kill: bool
) -> None:
    """It comes and goes all night, when no route takes it; in the morning it is new to the person."""
    text = settings(receiver).replace("json://", "day=json://")
    d = desk(text + '[routes.day]\nhours = "08:00-20:00"\n')
    flap(d, 8)
    assert receiver.got == []
    d.let_pass(12 * HOUR, 1800.0)
    if kill:
        d.store.flush()
        d.restart(kill=True)
    d.say()
    d.second()
    assert len(told(receiver, "CRITICAL")) == 1


def test_a_critical_that_no_route_takes_now_is_told_when_one_does(
    desk: Any, receiver: Receiver
) -> None:
    text = settings(receiver).replace("json://", "day=json://")
    d = desk(text + '[routes.day]\nhours = "08:00-20:00"\n')
    d.let_pass(HOUR, 1800.0)
    d.say()
    for _ in range(60):
        d.alerter.remind()
        d.let_pass(30.0, 30.0)
    assert len(list(d.store.all("message"))) == 1
    assert any("no route takes it" in one for one in d.context.status(d.run)["notes"])
    d.let_pass(12 * HOUR, 1800.0)
    d.alerter.remind()
    d.second()
    assert len(told(receiver, "CRITICAL")) == 1


# ------------------------------------------------------------------------ broken routes


def test_the_other_route_tells_of_one_that_is_refused(desk: Any, receiver: Receiver) -> None:
    bad = Receiver()
    try:
        bad.status = 403
        d = desk(settings(receiver).replace('urls = ["', f'urls = ["{bad.url}", "'))
        d.say()
        d.let_pass(120.0, 5.0)
        d.restart(kill=True)
        d.let_pass(120.0, 5.0)
        warnings = told(receiver, "WARNING")
        assert len(warnings) == 1
        assert "url 1 (json://) does not take pushes" in warnings[0]["title"]
        assert len(told(receiver, "CRITICAL")) == 1
    finally:
        bad.close()


def test_the_page_tells_of_it(desk: Any, receiver: Receiver) -> None:
    receiver.status = 401
    d = desk(settings(receiver))
    d.say()
    d.second()
    notes = d.context.status(d.run)["notes"]
    assert any("refuses the token or the address" in note for note in notes)
