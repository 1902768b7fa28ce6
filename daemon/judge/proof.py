"""Whether a program that was found by how it looks has shown that it trains.

A server, an evaluation and a training look alike from outside: a framework in memory, a GPU in use.
What only a training shows is that it learns: a learning rate, the norm of a gradient, a loss at
numbered steps, the state of an optimizer in what it saves, or its own words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from middlewatch.sentinels.kit.numbers import median

from .history import RunHistory

STEPS = 2
"""Reports of a training loss at different steps: one may be the result of a test."""
REWARDS = 5
"""The same for rewards: a program that plays a few episodes with a finished policy has some, too."""
LEARNT = 20
"""Reports at growing steps over which a measure must fall to show that something is learnt. Our choice: the
results of a test neither come in such numbers nor fall."""
FELL = 0.8
"""Part of its first third to which the last third of such a measure must have fallen (medians); the third
between them must lie between them, as noise rarely does."""
_PACE = re.compile(r"(?i)time|sec|eta|_s$|mem|bytes|rate|left|remain|per_|/s|speed|acc|size|count")
ROUNDS = 3
"""The same for rounds of boosting: a prediction has none."""
_REWARD = re.compile(r"reward|(?:^|_)rew(?:$|_)|(?:episode|mean|avg|average)_return")
_PART = re.compile(r"^(?!.*(?:val|eval|test)).+[_/ ]loss$")
"""A part of what is optimised: ``td_loss``, ``policy_loss``."""
_LEARNS = ("lr", "grad_norm")
"""Metrics that only a program with an optimizer has."""
_WORDS = re.compile(
    r"""\b(?:start(?:ing|ed)?|begin(?:ning)?|began|running|resum(?:e|ing))\ (?:the\ |from\ )?
        (?:pre-?)?(?:train(?:ing)?|fine-?tun(?:e|ing))\b(?!\ (?:data|set|sampl|exampl))
    |\bresum(?:ed|ing)\b.{0,20}\bfrom\b.{0,80}(?:\b(?:step|epoch|iter\w*)\b|\.(?:pth?|ckpt|npz|safetensors|msgpack)\b)
    |\btrain(?:ing)?\ (?:started|begins|loop|for\ \d+\ (?:steps|epochs|iter))
    |\btrain(?:ing)?\ epoch\b|\bepoch\ \[?\d+\ ?/\ ?\d+
    |\btrainable\ param|\bgradient\ accumulation|\btotal\ optimization\ steps
    |\.backward\(|\boptimi[sz]er\.step\(|\btrainer\.(?:train|fit)\(|\bmodel\.fit\(
    |\btrain_(?:step|epoch|one_epoch|loop|model|batch)\(|\bin\ train(?:_\w+)?$""",
    re.IGNORECASE | re.VERBOSE,
)
"""What a training says of itself: that it begins, its epochs, and in a traceback its own calls."""
_OPTIMIZER = re.compile(r"optim|scheduler|trainer_state|training_args|random_states|rng_state")
_WHOLE = frozenset(("lightning", "deepspeed"))
"""Formats that hold an optimizer by their nature."""


def by_history(
    history: RunHistory, began: float, *, called_other: bool, boosts: bool = False
) -> str:
    """What it showed in numbers and saves, as words for a person; empty: nothing yet.

    ``began``: epoch seconds of its start; what was saved before is not its own.

    ``called_other``: it is called an evaluation, a server or the like. Such a program may print the
    loss of every batch; it has to show a learning rate, a gradient, an optimizer or a measure that falls.

    ``boosts``: it uses a library of boosted trees, whose rounds report measures of any name.
    """
    for name in _LEARNS:
        if name in history.latest:
            return f"its log has {name}"
    mine = [save for save in history.checkpoints if save.saved_at >= began]
    for save in mine:
        if save.format in _WHOLE or any(_OPTIMIZER.search(part) for part in save.parts):
            return "it saved the state of an optimizer"
    if falling := _falls(history):
        return f"{falling} falls over its numbered steps"
    if called_other:
        return ""
    rounds = {step.number for step in history.steps if step.number is not None}
    if boosts and len(rounds) >= ROUNDS:
        return "its log has numbered rounds"
    reports = [step for step in history.steps if step.loss is not None]
    numbered = {step.number for step in reports}
    if len(numbered) >= STEPS or (numbered == {None} and len(reports) > STEPS):
        return "its log has a loss at numbered steps"
    parts = {s.number for s in history.steps if any(map(_PART.search, s.values))}
    if len(parts - {None}) >= REWARDS:
        return "its log has parts of a loss at numbered steps"
    rewards = {step.number for step in history.steps if any(map(_REWARD.search, step.values))}
    if len(rewards - {None}) >= REWARDS:
        return "its log has a reward at numbered steps"
    if len({save.step for save in mine if save.step is not None}) >= STEPS:
        return "it saves as its steps go on"
    return ""


def _falls(history: RunHistory) -> str:
    """A measure of any name that falls over :data:`LEARNT` reports with the number of their step, or of their
    epoch; empty: none."""
    series: dict[str, list[float]] = {}
    before = -math.inf
    for step in history.steps:
        place = step.epoch if step.number is None else step.number
        if place is None or place <= before:
            continue
        before = place
        for name, value in step.values.items():
            if math.isfinite(value) and value > 0 and not _PACE.search(name):
                series.setdefault(name, []).append(value)
    for name, values in series.items():
        third = len(values) // 3
        if len(values) < LEARNT:
            continue
        first, last = median(values[:third]), median(values[-third:])
        if last < FELL * first and last < median(values[third:-third]) < first:
            return name
    return ""


def by_words(lines: Iterable[str]) -> str:
    """The first of these log lines in which a program says that it trains; empty: none."""
    return next((line for line in lines if _WORDS.search(line)), "")
