"""Which run and which trouble comes first, what is folded, and what is said of a run that stands still."""

from __future__ import annotations

from typing import Any

from middlewatch.tui import answer, order

from .hands import Hands
from .overview_answer import incident, overview, run, troubled


def ids(listed: list[Any]) -> list[str]:
    return [answer.text(one, "run") for one in listed]


def test_the_worst_run_comes_first_however_old_it_is() -> None:
    fine = run("new-1", started_at="2026-03-01T02:00:00+01:00")
    warned = run("warned-2", incidents=[incident("w", "warning")])
    sick = run("sick-3", state="failing", incidents=[incident("c")])
    over = run("over-4", state="failed", ended_at="2026-03-01T00:00:00Z", incidents=[incident("d")])
    done = run("done-5", state="finished", ended_at="2026-03-01T00:00:00Z")
    found = overview(done, fine, over, warned, sick)
    assert ids(order.runs(found)) == ["sick-3", "over-4", "warned-2", "new-1", "done-5"]
    assert "> sick" in Hands(found).draw("overview")


def test_what_is_acknowledged_makes_room_for_what_is_new() -> None:
    taken = run("taken-1", incidents=[incident("a", state="acknowledged")])
    fresh = run("fresh-2", incidents=[incident("b", "warning")])
    assert ids(order.runs(overview(taken, fresh))) == ["fresh-2", "taken-1"]


def test_a_selected_run_stays_selected_when_another_gets_worse() -> None:
    hands = Hands(overview(run("a-1"), run("b-2")))
    hands.desk.run = "a-1"
    hands.take(overview(run("a-1"), run("b-2", state="failing", incidents=[incident()])))
    assert "> a " in hands.draw("overview")


def test_equal_incidents_of_a_box_are_one_row() -> None:
    runs = [
        run(
            f"gpt-{n}",
            incidents=[incident(f"i{n}", run=f"gpt-{n}", summary=f"/data is full: {n} GiB left")],
        )
        for n in range(7)
    ]
    hands = Hands(overview(*runs))
    screen = hands.draw("overview")
    assert "7× 7 runs: /data is full" in screen
    assert screen.count("is full") == 2  # the first row of the screen, and one in the list
    assert "7 open, 7 critical" in screen
    hands.press("incidents", "f")
    assert hands.draw("incidents").count("is full") == 7


def test_an_incident_of_several_runs_is_told_once() -> None:
    both = incident(runs=["a-1", "b-2"])
    found = overview(run("a-1", incidents=[both]), run("b-2", incidents=[both]))
    assert len(order.incidents(found)) == 1


def test_what_stands_still_has_no_pace_and_no_end() -> None:
    screen = Hands(overview(run(state="stalled"))).draw("overview")
    assert "step/s" not in screen
    assert "11 min" not in screen
    nan = run(state="failing")
    assert "1.25 step/s" in Hands(overview(nan)).draw("overview")
    nan["now"]["eta"] = None  # the daemon expects no end: it stands
    assert "step/s" not in Hands(overview(nan)).draw("overview")


def test_the_worst_incident_comes_first_and_resolved_ones_not_at_all() -> None:
    sick = run(
        incidents=[
            incident("w", "warning"),
            incident("old", opened_at="2026-03-01T02:00:00+01:00"),
            incident("new", opened_at="2026-03-01T02:09:00+01:00"),
            incident("gone", state="resolved"),
        ]
    )
    assert [one["id"] for one in order.incidents(overview(sick))] == ["new", "old", "w"]


def test_what_would_be_lost() -> None:
    found = overview()
    assert "you would lose 200 steps, 12 min (save of step 4,000)" in Hands(found).draw("overview")
    held = found["runs"][0]["checkpoints"]
    held["durability"] = {"survives_destroy": False}
    assert "the save goes with the box" in Hands(found).draw("overview", 120, 30)
    held.update(resume_from="/data/gpt/out/ckpt_3000.pt")
    assert "what came after ckpt_3000.pt" in Hands(found).draw("overview")
    held.update(resume_from=None)
    assert "you would lose all 4,200 steps: no good checkpoint" in Hands(found).draw("overview")
    found["runs"][0].update(state="failed", ended_at="2026-03-01T02:00:00+01:00")
    assert "gpt ended: lost all 4,200 steps" in Hands(found).draw("overview")
    found["runs"][0].update(state="finished")
    assert "gpt is finished; no good checkpoint" in Hands(found).draw("overview")


def test_a_power_cap_is_routine_and_heat_is_not() -> None:
    found = overview(gpus=8)
    for gpu in found["box"]["gpus"]:
        gpu["throttle"] = ["sw_power_cap"]
    assert "slow:" not in Hands(found).draw("overview")
    assert "lost or slowed" not in Hands(found).draw("gpus")
    found["box"]["gpus"][6]["throttle"] = ["sw_power_cap", "hw_thermal"]
    assert "slow: hw_thermal" in Hands(found).draw("overview", 140, 40)
    screen = Hands(found).draw("gpus", 120, 30)
    assert "1 lost or slowed" in screen
    assert "> gpu6" in screen
    assert "too hot: the hardware has cut the clock" in screen
    assert "at its power limit (routine)" in screen


def test_who_uses_a_gpu() -> None:
    found = overview(
        run("gpt-1", gpus=[0]), run("vit-2", gpus=None), run("old-3", gpus=[0], ended_at="x")
    )
    hands = Hands(found)
    screen = hands.draw("gpus", 100, 30)
    assert "gpt-1: 2 processes" in screen
    assert "vit-2: 2 processes  (not known which GPUs it uses)" in screen
    assert "old-3" not in screen
    hands.views["gpus"].move(1)
    assert "gpt-1" not in hands.draw("gpus", 100, 30)
    found["runs"][1]["gpus"] = [0]
    assert "used by    no run that is watched" in hands.draw("gpus", 100, 30)


def test_moving_keeps_to_what_there_is() -> None:
    hands = Hands(troubled())
    view = hands.views["overview"]
    view.move(1)
    assert hands.desk.run == "vit-cd34"
    view.move(10)
    assert hands.desk.run == "vit-cd34"
    view.jump(False)
    assert hands.desk.run == "gpt-ab12"
    empty = Hands({})
    for name in empty.views:
        empty.views[name].move(1)
        empty.views[name].jump(True)
        empty.views[name].enter()
        empty.draw(name)


def test_no_box_that_is_silent_hides_a_critical_one() -> None:
    from middlewatch.tui.desk import Link

    hands = Hands(overview())
    hands.desk.links = {
        "well": Link(overview()),
        "dead": Link(None, 40.0, True, "Connection refused"),
        "sick": Link(overview(run(state="failing", incidents=[incident()]))),
        "late": Link(overview(), 90.0, True, "timed out"),
    }
    screen = hands.draw("fleet", 100)
    rows = [line.split()[0].strip(">") or line.split()[1] for line in screen.split("\n")[2:6]]
    assert rows == ["sick", "late", "dead", "well"]
    assert "no answer for 40 s" in screen
    assert "Connection refused" in screen
    assert "4, 2 without an answer" in screen
    hands.views["fleet"].enter()
    assert (hands.desk.box, hands.opened) == ("sick", ["overview"])
