"""Numbers and their names in one line: ``key sep number unit``, whatever printed it.

The scan is anchored on the numbers: what stands between one number and the one before it
holds the name, if there is one. That reads ``key: 1``, ``key=1``, ``'key': '1'``, JSON,
``[key] 1``, ``| key 1 |`` and ``1 tok/s`` alike, and never looks at a word without a number.
"""

from __future__ import annotations

import re
from itertools import islice

from . import synonyms
from .fields import NUMBER, RATE_UNITS, Field, unit_factor

MAX_FIELDS = 96
"""Numbers kept of one line; verl prints about 70, nobody reads the hundredth."""
MAX_NUMBERS = 512
"""Numbers looked at: what comes behind so many is a dump of data."""
_GAP = 100
"""Characters before a number that can hold its name."""

_WORD = r"[^\W\d][\w/.@%#+&-]*"
_KEYED = re.compile(
    rf"""(?:"(?P<dq>[^"]{{1,80}})"|'(?P<sq>[^']{{1,80}})'
     |(?P<bare>{_WORD}(?:[ \t]{{1,4}}{_WORD}|[ ]?\([^()\[\]]{{1,40}}\)){{0,6}}))
     \s*(?:[:=：]|=>)\s*(?:tensor\(|(?:np|numpy|jnp|torch)\.\w+\()?["'(\[]{{0,3}}\s*$""",
    re.VERBOSE,
)
_BRACKETED = re.compile(r"\[(?P<key>[^\W\d][\w /]{0,30})\]\s{1,8}$")
_OPENED = re.compile(r"\b(?P<key>[^\W\d]\w{1,20})\s?\[\s*$")
_SPACED = re.compile(rf"(?P<key>{_WORD}(?:[ ]{_WORD}){{0,3}})[ \t]{{1,10}}\(?$")
_PAIR = re.compile(r"[\s,;|]+(?P<key>[^\W\d][\w/.-]{1,30})[ \t]+")
_NO_KEYS = frozenset(
    {"cuda", "cuda device", "line", "pid", "port", "http", "https", "localhost", "rank"}
)
_NO_NAMES = frozenset(
    [
        "of",
        "in",
        "to",
        "at",
        "after",
        "took",
        "and",
        "from",
        "for",
        "with",
        "by",
        "on",
        "is",
        "was",
        "out",
        "the",
        "than",
    ]
)
_SCALED_KEY = re.compile(r"\(1e(-?\d)\)$")
_NUMBER_IN_KEY = re.compile(r"\)\s*[:=]")
_EVAL_LINE = re.compile(
    r"^\W*(?:(?:info|root|main|logs?)\W+)*(?:\[?(?:valid|validation|val|eval|evaluation|testing|test|dev)\b"
    r"|epoch\((?:val|test)\))|\bvalid on\b|^\W*epoch \d+\W+(?:valid|val|validation|eval|test)\b",
    re.IGNORECASE,
)


def scan(text: str, fields: list[Field], words: bool = True) -> None:
    """Add every named number of ``text`` to ``fields``. ``words``: believe ``key 1`` too."""
    evaluating = bool(_EVAL_LINE.search(text[:160]))
    last = 0
    losses = False
    counted = any(f.name == "step" for f in fields)
    for match in islice(NUMBER.finditer(text), MAX_NUMBERS):
        start, end = match.span("number")
        if text.startswith(")", end) and _NUMBER_IN_KEY.match(text, end):
            continue  # lr(1e-3): the number belongs to the key
        gap = text[max(last, start - _GAP) : start]
        field = _named(gap, match, words, losses, counted)
        if field is None and counted:
            field = _beside_step(gap, match)
        if field is None:
            if match["number"][-1].isdigit() or match["number"][-1] == ".":
                last = match.end()
            continue  # "number of nan iterations: 0": a word that is no number stays in the key
        last = match.end()
        losses = losses or field.name.endswith("loss")
        counted = counted or field.name == "step"
        if evaluating and field.name == "train_loss":
            field.name = "eval_loss"
        fields.append(field)
        if len(fields) >= MAX_FIELDS:
            break
    _prefer_training_step(fields, text)
    _second_thoughts(fields)


def _second_thoughts(fields: list[Field]) -> None:
    """What only the whole line tells about its numbers."""
    if "data" in (own := {f.name.lower().replace("_time", "") for f in fields}) and "time" in own:
        for field in fields:
            if field.name.lower() == "time":  # beside the time for data it is the time of the step
                field.name = "step_time_s"
    if (
        "train_runtime" in own or "train runtime" in own
    ):  # HF Trainer's summary: the mean over the whole run
        fields[:] = [f for f in fields if f.name != "train_loss"]


def _named(
    gap: str, match: re.Match[str], words: bool, losses: bool, counted: bool
) -> Field | None:
    unit = match["unit"]
    span = match.span("number")
    key = _keyed(gap)
    if key is not None:
        return _field(key, match["number"], span, unit, losses)
    bracket = _BRACKETED.search(gap) or _OPENED.search(gap)
    if bracket and synonyms.canonical(synonyms.fold(bracket["key"])):
        return _field(bracket["key"], match["number"], span, unit, losses)
    spaced = _SPACED.search(gap) if words else None
    if spaced:
        field = _spaced(spaced["key"], gap, span, unit, counted)
        if field is not None:
            return field
    rate = RATE_UNITS.get(unit or "")
    if rate == "it/s":
        return Field("step_time_s", *span, 1.0, "inverse")
    if rate is not None:
        return Field(rate, *span, unit_factor(rate, "", unit)[0] if rate == "step_time_s" else 1.0)
    if unit in ("k", "K", "M") and re.match(r"\s?tok(?:en)?s?/s", match.string[match.end() :]):
        return Field("tokens_per_s", *span, unit_factor("tokens_per_s", "", unit)[0])
    return None


def _beside_step(gap: str, match: re.Match[str]) -> Field | None:
    """``step 5 sum 1.0``: behind a step, any one word and a number are a pair."""
    word = _PAIR.fullmatch(gap)
    if word is None or word["key"].lower() in _NO_NAMES:
        return None
    numbered = any(c.isdigit() for c in word["key"])
    return Field(word["key"], *match.span("number"), _own_factor(match["unit"]), numbered=numbered)


def _keyed(gap: str) -> str | None:
    match = _KEYED.search(gap)
    if match is None:
        return None
    quoted = match["dq"] or match["sq"]
    if quoted is not None:
        return quoted
    bare: str = match["bare"]
    while True:
        cut = re.search(r"(?:^|\s)-+\s+|:(?=\S)", bare)
        if cut is None:
            return bare
        bare = bare[cut.end() :]


def _field(
    key: str, number: str, span: tuple[int, int], unit: str | None, losses: bool
) -> Field | None:
    folded = synonyms.fold(key)
    scale = 1.0
    scaled = _SCALED_KEY.search(key)
    folded_name = re.sub(r"\s*\([^()]{1,40}\)$", "", folded)
    if scaled:
        scale = 10.0 ** int(scaled[1])
    name = synonyms.canonical(folded) or synonyms.canonical(folded_name)
    if name is None and folded_name == "val" and losses:
        name = "eval_loss"  # loss train: 2.8, val: 2.9
    numbered = any(c.isdigit() for c in key)
    if name is None or (name == "step" and "." in number):
        own = " ".join(key.split())[:64]
        if not own or folded in _NO_KEYS:
            return None
        return Field(own, *span, _own_factor(unit), numbered=numbered)
    factor, reading = unit_factor(name, folded, unit)
    if name == "step_time_s" and unit is None and re.search(r"\((ms|s)\)$", folded):
        factor = 1e-3 if folded.endswith("(ms)") else 1.0
    return Field(name, *span, factor * scale, reading, numbered)


def _own_factor(unit: str | None) -> float:
    """Own names keep the log's own number; only multiples are worked out."""
    return {"k": 1e3, "K": 1e3}.get(unit or "", 1.0)


def _spaced(
    phrase: str, gap: str, span: tuple[int, int], unit: str | None, counted: bool
) -> Field | None:
    """``lr 0.1``, ``train loss 2.3``: only words that we know are names of numbers."""
    words = synonyms.fold(phrase).split()
    for i in range(len(words)):
        key = " ".join(words[i:])
        name = synonyms.KEYS.get(key)
        if name is None or key in synonyms.WEAK_KEYS:
            continue
        before = words[:i]
        if name not in ("step", "epoch") and before and synonyms.canonical(" ".join(words)) != name:
            return None  # "max loss 3", "best accuracy 0.9" are other numbers
        factor, reading = unit_factor(name, key, unit)
        return Field(name, *span, factor, reading, any(c.isdigit() for c in phrase))
    if len(words) == 1 and re.search(r"[|,]\s*\w+[ \t]+$", gap) and words[0].endswith("loss"):
        return Field(phrase, *span)
    if words[-1:] == ["time"] and (unit == "ms" or (unit == "s" and counted)):
        return Field("step_time_s", *span, *unit_factor("step_time_s", "time", unit))
    if words[-2:] == ["step", "at"]:
        return Field("step", *span)
    return None


def _prefer_training_step(fields: list[Field], text: str) -> None:
    """Put the best of several step counters first."""
    steps = [f for f in fields if f.name == "step"]
    if len(steps) < 2:
        return
    best = max(steps, key=lambda f: _step_rank(text[max(0, f.start - 24) : f.start]))
    if best is not steps[0]:
        fields.remove(best)
        fields.insert(0, best)


def _step_rank(before: str) -> int:
    word = re.search(r"([^\W\d]+(?:[ _/][^\W\d]+)?)\W*$", before)
    if word is None:
        return 0
    key = synonyms.fold(word[1])
    return max(
        synonyms.STEP_RANK.get(key, synonyms.STEP_RANK_ELSE),
        synonyms.STEP_RANK.get(key.split()[-1], synonyms.STEP_RANK_ELSE),
    )
