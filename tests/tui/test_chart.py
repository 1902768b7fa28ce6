"""The curve that can be zoomed, its smoothing and its marks; bars, histories, forecasts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.text.curve import AxisMark
from middlewatch.daemon.text.rows import plain, width_of
from middlewatch.tui.bars import bar, spark
from middlewatch.tui.chart import Chart, smoothed
from middlewatch.tui.themes import ascii_only
from middlewatch.tui.trail import Trail

from .hands import Hands
from .overview_answer import GIB, disk, incident, overview, run

FALLING = [(float(n), 10.0 * math.exp(-n / 40) + 2) for n in range(200)]


def test_zooming_shows_the_newest_part_or_the_one_around_the_cursor() -> None:
    chart = Chart()
    assert "step 0 " in plain(chart.draw(FALLING, [], "loss", 80, 12))
    chart.zoom_by(4)
    assert chart.shown == (0.75, 1.0)
    assert "step 150" in plain(chart.draw(FALLING, [], "loss", 80, 12))
    chart.whole()
    chart.cursor = 0.5
    chart.zoom_by(4)
    assert chart.shown == (0.375, 0.625)
    for _ in range(60):
        chart.shift(-10, 80)
    assert chart.shown[0] == 0.0
    chart.zoom_by(10**9)
    assert plain(chart.draw(FALLING, [], "loss", 80, 12)).count("\n") == 11


def test_the_cursor_tells_the_value_under_it() -> None:
    chart = Chart(cursor=0.5)
    assert "step 99: 2.8" in plain(chart.draw(FALLING, [], "loss", 80, 12))
    chart.point_at(79, 80)
    assert "step 199: 2.0" in plain(chart.draw(FALLING, [], "loss", 80, 12))


def test_incidents_stand_on_the_axis() -> None:
    rows = Chart().draw(
        FALLING, [AxisMark(150, "▲", "bad"), AxisMark(900, "▲", "bad")], "loss", 80, 12
    )
    assert plain(rows).count("▲") == 1


def test_the_scale_is_chosen_by_the_values_until_a_person_chooses() -> None:
    chart = Chart()
    middle = plain(chart.draw(FALLING, [], "loss", 80, 14)).split("\n")[6]
    chart.scale = 2
    assert plain(chart.draw(FALLING, [], "loss", 80, 14)).split("\n")[6] != middle
    below = [(x, y - 5) for x, y in FALLING]
    chart.scale = 1  # a logarithm of what is negative does not exist
    assert "not finite" not in plain(chart.draw(below, [], "loss", 80, 14))


def test_smoothing_keeps_what_is_not_finite_and_a_constant() -> None:
    flat = [(float(n), 3.0) for n in range(50)]
    assert [y for _, y in smoothed(flat, 0.9)] == pytest.approx([3.0] * 50)
    broken = smoothed([(0.0, 1.0), (1.0, math.nan), (2.0, 1.0)], 0.6)
    assert math.isnan(broken[1][1])
    assert broken[2][1] == pytest.approx(1.0)
    noisy = [(float(n), float(n % 2)) for n in range(100)]
    assert abs(smoothed(noisy, 0.97)[-1][1] - 0.5) < 0.05


VALUES = st.floats() | st.integers(-5, 5).map(float)


@given(st.lists(st.tuples(VALUES, VALUES), max_size=40), st.data())
def test_any_curve_fills_its_rows(points: list[tuple[float, float]], data: st.DataObject) -> None:
    chart = Chart(scale=data.draw(st.integers(0, 2)), smooth=data.draw(st.integers(0, 3)))
    width, height = data.draw(st.integers(40, 100)), data.draw(st.integers(5, 20))
    for _ in range(data.draw(st.integers(0, 4))):
        if data.draw(st.booleans()):
            chart.zoom_by(2.0)
        else:
            chart.shift(-7, width)
    rows = chart.draw(points, [AxisMark(1.0, "▲", "bad")], "loss", width, height)
    assert len(rows) == height
    assert all(width_of(line) <= width for line in rows)


def test_the_next_incident_is_found() -> None:
    sick = run(incidents=[incident(details={"step": 2100}), incident("b", details={"step": 3140})])
    hands = Hands(overview(sick))
    hands.draw("run")
    for step in ("2,100", "3,140", "2,100"):
        hands.press("run", "m")
        assert f"step {step}" in hands.draw("run").split("\n")[2]
    bare = Hands(overview())
    bare.press("run", "m")
    assert bare.told == ["no incident has a step on this curve"]


# ------------------------------------------------------------------------ bars and histories


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [(0.0, "░░░░"), (0.5, "██░░"), (0.6, "██▍░"), (1.0, "████"), (7.0, "████"), (None, "····")],
)
def test_bars(ratio: float | None, expected: str) -> None:
    assert bar(ratio, 4) == expected
    assert len(ascii_only(bar(ratio, 4))) == 4


def test_a_new_reading_changes_the_last_cell_of_a_history_only() -> None:
    readings = [(float(n), n % 7.0) for n in range(595)]
    before = spark(readings, 60, low=0.0, high=7.0)
    after = spark([*readings, (595.0, 7.0)], 60, low=0.0, high=7.0)
    assert len(before) == len(after) == 60
    assert before[:-1] == after[:-1]


def test_a_disk_that_fills_has_a_forecast() -> None:
    hands = Hands({})
    for second in range(0, 60, 10):
        found = overview()
        found["updated_at"] = f"2026-03-01T02:13:{second:02d}.000+01:00"
        found["box"]["disks"] = [disk("/data", free_bytes=(600 - second) * GIB)]
        hands.take(found)
    assert "full in 9 min" in hands.draw("disks", 120, 30)
    assert hands.desk.trail.empty_in("/data", "free_inodes") is None


def test_the_pace_is_what_was_seen() -> None:
    trail = Trail()
    for second in range(50):
        found = overview()
        found["updated_at"] = f"2026-03-01T02:13:{second:02d}.000+01:00"
        found["runs"][0]["now"]["step"] = 100 + 3 * second
        trail.note(found)
    rates = trail.rates("gpt-ab12")
    assert rates[-1] == pytest.approx((247.0, 3.0))
    trail.note(found)  # the same answer again adds nothing
    assert trail.rates("gpt-ab12") == rates


def test_every_key_of_a_view_does_something_and_none_has_two_meanings() -> None:
    hands = Hands(overview(run(incidents=[incident()])), answers={"incidents": []})
    hands.typed = "2h"
    for name, view in hands.views.items():
        keys = [key for one in view.own_keys() for key in one.keys.split()]
        assert len(keys) == len(set(keys)), name
        for one in view.own_keys():
            hands.draw(name)
            one.act()
            hands.draw(name)
    asked = [op for op, _ in hands.asked if op in ("ack", "silence", "rescan")]
    assert asked == ["rescan", "ack", "silence", "ack", "silence"]


def test_every_view_has_its_own_name() -> None:
    titles = [view.title for view in Hands(overview()).views.values()]
    assert len(titles) == len(set(titles))
