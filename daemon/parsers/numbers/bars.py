"""Progress bars: tqdm, Keras, Lightning with rich, fastprogress, Paddle, levanter and others."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .fields import RATE_UNITS, Field, Reading
from .prefixes import blank

_TQDM = re.compile(
    r"(?P<percent>\d{1,3})%\s*(?:\|[^|\[]{0,400}\|)?\s*"
    r"(?P<n>\d+(?:\.\d+)?)(?P<nk>[kKMG]?)/(?P<t>\d+(?:\.\d+)?)(?P<tk>[kKMG]?)"
    r"\s*\[(?P<spent>[\d:]+)<(?P<left>[^,\]]*)(?:,\s*(?P<rate>\d+(?:\.\d+)?|\?)\s?(?P<unit>[\w/]+))?"
)
_TQDM_WRAPPED = re.compile(
    r"^\s*(?P<n>\d+)/(?P<t>\d+)\s*\[(?P<spent>[\d:]+)<(?P<left>[^,\]]*)(?:,\s*(?P<rate>\d+(?:\.\d+)?|\?)\s?(?P<unit>[\w/]+))?"
)
_TQDM_WITHOUT_END = re.compile(
    r"(?:^|\s)(?P<n>\d+) ?(?P<of_what>[a-z]{1,12}) \[(?P<spent>\d\d:[\d:]+),\s*(?P<rate>\d+(?:\.\d+)?|\?)\s?(?P<unit>[\w/]+)"
)
_FASTPROGRESS = re.compile(
    r"(?P<percent>\d{1,3}(?:\.\d+)?)% \[(?P<n>\d+)/(?P<t>\d+) (?P<spent>[\d:]+)<(?P<left>[\d:]+)"
)
_LEVANTER = re.compile(
    r"^\s*Progress on:(?P<label>[\w/ -]{1,40}?) (?P<n>[\d.]+)(?P<nk>[kM]?)it/(?P<t>[\d.]+)(?P<tk>[kM]?)it"
    r"(?: rate:(?P<rate>[\d.]+)(?P<unit>it/s|s/it))?(?: remaining:\S+)?(?: elapsed:\S+)?"
)
_COUNTED = re.compile(
    r"(?P<percent>\d{1,3})% ?\((?P<n>\d+) of (?P<t>\d+)\)"  # progressbar2
    r"|\|[█▏▎▍▌▋▊▉⚠︎ ]{8,200}\|\s?(?P<n2>\d+)/(?P<t2>\d+) \[\d{1,3}%\]"  # alive-progress
    r"|\[(?=[#=>. -]{10,200}\])[#=>. -]+\]\s?(?P<n3>\d+)/(?P<t3>\d+)\b"
)
_KERAS = re.compile(
    r"^\s*(?:step\s+)?(?P<n>\d+)/(?P<t>\d+)\s+(?:\[[=>.-]{1,200}\]|━[━─╸╺\s]{4,200})"
)
_RICH = re.compile(
    r"(?P<head>[^━╸╺\d]{0,200}(?P<epoch>\d+)?(?:/\d+)?[^━╸╺\d]{0,40})[━╸╺ ]{6,}\s*(?P<n>\d+)/(?P<t>\d+)\s+[\d:]+\s+•\s+[-\d:]+"
    r"(?:\s+(?P<rate>\d+(?:\.\d+)?)(?P<unit>it/s|s/it))?"
)
_BARS_OF_RICH = re.compile(r"[━╸╺]{6}")
_STEPS = frozenset(["it", "step", "steps", "batch", "batches", "iter", "iters", "ep", "ba"])
_MULTIPLES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_EVALUATING = re.compile(
    r"\b(?:valid\w*|val|eval\w*|test\w*|sanity\w*|predict\w*|infer\w*|generat\w*)\b|验证|测试|评估",
    re.IGNORECASE,
)
_TRAINING = re.compile(
    r"\b(?:train\w*|epochs?|ep|steps?|iters?|iterations?|fine-?tun\w*|optimi[sz]\w*|loss)\b|训练|轮",
    re.IGNORECASE,
)
_IS_TRAIN = re.compile(r"\btrain|训练", re.IGNORECASE)
_IN_EPOCH = re.compile(r"epoch|\bep\b|轮", re.IGNORECASE)
_EPOCH_OF_LABEL = re.compile(
    r"(?i:\bep(?:och)?s?)\s*[:#=]?\s*\[?\s*(?P<epoch>\d+)(?:\s*(?:/|of)\s*(?P<epochs>\d+))?"
    r"|第\s*(?P<epoch2>\d+)\s*(?:/\s*(?P<epochs2>\d+)\s*)?轮"
)


@dataclass(slots=True)
class Bar:
    """A progress bar in a line; ``done`` and ``total`` count steps or items."""

    label: str
    """The text before it: ``Epoch 3``, ``Validation``, or nothing."""
    done: float
    total: float

    @property
    def evaluating(self) -> bool:
        """Whether its label says that it is an evaluation."""
        return bool(_EVALUATING.search(self.label)) and not _IS_TRAIN.search(self.label)

    @property
    def training(self) -> bool:
        """Whether its label says that it counts training steps."""
        return not self.evaluating and bool(_TRAINING.search(self.label))


def take_bar(text: str, fields: list[Field]) -> tuple[str, Bar | None]:
    """Find a progress bar, add its fields, and blank it out: (text, bar)."""
    keras = _KERAS.match(text) if "/" in text else None
    if keras:
        fields.append(Field("step", *keras.span("n"), weight=1))
        fields.append(Field("of", *keras.span("t")))
        bar = Bar("Epoch", float(keras["n"]), float(keras["t"]))
        return blank(text, *keras.span()), bar
    match = _find(text)
    if match is None:
        return text, None
    groups = {k.rstrip("23"): v for k, v in match.groupdict().items() if v is not None}
    spans = {k.rstrip("23"): match.span(k) for k, v in match.groupdict().items() if v is not None}
    label = groups.get("head", groups.get("label", text[: match.start()]))
    many, of_many = _MULTIPLES[groups.get("nk", "")], _MULTIPLES[groups.get("tk", "")]
    total = float(groups["t"]) * of_many if "t" in groups else 0.0
    if groups.get("of_what", "it") not in _STEPS:
        label = "items"  # examples, files or bytes: it is preparing data
    bar = Bar(label.strip()[-80:], float(groups["n"]) * many, total)
    in_epoch = bool(_IN_EPOCH.search(label))
    fields.append(Field("step", *spans["n"], many, weight=1))
    if "t" in spans:
        fields.append(Field("of", *spans["t"], of_many))
        if not in_epoch:
            fields.append(Field("total", *spans["t"], of_many, weight=4))
    start = match.end("head") if "head" in groups else match.start()
    if "epoch" in spans:
        fields.append(Field("epoch", *spans["epoch"]))
    else:
        text = _label_epoch(text, start, fields)
    rate = RATE_UNITS.get(groups.get("unit", ""))
    if groups.get("rate") not in (None, "?") and rate in ("it/s", "step_time_s"):
        reading: Reading = "inverse" if rate == "it/s" else "plain"
        fields.append(Field("step_time_s", *spans["rate"], 1.0, reading, weight=-1))
    return blank(text, start, match.end()), bar


def _find(text: str) -> re.Match[str] | None:
    if "%" in text:
        match = (
            _TQDM.search(text)
            if "[" in text and "<" in text
            else _COUNTED.search(text)
            if " of " in text or "[" in text
            else None
        )
        if match is None and "<" in text:
            match = _FASTPROGRESS.search(text)
        if match is not None:
            return match
    if "━" in text and _BARS_OF_RICH.search(text):
        return _RICH.match(text)
    if "/" in text and "<" in text:
        match = _TQDM_WRAPPED.match(text)
        if match is not None:
            return match
    if "s [" in text or "t [" in text or "h [" in text:
        return _TQDM_WITHOUT_END.search(text)
    if text.lstrip().startswith("Progress on:"):
        return _LEVANTER.match(text)
    if "█|" in text or (" |" in text and "█" in text):
        return _COUNTED.search(text)
    return None


def _label_epoch(text: str, start: int, fields: list[Field]) -> str:
    """Add the epoch in the label of a bar, and of how many: ``Epoch 3/20:  45%|``."""
    match = _EPOCH_OF_LABEL.search(text, 0, start)
    if match is None:
        return text
    fields += (
        Field(group.rstrip("2"), *match.span(group))
        for group in ("epoch", "epochs", "epoch2", "epochs2")
        if match[group] is not None
    )
    return blank(text, *match.span())
