"""Counters in their many spellings: ``[3][40/500]``, ``iteration 5/ 100``, ``第 3 轮``."""

from __future__ import annotations

import re

from middlewatch.sentinels.kit.metric_names import words

from .fields import Field
from .prefixes import blank

_EPOCH = r"(?i:\b(?:epoch|train|training))"
_N = r"\d[\d,]*"
_COUNTERS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (tuple(words.split()), re.compile(pattern))
    for words, pattern in (
        # Epoch: [3][40/500]   Epoch(train) [1][40/500]   Train: [3/300][40/500]   [epoch 3][iter 0/110]
        (
            "epoch train",
            rf"{_EPOCH}(?:\(\w+\))?\s*:?\s*\[?\s*(?P<epoch>\d+)(?:/(?P<epochs>\d+))?\s*\]\s*\[(?:iter:?)?\s*(?P<batch>\d+)(?:\s*/\s*(?P<of>\d+))?\s*\]",
        ),
        # [Train][Epoch 1/120][Iter: 10/5005]
        (
            "epoch",
            r"\[Epoch:? (?P<epoch>\d+)(?:/(?P<epochs>\d+))?\]\s?\[(?:Iter|Step|Batch):? ?(?P<batch>\d+)/(?P<of>\d+)\]",
        ),
        # Train: 0 [  50/10009 (  0%)]   Train Epoch: 5 [640/50000 (1%)]   Epoch 5 [40/500]
        (
            "epoch train",
            rf"{_EPOCH}:?\s*(?P<epoch>\d+)(?:/(?P<epochs>\d+))?\s*,?\s*\[\s*(?P<batch>\d+)\s*/\s*(?P<of>\d+)",
        ),
        # Epoch [3/300], Step [40/500]
        (
            "epoch",
            r"(?i:\bepoch):?\s*\[\s*(?P<epoch>\d+)\s*/\s*(?P<epochs>\d+)\s*\]\s*,?\s*(?i:step|iter|batch|iteration)s?:?\s*\[\s*(?P<batch>\d+)\s*/\s*(?P<of>\d+)",
        ),
        # Epoch 1/10, Step 40/500   Epoch 3 | Batch 40/500   | epoch 1 |  200/ 2983 batches   epoch 001:  3615 / 6547 loss=
        (
            "epoch",
            r"(?i:\bepoch):?\s*\[?(?P<epoch>\d+)(?:\s?/\s?(?P<epochs>\d+))?\]?\s*[|:,;-]?\s*\[?(?:(?i:batch|step|iter|iteration|mini-?batch)\s*:?\s*)(?P<batch>\d+)\s*/\s*(?P<of>\d+)\b",
        ),
        ("epoch", r"(?i:\bepoch)\s?\[?(?P<epoch>\d+)\]?\s?\((?P<batch>\d+)/(?P<of>\d+)\)"),
        ("epoch", r"(?i:\bepoch)\s+(?P<epoch>\d+)\s*[|:,]\s*(?P<batch>\d+)\s*/\s*(?P<of>\d+)\b"),
        # ESPnet: 3epoch:train:401-500batch:     3epoch results:
        ("epoch:", r"\b(?P<epoch>\d+)epoch:\w+:\d+-(?P<step>\d+)batch"),
        ("epoch results", r"\b(?P<epoch>\d+)epoch results:"),
        ("step=", r"\[step=(?P<step>[\d,]+)/(?P<total>[\d,]+)"),
        # Training loss (for one batch) at step 1200: 2.31
        (
            "loss",
            r"(?i:(?<=loss)(?: \([^()]{1,40}\))? (?:at|after|for|in) (?:the )?(?:global |train(?:ing)? )?(?:step|iteration|iter|update|batch)) (?P<step>[\d,]+)(?=\s?(?:[:=]|is\b|->))",
        ),
        (
            "loss",
            r"(?i:(?<=loss)(?: \([^()]{1,40}\))? (?:at|after|for|in) (?:the )?epoch) (?P<epoch>\d+)(?=\s?(?:[:=]|is\b|->))",
        ),
        # --> STEP: 24/243 -- GLOBAL_STEP: 1025
        (
            "global_step:",
            r"\bSTEP: \d+/(?P<of>\d+) -- GLOBAL_STEP: (?P<step>\d+)",
        ),
        # iteration 12/ 500   step 1,234/10,000   Learning iteration 12/1500   Iter [50/500]   Step: 3 / 10   步数 3/10
        (
            "iter step batch= update sweep generation 步",
            rf"(?i:\b(?:iterations?|iters?|sweeps?|generations?|(?:global|train(?:ing)?|optimizer)?[_ ]?steps?|updates?|\[batch)|步数?)\s*[:=：]?\s*[\[(]?\s*(?P<step>{_N})\s*(?:/|(?i:of)\s)\s*(?P<total>{_N})(?!\d|:\d)",
        ),
        # round 92/400, of self-play and co-evolution, where nothing finer is counted
        (
            "round",
            r"(?i:^\W*(?!.*\b(?:steps?|iter\w*|epochs?|batch\w*)\b)(?:\S+ ){0,3}rounds?)\s+(?P<step>\d+)\s*/\s*(?P<total>\d+)(?!\d|:\d)",
        ),
        ("步", r"第\s*(?P<step>\d+)\s*(?:/\s*(?P<total>\d+)\s*)?(?:个?(?:step|iter)|步|次迭代)"),
        # Epoch 3/20   Epoch [3/20]   Ep. 3   EPOCH: 3/1000   epoch 3 of 20
        (
            "epoch",
            r"(?i:\bepochs?)\s*[:=#]?\s*\[?\(?\s*(?P<epoch>\d+)\s*(?:/|of\s)\s*(?P<epochs>\d+)",
        ),
        (
            "轮 epoch 代",
            r"第\s*(?P<epoch>\d+)\s*(?:/\s*(?P<epochs>\d+)\s*)?(?:轮|个?\s?epoch|代|个?周期)",
        ),
        ("轮", r"(?:轮次|轮数|训练轮次|轮)\s*[:：]?\s*\[?\s*(?P<epoch>\d+)\s*/\s*(?P<epochs>\d+)"),
        # trial 3 epoch 1   [trial 3]   trial #3/40, which counts nothing that a run makes
        ("trial", r"(?i:\btrial)[ :=_-]{0,2}#?(?P<trial>\d+)(?:\s?/\s?\d+)?(?=[\W_])"),
        # Iter(train) [  50/40000]
        ("iter(", r"(?i:\biter)\(\w+\)\s*\[\s*(?P<step>\d+)\s*/\s*(?P<total>\d+)\s*\]"),
    )
)
_COUNTING = re.compile(
    "epoch|train|step|iter|batch|update|loss|trial|sweep|generation|round|步|轮|代|第"
)
_AT_START = re.compile(
    r"\s*(?:"
    r"(?:\[ {0,8})?(?P<step>\d+)\s*/\s*(?P<total>\d+)\]?\s*[:|,-]?\s+(?=\S*(?i:loss)"  # 12/500 loss 3.2
    r"|[^\W\d][\w/.-]*\s?[:=]\s?[-+]?(?:\d|nan|inf))"  # 12/500 mse=0.07
    r"|(?P<step2>\d+)\)\s+(?=loss)"  # 120) loss=…
    r"|s:(?P<step3>\d+)\s+(?=t[re]l:)"  # llm.c's main.log
    r"|\[\s*(?P<epoch>\d+)(?:/(?P<epochs>\d+))?\]\s?\[\s*(?P<batch>\d+)\s*/\s*(?P<of>\d+)\]"  # [1/25][50/1583]
    r"|\[\s*(?P<epoch2>\d+)\]\s+(?P<step4>\d+) \|\|"  # YOLACT
    r"|\[\s*(?P<epoch3>\d+),\s+(?P<batch2>\d+)\](?=\s*\S*(?i:loss))"  # [1,  2000] loss:
    r"|\[(?P<step5>\d+)\] (?=[\w/]+=)"  # clu: [100] loss=…
    r"|\[(?P<step6>\d+)\]\t(?=[\w' -]+[:#])"  # boosting rounds
    r"|(?P<step7>\d+):\t(?=learn:)"
    r"|tick (?P<step8>\d+)\s+(?=kimg)"  # StyleGAN
    r")"
)
_ANY = re.compile(
    r"(?<![\w/.-])(?P<word>[^\W\d_]{2,20})[ :=#]{1,3}\[?(?P<n>\d{1,9}) ?/ ?(?P<of>\d{1,9})\]?(?![\d/.:%-])"
)
_WHICH = words(
    "rank gpu gpus device node worker workers host process fold seed model member shard expert layer "
    "head group task split trial run job client attempt retry try part test mem memory cpu vram ram "
    "acc accuracy correct hits solved wins score"
)
"""Words before a number that says which one it is, or how much is used, and not how far the run is."""


def take_counters(text: str, fields: list[Field]) -> str:
    """Find counters such as ``step 3/10``, add their fields, and blank them out.

    A batch that is counted within its epoch gives the step. Its ``of`` is the length of the
    epoch, not of the run, so it is a field of its own beside ``total``.
    """
    match = _AT_START.match(text)
    if match is not None and match.end() > 0:
        text = _take(text, match, fields)
    low = text.lower()
    if not _COUNTING.search(low):
        return text
    for clues, pattern in _COUNTERS:
        for word in clues:
            if word in low:
                break
        else:
            continue
        match = pattern.search(text)
        if match is not None:
            text = _take(text, match, fields)
    return text


def count_by_any_word(text: str, fields: list[Field]) -> None:
    """Add the counter of a report that has none by a known word: ``pass 2/4 block 15/60 mse 0.2``.

    Of two counters the first is the outer one: it counts what an epoch is elsewhere.
    """
    found = [
        match
        for match in _ANY.finditer(text, 0, 160)
        if match["word"].lower() not in _WHICH and int(match["n"]) <= int(match["of"]) > 1
    ]
    if not 1 <= len(found) <= 2 or (len(found) == 2 and found[1].start() - found[0].end() > 4):
        return
    spans = [match.span(group) for match in found for group in ("n", "of")]
    fields[:] = [f for f in fields if (f.start, f.end) not in spans]
    inner = ("step", "of") if len(found) == 2 else ("step", "total")
    for match, names in zip(found[::-1], (inner, ("epoch", "epochs")), strict=False):
        for name, group in zip(names, ("n", "of"), strict=True):
            fields.append(Field(name, *match.span(group), weight=1))


def _take(text: str, match: re.Match[str], fields: list[Field]) -> str:
    have = {f.name for f in fields}
    inside = re.search(r"(?i)\bit", match.group()) is not None and "total" in match.groupdict()
    for group, value in match.groupdict().items():
        name = group.rstrip("2345678")
        # "iter 14/15 [step] 89": iterations are often counted within an epoch
        weight = 2 if name == "batch" or inside else 3
        name = "step" if name == "batch" else name
        if value is not None and name not in have:
            fields.append(Field(name, *match.span(group), weight=weight))
            have.add(name)
    return blank(text, *match.span())
