"""The questions that every rule asks a View, and what a Finding keeps."""

from __future__ import annotations

import pytest

from middlewatch.sentinels.kit import Finding, Severity, Step

from ..story import GIB, Story


def after(story: Story) -> int:
    """Steps after the newest event."""
    event = story.events[-1]
    return story.view().steps_after(event.at, event.line, event.file)


def test_steps_after_an_event(story: Story) -> None:
    story.train(30).says("io_error")
    assert after(story) == 0
    counts = [after(story.step()) for _ in range(5)]
    assert counts == [1, 2, 3, 3, 3], "nobody needs to count on"


def test_a_step_that_is_printed_again_is_no_step(story: Story) -> None:
    story.train(30).says("io_error").train(5, by=0)
    assert after(story) == 0


def test_what_was_read_at_one_instant_is_ordered_by_its_lines(story: Story) -> None:
    story.train(30, 0.0).says("io_error")
    assert after(story) == 0
    story.train(5, 0.0, number=None)
    assert after(story) == 0, "reports without a number"
    story.train(1, 0.0).file = "/data/other.log"
    assert after(story.train(5, 0.0)) == 1, "lines of another file tell no order"


def test_rotation_does_not_turn_old_steps_into_new_ones(story: Story) -> None:
    story.train(30).wait(0.5).line = 0
    assert after(story.says("io_error")) == 0


def test_steps_after_a_line_of_an_old_log(story: Story) -> None:
    story.replayed().train(3).says("io_error")
    assert after(story) == 0
    story.train(2, by=0).step(number=None)
    assert after(story) == 1
    assert after(story.train(9)) == 3
    assert story.view().steps_after(0.0, 1, "/data/other.log") == 0


def test_one_step_may_have_waited_in_a_buffer(story: Story) -> None:
    story.train(3).says("io_error").step()
    assert not story.view().went_on_after(story.events[0])
    assert story.step().view().went_on_after(story.events[0])


def test_phases_since_the_last_step(story: Story) -> None:
    def since() -> list[str]:
        return [phase.name for phase in story.view().phases_since_step()]

    assert since() == []
    story.phase("load").phase("start")
    assert since() == ["load", "start"]
    story.step().phase("evaluate").phase("save")
    assert since() == ["evaluate", "save"]
    story.step()
    assert since() == []


def test_mounts_that_can_be_written_to(story: Story) -> None:
    story.disk(9 * GIB).disk(8 * GIB).disk(0, mount="/opt", read_only=True)
    story.disks["/gone"] = []
    assert [(d.mount, d.free_bytes) for d in story.view().mounts] == [("/data", 8 * GIB)]


def test_when_a_log_last_grew(story: Story) -> None:
    assert story.view().grown_at is None
    begin = story.now
    story.grow().wait(60).file = "/data/other.log"
    assert story.grow().view().grown_at == begin + 60


def test_the_last_step_and_the_end(story: Story) -> None:
    assert story.view().last_step is None
    story.train(3).step(number=None).end(1, main=False, pid=7)
    view = story.view()
    assert view.last_step is not None
    assert (view.last_step.number, view.ending) == (3, None)
    assert story.end().end(signal=9).view().ending == story.endings[-1]


def test_the_loss_of_a_step() -> None:
    assert Step(0.0, 1.0, {"train_loss": 2.5}).loss == 2.5
    assert Step(0.0, 1.0, {"eval_loss": 2.5}).loss is None


@pytest.mark.parametrize("severity", Severity)
def test_severities_have_names(severity: Severity) -> None:
    assert Severity.parse(severity.label) is severity
    with pytest.raises(KeyError):
        Severity.parse("urgent")


def test_a_summary_is_one_line() -> None:
    finding = Finding("blind", Severity.INFO, " a\n\tb\x85c\r\nd ")
    assert finding.summary == "a b c d"
    assert len(Finding("blind", Severity.INFO, "x" * 301).summary) == 300
    assert Finding("blind", Severity.INFO, "x" * 300).summary == "x" * 300
