"""Processes in state D: a mount that is gone, and writers that are merely busy."""

from __future__ import annotations

from middlewatch.sentinels.kit import Finding, Severity

from .story import MIB, Story, sample, samples


def told(story: Story) -> Finding:
    (finding,) = story.asks("storage_stall")
    return finding


def test_a_dead_mount(story: Story) -> None:
    story.train(60).idle(74, *samples("D", wchan="rpc_wait_bit_killable"))
    assert story.asks("storage_stall") == []
    finding = told(story.idle(1, *samples("D", wchan="rpc_wait_bit_killable")))
    assert (finding.trouble, finding.severity) == ("storage_stall", Severity.CRITICAL)
    assert "(state D): 100 (rpc_wait_bit_killable)" in finding.summary
    assert "no signals" in finding.remedy
    assert finding.details["wchan"] == "rpc_wait_bit_killable"
    assert "state D in every look of 16 s" in finding.evidence[0].text


def test_a_kernel_function_that_is_not_known(story: Story) -> None:
    finding = told(story.train(60).idle(80, *samples("D")))
    assert "100 (python)" in finding.summary
    assert "an unknown kernel function" in finding.evidence[0].text


def test_one_rank_waits_for_a_mount_and_the_others_spin(story: Story) -> None:
    ranks = (sample(), sample(pid=201, state="D"))
    story.train(60).lives(100, 1.0, 0.0, *ranks)
    assert story.asks("storage_stall") == []
    assert "(state D): 201 (python)" in told(story.lives(30, 1.0, 0.0, *ranks)).summary


def test_writers_are_in_state_d_most_of_the_time(story: Story) -> None:
    story.train(60).lives(100, 0.0, 30 * MIB, *samples("D"))
    assert story.asks("storage_stall") == []


def test_two_of_three_looks(story: Story) -> None:
    story.train(60).idle(70, *samples("D")).idle(1, *samples("S")).idle(9, *samples("D"))
    assert story.asks("storage_stall") == []


def test_steps_that_go_on(story: Story) -> None:
    for _ in range(90):
        story.step(0.0).idle(1, *samples("D"))
    assert story.asks("storage_stall") == []


def test_an_announced_save_has_its_time(story: Story) -> None:
    story.train(60).phase("save").idle(200, *samples("D"))
    assert story.asks("storage_stall") == []


def test_no_processes_no_verdict(story: Story) -> None:
    assert story.train(60).wait(300).asks("storage_stall") == []
    story.idle(80, *samples("D"))
    assert len(story.asks("storage_stall")) == 1
    assert story.end(1).asks("storage_stall") == []
    story.endings.clear()
    assert story.replayed().asks("storage_stall") == []
