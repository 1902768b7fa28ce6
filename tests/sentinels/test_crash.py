"""Runs that failed."""

from __future__ import annotations

import pytest

from middlewatch.sentinels.crash import Limits
from middlewatch.sentinels.kit import Deadline, Finding, LastWords, ProcessEnded, Severity

from .story import MAIN, Story, sample


def crash(story: Story) -> Finding:
    (finding,) = story.asks("crash")
    return finding


def traceback(story: Story, **other: object) -> Story:
    """The last line of a traceback."""
    details = {"exception": "ValueError", "message": "no such split: dev", **other}
    return story.says("python_exception", "ValueError: no such split: dev", **details)  # type: ignore[arg-type]


# -- the end of the process ---------------------------------------------------------------


def test_a_traceback(story: Story) -> None:
    traceback(story.train(30), rank=3).end(1)
    assert story.wait(1.9).asks("crash") == [], "last lines and counters may still arrive"
    finding = crash(story.wait(0.2))
    assert (finding.trouble, finding.severity) == ("python_exception", Severity.CRITICAL)
    assert finding.fatal
    assert finding.summary == (
        "ValueError: no such split: dev (rank 3); the run ended with exit status 1 after step 30"
    )
    assert (finding.file, finding.line) == (story.file, 31)
    assert finding.details["exitcode"] == 1
    assert finding.details["exception"] == "ValueError"


def test_the_finding_stays_the_same(story: Story) -> None:
    traceback(story.train(30)).end(1).wait(3)
    first = crash(story)
    assert crash(story.wait(60)) == first


@pytest.mark.parametrize(
    ("code", "signal", "trouble", "words"),
    [
        (None, 9, "process_killed", "was killed (SIGKILL)"),
        (137, None, "process_killed", "was killed (SIGKILL)"),
        (None, 11, "segfault", "crashed (SIGSEGV)"),
        (139, None, "segfault", "crashed (SIGSEGV)"),
        (None, 6, "segfault", "aborted (SIGABRT)"),
        (143, None, "sigterm_received", "was ended from outside (SIGTERM)"),
        (None, 1, "process_killed", "lost its terminal (SIGHUP)"),
        (None, 24, "process_killed", "was ended by its limit of CPU time (SIGXCPU)"),
        (138, None, "process_killed", "was ended by SIGUSR1, for which it has no handler"),
        (None, 30, "process_killed", "was ended by signal 30"),
        (1, None, "python_exception", "ended with exit status 1"),
        (255, None, "python_exception", "ended with exit status 255"),
        (127, None, "launch_error", "ended with exit status 127"),
    ],
)
def test_an_exit_status_without_a_word(
    story: Story, code: int | None, signal: int | None, trouble: str, words: str
) -> None:
    finding = crash(story.train(30).end(code, signal).wait(3))
    assert (finding.trouble, finding.severity) == (trouble, Severity.CRITICAL)
    assert finding.summary == f"process {MAIN} {words} after step 30"


def test_steps_are_written_out(story: Story) -> None:
    story.step(number=12_345_678.0).end(1).wait(3)
    assert crash(story).summary.endswith("after step 12345678")


@pytest.mark.parametrize(("code", "signal"), [(None, 2), (130, None), (1, None)])
def test_a_person_who_interrupts_it(story: Story, code: int | None, signal: int | None) -> None:
    story.train(30).says("interrupted", "KeyboardInterrupt", severity="warning")
    finding = crash(story.end(code, signal).wait(3))
    assert (finding.trouble, finding.severity) == ("interrupted", Severity.WARNING)


def test_a_person_who_interrupts_what_saves_first(story: Story) -> None:
    """It is in the status page; nobody is woken for what they did themselves."""
    story.train(30).says("interrupted", "KeyboardInterrupt: saving", severity="warning")
    finding = crash(story.saved().end(130).wait(3))
    assert (finding.trouble, finding.severity) == ("interrupted", Severity.INFO)
    assert "has saved before" in finding.summary


@pytest.mark.parametrize("said", [True, False])
def test_what_the_program_ends_itself(story: Story, said: bool) -> None:
    story.train(30)
    if said:
        story.phase("stop", "[halving] terminating cfg_06 (pid 4711)")
    story.says("process_killed", "[halving] cfg_06 exited with code -9").idle(40)
    assert bool(story.asks("crash")) is not said


def test_an_interruption_makes_fallout(story: Story) -> None:
    traceback(story.train(30)).end(signal=2).wait(3)
    finding = crash(story)
    assert (finding.trouble, finding.severity) == ("interrupted", Severity.WARNING)


def test_a_good_end(story: Story) -> None:
    assert story.train(30, total=30).end(0).wait(3).asks("crash") == []


def test_noise_at_a_good_end(story: Story) -> None:
    traceback(story.train(30, total=30)).end(0).wait(3)
    assert story.asks("crash") == []


def test_an_error_behind_a_pipe(story: Story) -> None:
    """``python train.py | tee log`` ends with the status of tee."""
    finding = crash(traceback(story.train(30, total=100)).end(0).wait(3))
    assert finding.trouble == "python_exception"
    assert finding.summary.endswith("the run ended with exit status 0 after step 30")


def test_an_exception_that_python_has_caught(story: Story) -> None:
    """A search that leaves a candidate out prints the traceback, goes on, and ends with 0."""
    traceback(story.train(30)).end(0, name="python3").wait(3)
    assert story.asks("crash") == []


@pytest.mark.parametrize("after", [1, 30])
def test_a_farewell_right_after_an_exception(story: Story, after: int) -> None:
    """A notebook as a script prints the traceback, says that all is done, and ends with 0."""
    line = traceback(story.train(30)).line
    story.end(0, name="python3").wait(3)
    words = LastWords("All done!", line=line + after, farewell="end", said="All done!")
    found = story.asks("crash", last_words={story.file: words})
    assert [finding.severity for finding in found] == [Severity.WARNING] * (after == 1)


@pytest.mark.parametrize(("status", "program"), [(0, 7), (None, 7), (0, 8)])
def test_one_of_a_program_that_came_after_the_training(
    story: Story, status: int | None, program: int
) -> None:
    """An export tries a format that is not installed, prints why, and writes another one. A program whose
    workers have ended before it is none."""
    story.train(30).wait(1).end(status, main=False, pid=300, name="python3", program=program)
    line = traceback(story.wait(5)).line
    story.end(0, main=False, pid=301, name="python3", program=8).end(0, name="bash").wait(3)
    words = LastWords("all steps done", line=line + 1, farewell="end", said="all steps done")
    found = story.asks("crash", last_words={story.file: words})
    assert len(found) == ((status, program) != (0, 7))


@pytest.mark.parametrize("status", [1, None])
def test_one_below_a_shell_that_ends_with_0(story: Story, status: int | None) -> None:
    traceback(story.train(30)).end(status, main=False, pid=300, name="python3")
    finding = crash(story.end(0, name="bash").wait(3))
    assert finding.trouble == "python_exception"


def test_one_that_ended_the_work_before_its_plan(story: Story) -> None:
    finding = crash(traceback(story.train(30, total=100)).end(0, name="python3").wait(3))
    assert finding.trouble == "python_exception"


def test_an_end_that_nobody_saw_with_an_error(story: Story) -> None:
    finding = crash(traceback(story.train(30)).end().wait(3))
    assert "is gone (its exit status is unknown)" in finding.summary


def test_an_end_that_nobody_can_explain_is_told_elsewhere(story: Story) -> None:
    assert story.train(30).end().wait(3).asks("crash") == []


def test_an_error_that_was_overcome_is_no_cause(story: Story) -> None:
    finding = crash(traceback(story.train(30)).train(2).end(signal=9).wait(3))
    assert finding.trouble == "process_killed"


def test_an_error_long_before_the_end_but_after_the_last_step(story: Story) -> None:
    finding = crash(traceback(story.train(30)).wait(600).end(1).wait(3))
    assert finding.trouble == "python_exception"
    assert finding.line == 31


def test_an_error_long_before_the_end_of_a_run_without_steps(story: Story) -> None:
    finding = crash(traceback(story).wait(600).end(1).wait(3))
    assert finding.line == 0
    assert finding.summary == f"process {MAIN} ended with exit status 1"


def test_a_warning_is_not_why_it_was_killed(story: Story) -> None:
    story.train(30).says("tracker_network_error", severity="warning", fatal=False)
    assert crash(story.end(signal=9).wait(3)).trouble == "process_killed"


def test_a_tracker_that_ends_the_run(story: Story) -> None:
    story.train(30).says(
        "tracker_network_error", severity="warning", fatal=False, exception="CommError"
    )
    assert crash(story.end(1).wait(3)).trouble == "tracker_network_error"


def test_a_command_that_does_not_exist(story: Story) -> None:
    story.says("launch_error", "bash: torchrun: command not found", severity="warning", fatal=False)
    finding = crash(story.end(127).wait(3))
    assert finding.trouble == "launch_error"
    assert finding.summary.startswith("bash: torchrun: command not found; the run ended")


def test_the_root_before_its_fallout(story: Story) -> None:
    story.train(30)
    story.says("rank_failed", role="cascade")
    story.says("nccl_error", "NCCL WARN socket closed", severity="warning", role="confirmation")
    traceback(story)
    story.says("cuda_illegal_access").wait(1).says("python_exception", "later")
    finding = crash(story.end(1).wait(3))
    assert (finding.trouble, finding.details["exception"]) == ("python_exception", "ValueError")


def test_only_fallout(story: Story) -> None:
    story.train(30).says("rank_failed", role="cascade").wait(1).says("rank_failed", role="cascade")
    finding = crash(story.end(1).wait(3))
    assert (finding.trouble, finding.line) == ("rank_failed", 31)


def test_a_root_that_is_not_fatal_before_fallout_that_is(story: Story) -> None:
    story.train(30).says("rank_failed", role="cascade")
    story.says("network_error", "ConnectionError", fatal=False, exception="ConnectionError")
    assert crash(story.end(1).wait(3)).trouble == "network_error"


def test_notes_and_the_kernel_log_are_no_cause(story: Story) -> None:
    story.train(30).says("nccl_error", severity="info")
    story.says("segfault", "sshd[7]: segfault at 0", file="kernel")
    assert crash(story.end(1).wait(3)).trouble == "python_exception"


def test_a_cause_with_an_owner_is_told_as_the_end_only(story: Story) -> None:
    """What happened is told by nan_loss; that it ended is news in any case."""
    finding = crash(story.train(30).says("loss_nan", "Loss is nan, stopping").end(1).wait(3))
    assert finding.trouble == "python_exception"
    assert [e.text for e in finding.evidence if e.kind == "log"] == ["Loss is nan, stopping"]


def test_a_kill_for_memory_is_told_elsewhere(story: Story) -> None:
    story.train(30).memory_look(0).wait(1).memory_look(1).end(signal=9).wait(3)
    assert story.asks("crash") == []
    story.memory = story.memory[:1]
    assert crash(story).trouble == "process_killed", "one sample tells no rise"


def test_an_error_beside_a_kill_for_memory(story: Story) -> None:
    story.train(30).memory_look(0).says("dataloader_worker_killed").wait(1).memory_look(1)
    assert crash(story.end(1).wait(3)).trouble == "dataloader_worker_killed"


def test_long_messages_are_cut(story: Story) -> None:
    story.says("io_error", "x" * 400).end(1).wait(3)
    assert len(crash(story).summary) < 250
    story = Story().says("python_exception", "boom", exception="Boom").end(1).wait(3)
    assert crash(story).summary.startswith("Boom; the run ended")


def test_a_corrected_status_is_the_one_that_counts(story: Story) -> None:
    story.train(30).end().end(signal=11).wait(3)
    assert crash(story).trouble == "segfault"


# -- a process that lives on ----------------------------------------------------------------


def test_an_error_after_which_nothing_happens(story: Story) -> None:
    traceback(story.train(30)).idle(29)
    assert story.asks("crash") == []
    finding = crash(story.idle(2))
    assert (finding.trouble, finding.severity, finding.key) == (
        "python_exception",
        Severity.CRITICAL,
        "error",
    )
    assert finding.summary.endswith(
        "; the run hangs: no step since 31 s, its process is still alive"
    )


def test_a_log_alone_knows_of_no_process(story: Story) -> None:
    traceback(story.train(30)).wait(40)
    assert crash(story).summary.endswith("no step since 40 s")


def test_slow_steps_get_three_of_them(story: Story) -> None:
    traceback(story.train(30, 60)).idle(170)
    assert story.asks("crash") == []
    assert crash(story.idle(11)).trouble == "python_exception"


def test_one_step_is_progress(story: Story) -> None:
    assert traceback(story.train(30)).step().idle(300).asks("crash") == []


def test_a_program_that_goes_on_talking(story: Story) -> None:
    traceback(story)
    for _ in range(60):
        story.wait(10).grow()
    assert story.asks("crash") == []


def test_an_error_at_the_start_that_was_handled(story: Story) -> None:
    """``No module named flash_attn``, told with its traceback; then the model is compiled."""
    traceback(story).idle(290)
    assert story.asks("crash") == []
    assert crash(story.idle(11)).trouble == "python_exception"


def test_a_rank_that_died_while_others_talk(story: Story) -> None:
    traceback(story, rank=3).end(main=False, pid=203, rank=3)
    for _ in range(4):
        story.wait(8).grow()
    assert crash(story).trouble == "python_exception"


def test_children_that_come_and_go(story: Story) -> None:
    traceback(story).end(main=False, pid=300).end(0, main=False, pid=301)
    assert story.idle(100).asks("crash") == []
    assert crash(story.end(1, main=False, pid=302)).trouble == "python_exception"


def test_an_interruption_that_is_taken_slowly(story: Story) -> None:
    story.train(30).says("interrupted", severity="warning").idle(40)
    assert crash(story).severity is Severity.WARNING


def test_what_a_log_said_before_we_came(story: Story) -> None:
    story.run(ours=False)
    traceback(story.train(30, 0.0)).wait(300)
    assert story.asks("crash") == []


def test_an_old_error_in_a_log_that_is_read_at_once(story: Story) -> None:
    """Everything was seen at the same instant; the place in the file tells the order."""
    traceback(story).train(30, 0.0)
    assert story.wait(600).asks("crash") == []


def test_not_fatal_or_told_elsewhere(story: Story) -> None:
    story.train(30).says("network_error", fatal=False).says("cuda_oom").idle(300)
    assert story.asks("crash") == []


# -- old logs -----------------------------------------------------------------------------


def test_an_old_log_is_told_class_by_class(story: Story) -> None:
    story.replayed().train(5)
    story.says("rank_failed", role="cascade")
    traceback(story).says("rank_failed", role="cascade").says("cuda_oom")
    found = {f.trouble: f for f in story.asks("crash")}
    assert list(found) == ["rank_failed", "python_exception"]
    assert (found["rank_failed"].line, found["rank_failed"].details["count"]) == (6, 2)
    assert all(f.fatal and f.severity is Severity.CRITICAL for f in found.values())


def test_an_old_error_that_was_overcome_is_a_note(story: Story) -> None:
    traceback(story.replayed().train(5)).train(2)
    finding = crash(story)
    assert (finding.severity, finding.fatal) == (Severity.INFO, False)


def test_ranks_that_print_one_step_are_one_step(story: Story) -> None:
    traceback(story.replayed().train(5))
    for rank in range(8):
        story.step(by=0 if rank else 1, rank=rank)
    assert crash(story).severity is Severity.CRITICAL


def test_settings(story: Story) -> None:
    story.end(1).wait(3)
    assert story.asks("crash", Limits(settle_s=10)) == []
    story = traceback(Story().train(30)).idle(20, sample())
    assert len(story.asks("crash", Limits(stuck_s=10))) == 1


def test_only_the_main_process_ends_the_run(story: Story) -> None:
    story.train(30).end(1, main=False, pid=300).wait(3)
    assert story.asks("crash") == []
    assert story.view().ending is None
    story.endings.append(ProcessEnded(story.now, MAIN, True, 1))
    assert len(story.wait(3).asks("crash")) == 1


def test_tests_that_fail_beside_a_training_are_not_its_end(story: Story) -> None:
    story.train(30).idle(2)
    story.says("python_exception", "ZeroDivisionError: 0.0", exception="ZeroDivisionError")
    story.end(1, main=False, pid=300, name="pytest")
    assert story.lives(60, 0.9, None).asks("crash") == []


def test_a_child_that_fails_and_leaves_the_rest_idle_is(story: Story) -> None:
    story.train(30).idle(2)
    story.says("python_exception", "ZeroDivisionError: 0.0", exception="ZeroDivisionError")
    story.end(1, main=False, pid=300, name="python")
    assert [f.key for f in story.lives(60, 0.0, None).asks("crash")] == ["error"]


@pytest.mark.parametrize("every_s", [1.0, 0.0])
@pytest.mark.parametrize(("steps", "trouble"), [(0, "launch_error"), (30, "python_exception")])
def test_a_module_that_is_missing_at_the_first_evaluation_is_no_failed_start(
    story: Story, steps: int, trouble: str, every_s: float
) -> None:
    line = "ModuleNotFoundError: No module named 'sacrebleu'"
    details = {"exception": "ModuleNotFoundError", "message": "No module named 'sacrebleu'"}
    story.train(steps, every_s).says("launch_error", line, **details)  # type: ignore[arg-type]
    assert crash(story.end(1).wait(3)).trouble == trouble


@pytest.mark.parametrize("reports", [0, 2])
def test_tests_that_fail_beside_a_training_that_numbers_no_steps(
    story: Story, reports: int
) -> None:
    story.train(4, 3.6, number=None)
    traceback(story, file="output.log")
    story.end(1, main=False, pid=7).train(reports, 3.6, number=None).idle(40)
    assert bool(story.asks("crash")) is (reports == 0)


@pytest.mark.parametrize("reports", [0, 1])
def test_a_good_end_soon_after_an_error_that_one_more_report_followed(
    story: Story, reports: int
) -> None:
    story.train(30).says("segfault", "vsi2tif: FATAL: aborting, status 134")
    story.train(reports).end(0).wait(3)
    assert bool(story.asks("crash")) is (reports == 0)


def collects(story: Story, reports: int, *, grows: bool) -> Story:
    for _ in range(reports):
        episodes = story.number * 3 if grows else 1000.0
        story.step(5.0, episodes=episodes)
    return story


@pytest.mark.parametrize("grows", [False, True])
def test_a_thread_that_dies_and_what_it_counted(story: Story, grows: bool) -> None:
    collects(story, 10, grows=True)
    line = "IndexError: index 365 is out of bounds"
    story.says("python_exception", line, role="confirmation", fatal=False, exception="IndexError")
    assert collects(story, 4, grows=grows).asks("crash") == []
    found = collects(story, 6, grows=grows).asks("crash")
    assert [(f.trouble, f.key, f.severity) for f in found] == (
        [] if grows else [("python_exception", "thread", Severity.WARNING)]
    )
    assert all("episodes stands still" in f.summary for f in found)


def test_a_thread_of_the_programs_own_without_which_the_run_goes_on(story: Story) -> None:
    story.train(30).says(
        "python_exception", "EOFError", role="confirmation", severity="info", fatal=False,
        exception="EOFError", thread="prefetch",
    )  # fmt: skip
    assert story.train(2).asks("crash") == []
    (finding,) = story.train(2).asks("crash")
    assert (finding.key, finding.severity) == ("thread", Severity.WARNING)
    assert finding.summary == "EOFError has ended the thread prefetch; the run goes on without it"


def test_a_thread_that_says_what_another_rule_tells(story: Story) -> None:
    collects(story, 10, grows=True)
    story.says("loss_nan", "loss is nan", role="confirmation", fatal=False, exception="ValueError")
    assert collects(story, 10, grows=False).asks("crash") == []


@pytest.mark.parametrize(("code", "signal"), [(143, None), (None, 15), (137, None), (None, 9)])
def test_the_limit_that_its_own_command_line_sets(
    story: Story, code: int | None, signal: int | None
) -> None:
    story.train(60)
    story.seen(Deadline(story.now, story.now + 30, "timeout"))
    story.train(29).end(code, signal).wait(5)
    (finding,) = story.asks("crash")
    assert finding.trouble == "sigterm_received"
    assert "was ended by its time limit (`timeout`)" in finding.summary
    assert finding.details["limited"] is finding.details["requeued"] is True


def test_a_share_of_time_of_a_script_that_goes_on(story: Story) -> None:
    story.train(60)
    story.seen(Deadline(story.now, story.now + 30, "timeout"))
    story.train(29).end(None, 15).wait(5).run(goes_on=True)
    (finding,) = story.asks("crash")
    assert (finding.severity, finding.trouble) == (Severity.INFO, "sigterm_received")
    assert "as its script has it" in finding.summary


@pytest.mark.parametrize(("saves", "told"), [(True, ["slurm_time_limit"]), (False, [])])
def test_a_program_that_saves_at_its_limit_and_leaves(
    story: Story, saves: bool, told: list[str]
) -> None:
    """Its script may say later than it ends that the job begins again."""
    story.train(60).says(
        "slurm_time_limit", "middlewatch: the time ends (03:04): SIGUSR1", fatal=False
    )
    if saves:
        story.train(3).saved()
    story.end(0).wait(5)
    assert [f.trouble for f in story.asks("crash")] == told


@pytest.mark.parametrize(("origin", "early_s"), [("SLURM_JOB_END_TIME", 0), ("timeout", 10)])
def test_a_signal_at_another_time_is_from_somebody_else(
    story: Story, origin: str, early_s: int
) -> None:
    story.train(60)
    story.seen(Deadline(story.now, story.now + 30, origin))
    story.train(29 - early_s).end(None, 15).wait(5)
    (finding,) = story.asks("crash")
    assert "from outside (SIGTERM)" in finding.summary
    assert "limited" not in finding.details


@pytest.mark.parametrize(
    ("text", "requeued"),
    [("[queue] job 7 PREEMPTED, requeued", True), ("job 7 was preempted", False)],
)
def test_a_queue_that_says_that_it_starts_the_job_again(
    story: Story, text: str, requeued: bool
) -> None:
    story.train(60).says("preempted", text).end(85).wait(5)
    (finding,) = story.asks("crash")
    assert finding.trouble == "preempted"
    assert finding.details.get("requeued", False) is requeued


@pytest.mark.parametrize(
    ("saves", "code", "told"), [(True, 0, False), (False, 0, True), (True, 1, True)]
)
def test_a_program_that_is_asked_to_leave_saves_and_ends_well(
    story: Story, saves: bool, code: int, told: bool
) -> None:
    story.train(60).says("sigterm_received", "received SIGTERM: saving and leaving after this step")
    if saves:
        story.claim()
    story.end(code).wait(5)
    assert bool(story.asks("crash")) is told
    assert story.asks("silent_end") == []


@pytest.mark.parametrize(
    ("code", "saved_s", "requeued"), [(75, 3, True), (75, 60, False), (137, 3, False)]
)
def test_a_status_of_its_own_choice_after_a_save(
    story: Story, code: int, saved_s: int, requeued: bool
) -> None:
    story.train(60).saved(step=60).wait(saved_s).end(code).wait(5)
    (finding,) = story.asks("crash")
    assert finding.details.get("requeued", False) is requeued


@pytest.mark.parametrize("lived_s", [2.0, 40.0])
def test_a_command_that_fails_and_whose_program_goes_on(story: Story, lived_s: float) -> None:
    """A solver that aborts on a bad candidate: the search books it, and logs on."""
    story.says("segfault", "Fatal Python error: Aborted")
    story.end(signal=6, pid=7, main=False, lived_s=lived_s)
    for _ in range(20):
        story.wait(3).grow()
    assert bool(story.asks("crash")) is (lived_s > 10)


def test_a_thread_that_wrote_the_saves(story: Story) -> None:
    for n in range(4):
        story.train(30).saved(path=f"step_{n}.pt")
    story.says(
        "python_exception",
        "FileNotFoundError: step_0.pt",
        role="confirmation",
        fatal=False,
        exception="x",
    )
    assert story.train(50).asks("crash") == []
    (finding,) = story.train(60).asks("crash")
    assert (finding.key, finding.severity) == ("thread", Severity.WARNING)
    assert "since then saving stands still" in finding.summary
    assert story.saved(path="step_5.pt").asks("crash") == []


def test_a_slot_of_time_that_is_over_waits_for_the_next_one(story: Story) -> None:
    story.train(30).says("sigterm_received", "received signal 15: saving and leaving").saved()
    (finding,) = story.end(143).wait(3).asks("crash")
    assert finding.details["requeued"] is True


@pytest.mark.parametrize(
    ("said", "waits"),
    [
        (
            "slurmstepd: error: *** JOB 2 ON n1 CANCELLED AT 2026-11-27T14:02:48 DUE TO PREEMPTION ***",
            False,
        ),
        ("received a preemption notice: saving and leaving", True),
    ],
)
def test_a_job_whose_place_another_one_takes_is_told_at_once(
    story: Story, said: str, *, waits: bool
) -> None:
    """Slurm puts it back into the queue; its save just before was none for that."""
    story.train(30).saved().says("preempted", said).saved()
    (finding,) = story.end(143).wait(3).asks("crash")
    assert finding.trouble == "preempted"
    assert finding.details.get("requeued", False) is waits


def test_both_errors_of_a_chain_are_told(story: Story) -> None:
    """What is raised while an error is handled may be the reason, or a consequence."""
    story.train(5)
    story.says("python_exception", exception="ValueError", message="trailing data")
    story.says(
        "python_exception", exception="ArrowInvalid", message="JSON parse error", chained=True
    )
    (finding,) = story.end(1).wait(3).asks("crash")
    assert (
        "ValueError: trailing data, then ArrowInvalid: JSON parse error; the run ended"
        in finding.summary
    )


def test_the_error_with_which_the_log_ends(story: Story) -> None:
    story.train(30).end(2).wait(3)
    words = LastWords("make: *** [x] Error 2", error="FATAL shard 17 is damaged", error_line=31)
    (finding,) = story.asks("crash", last_words={story.file: words})
    assert finding.trouble == "python_exception"
    assert finding.summary.startswith("FATAL shard 17 is damaged; the run ended with exit status 2")
    assert "FATAL shard 17 is damaged" in [e.text for e in finding.evidence]


@pytest.mark.parametrize("saves", [True, False])
def test_a_slice_of_time_with_a_status_of_its_own(story: Story, *, saves: bool) -> None:
    """It is told to leave, saves after this step, and ends with the status that its queue knows."""
    story.train(30).says("sigterm_received", "SIGTERM received: will save after this step").train(1)
    if saves:
        story.wait(1).saved()
    finding = crash(story.end(85).wait(3))
    assert finding.details.get("requeued", False) is saves


def test_a_line_that_is_read_after_the_end_is_explained_by_its_own_rule_first(story: Story) -> None:
    """On a busy box the end is seen before the line that says why."""
    story.train(30).end(1).wait(1.5)
    story.says("disk_full", "OSError: [Errno 28] No space left on device", exception="OSError")
    assert story.wait(1.9).asks("crash") == []
    assert story.asks("disk_full") == []
    story.wait(0.2)
    assert [f.trouble for f in story.asks("disk_full")] == ["disk_full"]
    assert [f.trouble for f in story.asks("crash")] == ["python_exception"]
