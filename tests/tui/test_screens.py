"""What the screens say, drawn without a terminal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.text.rows import Row, Span, plain, width_of
from middlewatch.tui import frame, lines, log_rows
from middlewatch.tui.desk import Link

from .hands import TABS, Hands
from .overview_answer import GIB, GUILTY, disk, gpu, incident, run, troubled
from .overview_answer import overview as answered

VIEWS = ("overview", "run", "gpus", "checkpoints", "incidents", "incident", "log", "disks", "coverage",
         "help", "fleet")  # fmt: skip


def draw(found: Any, width: int = 80, height: int = 24, view: str = "overview", **look: Any) -> str:
    hands = Hands(found)
    hands.desk.incident = look.pop("incident", "")
    for name, value in look.items():
        setattr(hands.views[view], name, value)
    return hands.draw(view, width, height)


def rows_of(link: Link, width: int = 80, height: int = 24) -> list[Row]:
    hands = Hands(link.answer)
    hands.desk.links[""] = link
    return frame.draw(link, hands.views["overview"], TABS, width, height)


def line_with(screen: str, word: str) -> str:
    return next(line for line in screen.split("\n") if word in line)


def tone_of(rows: list[Row], text: str) -> str:
    return next(span.tone for line in rows for span in line if text in span.text)


# ------------------------------------------------------------------------ the overview


def test_all_that_matters_is_on_one_small_screen() -> None:
    screen = draw(troubled())
    for word in (
        *("box3", "daemon up 3 h 12 min", "02:13"),
        *("gpt", "failing", "4,200/5,000", "nan", "1.25 step/s", "10 min", "vit", "stalled"),
        *("gpu0  98% 70.0G/80.0G 612W 66C", "memory  48.0G of 64.0G 75%"),
        *("free 45.0G  2% ino 97% 3.2 saves", "free  900G 45% ino –"),
        *("checkpoints 3, latest step 4,000", "ok (finite), resume from it"),
        *(" CRITICAL gpt-ab12: loss is nan since step 4200 (3 min; +1 more)", "w: open it"),
        *("you would lose 200 steps, 12 min (save of step 4,000)", "Do: stop the run and resume"),
        *("2 open, 1 critical", "CRITICAL nan_loss", "warning  stall"),
        *("blind    nvml stalled 3 min: no answer", "not here kernel_log"),
        *(f"! {GUILTY}", "q quit", "? help"),
    ):
        assert word in screen


@pytest.mark.parametrize(
    "size", [(40, 12), (45, 20), (45, 60), (60, 20), (80, 24), (100, 30), (140, 40), (200, 60)]
)
@pytest.mark.parametrize("view", VIEWS)
def test_every_size_is_filled_exactly(size: tuple[int, int], view: str) -> None:
    for found in (troubled(), answered(gpus=8), answered(gpus=16), {}):
        screen = draw(found, *size, view=view, incident="a1b2")
        assert "q quit" in screen


@pytest.mark.parametrize("size", [(39, 24), (80, 11), (10, 5), (1, 1), (0, 0)])
def test_a_window_too_small_says_so(size: tuple[int, int]) -> None:
    rows = rows_of(Link(troubled()), *size)
    assert len(rows) == size[1]
    if size[0] >= 40:
        assert "make the window larger" in plain(rows)


def test_no_run_says_what_to_type() -> None:
    screen = draw({**answered(), "runs": []})
    assert "middlewatch watch" in screen
    assert "middlewatch run -- CMD" in screen
    assert "gpu0" in screen


def test_before_the_first_answer_it_says_what_to_do() -> None:
    link = Link(
        None, 12.0, True, "no daemon answers on /run/mw.sock", "start it: middlewatch start"
    )
    screen = plain(rows_of(link))
    assert "no answer yet (12 s)" in screen
    assert "middlewatch start" in screen


def test_an_old_answer_stays_with_its_age() -> None:
    rows = rows_of(Link(troubled(), 12.0, True, "refused"))
    assert "no answer for 12 s: refused" in plain(rows[:1])
    assert tone_of(rows, "no answer for 12 s") == "alert"
    assert "last 02:13" in plain(rows[:1])
    assert "CRITICAL nan_loss" in plain(rows)


def test_a_loss_that_is_no_number_is_marked() -> None:
    rows = rows_of(Link(troubled()))
    assert tone_of(rows, "        nan") == "bad"
    assert "4×" in plain(rows)
    assert tone_of(rows, "×") == "bad"


def test_of_many_gpus_the_odd_ones_are_named() -> None:
    found = answered(gpus=16)
    found["box"]["gpus"][5] = gpu(5, lost=True)
    found["box"]["gpus"][9] = gpu(9, throttle=["hw_thermal"])
    screen = draw(found)
    assert "16 gpus" in screen
    assert "gpu5 LOST" in screen
    assert "gpu9" in screen
    assert "gpu3" not in screen


def test_eight_gpus_have_a_row_each_on_a_quiet_screen() -> None:
    screen = draw(answered(gpus=8))
    assert all(f"gpu{n} " in screen for n in range(8))


def test_what_a_gpu_does_not_tell_is_not_zero() -> None:
    found = answered(gpus=1)
    found["box"]["gpus"][0] = {"index": 0, "util_ratio": None, "age_s": 95.0}
    assert "gpu0    –     –/–    –   – –" in draw(found)
    assert "1 min ago" in draw(found)


def test_disks_say_when_the_next_save_fails() -> None:
    found = answered()
    found["box"]["disks"] = [
        disk("/", free_bytes=60 * GIB),
        disk("/data/checkpoints", saves_left=1.4),
        disk("/nfs", read_only=True),
    ]
    rows = rows_of(Link(found), 100, 30)
    text = plain(rows)
    assert text.index("saves") < text.index("/ ")
    assert tone_of(rows, "1.4 saves") == "bad"
    assert "READ-ONLY" in text
    assert tone_of(rows, " 3%") == "warn"


def test_memory_without_a_limit_says_so() -> None:
    found = answered()
    found["box"]["memory"].update(limit_bytes=None, oom_kills=2)
    assert "memory  48.0G, no limit 2 OOM kills" in draw(found)


def test_how_a_run_ended() -> None:
    died = run(state="failed", state_reason="", exit={"code": None, "signal": 9}, ended_at="x")
    assert "failed for 3 h, ended by signal 9" in draw(answered(died))
    left = run(state="finished", exit={"code": 0, "signal": None})
    assert "exit code 0" in draw(answered(left))


def test_nothing_to_resume_from_is_said() -> None:
    found = answered()
    held = found["runs"][0]["checkpoints"]
    held["resume_from"] = None
    held["latest"].update(state="corrupt", level="checksum")
    assert "corrupt, none to resume from" in draw(found)
    assert "corrupt (checksum), none to resume from" in draw(found, 120)
    found["runs"][0]["checkpoints"] = {"count": 0, "latest": None}
    assert "checkpoints none seen yet" in draw(found)


def test_troubles_of_the_watch_itself_are_shown() -> None:
    daemon = {
        "uptime_s": 5.0,
        "alert_trouble": "ntfy: 401",
        "store_trouble": "disk full",
        "alert_urls": 0,
    }
    screen = draw(answered(daemon=daemon), height=40)
    assert "alerts are not delivered: ntfy: 401" in screen
    assert "not kept on disk: disk full" in screen
    assert "no push is sent: no alert URL is configured" in screen


def test_blind_sources_without_room_are_counted() -> None:
    watch = [{"source": f"disk{n}", "state": "failed", "detail": "EIO"} for n in range(5)]
    assert line_with(draw(answered(watch=watch)), "disk1").endswith("+3 more")


def test_runs_that_live_come_first() -> None:
    old = run("old-1", ended_at="2026-03-01T00:00:00Z", state="finished")
    screen = draw(answered(old, run("new-2")))
    assert screen.index("> new") < screen.index("  old")


def test_a_guilty_line_out_of_sight_is_announced() -> None:
    sick = run(incidents=[incident()])
    sick["log_tail"][2] = GUILTY
    assert "1 marked out of sight" in line_with(draw(answered(sick)), " Log ")
    assert f"! {GUILTY}" in draw(answered(sick), height=60, view="log")


def test_short_evidence_does_not_mark_half_the_log() -> None:
    sick = run(incidents=[incident(evidence=[{"kind": "log", "text": "step"}])])
    assert log_rows.guilty_lines(sick, sick["log_tail"]) == set()


# ------------------------------------------------------------------------ the other screens


def test_an_incident_has_its_evidence_and_its_first_step() -> None:
    screen = draw(troubled(), view="incident", incident="a1b2")
    for word in (
        *(
            "CRITICAL",
            "loss is nan since step 4200",
            "opened     2026-03-01 02:10:00  3 min ago",
            "reported   7 times",
            "alerted    2026-03-01 02:10:02  2 min ago",
        ),
        *("fp16 overflow", "First step (safe)", "resume from the last verified checkpoint"),
        *("log        02:10:00 " + GUILTY, "gpu                 gpu0 at 98 %, 612 W"),
        "middlewatch ack a1b2",
    ):
        assert word in screen


def test_a_costly_step_says_so() -> None:
    one = incident(remedy={"first_step": "move the run", "safe": False}, alerted_at=None)
    screen = draw(answered(run(incidents=[one])), view="incident", incident="a1b2")
    assert "costly" in screen
    assert "not pushed yet" in screen


def test_an_incident_resolved_meanwhile_is_not_replaced_by_another() -> None:
    assert "no longer open" in draw(troubled(), view="incident", incident="gone")


def test_long_evidence_scrolls_to_its_end_and_not_beyond() -> None:
    one = incident(evidence=[{"kind": "stack", "text": "\n".join(f"frame {n}" for n in range(60))}])
    hands = Hands(answered(run(incidents=[one])))
    hands.desk.incident = "a1b2"
    hands.draw("incident")
    hands.views["incident"].move(54)
    assert "frame 59" in hands.draw("incident")
    hands.views["incident"].jump(True)
    hands.draw("incident")
    assert hands.views["incident"].scroll < 100  # type: ignore[attr-defined]


# ------------------------------------------------------------------------ odd data


def test_chinese_and_control_characters_stay_in_their_cells() -> None:
    odd = run(
        name="训练任务一号非常长的名字",
        log_tail=["损失 2.31 \x1b[2J\x1b]0;owned\x07", "\x1b[31mred\x1b[0m\x00", "进度" * 200],
        state_reason="\x1b[5m步数停止",
    )
    screen = draw(answered(odd))
    assert "\x1b" not in screen
    assert "损失 2.31" in screen
    assert "owned" not in screen


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.sampled_from(["nan", "x" * 90, "\x1b[2J"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(st.data())
def test_any_field_may_be_missing_or_wrong(data: st.DataObject) -> None:
    found: Any = troubled()
    for _ in range(3):
        place: Any = found
        while True:
            keys = list(place) if isinstance(place, dict) else range(len(place))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if isinstance(place[key], (dict, list)) and place[key] and data.draw(st.booleans()):
                place = place[key]
                continue
            place[key] = data.draw(JSON)
            break
    for view in VIEWS:
        assert "\x1b" not in draw(found, view=view, incident="a1b2")
        draw(found, 45, 16, view=view, incident="a1b2")


# ------------------------------------------------------------------------ damage


def test_only_what_changed_is_damaged() -> None:
    old = [(Span("step 41"), Span(" running", "good")), (Span("same"),)]
    new = [(Span("step 42"), Span(" running", "good")), (Span("same"),)]
    assert [tuple(r) for r in lines.damage(old, new)] == [(6, 0, 1, 1)]
    assert lines.damage(old, old) == []


def test_what_stands_between_two_changes_is_not_damaged_where_it_is_long() -> None:
    old = [(Span("step 41"), Span(" running since noon "), Span("loss 2.0"))]
    new = [(Span("step 42"), Span(" running since noon "), Span("loss 1.9"))]
    assert [tuple(r) for r in lines.damage(old, new)] == [(6, 0, 1, 1), (32, 0, 3, 1)]


def test_a_change_of_tone_alone_is_damage() -> None:
    assert [tuple(r) for r in lines.damage([(Span("ab"),)], [(Span("ab", "bad"),)])] == [
        (0, 0, 2, 1)
    ]


CELLS = st.lists(
    st.builds(Span, st.text(st.sampled_from("ab中文"), max_size=5), st.just("")), max_size=3
)


@given(CELLS, CELLS)
def test_repainting_the_damage_makes_the_new_row(old: list[Span], new: list[Span]) -> None:
    before, after = tuple(old), tuple(new)
    regions = lines.damage([before], [after])
    width = max(width_of(before), width_of(after))

    def cells(row: Row) -> list[str]:
        found = [
            c for span in row for ch in span.text for c in ([ch, ""] if ch in "中文" else [ch])
        ]
        return found + [" "] * (width - len(found))

    was, now = cells(before), cells(after)
    for region in regions:
        was[region.x : region.right] = now[region.x : region.right]
    assert was == now
