"""Numbers and their names in one line: ``key separator number unit``, of any program.

The scan goes from number to number: the text between a number and the one before it holds its
name, if there is one. That reads ``key: 1``, ``key=1``, ``'key': '1'``, JSON,
``[key] 1``, ``| key 1 |`` and ``1 tok/s`` alike, and never looks at a word without a number.
"""

from __future__ import annotations

import re
from itertools import islice

from middlewatch.sentinels.kit import metric_keys as keys
from middlewatch.sentinels.kit import metric_names

from .disambiguate import COUNTS, settle, without_key
from .fields import NUMBER, RATE_UNITS, TIME_UNITS, Field, unit_factor

MAX_FIELDS = 96
"""Limit on the numbers kept of one line; verl prints about 70."""
MAX_NUMBERS = 256
"""Limit on the numbers examined: a line with more is a dump of data."""
_GAP = 100
"""Characters before a number that can hold its name."""

_WORD = r"[^\W\d][\w/.@%#+&-]*(?:'s)?"
_KEYED = re.compile(
    rf"""(?:(?<!\w)"(?P<dq>[^"]{{1,80}})"|(?<!\w)'(?P<sq>[^']{{1,80}})'
     |(?P<bare>{_WORD}(?:[ \t]{{1,4}}{_WORD}|[ ]?\([^()\[\]]{{1,40}}\)){{0,6}}))
     \s*(?:[:=：＝]|=>|->|\ reached\ )\s*(?:tensor\(|(?:np|numpy|jnp|torch)\.\w+\()?["'(\[]{{0,3}}\s*$""",
    re.VERBOSE,
)
_SEPARATED = re.compile(r"(?:[:=：＝>]|[ ]reached|[\w)][(]|np\.\w{1,12}\()[\s\"'(\[]{0,16}$")
_BRACKETED = re.compile(r"\[(?P<key>[^\W\d][\w /]{0,30})\]\s{0,8}[:：]?\s{0,8}$")
_OPENED = re.compile(r"(?:^|[^\w\[])(?P<key>[^\W\d]\w{1,20})\s?\[\s*$")
_SPACED = re.compile(rf"(?P<key>{_WORD}(?:[ ]{_WORD}){{0,3}})[ \t]{{1,10}}[(\[]?$")
_PAIR = re.compile(r"\)?[\s,;|]+(?P<key>[^\W\d][\w/.-]{1,30})[ \t]+")
_NO_KEYS = frozenset(
    [
        "cuda",
        "cuda device",
        "host",
        "line",
        "pid",
        "port",
        "http",
        "https",
        "localhost",
        "rank",
        "world size",
        "v num",
        "seed",
        "dp",
        "tp",
        "pp",
        "local rank",
    ]
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
        "x",
        "or",
        "a",
    ]
)
_SPEEDS = frozenset(
    [
        *(
            "speed",
            "throughput",
            "rate",
            "perf",
            "training speed",
            "train speed",
            "train throughput",
        ),
        *("training throughput", "速度", "训练速度", "吞吐", "吞吐量"),
    ]
)
_COUNTER_WORDS = frozenset({"step", "iteration", "iter", "epoch", "batch", "episode", "update"})
"""``validation loss at iteration 1000``: a number after one of these is no loss."""
_SCALED_KEY = re.compile(r"\(1e(-?\d)\)$")
_NUMBER_IN_KEY = re.compile(r"\)\s*[:=]")
_MFU_BEHIND = re.compile(r"\s?(?:bf16 |fp16 |fp8 )?MFU\b")
_OUT_OF = re.compile(r"\s?/\s?(?P<of>\d[\d,]*)(?![\d./:-])")
_PERCENT_BEHIND = re.compile(r"\s?/\s?\d[\d,]*\s{0,2}\(\s?(?P<number>\d+(?:\.\d+)?)\s?%\s?\)")
_IS_ZERO_FRACTION = re.compile(r"\d+\.0*$")
_EVAL_LINE = re.compile(
    r"^\W*(?:(?:info|root|main|logs?)\W+)*(?:\[?(?:valid|validation|val|eval|evaluation|testing|test|dev|cv)\b"
    r"|epoch\((?:val|test)\))|\bvalid on\b|^\W*epoch \d+\W+(?:cv|valid|val|validation|eval|test)\b"
    r"|\b(?:test|val|valid|validation|eval|evaluation)(?:\(\w+\))?:?\s?\[\s*\d|^\s*\*\s+(?:acc|prec)"
    r"|[\"'](?:mode|split|phase|stage|set)[\"']: ?[\"'](?:val|valid|validation|eval|test|dev)[\"']"
    r"|\|\s?(?:valid|validation|val|eval|test)\s?\||\bvalidation loss at (?:iteration|step|the end)",
    re.IGNORECASE,
)
_SPLIT = (
    r"(?P<%s>train(?:ing)?|valid(?:ation)?|val|eval(?:uation)?|test(?:ing)?|dev|cv|训练|验证|测试)"
)
_SECTION = re.compile(
    rf"(?:^|[^\w/.'\"-])(?:\[{_SPLIT % 'a'}\]|[\"']?{_SPLIT % 'b'}[\"']?\s?[:=|：])\s*[{{(\[]?\s*"
    r"(?:[\"']?[^\W\d][\w/. -]{0,40}[\"']?\s?[:=：]?\s?)$",
    re.IGNORECASE,
)
_SECTION_WORD = re.compile(
    r"(?:[Tt]rain\w*|[Vv]al\w*|[Ee]val\w*|[Tt]est\w*|[Dd]ev|[Cc]v|TRAIN|VAL\w*|TEST|训练|验证|测试)[\"'\]]?\s?[:=|：\]]"
)
_TRAINING_ONLY = frozenset({"tokens_per_s", "samples_per_s", "step_time_s", "grad_norm"})

_OF_TRAINING = _TRAINING_ONLY | {"train_loss"}


def scan(text: str, fields: list[Field], words: bool = True) -> None:
    """Add every named number of ``text`` to ``fields``. ``words``: accept ``key 1`` too."""
    last = 0
    sectioned = bool(_SECTION_WORD.search(text))
    section = ""
    train_key = False
    counted = any(f.name == "step" for f in fields)
    for match in islice(NUMBER.finditer(text), MAX_NUMBERS):
        start, end = match.span("number")
        if text.startswith(")", end) and _NUMBER_IN_KEY.match(text, end):
            continue  # lr(1e-3): the number belongs to the key
        gap = text[max(last, start - _GAP) : start]
        match = without_key(gap, match)
        part = _SECTION.search(gap) if sectioned else None
        if part is not None:
            section = (part["a"] or part["b"]).lower()
        field = _named(gap, match, words, train_key, counted)
        if field is None and counted and match["other"] is None:
            field = _beside_step(gap, match)
        if field is None:
            if match["number"][-1].isdigit() or match["number"][-1] == ".":
                last = match.end()
            continue  # "number of nan iterations: 0": here "nan" is a word of the key
        last = match.end()
        train_key = train_key or (field.name == "train_loss" and "train" in field.key.lower())
        counted = counted or field.name == "step"
        if section:
            _in_section(field, section)
        _fraction(text, field, fields)
        fields.append(field)
        if len(fields) >= MAX_FIELDS:
            break
    if any(f.name in _OF_TRAINING for f in fields) and _EVAL_LINE.search(text[:160]):
        _as_evaluation(fields)
    settle(fields, text)


def _in_section(field: Field, section: str) -> None:
    """Rename a field of a section: ``train: loss 1 acc 0.9 - val: loss 2 acc 0.8``."""
    training = section.startswith(("train", "训练"))
    if training and field.name == "accuracy":
        field.name, field.reading, field.factor = f"{section} {field.key}", "plain", 1.0
    elif not training and field.name == "train_loss" and "train" not in field.key.lower():
        field.name = "eval_loss"


def _as_evaluation(fields: list[Field]) -> None:
    for field in fields:
        if field.name == "train_loss":
            field.name = "eval_loss"
        elif field.name in _TRAINING_ONLY and field.key:
            field.name, field.reading, field.factor = field.key, "plain", 1.0


def _fraction(text: str, field: Field, fields: list[Field]) -> None:
    """Use the number after a slash: ``'step': '10/850'``, ``Accuracy: 98/100 (98%)``."""
    if field.name == "accuracy":
        percent = _PERCENT_BEHIND.match(text, field.end)
        if percent:
            field.start, field.end = percent.span("number")
            field.factor, field.reading = 0.01, "plain"
        elif _OUT_OF.match(text, field.end):
            field.name = field.key
    elif field.name in ("step", "epoch"):
        of = _OUT_OF.match(text, field.end)
        if of is not None:
            fields.append(Field("total" if field.name == "step" else "epochs", *of.span("of")))


def _named(
    gap: str, match: re.Match[str], words: bool, train_key: bool, counted: bool
) -> Field | None:
    unit = match["unit"]
    span = match.span("number")
    key = _keyed(gap)
    if key is not None:
        return _field(key, match, train_key)
    if match["other"] is not None:
        return None
    bracket = _BRACKETED.search(gap) or _OPENED.search(gap)
    if bracket and keys.canonical(keys.fold(bracket["key"])):
        return _field(bracket["key"], match, train_key)
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
    if unit == "%" and _MFU_BEHIND.match(match.string, match.end()):
        return Field("mfu", *span, 0.01)
    if unit == "ms" and counted and gap.rstrip()[-1:] in ("|", ",", "("):
        return Field("step_time_s", *span, 1e-3)
    if unit in ("k", "K", "M") and re.match(r"\s?tok(?:en)?s?/s", match.string[match.end() :]):
        return Field("tokens_per_s", *span, unit_factor("tokens_per_s", "", unit)[0])
    return None


def _beside_step(gap: str, match: re.Match[str]) -> Field | None:
    """``step 5 sum 1.0``: after a step, any single word before a number is its name."""
    word = _PAIR.fullmatch(gap)
    if word is None or word["key"].lower() in _NO_NAMES:
        return None
    numbered = any(c.isdigit() for c in word["key"])
    name = word["key"] if word["key"] == "rank" else _own_name(word["key"])
    return Field(name, *match.span("number"), _own_factor(match["unit"]), numbered=numbered)


def _own_name(key: str) -> str:
    """The log's own name for a number, capitalised if it is that of a counter of ours."""
    return key.title() if key in COUNTS else key


def _keyed(gap: str) -> str | None:
    if not _SEPARATED.search(gap):
        return None
    match = _KEYED.search(gap)
    if match is None:
        return None
    quoted = match["dq"] or match["sq"]
    if quoted is not None:
        return quoted
    if match.start("bare") > 1 and gap[match.start("bare") - 1] == "/":
        return None  # /out/epoch=3: part of a path
    bare: str = match["bare"]
    while True:
        cut = re.search(r"(?:^|\s)-+\s+|:(?=\S)", bare)
        if cut is None:
            return bare
        bare = bare[cut.end() :]


def _field(key: str, match: re.Match[str], train_key: bool) -> Field | None:
    number, span, unit = match["number"], match.span("number"), match["unit"]
    folded = keys.fold(key)
    scale = 1.0
    scaled = _SCALED_KEY.search(key)
    if scaled:
        scale = 10.0 ** int(scaled[1])
    name = keys.canonical(folded)
    if name is None and folded.endswith(")"):
        name = keys.canonical(re.sub(r"\s*\([^()]{1,40}\)$", "", folded))
    if name is None and folded == "val" and train_key:
        name = "eval_loss"  # loss train: 2.8, val: 2.9
    if name is None and folded in metric_names.WEAK_STEPS:
        name = "step"
    if name is None:
        name = _by_unit(folded, unit)
    own = " ".join(key.split())[:64]
    numbered = any(c.isdigit() for c in key)
    if name is None or match["other"] is not None or not _fits(name, folded, number, unit):
        if not own or folded in _NO_KEYS or _is_progress(folded, match):
            return None
        return Field(_own_name(own), *span, _own_factor(unit), numbered=numbered, key=own)
    factor, reading = unit_factor(name, folded, unit)
    if name == "gpu_mem_bytes" and "." in number and factor == 2.0**20 and unit is None:
        factor = 2.0**30  # MiB are printed whole
    if name == "it/s":
        name = "step_time_s"
    return Field(name, *span, factor * scale, reading, numbered, own, _weight(name, folded))


def _by_unit(folded: str, unit: str | None) -> str | None:
    """``Speed: 812.1 samples/sec``, ``time: 310 ms``: the unit decides which metric it is."""
    if folded in _SPEEDS:
        return RATE_UNITS.get(unit or "")
    return "step_time_s" if folded == "time" and unit == "ms" else None


def _is_progress(folded: str, match: re.Match[str]) -> bool:
    """``Test: [10/49]``: progress of an evaluation, not a result of it."""
    return folded.endswith(("test", "val", "valid", "validation", "eval", "train")) and bool(
        _OUT_OF.match(match.string, match.end())
    )


def _fits(name: str, folded: str, number: str, unit: str | None) -> bool:
    """Whether number and unit are possible for this name."""
    if name in ("step", "epoch", "total", "epochs") and number[0] == "-":
        return False
    if name in ("step", "total", "epochs"):
        return "." not in number or bool(_IS_ZERO_FRACTION.match(number))
    if name in ("train_loss", "eval_loss", "grad_norm", "lr", "accuracy"):
        return unit not in TIME_UNITS and unit not in RATE_UNITS
    # composer's time/batch counts batches
    return name != "step_time_s" or not folded.endswith("time/batch") or not number.isdigit()


def _weight(name: str, folded: str) -> int:
    if name == "step":
        if folded in metric_names.WEAK_STEPS:
            return metric_names.STEP_RANK_WEAK
        return metric_names.STEP_RANK.get(folded, metric_names.STEP_RANK_ELSE)
    if name in ("train_loss", "eval_loss"):
        return keys.loss_rank(folded)
    if name in ("tokens_per_s", "samples_per_s", "gpu_mem_bytes"):
        return 1 if re.search(r"gpu|device|reserved|rank", folded) and "mem" not in folded else 2
    return 2


def _own_factor(unit: str | None) -> float:
    """Factor for a field with the log's own name: only multiples (k, M) are applied."""
    return {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9}.get(unit or "", 1.0)


def _stands_alone(key: str, name: str | None, gap: str, unit: str | None, counted: bool) -> bool:
    """Whether a weak key is accepted here: in a cell ``| norm 1.2 |``, or in ``mem 812MB``."""
    if name == "gpu_mem_bytes":
        return unit is not None and unit.endswith("B") and len(unit) > 1
    if name == "step_time_s":
        return unit in TIME_UNITS
    if key == "it":
        return gap.strip() == "it"
    return counted and key == "norm" and gap.lstrip(" )\t")[:1] in ("|", ",")


_STATISTICS = frozenset(
    (
        "max",
        "min",
        "best",
        "lowest",
        "highest",
        "initial",
        "final",
        "last",
        "previous",
        "old",
        "target",
    )
)
"""Words before ``loss`` with which it is the number of another time."""


def _spaced(
    phrase: str, gap: str, span: tuple[int, int], unit: str | None, counted: bool
) -> Field | None:
    """``lr 0.1``, ``train loss 2.3``: without a separator only known keys are accepted."""
    words = keys.fold(phrase).split()
    counter = bool(words) and phrase.split()[-1].lower() in _COUNTER_WORDS
    for i in range(len(words)):
        key = " ".join(words[i:])
        name = metric_names.KEYS.get(key) if i or counter else keys.canonical(key)
        if name is None and key in ("batch", "episode"):
            name = "step"
        weak = key in metric_names.WEAK_KEYS and not _stands_alone(key, name, gap, unit, counted)
        if name is None or weak or not _fits(name, key, "1", unit):
            continue
        before = words[:i]
        counts = name in ("step", "epoch", "total", "epochs")
        if not counts and before and keys.canonical(" ".join(words)) != name:
            if name == "train_loss" and " " in phrase.strip() and before[-1] not in _STATISTICS:
                return Field(" ".join(words), *span, key=" ".join(words))  # multi-crop loss 0.3
            return None  # "max loss 3", "best accuracy 0.9" are other numbers
        factor, reading = unit_factor(name, key, unit)
        numbered = any(c.isdigit() for c in phrase)
        if name == "it/s":
            name = "step_time_s"
        return Field(name, *span, factor, reading, numbered, key, _weight(name, key))
    if len(words) == 1 and re.search(r"[|,]\s*\w+[ \t]+$", gap) and words[0].endswith("loss"):
        return Field(phrase, *span, key=phrase)
    if words[-1:] == ["time"] and (unit == "ms" or (unit == "s" and counted)):
        return Field("step_time_s", *span, *unit_factor("step_time_s", "time", unit))
    if words[-2:] == ["step", "at"]:
        return Field("step", *span)
    return None
