"""Runs that live and do not get on; and the many healthy reasons for silence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from middlewatch.sentinels.hang import Limits
from middlewatch.sentinels.kit import Finding, LineSigns, ProcessesSeen, Severity
from middlewatch.sentinels.kit.pace.announced_pause import goes_on_at, pause_s
from middlewatch.sentinels.kit.pace.work import work_of

from .story import MIB, Story, sample, samples


def told(story: Story) -> Finding:
    (finding,) = story.asks("hang")
    return finding


def first_told(story: Story, most_s: int, *processes: object) -> tuple[float, Finding]:
    """Seconds of doing nothing until it is told."""
    begin = story.now
    for _ in range(most_s):
        found = story.idle(1, *processes).asks("hang")  # type: ignore[arg-type]
        if found:
            return story.now - begin, found[0]
    raise AssertionError(f"nothing was told in {most_s} s")


# -- hangs -------------------------------------------------------------------------------------


def test_steps_that_cannot_be_seen_are_not_missed(story: Story) -> None:
    story.train(60).idle(90)
    assert len(story.asks("hang")) == 1
    story.source("log_tail:/far/a.log", "stalled", 80)
    assert story.asks("hang") == []
    assert story.idle(3600).asks("hang") == []


def test_a_deadlock_is_told_at_the_limit(story: Story) -> None:
    after_s, finding = first_told(story.train(60), 90)
    assert after_s == 50
    assert (finding.trouble, finding.severity, finding.key) == (
        "hang",
        Severity.CRITICAL,
        "progress",
    )
    assert finding.fatal
    assert finding.summary == (
        "no progress since step 60 for 50 s (usual limit 50 s, 50 steps); "
        "the run does nothing at all"
    )
    assert finding.details == {
        "verdict": "idle",
        "silent_s": 50.0,
        "limit_s": 50.0,
        "cores": 0.0,
        "pid": 100,
    }


def test_the_limit_follows_the_pace_of_the_run(story: Story) -> None:
    after_s, _ = first_told(story.train(60, 30), 120)
    assert after_s == pytest.approx(3 * 30, abs=1)


def test_it_stays_the_same_trouble(story: Story) -> None:
    first = told(story.train(60).idle(80, *samples()))
    again = told(story.idle(60))
    assert (again.key, again.severity, again.trouble) == (first.key, first.severity, first.trouble)


def test_ranks_and_where_they_wait_are_the_evidence(story: Story) -> None:
    ranks = [sample(pid=200 + n, rank=n, wchan="futex_wait_queue") for n in range(8)]
    finding = told(story.train(60).idle(80, sample(wchan="0"), *ranks))
    lines = [e.text for e in finding.evidence]
    assert lines[0] == "0.00 cores and 0 KiB/s read and written over 16 s"
    assert lines[1] == "pid 200 rank 0 python: state S in futex_wait_queue, 9 s CPU so far"
    assert len(lines) == 7


def test_a_tracker_that_talks_on_does_not_hide_it(story: Story) -> None:
    story.train(60).lives(80, 0.005, 4096)
    assert told(story).severity is Severity.CRITICAL


def test_where_bytes_cannot_be_read(story: Story) -> None:
    story.train(60).lives(80, 0.0, None)
    assert "0.00 cores and unknown bytes read" in told(story).evidence[0].text


def test_a_process_that_waits_for_a_dead_mount_is_told_elsewhere(story: Story) -> None:
    assert story.train(60).idle(80, *samples("D")).asks("hang") == []


def test_a_gpu_that_waits_for_another_one(story: Story) -> None:
    """A hung collective shows full utilisation at a part of the usual draw."""
    for _ in range(60):
        story.step().gpu(power_w=600.0)
    for _ in range(400):
        story.idle(1).gpu(power_w=150.0)
        story.gpus[0] = story.gpus[0][-120:]
        assert len(story.asks("hang")) == (story.now - story.marks[-1][0] >= 50)
    assert told(story).severity is Severity.CRITICAL


def test_finished_and_not_exiting_is_told_elsewhere(story: Story) -> None:
    assert story.train(60, total=60).idle(80).asks("hang") == []
    assert Story().train(60).phase("done").idle(80).asks("hang") == []


def test_hardly_anything_is_a_warning_at_four_times_the_limit(story: Story) -> None:
    story.train(60).lives(199, 0.1, 0.0)
    assert story.asks("hang") == []
    finding = told(story.lives(20, 0.1, 0.0))
    assert (finding.severity, finding.fatal) == (Severity.WARNING, False)
    assert "hardly does anything" in finding.summary


ASLEEP = {"wchan": "hrtimer_nanosleep", "switches": 812}


def test_a_pause_that_the_program_has_set_is_its_own(story: Story) -> None:
    after_s, finding = first_told(story.train(60), 2000, sample(**ASLEEP))
    assert after_s == 1800
    assert finding.severity is Severity.WARNING
    assert "sleeps for a time that it has set itself" in finding.summary


def test_short_sleeps_in_a_loop_are_none(story: Story) -> None:
    story.train(60).idle(50)
    for turn in range(40):  # it polls for something that does not come
        story.idle(1, sample(**{**ASLEEP, "switches": 812 + turn}))
    assert told(story).severity is Severity.CRITICAL


@pytest.mark.parametrize(("said_s", "wchan", "told_s"), [
    (600.0, "hrtimer_nanosleep", 600), (600.0, "futex_wait_queue", 50), (0.0, "hrtimer_nanosleep", 50),
])  # fmt: skip
def test_a_later_time_in_the_last_line_is_when_it_goes_on(
    story: Story, said_s: float, wchan: str, told_s: float
) -> None:
    """``DURAKLATILDI, 20:25:08 saatinde devam edilecek``: in any language, and only for who sleeps."""
    story.train(60).grow()
    signs = LineSigns(goes_on_at=story.at + said_s if said_s else 0.0)
    story.logs[story.file] = replace(story.logs[story.file], signs=signs)
    story.seen(story.logs[story.file])
    for second in range(1, 700):
        story.idle(1, sample(wchan=wchan, switches=second))
        if story.asks("hang"):
            break
    assert told_s <= second <= told_s + 20


def test_who_sleeps_between_tries_waits_for_something(story: Story) -> None:
    story.train(60)
    for tries in range(1, 7):
        story.grow().idle(15, sample(**ASLEEP))
        signs = LineSigns(
            complaints=tries, complaint_at=story.at, complaint="no answer, again in 15 s"
        )
        story.logs[story.file] = replace(story.logs[story.file], signs=signs)
        story.seen(story.logs[story.file])
    finding = told(story)
    assert finding.severity is Severity.CRITICAL
    assert "only waits and tries again; its log complains 6 times meanwhile" in finding.summary


def test_one_that_sleeps_after_an_error_has_given_up(story: Story) -> None:
    story.train(60).says("python_exception", exception="KeyError")
    assert told(story.idle(90, sample(**ASLEEP))).severity is Severity.CRITICAL


def test_a_rank_that_sleeps_does_not_speak_for_the_others(story: Story) -> None:
    ranks = [
        sample(pid=201, rank=0, wchan="futex_wait_queue", switches=5),
        sample(pid=202, rank=1, **ASLEEP),
    ]
    assert told(story.train(60).idle(90, sample(wchan="0"), *ranks)).severity is Severity.CRITICAL


def test_before_the_first_step(story: Story) -> None:
    after_s, finding = first_told(story, 1900)
    assert after_s == 1800
    assert "no progress since the start for 30 min" in finding.summary


def test_reports_without_a_step_are_signs_of_life(story: Story) -> None:
    for _ in range(40):
        story.idle(60).step(0.0, number=None, train_loss=2.0)
        assert story.idle(16).asks("hang") == []
    after_s, finding = first_told(story, 300)
    assert after_s == pytest.approx(3 * 76 - 16, abs=2)
    assert finding.summary.startswith("no progress since the last report for 4 min")


# -- healthy silence ---------------------------------------------------------------------------


def test_an_evaluation_of_ninety_seconds_burns_cpu(story: Story) -> None:
    story.train(60)
    for _ in range(90):
        assert story.lives(1, 0.99, 0.0).asks("hang") == []
    assert story.step().asks("hang") == []


def test_an_evaluation_that_sleeps_but_was_announced(story: Story) -> None:
    story.train(60).phase("evaluate")
    for _ in range(9):
        assert story.idle(100).asks("hang") == []


def test_an_evaluation_that_only_its_result_tells(story: Story) -> None:
    """Every ten reports comes one, which takes its time and says nothing before."""
    story.train(10, number=None).idle(70).step(number=None, train_loss=None, eval_loss=1.6)
    story.train(10, number=None)
    assert story.idle(90).asks("hang") == [], "it took 70 s before"
    assert told(story.idle(40)).severity is Severity.CRITICAL


def test_between_evaluations_their_length_is_no_limit(story: Story) -> None:
    story.train(40, number=None).idle(70).step(number=None, train_loss=None, eval_loss=1.6)
    story.train(12, number=None)
    assert told(story.idle(70)).severity is Severity.CRITICAL


def test_a_pause_lasts_as_long_as_the_log_said(story: Story) -> None:
    story.train(60).phase("pause", "10:02:59 pausing on purpose for 5 min")
    assert story.idle(340).asks("hang") == []
    (finding,) = story.idle(60).asks("hang")
    assert "(pause announced)" in finding.summary


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10:02:59 pausing on purpose for 80 s, on at 10:04:19", 80.0),
        ("sleeping for 1.5 hours", 5400.0),
        ("cooldown of 2 min", 120.0),
        ("显卡过热，暂停 90 秒", 90.0),
        ("waiting 100 h", 6 * 3600.0),
        ("waiting for rank 3", 0.0),
    ],
)
def test_the_length_of_a_pause(text: str, seconds: float) -> None:
    assert pause_s(text) == seconds


def test_phases_are_learned(story: Story) -> None:
    for _ in range(3):
        story.train(60).phase("evaluate").idle(400)
    story.train(60).phase("evaluate")
    after_s, finding = first_told(story, 700)
    assert after_s == pytest.approx(1.5 * 401, abs=1.5)
    assert "(evaluate announced)" in finding.summary


def test_a_phase_has_at_least_five_minutes(story: Story) -> None:
    for _ in range(5):
        story.train(20).phase("save").idle(2)
    story.train(20).phase("save")
    after_s, _ = first_told(story, 400)
    assert after_s == 300


def test_a_phase_before_the_last_step_announces_nothing(story: Story) -> None:
    story.train(60).phase("save").train(3)
    after_s, _ = first_told(story, 90)
    assert after_s == 50
    story = Story().phase("save").train(9).phase("start").train(60, 0.0).phase("start")
    assert first_told(story, 90)[0] == 50, "all of it was read at one instant"


def test_a_long_checkpoint_write_moves_bytes(story: Story) -> None:
    story.train(60).lives(600, 0.02, 30 * MIB)
    assert story.asks("hang") == []
    story.lives(60, 0.0, 30 * MIB, *samples("D"))
    assert story.asks("hang") == [], "writers are in state D most of the time"


def test_a_checkpoint_that_grows(story: Story) -> None:
    story.train(60).idle(300)
    assert story.asks("hang", saving_at=story.now - 5) == []
    assert len(story.asks("hang", saving_at=story.now - 50)) == 1


def test_a_checkpoint_that_was_saved_is_progress(story: Story) -> None:
    story.train(60).idle(40).saved().idle(40)
    assert story.asks("hang") == []
    assert len(story.idle(30).asks("hang")) == 1


def test_a_log_that_grows_without_steps(story: Story) -> None:
    story.train(60)
    for _ in range(60):
        assert story.idle(10).grow().asks("hang") == []


def test_stdout_in_blocks(story: Story) -> None:
    """Steps arrive in bursts, 4 KiB at a time; meanwhile the processes work."""
    for _ in range(6):
        story.lives(90, 0.4, 2000.0)
        assert story.asks("hang") == []
        story.train(50, 0.0)
    story.idle(130)
    assert story.asks("hang") == [], "the bursts are its pace: 1.5 of their pauses"


def test_a_log_that_turns_from_every_step_to_every_five_hundredth(story: Story) -> None:
    story.train(100).idle(45, *samples("R")).step(0.0, by=500).idle(500).step(0.0, by=500)
    assert story.idle(600).asks("hang") == []


def test_a_busy_gpu(story: Story) -> None:
    story.train(60)
    for _ in range(200):
        story.idle(1).gpu()
    assert story.asks("hang") == []
    for _ in range(15):
        story.idle(1).gpu(util_ratio=0.0, power_w=90.0)
    assert len(story.asks("hang")) == 1


OTHER = 4711


def beside_another(story: Story, shares: Any) -> Story:
    """A silent run on a card that a neighbour keeps busy: 99 % and 695 W were seen on an H100."""
    story.train(60)
    for _ in range(100):
        story.idle(1).gpu(util_ratio=0.99, power_w=695.0, pids=(100, OTHER), shares=shares)
    return story


@pytest.mark.parametrize("shares", [((OTHER, 0.99),), (), None])
def test_a_card_that_a_neighbour_keeps_busy(story: Story, shares: Any) -> None:
    assert told(beside_another(story, shares)).severity is Severity.CRITICAL


def test_its_own_part_of_a_shared_card(story: Story) -> None:
    assert beside_another(story, ((100, 0.5), (OTHER, 0.5))).asks("hang") == []


@pytest.mark.parametrize("pids", [(100,), (OTHER, OTHER + 1), (), None])
def test_a_card_that_nobody_else_is_known_to_use(story: Story, pids: Any) -> None:
    """The driver may know a process under another number than we: in a container."""
    story.train(60)
    for _ in range(100):
        story.idle(1).gpu(util_ratio=0.99, power_w=695.0, pids=pids)
    assert story.asks("hang") == []


@pytest.mark.parametrize("unknown", ["power_w", "power_limit_w"])
def test_a_busy_gpu_whose_draw_tells_nothing(story: Story, unknown: str) -> None:
    story.train(60)
    for _ in range(100):
        story.idle(1).gpu(0, **{unknown: None})
    assert story.asks("hang") == []


def test_a_gpu_that_tells_no_utilisation_is_no_evidence(story: Story) -> None:
    story.train(60)
    for _ in range(100):
        story.idle(1).gpu(util_ratio=None)
    assert len(story.asks("hang")) == 1


def test_work_without_steps_is_noted_after_half_an_hour(story: Story) -> None:
    story.train(60).lives(1799, 1.0, 0.0)
    assert story.asks("hang") == []
    finding = told(story.lives(20, 1.0, 0.0))
    assert (finding.severity, finding.fatal) == (Severity.INFO, False)


def test_the_first_steps_have_more_time(story: Story) -> None:
    after_s, _ = first_told(story.train(5), 400)
    assert after_s == 300


def test_a_watch_that_was_away(story: Story) -> None:
    story.train(60).wait(600).idle(40)
    assert story.asks("hang", gap_s=40.0) == []
    assert len(story.idle(30).asks("hang", gap_s=80.0)) == 1


def test_a_stopped_process_is_told_elsewhere(story: Story) -> None:
    assert story.train(60).idle(80, *samples("T")).asks("hang") == []


def test_a_run_that_ended_and_an_old_log(story: Story) -> None:
    assert len(story.train(60).idle(80).asks("hang")) == 1
    assert story.replayed().asks("hang") == []
    story.live = True
    assert story.end(0).asks("hang") == []


# -- evidence ----------------------------------------------------------------------------------


def test_no_evidence_no_verdict(story: Story) -> None:
    assert story.train(60).wait(600).asks("hang") == []
    story.looks = [ProcessesSeen(story.now - 2, samples()), ProcessesSeen(story.now, samples())]
    assert story.asks("hang") == [], "two looks are too few"
    story.looks.insert(0, ProcessesSeen(story.now - 3, samples()))
    assert story.asks("hang") == [], "three looks in three seconds are too short"
    story.looks.insert(0, ProcessesSeen(story.now - 15, samples()))
    assert len(story.asks("hang")) == 1
    story.looks.append(ProcessesSeen(story.now, ()))
    assert story.asks("hang") == [], "nobody is left"


def test_one_look_at_bytes_tells_no_rate(story: Story) -> None:
    story.train(60).lives(80, 0.0, None)
    story.looks[-3] = ProcessesSeen(story.looks[-3].at, samples(write_bytes=10**9))
    assert story.asks("hang") == []


def test_a_worker_that_ends_does_not_hide_the_bytes_of_others(story: Story) -> None:
    story.train(60).wait(90)
    worker = sample(pid=300, read_bytes=10**12, write_bytes=0)
    for second in range(16):
        writer = sample(read_bytes=0, write_bytes=2 * MIB * second)
        alive = (writer, worker) if second < 8 else (writer,)
        story.wait(1).looks.append(ProcessesSeen(story.now, alive))
    assert story.asks("hang") == []


def test_a_process_that_starts_in_the_window_counts_with_all_it_did(story: Story) -> None:
    story.train(60).idle(80)
    fresh = (sample(read_bytes=0, write_bytes=0), sample(pid=301, cpu_s=8.0))
    story.looks[-1] = ProcessesSeen(story.now, fresh)
    assert story.asks("hang") == [], "half a core"


def test_settings(story: Story) -> None:
    story.train(60).idle(30)
    assert len(story.asks("hang", Limits(floor_s=10))) == 1
    assert story.asks("hang", Limits(floor_s=10, evidence_s=26)) == []


def test_a_process_that_wants_a_cpu_and_gets_little_of_it_is_no_hang(story: Story) -> None:
    """A neighbour takes the cores: half of the looks find it runnable, at 0.1 of a core."""
    story.train(60)
    for _ in range(100):
        story.lives(1, 0.1, 0.0, *samples()).lives(1, 0.1, 0.0, *samples("R"))
    assert story.asks("hang") == []


def test_a_crowded_moment_does_not_make_a_working_run_idle(story: Story) -> None:
    story.train(60).lives(240, 0.25, 0.0)
    for _ in range(20):
        assert story.lives(1, 0.1, 0.0).asks("hang") == []
    story = Story().train(60).lives(240, 0.1, 0.0, *samples("R")).lives(20, 0.1, 0.0)
    assert story.asks("hang") == []


def test_a_compiler_that_has_just_ended_has_worked() -> None:
    """Its last second was the last of many, and the trainer has not had its turn yet."""
    begin = 1000.0
    looks = [
        ProcessesSeen(
            begin + second,
            (
                sample(pid=100, cpu_s=9.0),
                *((sample(pid=200, name="cc1plus", cpu_s=60.0 + second),) if second < 14 else ()),
            ),
        )
        for second in range(17)
    ]
    work = work_of(looks, begin + 16, 15.0)
    assert work is not None
    assert work.cores == pytest.approx(13 / 16)
    assert [d.sample.pid for d in work.doing] == [100]


def test_nothing_after_the_exception_of_a_thread(story: Story) -> None:
    """A run without known steps would be given half an hour."""
    story.grow().idle(40)
    story.says(
        "python_exception",
        "ValueError: could not convert string to float: 'n/a'",
        role="confirmation",
        severity="info",
        fatal=False,
        exception="ValueError",
    )
    assert story.idle(45, *samples()).asks("hang") == []
    (finding,) = story.idle(30, *samples()).asks("hang")
    assert finding.trouble == "hang"
    assert "ValueError" in finding.summary


def test_an_exception_that_says_all_gives_the_class(story: Story) -> None:
    """A worker could not share its batch, and the others wait for it."""
    story.train(60)
    text = "RuntimeError: unable to allocate shared memory(shm) for file </torch_15>: No space left on device (28)"
    story.says("shm_exhausted", text, exception="RuntimeError", message=text[14:])
    (finding,) = story.idle(60, *samples()).asks("hang")
    assert (finding.trouble, finding.severity) == ("shm_exhausted", Severity.CRITICAL)
    assert "no progress since step 60" in finding.summary
    assert "shared memory" in finding.summary


@pytest.mark.parametrize(("signal", "told"), [(9, True), (15, False)])
def test_nothing_after_a_worker_was_killed(story: Story, signal: int, told: bool) -> None:
    """A pool waits for ever for what its dead worker had in hand."""
    story.grow().idle(40).grow().end(signal=signal, main=False, pid=200)
    assert story.idle(45, *samples()).asks("hang") == []
    assert bool(story.idle(30, *samples()).asks("hang")) is told


def test_a_thread_that_ends_while_the_log_goes_on(story: Story) -> None:
    story.grow().idle(40)
    story.says(
        "python_exception", role="confirmation", severity="info", fatal=False, exception="KeyError"
    )
    story.idle(20).grow()
    assert story.idle(90, *samples()).asks("hang") == []


def test_the_last_step_of_an_epoch_is_not_the_end(story: Story) -> None:
    for epoch in (1.0, 2.0, 3.0):
        for n in range(20):
            story.step(number=n + 1.0, total=20.0, epoch=epoch)
    assert told(story.idle(90)).severity is Severity.CRITICAL


def test_the_result_of_an_evaluation_is_a_sign_of_progress(story: Story) -> None:
    """It repeats the step that it is about, minutes after it: not the moment to tell a silence."""
    story.train(30).phase("evaluate").idle(300)
    assert story.asks("hang") == []
    story.step(number=story.number, train_loss=None, eval_loss=1.6)
    assert story.asks("hang") == []
    assert story.idle(40).asks("hang") == []


@pytest.mark.parametrize(
    ("said", "waits"), [("[rank 1] early stopping", True), ("early stopping", False)]
)
def test_a_rank_that_leaves_the_loop_alone(story: Story, said: str, *, waits: bool) -> None:
    for _ in range(12):
        story.step(rank=0).step(every_s=0.1, by=0, rank=1)
    story.phase("done", f"2026-11-26 02:51:31 {said}: no improvement for 6 epochs")
    assert bool(story.idle(90).asks("hang")) is waits


@pytest.mark.parametrize(
    ("line", "ahead_s"),
    [
        (b"26.11.2026 20:23:58 DURAKLATILDI: 20:25:08 saatinde devam edilecek", 70.0),
        ("[23:59:30] 暂停,将于 00:10 继续".encode(), 630.0),
        (b"2026-11-26T20:23:58 reprise a 23:00", 9362.0),
        (b"20:23:58 waiting for rank 1 (timeout=0:30:00)", 0.0),
        (b"20:23:58 step 3 of 9", 0.0),
        (b"[20:23:58] began at 20:20:00", 0.0),
        (b"epoch 1:2:3:4 99:12:13", 0.0),
    ],
)
def test_the_time_at_which_a_line_says_it_goes_on(line: bytes, ahead_s: float) -> None:
    assert goes_on_at(line, 1000.0) == (1000.0 + ahead_s if ahead_s else 0.0)


def backs_off(
    story: Story, text: str = "shard 3, attempt {n}: refused; next try in {wait} s"
) -> float:
    """Tries again after waits that double, up to 45 s; the silence in seconds when it is told."""
    began, wait = story.at, 2
    for n in range(1, 12):
        signs = LineSigns(
            complaints=n, complaint_at=story.at, complaint=text.format(n=n, wait=min(wait, 45))
        )
        story.grow()
        story.logs[story.file] = replace(story.logs[story.file], signs=signs)
        story.seen(story.logs[story.file])
        for second in range(min(wait, 45)):
            story.idle(1, sample(**ASLEEP | {"switches": n * 100 + second}))
            if story.asks("hang"):
                return story.at - began
        wait *= 2
    return 0.0


def test_tries_whose_waits_grow_are_told_though_they_are_few(story: Story) -> None:
    for epoch in range(1, 5):
        story.wait(10).step(number=None, epoch=epoch, train_loss=1.0)
    assert 75 <= backs_off(story) <= 90
    assert told(story).severity is Severity.WARNING


def test_tries_before_the_first_report_may_take_longer(story: Story) -> None:
    assert not 0 < backs_off(story) < 120


@pytest.mark.parametrize("total", [None, 60])
def test_a_question_that_nobody_sees(story: Story, total: int | None) -> None:
    """Also after the last step of a stage, when the run seems to be at its end."""
    story.train(60, total=total)
    finding = told(story.idle(70, sample(wchan="n_tty_read", switches=7)))
    assert finding.severity is Severity.CRITICAL
    assert "waits for somebody to type an answer in its terminal" in finding.summary
    assert "screen -r" in finding.remedy


def test_the_log_of_a_server_that_is_gone_says_nothing_beside_the_tries(story: Story) -> None:
    for epoch in range(1, 5):
        story.wait(10).step(number=None, epoch=epoch, train_loss=1.0)
    growth = replace(story.logs[story.file], file="/data/run/sidecar.log")
    story.logs[growth.file] = replace(growth, signs=LineSigns(fresh=10, fresh_at=story.at))
    story.seen(story.logs[growth.file])
    assert 75 <= backs_off(story) <= 90
