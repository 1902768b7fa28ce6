"""Healthy runs on odd boxes: what is not told there, what jumps, and who else lives on them."""

from __future__ import annotations

import random
from functools import partial

from .acts import GIB, Act, Load, Machine
from .healthy import Acts, HealthyRun
from .losses import Descent

SLEEPS = Load(0.004, 0.0, 0.0, 0.0, 0.97, 0.85)
"""A trainer that waits for its GPU in a blocking call (cudaDeviceScheduleBlockingSync)."""
STALLED = Load(0.0, 0.01, 0.0, 0.0, 0.0, 0.14, blocked=0.8)
"""Everybody waits for workers that wait for a file server."""


def _plain(rng: random.Random, every_s: float = 6.0, eval_s: float = 250.0) -> Acts:
    """Steps of one length, evaluations without a word, a save after each."""
    loss, step = Descent(rng, 9.0, 2.3, 400), 0
    while True:
        step += 10
        line = f"step {step}/900000 loss {loss.at(step):.4f} lr 2.0e-04"
        yield Act(every_s * rng.uniform(0.97, 1.05), "train", (line,))
        if step % 5000 == 0:
            yield Act(eval_s * rng.uniform(0.9, 1.1), "evaluate")
            yield Act(20, "save", saves=5 * GIB, step=step, keep=2)


def _long_steps(rng: random.Random) -> Acts:
    """Each step takes a minute in which no process does anything one could see."""
    loss, step = Descent(rng, 9.0, 2.3, 60), 0
    yield Act(200, "load", ("loading the model",))
    while True:
        step += 1
        line = f"step {step} loss {loss.at(step):.4f} grad_norm {rng.uniform(0.3, 0.9):.3f}"
        yield Act(rng.uniform(40, 90), "train", (line,), load=SLEEPS)
        if step % 60 == 0:
            yield Act(60, "save", (f"Saved checkpoint step_{step}",), saves=30 * GIB, step=step,
                      keep=2)  # fmt: skip


def _unnumbered(rng: random.Random) -> Acts:
    """Reports that tell an epoch and no step, from a trainer whose bar is turned off."""
    loss, step = Descent(rng, 3.2, 0.9, 200, noise=0.05), 0
    while True:
        step += 1
        shown = f"'loss': {loss.at(step):.4f}, 'grad_norm': {rng.uniform(0.5, 3):.4f}"
        shown += f", 'learning_rate': 2.0e-05, 'epoch': {step / 900:.2f}"
        yield Act(rng.uniform(50, 75), "train", (f"{{{shown}}}",), load=SLEEPS)
        if step % 300 == 0:
            yield Act(40, "save", saves=9 * GIB, step=step, keep=2)


def _file_server(rng: random.Random) -> Acts:
    """Data come from a file server that stands still for half a minute every few minutes."""
    loss, step = Descent(rng, 7.0, 2.0, 700), 0
    while True:
        for _ in range(rng.randrange(15, 40)):
            step += 10
            line = f"Step {step} | loss: {loss.at(step):.4f} | lr: 1.0e-04"
            yield Act(10 * rng.uniform(0.9, 1.1), "train", (line,))
        yield Act(rng.uniform(20, 50), "train", load=STALLED)
        if rng.random() < 0.1:
            yield Act(20, "save", saves=4 * GIB, step=step, keep=2)


def _milestones(rng: random.Random) -> Acts:
    """Two saves are kept, and every fifth of them for ever."""
    loss, step = Descent(rng, 9.0, 2.3, 400), 0
    while True:
        step += 10
        line = f"step {step} loss {loss.at(step):.4f} lr 2.0e-04 dt 612ms"
        yield Act(6 * rng.uniform(0.97, 1.05), "train", (line,))
        if step % 2000 == 0:
            ever = step % 10_000 == 0
            yield Act(15, "save", saves=12 * GIB, step=step, keep=2, kept_for_ever=ever)


BOXES: tuple[HealthyRun, ...] = (
    HealthyRun("mig", "GPUs that do nothing", _plain, Machine(ranks=1, gpus="mig")),
    HealthyRun(
        "no-nvml", "a hang in every step", _long_steps, Machine(ranks=2, workers=0, gpus="none")
    ),
    HealthyRun(
        "unnumbered",
        "a run without a single step",
        _unnumbered,
        Machine(ranks=1, workers=0, gpus="none"),
    ),
    HealthyRun("nvml-fails", "a GPU that dies", _plain, Machine(ranks=2, nvml_fails=(4.0, 3.5))),
    HealthyRun("file-server", "a mount that does not answer", _file_server, Machine(ranks=1)),
    HealthyRun(
        "clock-jumps",
        "a silence of an hour",
        _long_steps,
        Machine(
            ranks=1,
            workers=0,
            gpus="none",
            clock_jumps=((0.4, 3600.0), (0.8, -3600.0), (9.1, -3600.0), (15.2, 3600.0)),
        ),
    ),
    HealthyRun(
        "watch-sleeps",
        "a silence of twenty minutes",
        partial(_plain, every_s=20.0),
        Machine(ranks=1, watch_sleeps=((0.3, 1200.0), (3.2, 1200.0), (11.0, 3000.0))),
    ),
    HealthyRun(
        "no-limit",
        "a box without memory",
        _plain,
        Machine(ranks=1, limited=False, used_bytes=420 * GIB),
    ),
    HealthyRun(
        "hot-cache",
        "memory that runs out",
        _plain,
        Machine(ranks=1, memory_bytes=96 * GIB, used_bytes=30 * GIB, active_cache=True),
    ),
    HealthyRun(
        "shared-disk",
        "a disk that fills up, inodes that are gone",
        _milestones,
        Machine(ranks=1, inodes=False, neighbours=(2800 * GIB, 9.0)),
    ),
)
