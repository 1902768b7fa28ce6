"""Fifteen healthy runs of well-known programs, each with something that looks like trouble.

Every run is an endless generator of :class:`Act`; nothing in it knows of the watch. The
printed forms are those of the programs named.
"""

from __future__ import annotations

import json
import random

from .acts import GIB, Act, Machine
from .healthy import Acts, HealthyRun
from .losses import Descent, after_restart


def _megatron(rng: random.Random) -> Acts:
    """Evaluation of four minutes every 500 steps, saves of 90 s every 1,000."""
    loss = Descent(rng, 11.0, 2.1, 900)
    yield Act(140, "load", ("loading checkpoint shards: none, starting from scratch",))
    step = 0
    while True:
        step += 1
        took = 2.1 * rng.uniform(0.97, 1.05) + (40 if step == 1 else 0)
        lr = 3e-4 * min(1.0, step / 500)
        line = (
            f" iteration {step:8d}/ 500000 | consumed samples: {step * 512:12d} | elapsed time per"
            f" iteration (ms): {took * 1000:.1f} | learning rate: {lr:.3E} | global batch size:"
            f"   512 | lm loss: {loss.at(step):.6E} | loss scale: 1.0 | grad norm:"
            f" {rng.uniform(0.2, 0.9):.3f} | number of skipped iterations:   0 |"
            " number of nan iterations:   0 |"
        )
        yield Act(took, "train", (line,))
        if step % 500 == 0:
            value = loss.at(step) * 1.02
            rule = "-" * 90
            said = f" validation loss at iteration {step} | lm loss value: {value:.6E} |"
            yield Act(rng.uniform(220, 260), "evaluate", (rule, said, rule))
        if step % 1000 == 0:
            said = f"  successfully saved checkpoint at iteration {step} to /data/ckpt"
            yield Act(rng.uniform(80, 100), "save", (said,), saves=98 * GIB, step=step, keep=3)


def _hf_trainer(rng: random.Random) -> Acts:
    """A bar that is redrawn by carriage returns, a dict every 50 steps, long evaluations."""
    loss = Descent(rng, 3.2, 0.9, 200, noise=0.06, memory=0.2)
    total, step = 60_000, 0
    yield Act(70, "load")
    while True:
        step += 1
        took = rng.uniform(1.1, 1.4)
        bar = f"\r{100 * step // total:3d}%|####      | {step}/{total} [1:00:00<9:00:00, 1.25s/it]"
        yield Act(took, "train", (bar,))
        if step % 50 == 0:
            epoch, lr = step / 6000, 5e-5 * max(0.0, 1 - step / total)
            shown = f"'loss': {loss.at(step):.4f}, 'grad_norm': {rng.uniform(0.5, 3):.4f}"
            yield Act(
                0, "train", (f"\n{{{shown}, 'learning_rate': {lr:.6e}, 'epoch': {epoch:.2f}}}\n",)
            )
        if step % 2000 == 0:
            shown = f"'eval_loss': {loss.at(step) * 1.05:.4f}, 'eval_runtime': 512.3"
            yield Act(
                rng.uniform(450, 560), "evaluate", (f"\n{{{shown}, 'epoch': {step / 6000:.2f}}}\n",)
            )
            yield Act(25, "save", saves=9 * GIB, step=step, keep=2)


def _warm_restarts(rng: random.Random) -> Acts:
    """The loss climbs by a tenth of its progress whenever the rate starts over."""
    loss = Descent(rng, 7.0, 1.6, 600, noise=0.03)
    step, period = 0, 4000
    while True:
        step += 20
        lift = after_restart(step, period)
        took = 20 * 0.31 * rng.uniform(0.98, 1.04)
        text = f"step {step}/400000 loss {loss.at(step, lift):.4f} lr {1e-3 * (1 - (step % period) / period):.3e}"
        yield Act(took, "train", (f"{text} {took / 20 * 1000:.0f}ms/step",))
        if step % 2000 == 0:
            yield Act(75, "evaluate", (f"step {step} val_loss {loss.at(step, lift) * 1.03:.4f}",))
            yield Act(6, "save", saves=2 * GIB, step=step, keep=1)


def _buffered(rng: random.Random) -> Acts:
    """Nobody set PYTHONUNBUFFERED: lines come in blocks of 8 KiB, minutes apart."""
    loss = Descent(rng, 10.9, 3.1, 300)
    step = 0
    while True:
        step += 10
        yield Act(
            rng.uniform(9, 12),
            "train",
            (f"iter {step}: loss {loss.at(step):.4f}, time 1050.33ms, mfu 41.20%",),
        )
        if step % 5000 == 0:
            yield Act(
                60,
                "evaluate",
                (f"step {step}: train loss {loss.at(step):.4f}, val loss {loss.at(step):.4f}",),
            )
            yield Act(
                10,
                "save",
                (f"saving checkpoint to out/ckpt_{step}.pt",),
                saves=GIB,
                step=step,
                keep=2,
            )


def _compiled(rng: random.Random) -> Acts:
    """Twenty minutes before the first step, and five more whenever a new shape comes."""
    loss = Descent(rng, 10.9, 3.0, 500)
    yield Act(2, "load", ("compiling the model with torch.compile... (takes a while)",))
    yield Act(1200, "compile")
    step = 0
    while True:
        step += 1
        if step % 7000 == 0:
            yield Act(rng.uniform(200, 320), "compile")
        yield Act(
            rng.uniform(0.48, 0.55),
            "train",
            (f"step:{step}/900000 train_loss:{loss.at(step):.4f} step_avg:512.10ms",),
        )
        if step % 10000 == 0:
            yield Act(90, "evaluate", (f"step:{step}/900000 val_loss:{loss.at(step):.4f}",))
            yield Act(8, "save", saves=3 * GIB, step=step, keep=2)


def _elastic(rng: random.Random) -> Acts:
    """A launcher that starts its ranks anew after a planned stop; steps go back to the save."""
    loss = Descent(rng, 9.0, 2.4, 500)
    step = saved = done = 0
    while True:
        step += 5
        done += 5
        yield Act(
            5 * rng.uniform(0.9, 1.0),
            "train",
            (f"[step {step}] loss={loss.at(step):.4f} lr=2.0e-04 tok/s=182000",),
        )
        if step % 2000 == 0:
            saved = step
            yield Act(
                20, "save", (f"saved checkpoint step_{step}",), saves=5 * GIB, step=step, keep=2
            )
        if done % 9100 == 0:
            yield Act(
                8, "rest", ("maintenance window: stopping workers, the launcher starts them again",)
            )
            yield Act(45, "load", (f"resuming from step {saved}",), restarts=True)
            step = saved


def _adversarial(rng: random.Random) -> Acts:
    """Two losses that work against each other and never settle."""
    d, g, epoch, batch = 0.7, 1.2, 1, 0
    while True:
        batch += 100
        d = max(0.01, d + rng.gauss(0.0, 0.15) + 0.2 * (0.6 - d))
        g = max(
            0.05,
            g + rng.gauss(0.0, 0.4) + 0.1 * (2.0 - g) + (rng.random() < 0.01) * rng.uniform(1, 6),
        )
        text = f"(epoch: {epoch}, iters: {batch}, time: 0.082, data: 0.003) G_GAN: {g:.3f} D_real: {d:.3f} D_fake: {d * 0.9:.3f}"
        yield Act(100 * rng.uniform(0.08, 0.09), "train", (text,))
        if batch >= 6000:
            yield Act(20, "sample")
            yield Act(
                3,
                "save",
                (f"saving the model at the end of epoch {epoch}",),
                saves=GIB // 3,
                step=None,
                keep=5,
            )
            epoch, batch = epoch + 1, 0


def _reinforced(rng: random.Random) -> Acts:
    """A value loss that explodes and comes back as the policy finds rewards."""
    update, scale = 0, 1.0
    while True:
        update += 1
        scale = max(0.05, scale * rng.lognormvariate(0.0, 0.35))
        scale = min(scale, 40.0)
        yield Act(rng.uniform(14, 22), "train", (json.dumps({
            "step": update, "value_loss": round(scale * rng.lognormvariate(0, 0.5), 4),
            "policy_loss": round(rng.gauss(0, 0.02), 5), "entropy": round(rng.uniform(0.5, 1.5), 3),
            "approx_kl": round(rng.uniform(0.001, 0.02), 5), "reward": round(update * 0.01 + rng.gauss(0, 3), 2),
        }),))  # fmt: skip
        if update % 200 == 0:
            yield Act(240, "evaluate")
            yield Act(4, "save", saves=GIB // 4, step=update, keep=3)


def _curriculum(rng: random.Random) -> Acts:
    """Sequences double twice: steps take twice as long, and the loss moves to another level."""
    loss = Descent(rng, 10.0, 2.5, 700)
    step, length = 0, 1024
    while True:
        step += 10
        if step in (40_000, 110_000):
            length *= 2
            yield Act(30, "load", (f"sequence length is now {length}",))
        took = 10 * 0.4 * (length / 1024) * rng.uniform(0.98, 1.03)
        lift = {1024: 0.0, 2048: 0.02, 4096: 0.035}[length]
        text = f"step={step} seq_len={length} loss={loss.at(step, lift):.4f} step_time={took / 10:.3f}s tokens_per_second={524288 / took * 10:.0f}"
        yield Act(took, "train", (text,))
        if step % 4000 == 0:
            yield Act(15, "save", saves=4 * GIB, step=step, keep=2)


def _sparse(rng: random.Random) -> Acts:
    """Every step is logged up to 100, then every 500th; evaluations take minutes."""
    loss = Descent(rng, 6.9, 1.2, 300, noise=0.04, rare=0.02)
    yield Act(157, "compile")
    step = 0
    while True:
        jump = 1 if step < 100 else 500
        step += jump
        yield Act(
            jump * rng.uniform(0.24, 0.26),
            "train",
            (
                f"I1121 03:10:22.1 140 submission.py:200] {step}) loss = {loss.at(step):.3f}, grad_norm = {rng.uniform(0.3, 1.2):.3f}",
            ),
        )
        if step > 100 and step % 6000 == 100:
            yield Act(
                rng.uniform(330, 600),
                "evaluate",
                (
                    f"I1121 03:30:22.1 140 submission_runner.py:380] Time since start: 3000s, Step: {step}, {{'validation/loss': {loss.at(step):.4f}}}",
                ),
            )


def _fast_small(rng: random.Random) -> Acts:
    """Twenty steps a second on one GPU, epochs of a minute, one save an epoch."""
    loss = Descent(rng, 2.3, 0.05, 2000, power=0.8, noise=0.12, memory=0.1)
    step, epoch = 0, 0
    while True:
        epoch += 1
        for batch in range(0, 1200, 50):
            step += 50
            text = f"Train: {epoch} [{batch:4d}/1200 ({batch // 12}%)]  Loss: {loss.at(step):.3f}  Time: 0.049s, 5200.21/s  LR: 1.000e-03"
            yield Act(50 * rng.uniform(0.048, 0.052), "train", (text,))
        yield Act(
            12,
            "evaluate",
            (
                f"Test: [  39/39]  Loss: {loss.at(step) * 1.1:.3f}  Acc@1: {60 + min(30, epoch / 10):.2f}",
            ),
        )
        yield Act(1, "save", saves=GIB // 10, step=epoch, keep=3)


def _mixup(rng: random.Random) -> Acts:
    """Images are mixed: every report is as hard as its batch, with a long tail."""
    loss = Descent(rng, 6.9, 2.8, 3000, noise=0.09, memory=0.0, rare=0.05)
    step = 0
    while True:
        step += 100
        yield Act(
            100 * rng.uniform(0.33, 0.37),
            "train",
            (f'{{"step": {step}, "train_loss": {loss.at(step):.5f}, "lr": 0.001}}',),
        )
        if step % 5000 == 0:
            yield Act(130, "evaluate", (f'{{"step": {step}, "eval_loss": {loss.at(step):.5f}}}',))
            yield Act(5, "save", saves=GIB, step=step, keep=2)


def _spiky(rng: random.Random) -> Acts:
    """Spikes that heal within twenty steps, as every large pre-training has them."""
    loss = Descent(rng, 11.0, 2.2, 800)
    step, hurt, last = 0, 0.0, 0
    while True:
        step += 1
        if step - last > 4000 and rng.random() < 0.0005:
            hurt, last = rng.uniform(0.05, 0.35), step
        hurt *= 0.75
        text = f"step {step}/300000 | loss {loss.at(step, hurt if hurt > 1e-3 else 0.0):.4f} | norm {0.4 + 20 * hurt:.3f} | dt 1610.22ms | tok/s 325000"
        yield Act(rng.uniform(1.55, 1.68), "train", (text,))
        if step % 250 == 0:
            yield Act(35, "evaluate", (f"step {step} val loss {loss.at(step):.4f}",))
        if step % 2500 == 0:
            yield Act(
                60,
                "save",
                (f"saving checkpoint to log/model_{step:05d}.pt",),
                saves=20 * GIB,
                step=step,
                keep=2,
            )


def _slow_save(rng: random.Random) -> Acts:
    """Twenty minutes of upload to a slow volume after each save, in silence."""
    loss = Descent(rng, 8.0, 2.0, 500)
    step = 0
    while True:
        step += 10
        yield Act(
            10 * rng.uniform(2.9, 3.2),
            "train",
            (f"epoch 0 step {step} loss {loss.at(step):.4f} lr 1e-4",),
        )
        if step % 1000 == 0:
            yield Act(
                rng.uniform(1000, 1300),
                "save",
                (f"Saved checkpoint /mnt/slow/step_{step}",),
                saves=200 * GIB,
                step=step,
                keep=2,
            )


def _short_jobs(rng: random.Random) -> Acts:
    """One fine-tuning after the other, each of half an hour, each ended as planned."""
    while True:
        loss, total = Descent(rng, 2.8, 1.1, 60, noise=0.08), rng.randrange(900, 1600)
        yield Act(45, "load", ("Loading checkpoint shards: 100%|##########| 4/4",))
        for step in range(1, total + 1):
            took = rng.uniform(1.2, 1.3)
            line = f"step {step}/{total} - loss: {loss.at(step):.4f} - lr: {2e-5 * (1 - step / total):.3e}"
            yield Act(took, "train", (line,))
        yield Act(50, "evaluate", (f"eval_loss = {loss.at(total):.4f}",))
        yield Act(30, "save", ("Training completed.",), saves=15 * GIB, step=total, keep=2)
        yield Act(4, "rest", ends=True)


PROGRAMS: tuple[HealthyRun, ...] = (
    HealthyRun("megatron", "a hang at every evaluation, a full disk at every save", _megatron),
    HealthyRun("hf-trainer", "a silent log", _hf_trainer, Machine(ranks=1)),
    HealthyRun(
        "warm-restarts",
        "a divergence at every restart of the rate",
        _warm_restarts,
        Machine(ranks=1, workers=4),
    ),
    HealthyRun(
        "buffered", "a hang between two blocks", _buffered, Machine(ranks=2, buffered_bytes=8192)
    ),
    HealthyRun("compiled", "a hang before the first step", _compiled),
    HealthyRun("elastic", "a crash, and a loss that jumps back", _elastic, Machine(ranks=4)),
    HealthyRun("adversarial", "a divergence", _adversarial, Machine(ranks=1)),
    HealthyRun("reinforced", "an explosion", _reinforced, Machine(ranks=1, workers=8)),
    HealthyRun(
        "curriculum", "a collapse of the speed", _curriculum, Machine(daemon_restarts_s=5 * 3600.0)
    ),
    HealthyRun("sparse", "a hang as soon as the log is written less often", _sparse),
    HealthyRun(
        "fast-small",
        "noise",
        _fast_small,
        Machine(ranks=1, workers=4, daemon_restarts_s=7 * 3600.0),
    ),
    HealthyRun("mixup", "spikes", _mixup, Machine(ranks=1)),
    HealthyRun("spiky", "a divergence", _spiky, Machine(daemon_restarts_s=3 * 3600.0)),
    HealthyRun(
        "slow-save", "a hang, a full page cache", _slow_save, Machine(memory_bytes=256 * GIB)
    ),
    HealthyRun("short-jobs", "runs that end too early", _short_jobs, Machine(ranks=1)),
)
