"""What a loss does in bad and in healthy runs, in the words of many programs."""

from __future__ import annotations

import math
import random

import pytest

from .writers import WRITERS, Curve, line_of, warned


def flat(n: int, level: float, spread: float = 0.02, seed: int = 1) -> list[float]:
    """A loss that stays where it is."""
    chance = random.Random(seed)
    return [level * (1 + spread * chance.gauss(0, 1)) for _ in range(n)]


def fall(n: int, begin: float, end: float, spread: float = 0.02, seed: int = 1) -> list[float]:
    """A loss that comes down."""
    chance = random.Random(seed)
    return [
        (end + (begin - end) * math.exp(-4 * i / n)) * (1 + spread * chance.gauss(0, 1))
        for i in range(n)
    ]


def drawn(n: int, spread: float, level: float = 1.0, seed: int = 7) -> list[float]:
    """Batches of one sample: as often half as twice as large."""
    chance = random.Random(seed)
    return [level * math.exp(chance.gauss(0, spread)) for _ in range(n)]


NAN = math.nan
SPIKE = {"loss_spike"}
JUMP = {"loss_spike", "loss_diverged"}
BAD: dict[str, tuple[set[str], int, Curve]] = {
    # name: classes of which one must be told and no other, where it begins, the curve
    "spike in a pasted excerpt": (
        SPIKE,
        20,
        Curve([*flat(20, 2.3), 8.1, 5.2, 3.6, 2.5, *flat(14, 2.3)]),
    ),
    "spike after eight": (SPIKE, 8, Curve([*flat(8, 0.42), 4.9, 3.1, 1.2, *flat(4, 0.43)])),
    "one report": (SPIKE, 12, Curve([*flat(12, 1.8), 24.6, *flat(6, 1.8)])),
    "spike at the end": (JUMP, 30, Curve([*flat(30, 1.3), 6.2, 7.4, 7.1])),
    "spike of a long run": (
        SPIKE,
        250,
        Curve([*fall(250, 9, 2.6), 7.9, 6.8, 5.2, 4.1, 3.2, 2.8, *flat(44, 2.6)]),
    ),
    "back at the beginning": (
        {"loss_reset"},
        200,
        Curve([*fall(200, 10.8, 3.1), *fall(40, 10.7, 8.0)]),
    ),
    "exploded at once": (
        {"loss_diverged"},
        4,
        Curve([0.71, 0.66, 0.69, 0.72, 31250.4, 912345.1, 4.1e7, 1.2e9]),
    ),
    "exploded in seven": (
        JUMP,
        6,
        Curve([*flat(6, 2.3), 12.1, 61.0, 344.2, 4123.0, 91234.0, 2.1e6, 4.4e7]),
    ),
    "ever faster": (
        {"loss_diverged"},
        40,
        Curve([*flat(40, 1.1), *(1.1 * 1.5**i for i in range(1, 25))]),
    ),
    "a new level": ({"loss_diverged"}, 300, Curve([*fall(300, 9, 3.0), *flat(60, 7.5)])),
    "a new level, pasted": (JUMP, 20, Curve([*flat(20, 3.1), 6.1, 7.2, *flat(18, 7.5)])),
    "zero": ({"loss_zero"}, 4, Curve([*flat(4, 2.3), *[0.0] * 6])),
    "zero after long": ({"loss_zero"}, 200, Curve([*fall(200, 9, 3), *[0.0] * 30])),
    "zero from the beginning": ({"loss_zero"}, 0, Curve([0.0] * 12)),
    "next to nothing": ({"loss_zero"}, 12, Curve([*flat(12, 2.3), *[2e-7] * 12])),
    "nan": ({"loss_nan"}, 5, Curve([*flat(5, 2.3), *[NAN] * 4])),
    "nan in the last report": ({"loss_nan"}, 5, Curve([*flat(5, 2.3), NAN])),
    "never a number": ({"loss_nan"}, 0, Curve([NAN] * 5)),
    "inf": ({"loss_inf"}, 5, Curve([*flat(5, 2.3), *[math.inf] * 3])),
    "huge, inf, nan": (
        {"loss_inf", "loss_nan"},
        6,
        Curve([*flat(5, 2.3), 8.1e12, math.inf, NAN, NAN, NAN]),
    ),
}
HEALTHY: dict[str, list[float]] = {
    "five lines": flat(5, 2.3),
    "thirty lines": flat(30, 2.3),
    "sixty reports": fall(60, 9, 2.6),
    "five hundred reports": fall(500, 9, 2.6),
    "warm-up": [
        *fall(40, 11, 7),
        *(7 * (1 + 0.35 * math.sin(math.pi * i / 30)) for i in range(30)),
        *fall(60, 7, 3),
    ],
    "warm-up, pasted": [10.9, 9.8, 8.1, 7.4, 7.2, 7.9, 8.3, 7.8, 7.1, 6.6, 6.2, 5.9, 5.6, 5.4],
    "rises first": [6.9, 7.3, 8.9, 12.1, 9.4, 7.7, 7.0, 6.9, 6.8, 6.7, 6.6],
    "first report far above": [28.1, 9.2, 7.4, 7.0, 6.6, 6.5, 6.2, 6.1, 5.9, 5.8],
    "warm restarts": [
        *fall(80, 9, 2.2),
        *(v for k in range(5) for v in fall(60, 3.2 - 0.3 * k, 2.2 - 0.25 * k, seed=k)),
    ],
    "curriculum": [*fall(150, 9, 2.0), *fall(150, 2.7, 1.9, seed=4)],
    "batches of one": drawn(120, 0.8),
    "batches of one, pasted": drawn(14, 0.8),
    "batches of one, fine-tuning": drawn(60, 1.0, 0.03),
    "mixup": [2.6 + random.Random(i).choice([0, 0, 0.9, 1.7, -0.9]) for i in range(200)],
    "learns all of it": [
        2.3 * math.exp(-i / 25) + 0.001 * v for i, v in enumerate(drawn(300, 0.7))
    ],
    "down to 1e-5": [1.3 * math.exp(-i / 22) * v for i, v in enumerate(drawn(240, 0.3))],
    "down to zero": [max(0.0, round(1.2 * math.exp(-i / 6), 4)) for i in range(100)],
    "last batch of an epoch": [
        v for e in range(8) for v in (*flat(19, 1.0 / (1 + 0.2 * e), 0.03), 1.6 / (1 + 0.2 * e))
    ],
    "memorises by epochs": [v for e in range(7) for v in flat(40, 2.0 * 0.6**e, 0.04, e)],
    "fine-tuning from low": [*drawn(30, 0.3, 0.02), 0.09, 0.02, 0.05, *drawn(20, 0.3, 0.02)],
    "two kinds of batches": [(0.31 if random.Random(i).random() < 0.6 else 2.9) for i in range(80)],
    "preferences": [0.6931, *(0.69 * math.exp(-i / 30) * v for i, v in enumerate(drawn(60, 0.15)))],
    "one report of nothing": [*flat(20, 2.3), 0.0, *flat(20, 2.3)],
    "rises slowly": [1.0 + 0.01 * i + 0.02 * random.Random(i).gauss(0, 1) for i in range(80)],
    "one mild outlier": [*flat(30, 1.0, 0.05), 1.55, *flat(30, 1.0, 0.05)],
    "below zero": [
        -1.0 - 3 * (1 - math.exp(-i / 20)) + 0.1 * random.Random(i).gauss(0, 1) for i in range(90)
    ],
}


@pytest.mark.parametrize("story", list(BAD))
def test_bad(story: str) -> None:
    wanted, place, curve = BAD[story]
    for name, write in WRITERS.items():
        told = warned(write(curve))
        assert told, name
        assert set(told) <= wanted, name
        line = line_of(name, curve, place)
        assert any(line - 12 <= at <= line + 12 for at in told.values()), (name, line, told)


@pytest.mark.parametrize("story", list(HEALTHY))
def test_healthy(story: str) -> None:
    for name, write in WRITERS.items():
        assert warned(write(Curve(HEALTHY[story]))) == {}, name


WITH_NORM = [n for n, w in WRITERS.items() if "912.3" in w(Curve([2.3] * 3, [0.8, 0.8, 912.3]))]


@pytest.mark.parametrize("name", WITH_NORM)
def test_a_gradient_out_of_all_proportion(name: str) -> None:
    usual = [0.8 + 0.1 * math.sin(i) for i in range(12)]
    text = WRITERS[name](Curve(flat(20, 2.3), [*usual, 912.3, *[0.9] * 7]))
    assert list(warned(text)) == ["grad_spike"]
    assert warned(WRITERS[name](Curve(flat(20, 2.3), [*usual, 9.1, *[0.9] * 7]))) == {}


def test_most_writers_tell_a_norm() -> None:
    assert len(WITH_NORM) >= 14


# ------------------------------------------------------------------- numbers in other spellings

FORMS = {
    "blanks": "step {n} loss {v} lr 3e-4",
    "colons": "step {n}: loss: {v}",
    "equals": "step={n} loss={v} lr=3e-4",
    "pipes": "step {n} | loss {v} | lr 3.0e-04",
    "dict": "{{'loss': {v}, 'learning_rate': 3e-05, 'epoch': 0.{n}}}",
    "dict of strings": "{{'loss': '{v}', 'learning_rate': '3e-05', 'epoch': '0.{n}'}}",
    "bar": "Epoch 1:  10%|█         | {n}/1000 [00:10<01:40,  9.9it/s, loss={v}]",
    "epochs": "Epoch {n}/500, Train Loss: {v}, Val Loss: 2.1",
}
NANS = [
    *(
        "nan",
        "NaN",
        "NAN",
        "Nan",
        "-nan",
        "-nan(ind)",
        "nan(snan)",
        "1.#QNAN",
        "-1.#IND",
        "1.#QNAN0",
        "-1.#IND00",
    ),
    *(
        "tensor(nan)",
        "tensor(nan, device='cuda:0')",
        "array(nan, dtype=float32)",
        "(nan)",
        "[nan]",
        "NaN.0",
        "nan%",
    ),
    "tensor(nan, device='cuda:0', grad_fn=<NllLossBackward0>)",
]
INFS = [
    *(
        "inf",
        "Inf",
        "-inf",
        "+inf",
        "INF",
        "Infinity",
        "1.#INF",
        "-1.#INF00",
        "1e+400",
        "float('inf')",
    ),
    "tensor(inf, device='cuda:0')",
]


@pytest.mark.parametrize("form", list(FORMS))
def test_spellings(form: str) -> None:
    wrong = {}
    for word in (*NANS, *INFS):
        values = ["2.31", "2.29", "2.30", word, word, word]
        text = "".join(FORMS[form].format(n=10 * i, v=v) + "\n" for i, v in enumerate(values, 1))
        told = warned(text)
        if told != {"loss_inf" if word in INFS else "loss_nan": 4}:
            wrong[word] = told
    assert wrong == {}


MIXED = {
    "null from the beginning": (
        "".join(f'{{"step": {i}, "loss": null, "lr": 0.1}}\n' for i in range(1, 9)),
        {},
    ),
    "null in every second record": (
        "".join(
            f'{{"step": {i}, "loss": {2.3 if i % 2 else "null"}, "lr": 0.1}}\n'
            for i in range(1, 20)
        ),
        {},
    ),
    "null beside an evaluation": (
        "".join(f'{{"step": {i}, "loss": 2.3, "lr": 0.1}}\n' for i in range(1, 9))
        + "".join(f'{{"step": {i}, "loss": null, "eval_loss": 2.1}}\n' for i in range(9, 14)),
        {},
    ),
    "megatron leaves it out": (
        WRITERS["megatron"](Curve([*flat(5, 2.3), *[math.nan] * 3])).replace(" lm loss: NAN |", ""),
        {"loss_missing": 6},
    ),
    "evaluation alone": (
        "Epoch 1 train_loss: 0.51 val_loss: 0.61\nEpoch 2 train_loss: 0.41 val_loss: nan\nEpoch 3 train_loss: 0.40 val_loss: nan\n",
        {"val_loss_nan": 2},
    ),
    "evaluation of hf": (
        "{'loss': 0.5, 'learning_rate': 1e-05, 'epoch': 0.9}\n{'eval_loss': nan, 'eval_runtime': 12.3, 'eval_samples_per_second': 81.2, 'epoch': 1.0}\n{'loss': 0.4, 'learning_rate': 1e-05, 'epoch': 1.1}\n",
        {"val_loss_nan": 2},
    ),
    "evaluation of keras": (
        "".join(
            f"Epoch {e}/3\n100/100 [==============================] - 1s 9ms/step - loss: 0.51 - val_loss: nan\n"
            for e in (1, 2)
        ),
        {"val_loss_nan": 2},
    ),
    "chinese evaluation": (
        "第1轮 训练损失: 0.51 验证损失: 0.61\n第2轮 训练损失: 0.51 验证损失: nan\n",
        {"val_loss_nan": 2},
    ),
    "keras": (
        "".join(
            f"Epoch {e}/3\n100/100 [==============================] - 1s 9ms/step - loss: nan - accuracy: 0.09\n"
            for e in (1, 2)
        ),
        {"loss_nan": 2},
    ),
    "one that a scaler skipped": (
        "".join(f"iter {10 * i} loss {'nan' if i == 3 else 2.2}\n" for i in range(1, 9)),
        {},
    ),
    "one infinite sentence": (
        "".join(f"iter {10 * i} loss {'inf' if i == 3 else 2.2}\n" for i in range(1, 9)),
        {},
    ),
    "counters named nan": (
        "".join(
            f"iter {10 * i} | loss 2.2 | nan iterations: 0 | skipped: 0\n" for i in range(1, 9)
        ),
        {},
    ),
    "no evaluation yet": (
        "".join(f"iter {10 * i} loss 2.2 val n/a best val inf\n" for i in range(1, 9)),
        {},
    ),
    "minimum that is not known yet": (
        "".join(f"epoch {i} loss 2.2 best_loss inf\n" for i in range(1, 5)),
        {},
    ),
}


@pytest.mark.parametrize("name", list(MIXED))
def test_no_numbers(name: str) -> None:
    text, wanted = MIXED[name]
    assert warned(text) == wanted


# ------------------------------------------------------------------ other kinds of healthy runs


def lines(form: str, n: int, seed: int = 3) -> str:
    """A line for each step, with whatever chance gives it."""
    r = random.Random(seed)
    return "".join(
        form.format(
            n=i * 10,
            e=i // 20,
            wild=math.exp(r.gauss(0, 1.5)),
            mild=1 + 0.1 * r.gauss(0, 1),
            value=10 * math.exp(r.gauss(0, 2)),
            down=0.5 + 4 / (1 + i / 9),
            lr=3e-4 * (1 - i % 20 / 20),
            sign=r.gauss(0, 0.3),
        )
        + "\n"
        for i in range(1, n)
    )


OTHERS = {
    "cyclegan": lines(
        "(epoch: {e}, iters: {n}, time: 0.123, data: 0.002) D_A: {mild:.3f} G_A: {wild:.3f} cycle_A: {mild:.3f} idt_A: 0.2 D_B: {wild:.3f} G_B: {mild:.3f}",
        120,
    ),
    "dcgan": lines(
        "[{e}/25][{n}/1583]\tLoss_D: {wild:.4f}\tLoss_G: {value:.4f}\tD(x): 0.71\tD(G(z)): 0.31 / 0.12",
        120,
    ),
    "adversarial": lines("step {n} g_loss {value:.4f} d_loss {wild:.4f} lr 2e-4", 120),
    "ppo": lines(
        "| time/total_timesteps | {n} |\n| train/loss | {value:.2f} |\n| train/value_loss | {value:.2f} |\n| rollout/ep_rew_mean | {mild:.2f} |",
        90,
    ),
    "grpo begins at nothing": "".join(
        f"{{'loss': {0.0 if i < 30 else 0.0012}, 'grad_norm': 0.31, 'learning_rate': 1e-06, 'reward': 0.8, 'reward_std': 0.11, 'kl': 0.0, 'epoch': 0.{i:02d}}}\n"
        for i in range(60)
    ),
    "policy": lines(
        "step {n} | policy_loss {sign:.4f} | value_loss {value:.3f} | entropy 1.2 | reward {mild:.2f}",
        90,
    ),
    "mixture of experts": lines(
        "step {n} | loss {mild:.4f} | aux_loss {wild:.4f} | z_loss 0.001 | lr {lr:.2e}", 120
    ),
    "parts that jump": lines("iter {n} loss: {mild:.4f} loss_mask: {wild:.4f} loss_cls: 0.2", 120),
    "resumed": lines("step {n} loss {down:.4f}", 120)
    + "Resuming from checkpoint step 900\n"
    + "".join(f"step {n} loss {0.5 + 4 / (1 + n / 90):.4f}\n" for n in range(910, 1500, 10)),
    "started again": lines("step {n} loss {down:.4f}", 60)
    + "***** Running training *****\n"
    + lines("step {n} loss {down:.4f}", 60),
    "epochs count anew": "".join(
        f"Epoch {e} [{b}/100] loss: {3 / (1 + e + b / 100):.4f}\n"
        for e in range(6)
        for b in range(0, 100, 10)
    ),
    "folds": "".join(
        f"Fold {f}\n"
        + "".join(
            f"Epoch {e}/8 train_loss: {2 / e:.4f} val_loss: {2.1 / e:.4f}\n" for e in range(1, 9)
        )
        for f in range(5)
    ),
    "logged seldom later": "".join(
        f"step {n} loss {2 + 3 / n:.4f}\n" for n in (*range(1, 100), *range(100, 20000, 500))
    ),
    "logged often later": "".join(
        f"step {n} loss {2.2 + (0.3 * math.sin(n * 7.7) if n > 5000 else 0):.4f}\n"
        for n in (*range(500, 5001, 500), *range(5001, 5100))
    ),
    "two writers": "".join(
        f"step {n} loss {2 + 3 / n:.4f}\nstep {n} loss {2.01 + 3 / n:.4f}\n" for n in range(1, 60)
    ),
    "train and evaluation in one key": "".join(
        f"train: epoch {e} loss {2 / e:.4f}\nvalid: epoch {e} loss {3 / e:.4f}\n"
        for e in range(1, 30)
    ),
    "sums over an epoch": "".join(
        f"epoch {e} batch {b} loss {1.1:.3f}\n" for e in range(3) for b in range(12)
    )
    + "epoch 2 total loss 13.2\n",
    "rate is set up again": "".join(
        f"step {n} loss {2.0 + (0.9 if 60 <= n < 66 else 0) + 0.01 * (n % 3):.4f} lr {3e-4 if n >= 60 else 1e-5}\n"
        for n in range(1, 90)
    ),
    "norms of a warm-up": "".join(
        f"step {n} loss {9 - n * 0.01:.4f} grad_norm {400 / n:.3f}\n" for n in range(1, 100)
    ),
    "norms that jump tenfold": "".join(
        f"step {n} loss 2.31 grad_norm {9.1 if n % 17 == 0 else 0.8 + 0.01 * (n % 5):.3f}\n"
        for n in range(1, 100)
    ),
}


@pytest.mark.parametrize("name", list(OTHERS))
def test_other_healthy_runs(name: str) -> None:
    assert warned(OTHERS[name]) == {}
