"""Fields: the numbers found in a line, with their place, their name and how to read them.

The grammar finds the fields once for each shape of line; :mod:`.plans` then reads the numbers of
further lines of that shape directly from their bytes.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from middlewatch.sentinels.kit.metric_keys import key_unit

Reading = Literal["plain", "ratio", "inverse"]

_UNITS: dict[str, float] = {
    "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "s": 1.0, "sec": 1.0, "secs": 1.0, "m": 60.0,
    "min": 60.0, "h": 3600.0, "%": 0.01,
    "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12,
    "KB": 2.0**10, "KiB": 2.0**10, "MB": 2.0**20, "MiB": 2.0**20, "GB": 2.0**30, "GiB": 2.0**30,
    "TB": 2.0**40, "TiB": 2.0**40, "Mb": 2.0**20, "Gb": 2.0**30, "Mi": 2.0**20, "Gi": 2.0**30,
    "s/it": 1.0, "sec/it": 1.0, "s/iter": 1.0, "sec/iter": 1.0, "s/step": 1.0, "sec/step": 1.0,
    "s/batch": 1.0, "sec/batch": 1.0, "ms/step": 1e-3, "ms/it": 1e-3, "ms/iter": 1e-3, "ms/batch": 1e-3,
    "us/step": 1e-6, "us/iter": 1e-6, "secs/step": 1.0, "seconds/step": 1.0, "min/it": 60.0,
}  # fmt: skip
"""Unit -> factor. Sizes are binary: what trainers print as GB comes from a division by 2**30."""

TIME_UNITS = frozenset({"ms", "us", "µs", "ns", "s", "sec", "secs", "m", "min", "h"})
COUNT_UNITS = frozenset({"k", "K", "M", "B", "G", "T"})
SIZE_UNITS = {"K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40}
RATE_UNITS = {
    **dict.fromkeys(
        ("tok/s", "tokens/s", "tok/sec", "tokens/sec", "token/s", "toks/s", "words/s", "words/sec", "tokens/second"),
        "tokens_per_s",
    ),
    **dict.fromkeys(
        ("samples/s", "sample/s", "samples/sec", "img/s", "imgs/s", "imgs/sec", "images/s", "images/sec",
         "img/sec", "seq/s", "seqs/s", "examples/s", "examples/sec", "/s", "utts/s", "samples/second", "images/second"),
        "samples_per_s",
    ),
    **dict.fromkeys((u for u in _UNITS if "/" in u), "step_time_s"),
    **dict.fromkeys(
        ("it/s", "its/s", "iter/s", "iters/s", "it/sec", "steps/s", "step/s", "steps/sec", "b/s", "batch/s", "batches/s",
         "updates/s"),
        "it/s",
    ),
}  # fmt: skip
"""Units that show by themselves which metric the number is."""

_UNIT = "|".join(sorted(map(re.escape, [*_UNITS, *RATE_UNITS]), key=len, reverse=True))
NUMBER_TEXT = (
    r"[-+]?(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])(?:\.[0-9]+)?"
    r"|[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?"
    r"|\.[0-9]+(?:[eE][-+]?[0-9]+)?"
    r"|(?:[Nn]an|NaN|NAN|[Ii]nf(?:inity)?|INF)(?:\.[0-9]+)?)"
)
NUMBER = re.compile(
    rf"(?<![\w.@#+-])(?P<number>{NUMBER_TEXT})(?:\s?\[?\(?(?P<unit>{_UNIT})(?![\w/])(?!\s?[=:])"
    r"|(?<=[0-9])(?P<other>[A-Za-z]{1,9}(?:/[A-Za-z]{1,9}){0,2}))?(?![A-Za-z_0-9]|\.[0-9]|-[A-Za-z])(?!:[0-9]{2}\b)"
)
"""A separate number, with the unit after it, known or not."""


_WORDS = {
    "IND": math.nan,
    "null": 0.0,
    "None": 0.0,
    "NULL": 0.0,
    "N/A": 0.0,
    "n/a": 0.0,
}
"""Words in place of a number: Microsoft's ``1.#IND``, and those for a missing one."""


def parse_number(text: str) -> float:
    """The value of a text that :data:`NUMBER` matched; raises ValueError for anything else."""
    if "n" in text or "N" in text:
        if text in _WORDS:
            return _WORDS[text]
        text = text.partition(".")[0]  # nan.0, from a format for floats
    return float(text.replace(",", ""))


def read(value: float, factor: float, reading: Reading) -> float:
    """Apply the factor of a unit. A ratio above 1.5 is taken as per cent.

    ``inverse`` needs a positive number: a rate of 0 gives no step time.
    """
    value *= factor
    if reading == "inverse":
        return 1.0 / value
    if reading == "ratio" and value > 1.5:
        return value / 100.0
    return value


@dataclass(slots=True)
class Field:
    """One named number in a text: ``text[start:end]`` is the number itself."""

    name: str
    """Our name or the log's own. With a ``+`` before it, it is also a part of ``train_loss``."""
    start: int
    end: int
    factor: float = 1.0
    reading: Reading = "plain"
    numbered: bool = False
    """Its key has digits, which must stay the same: ``loss_0``, ``lr(1e-3)``."""
    key: str = ""
    """The log's own name. The field gets it back if another one is better for ``name``."""
    weight: int = 0
    """Of several fields of one name, the one with the highest weight keeps it."""
    comma: bool = False
    """Its comma is a decimal point."""


def unit_factor(name: str, key: str, unit: str | None) -> tuple[float, Reading]:
    """(factor, reading) of a number called ``name``, with this folded ``key`` and unit."""
    if name == "it/s":
        return 1.0, "inverse"
    if name == "step_time_s":
        if unit in RATE_UNITS and RATE_UNITS[unit] == "it/s":
            return 1.0, "inverse"
        if unit in COUNT_UNITS:
            return (1e3 if unit in ("k", "K") else 1.0) * _time_of_key(key), "plain"
        return _UNITS[unit] if unit in _UNITS else _time_of_key(key), "plain"
    if name in ("mfu", "accuracy"):
        return (0.01, "plain") if unit == "%" else (1.0, "ratio")
    if name == "gpu_mem_bytes":
        return _size_factor(key, unit), "plain"
    if unit in COUNT_UNITS and unit is not None:
        return _UNITS[unit], "plain"
    return 1.0, "plain"


def _time_of_key(key: str) -> float:
    if key.startswith(("ms/", "ms per ")):
        return 1e-3
    return key_unit(key)[1] or 1.0


def _size_factor(key: str, unit: str | None) -> float:
    if unit in SIZE_UNITS:
        return SIZE_UNITS[unit]
    if unit in _UNITS and unit is not None and unit.endswith("B") and len(unit) > 1:
        return _UNITS[unit]
    if "gb" in key or "gib" in key:
        return 2.0**30
    # detectron2, mmengine and timm print MiB without saying so
    return 2.0**20


class Values(NamedTuple):
    """The numbers of one line: the counters, and all others by name."""

    step: float | None
    epoch: float | None
    total: float | None
    of: float | None
    """Length of the progress bar or of the epoch that ``step`` counts in."""
    rank: float | None
    named: dict[str, float]


def evaluate(text: str, fields: list[Field]) -> Values:
    """Read every field from the text. Of several with one name the first counts."""
    found: dict[str, float] = {}
    for f in fields:
        number = text[f.start : f.end]
        value = parse_number(number.replace(",", ".") if f.comma else number)
        if f.name not in found and (value > 0 or f.reading != "inverse"):
            found[f.name] = read(value, f.factor, f.reading)
    return sorted_out(found)


def sorted_out(found: dict[str, float]) -> Values:
    """Numbers by name as values; parts of the loss are added up to ``train_loss``."""
    for name in [n for n in found if n.startswith("+")]:
        found[name[1:]] = part = found.pop(name)
        found["train_loss"] = found.get("train_loss", 0.0) + part
    step, epoch, total, of, rank = (
        found.pop(k, None) for k in ("step", "epoch", "total", "of", "rank")
    )
    return Values(step, epoch, total, of, rank, found)
