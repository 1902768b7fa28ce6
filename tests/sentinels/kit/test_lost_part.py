"""A worker that is gone for good while the rest of the program goes on."""

from __future__ import annotations

from typing import Any

import pytest

from middlewatch.sentinels.kit import Severity

from ..story import Story, sample

MAIN = sample(cpu_s=9.0)


def worker(pid: int = 200, **fields: Any) -> Any:
    return sample(**{"pid": pid, "start_ticks": 8 + pid, "ppid": MAIN.pid, **fields})


def goes_on(story: Story, seconds: int, *workers: Any) -> Story:
    """Steps and looks at the processes, once a second."""
    for _ in range(seconds):
        story.lives(1, 0.5, None, MAIN, *workers).step(0.0)
    return story


def test_an_actor_dies_and_the_learner_goes_on(story: Story) -> None:
    goes_on(story, 30, worker())
    story.says("python_exception", "ValueError: bad action", exception="ValueError")
    story.end(1, main=False, pid=200)
    assert goes_on(story, 40).asks("crash") == [], "another one may still take its place"
    (finding,) = goes_on(story, 10).asks("crash")
    assert (finding.trouble, finding.key) == ("python_exception", "part")
    assert finding.severity is Severity.WARNING
    assert "process 200" in finding.summary
    assert "no other took its place" in finding.summary


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        ({"signal": 9}, "process_killed"),
        ({"signal": 11}, "segfault"),
        ({"code": 3}, "python_exception"),
    ],
)
def test_without_a_word_in_the_log(story: Story, status: Any, trouble: str) -> None:
    goes_on(story, 30, worker(), worker(201)).end(main=False, pid=200, **status)
    (finding,) = goes_on(story, 50, worker(201)).asks("crash")
    assert finding.trouble == trouble


def test_another_one_in_its_place(story: Story) -> None:
    goes_on(story, 30, worker()).end(1, main=False, pid=200)
    assert goes_on(story, 50, worker(300)).asks("crash") == []


@pytest.mark.parametrize("status", [{"code": 0}, {"signal": 15}, {}])
def test_a_good_end_or_an_unknown_one(story: Story, status: Any) -> None:
    goes_on(story, 30, worker()).end(main=False, pid=200, **status)
    assert goes_on(story, 50).asks("crash") == []


def test_a_short_command(story: Story) -> None:
    goes_on(story, 30)
    goes_on(story, 5, worker()).end(1, main=False, pid=200)
    assert goes_on(story, 50).asks("crash") == []


@pytest.mark.parametrize("other", [{"name": "rsync"}, {"ppid": 1}])
def test_another_program_or_one_that_a_shell_started(story: Story, other: Any) -> None:
    goes_on(story, 30, worker(**other)).end(1, main=False, pid=200)
    assert goes_on(story, 50).asks("crash") == []


def test_the_rest_makes_no_steps(story: Story) -> None:
    goes_on(story, 30, worker()).end(1, main=False, pid=200)
    story.lives(50, 0.5, None, MAIN)
    assert story.asks("crash") == []


def test_a_worker_whose_parent_is_gone_as_well(story: Story) -> None:
    middle = sample(pid=150, start_ticks=9, ppid=MAIN.pid)
    goes_on(story, 30, middle, worker(ppid=150)).end(1, main=False, pid=200)
    assert goes_on(story, 50).asks("crash") == []


@pytest.mark.parametrize("shell", ["python", "bash"])
@pytest.mark.parametrize(("trials", "told"), [(6, True), (2, False)])
def test_a_worker_of_a_search(story: Story, trials: int, told: bool, shell: str) -> None:
    main = sample(name=shell)
    for n in range(30):
        story.lives(1, 0.5, None, main, worker(), worker(201)).grow()
        if n < trials:
            story.phase("trial")
    story.end(1, main=False, pid=200)
    for _ in range(50):
        story.lives(1, 0.5, None, main, worker(201)).grow()
    assert bool(story.asks("crash")) is told, "a process that ran a single trial fails with it"


@pytest.mark.parametrize(
    ("number", "cores", "told"), [(9, 0.0, True), (15, 0.0, False), (9, 0.4, False)]
)
def test_a_worker_is_killed_and_all_others_wait_for_it(
    story: Story, number: int, cores: float, told: bool
) -> None:
    """No log, no steps: a learner sits in the queue of the one that is gone."""
    story.lives(40, 0.5, None, MAIN, worker(), worker(201))
    story.end(main=False, pid=200, signal=number)
    story.lives(60, cores, None, MAIN, worker(201))
    found = story.asks("crash")
    assert bool(found) is told
    for finding in found:
        assert (finding.trouble, finding.severity) == ("process_killed", Severity.CRITICAL)
        assert finding.summary.endswith("and nothing of the run computes since")


def test_workers_that_end_with_a_status_of_their_own_are_recycled(story: Story) -> None:
    goes_on(story, 30, worker(200), worker(201)).end(17, main=False, pid=200, name="python")
    goes_on(story, 30, worker(201), worker(202)).end(17, main=False, pid=201, name="python")
    assert goes_on(story, 50, worker(202)).asks("crash") == []


def test_a_function_of_a_script_is_no_worker(story: Story) -> None:
    """``serve & … kill $(cat tracker.pid)``: a server beside the training is begun anew."""
    script = sample(name="bash", cpu_s=0.1)
    trainer, server = worker(201, name="python", cpu_s=9.0), worker(name="bash")
    for seconds, *beside in ((30, trainer, server), (50, trainer)):
        for _ in range(seconds):
            story.lives(1, 0.5, None, script, *beside).step(0.0)
        if server in beside:
            story.end(143, main=False, pid=200)
    assert story.asks("crash") == []
