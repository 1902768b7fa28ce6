"""Signatures of gradients and loss scales that a program itself reports as bad, in words.

Wordings: PyTorch, DeepSpeed, apex, fairseq, ColossalAI, Megatron-LM, ESPnet, PaddlePaddle,
MindSpore.
"""

from __future__ import annotations

from .form import Signature

SCALING: tuple[Signature, ...] = (
    Signature(
        "grad-nonfinite",
        "grad_nonfinite",
        r"(?i:\bgrad(?:ient)?s?(?:[ _]norm)? (?:are|is|contains?|became) (?:nan|inf\b|infinite|non-?finite|not finite)"
        r"|\b(?:found|detected|got|encountered) (?:nan|inf)(?: ?(?:/|or|and) ?(?:nan|inf))? .{0,30}\bgrad"
        r"|gradients are Nan/Inf"
        r"|norm of order .{0,40} for (?:the )?gradients .{0,40} is non-finite"
        r"|\bnon-?finite grad(?:ient)?s?\b(?! *[:=] *(?:0|false)\b|[ _](?:check|count))"
        r"|\b(?:nan|inf) (?:in )?(?:the )?gradients?\b(?! *[:=] *(?:0|false)|[ _](?:check|count|filter))"
        r"|Found Inf or NaN global norm)",
        severity="warning",
        fatal=False,
        source="pytorch nn/utils/clip_grad.py, fairseq trainer.py, espnet2 trainer.py, megatron-core",
    ),
    Signature(  # deepspeed, apex, fairseq, colossalai, paddlepaddle, mindspore
        "overflow-skip",
        "overflow_skip",
        r"(?i:overflow!.{0,60}skipping step)(?:.{0,60}?loss scale: (?P<attempted>[\d.e+-]+?)(?=, |$))?(?:.{0,60}reducing to (?P<scale>[\d.e+-]+))?"
        r"|(?i:gradient overflow)[.,!:]?\s+[Ss]kipping step(?:.{0,60}loss scale to (?P<scale_apex>[\d.e+-]+))?"
        r"|overflow detected, (?:ignoring gradient(?:, )?)?(?:setting loss scale to:? ?(?P<scale_fs>[\d.e+-]+))?"
        r"|(?i:(?:found|detected) (?:gradient )?overflow"
        r"|(?:grad(?:ient)? )?overflow (?:detected|occurs|occurred))[.,!:]? ?(?i:skip(?:ping)?\b|please check)"
        r"|(?i:grad(?:ient)? overflow on iteration)"
        r"|Found inf or nan, current scale is: [\d.e+-]+, decrease to: (?P<scale_pd>[\d.e+-]+)"
        r"|\boverflow(?: cond)?: ?True\b.{0,60}?(?:scal\w+(?: value)?: ?(?P<scale_ms>[\d.e+-]+))?",
        severity="info",
        fatal=False,
        source="deepspeed fp16/loss_scaler.py, apex amp/scaler.py, fairseq dynamic_loss_scaler.py",
    ),
    Signature(
        "loss-scale-exhausted",
        "loss_scale_exhausted",
        r"Current loss scale already at minimum"
        r"|Minimum loss scale reached"
        r"|(?i:(?:reached|hit|at) (?:the |its )?min(?:imum)? loss[ _]scale"
        r"|loss[ _]scale (?:has )?(?:reached|is at|hit) (?:the |its )?min(?:imum)?\b)",
        source="deepspeed fp16/loss_scaler.py, fairseq dynamic_loss_scaler.py",
    ),
)
