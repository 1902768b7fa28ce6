from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.incidents import Change, Incident, Incidents
from middlewatch.daemon.service.alerting import Alerter
from middlewatch.daemon.service.context import Context
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.daemon.system.loop import Loop
from middlewatch.daemon.system.pump import Pump
from middlewatch.daemon.system.store import Store
from middlewatch.sentinels.handbook import page
from middlewatch.sentinels.kit import Finding, Severity

from ...fakes.clock import FakeClock

# Port 9 of loopback: nobody takes it, and here nobody has to; what counts is what is queued.
URL = 'urls = ["json://127.0.0.1:9/"]\nmin_severity = "critical"\n'
HOUR = 3600.0


class Desk:
    """Everything the teller needs, and what it queued for the phone."""

    def __init__(self, root: Path, alerts: str) -> None:
        self.root = root
        self.alerts = alerts
        self.clock = FakeClock()
        self.said: list[str] = []
        self.open()

    def open(self) -> None:
        self.loop = Loop(self.clock, lambda error: pytest.fail(repr(error)))
        state = StateDir(self.root)
        store = Store(state.store, state.reserve, self.root)
        incidents = Incidents(Incident.from_json(doc) for _, doc in store.all("incident"))
        self.context = Context(
            state=state,
            config=parse(f"[alerts]\nhost = 'box3'\n{self.alerts}", "f"),
            clock=self.clock,
            store=store,
            incidents=incidents,
            pump=Pump(self.loop, self.clock, self.said.append),
        )
        self.watched = WatchedRun(RunSpec(name="gpt", id="gpt-1"), self.context.box, self.clock)
        self.context.runs["gpt-1"] = self.watched
        self.alerter = Alerter(self.context, self.loop, self.said.append)

    def close(self) -> None:
        self.alerter.outbox.close()
        self.context.store.close()
        self.loop.close()

    def restart(self) -> None:
        self.close()
        self.open()

    def say(
        self,
        severity: Severity = Severity.CRITICAL,
        trouble: str = "loss_nan",
        key: str = "",
        **details: object,
    ) -> list[Change]:
        """One finding, told as the daemon does it."""
        finding = Finding(trouble, severity, f"{trouble} happened", key=key, details=details)
        changes = self.context.incidents.update(
            "gpt-1", [("nan_loss", finding)], {"nan_loss": 60.0}, self.clock.now()
        )
        for change in changes:
            self.alerter.alert(self.watched, change)
        return changes

    def clear(self) -> None:
        self.clock.jump(60)
        for change in self.context.incidents.update(
            "gpt-1", [], {"nan_loss": 60.0}, self.clock.now(), lambda *_: "seen to be well"
        ):
            self.alerter.alert(self.watched, change)

    @property
    def pushed(self) -> list[str]:
        """Labels of all messages, oldest first."""
        docs = sorted(
            (d for _, d in self.context.store.all("message")), key=lambda d: d["created_at"]
        )
        return [d["title"].split("]")[0].strip("[") for d in docs]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    made: list[Desk] = []

    def make(alerts: str = URL) -> Desk:
        made.append(Desk(tmp_path, alerts))
        return made[-1]

    yield make
    for one in made:
        one.close()


# ------------------------------------------------------------------------ what is worth a push


def test_the_first_step_is_that_of_the_class(desk: Any) -> None:
    d = desk()
    d.say(trouble="nccl_timeout")  # whichever rule told it
    ((_, doc),) = d.context.store.all("message")
    entry = page("nccl_timeout")
    assert entry is not None
    assert f"First step: {entry.first_step.text}\n" in doc["body"]


def test_opened_and_resolved(desk: Any) -> None:
    d = desk()
    d.say()
    d.say()
    assert d.pushed == ["CRITICAL"]
    (one,) = d.context.incidents.open()
    assert one.alerted_at == d.clock.now()
    d.clear()
    assert d.pushed == ["CRITICAL", "RESOLVED"]


def test_what_was_sent_before_a_kill_is_not_sent_again(desk: Any) -> None:
    """The message was stored, and the incident that it is about was not."""
    d = desk()
    d.say()
    (one,) = d.context.incidents.open()
    d.context.store.drop("incident", one.id)
    d.restart()
    assert d.context.incidents.open() == []
    d.say()
    assert d.pushed == ["CRITICAL"]
    (again,) = d.context.incidents.open()
    assert (again.id, again.alerted_at) == (one.id, d.clock.now())
    d.clear()
    d.say()  # it came back: this is another one
    assert d.pushed == ["CRITICAL", "RESOLVED", "CRITICAL"]
    (third,) = d.context.incidents.open()
    assert third.id != one.id


def test_a_warning_that_was_sent_before_a_kill_holds_back_nothing_critical(desk: Any) -> None:
    d = desk('urls = ["json://127.0.0.1:9/"]\nmin_severity = "warning"\n')
    d.say(Severity.WARNING)
    (one,) = d.context.incidents.open()
    d.context.store.drop("incident", one.id)
    d.restart()
    d.say()
    assert d.pushed == ["WARNING", "CRITICAL"]
    (again,) = d.context.incidents.open()
    assert again.id == one.id


def test_the_end_of_a_job_that_its_queue_starts_again_may_be_no_trouble(desk: Any) -> None:
    d = desk()
    d.say(trouble="preempted", key="end", requeued=True)
    d.alerter.remind()
    assert d.pushed == []
    (incident,) = d.context.incidents.open()
    change = d.context.incidents.resolve(incident, d.clock.now(), "attempt 2 trains again")
    d.alerter.alert(d.watched, change)
    assert d.pushed == []


def test_a_job_that_its_queue_does_not_start_again_after_all(desk: Any) -> None:
    d = desk()
    d.say(trouble="preempted", key="end", requeued=True)
    d.clock.jump(31)
    d.alerter.remind()
    d.alerter.remind()
    assert d.pushed == ["CRITICAL"]


def test_what_nobody_was_told_of_is_not_resolved_aloud(desk: Any) -> None:
    d = desk()
    d.say(Severity.WARNING)
    d.clear()
    assert d.pushed == []


def test_no_word_at_the_end_if_that_is_not_wanted(desk: Any) -> None:
    d = desk(URL + "resolved = false\nfinished = false\n")
    d.say()
    d.clear()
    d.watched.state = "finished"
    d.alerter.alert_end(d.watched)
    assert d.pushed == ["CRITICAL"]


def test_worse_and_corrected_are_told_even_after_an_acknowledgement(desk: Any) -> None:
    d = desk()
    d.say(Severity.WARNING)
    d.context.incidents.acknowledge(d.context.incidents.open()[0])
    d.clock.jump(1)
    d.say(Severity.CRITICAL)
    d.context.incidents.acknowledge(d.context.incidents.open()[0])
    d.clock.jump(1)
    d.say(trouble="gpu_lost")
    assert d.pushed == ["CRITICAL", "CORRECTED"]


def test_a_run_that_reached_its_end_is_told_once(desk: Any) -> None:
    d = desk()
    d.watched.state = "finished"
    for _ in range(2):
        d.alerter.alert_end(d.watched)
    assert d.pushed == ["FINISHED"]


def test_a_death_that_became_a_symptom_is_told(desk: Any) -> None:
    d = desk()
    d.say()
    d.clock.jump(30)
    end = Finding("python_exception", Severity.CRITICAL, "ValueError: bad; it ended", key="end")
    for change in d.context.incidents.update("gpt-1", [("crash", end)], {}, d.clock.now()):
        d.alerter.alert(d.watched, change)
    assert d.pushed == ["CRITICAL"]
    d.watched.state, d.watched.exit = "failed", {"code": 1, "signal": None}
    for _ in range(2):
        d.alerter.alert_end(d.watched)
    assert d.pushed == ["CRITICAL", "FAILED"]
    doc = next(doc for _, doc in d.context.store.all("message") if "FAILED" in doc["title"])
    assert doc["title"].endswith(": ended with exit status 1")
    assert "The cause was told before: loss_nan happened" in doc["body"]
    assert "Symptom: python_exception: ValueError: bad; it ended" in doc["body"]


def test_a_fatal_trouble_that_was_found_by_the_end_tells_it(desk: Any) -> None:
    d = desk()
    d.watched.ended_at = d.clock.now() - 1
    finding = Finding("cuda_oom", Severity.CRITICAL, "out of GPU memory", fatal=True)
    for change in d.context.incidents.update("gpt-1", [("cuda_oom", finding)], {}, d.clock.now()):
        d.alerter.alert(d.watched, change)
    d.watched.state = "failed"
    d.alerter.alert_end(d.watched)
    assert d.pushed == ["CRITICAL"]


def test_a_death_that_has_its_own_incident_is_told_once(desk: Any) -> None:
    d = desk()
    d.say(trouble="python_exception", key="end")
    d.watched.state = "failed"
    d.alerter.alert_end(d.watched)
    assert d.pushed == ["CRITICAL"]


def test_nobody_to_tell(desk: Any) -> None:
    d = desk("")
    d.say()
    for _ in range(10):
        d.clock.jump(HOUR)
        d.alerter.remind()
    (doc,) = (doc for _, doc in d.context.store.all("message"))
    assert doc["state"] == "silent"
    assert d.context.incidents.open()[0].alerted_at is None


# ------------------------------------------------------------------------ reminders


def test_reminders_come_ever_more_rarely(desk: Any) -> None:
    d = desk()
    d.say()
    began, at = d.clock.now(), []
    for _ in range(int(24 * HOUR / 60)):
        d.clock.jump(60)
        before = len(d.pushed)
        d.alerter.remind()
        if len(d.pushed) > before:
            at.append((d.clock.now() - began) / HOUR)
    assert at == [0.5, 2.5, 8.5, 14.5, 20.5]
    assert d.pushed[1] == "CRITICAL, reminder 1"


def test_an_acknowledgement_ends_them(desk: Any) -> None:
    d = desk()
    d.say()
    d.context.incidents.acknowledge(d.context.incidents.open()[0])
    d.clock.jump(9 * HOUR)
    d.alerter.remind()
    assert d.pushed == ["CRITICAL"]


@pytest.mark.parametrize("alerts", [URL + "repeat_s = []\n", URL + 'min_severity = "info"\n'])
def test_no_reminders_of_warnings_or_if_none_are_wanted(desk: Any, alerts: str) -> None:
    warning = "info" in alerts
    alerts = alerts.replace('min_severity = "critical"\n', "") if warning else alerts
    d = desk(alerts)
    d.say(Severity.WARNING if warning else Severity.CRITICAL)
    d.clock.jump(9 * HOUR)
    d.alerter.remind()
    assert len(d.pushed) == 1


def test_a_restart_neither_tells_again_nor_loses_count(desk: Any) -> None:
    d = desk()
    d.say()
    d.clock.jump(HOUR)
    d.alerter.remind()
    d.restart()
    d.say()
    d.alerter.remind()
    assert d.pushed == ["CRITICAL", "CRITICAL, reminder 1"]
    d.clock.jump(2 * HOUR)
    d.alerter.remind()
    assert d.pushed[-1] == "CRITICAL, reminder 2"


# ------------------------------------------------------------------------ silence


def test_a_silence_of_one_class_is_one_of_that_class(desk: Any) -> None:
    d = desk()
    d.alerter.silences.add("", "loss_nan", HOUR)
    d.say()
    assert d.pushed == []
    d.clock.jump(200)
    d.say(trouble="disk_full", key="/data")
    assert d.pushed == ["CRITICAL"]


def test_a_silence_of_another_run_is_none(desk: Any) -> None:
    d = desk()
    d.alerter.silences.add("other-1", "", HOUR)
    d.say()
    assert d.pushed == ["CRITICAL"]


def test_what_opened_in_a_silence_is_told_when_it_is_over(desk: Any) -> None:
    d = desk()
    d.alerter.silences.add("gpt-1", "", HOUR)
    d.say()
    d.alerter.remind()
    assert d.pushed == []
    d.clock.jump(HOUR + 1)
    d.alerter.remind()
    d.alerter.remind()
    assert d.pushed == ["CRITICAL"]
    assert d.context.incidents.open()[0].reminders == 0


def test_a_silence_covers_the_good_news_as_well(desk: Any) -> None:
    d = desk()
    d.say()
    d.alerter.silences.add("", "", HOUR)
    d.clear()
    d.watched.state = "finished"
    d.alerter.alert_end(d.watched)
    assert d.pushed == ["CRITICAL"]


def test_silences_outlive_a_restart_and_end(desk: Any) -> None:
    d = desk()
    d.alerter.silences.add("", "", HOUR)
    d.alerter.silences.add("", "hang", 60.0)
    d.clock.jump(61)
    d.restart()
    d.say()
    assert d.pushed == []
    assert len(list(d.context.store.all("silence"))) == 1  # the other one is over and forgotten
    d.clock.jump(HOUR)
    d.alerter.remind()
    assert d.pushed == ["CRITICAL"]


# ------------------------------------------------------------------------ a mistake of ours


def test_a_plain_push_goes_out_when_its_words_fail(
    desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    d = desk()
    monkeypatch.setattr("middlewatch.daemon.report.messages.compose", lambda *a: 1 // 0)
    d.say()
    ((_, doc),) = d.context.store.all("message")
    assert doc["title"] == "[CRITICAL] gpt on box3: loss_nan happened"
    assert "middlewatch explain loss_nan" in doc["body"]
    (part,) = d.context.pump.isolation
    assert (part.kind, part.name, part.failures) == ("message", "loss_nan", 1)


def test_a_store_that_is_lost_in_use_is_told_and_written_anew(desk: Any) -> None:
    d = desk()
    d.alerter.silences.add("", "cuda_oom", HOUR)
    d.context.store.flush()
    d.context.store.path.unlink()
    d.context.store.look()
    d.alerter.put_again()
    d.alerter.tell_lost_store()
    d.alerter.tell_lost_store()
    ((_, doc),) = d.context.store.all("message")
    assert "has lost its memory" in doc["title"]
    assert "were written to it" in doc["body"]
    assert [doc["class"] for _, doc in d.context.store.all("silence")] == ["cuda_oom"]
