"""What stands before or around the numbers: rank prefixes, times, progress bars, counters.

Every function works on a text whose length never changes: what was understood is blanked
out, so that positions found later still point into the line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .fields import RATE_UNITS, Field, Reading

_RANK = re.compile(
    r"\s*(?:\[(?:default|rank|Rank|RANK)[ :_=-]?(?P<a>\d{1,5})(?:/\d+)?\]:?"  # torchrun, torch
    r"|\[(?P<b>\d{1,5})\]:(?=\s*\S)"
    r"|(?P<c>\d{1,4}):(?=\s)"  # srun -l
    r"|(?:[Rr]ank|RANK)[ _:=-]?(?P<d>\d{1,5})\s*[:\]|]"
    r"|\([A-Za-z_]\w* pid=[^)]{1,80}\)"  # Ray
    r"|\[1,(?P<e>\d{1,5})\]<std(?:out|err)>:"  # mpirun --tag-output
    r")\s?"
)
_TIME = re.compile(
    r"\d{4}[-/]\d\d[-/]\d\d[ T_]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|\s?[+-]\d\d:?\d\d)?"
    r"|^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ [\w./-]+:\d+\]"  # glog
    r"|\[?[IWEF]\d{3,4} \d\d:\d\d:\d\d\.\d+(?: \d+)? [\w./-]+:\d+\]"
    r"|\b\d\d[/-]\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?\b"
    r"|\b20\d{6}[ _-]?\d\d:?\d\d:?\d\d\b"
    r"|\b(?:\d+ days?,? )?\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b(?![<\]])"
)
_CALLER = re.compile(
    r"[\[(](?:[A-Z]+\|)?[\w./-]+\.(?:py|cc|cpp|cu|cuh|h|c)(?:[: ](?:line )?\d+)?(?::\w+)?[\])]"
    r"|\[[A-Za-z_][\w.]*:\d+\]"
)

_BAR = re.compile(
    r"(?P<percent>\d{1,3})%\s*(?:\|[^|\[]{0,400}\|)?\s*"
    r"(?P<n>\d+(?:\.\d+)?)(?P<nk>[kKMG]?)/(?P<t>\d+(?:\.\d+)?)(?P<tk>[kKMG]?)"
    r"\s*\[(?P<spent>[\d:]+)<(?P<left>[^,\]]*)(?:,\s*(?P<rate>\d+(?:\.\d+)?|\?)\s?(?P<unit>[\w/]+))?"
)
_KERAS_BAR = re.compile(r"^\s*(?P<n>\d+)/(?P<t>\d+)\s+(?:\[[=>.]+\]|[━─]{5,})")
_RICH_BAR = re.compile(
    r"(?P<head>[^━╸╺\d]{0,200}(?P<epoch>\d+)?(?:/\d+)?[^━╸╺\d]{0,40})[━╸╺ ]{6,}\s*(?P<n>\d+)/(?P<t>\d+)\s+[\d:]+\s+•\s+[-\d:]+"
    r"(?:\s+(?P<rate>\d+(?:\.\d+)?)(?P<unit>it/s|s/it))?"
)
_MULTIPLES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_EVALUATING = re.compile(
    r"\b(?:valid\w*|val|eval\w*|test\w*|sanity\w*|predict\w*|infer\w*|generat\w*)\b", re.IGNORECASE
)
_TRAINING = re.compile(
    r"\b(?:train\w*|epochs?|ep|steps?|iters?|iterations?|fine-?tun\w*|optimi[sz]\w*|loss)\b",
    re.IGNORECASE,
)

_COUNTERS = tuple(
    re.compile(p)
    for p in (
        # Epoch: [3][40/500]   Epoch(train) [1][40/500]   Train: [3/300][40/500]   [epoch 3][iter 0/110]
        r"(?i:\b(?:epoch|train|training))(?:\(\w+\))?\s*:?\s*\[?\s*(?P<epoch>\d+)(?:/\d+)?\s*\]\s*\[(?:iter)?\s*(?P<batch>\d+)\s*/\s*(?P<of>\d+)\s*\]",
        # Train: 0 [  50/10009 (  0%)]   Train Epoch: 5 [640/50000 (1%)]   Epoch 5 [40/500]
        r"(?i:\b(?:epoch|train|training)):?\s*(?P<epoch>\d+)(?:/\d+)?\s*,?\s*\[\s*(?P<batch>\d+)\s*/\s*(?P<of>\d+)",
        # Epoch [3/300], Step [40/500]
        r"(?i:\bepoch):?\s*\[\s*(?P<epoch>\d+)\s*/\s*\d+\s*\]\s*,?\s*(?i:step|iter|batch|iteration)s?:?\s*\[\s*(?P<batch>\d+)\s*/\s*(?P<of>\d+)",
        # | epoch   1 |   200/ 2983 batches      epoch 001:   3615 / 6547 loss=
        r"(?i:\bepoch)\s+(?P<epoch>\d+)\s*[|:,]\s*(?:(?i:batch|step|iter)\s*:?\s*)?(?P<batch>\d+)\s*/\s*(?P<of>\d+)\b",
        r"\[step=(?P<step>[\d,]+)/(?P<total>[\d,]+)",
        # iteration 12/ 500   step 1,234/10,000   Learning iteration 12/1500   Iter [50/500]   Step: 3 / 10   第 3/10 步
        r"(?i:\b(?:iterations?|iters?|steps?|global[_ ]step|batch)|步数?)\s*[:=：]?\s*\[?\s*(?P<step>\d[\d,]*)\s*/\s*(?P<total>\d[\d,]*)",
        r"第\s*(?P<step>\d+)\s*(?:/\s*(?P<total>\d+)\s*)?步",
        r"(?i:\bepochs?)\s*[:=]?\s*\[?\s*(?P<epoch>\d+)\s*/\s*\d+",
        r"第\s*(?P<epoch>\d+)\s*(?:/\s*\d+\s*)?(?:轮|个?epoch)",
        # Iter(train) [  50/40000]   12/500 loss 3.2
        r"(?i:\biter)\(\w+\)\s*\[\s*(?P<step>\d+)\s*/\s*(?P<total>\d+)\s*\]",
        r"^\s*\[?(?P<step>\d+)\s*/\s*(?P<total>\d+)\]?\s*[:|,-]?\s+(?=\S*loss)",
        r"^\s*(?P<step>\d+)\)\s+(?=loss)",  # absl submissions
        r"^\s*s:(?P<step>\d+)\s+(?=t[re]l:)",  # llm.c
    )
)


@dataclass(slots=True)
class Bar:
    """A progress bar of the line."""

    label: str
    """What is written before it: ``Epoch 3``, ``Validation``, or nothing."""
    done: float
    total: float

    @property
    def evaluating(self) -> bool:
        """Its label says that it is an evaluation."""
        return bool(_EVALUATING.search(self.label)) and not re.search(
            r"\btrain", self.label, re.IGNORECASE
        )

    @property
    def training(self) -> bool:
        """Its label says that it counts training steps."""
        return not self.evaluating and bool(_TRAINING.search(self.label))


def blank(text: str, start: int, end: int) -> str:
    """The same text with ``text[start:end]`` replaced by spaces."""
    return text[:start] + " " * (end - start) + text[end:]


def rank_prefix(text: str) -> tuple[int | None, int, Field | None]:
    """(rank, where the rest begins, the rank as a field) of a line; up to three prefixes."""
    rank: int | None = None
    found: Field | None = None
    at = 0
    for _ in range(3):
        match = _RANK.match(text, at)
        if match is None:
            break
        group = match.lastgroup
        if group is not None and rank is None:
            rank = int(match[group])
            found = Field("rank", match.start(group), match.end(group))
        at = match.end()
    return rank, at, found


def without_times(text: str) -> str:
    """Blank out time stamps, durations as h:mm:ss, and ``[file.py:12]`` callers."""
    for pattern in (_TIME, _CALLER):
        for match in pattern.finditer(text):
            text = blank(text, match.start(), match.end())
    return text


def take_bar(text: str, fields: list[Field]) -> tuple[str, Bar | None]:
    """Find a progress bar, add its fields, blank it out."""
    keras = _KERAS_BAR.match(text)
    if keras:
        fields.append(Field("step", *keras.span("n")))
        fields.append(Field("of", *keras.span("t")))
        bar = Bar("Epoch", float(keras["n"]), float(keras["t"]))
        return blank(text, *keras.span()), bar
    match = _BAR.search(text) if "%" in text and "[" in text else None
    if match is None and "━" in text:
        match = _RICH_BAR.match(text)
    if match is None:
        return text, None
    groups = match.groupdict()
    many = _MULTIPLES[groups.get("nk") or ""]
    label = text[: match.start()] if "percent" in groups else groups["head"]
    bar = Bar(
        label.strip()[-80:],
        float(match["n"]) * many,
        float(match["t"]) * _MULTIPLES[groups.get("tk") or ""],
    )
    fields.append(Field("step", *match.span("n"), many))
    fields.append(Field("of", *match.span("t"), _MULTIPLES[groups.get("tk") or ""]))
    if not re.search(r"epoch|\bep\b", label, re.IGNORECASE):
        fields.append(Field("total", *match.span("t"), _MULTIPLES[groups.get("tk") or ""]))
    elif groups.get("epoch"):
        fields.append(Field("epoch", *match.span("epoch")))
    rate = RATE_UNITS.get(groups.get("unit") or "")
    if groups.get("rate") not in (None, "?") and rate in ("it/s", "step_time_s"):
        reading: Reading = "inverse" if rate == "it/s" else "plain"
        fields.append(Field("step_time_s", *match.span("rate"), 1.0, reading))
    start = match.start() if "percent" in groups else match.end("head")
    return blank(text, start, match.end()), bar


def take_counters(text: str, fields: list[Field]) -> str:
    """Find ``step 3/10`` forms, add their fields, blank them out.

    A batch counted within its epoch is the step as the log counts it, but its ``of`` is not
    the end of the run and is dropped.
    """
    have = {f.name for f in fields}
    for pattern in _COUNTERS:
        match = pattern.search(text)
        if match is None:
            continue
        for group, span in (
            (g, match.span(g)) for g, v in match.groupdict().items() if v is not None
        ):
            name = "step" if group == "batch" else group
            if name not in have:
                fields.append(Field(name, *span))
        have = {f.name for f in fields}
        text = blank(text, *match.span())
    return text
