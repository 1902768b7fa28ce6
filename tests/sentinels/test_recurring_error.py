"""An error that comes each time in the place of a usual line."""

from __future__ import annotations

import pytest

from middlewatch.sentinels.kit import LineSigns, LogGrowth, OpenIncident, Severity
from middlewatch.sentinels.recurring_error import Limits, recovered

from .story import Story

SIGNS = LineSigns(
    instead="upload of e07.npz failed: 507",
    instead_times=3,
    instead_since=40.0,
    instead_of="uploaded e01.npz",
)


def says(story: Story, signs: LineSigns) -> Story:
    story.wait(1)
    story.logs[story.file] = LogGrowth(story.at, story.file, 100, story.line, story.at, signs=signs)
    return story


def test_it_is_a_warning_with_both_lines(story: Story) -> None:
    (finding,) = says(story.train(9), SIGNS).asks("recurring_error")
    assert (finding.trouble, finding.severity) == ("recurring_error", Severity.WARNING)
    assert finding.summary == "fails each time, 3 times so far: upload of e07.npz failed: 507"
    assert "uploaded e01.npz" in finding.evidence[1].text
    assert finding.since == 40.0


def test_it_is_over_when_the_usual_line_comes_again(story: Story) -> None:
    (finding,) = says(story.train(9), SIGNS).asks("recurring_error")
    case = OpenIncident("recurring_error", finding.key, story.now, story.now)
    assert recovered(story.view(), Limits(), case) == ""
    again = LineSigns(instead_of="uploaded e08.npz")
    assert says(story, again).asks("recurring_error") == []
    assert recovered(story.view(), Limits(), case) == "it works again: uploaded e08.npz"


def test_fewer_turns_prove_nothing(story: Story) -> None:
    assert says(story.train(9), SIGNS._replace(instead_times=2)).asks("recurring_error") == []


ROW = LineSigns(
    row=40, row_reports=1, row_since=30.0, row_at=55.0, row_text="skipping batch 9: no such file"
)


@pytest.mark.parametrize("numbered", [True, False])
def test_every_batch_fails(story: Story, *, numbered: bool) -> None:
    """Also where reports have the number of an epoch only."""
    if numbered:
        story.train(9)
    else:
        story.train(9, number=None, epoch=3)
    row = ROW._replace(row_at=story.now)
    (finding,) = says(story, row).asks("recurring_error")
    assert (
        finding.summary
        == "40 failures in a row, one after the other: skipping batch 9: no such file"
    )
    case = OpenIncident("recurring_error", finding.key, story.now, story.now)
    assert recovered(story.view(), Limits(), case) == ""
    assert "without a failure" in recovered(says(story.train(30), row).view(), Limits(), case)


def test_some_batches_fail(story: Story) -> None:
    row = ROW._replace(row_at=story.train(9).now)
    assert says(story, row._replace(row=29)).asks("recurring_error") == []
    assert says(story, row._replace(row_reports=5)).asks("recurring_error") == []
    assert says(story, row._replace(row_at=story.now - 200)).asks("recurring_error") == []


def test_files_that_are_left_out_before_the_training(story: Story) -> None:
    assert says(story, ROW._replace(row_at=story.now)).asks("recurring_error") == []
