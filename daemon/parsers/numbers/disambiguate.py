"""Decide by the whole line: which of several fields has a name, and which is a sum."""

from __future__ import annotations

import re

from middlewatch.sentinels.kit.metric_keys import (
    canonical,
    fold,
    is_adversarial,
    is_learning,
    is_loss,
)
from middlewatch.sentinels.kit.metric_names import PLURAL_STEPS

from .fields import NUMBER_TEXT, Field

MEASURES = frozenset(
    {"train_loss", "eval_loss", "grad_norm", "tokens_per_s", "samples_per_s", "step_time_s", "mfu"}
    | {"loss_scale", "accuracy"}
)
"""One of these makes a line a report. ``lr`` and memory alone are often a setting."""
COUNTS = frozenset({"step", "epoch", "total", "of", "rank", "epochs"})
_SINGLE = frozenset(
    {"train_loss", "eval_loss", "lr", "step_time_s", "tokens_per_s", "samples_per_s"}
    | {"grad_norm"}
)

_VALUE_BEHIND = re.compile(r"\s{1,3}[-+]?(?:\d|[Nn]a[Nn]\b|[Ii]nf\b)")
_LAST_WORD = re.compile(r"([^\W\d][\w/.-]*)[ \t]{1,10}$")
_BARE = re.compile(rf"(?P<number>{NUMBER_TEXT})(?P<unit>(?!))?(?P<other>(?!))?")
_UNITLESS = frozenset({"train_loss", "eval_loss", "lr", "grad_norm", "accuracy"})


def without_key(gap: str, match: re.Match[str]) -> re.Match[str]:
    """``loss 2.5 tok/s 1234``: what looks like the unit of a number (a match of ``NUMBER``, after ``gap``) is
    the key of the next one, if the number has a key of its own that no rate has."""
    if match["unit"] is None or not _VALUE_BEHIND.match(match.string, match.end("unit")):
        return match
    word = _LAST_WORD.search(gap)
    if word is None or canonical(fold(word[1])) not in _UNITLESS:
        return match
    return _BARE.match(match.string, match.start()) or match


def settle(fields: list[Field], text: str) -> None:
    """Keep one field of each name, the best; others get the log's own name, or are dropped."""
    if not fields:
        return
    _drop_settings(fields)
    _second_thoughts(fields, text)
    names = [f.name for f in fields]
    if len(set(names)) < len(names):
        measured = any(n in MEASURES for n in names)
        for name in {n for n in names if names.count(n) > 1}:
            _settle_one(name, fields, measured)
    if any(f.name == "train_loss" for f in fields) and any(
        is_adversarial(fold(f.name)) for f in fields
    ):
        for field in fields:
            if field.name == "train_loss":
                field.name = field.key or "loss"


def _settle_one(name: str, fields: list[Field], measured: bool) -> None:
    rivals = [f for f in fields if f.name == name]
    best = max(rivals, key=lambda f: f.weight)
    rivals.remove(best)
    if name == "step" and best.key and any(f.weight == 2 and not f.key for f in rivals):
        fields[:] = [
            f for f in fields if f.name != "total" or f.key
        ]  # the total belongs to the other counter
    for field in rivals:
        same = not field.key or fold(field.key) == fold(best.key)
        if same or name not in _SINGLE | {"step"} or (name == "step" and not measured):
            fields.remove(field)
        else:
            field.name = field.key
            field.reading = "plain"


def _drop_settings(fields: list[Field]) -> None:
    """Drop counters that are settings: ``steps: 5000 batch: 32`` with nothing measured."""
    if any(f.name in MEASURES or is_loss(k := fold(f.name)) or is_learning(k) for f in fields):
        if not any(f.name in ("step", "epoch") for f in fields):
            for field in fields:
                if field.name == "total" and fold(field.key).startswith("total"):
                    field.name = "step"  # total_steps=1024 loss=0.3: steps so far
        return
    plural = _PLANS if any(f.name == "epoch" for f in fields) else PLURAL_STEPS
    fields[:] = [f for f in fields if f.name != "step" or fold(f.key) not in plural]


def _second_thoughts(fields: list[Field], text: str) -> None:
    own = {f.name.lower().replace("_time", "").replace(" time", "") for f in fields}
    counted = any(f.name == "step" for f in fields)
    completed = any(fold(f.key) == "completed step" for f in fields)
    for field in fields:
        # next to the time for data, or with a mean over steps, it is the time of a step
        if field.name.lower() == "time" and (
            "data" in own or (counted and _MEAN_BEHIND.match(text, field.end))
        ):
            field.name, field.key = "step_time_s", field.name
        elif field.name.lower() == "seconds" and completed:
            field.name, field.key = "step_time_s", field.name  # MaxText
    if any(fold(f.name) == "train runtime" for f in fields):
        # HF Trainer's summary: means over the whole run
        fields[:] = [f for f in fields if f.name not in ("train_loss", "step_time_s")]
    if not own & _NOT_A_SUMMARY and any(f.name == "accuracy" for f in fields):
        for field in fields:  # "Accuracy: 51.2%, Avg loss: 1.91" sums up an evaluation
            if field.name == "train_loss" and fold(field.key) in ("avg loss", "average loss"):
                field.name = "eval_loss"


_PLANS = frozenset({"steps", "train steps", "training steps", "batches"})
_MEAN_BEHIND = re.compile(r"s?\s{1,2}\(\s*[\d.]+s?\)")
_NOT_A_SUMMARY = frozenset({"step", "epoch", "lr"})


def sum_of_parts(values: list[float]) -> int | None:
    """Index of the number that is the sum of all the others; ``None`` if there is none.

    Some programs print the parts of a loss and their sum without saying which is which. Needed
    are four positive numbers or more; the sum may differ by what rounding to three digits
    leaves.
    """
    if len(values) < 4 or not all(0 < v < 1e9 for v in values):
        return None
    best = max(range(len(values)), key=values.__getitem__)
    rest = sum(values) - values[best]
    if abs(values[best] - rest) <= 2e-3 * rest + 5e-4 * len(values):
        return best
    return None
