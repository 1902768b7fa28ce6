"""What holds for every sentinel, also for those that are not written yet."""

from __future__ import annotations

import re
import sys
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace

import pytest
from hypothesis import example, given

from middlewatch.daemon.system.jsonlines import dumps
from middlewatch.sentinels.kit import (
    Finding,
    RunFacts,
    Sentinel,
    Severity,
    View,
    discover,
    handbook,
)
from middlewatch.sentinels.kit.classes import DECIDED_BY_NUMBERS, ROWS
from middlewatch.sentinels.kit.handbook import LABELS

from .story import BOXES, GIB, MIB, Story, sample, samples
from .views import CLASSES, views

SENTINELS = discover()
BOOK = handbook()

names = pytest.mark.parametrize("name", SENTINELS)
boxes = pytest.mark.parametrize("story", BOXES, indirect=True)
"""The history of a run in tuples (a replayed log) and in deques (the daemon)."""


@pytest.fixture
def story(request: pytest.FixtureRequest) -> Story:
    return Story(BOXES[getattr(request, "param", "deque")])


# -- the page of the handbook ------------------------------------------------------------------


def source(name: str) -> str:
    """The docstring of the module."""
    return sys.modules[SENTINELS[name].check.__module__].__doc__ or ""


@names
def test_the_page_is_whole(name: str) -> None:
    """How it decides; what to do is on the pages of its classes."""
    entry = BOOK[name]
    assert set(entry.sections) == set(LABELS)
    assert all(entry.sections.values())
    assert not re.search(r"^(Symptom|Confirm|Cause|Remedy|Not|Retry):", source(name), re.MULTILINE)
    assert re.fullmatch(r"[A-Z].*\.", entry.title)
    assert len(entry.title) < 120


@names
def test_it_speaks_the_vocabulary(name: str) -> None:
    assert BOOK[name].classes
    assert set(BOOK[name].classes) <= ROWS.keys()


def test_every_class_of_the_parsers_has_a_sentinel() -> None:
    assert set(CLASSES) <= {trouble for entry in BOOK.values() for trouble in entry.classes}


@names
def test_its_limits_are_numbers_with_defaults(name: str) -> None:
    limits = SENTINELS[name].limits
    assert is_dataclass(limits)
    assert not isinstance(limits, type)
    assert replace(limits) == limits
    assert all(isinstance(getattr(limits, f.name), (int, float, str)) for f in fields(limits))


@names
def test_its_name_is_that_of_its_module(name: str) -> None:
    sentinel = SENTINELS[name]
    assert sentinel.name == name
    assert sentinel.check.__module__.endswith(f".sentinels.{name}")
    assert sentinel.on
    assert sentinel.clears_after_s > 0


# -- any view ----------------------------------------------------------------------------------


UNSAFE = re.compile(
    r"\b(?:kill(?! -CONT)|end it|end the|then|restart|start|stop|resume|remove|delete|reset|reboot"
    r"|unmount|umount|lower|raise)\b",
    re.IGNORECASE,
)
"""A first step of a finding is announced as safe: it looks, keeps, asks or continues."""


def well_formed(name: str, findings: list[Finding]) -> None:
    for finding in findings:
        assert not UNSAFE.search(finding.remedy), finding.remedy
        assert finding.trouble in BOOK[name].classes
        assert isinstance(finding.severity, Severity)
        assert 0 < len(finding.summary) <= 300
        assert finding.summary.splitlines() == [finding.summary]
        assert all(isinstance(e.text, str) and e.text for e in finding.evidence)
        dumps(dict(finding.details))
        dumps(finding.summary)
        # What a person has ended is over, and nobody is told of it as of a trouble.
        assert not finding.fatal or finding.severity > Severity.INFO or finding.key == "end"
    keys = Counter((f.key, f.trouble) for f in findings)
    assert all(count == 1 for count in keys.values()), "one trouble is one finding"


@given(view=views)
@example(view=View(0.0, RunFacts("", 0.0, 0.0)))
def test_any_view(view: View) -> None:
    for name, sentinel in SENTINELS.items():
        findings = sentinel(view)
        well_formed(name, findings)
        assert sentinel(view) == findings or "nan" in repr(findings), "no memory, no chance"


@names
@pytest.mark.parametrize("live", [True, False])
def test_an_empty_view(name: str, live: bool) -> None:
    assert SENTINELS[name](View(1e9, RunFacts("run", 1e9, 1e9), live=live)) == []


# -- healthy runs ------------------------------------------------------------------------------


def healthy(story: Story) -> Story:
    """Twenty minutes of a run of two ranks that evaluates and saves every two."""
    ranks = (sample(), sample(pid=101, rank=0), sample(pid=102, rank=1))
    for _ in range(10):
        for _ in range(50):
            story.lives(1, 0.8, 9e6, *ranks).step(1.0, lr=3e-4, grad_norm=0.7, total=90_000)
            story.gpu(0).gpu(1).memory_look(0, current=4 * GIB).disk(90 * GIB)
        assert_quiet(story)
        story.phase("evaluate").lives(15, 1.0, 0.0, *ranks).step(eval_loss=2.1)
        story.phase("save").claim().saved(2 * GIB).disk(90 * GIB)
    story.source("nvml", "ok", 900).source("kernel_log", "unsupported", 900)
    return story


def assert_quiet(story: Story) -> None:
    said = [f for f in story.all() if f.severity is not Severity.INFO]
    assert said == []


@boxes
def test_a_healthy_run(story: Story) -> None:
    healthy(story)
    assert story.all() == []
    assert story.step(number=90_000, total=90_000).end(0).wait(9).all() == []


@boxes
def test_a_healthy_run_as_an_old_log(story: Story) -> None:
    assert healthy(story.replayed()).all() == []


def sleeping_evaluation(story: Story) -> None:
    story.phase("evaluate").idle(90)


def busy_evaluation(story: Story) -> None:
    story.lives(90, 0.9, 0.0)


def long_save(story: Story) -> None:
    story.lives(240, 0.01, 50 * MIB, *samples("D"))


def log_flood(story: Story) -> None:
    for _ in range(2000):
        story.grow()
    story.step(0.1)


def rotation(story: Story) -> None:
    story.line = 0
    story.train(5)


def btrfs(story: Story) -> None:
    story.disk(90 * GIB, inodes=None, fstype="btrfs").disk(
        5 * GIB, mount="/", inodes=(0, 0), fstype="overlay", holds=("cwd",)
    )


def one_nan(story: Story) -> None:
    story.says("overflow_skip", severity="info", fatal=False)
    story.step(train_loss=float("nan"), grad_norm=float("inf")).step(grad_norm=1.0)


def handled_oom(story: Story) -> None:
    story.says("cuda_oom")
    story.lives(12, 0.8, 0.0).train(2)


def handled_traceback(story: Story) -> None:
    story.says("python_exception", exception="ImportError").train(2)


def page_cache(story: Story) -> None:
    for _ in range(30):
        story.memory_look(0, current=4 * GIB).step()


def nvml_restarts(story: Story) -> None:
    story.source("nvml", "failed", 5)


def stranger_killed(story: Story) -> None:
    story.says("host_oom_kill", file="kernel", pid=4711)


def block_buffer(story: Story) -> None:
    for _ in range(4):
        story.lives(70, 0.5, 0.0).train(60, 0.0)


@pytest.mark.parametrize(
    "happens",
    [
        sleeping_evaluation,
        busy_evaluation,
        long_save,
        log_flood,
        rotation,
        btrfs,
        one_nan,
        handled_oom,
        handled_traceback,
        page_cache,
        nvml_restarts,
        stranger_killed,
        block_buffer,
    ],
)
def test_things_that_happen_to_healthy_runs(story: Story, happens: Callable[[Story], None]) -> None:
    story.train(40, grad_norm=1.0, lr=3e-4).disk(90 * GIB).idle(1)
    happens(story)
    assert_quiet(story)


def test_a_restart_of_the_watch(story: Story) -> None:
    """The marks are restored; what happened meanwhile, and what is to come, is unknown."""
    story.train(60).wait(3600).idle(40).disk(90 * GIB).memory_look(3)
    story.steps, story.phases = [], []
    for name in SENTINELS:
        assert story.asks(name, gap_s=40.0) == []


# -- troubles ----------------------------------------------------------------------------------

TROUBLES: dict[str, Callable[[Story], Story]] = {
    "nan_loss": lambda s: s.train(2, train_loss=float("nan")),
    "traceback": lambda s: s.says("python_exception").end(1).wait(3),
    "stuck after an error": lambda s: s.says("python_exception").idle(40),
    "kill -9": lambda s: s.end(signal=9).wait(3),
    "exit 0": lambda s: s.step(total=10_000).end(0).wait(3),
    "SIGSTOP": lambda s: s.idle(15, *samples("T")),
    "deadlock": lambda s: s.idle(80),
    "OOM kill": lambda s: s.memory_look(0).end(signal=9).wait(3).memory_look(1),
    "CUDA OOM": lambda s: s.says("cuda_oom").end(1).wait(3),
    "full disk": lambda s: s.says("ckpt_write_failed").disk(0).wait(3),
    "no inodes": lambda s: s.disk(GIB, inodes=(0, 999)),
    "lost GPU": lambda s: s.gpu(lost=True).wait(1).gpu(lost=True),
    "blind": lambda s: s.source("nvml", "stalled", 60),
}


@boxes
@pytest.mark.parametrize("trouble", TROUBLES)
def test_the_same_trouble_has_the_same_key_a_minute_later(story: Story, trouble: str) -> None:
    TROUBLES[trouble](story.train(30))
    before = keys(story)
    assert before
    if story.looks and not story.endings:
        story.idle(60, *story.looks[-1].processes)
    else:
        story.wait(60)
    assert before <= keys(story)


def keys(story: Story) -> set[tuple[str, str]]:
    said = {name: story.asks(name) for name in SENTINELS}
    for name, findings in said.items():
        well_formed(name, findings)
    return {(name, finding.key) for name, findings in said.items() for finding in findings}


@pytest.mark.parametrize("code", [None, 0, 1])
def test_no_run_dies_in_silence(code: int | None) -> None:
    """Whatever a log said last, an end that was not planned is told."""
    told = {}
    for trouble in sorted(ROWS):
        story = Story(deque).train(30, total=10_000).says(trouble).end(code).wait(3)
        said = story.all()
        told[trouble] = max(f.severity for f in said) if any(f.fatal for f in said) else None
    wanted = {trouble: row.severity for trouble, row in ROWS.items()}
    if code is None:  # only what was seen is known: no line explains the end
        wanted |= dict.fromkeys(DECIDED_BY_NUMBERS, Severity.WARNING)
    assert told == wanted


def test_a_rule_can_be_asked_with_other_limits() -> None:
    asked = []

    def check(view: View, limits: int) -> list[Finding]:
        asked.append(limits)
        return []

    rule = Sentinel(check, 1, on=())
    rule(View(0.0, RunFacts("run", 0.0, 0.0)))
    rule(View(0.0, RunFacts("run", 0.0, 0.0)), 2)
    assert asked == [1, 2]
