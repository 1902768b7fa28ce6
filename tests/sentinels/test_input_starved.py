"""Workers that burn CPU while the training waits for them; and everything like it."""

from __future__ import annotations

from middlewatch.sentinels.kit import Finding, Severity

from .story import Story, sample


def told(story: Story) -> Finding:
    (finding,) = story.asks("input_starved")
    return finding


def fed(
    story: Story, seconds: int, cores: float = 0.95, count: int = 2, main: float = 0.0
) -> Story:
    """The trainer burns ``main`` cores, each of its workers ``cores``."""
    for _ in range(seconds):
        cpu_s = cores * story.lived_s
        state = "R" if cores > 0.5 else "S"
        workers = [sample(pid=101 + n, ppid=100, state=state, cpu_s=cpu_s) for n in range(count)]
        story.lives(1, main, 0.0, sample(wchan="poll_schedule_timeout"), *workers)
    return story


def test_silent(story: Story) -> None:
    assert fed(story.train(60), 74).asks("input_starved") == []
    finding = told(fed(story, 1))
    assert (finding.trouble, finding.severity) == ("input_starved", Severity.WARNING)
    assert finding.summary == (
        "the training waits for data: no progress for 75 s; 2 of 2 data workers use 1.9 cores "
        "while the trainer waits"
    )
    assert "poll_schedule_timeout" in finding.evidence[0].text
    assert "py-spy dump --pid 101" in finding.remedy
    assert story.asks("hang") == []


def test_slow(story: Story) -> None:
    story.train(60, 2.0)
    for _ in range(5):
        fed(story, 13).step(0.0)
    finding = told(story)
    assert "a step takes 13 s instead of 2 s" in finding.summary


def test_a_slow_run_of_old(story: Story) -> None:
    """It was never quicker: nothing has changed."""
    for _ in range(40):
        fed(story, 13).step(0.0)
    assert story.asks("input_starved") == []


def test_not_every_step_is_slow(story: Story) -> None:
    story.train(60, 2.0)
    for pause in (30, 2, 30, 2, 3):
        fed(story, pause).step(0.0)
    assert story.asks("input_starved") == []


def test_a_trainer_that_works(story: Story) -> None:
    assert fed(story.train(60), 100, main=0.5).asks("input_starved") == []


def test_a_gpu_that_works(story: Story) -> None:
    fed(story.train(60), 80).gpu(0, util_ratio=0.9)
    assert story.asks("input_starved") == []
    story.gpus = {}
    assert len(story.gpu(0, util_ratio=0.0).asks("input_starved")) == 1
    story.gpus = {}
    assert len(story.gpu(0, util_ratio=None).asks("input_starved")) == 1


def test_workers_that_sleep(story: Story) -> None:
    assert fed(story.train(60), 100, cores=0.0).asks("input_starved") == []


def test_compilers_and_shells_are_no_workers(story: Story) -> None:
    story.train(60)
    for second in range(100):
        child = sample(pid=101, ppid=100, name="cicc", state="R", cpu_s=0.9 * second)
        story.lives(1, 0.0, 0.0, sample(), child)
    assert story.asks("input_starved") == []


def test_a_young_run_and_one_that_ended(story: Story) -> None:
    assert fed(story.train(5), 300).asks("input_starved") == []
    story = fed(Story().train(60), 100)
    assert len(story.asks("input_starved")) == 1
    assert story.end(0).asks("input_starved") == []
