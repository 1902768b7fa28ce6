"""Which checkpoint is newest, which is best, which are milestones, and how sizes develop."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from middlewatch.sentinels.kit import CheckpointSeen
from middlewatch.sentinels.kit.saves.damage import written
from middlewatch.sentinels.kit.saves.siblings import kind_of

from ..config.schema import Config
from .formats.names import called_best, metric_name, step_of

_MILESTONE = re.compile(r"(?:^|[-_./])(?:milestone|final|phase[-_]?\d+[-_]end)", re.IGNORECASE)
USUAL_METRICS = ("eval_loss", "val_loss")
_NAMELESS = "best_metric"
_NEVER_BEST = ("train_loss", "lr", "grad_norm")
STAND_INS = ("train_loss",)
"""Metrics to rank by where no checkpoint has the metric that is asked for."""

_LOW = """
    loss error err perplexity ppl wer cer mae mse rmse mape nll bpb bpc fid kl divergence
"""
_HIGH = """
    accuracy acc f1 bleu chrf meteor rouge rouge1 rouge2 rougel rougelsum mfu reward rewards return
    score auc auroc map miou iou dice precision recall r2 psnr ssim mrr ndcg exact match win pass
    pearson spearman correlation elo
"""
_LOWER, _HIGHER = frozenset(_LOW.split()), frozenset(_HIGH.split())
_WORD = re.compile(r"[a-z]+\d*|\d+")
_PREFIX = re.compile(r"^(?:eval|val|valid|validation|test)[/_.]", re.IGNORECASE)

_TREND_SAVES = 8
"""Number of the newest saves of one kind whose sizes are compared."""
_TREND_FEWEST = 3
_STEADY = 0.02
"""Fraction: sizes that change by less than this over these saves are stable. Our choice: a
history of metrics inside a checkpoint grows by less."""


@dataclass(frozen=True, slots=True)
class RankingRules:
    """What makes a checkpoint the best one, or a milestone; config section ``[checkpoints]``."""

    best_metric: str = ""
    """Empty: the metric by which the trainer itself chooses, else the loss of an evaluation."""
    best_mode: str = "auto"
    """``min``, ``max`` or ``auto``."""
    milestones: tuple[str, ...] = ()
    """Patterns of file names, in addition to names with ``milestone`` or ``final`` in them."""
    milestone_every_steps: int = 0
    """0: none."""
    paths: tuple[str, ...] = ()
    """Saves that are milestones because a phase of the training ended with them."""

    @classmethod
    def of(cls, config: Config) -> RankingRules:
        """The rules that the config sets."""
        told = config.checkpoints
        return cls(told.best_metric, told.best_mode, told.milestones, told.milestone_every_steps)


class Best(NamedTuple):
    """The best checkpoint, and the metric by which it was chosen."""

    path: str | None = None
    metric: str | None = None
    """``None`` where no checkpoint has one that can be ranked."""
    mode: str | None = None
    """``min`` or ``max``."""


def in_order(
    checkpoints: Sequence[CheckpointSeen], started_at: float | None = None
) -> list[CheckpointSeen]:
    """Oldest first: by run, then step, then time.

    One without a step follows those saved before it. Steps are compared only within one run: a
    checkpoint of an older run comes before all of this one, even with a higher step.
    """
    keyed = []
    highest = {False: -math.inf, True: -math.inf}
    for seen in sorted(checkpoints, key=lambda c: (c.saved_at, c.path)):
        current = started_at is None or seen.saved_at >= started_at
        step = highest[current] if seen.step is None else seen.step
        highest[current] = max(highest[current], step)
        keyed.append((current, step, seen.saved_at, seen.path, seen))
    keyed.sort(key=lambda k: k[:4])
    return [k[4] for k in keyed]


def best_of(sound: Sequence[CheckpointSeen], rules: RankingRules) -> Best:
    """The best checkpoint; of equal ones the newest. ``sound``: those that are ok, oldest first.

    Where no save has a metric of an evaluation, the newest that its trainer calls the best is.
    """
    told, told_mode = (None, None) if rules.best_metric else trainers_own(sound)
    wanted = [told] if told else []
    for name in (rules.best_metric,) if rules.best_metric else USUAL_METRICS:
        wanted += _spellings(name)
    found = _rated(sound, wanted, told, told_mode, rules)
    if found is None and not rules.best_metric:
        called = [seen.path for seen in sound if called_best(seen.path)]
        found = Best(called[-1]) if called else None
    return found or _rated(sound, STAND_INS, told, told_mode, rules) or Best()


def _rated(
    sound: Sequence[CheckpointSeen],
    metrics: Sequence[str],
    told: str | None,
    told_mode: str | None,
    rules: RankingRules,
) -> Best | None:
    """The best by the first of these metrics that a save has."""
    for name in metrics:
        rated = [
            (value, position, seen.path)
            for position, seen in enumerate(sound)
            if math.isfinite(value := seen.metrics.get(name, math.nan))
        ]
        if rated:
            mode = (told_mode if name == told else None) or direction(name)
            if rules.best_mode != "auto" and name not in STAND_INS:
                mode = rules.best_mode
            sign = 1 if mode == "min" else -1
            path = min(rated, key=lambda r: (sign * r[0], -r[1]))[2]
            path = _named_after_step(path, sound)
            return Best(path, name, mode)
    return None


def _named_after_step(path: str, sound: Sequence[CheckpointSeen]) -> str:
    """The same save under a name that stays: ``last.ckpt`` is a copy of ``step=4.ckpt`` until the next save."""
    chosen = next(seen for seen in sound if seen.path == path)
    if chosen.step is None or step_of(path.rpartition("/")[2]) is not None:
        return path
    key = (path.rpartition("/")[0], chosen.step, chosen.bytes, chosen.metrics)
    for seen in sound:
        folder, _, name = seen.path.rpartition("/")
        if (folder, seen.step, seen.bytes, seen.metrics) == key and step_of(name) is not None:
            return seen.path
    return path


def trainers_own(sound: Sequence[CheckpointSeen]) -> tuple[str | None, str | None]:
    """The metric by which the trainer itself chooses the best, and whether ``min`` or ``max`` wins.

    Trainers save the best value so far: as ``best_NAME`` beside the current value (Lightning's
    callback, nanoGPT), or without a name (Hugging Face). Then it is the metric of an evaluation
    that has exactly this value in some save. The direction is known once another save has a
    worse value. ``None`` for what is not known.
    """
    for seen in reversed(sound):
        for key, best in seen.metrics.items():
            if not key.startswith("best_") or not math.isfinite(best):
                continue
            name = key.removeprefix("best_")
            if key == _NAMELESS:
                name = _with_value(sound, best)
            if name and name not in _NEVER_BEST and name in seen.metrics:
                values = [v for c in sound if math.isfinite(v := c.metrics.get(name, math.nan))]
                return name, _mode(best, values)
    return None, None


def _with_value(sound: Sequence[CheckpointSeen], best: float) -> str:
    """The one metric of an evaluation that has this value in some save; empty for none or more."""
    names = {
        name
        for seen in sound
        for name, value in seen.metrics.items()
        if value == best and not name.startswith("best_") and name not in _NEVER_BEST
    }
    return names.pop() if len(names) == 1 else ""


def _mode(best: float, values: Sequence[float]) -> str | None:
    if any(value > best for value in values) and all(value >= best for value in values):
        return "min"
    if any(value < best for value in values) and all(value <= best for value in values):
        return "max"
    return None


def direction(metric: str) -> str:
    """``max`` where the name says that higher is better, else ``min``: most metrics are losses."""
    words = set(_WORD.findall(re.sub(r"([a-z])([A-Z])", r"\1_\2", metric).lower()))
    return "max" if words & _HIGHER and not words & _LOWER else "min"


def _spellings(metric: str) -> list[str]:
    """Names of one metric: the ``loss`` of an evaluation is ``eval_loss`` or ``val_loss``."""
    bare = _PREFIX.sub("", metric)
    every = [metric, f"eval_{bare}", f"val_{bare}"]
    if bare != "loss":
        ours = metric_name(metric)  # ``val_loss_epoch`` is our eval_loss
        every += [bare, *([ours] if ours else [])]
    return list(dict.fromkeys(every))


def is_milestone(seen: CheckpointSeen, rules: RankingRules) -> bool:
    """Whether its name or its step makes it a milestone."""
    name = seen.path.rpartition("/")[2]
    if _MILESTONE.search(name):
        return True
    if seen.path in rules.paths:
        return True
    if rules.milestones and any(fnmatchcase(name, p) for p in rules.milestones):
        return True
    every, step = rules.milestone_every_steps, seen.step
    return bool(every and step and math.isfinite(step) and step % every == 0)


def size_trend(ordered: Sequence[CheckpointSeen]) -> dict[str, Any] | None:
    """How the size of the newest saves develops; ``None`` for fewer than three of one kind.

    ``{"direction": "stable|growing|shrinking", "bytes_per_save", "saves", "first_bytes",
    "last_bytes"}``; the slope is that of least squares.
    """
    sizes = [c.bytes for c in _alike(ordered)][-_TREND_SAVES:]
    if len(sizes) < _TREND_FEWEST:
        return None
    middle, mean = (len(sizes) - 1) / 2, sum(sizes) / len(sizes)
    slope = sum((n - middle) * (size - mean) for n, size in enumerate(sizes)) / sum(
        (n - middle) ** 2 for n in range(len(sizes))
    )
    change = slope * (len(sizes) - 1)
    going = "stable"
    if abs(change) > _STEADY * mean:
        going = "growing" if change > 0 else "shrinking"
    return {
        "direction": going,
        "bytes_per_save": round(slope),
        "saves": len(sizes),
        "first_bytes": sizes[0],
        "last_bytes": sizes[-1],
    }


def _alike(ordered: Sequence[CheckpointSeen]) -> Iterator[CheckpointSeen]:
    """Completely written ones, of the same kind as the newest of them."""
    whole = [c for c in ordered if written(c) and c.state != "pending"]
    kind = kind_of(whole[-1]) if whole else ""
    return (c for c in whole if kind_of(c) == kind)
