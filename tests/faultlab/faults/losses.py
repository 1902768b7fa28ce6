"""What becomes of a loss: a real language model on the CPU."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

from ..bench import PROGRAMS, Bench
from ..lab import DELIVERY_S, Fault

PACE = 0.08


def charlm(mode: str, *, first: int = 140, last: int = 200) -> Callable[[Bench], None]:
    """The model in this mode; step, format and seed differ from repeat to repeat."""

    def arrange(bench: Bench) -> None:
        bench.train(*bench.program("charlm", mode, *_words(bench, first, last)))

    return arrange


def _words(bench: Bench, first: int = 140, last: int = 200) -> tuple[object, ...]:
    return (
        *("--at", bench.random.randint(first, last)),
        *("--format", bench.random.choice(["plain", "iter", "json"])),
        *("--seed", bench.random.randint(1, 1000)),
        *("--pace", PACE),
    )


def resumed(bench: Bench, *, weights: bool) -> None:
    """A job that ends after some steps and goes on from there, with or without its weights."""
    at = 10 * bench.random.randint(10, 15)
    words = " ".join(str(w) for w in _words(bench))
    program = f"{sys.executable} {PROGRAMS / 'charlm.py'} none {words}"
    out = bench.root / "out"
    load = f"--load {out}/step-{at}.pt" if weights else ""
    bench.train(
        "/bin/sh",
        "-c",
        f"{program} --save-every {at} --out {out} --stop {at}; {program} --start {at} {load}",
        checkpoints=[out],
    )


def samples(count: float) -> float:
    """Seconds in which so many reports of the model come, and their news arrives.

    A step computes for about 10 ms, several times that while other rows compute as well.
    """
    return count * (PACE + 0.1) + DELIVERY_S


NONFINITE = Fault(
    "1",
    "nan_by_rate",
    charlm("nan_rate"),
    classes=frozenset({"loss_nan", "loss_inf"}),
    also=frozenset({"grad_nonfinite"}),
    cause="nan|infinite|non-finite|inf",
    remedy=r"stop the run|resume|checkpoint",
    deadline_s=samples(2),
    weight=0.2,
)
SPIKE = Fault(
    "4",
    "bad_batches",
    charlm("bad_batches"),
    classes=frozenset({"loss_spike", "loss_diverged"}),
    also=frozenset({"grad_spike", "loss_reset"}),
    cause="loss",
    remedy=r"wait|checkpoint|resume|rate",
    least="note",
    most="warning",
    deadline_s=samples(3),
    weight=0.2,
)
JUMP = replace(SPIKE, least="page", most="page", deadline_s=samples(33))
ZERO = Fault(
    "10a",
    "loss_zero",
    charlm("zero"),
    classes=frozenset({"loss_zero"}),
    cause="0|zero|leak",
    remedy=r"label|mask|look|data|batch|grad_norm",
    least="warning",
    deadline_s=samples(50),
    weight=0.2,
)

FAULTS = (
    NONFINITE,
    replace(NONFINITE, number="2", name="nan_weight", arrange=charlm("nan_weight")),
    replace(NONFINITE, number="3", name="inf_loss", arrange=charlm("inf_loss")),
    SPIKE,
    replace(JUMP, number="5", name="rate_jump", arrange=charlm("lr_jump")),
    replace(SPIKE, number="6", name="vocabulary_shift", arrange=charlm("vocabulary"), most="page"),
    replace(
        JUMP,
        number="7",
        name="weight_bit_flip",
        arrange=charlm("bit_flip"),
        classes=SPIKE.classes | NONFINITE.classes,
        remedy=r"stop|wait|checkpoint|resume",
    ),
    replace(
        SPIKE,
        number="8",
        name="slow_divergence",
        arrange=charlm("creep"),
        most="page",
        also=frozenset({"grad_spike", "loss_plateau"}),
        deadline_s=samples(500),  # the program tells when its loss has doubled
    ),
    Fault(
        "9",
        "resume_without_weights",
        lambda bench: resumed(bench, weights=False),
        classes=frozenset({"loss_reset"}),
        cause="resum|restart|weights|beginning",
        remedy=r"stop|load|checkpoint|missing keys",
        deadline_s=samples(8),
        weight=0.2,
    ),
    ZERO,
    replace(ZERO, number="10b", name="label_leak", arrange=charlm("leak")),
    Fault("C1", "healthy_model", charlm("none"), kind="control", length_s=100, weight=0.2),
    Fault(
        "C2",
        "resume_with_weights",
        lambda bench: resumed(bench, weights=True),
        kind="control",
        length_s=60,
        weight=0.2,
    ),
)
