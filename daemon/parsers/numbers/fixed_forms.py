"""Lines whose numbers have their names after them, or none: one pattern for each form.

They have no ``key: value`` that the grammar could read. Named groups are the names of the fields;
everything else on the line is ignored.
"""

from __future__ import annotations

import re

from .fields import Field

_F = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)"
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (atom, re.compile(pattern))
    for atom, pattern in (
        # darknet:  1000: 2.31, 2.51 avg loss, 0.0013 rate, 3.41 seconds, 64000 images
        (
            " avg",
            rf"^\s*(?P<step>\d+): (?P<train_loss>{_F}), {_F} avg(?: loss)?, (?P<lr>{_F}) rate, (?P<step_time_s>{_F}) seconds",
        ),
        # PyTorch's quick start: loss: 2.3123  [ 6400/60000]
        (
            "loss: ",
            rf"^\s*loss: (?P<train_loss>{_F})\s+\[\s*(?P<step>\d+)/\s*(?P<of>\d+)\]\s*$",
        ),
        # Marian: Ep. 1 : Up. 1000 : Sen. 12,345 : Cost 6.12 : Time 31.2s : 8123.12 words/s : gNorm 0.5
        (
            "Up. ",
            rf"\bEp\. (?P<epoch>\d+) : Up\. (?P<step>\d+) : (?:Sen\.|Labels) [\d,]+ : Cost (?P<train_loss>{_F})(?:[^:]{{0,40}} : Time [\d.]+s)?(?: : (?P<tokens_per_s>[\d.]+) words/s)?(?: : gNorm (?P<grad_norm>{_F}))?(?: : L\.r\. (?P<lr>{_F}))?",
        ),
        # OpenNMT: Step 1050/100000; acc: 12.3; ppl: 812.1; xent: 6.70; lr: 0.00012; 12312/11121 tok/s; 312 sec
        (
            " tok/s",
            rf"\bStep\s+(?P<step>\d+)/\s*(?P<total>\d+);.{{0,120}}?xent:\s+(?P<train_loss>{_F});\s+lr:\s+(?P<lr>{_F});.{{0,60}}?\s(?P<tokens_per_s>\d+)/\d+ tok/s",
        ),
        # tf-objdet: Step 100 per-step time 0.312s (loss=2.3)
        (
            "per-step time",
            rf"\bStep (?P<step>\d+) per-step time (?P<step_time_s>{_F})s(?: loss=(?P<train_loss>{_F}))?",
        ),
        # TF estimator: loss = 2.3125, step = 100 (1.213 sec)
        ("(", rf"\bloss = (?P<train_loss>{_F}), step = (?P<step>\d+)(?: \({_F} sec\))?\s*$"),
        # Tesseract: At iteration 100/100/100, mean rms=5.1%, …
        (
            "At iteration",
            r"\bAt iteration (?P<step>\d+)/\d+/\d+, [Mm]ean rms=",
        ),
        # ggml: train_opt_callback: iter=  12 sample=13/1000 sched=0.12 loss=3.12
        (
            "opt_",
            rf"\biter=\s*(?P<step>\d+)[ ,].{{0,80}}?\bloss=\s*(?P<train_loss>{_F})",
        ),
        # build-nanogpt: 0 train 10.949938     250 val 10.2312
        (" train ", rf"^\s*(?P<step>\d+) train (?P<train_loss>{_F})\s*$"),
        (" val ", rf"^\s*(?P<step>\d+) val (?P<eval_loss>{_F})\s*$"),
        (" hella ", rf"^\s*(?P<step>\d+) hella (?P<hella>{_F})\s*$"),
        # CNTK: Minibatch[  11-  20, 50.0%]: CrossEntropy = 2.3103 * 640
        (
            "Minibatch[",
            rf"^\s*Minibatch\[\s*\d+-\s*(?P<step>\d+)[^\]]{{0,20}}\]: \w+ = (?P<train_loss>{_F})",
        ),
        # so-vits-svc: Losses: [2.3, 2.1], step: 3200, lr: 9e-05
        (
            "Losses: [",
            rf"\bLosses: \[(?P<loss_disc>{_F}), ?(?P<loss_gen>{_F})[^\]]{{0,200}}\], step: (?P<step>\d+), lr: (?P<lr>{_F})",
        ),
    )
)


def fixed_form(text: str) -> list[Field]:
    """The fields of a line in one of these forms; empty for any other line."""
    for atom, pattern in _FORMS:
        if atom not in text:
            continue
        match = pattern.search(text[:1000])
        if match is None:
            continue
        return [
            Field(name, *match.span(name), key=name)
            for name, value in match.groupdict().items()
            if value is not None
        ]
    return []
