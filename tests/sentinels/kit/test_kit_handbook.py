"""Docstrings and texts that become the handbook."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.sentinels.kit.handbook import CLASS_LABELS, RETRIES, Check, RemedyStep, parse

RULE = """The data ran out.

Decides: the log says nothing more,
    and a mount: /data: is gone.
Classes: hang, silent_end
    io_error
"""


def test_a_page_of_a_rule() -> None:
    entry = parse("data_gone", RULE)
    assert (entry.name, entry.title) == ("data_gone", "The data ran out.")
    assert entry.sections["Decides"] == "the log says nothing more, and a mount: /data: is gone."
    assert entry.classes == ("hang", "silent_end", "io_error")
    assert "Sources" not in entry.sections
    assert (entry.steps, entry.checks, entry.retry) == ((), (), "")


LADDER = """The data ran out.

Remedy:
    1. [safe] Look at the mount.
    2. [costly] Mount it again; or, where that is not
       possible, copy the data.
    Afterwards all is well.
Not: do not wait.
"""


def test_the_ladder() -> None:
    entry = parse("data_gone", LADDER, CLASS_LABELS)
    assert entry.first_step == RemedyStep("Look at the mount.", safe=True)
    assert entry.steps[1:] == (
        RemedyStep(
            "Mount it again; or, where that is not possible, copy the data. Afterwards all is well.",
            safe=False,
        ),
    )
    assert entry.sections["Remedy"].splitlines()[0] == "1. [safe] Look at the mount."


@pytest.mark.parametrize("step", ["Look.", "1. Look.", "- [safe] Look.", "1. [cheap] Look."])
def test_a_step_says_what_it_costs(step: str) -> None:
    assert parse("x", f"X.\n\nRemedy:\n    {step}\n", CLASS_LABELS).steps == ()


def test_a_title_of_two_lines() -> None:
    assert parse("x", "One\ntwo.\n\nDecides: none\n").title == "One two."


def test_no_docstring() -> None:
    entry = parse("x", "")
    assert (entry.title, entry.sections, entry.steps, entry.classes) == ("", {}, (), ())


CLASS_PAGE = """The data ran out.

Topic: disks and files
Symptom: silence.
Confirm:
    First of all, breathe.
    $ df -h MOUNT
    100 % is
    full.
    $ uptime

    Higher than cores: somebody works.
Cause: Classes: that word is no label here.
Remedy:
    1. [safe] Look.
Not: wait.
Retry: Only after a change; it is full.
See: disk_full, hang
    io_error
"""


def test_a_page_of_a_class() -> None:
    entry = parse("data_gone", CLASS_PAGE, CLASS_LABELS)
    assert entry.checks == (
        Check("", "First of all, breathe."),
        Check("df -h MOUNT", "100 % is full."),
        Check("uptime", "Higher than cores: somebody works."),
    )
    assert entry.sections["Confirm"].splitlines()[1:3] == ["$ df -h MOUNT", "100 % is full."]
    assert entry.sections["Cause"] == "Classes: that word is no label here."
    assert entry.classes == ()
    assert entry.words("See") == ("disk_full", "hang", "io_error")
    assert entry.words("Nothing") == ()
    assert entry.retry == "after_change"


@pytest.mark.parametrize(("words", "retry"), RETRIES.items())
def test_whether_to_try_again(words: str, retry: str) -> None:
    assert parse("x", f"X.\n\nRetry: {words}: because\n", CLASS_LABELS).retry == retry
    assert parse("x", f"X.\n\nRetry: {words.capitalize()}\n", CLASS_LABELS).retry == retry


@pytest.mark.parametrize("text", ["", "perhaps", "noon is best", "yesterday", "onces"])
def test_a_page_that_does_not_say_whether_to_try_again(text: str) -> None:
    assert parse("x", f"X.\n\nRetry: {text}\n", CLASS_LABELS).retry == ""


@given(st.text(alphabet="aR:[]1. \nsafeRemedyCltosur", max_size=300))
def test_any_text(text: str) -> None:
    entry = parse("x", text, CLASS_LABELS)
    assert all(step.text == step.text.strip() for step in entry.steps)


@given(st.text(alphabet="$ Confirm:Retyno.\n\t1[safe]", max_size=300))
def test_any_text_of_a_class(text: str) -> None:
    entry = parse("x", text, CLASS_LABELS)
    assert all("\n" not in check.command + check.expect for check in entry.checks)
    assert entry.retry in {"", *RETRIES.values()}
