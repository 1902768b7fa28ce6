"""The time at which a run goes on, by the newest line of its log."""

from __future__ import annotations

from middlewatch.daemon.parsers.recurring import RecurringLines


def test_a_report_takes_back_the_time_at_which_the_run_goes_on() -> None:
    lines = RecurringLines()
    lines.add(b"20:00:00 paused, goes on at 20:10:00\n", 0, 100.0)
    assert lines.signs.goes_on_at == 700.0
    lines.add(b"20:00:05 step 3 eta 20:30:00\n", 1, 105.0)
    assert lines.signs.goes_on_at == 0.0
