"""Processes that did not end themselves: told apart, each with its class and first step."""

from __future__ import annotations

from typing import Any

import pytest

from middlewatch.sentinels.kit import Finding, Severity

from ..story import Story


def told(story: Story) -> Finding:
    """What the three rules about an end say: one of them, and once."""
    found = [f for name in ("crash", "silent_end", "host_oom") for f in story.asks(name)]
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("end", "trouble", "how", "words"),
    [
        ({"gone_with": "box"}, "silent_end", "reboot", "was ended when the box was rebooted"),
        ({"gone_with": "container"}, "silent_end", "reboot", "the container was restarted"),
        ({"gone_with": "session"}, "silent_end", "hangup", "ended with its terminal"),
        ({"signal": 9, "gone_with": "box"}, "process_killed", "reboot", "the box was rebooted"),
        ({"signal": 1}, "process_killed", "hangup", "lost its terminal (SIGHUP)"),
        ({"code": 129}, "process_killed", "hangup", "lost its terminal (SIGHUP)"),
        ({"signal": 9}, "process_killed", "killed", "was killed (SIGKILL)"),
        ({"code": 137}, "process_killed", "killed", "was killed (SIGKILL)"),
        ({"signal": 15}, "sigterm_received", "killed", "was ended from outside (SIGTERM)"),
        ({}, "silent_end", "unknown", "its exit status is not known"),
    ],
)
def test_how_it_went(story: Story, end: dict[str, Any], trouble: str, how: str, words: str) -> None:
    finding = told(story.train(30).end(**end).wait(3))
    assert (finding.trouble, finding.details["how"]) == (trouble, how)
    assert finding.severity is (Severity.WARNING if how == "unknown" else Severity.CRITICAL)
    assert finding.fatal
    assert words in finding.summary
    assert bool(finding.remedy) == (how != "unknown")


@pytest.mark.parametrize("end", [{"signal": 15}, {"signal": 9}, {"code": 143}, {}])
@pytest.mark.parametrize("notice", ["preempted", "slurm_cancelled"])
def test_a_notice_before_the_end(story: Story, end: dict[str, Any], notice: str) -> None:
    story.train(30).says(notice, "the node is taken back in 120 s", fatal=False)
    finding = told(story.train(5).end(**end).wait(3))  # it uses its time of grace
    assert (finding.trouble, finding.details["how"]) == (notice, "preempted")
    assert "taken back" in finding.summary
    assert "copy the newest good checkpoint" in finding.remedy


def test_a_notice_long_ago_is_not_about_this_end(story: Story) -> None:
    story.train(30).says("preempted", "the node is taken back", fatal=False).wait(400)
    finding = told(story.end(signal=9).wait(3))
    assert finding.details["how"] == "killed"


def test_a_bad_status_after_a_notice_is_its_own(story: Story) -> None:
    story.train(30).says("preempted", "the node is taken back", fatal=False)
    finding = told(story.end(1).wait(3))
    assert finding.trouble == "python_exception"
    assert "how" not in finding.details


def test_a_rebooted_box_is_told_before_its_signals(story: Story) -> None:
    story.train(30).says("preempted", "the node is taken back", fatal=False)
    finding = told(story.end(gone_with="box").wait(3))
    assert finding.details["how"] == "reboot"
    assert any("boot id" in e.text for e in finding.evidence)
