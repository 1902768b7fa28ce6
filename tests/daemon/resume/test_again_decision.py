"""Whether a run that has ended is started again by itself: the decision alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.config.schema import Again
from middlewatch.daemon.resume.again import (
    ALLOWED,
    Attempt,
    Decision,
    Resume,
    Stop,
    cause_of,
    decide,
    time_limit,
)
from middlewatch.sentinels.handbook import pages

LIMITS = Again(pause_s=60.0, longest_pause_s=3600.0)
END = 1_000_000.0
LAST = Attempt("gpt-2", END, "preempted", "yes", 500.0)


def after(
    *attempts: Attempt, used: int | None = None, most: int = 3, now: float = END + 8
) -> Decision:
    return decide(attempts, len(attempts) - 1 if used is None else used, most, LIMITS, now)


def stopped(made: Decision) -> Stop:
    assert isinstance(made, Stop), made
    return made


def test_a_preempted_run_is_started_again_after_a_pause() -> None:
    assert after(LAST) == Resume(END + 60, "after preempted at step 500")


def test_each_pause_is_longer_until_the_longest() -> None:
    begins = []
    for used in range(7):
        made = decide([replace(LAST, step=500.0 + used)], used, 99, LIMITS, END)
        assert isinstance(made, Resume)
        begins.append(made.at - END)
    assert begins == [60, 240, 960, 3600, 3600, 3600, 3600]


def test_a_daemon_that_comes_late_does_not_start_it_in_the_past() -> None:
    made = after(LAST, now=END + 7200)
    assert isinstance(made, Resume)
    assert made.at == END + 7200


def test_the_limit_ends_it() -> None:
    made = stopped(after(LAST, used=3, most=3))
    assert made.why == "it was started again 3 times, which is the limit (--again 3)"
    assert not made.quiet
    assert isinstance(after(LAST, used=2, most=3), Resume)


def test_an_attempt_that_gains_steps_goes_on() -> None:
    first = replace(LAST, run="gpt-1", step=400.0)
    assert isinstance(after(first, LAST), Resume)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (400.0, "ended at step 400, and gpt-1 ended there, and by preempted as well"),
        (390.0, "ended at step 390, and gpt-1 got to step 400"),
        (None, "made none that was seen"),
    ],
)
def test_an_attempt_that_gains_no_step_is_the_last(step: float | None, words: str) -> None:
    first = replace(LAST, run="gpt-1", step=400.0)
    made = stopped(after(first, replace(LAST, step=step)))
    assert made.why.startswith("no step was gained")
    assert words in made.why


def test_it_has_to_get_further_than_all_before_it_not_only_the_last() -> None:
    best, worse = replace(LAST, run="a", step=900.0), replace(LAST, run="b", step=100.0)
    assert "a got to step 900" in stopped(after(best, worse, replace(LAST, step=500.0))).why


def test_a_class_that_is_tried_once_is_not_tried_twice() -> None:
    first = replace(LAST, run="gpt-1", cause="process_killed", retry="once", step=400.0)
    assert isinstance(after(first), Resume)
    made = stopped(after(first, replace(first, run="gpt-2", step=600.0)))
    assert made.why.startswith("process_killed came again at step 600: ")
    other = replace(first, cause="preempted", retry="yes")
    assert isinstance(after(other, replace(first, run="gpt-2", step=600.0)), Resume)


@pytest.mark.parametrize("name", sorted(pages()))
def test_what_the_handbook_says_holds_for_every_class(name: str) -> None:
    retry = pages()[name].retry
    made = after(replace(LAST, cause=name, retry=retry))
    assert isinstance(made, Resume) == (retry in ALLOWED)
    if isinstance(made, Stop):
        assert made.quiet == (retry == "ask")


@pytest.mark.parametrize("name", ["loss_nan", "cuda_oom", "python_exception", "disk_full"])
def test_nan_memory_and_mistakes_are_never_retried(name: str) -> None:
    retry = pages()[name].retry
    made = stopped(after(replace(LAST, cause=name, retry=retry)))
    assert made.why.startswith(f"after {name} a retry does not help: only after a change")


@pytest.mark.parametrize(
    ("change", "quiet"),
    [({"finished": True}, True), ({"by_person": True}, True), ({"timed_out": True}, False),
     ({"cause": "", "retry": ""}, False)],
)  # fmt: skip
def test_ends_that_are_none_of_our_business(change: dict[str, object], quiet: bool) -> None:
    assert stopped(after(replace(LAST, **change))).quiet is quiet  # type: ignore[arg-type]


def test_the_class_that_forbids_decides_among_several() -> None:
    rows = [{"class": name} for name in ("preempted", "loss_nan", "blind")]
    assert cause_of(rows) == ("loss_nan", "after_change")
    assert cause_of(rows[::2]) == ("preempted", "yes")
    assert cause_of(rows[2:]) == ("", "")
    assert cause_of([]) == ("", "")


def test_the_time_limit_of_a_command() -> None:
    assert time_limit(["timeout", "--signal=TERM", "--kill-after=90s", "3510s", "python"]) == 3510
    assert time_limit(("timeout", "5m", "x")) is None  # ours is in seconds
    assert time_limit(["python", "train.py", "10s"]) is None
    assert time_limit([]) is None


attempts = st.builds(
    Attempt,
    st.sampled_from(["a", "b"]),
    st.floats(0, 1e9),
    st.sampled_from(["preempted", "process_killed", "loss_nan", ""]),
    st.sampled_from(["yes", "once", "after_change", "no", "none", "ask", ""]),
    st.none() | st.floats(0, 1e6),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@given(st.lists(attempts, min_size=1, max_size=6), st.integers(0, 6), st.integers(0, 6))
def test_what_holds_of_every_decision(known: list[Attempt], used: int, most: int) -> None:
    now = max(one.ended_at for one in known)
    made = decide(known, used, most, LIMITS, now)
    assert made.why
    if isinstance(made, Resume):
        last = known[-1]
        assert used < most
        assert made.at > last.ended_at
        assert last.retry in ALLOWED
        assert last.cause
        assert not any((last.finished, last.by_person, last.timed_out))
        assert all((one.step or -1.0) < (last.step or 0.0) for one in known[:-1]) or len(known) == 1


@given(st.integers(1, 10), st.integers(0, 5))
def test_a_crash_loop_ends_after_at_most_the_limit(most: int, gains: int) -> None:
    """Attempts that all end by a class that may be retried, of which so many gain something."""
    known: list[Attempt] = []
    step, used = 0.0, 0
    for number in range(most + gains + 5):
        step += 10.0 if number <= gains else 0.0
        known.append(Attempt(f"r{number}", END + number, "preempted", "yes", step))
        made = decide(known, used, most, LIMITS, END + number)
        if isinstance(made, Stop):
            break
        used += 1
    assert used == min(most, gains + 1)
    assert len(known) == used + 1
