"""Healthy runs with habits of those who train: how they log, pause, save and start again."""

from __future__ import annotations

import random

from .acts import GIB, Act, Load, Machine
from .healthy import Acts, HealthyRun
from .losses import Descent

UPLOADS = Load(0.05, 0.0, 30.0, 8.0, 0.0, 0.12)
"""A main process that reads a file and sends it: next to no CPU, but bytes."""


def _growing_save(rng: random.Random) -> Acts:
    """The optimizer's state moves to a volume that gets slower: each save takes longer."""
    loss, step, took = Descent(rng, 9.0, 2.2, 500), 0, 40.0
    while True:
        step += 10
        line = f"step {step} | loss {loss.at(step):.4f} | lr 3.00e-04 | 1021 ms/step"
        yield Act(rng.uniform(10, 10.5), "train", (line,))
        if step % 2000 == 0:
            took = min(1.12 * took, 900.0)
            yield Act(took, "save", saves=40 * GIB, step=step, keep=2)


def _bar_only(rng: random.Random) -> Acts:
    """A bar for each batch of a long first epoch; one line with the loss when it is over."""
    loss, epoch, batches = Descent(rng, 4.0, 0.7, 5), 0, 2600
    yield Act(60, "load", ("Using device: cuda",))
    while True:
        for batch in range(1, batches + 1):
            took = rng.uniform(1.1, 1.3)
            done = f"{100 * batch // batches:3d}%|##        | {batch}/{batches}"
            bar = f"\rEpoch {epoch + 1}: {done} [10:00<40:00,  1.20s/it]"
            yield Act(took, "train", (bar,))
        epoch += 1
        yield Act(rng.uniform(280, 330), "evaluate")
        told = f"\nEpoch {epoch}: train_loss={loss.at(epoch):.4f} val_loss={loss.at(epoch):.4f}\n"
        yield Act(15, "save", (told,), saves=2 * GIB, step=epoch, keep=3)


def _rare_log(rng: random.Random) -> Acts:
    """One line in ten minutes is all it ever says; it evaluates without a word."""
    loss, step = Descent(rng, 8.0, 2.0, 900), 0
    while True:
        step += 1000
        seconds = rng.uniform(560, 640)
        if step % 12_000 == 0:
            yield Act(rng.uniform(500, 700), "evaluate")
        yield Act(seconds, "train", (f"[{step:08d}] loss: {loss.at(step):.5f}",))
        if step % 6000 == 0:
            yield Act(30, "save", saves=6 * GIB, step=step, keep=2)


def _irregular(rng: random.Random) -> Acts:
    """The batch grows by accumulation as it goes: steps come in uneven numbers."""
    loss, step = Descent(rng, 10.0, 2.4, 400), 0
    while True:
        by = rng.choice((1, 1, 2, 3, 5, 8, 13))
        step += by
        line = f"step={step} loss={loss.at(step):.4f} grad_accum={by} lr=1.0e-04"
        yield Act(by * rng.uniform(1.9, 2.2), "train", (line,))
        if rng.random() < 0.001:
            yield Act(40, "save", saves=10 * GIB, step=step, keep=3)


def _quieter(rng: random.Random) -> Acts:
    """Every step is told until somebody turns the log down to every thousandth."""
    loss, step = Descent(rng, 10.0, 2.4, 400), 0
    while True:
        by = 1 if step < 9000 else 1000
        step += by
        line = f"INFO step {step} loss {loss.at(step):.4f} lr 3.0e-04"
        yield Act(by * rng.uniform(0.4, 0.5), "train", (line,))
        if step % 9000 == 0:
            yield Act(30, "save", saves=3 * GIB, step=step, keep=2)


def _two_in_one(rng: random.Random) -> Acts:
    """Two trainers of one sweep print into the same file, far apart in steps and in loss."""
    losses = Descent(rng, 9.0, 3.2, 500), Descent(rng, 3.0, 0.8, 500)
    steps, turn = [40_000, 0], 0
    while True:
        turn = 1 - turn
        steps[turn] += 20
        told = f"step {steps[turn]} loss {losses[turn].at(steps[turn]):.4f} lr 1.0e-04"
        yield Act(rng.uniform(5, 7), "train", (told,))
        if steps[1] % 4000 == 0 and turn == 1:
            yield Act(12, "save", saves=3 * GIB, step=steps[1], keep=4)


def _outside_evaluation(rng: random.Random) -> Acts:
    """Another box evaluates: the trainer says so and sleeps for five minutes, idle."""
    loss, step = Descent(rng, 8.0, 2.1, 500), 0
    while True:
        step += 10
        line = f"step {step} loss {loss.at(step):.4f} lr 2.0e-05 tok/s 91000"
        yield Act(rng.uniform(8, 9), "train", (line,))
        if step % 2000 == 0:
            said = f"Evaluating step_{step} on the evaluation server"
            yield Act(20, "save", (said,), saves=8 * GIB, step=step, keep=2)
            yield Act(rng.uniform(280, 320), "rest", (f"eval_loss {loss.at(step):.4f}",))


def _goes_back(rng: random.Random) -> Acts:
    """Resumed from the last save every few hours: its steps begin up to 500 lower."""
    loss, step, saved, done = Descent(rng, 3.2, 0.9, 200, noise=0.05), 0, 0, 0
    while True:
        step, done = step + 10, done + 10
        shown = f"'loss': {loss.at(step):.4f}, 'grad_norm': {rng.uniform(0.5, 3):.4f}"
        shown += f", 'learning_rate': 4.2e-05, 'epoch': {step / 6000:.2f}"
        yield Act(10 * rng.uniform(1.2, 1.4), "train", (f"{{{shown}}}",))
        if step % 500 == 0:
            saved = step
            yield Act(20, "save", saves=9 * GIB, step=step, keep=2)
        if done % 8890 == 0:
            said = f"Resuming training from checkpoint-{saved}"
            yield Act(70, "load", (said,), restarts=True)
            step = saved


def _uploads_at_end(rng: random.Random) -> Acts:
    """Fine-tunings that send their model away for minutes before they exit."""
    while True:
        loss, total = Descent(rng, 2.8, 1.1, 60, noise=0.08), rng.randrange(1500, 2600)
        yield Act(40, "load")
        for step in range(1, total + 1):
            line = f"step {step}/{total} - loss: {loss.at(step):.4f} - lr: 1.0e-05"
            yield Act(rng.uniform(1.2, 1.3), "train", (line,))
        yield Act(30, "save", ("Training completed.",), saves=15 * GIB, step=total, keep=2)
        yield Act(rng.uniform(170, 260), "rest", load=UPLOADS)
        yield Act(2, "rest", ends=True)


def _other_world(rng: random.Random) -> Acts:
    """Nodes come and go: eight ranks, then six, then eight, and the pace with them."""
    loss, step, saved, done, ranks = Descent(rng, 9.0, 2.4, 500), 0, 0, 0, 8
    while True:
        step, done = step + 5, done + 5
        took = 5 * 8 / ranks * rng.uniform(0.95, 1.0)
        line = f"[step {step}] loss={loss.at(step):.4f} lr=2.0e-04 world_size={ranks}"
        yield Act(took, "train", (line,))
        if step % 1500 == 0:
            saved = step
            yield Act(20, "save", (f"saved checkpoint step_{step}",), saves=5 * GIB, step=step,
                      keep=2)  # fmt: skip
        if done % 7300 == 0:
            ranks = 6 if ranks == 8 else 8
            said = f"membership changed, world size is {ranks} from now on"
            yield Act(25, "rest", (said,))
            yield Act(60, "load", (f"resuming from step {saved}",), restarts=True, ranks=ranks)
            step = saved


def _chinese(rng: random.Random) -> Acts:
    """A trainer whose words are Chinese and whose names are not."""
    loss, step, epoch = Descent(rng, 7.0, 1.9, 400), 0, 1
    yield Act(50, "load", ("正在加载数据集…",))
    while True:
        step += 20
        line = f"训练中:轮次 {epoch}/40,step: {step},loss: {loss.at(step):.4f},学习率 lr: 3.0e-04"
        yield Act(20 * rng.uniform(0.6, 0.7), "train", (line,))
        if step % 3000 == 0:
            epoch += 1
            yield Act(rng.uniform(200, 240), "evaluate", (f"验证损失 {loss.at(step):.4f}",))
            yield Act(15, "save", (f"模型已保存到 /data/ckpt/{step}",), saves=4 * GIB, step=step,
                      keep=2)  # fmt: skip


HABITS: tuple[HealthyRun, ...] = (
    HealthyRun("growing-save", "a hang in a save longer than all before", _growing_save),
    HealthyRun("bar-only", "a silent log for the first hour", _bar_only, Machine(ranks=1)),
    HealthyRun("rare-log", "a hang between any two lines", _rare_log),
    HealthyRun("irregular", "a pace that is none", _irregular, Machine(ranks=4)),
    HealthyRun("quieter", "a hang when the log is turned down", _quieter, Machine(ranks=2)),
    HealthyRun(
        "two-in-one", "a loss that jumps, steps that go back", _two_in_one, Machine(ranks=2)
    ),
    HealthyRun("outside-eval", "an idle hang every half hour", _outside_evaluation),
    HealthyRun("goes-back", "a reset of the loss", _goes_back, Machine(ranks=1)),
    HealthyRun("uploads", "a finished run that does not exit", _uploads_at_end, Machine(ranks=1)),
    HealthyRun("other-world", "ranks that die, a collapse of the speed", _other_world),
    HealthyRun("chinese", "a log without a word one knows", _chinese, Machine(ranks=1)),
)
