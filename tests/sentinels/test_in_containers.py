"""Runs in containers, by what their engine says: paused, killed for memory, ended by a command."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

import pytest

from middlewatch.daemon.jobs.kubernetes_watch import SAID
from middlewatch.sentinels.kit import ContainerSeen, Finding, Severity
from middlewatch.sentinels.kit.container import FRESH_S
from middlewatch.sentinels.kit.recovery import OpenIncident
from middlewatch.sentinels.kit.taken_away import SIGNATURE
from middlewatch.sentinels.stopped import PAUSE, SENTINEL

from .story import MAIN, MIB, Story, samples


def box(story: Story, **more: Any) -> ContainerSeen:
    return ContainerSeen(story.now, "gpt", **{"status": "running", **more})


def paused(story: Story, since_s: float) -> ContainerSeen:
    return box(story, status="paused", paused_at=story.now - since_s)


def only(findings: list[Finding]) -> Finding:
    (finding,) = findings
    return finding


# -- paused ----------------------------------------------------------------------------------


def test_a_paused_container_is_told_with_the_command_that_ends_the_pause(story: Story) -> None:
    story.train(30)
    assert story.asks("stopped", container=paused(story, 9)) == []
    finding = only(story.asks("stopped", container=paused(story, 10)))
    assert (finding.trouble, finding.severity, finding.key) == ("stopped", Severity.CRITICAL, PAUSE)
    assert finding.summary == (
        "its container gpt is paused (docker pause) for 10 s: nothing in it runs"
    )
    assert finding.remedy == "ask who paused it; then let it go on: `docker unpause gpt`"
    assert finding.since == story.now - 10
    assert not finding.fatal


@pytest.mark.parametrize("state", ["D", "S"])
def test_frozen_processes_are_no_hang_and_no_dead_disk(story: Story, state: str) -> None:
    """cgroup v1 shows them in state D, v2 in state S."""
    story.train(40).idle(300, *samples(state, wchan="hrtimer_nanosleep"))
    told = {"D": "storage_stall", "S": "hang"}[state]
    assert story.asks(told) != [], "or this proves nothing"
    seen = paused(story, 300)
    assert story.asks(told, container=seen) == []
    assert only(story.asks("stopped", container=seen)).key == PAUSE


def test_the_word_of_a_silent_engine_grows_old(story: Story) -> None:
    seen = paused(story.train(30), 60)
    story.wait(FRESH_S + 1)
    assert story.asks("stopped", container=seen) == []


def test_a_run_that_has_ended_is_not_paused(story: Story) -> None:
    seen = paused(story.train(30).end(137), 60)
    assert story.asks("stopped", container=seen) == []


@pytest.mark.parametrize(
    ("status", "later_s", "words"),
    [
        ("running", 1, "the container gpt runs again"),
        ("running", 0, ""),
        ("paused", 1, ""),
        ("exited", 1, ""),
        ("removed", 1, ""),
    ],
)
def test_it_is_over_when_it_is_seen_to_run(
    story: Story, status: str, later_s: float, words: str
) -> None:
    case = OpenIncident("stopped", PAUSE, story.now - 60, story.now, {"container": "gpt"})
    view = story.wait(later_s).view(container=box(story, status=status))
    assert SENTINEL.recovered is not None
    assert SENTINEL.recovered(view, SENTINEL.limits, case) == words


def test_a_process_that_was_stopped_is_not_well_because_its_container_runs(story: Story) -> None:
    story.idle(30, *samples("T"))
    case = OpenIncident("stopped", "", story.now - 60, story.now - 5, {"pids": [MAIN]})
    assert SENTINEL.recovered is not None
    assert SENTINEL.recovered(story.view(container=box(story)), SENTINEL.limits, case) == ""


# -- killed for memory -------------------------------------------------------------------------


def killed(story: Story, *, limit: int | None = 512 * MIB, ago_s: float = 0.2) -> ContainerSeen:
    return box(
        story,
        status="exited",
        oom_at=story.now - ago_s,
        ended_at=story.now - ago_s,
        exit_code=137,
        limit_bytes=limit,
    )


def test_the_engine_proves_a_kill_where_the_counter_is_gone(story: Story) -> None:
    story.train(30).memory_look(None, limit=None).end(137)
    seen = killed(story.wait(3), ago_s=3.2)
    finding = only(story.asks("host_oom", container=seen))
    assert (finding.trouble, finding.fatal) == ("cgroup_oom_kill", True)
    assert finding.summary == (
        f"process {MAIN} python in container gpt was killed because memory ran out "
        "(limit 512.0 MiB); the run has ended"
    )
    assert finding.evidence[0].text == "docker: container gpt was OOMKilled"
    assert finding.details["container"] == "gpt"
    assert story.asks("crash", container=seen) == [], "one trouble, one finding"


def test_without_a_limit_it_is_the_memory_of_the_host(story: Story) -> None:
    story.train(30).end(signal=9)
    seen = killed(story.wait(3), limit=None, ago_s=3.2)
    assert only(story.asks("host_oom", container=seen)).trouble == "host_oom_kill"


def test_a_worker_killed_long_before_the_end_is_not_its_cause(story: Story) -> None:
    story.train(30).end(137)
    seen = killed(story.wait(3), ago_s=600)
    assert story.asks("host_oom", container=seen) == []
    assert only(story.asks("crash", container=seen)).trouble == "process_killed"


def test_a_program_that_fails_itself_was_not_killed(story: Story) -> None:
    story.train(30).end(1)
    seen = killed(story.wait(3), ago_s=3.2)
    assert story.asks("host_oom", container=seen) == []


def test_a_counted_kill_names_the_container(story: Story) -> None:
    story.train(30).memory_look(0).wait(1).end(137).memory_look(1)
    finding = only(story.asks("host_oom", container=box(story)))
    assert "python in container gpt was killed" in finding.summary
    assert finding.evidence[0].text.startswith("oom_kill 0 -> 1")


# -- ended by a command --------------------------------------------------------------------------


def stopped(story: Story, by: str = "docker stop", ago_s: float = 3.0) -> ContainerSeen:
    return box(story, status="exited", ended_by=by, ended_at=story.now - ago_s)


@pytest.mark.parametrize(
    ("code", "signal", "by", "trouble", "words"),
    [
        (
            137,
            None,
            "docker stop",
            "process_killed",
            "was killed (SIGKILL) through `docker stop gpt`",
        ),
        (
            None,
            9,
            "docker kill",
            "process_killed",
            "was killed (SIGKILL) through `docker kill gpt`",
        ),
        (
            143,
            None,
            "docker stop",
            "sigterm_received",
            "ended from outside (SIGTERM) through `docker",
        ),
        (
            1,
            None,
            "docker restart",
            "python_exception",
            "exit status 1 through `docker restart gpt`",
        ),
    ],
)
def test_who_ended_it_is_told(
    story: Story, code: int | None, signal: int | None, by: str, trouble: str, words: str
) -> None:
    story.train(30).end(code, signal)
    finding = only(story.wait(3).asks("crash", container=stopped(story, by)))
    assert finding.trouble == trouble
    assert words in finding.summary
    if trouble != "python_exception":
        assert finding.remedy == f"ask who typed `{by} gpt`: `last`, the shell history"
        assert finding.details["how"] == "killed"


def test_a_kill_by_nobody_is_told_as_before(story: Story) -> None:
    story.train(30).end(137).wait(3)
    seen = box(story, status="exited", exit_code=137, ended_at=story.now - 3)
    assert "`docker" not in only(story.asks("crash", container=seen)).summary


def test_an_earlier_stop_is_no_cause_of_this_end(story: Story) -> None:
    story.train(30).end(137).wait(3)
    assert "`docker" not in only(story.asks("crash", container=stopped(story, ago_s=90))).summary


def test_a_stop_that_the_program_obeyed(story: Story) -> None:
    story.run(expected_steps=400).train(30).end(0).wait(3)
    finding = only(story.asks("silent_end", container=stopped(story)))
    assert finding.summary == (
        "the run ended at step 30 of 400 with exit status 0 through `docker stop gpt`"
    )


def test_a_stop_whose_status_nobody_saw(story: Story) -> None:
    story.run(expected_steps=400).train(30).end().wait(3)
    finding = only(story.asks("silent_end", container=stopped(story)))
    assert finding.summary == "the run was ended by `docker stop gpt` at step 30 of 400"


# -- taken away --------------------------------------------------------------------------------------


def taken(story: Story, ago_s: float, **more: Any) -> ContainerSeen:
    return box(story, preempted_at=story.now - ago_s, **more)


def test_a_container_that_is_taken_away_is_told_while_it_saves(story: Story) -> None:
    story.train(30)
    finding = only(story.asks("crash", container=taken(story, 1)))
    assert (finding.trouble, finding.severity) == ("preempted", Severity.CRITICAL)
    assert finding.summary == (
        "its container is taken away: it got SIGTERM, and has little time to save"
    )
    assert "container gpt" in finding.evidence[0].text
    assert finding.since == story.now - 1
    assert not finding.fatal


@pytest.mark.parametrize(("code", "signal"), [(143, None), (137, None), (None, 9), (None, 15)])
def test_its_end_is_the_same_trouble(story: Story, code: int | None, signal: int | None) -> None:
    story.train(30)
    first = only(story.asks("crash", container=taken(story, 1)))
    story.wait(5).end(code, signal).wait(3)
    seen = taken(story, 9, status="exited", ended_by="docker stop", ended_at=story.now - 3)
    finding = only(story.asks("crash", container=seen))
    assert (finding.trouble, finding.fatal) == ("preempted", True)
    assert first.key in finding.replaces
    assert "ask who typed" not in finding.remedy


def test_one_that_goes_on_was_not_taken_away(story: Story) -> None:
    story.train(30)
    seen = taken(story, 0)
    key = only(story.asks("crash", container=seen)).key
    story.train(400)
    assert story.asks("crash", container=seen) == []
    case = OpenIncident("preempted", key, story.now - 400, story.now - 100)
    crash = importlib.import_module("middlewatch.sentinels.crash").SENTINEL
    assert crash.recovered(story.view(container=seen), crash.limits, case).startswith(
        "training went on"
    )


def test_a_pod_says_it_in_its_log(story: Story) -> None:
    story.train(30).says("preempted", SAID["MW_ON_SIGTERM"])
    story.events[-1] = dataclasses.replace(story.events[-1], signature=SIGNATURE)
    assert only(story.asks("crash")).key == only(story.asks("crash", container=taken(story, 1))).key
