"""Healthy runs whose words or numbers sound like trouble to those who do not know the method."""

from __future__ import annotations

import random
from collections.abc import Callable

from .acts import GIB, Act, Machine
from .healthy import Acts, HealthyRun
from .losses import Descent

Words = Callable[[random.Random, int], tuple[str, ...]]


def _spoken(rng: random.Random, words: Words) -> Acts:
    """Reports of one kind, and what is said between them."""
    loss, step = Descent(rng, 9.0, 2.2, 500), 0
    while True:
        step += 10
        line = f"step {step} | loss {loss.at(step):.4f} | lr 2.00e-04 | grad_norm 0.412"
        yield Act(rng.uniform(5, 6), "train", (*words(rng, step), line))
        if step % 4000 == 0:
            yield Act(60, "evaluate", (f"eval loss {loss.at(step):.4f}",))
            yield Act(15, "save", (f"saved /data/ckpt/step_{step}",), saves=4 * GIB, step=step,
                      keep=2)  # fmt: skip


def _samples(rng: random.Random, step: int) -> tuple[str, ...]:
    """A model of code writes code, and what code prints when it fails.

    Not the words for a GPU out of memory: those of the trainer itself would look no different.
    """
    if step % 500:
        return ()
    wrong = (
        "OSError: [Errno 28] No space left on device",
        "ZeroDivisionError: division by zero",
        "Segmentation fault (core dumped)",
        "KeyError: 'model'",
    )
    return (
        f"--- sample at step {step} ---",
        "def main():",
        "    try: train(model)",
        "Traceback (most recent call last):",
        f'  File "solution.py", line {rng.randrange(9, 99)}, in <module>',
        "    main()",
        rng.choice(wrong),
        "--- end of sample ---",
    )


def _retries(rng: random.Random, step: int) -> tuple[str, ...]:
    """The network is bad, and everything that uses it tries again."""
    if rng.random() > 0.02:
        return ()
    tries = (
        "wandb: Network error (ConnectionError), entering retry loop.",
        "WARNING urllib3.connectionpool: Retrying after connection broken by 'Read timed out.': /x",
        "Failed to read shard 00412.tar (Connection reset by peer), retrying in 2 s [Retry 1/5].",
        "wandb: ERROR Error while calling W&B API: internal server error (HTTP 500), retrying",
    )
    return (rng.choice(tries),)


def _skips(rng: random.Random, step: int) -> tuple[str, ...]:
    """Batches that are too large are left out, as some trainers do on purpose."""
    if rng.random() > 0.01:
        return ()
    return (
        "WARNING | ran out of memory with exception: CUDA out of memory. Tried to allocate 3.1 GiB",
        "WARNING | attempting to recover from OOM in forward/backward pass, skipping this batch",
    )


def _half_precision(rng: random.Random) -> Acts:
    """The loss scale is tried upwards every two thousand steps, and comes back down."""
    loss, step, scale = Descent(rng, 9.0, 2.2, 500), 0, 65536.0
    while True:
        step += 10
        norm = f"{rng.uniform(0.3, 0.9):.4f}"
        before: tuple[str, ...] = ()
        if step <= 30 or step % 2000 == 0:
            norm, scale = rng.choice(("inf", "nan")), max(scale / 2, 4096.0)
            before = (f"Gradient overflow. Skipping step, reducing loss scale to {scale}",)
        elif step % 2000 == 1000:
            scale = min(scale * 2, 65536.0)
        line = f"{{'loss': {loss.at(step):.4f}, 'grad_norm': {norm}, 'learning_rate': 1.0e-04,"
        line += f" 'loss_scale': {scale:.1f}, 'epoch': {step / 9000:.2f}}}"
        yield Act(rng.uniform(5, 6), "train", (*before, line))
        if step % 3000 == 0:
            yield Act(15, "save", saves=4 * GIB, step=step, keep=2)


def _preferences(rng: random.Random) -> Acts:
    """Preference tuning begins at ln 2 to the last digit while the rate warms up."""
    step, total = 0, 40_000
    while True:
        step += 10
        done = max(0.0, min(1.0, (step - 400) / 4000))
        value = 0.6931 - done * 0.35 + (0.03 * rng.gauss(0, 1) if done else 0.0)
        rate = 5e-7 * min(1.0, step / 4000) * max(0.0, 1 - step / total)
        line = f"{{'loss': {value:.4f}, 'learning_rate': {rate:.3e}, 'rewards/accuracies':"
        line += f" {0.5 + done * 0.2:.3f}, 'logps/chosen': -251.2, 'epoch': {step / total:.2f}}}"
        yield Act(rng.uniform(20, 24), "train", (line,))
        if step % 1000 == 0:
            yield Act(60, "save", saves=15 * GIB, step=step, keep=2)


def _group_relative(rng: random.Random) -> Acts:
    """Policy optimization on fresh samples: its loss is zero by construction, its rewards rise."""
    step = 0
    while True:
        step += 1
        value = 0.0 if step % 3 else rng.gauss(0, 2e-5)
        line = f"{{'loss': {value:.4f}, 'grad_norm': {rng.uniform(0.05, 0.3):.4f},"
        line += f" 'learning_rate': 1.0e-06, 'reward': {min(1.0, step / 4000):.4f}, 'reward_std':"
        line += f" {rng.uniform(0.1, 0.3):.4f}, 'completion_length': {rng.uniform(200, 900):.1f},"
        line += f" 'kl': {rng.uniform(0.0, 0.01):.5f}, 'epoch': {step / 9000:.4f}}}"
        yield Act(rng.uniform(25, 70), "sample")
        yield Act(rng.uniform(8, 12), "train", (line,))
        if step % 100 == 0:
            yield Act(40, "save", saves=15 * GIB, step=step, keep=2)


def _says(words: Words) -> Callable[[random.Random], Acts]:
    return lambda rng: _spoken(rng, words)


ONE = Machine(ranks=1)
WORDS: tuple[HealthyRun, ...] = (
    HealthyRun("samples", "a crash, a disk that is full", _says(_samples), ONE),
    HealthyRun("retries", "a network that broke it", _says(_retries), ONE),
    HealthyRun("skips", "a GPU out of memory", _says(_skips), ONE),
    HealthyRun("half", "gradients that explode", _half_precision, ONE),
    HealthyRun("preferences", "a loss that does not move", _preferences, ONE),
    HealthyRun("group-relative", "a loss of zero", _group_relative, ONE),
)
