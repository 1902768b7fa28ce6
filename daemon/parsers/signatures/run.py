"""Signatures of NaN and other bad numbers that a program itself reports in words.

Wordings: PyTorch, TensorFlow and Keras, Lightning, fairseq, DeepSpeed, apex, Megatron-LM,
detectron2, OpenMMLab, ESPnet, MAE/DETR style scripts, PaddlePaddle, MindSpore. Values of
metrics are not judged here: they are read as numbers.
"""

from __future__ import annotations

from .form import Signature

_SKIPPED = (
    r"(?:skip(?:ped|ping|s)?|ignor(?:e|ed|ing)|dropp(?:ed|ing)|discard(?:ed|ing)?|continuing|跳过)"
)
_NOT_VALIDATION = r"(?<!validation )(?<!valid )(?<!val )(?<!eval )(?<!evaluation )(?<!test )(?<!dev )(?<!Validation )(?<!Val )(?<!Valid )"
_BAD = r"(?:nan|inf|infinity|infinite|not finite|non-?finite)"

RUN: tuple[Signature, ...] = (
    Signature(
        "loss-null",
        "loss_missing",
        r"(?i)^(?!.*(?:eval|valid|\bval|test)).*?(?<![\w/.])[\"']?(?:train(?:ing)?[_/ ])?loss[\"']? ?[:=]? ?(?:null|none)(?![\w.-])",
        role="confirmation",
        severity="info",
        fatal=False,
        source="NaN is written as null in JSON; some programs print None",
    ),
    Signature(
        "val-loss-nan",
        "val_loss_nan",
        rf"(?i)(?:\b(?:validation|valid|val|eval(?:uation)?|test|dev)[ _]loss (?:is|was|became|turned) {_BAD}\b)"
        r"|monitored metric (?:\S*/)?(?:val|valid|validation|eval|test|dev)\S* = (?:tensor\()?[-+]?(?:nan|inf)\)? is not finite",
        severity="warning",
        fatal=False,
        source="lightning callbacks/early_stopping.py",
    ),
    Signature(
        "loss-nan-skipped",
        "loss_nan",
        # within one column of a line of metrics: Megatron counts skipped iterations in another
        rf"(?i)(?:\b{_BAD}\b[^|]{{0,40}}\bloss\b|\bloss\b[^|]{{0,40}}\b{_BAD}\b)[^|]{{0,80}}\b{_SKIPPED}",
        narrow=(
            "skip",
            "ignor",
            "dropp",
            "discard",
            "continuing",
            "跳过",
        ),
        severity="info",
        fatal=False,
        source="wenet, OpenNMT and timm style scripts",
    ),
    Signature(
        "loss-nan",
        "loss_nan",
        rf"{_NOT_VALIDATION}(?i:"
        r"\bloss(?:es|_value)?(?: value)? (?:is|are|was|became|become|becomes|turned|went|has become|is equal to)(?: to)?(?: a)?(?: tensor\()?[: ]\s*(?:nan\b|not finite|non-?finite|not a number|infinite or nan|inf(?:inity)? or nan)"
        r"|\bnan loss\b(?!(?:es)?[ _](?:filter|check|skip|count|thresh)| *[:=] *(?:0|false|none|off))"
        r"|\bnon-?finite loss\b(?! *[:=] *0\b)"
        r"|\bloss returned .{0,40} is nan or inf"
        r"|\binvalid loss, terminating training"
        r"|\bloss nan (?:detected|encountered|found)"
        r"|\bnan or infinite loss"
        r"|\bloss contains (?:inf|nan)"
        r"|\b(?:detected|found|encountered|got) (?:a )?(?:inf/|inf or )?(?:nan|nan/inf|nan or inf) in (?:the )?(?:train(?:ing)? )?loss\b"
        r"|\b(?:nan|nan or inf|inf or nan|nan/inf) (?:was |were )?(?:found|detected|encountered) in (?:the )?(?:train(?:ing)? )?loss\b(?!(?:es)?[ _](?:filter|check))"
        r"|\bLossTensor is inf or nan)"
        r"|Model diverged with loss = NaN"
        r"|NanLossDuringTraining"
        r"|found NaN in (?:local )?(?:forward )?loss"
        r"|Predicted boxes or scores contain Inf/NaN"
        r"|Nan in summary histogram for"
        r"|[Mm]onitored metric (?!\S*val|eval|test|dev)\S*loss\S* = (?:tensor\()?[-+]?(?:nan|inf)\)? is not finite",
        source="keras TerminateOnNaN, tensorflow NanTensorHook, lightning, detectron2, mmengine, megatron-core",
    ),
    Signature(
        "loss-inf",
        "loss_inf",
        rf"{_NOT_VALIDATION}(?i:\bloss(?: value)? (?:is|was|became|turned|went|has become)(?: to)?(?: tensor\()?[: ]\s*(?:[-+]?inf\b|infinite\b|infinity\b)(?! or nan))",
        source="MAE and DETR engines",
    ),
    Signature(
        "nan-from-anomaly",
        "loss_nan",
        r"Function '\w+' returned nan values in its \d+th output"
        r"|FloatingPointError: invalid value \((?:nan|inf)\) encountered"
        r"|CheckNumerics.{0,200}Tensor had (?:NaN|Inf)"
        r"|Detected (?:Infinity or NaN|nan and/or inf values) in "
        r"|Tensor had (?:NaN|Inf(?: and NaN)?) values",
        source="pytorch anomaly mode, tensorflow CheckNumerics, lightning detect_nan_parameters",
    ),
    Signature(
        "nan-values",
        "loss_nan",
        r"NaN or Inf found in input tensor"
        r"|NaN detected in (?:output|input) of "
        r"|(?i:contains? nan values in (?:the )?(?:output|logits|activations))",
        role="confirmation",
        severity="warning",
        fatal=False,
        source="tensorboardX, fairseq nan_detector.py",
    ),
    Signature(
        "loss-diverged",
        "loss_diverged",
        r"(?i)^(?!.*(?:lr[ _]?finder|range test|stopping early, the loss has diverged|diverge_th|if (?:the )?(?:loss|training|model)))(?:.*?)(?:"
        r"\bloss (?:has |is )?(?:exploded|exploding|diverged|diverging|blown up|blew up)\b(?! *[:=] *(?:0|false|no))"
        r"|\b(?:training|model) (?:has |is |was )?(?:diverged|diverging|collapsed)\b(?! *[:=] *(?:0|false|no)|.{0,20}loss = nan)"
        r"|\bdivergence threshold reached:"
        r"|\btraining divergence detected)",
        source="lightning callbacks/early_stopping.py, Tacotron and EAST scripts",
    ),
)
