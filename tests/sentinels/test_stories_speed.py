"""Runs that become slow, in the words of many programs, and healthy ones that only look it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from .writers import WRITERS, Curve, clock, warned

TELL_TIMES = (
    "megatron",
    "deepspeed",
    "nanogpt",
    "mmengine",
    "detectron2",
    "timm",
    "tf_slim",
    "litgpt",
    "llm_c",
    "paddle",
    "nemo",
    "maskrcnn",
    "tqdm",
    "lightning",
    "ranks",
)
"""Writers that print how long a step takes."""


def times(*parts: tuple[int, float], noise: float = 0.05, seed: int = 1) -> list[float]:
    """Step times: so many, of so many seconds."""
    chance = random.Random(seed)
    return [mean * (1 + noise * chance.random()) for count, mean in parts for _ in range(count)]


def run(seconds: list[float], every: int = 10) -> Curve:
    return Curve([2.3 - 0.001 * i for i in range(len(seconds))], seconds=seconds, every=every)


@pytest.mark.parametrize("name", TELL_TIMES)
@pytest.mark.parametrize(
    ("seconds", "slow_at"),
    [
        (times((12, 0.3), (10, 4.1)), 12),
        (times((1, 31.0), (20, 0.3), (9, 3.6)), 21),
        (times((100, 0.3), (60, 2.4)), 100),
        (times((150, 1.3), (80, 17.0)), 150),
    ],
    ids=["short", "short, after compiling", "long", "very slow"],
)
def test_slow_from_some_report_on(name: str, seconds: list[float], slow_at: int) -> None:
    text = WRITERS[name](run(seconds))
    told = warned(text)
    assert list(told) == ["throughput_collapse"]
    at = len(WRITERS[name](run(seconds[: slow_at + 1])).splitlines())
    assert at - 4 <= told["throughput_collapse"] <= at + 60


STEADY = {
    "excerpt": times((6, 0.3)),
    "steady": times((200, 0.3)),
    "compiling": times((1, 140.0), (60, 0.3)),
    "slow warm-up": times((10, 6.0), (100, 0.3)),
    "one pause": times((30, 0.3), (1, 90.0), (30, 0.3)),
    "a pause now and then": [s for _ in range(20) for s in times((9, 0.3), (1, 40.0))],
    "saves of three reports": [s for _ in range(10) for s in times((20, 0.3), (3, 12.0))],
    "a bar that forgets": [
        *times((20, 0.3)),
        *(60 * 0.7**i + 0.3 for i in range(20)),
        *times((20, 0.3)),
    ],
    "twice as slow": times((60, 0.3), (60, 0.62)),
    "longer sequences": times((60, 0.3), (60, 0.9)),
    "noisy": times((100, 0.3), noise=4.0),
    "ends slow, once": times((40, 0.3), (2, 8.0)),
    "faster and faster": [3.0 * 0.97**i for i in range(120)],
}


@pytest.mark.parametrize("name", TELL_TIMES)
def test_healthy(name: str) -> None:
    told = {story: warned(WRITERS[name](run(seconds))) for story, seconds in STEADY.items()}
    assert {story: classes for story, classes in told.items() if classes} == {}


# ------------------------------------------------------------ by the times that the lines tell

FORMS = {
    "python logging": "2026-02-{day:02d} {time},123 - root - INFO - step {n}: loss {loss:.4f}, lr 3e-4",
    "loguru": "2026-02-{day:02d} {time}.123 | INFO     | train:loop:88 - step {n} loss {loss:.4f}",
    "absl": "I02{day:02d} {time}.123456 140 train.py:112] step: {n}, loss: {loss:.4f}",
    "brackets": "[02/{day:02d} {time}] step {n} loss {loss:.4f}",
    "time of day": "{time} step {n} loss {loss:.4f}",
    "ranks": "[rank0]:[2026-02-{day:02d} {time}] step {n} loss {loss:.4f}",
    "slashes": "2026/02/{day:02d} {time} - mmengine - INFO - Iter(train) [{n:5d}/90000]  lr: 1.0e-02  loss: {loss:.4f}",
}


def stamped(form: str, gaps: Sequence[float], begin: int = 9 * 3600, between: str = "") -> str:
    """A report after each gap, in seconds; ``between`` is said before the last."""
    now, lines = float(begin), []
    for i, gap in enumerate([0.0, *gaps]):
        now += gap
        if between and i == len(gaps):
            lines.append(between)
        lines.append(
            form.format(
                day=3 + int(now // 86400),
                time=clock(0, 0) if now < 0 else _time(now),
                n=100 * (i + 1),
                loss=2.3 - 0.01 * i,
            )
        )
    return "\n".join(lines) + "\n"


def _time(now: float) -> str:
    s = int(now) % 86400
    return f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}"


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize("begin", [9 * 3600, 23 * 3600 + 3400], ids=["by day", "over midnight"])
def test_a_hole_before_the_last_report(form: str, begin: int) -> None:
    text = stamped(FORMS[form], [121, 119, 124, 122, 6800], begin)
    assert warned(text) == {"throughput_collapse": 6}


@pytest.mark.parametrize("form", list(FORMS))
def test_reports_come_ever_later(form: str) -> None:
    text = stamped(FORMS[form], [30] * 14 + [400] * 10)
    assert list(warned(text)) == ["throughput_collapse"]


HEALTHY_GAPS = {
    "steady": ([120] * 6, ""),
    "a quarter of an hour": ([120] * 30 + [900], ""),
    "went on": ([120] * 30 + [7000] + [120] * 10, ""),
    "evaluation": ([120, 120, 7000], "***** Running Evaluation *****"),
    "save": ([120, 120, 120, 7000], "Saving model checkpoint to /data/out/checkpoint-400"),
    "new run": ([120, 120, 120, 90000], "***** Running training *****"),
    "evaluated": ([120, 120, 120, 7000], "epoch 3: {'eval_loss': 2.1, 'step': 350}"),
    "irregular": ([120, 5, 1200, 30, 900, 2400], ""),
    "two": ([7000], ""),
    "slower": ([30] * 40 + [95] * 40, ""),
}


@pytest.mark.parametrize("form", list(FORMS))
def test_healthy_times(form: str) -> None:
    told = {
        story: warned(stamped(FORMS[form], gaps, between=between))
        for story, (gaps, between) in HEALTHY_GAPS.items()
    }
    assert {story: classes for story, classes in told.items() if classes} == {}
