"""Processes that the kernel killed for memory."""

from __future__ import annotations

from typing import Any

import pytest

from middlewatch.sentinels.host_oom import Limits
from middlewatch.sentinels.kit import Finding, Severity

from .story import GIB, MAIN, Story


def told(story: Story) -> Finding:
    (finding,) = story.asks("host_oom")
    return finding


def watched(story: Story, kills: int | None = 0, seconds: int = 5, **look: Any) -> Story:
    for _ in range(seconds):
        story.wait(1).memory_look(kills, **look)
    return story


def test_the_trainer(story: Story) -> None:
    watched(story.train(30)).end(signal=9)
    finding = told(watched(story, 1, 1))
    assert (finding.trouble, finding.severity) == ("cgroup_oom_kill", Severity.CRITICAL)
    assert finding.fatal
    assert finding.summary == (
        f"process {MAIN} python was killed because memory ran out (limit 4.0 GiB); "
        "the run has ended"
    )
    assert finding.evidence[0].text == (
        "oom_kill 0 -> 1 in /box (limit 4.0 GiB, working set 1.0 GiB just before)"
    )
    assert finding.evidence[1].text == f"pid {MAIN} python ended by signal 9"


def test_a_worker(story: Story) -> None:
    watched(story.train(30)).end(137, main=False, pid=300, name="pt_data_worker")
    finding = told(watched(story, 1, 3))
    assert (finding.severity, finding.fatal) == (Severity.CRITICAL, False)
    assert "process 300 pt_data_worker was killed" in finding.summary
    assert finding.summary.endswith("; the run itself is still alive")
    assert finding.evidence[1].text.endswith("with status 137")


def test_the_end_may_be_seen_after_the_counter(story: Story) -> None:
    watched(watched(story.train(30)), 1, 1)
    assert story.asks("host_oom") == [], "whether the run lives is not known yet"
    shared = story.wait(2).asks("host_oom", memory_shared=True)
    assert shared == [], "nor that it lost a process at all"
    assert told(story).summary.startswith("a process was killed")
    assert told(story.wait(2).end(main=False, pid=300, name="")).summary.startswith(
        "process 300 was"
    )
    assert told(story.wait(4).end(main=False, pid=301)).key == "oom_kill"


def test_it_is_told_while_the_samples_are_there(story: Story) -> None:
    first = told(watched(watched(story).end(signal=9), 1, 1))
    again = told(watched(story, 1, 60))
    assert (again.key, again.trouble, again.summary) == (first.key, first.trouble, first.summary)


def test_a_stranger_in_the_same_group(story: Story) -> None:
    watched(story.train(30))
    watched(story, 2, 20)
    assert story.asks("host_oom", memory_shared=True) == []
    assert told(story).summary.startswith("a process was killed"), "who else should it concern"
    assert watched(story.end(0), 2, 20).asks("host_oom", memory_shared=True) == []


def test_without_a_limit_it_was_the_whole_box(story: Story) -> None:
    watched(story, limit=None).end(signal=9)
    finding = told(watched(story, 1, 1, limit=None))
    assert finding.trouble == "host_oom_kill"
    assert "(no limit)" in finding.summary


def test_page_cache_at_the_limit(story: Story) -> None:
    assert watched(story.train(30), 0, 120, current=4 * GIB).asks("host_oom") == []


@pytest.mark.parametrize("counts", [(), (3,), (3, 3), (None, None), (None, 3), (3, None), (3, 1)])
def test_counters_that_tell_nothing(story: Story, counts: tuple[int | None, ...]) -> None:
    for count in counts:
        watched(story, count, 1)
    assert story.asks("host_oom") == []


# -- without a counter ----------------------------------------------------------------------


def test_a_full_group_that_went_with_its_counter(story: Story) -> None:
    """A start script removes the group of its training at once."""
    watched(story.train(30), limit=GIB * 11 // 10).wait(1).end(signal=9)
    finding = told(watched(story, limit=None, group="/"))
    assert (finding.trouble, finding.severity, finding.fatal) == (
        "cgroup_oom_kill",
        Severity.CRITICAL,
        True,
    )
    assert finding.summary == (
        f"process {MAIN} python was killed, most likely because memory ran out: its control group had "
        "1.0 GiB of 1.1 GiB in use; the run has ended"
    )
    assert finding.evidence[0].text == "/box: 1.0 GiB of 1.1 GiB in use; the group is gone since"


@pytest.mark.parametrize(
    ("limit", "group", "ends"),
    [
        (4 * GIB, "/", {"signal": 9}),
        (GIB * 11 // 10, "/box", {"signal": 9}),
        (GIB * 11 // 10, "/", {"signal": 15}),
        (GIB * 11 // 10, "/", {"code": 1}),
    ],
    ids=["room left", "still there", "another signal", "an error"],
)
def test_what_says_nothing_of_memory(
    story: Story, limit: int, group: str, ends: dict[str, int]
) -> None:
    watched(story.train(30), limit=limit).wait(1).end(**ends)
    assert (
        watched(story, limit=limit if group == "/box" else None, group=group).asks("host_oom") == []
    )


def test_a_line_of_the_log(story: Story) -> None:
    story.train(30).says("cgroup_oom_kill", "slurmstepd: error: Detected 1 oom-kill event(s)")
    assert story.wait(1.9).asks("host_oom") == [], "the counter knows more"
    finding = told(story.wait(0.2))
    assert (finding.severity, finding.fatal) == (Severity.CRITICAL, False)
    assert told(story.end(1)).fatal


def test_a_line_that_the_run_went_on_after(story: Story) -> None:
    story.says("cgroup_oom_kill").train(30)
    assert story.asks("host_oom") == []


def test_the_kernel_killed_a_process_of_ours(story: Story) -> None:
    story.train(30).says("host_oom_kill", file="kernel", pid=300).wait(3)
    assert story.asks("host_oom") == []
    assert told(story.end(main=False, pid=300)).trouble == "host_oom_kill"


def test_the_kernel_killed_somebody_else(story: Story) -> None:
    story.train(30).says("host_oom_kill", file="kernel", pid=9999).wait(3).end(0)
    assert story.wait(3).asks("host_oom") == []


def test_confirmations_tell_nothing_new(story: Story) -> None:
    story.says("host_oom_kill", "oom_reaper: reaped", severity="info", role="confirmation").wait(9)
    assert story.asks("host_oom") == []


def test_an_old_log(story: Story) -> None:
    story.replayed().train(5).says("cgroup_oom_kill")
    assert (told(story).severity, told(story).fatal) == (Severity.CRITICAL, True)
    finding = told(story.train(2))
    assert (finding.severity, finding.fatal) == (Severity.INFO, False)


def test_settings(story: Story) -> None:
    watched(watched(story), 1, 1).wait(10).end(signal=9)
    assert told(story).fatal
    apart = story.asks("host_oom", Limits(near_s=5), memory_shared=True)
    assert apart == [], "too far apart"
