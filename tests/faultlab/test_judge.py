"""The judge: what counts as found, in time, right and false."""

from __future__ import annotations

from typing import Any

import pytest

from .judge import judge, quantile, report
from .lab import Alarm, Fault, Outcome, Severity
from .main import table

FAULT = Fault(
    "1",
    "lock",
    lambda bench: None,
    classes=frozenset({"hang"}),
    also=frozenset({"checkpoint_stale"}),
    cause="lock",
    remedy="stack",
    deadline_s=80,
)
CONTROL = Fault("C1", "healthy", lambda bench: None, kind="control", length_s=60)


def alarm(at: float, trouble: str = "hang", severity: Severity = "page", **more: Any) -> Alarm:
    words = {"title": "[CRITICAL] gpt: a lock", "first_step": "Take stacks.", **more}
    return Alarm(at, severity, trouble=trouble, **words)


def outcome(*alarms: Alarm, fault: Fault = FAULT, injected: float | None = 100.0) -> Outcome:
    return Outcome(fault, "middlewatch", 0, injected=injected, alarms=list(alarms))


def test_found_in_time_with_cause_and_remedy() -> None:
    judged = judge(outcome(alarm(170)))
    assert (judged.found, judged.in_time, judged.cause, judged.remedy) == (True,) * 4
    assert judged.seconds == 70
    assert judged.false_pages == []


def test_late_is_found() -> None:
    judged = judge(outcome(alarm(190)))
    assert (judged.found, judged.in_time) == (True, False)


def test_the_program_says_when_it_is_too_late() -> None:
    one = outcome(alarm(150))
    one.late = 140
    assert judge(one).in_time is False
    one.late = 160
    assert judge(one).in_time is True


def test_before_the_injection_is_false() -> None:
    judged = judge(outcome(alarm(90)))
    assert judged.found is False
    assert len(judged.false_pages) == 1
    assert judged.loud


def test_another_class_is_false_and_not_found() -> None:
    judged = judge(outcome(alarm(120, "crash")))
    assert (judged.found, judged.cause) == (False, False)
    assert len(judged.false_pages) == 1


def test_a_true_consequence_is_not_false() -> None:
    judged = judge(outcome(alarm(120), alarm(130, "checkpoint_stale")))
    assert judged.false_pages == []


def test_the_same_page_twice_is_false_once() -> None:
    assert len(judge(outcome(alarm(120), alarm(130))).false_pages) == 1


@pytest.mark.parametrize(("after_s", "right"), [(60, True), (130, False)])
def test_a_correction_counts_within_two_minutes(after_s: float, right: bool) -> None:
    first = alarm(120, "crash", corrected_to="hang", corrected_at=120 + after_s)
    second = alarm(120 + after_s, title="[CORRECTED] gpt: a lock")
    judged = judge(outcome(first, second))
    assert judged.found is True
    assert judged.cause is right
    assert judged.false_pages == []


def test_the_wrong_words_are_the_wrong_cause() -> None:
    judged = judge(outcome(alarm(120, title="no progress", first_step="Restart.")))
    assert (judged.found, judged.cause, judged.remedy) == (True, False, False)


def test_a_note_is_not_a_page() -> None:
    assert judge(outcome(alarm(120, severity="note"))).found is False


def test_a_control_must_stay_silent() -> None:
    silent = report("w", [outcome(fault=CONTROL, injected=None)])
    assert silent.failures() == []
    noted = report("w", [outcome(alarm(10, severity="note"), fault=CONTROL, injected=None)])
    assert noted.failures() == []
    loud = report("w", [outcome(alarm(10, severity="warning"), fault=CONTROL, injected=None)])
    assert loud.failures() == ["row C1 healthy must stay silent: 1 times not"]
    assert loud.totals()["recall"] is None
    paged = report("w", [outcome(alarm(10), fault=CONTROL, injected=None)])
    assert paged.totals()["precision"] == 0.0


def test_a_row_that_broke_counts_as_missed_and_one_not_run_does_not() -> None:
    broken, skipped = outcome(), outcome()
    broken.state, broken.reason = "broken", "TimeoutError"
    skipped.state, skipped.reason = "not run", "no compiler"
    one = report("w", [outcome(alarm(120)), broken, skipped])
    assert one.totals()["recall"] == 0.5
    assert any("broken" in why for why in one.failures())
    alone = report("w", [skipped])
    assert alone.totals()["recall"] is None
    assert alone.failures() == ["nothing was judged"]


def test_one_poor_row_fails_the_whole() -> None:
    runs = [outcome(alarm(120)) for _ in range(3)] + [outcome(), outcome()]
    assert "row 1 lock: recall 0.60" in report("w", runs).failures()


@pytest.mark.parametrize(("part", "value"), [(0.5, 3), (0.95, 5), (0.0, 1), (0.2, 1), (1.0, 5)])
def test_quantiles(part: float, value: float) -> None:
    assert quantile([5, 1, 4, 2, 3], part) == value


def test_no_quantile_of_nothing() -> None:
    assert quantile([], 0.5) is None


def test_the_table_tells_what_failed() -> None:
    skipped = outcome(fault=CONTROL, injected=None)
    skipped.state, skipped.reason = "not run", "no compiler"
    told = table(report("w", [outcome(alarm(190)), skipped]))
    assert "not run: no compiler" in told
    assert "row 1 lock: too late 1 times" in told
    assert "all thresholds hold" in table(report("w", [outcome(alarm(120))]))
