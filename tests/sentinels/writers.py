"""Training curves as many programs write them, and what a replay makes of the text.

Every writer takes the curve of one run and gives its log. A value that is no number is
written as the program would: most print Python's ``nan``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from middlewatch.daemon.replay.one_log import Replay, ReplayRules
from middlewatch.sentinels.kit import discover

SENTINELS = discover()


@dataclass(frozen=True)
class Curve:
    """Reports of one run, oldest first."""

    losses: Sequence[float | None]
    """``None`` where a report comes without its loss."""
    norms: Sequence[float] = ()
    first: int = 1000
    every: int = 10
    total: int = 100_000
    seconds: Sequence[float] = ()
    """Of every step, where a writer tells them."""

    def rows(self) -> list[tuple[int, int, float | None, float, float]]:
        """(place, step, loss, gradient norm, seconds a step)."""
        return [
            (
                i,
                self.first + i * self.every,
                loss,
                self.norms[i] if i < len(self.norms) else 0.8 + 0.05 * math.sin(i),
                self.seconds[i] if i < len(self.seconds) else 0.31 + 0.01 * math.sin(7 * i),
            )
            for i, loss in enumerate(self.losses)
        ]


Writer = Callable[[Curve], str]
WRITERS: dict[str, Writer] = {}


def writer(line: Callable[[int, int, float, float, float, int], str]) -> Writer:
    """A program that writes one line (or record) for each report."""

    def write(curve: Curve) -> str:
        return "".join(
            line(i, n, math.nan if loss is None else loss, norm, took, curve.total) + "\n"
            for i, n, loss, norm, took in curve.rows()
        )

    WRITERS[line.__name__] = write
    return write


def clock(i: int, seconds: int = 30) -> str:
    """Time of day of a report."""
    s = 9 * 3600 + i * seconds
    return f"{s // 3600 % 24:02d}:{s // 60 % 60:02d}:{s % 60:02d}"


@writer
def hf(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return str(
        {"loss": round(x, 4), "grad_norm": g, "learning_rate": 3e-5, "epoch": round(n / 5e3, 2)}
    )


@writer
def hf_strings(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"{{'loss': '{x:.4g}', 'grad_norm': '{g:.4g}', 'learning_rate': '3e-05', 'epoch': '{n / 5e3:.4g}'}}"


@writer
def tqdm(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    share = 100 * n // of
    return f"Training: {share:3d}%|{'█' * (share // 10)}{' ' * (10 - share // 10)}| {n}/{of} [05:10<1:04:22,  {1 / t:.2f}it/s, loss={x:.3f}, lr=3e-5]"


@writer
def lightning(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    share = 100 * n // of
    return f"Epoch 0: {share:3d}%|{'█' * (share // 10)}{' ' * (10 - share // 10)}| {n}/{of} [05:10<1:04:22,  {1 / t:.2f}it/s, v_num=4, train_loss={x:.3f}]"


@writer
def megatron(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return (
        f" [2026-02-03 {clock(i)}] iteration {n:8d}/{of:8d} | consumed samples: {n * 256:12d} | elapsed time per iteration (ms): {t * 1e3:.1f} "
        f"| throughput per GPU (TFLOP/s/GPU): 401.2 | learning rate: 3.000000E-04 | global batch size:   256 | lm loss: {x:.6E} "
        f"| loss scale: 1.0 | grad norm: {g:.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |"
    )


@writer
def deepspeed(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"steps: {n} loss: {x:.4f} iter time (s): {t:.3f} samples/sec: {32 / t:.3f}"


@writer
def nanogpt(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"iter {n}: loss {x:.4f}, time {t * 1e3:.2f}ms, mfu 38.12%"


@writer
def fairseq(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return (
        f"2026-02-03 {clock(i)} | INFO | train_inner | epoch 002: {n:6d} / {of} loss={x:.3f}, ppl=12.1, wps=24123.1, ups={1 / t:.2f}, wpb=7712, "
        f"bsz=256, num_updates={n}, lr=0.0003, gnorm={g:.3f}, loss_scale=64, train_wall=31, gb_free=21.4, wall=3312"
    )


@writer
def fairseq_json(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    body = {
        "epoch": 2,
        "update": n / 9e3,
        "loss": f"{x:.3f}",
        "ppl": "12.1",
        "wps": "24123.1",
        "num_updates": str(n),
        "lr": "0.0003",
        "gnorm": f"{g:.3f}",
    }
    return f"[2026-02-03 {clock(i)},123][train_inner][INFO] - {json.dumps(body)}"


@writer
def mmengine(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return (
        f"2026/02/03 {clock(i)} - mmengine - INFO - Iter(train) [{n:6d}/{of}]  base_lr: 1.0000e-02 lr: 1.0000e-02  eta: 3:11:52  time: {t:.4f}  "
        f"data_time: 0.0112  memory: 9211  grad_norm: {g:.4f}  loss: {x:.4f}  decode.loss_ce: {x * 0.7:.4f}  aux.loss_ce: {x * 0.3:.4f}"
    )


@writer
def detectron2(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return (
        f"[02/03 {clock(i)} d2.utils.events]:  eta: 3:11:52  iter: {n}  total_loss: {x:.4g}  loss_cls: {x * 0.6:.4g}  loss_box_reg: {x * 0.4:.4g}  "
        f"time: {t:.4f}  last_time: {t:.4f}  data_time: 0.0112  last_data_time: 0.0098   lr: 0.0025  max_mem: 6123M"
    )


@writer
def timm(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"Train: 2 [{n:6d}/{of} ({100 * n // of:3d}%)]  Loss: {x:6.3f} ({x:.3f})  Time: {t:.3f}s, {256 / t:7.2f}/s  ({t:.3f}s, {256 / t:7.2f}/s)  LR: 5.000e-04  Data: 0.011 (0.012)"


@writer
def keras(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"Epoch {i + 1}/400\n1875/1875 [==============================] - 12s 6ms/step - loss: {x:.4f} - accuracy: 0.7112"


@writer
def keras3(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"Epoch {i + 1}/400\n1875/1875 ━━━━━━━━━━━━━━━━━━━━ 12s 6ms/step - accuracy: 0.7112 - loss: {x:.4f}"


@writer
def tf_slim(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"INFO:tensorflow:global step {n}: loss = {x:.4f} ({t:.3f} sec/step)"


@writer
def estimator(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"INFO:tensorflow:loss = {x:.7g}, step = {n} ({t * 100:.3f} sec)"


@writer
def litgpt(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"Epoch 1 | iter {n} step {n} | loss train: {x:.3f}, val: n/a | iter time: {t * 1e3:.2f} ms (step)"


@writer
def olmo_core(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return (
        f"2026-02-03 {clock(i)}.123\tnode-3\tolmo_core.train.callbacks.console_logger:69\tINFO\t[step={n}/{of},epoch=1,eta=3:11:52]\n"
        f"    optim/LR (group 0)=3.0e-04\n    optim/total grad norm={g:.4f}\n    throughput/device/TPS=10,312\n    train/CE loss={x:.4f}\n    train/PPL=12.1"
    )


@writer
def llm_c(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"step {n:5d}/{of} | loss {x:.6f} (+0.12z)| norm {g:.4f} (-0.30z)| lr 3.00e-04 | {t * 1e3:.2f} ms | 61.2% bf16 MFU | {524288 / t:.0f} tok/s"


@writer
def espnet(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return (
        f"[node-3] 2026-02-03 {clock(i)},123 (trainer:756) INFO: {i + 1}epoch:train:4501-5000batch: iter_time=1.2e-04, forward_time=0.121, loss_ctc={x * 1.2:.3f}, "
        f"loss_att={x * 0.9:.3f}, acc=0.712, loss={x:.3f}, backward_time=0.2, grad_norm={g:.3f}, clip=100.000, loss_scale=1.000, optim_step_time=0.05, "
        f"optim0_lr0=1.200e-04, train_time={t:.3f}"
    )


@writer
def icefall(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return (
        f"2026-02-03 {clock(i)},123 INFO [train.py:1021] (0/8) Epoch {2 + i // 40}, batch {i % 40 * 50}, loss[loss={x:.4g}, simple_loss={x * 1.3:.4g}, pruned_loss={x * 0.4:.4g}, "
        f"over 12345.00 frames. ], tot_loss[loss={x:.4g}, simple_loss={x * 1.3:.4g}, pruned_loss={x * 0.4:.4g}, over 2345678.90 frames. ], batch size: 41, lr: 2.12e-02"
    )


@writer
def jsonl(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return json.dumps(
        {"step": n, "train_loss": x, "grad_norm": g, "lr": 3e-4, "time": 1760000000 + i * 30}
    )


@writer
def plain_print(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"step {n} loss {x:.4f}"


@writer
def tutorial(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"Epoch [1/20], Step [{n}/{of}], Loss: {x:.4f}"


@writer
def epochs(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"Epoch {i + 1}/400 - train_loss: {x:.4f} - lr: 0.001 - time: 41.2s"


@writer
def chinese(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"[训练] 步数: {n}/{of} 损失: {x:.4f} 学习率: 3.0e-04 梯度范数: {g:.3f}"


@writer
def torchtitan(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"[titan] 2026-02-03 {clock(i)},123 - root - INFO - \x1b[31mstep: {n:2d}  \x1b[32mloss: {x:7.4f}  \x1b[38;2;180;60;0mgrad_norm: {g:.4f}  \x1b[34mtps: 6,123  \x1b[35mmfu: 34.12%\x1b[39m"


@writer
def paddle(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"[2026/02/03 {clock(i)}] ppocr INFO: epoch: [1/500], global_step: {n}, lr: 0.001000, loss: {x:.6f}, avg_reader_cost: 0.00031 s, avg_batch_cost: {t:.5f} s, avg_samples: 64.0, ips: {64 / t:.5f} samples/s"


@writer
def nemo(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"Training epoch 0, iteration {n}/{of - 1} | lr: 1.2e-05 | global_batch_size: 256 | global_step: {n} | reduced_train_loss: {x:.4g} | train_step_timing in s: {t:.4g} | consumed_samples: {n * 256}"


@writer
def ranks(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return "\n".join(
        f"[rank{r}]: step {n} | loss {x + 0.001 * r:.4f} | grad_norm {g:.3f} | {t:.3f} s/it"
        for r in range(4)
    )


@writer
def maskrcnn(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return f"2026-02-03 {clock(i)},123 maskrcnn_benchmark.trainer INFO: eta: 1 day, 2:03:04  iter: {n}  loss: {x:.4f} ({x:.4f})  loss_classifier: {x * 0.6:.4f} ({x * 0.6:.4f})  time: {t:.4f} ({t:.4f})  data: 0.0112 (0.0211)  lr: 0.002500  max mem: 5123"


@writer
def csv_rows(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    head = "step,train_loss,grad_norm,lr\n" if i == 0 else ""
    return f"{head}{n},{x},{g:.4f},0.0003"


@writer
def yolo(i: int, n: int, x: float, g: float, t: float, of: int) -> str:
    return (
        "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
        f"{i + 1:7d}/400      2.31G {x * 0.5:10.4g} {x * 0.3:10.4g} {x * 0.2:10.4g}         41        640: 100%|██████████| 92/92 [00:31<00:00,  2.95it/s]"
    )


def report(text: str) -> list[dict[str, Any]]:
    """Everything that a replay of the text says."""
    bugs: list[str] = []
    replay = Replay("a.log", ReplayRules(SENTINELS, {}, bugs.append))
    said = list(replay.read([text.encode()], metrics=False))
    assert not bugs
    return said


def warned(text: str) -> dict[str, int]:
    """Classes told as a warning or worse, and the line of each."""
    return {
        one["class"]: one["line"]
        for one in report(text)
        if one["type"] == "finding" and one["severity"] != "info"
    }


def line_of(writer_name: str, curve: Curve, place: int) -> int:
    """The line in which the loss of the report at ``place`` stands."""
    lines = WRITERS[writer_name](
        Curve(curve.losses[: place + 1], curve.norms, curve.first, curve.every, curve.total)
    ).splitlines()
    return len(lines) - {"olmo_core": 1, "ranks": 3}.get(writer_name, 0)
