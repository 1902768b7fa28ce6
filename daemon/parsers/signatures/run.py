"""Signatures of numbers that go wrong, where the program itself says so in words.

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
        "val-loss-nan",
        "val_loss_nan",
        r"(?i)(?:\b(?:validation|valid|val|eval(?:uation)?|test|dev)[ _]loss (?:is|was|became|turned) "
        + _BAD
        + r"\b)|monitored metric (?:\S*/)?(?:val|valid|validation|eval|test|dev)\S* = (?:tensor\()?[-+]?(?:nan|inf)\)? is not finite",
        (
            "loss is nan",
            "loss is inf",
            "loss is non",
            "loss is not finite",
            "loss was nan",
            "loss was inf",
            "loss became nan",
            "loss became inf",
            "loss turned nan",
            "is not finite",
        ),
        (
            "WARNING: validation loss is NaN at epoch 3",
            "val_loss became inf",
            "Monitored metric val_loss = nan is not finite. Previous best value was 0.311. Signaling Trainer to stop.",
        ),
        (
            "validation loss is 0.31",
            "val_loss is not available, skipping",
            "Monitored metric val_loss did not improve in the last 3 records. Best score: 0.311.",
        ),
        severity="warning",
        fatal=False,
        source="lightning callbacks/early_stopping.py",
    ),
    Signature(
        "loss-nan-skipped",
        "loss_nan",
        r"(?i)(?:\b"
        + _BAD
        + r"\b.{0,40}\bloss\b|\bloss\b.{0,40}\b"
        + _BAD
        + r"\b).{0,80}\b"
        + _SKIPPED,
        ("loss is", "loss was", "nan loss", "inf loss", "finite loss", "infinite loss", "loss nan"),
        (
            "WARNING: loss is nan at step 300, skipping this batch",
            "NaN loss detected, skipping update",
            "non-finite loss: 3 samples ignored",
        ),
        ("Loss is nan, stopping training", "loss is 0.3, skipping validation"),
        severity="info",
        fatal=False,
        source="wenet, OpenNMT and timm style scripts",
    ),
    Signature(
        "loss-nan",
        "loss_nan",
        _NOT_VALIDATION
        + r"(?i:\bloss(?:es|_value)?(?: value)? (?:is|are|was|became|become|becomes|turned|went|has become|is equal to)(?: to)?(?: a)?(?: tensor\()?[: ]\s*(?:nan\b|not finite|non-?finite|not a number|infinite or nan|inf(?:inity)? or nan)"
        r"|\bnan loss\b(?!(?:es)?[ _](?:filter|check|skip|count|thresh)| *[:=] *(?:0|false|none|off))|\bnon-?finite loss\b(?! *[:=] *0\b)|\bloss returned .{0,40} is nan or inf|\binvalid loss, terminating training|\bloss nan (?:detected|encountered|found)"
        r"|\bnan or infinite loss|\bloss contains (?:inf|nan)|\b(?:detected|found|encountered|got) (?:a )?(?:inf/|inf or )?(?:nan|nan/inf|nan or inf) in (?:the )?(?:train(?:ing)? )?loss\b|\b(?:nan|nan or inf|inf or nan|nan/inf) (?:was |were )?(?:found|detected|encountered) in (?:the )?(?:train(?:ing)? )?loss\b(?!(?:es)?[ _](?:filter|check))|\bLossTensor is inf or nan)"
        r"|Model diverged with loss = NaN|NanLossDuringTraining|found NaN in (?:local )?(?:forward )?loss|Predicted boxes or scores contain Inf/NaN|Nan in summary histogram for|[Mm]onitored metric (?!\S*val|eval|test|dev)\S*loss\S* = (?:tensor\()?[-+]?(?:nan|inf)\)? is not finite",
        (
            "loss is nan",
            "loss is a nan",
            "loss is not",
            "loss is non",
            "loss is inf",
            "loss is: nan",
            "loss is equal to nan",
            "loss are nan",
            "losses are nan",
            "loss was nan",
            "loss_value is nan",
            "loss value is n",
            "loss value was n",
            "loss became ",
            "loss become ",
            "loss becomes ",
            "loss has become ",
            "loss turned ",
            "loss went ",
            "loss is tensor",
            "nan loss",
            "finite loss",
            "with loss = nan",
            "nanlossduring",
            "found nan in",
            "nan in loss",
            "found in loss",
            "found in the loss",
            "detected in loss",
            "detected in the loss",
            "encountered in loss",
            "nan in the loss",
            "nan in train",
            "nan in the train",
            "inf in loss",
            "inf in the loss",
            "is not finite",
            "loss returned",
            "invalid loss, term",
            "loss nan ",
            "infinite loss",
            "loss contains ",
            "losstensor is inf",
            "scores contain inf",
            "nan in summary histogram",
        ),
        (
            "Loss is nan, stopping training",
            "ERROR:tensorflow:Model diverged with loss = NaN.",
            "Rank 3: found NaN in local forward loss calculation",
            "Unexpected result nan on rank 0 at iteration #12 (message='found NaN in local forward loss calculation')",
            "FloatingPointError: Loss became infinite or NaN at iteration=812!",
            "Batch 12: Invalid loss, terminating training",
            "The loss returned in `training_step` is nan or inf.",
            "ValueError: nan loss encountered",
            "WARNING: NaN or Inf found in loss, aborting",
            "AssertionError: loss become infinite or NaN!",
            "InvalidArgumentError: LossTensor is inf or nan. : Tensor had NaN values",
            "WARNING: non-finite loss, ending training tensor([nan, 1., 2.])",
            "Monitored metric train_loss = nan is not finite. Previous best value was inf. Signaling Trainer to stop.",
            "FloatingPointError: Predicted boxes or scores contain Inf/NaN. Training has diverged.",
        ),
        (
            "loss: nan, time 3",
            "check_nan_loss = True",
            "number of nan iterations:   0",
            "nan loss filter: on",
            "nan losses: 0",
            "loss is not reduced over ranks",
            "loss was 2.1 before the restart",
        ),
        source="keras TerminateOnNaN, tensorflow NanTensorHook, lightning, detectron2, mmengine, megatron-core",
    ),
    Signature(
        "loss-inf",
        "loss_inf",
        _NOT_VALIDATION
        + r"(?i:\bloss(?: value)? (?:is|was|became|turned|went|has become)(?: to)?(?: tensor\()?[: ]\s*(?:[-+]?inf\b|infinite\b|infinity\b)(?! or nan))",
        (
            "loss is inf",
            "loss is -inf",
            "loss is: inf",
            "loss is tensor",
            "loss was inf",
            "loss became inf",
            "loss turned inf",
            "loss turned to inf",
            "loss went inf",
            "loss went to inf",
            "loss has become inf",
            "loss value is inf",
            "loss value was inf",
        ),
        ("Loss is inf, stopping training", "the loss became infinite"),
        ("loss is information about the fit", "Loss became infinite or NaN at iteration=3"),
        source="MAE and DETR engines",
    ),
    Signature(
        "nan-from-anomaly",
        "loss_nan",
        r"Function '\w+' returned nan values in its \d+th output|FloatingPointError: invalid value \((?:nan|inf)\) encountered|CheckNumerics.{0,200}Tensor had (?:NaN|Inf)|Detected (?:Infinity or NaN|nan and/or inf values) in |Tensor had (?:NaN|Inf(?: and NaN)?) values",
        (
            "returned nan values",
            "invalid value (nan",
            "invalid value (inf",
            "tensor had nan",
            "tensor had inf",
            "infinity or nan",
            "nan and/or inf",
        ),
        (
            "RuntimeError: Function 'LogBackward0' returned nan values in its 0th output.",
            "FloatingPointError: invalid value (nan) encountered in jit(step)",
            "InvalidArgumentError: gradient check failed : Tensor had NaN values [Op:CheckNumerics]",
            'tf.debugging.enable_check_numerics: Detected Infinity or NaN in output 0 of eagerly-executing op "Log"',
            "ValueError: Detected nan and/or inf values in `layer.weight`.",
        ),
        ("Function 'f' returned no values",),
        source="pytorch anomaly mode, tensorflow CheckNumerics, lightning detect_nan_parameters",
    ),
    Signature(
        "nan-values",
        "loss_nan",
        r"NaN or Inf found in input tensor|NaN detected in (?:output|input) of |(?i:contains? nan values in (?:the )?(?:output|logits|activations))",
        ("nan or inf found", "nan detected in", "nan values in"),
        (
            "WARNING:root:NaN or Inf found in input tensor.",
            "WARNING | fairseq.nan_detector | NaN detected in output of encoder.layers.0, shape: [8, 512], forward",
        ),
        ("No NaN detected", "NaN values in column age: 3"),
        role="confirmation",
        severity="warning",
        fatal=False,
        source="tensorboardX, fairseq nan_detector.py",
    ),
    Signature(
        "loss-diverged",
        "loss_diverged",
        r"(?i)^(?!.*(?:lr[ _]?finder|range test|stopping early, the loss has diverged|diverge_th|if (?:the )?(?:loss|training|model)))(?:.*?)"
        r"(?:\bloss (?:has |is )?(?:exploded|exploding|diverged|diverging|blown up|blew up)\b(?! *[:=] *(?:0|false|no))|\b(?:training|model) (?:has |is |was )?(?:diverged|diverging|collapsed)\b(?! *[:=] *(?:0|false|no)|.{0,20}loss = nan)|\bdivergence threshold reached:|\btraining divergence detected)",
        (
            "loss exploded",
            "loss is exploding",
            "loss is diverging",
            "loss has exploded",
            "loss diverged",
            "loss has diverged",
            "loss blew up",
            "loss has blown up",
            "training diverged",
            "training has diverged",
            "training is diverging",
            "training collapsed",
            "training has collapsed",
            "model diverged",
            "model has diverged",
            "model is diverging",
            "model collapsed",
            "model has collapsed",
            "divergence threshold reached",
            "training divergence detected",
        ),
        (
            "Loss exploded to 1023.14000 at step 4100!",
            "Loss diverged, stop training",
            "Loss is exploding: 1.2e12, giving up",
            "Divergence threshold reached: train_loss = 812.4 > 100.0. Signaling Trainer to stop.",
            "RuntimeError: training has diverged (loss 1.2e7 after 300 steps)",
        ),
        (
            "Stopping early, the loss has diverged",
            "LR finder stopped early after 84 steps due to diverging loss.",
            "ERROR:tensorflow:Model diverged with loss = NaN.",
            "If training diverged, lower the learning rate",
            "diverged: 0",
        ),
        source="lightning callbacks/early_stopping.py, Tacotron and EAST scripts",
    ),
)
