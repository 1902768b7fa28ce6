"""Golden lines: one per way of printing numbers, written for the purpose."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.sentinels.kit import Step

NAN, INF = math.nan, math.inf


def steps(text: str) -> list[Step]:
    reader = LogReader("run.log")
    said = reader.feed((text + "\n").encode(), 1.0) + reader.finish(1.0)
    return [o for o in said if isinstance(o, Step)]


def numbers(step: Step) -> dict[str, float]:
    ours = {"step": step.number, "epoch": step.epoch, "total": step.total, "rank": step.rank}
    return {**step.values, **{k: v for k, v in ours.items() if v is not None}}


GOLDEN = {
    "an-objective-by-its-formula": (
        "2026-11-26 03:14:49 | global_step=0365 | train/mel_l1=55.59100 | lr=5.1e-03",
        {"step": 365, "train_loss": 55.591, "lr": 5.1e-3},
    ),
    "nanogpt": (
        "iter 40: loss 6.2081, time 48.67ms, mfu 10.07%",
        {"step": 40, "train_loss": 6.2081, "step_time_s": 0.04867, "mfu": 0.1007},
    ),
    "nanogpt-eval": (
        "step 250: train loss 1.9, val loss 2.0",
        {"step": 250, "train_loss": 1.9, "eval_loss": 2.0},
    ),
    "gpt2-pipes": (
        "step    1| loss: 9.64 | lr: 1.2000e-04 | norm: 9.5134  | dt: 2713.86ms | tok/sec: 193189.05",
        {
            "step": 1,
            "train_loss": 9.64,
            "lr": 1.2e-4,
            "grad_norm": 9.5134,
            "step_time_s": 2.71386,
            "tokens_per_s": 193189.05,
        },
    ),
    "hf": (
        "{'loss': 1.41, 'grad_norm': 2.2, 'learning_rate': 4.6e-09, 'epoch': 0.11}",
        {"train_loss": 1.41, "grad_norm": 2.2, "lr": 4.6e-9, "epoch": 0.11},
    ),
    "hf-quoted": (
        "{'loss': '4.7', 'grad_norm': 'nan', 'learning_rate': '0.0028', 'epoch': '0.1562'}",
        {"train_loss": 4.7, "grad_norm": NAN, "lr": 0.0028, "epoch": 0.1562},
    ),
    "hf-nan": (
        "{'loss': nan, 'grad_norm': inf, 'learning_rate': 0.0}",
        {"train_loss": NAN, "grad_norm": INF, "lr": 0.0},
    ),
    "jsonl": (
        '{"current_steps": 10, "total_steps": 8610, "loss": 1.23, "lr": 1e-05, "elapsed_time": "0:00:35"}',
        {"step": 10, "total": 8610, "train_loss": 1.23, "lr": 1e-5},
    ),
    "json-nan": (
        '{"step": 7, "loss": NaN, "grad_norm": Infinity}',
        {"step": 7, "train_loss": NAN, "grad_norm": INF},
    ),
    "tqdm": (
        "Train: 50%|█████     | 100/200 [00:30<00:30, 3.33it/s, loss=2.345]",
        {"step": 100, "total": 200, "train_loss": 2.345, "step_time_s": 1 / 3.33},
    ),
    "tqdm-seconds": (
        "steps: 100%|██████████| 40/40 [00:42<00:00,  1.07s/it, avr_loss=0.145]",
        {"step": 40, "train_loss": 0.145, "step_time_s": 1.07},
    ),
    "lightning": (
        "Epoch 3:  50%|█████     | 12/24 [00:02<00:00,  8.24it/s, v_num=8, train_loss=nan.0, val_loss=0.828]",
        {"step": 12, "epoch": 3, "train_loss": NAN, "eval_loss": 0.828},
    ),
    "megatron": (
        (
            "[default7]: iteration    31216/  115311 | consumed samples: 47772592 | elapsed time per iteration (ms): 31074.1 |"
            " learning rate: 5.279E-05 | lm loss: 2.595213E+00 | loss scale: 4096.0 | grad norm: 0.567 | number of nan iterations:   0 |"
        ),
        {
            "step": 31216,
            "total": 115311,
            "rank": 7,
            "train_loss": 2.595213,
            "lr": 5.279e-5,
            "step_time_s": 31.0741,
        }
        | {
            "loss_scale": 4096.0,
            "grad_norm": 0.567,
            "number of nan iterations": 0,
            "consumed samples": 47772592,
        },
    ),
    "torchtitan": (
        "[rank0]:[titan] 2026-01-02 03:04:05,678 - root - INFO - step: 1,200  loss:  6.1384  memory: 49.66GiB(52.28%)  tps: 5,856  mfu: 34.29%",
        {
            "step": 1200,
            "train_loss": 6.1384,
            "gpu_mem_bytes": 49.66 * 2**30,
            "tokens_per_s": 5856,
            "mfu": 0.3429,
            "rank": 0,
        },
    ),
    "detectron": (
        "[01/02 03:04:05] trainer INFO: eta: 1:42:35  iter: 150  loss: 1.4991 (1.6329)  time: 0.1597 (0.1545)  data: 0.0001 (0.0078)  lr: 0.12  max mem: 9586",
        {
            "step": 150,
            "train_loss": 1.4991,
            "step_time_s": 0.1597,
            "lr": 0.12,
            "gpu_mem_bytes": 9586 * 2**20,
        },
    ),
    "mmengine": (
        "01/02 16:12:07 - mmengine - INFO - Epoch(train)  [1][100/502]  lr: 9.3e-05  eta: 1:05:51  time: 0.3  data_time: 0.006  grad_norm: 32.4  loss: 14.4",
        {
            "epoch": 1,
            "step": 100,
            "lr": 9.3e-5,
            "step_time_s": 0.3,
            "grad_norm": 32.4,
            "train_loss": 14.4,
        },
    ),
    "timm": (
        "Train: 0 [  50/10009 (  0%)]  Loss:  6.92 (6.91)  Time: 1.462s,   87.53/s  (1.896s,   67.5/s)  LR: 1.000e-06  Data: 0.070 (0.300)",
        {
            "epoch": 0,
            "step": 50,
            "train_loss": 6.92,
            "step_time_s": 1.462,
            "samples_per_s": 87.53,
            "lr": 1e-6,
        },
    ),
    "deepspeed": (
        "[2026-01-02 01:55:23,711] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=4, lr=[4.99e-05, 4.99e-05], mom=[(0.9, 0.95)]",
        {"step": 10, "skipped": 4, "lr": 4.99e-5},
    ),
    "keras": (
        "  1/102 [..............................] - ETA: 19:24 - loss: 0.69 - accuracy: 0.59",
        {"step": 1, "train_loss": 0.69, "accuracy": 0.59},
    ),
    "word-model": (
        "| epoch   1 |   200/ 2983 batches | lr 20.0000 | ms/batch 11.61 | loss   nan | ppl      nan",
        {"epoch": 1, "step": 200, "lr": 20.0, "step_time_s": 0.01161, "train_loss": NAN},
    ),
    "two-losses": (
        "Epoch 4 | iter 96 step 48 | loss train: 1.062, val: 1.057 | iter time: 529.46 ms (step)",
        {"step": 48, "train_loss": 1.062, "eval_loss": 1.057, "step_time_s": 0.52946},
    ),
    "thousands": (
        "step 1,234/10,000 | loss: 3.21 | tok/sec: 1,234,567",
        {"step": 1234, "total": 10000, "train_loss": 3.21, "tokens_per_s": 1234567},
    ),
    "rate-by-unit": (
        "iter 10: loss 9.2617, lr 4.00e-05, 176.9k tok/s",
        {"step": 10, "train_loss": 9.2617, "lr": 4e-5, "tokens_per_s": 176900},
    ),
    "brackets": ("[Loss] 2.5 | [step]    89 |", {"train_loss": 2.5, "step": 89}),
    "fairseq": (
        "| epoch 027 | loss 6.343 | nll_loss 4.984 | num_updates 10198 | lr 0.0006 | gnorm 0.390 |",
        {"epoch": 27, "step": 10198, "train_loss": 6.343, "lr": 0.0006, "grad_norm": 0.39},
    ),
    "validation-line": ("Valid Epoch: 16 Loss: nan", {"eval_loss": NAN}),
    "numpy": ("step: 3 loss: np.float64(2.5)", {"step": 3, "train_loss": 2.5}),
    "tensor": (
        "loss: tensor(2.31, device='cuda:0', grad_fn=<NllLossBackward0>)",
        {"train_loss": 2.31},
    ),
    "chinese": (
        "第 3 轮, 步数: 100, 损失: 2.31, 学习率: 1e-4",
        {"epoch": 3, "step": 100, "train_loss": 2.31, "lr": 1e-4},
    ),
    "chinese-wide-colon": (
        "训练损失：0.53 验证损失：0.61",
        {"train_loss": 0.53, "eval_loss": 0.61},
    ),
    "srun-label": ("3: step 5 loss 2.5", {"rank": 3, "step": 5, "train_loss": 2.5}),
    "ray": (
        "(RayTrainWorker pid=123, ip=10.0.0.1) step=5 loss=0.5",
        {"step": 5, "train_loss": 0.5},
    ),
    "mlperf": (
        ':::MLLOG {"time_ms": 1696556904653, "key": "stats", "value": {"throughput": 29.2, "loss": 0.39, "lr": 1e-4}, "metadata": {"lineno": 129, "step_num": 500}}',
        {"train_loss": 0.39, "lr": 1e-4, "step": 500},
    ),
    "scaled-key": (
        "step:1 - train/loss:0.89 - train/lr(1e-3):0.27 - train/time(s):4.8",
        {"step": 1, "train_loss": 0.89, "lr": 0.27e-3, "step_time_s": 4.8},
    ),
    "progress-only": ("rank 0 step 3 sum 1.0", {"step": 3, "sum": 1.0}),
    "numbered-keys": (
        "step 5 loss_0: 1.0, loss_1: 2.0, Acc@1 74.2 Acc@5 90.1",
        {"step": 5, "loss_0": 1.0, "loss_1": 2.0, "accuracy": 0.742},
    ),
    "typo-stays-itself": ("Train_loss: 46.05, Val_los: nan", {"train_loss": 46.05, "Val_los": NAN}),
    "other-losses-stay-themselves": (
        "step 5 loss: 2.0, max_loss: 9.0, best loss: 1.0",
        {"train_loss": 2.0, "max_loss": 9.0, "best loss": 1.0},
    ),
    "a loss by its formula": (
        "epoch=0 chips=160 bce=0.6856 chips/s=59.6",
        {"epoch": 0, "train_loss": 0.6856},
    ),
    "a loss beside its formula": (
        "step 5/90 - loss: 0.31 - mse: 0.25",
        {"step": 5, "total": 90, "train_loss": 0.31, "mse": 0.25},
    ),
    "a measure that nobody knows": (
        "EM iteration 30/90: mean log-likelihood -5.54690",
        {"step": 30, "total": 90},
    ),
    "a sweep": ("sweep 5/600   |m| 0.8480", {"step": 5, "total": 600}),
    "a trial": ("[trial 3] step 20 loss 0.5", {"step": 20, "trial": 3, "train_loss": 0.5}),
}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("第 4 轮 聚合完成 测试损失 0.4912 准确率 0.83", "eval_loss"),
        ("第 4 轮 聚合完成 损失 0.4912 准确率 0.83", "train_loss"),
        ("epoch 6 aggregation done test loss 0.4912 acc 0.83", "eval_loss"),
    ],
)
def test_a_value_after_the_words_for_what_was_just_done(line: str, name: str) -> None:
    (step,) = steps(line + "\n")
    assert numbers(step)[name] == 0.4912


@pytest.mark.parametrize(("line", "wanted"), GOLDEN.values(), ids=GOLDEN.keys())
def test_reads(line: str, wanted: dict[str, float]) -> None:
    (step,) = steps(line)
    found = numbers(step)
    assert {k: found.get(k) for k in wanted} == pytest.approx(wanted, nan_ok=True)


@pytest.mark.parametrize(("line", "wanted"), GOLDEN.values(), ids=GOLDEN.keys())
def test_a_plan_reads_the_same_as_the_grammar(line: str, wanted: dict[str, float]) -> None:
    (first,) = steps(line)
    again = steps(f"{line}\n\n{line}")[-1]
    assert numbers(again) == pytest.approx(numbers(first), nan_ok=True)


@given(st.sampled_from([line for line, _ in GOLDEN.values()]), st.data())
def test_what_is_known_of_a_shape_holds_for_all_its_lines(line: str, data: st.DataObject) -> None:
    # times keep their width, as they do in logs; decimals and counters need not
    def others(run: re.Match[str]) -> str:
        free = line[run.start() - 1 : run.start()] in (".", " ") and line[
            run.end() : run.end() + 1
        ] not in (":", "-", "/", "%")
        least, most = (1, 7) if free else (len(run[0]), len(run[0]))
        return data.draw(st.text("0123456789", min_size=least, max_size=most))

    other = re.sub(r"\d+", others, line)
    reader = LogReader("x")
    reader.feed(f"{line}\n--\n".encode(), 1.0)
    known = [o for o in reader.feed(f"{other}\n".encode(), 1.0) if isinstance(o, Step)]
    fresh = steps(other)
    assert [repr(sorted(numbers(s).items())) for s in known] == [
        repr(sorted(numbers(s).items())) for s in fresh
    ]


@pytest.mark.parametrize(
    "line",
    [
        '            print(f"step:{step+1}/{args.num_iterations} train_loss:{loss.item():.4f}")',
        '  File "/opt/train.py", line 120, in step',
        "| N/A   34C    P0    70W / 400W |   1234MiB / 40960MiB |      0%      Default |",
        "args: Namespace(lr=0.001, epochs=10, loss='mse')",
        "python train.py --lr 0.001 --loss 3",
        "learning_rate = 0.001 # with small networks can afford more",
        "  lr .............. 0.00015",
        "max_Loss: 0.05",
        "Loading checkpoint shards: 100%|██████████| 2/2 [00:05<00:00,  2.90s/it]",
        "Map (num_proc=4):  50%|█████     | 500/1000 [00:01<00:01, 400.1 examples/s]",
        "Step 1: download the data",
        "no numbers here, nan or inf in words only",
        "2026-01-02 03:04:05 saved 3 files in 0:00:12",
    ],
)
def test_no_report(line: str) -> None:
    assert not any(s.values or s.number is not None for s in steps(line))


def test_a_nan_average_time_is_no_nan_loss() -> None:
    (step,) = steps("step:1/6200 train_loss:10.9 train_time:23ms step_avg:nanms")
    assert step.loss == 10.9
    assert math.isnan(step.values["step_time_s"])


def test_reinforcement_learning_keeps_its_loss_apart() -> None:
    table = (
        "-----\n|    total_timesteps | 2048 |\n|    approx_kl | 0.01 |\n|    loss | 56.6 |\n-----"
    )
    said = steps(table)
    assert all(s.loss is None for s in said)
    assert said[-1].values == {"loss": 56.6}
    assert said[-1].number == 2048


def test_details_belong_to_the_step_above_them() -> None:
    said = steps(
        "2026-01-02 12:01:00 INFO [console:68] [step=100/2000,epoch=0]\n    train/CE loss=6.2\n    optim/total grad norm=0.5\n"
    )
    assert [(s.number, s.epoch) for s in said] == [(100, 0)] * len(said)
    assert [s.values for s in said if s.values] == [{"train_loss": 6.2}, {"grad_norm": 0.5}]


def test_a_rule_ends_a_record() -> None:
    said = steps("[step=100/2000,epoch=0]\n--------\n    loss=6.2")
    assert [s.number for s in said] == [100, None]


def test_column_heads_name_the_columns() -> None:
    said = steps("Step\tTraining Loss\tValidation Loss\n500\t2.31\t2.2\n1000\t2.1\tNo log")
    assert [numbers(s) for s in said] == [
        {"step": 500, "train_loss": 2.31, "eval_loss": 2.2},
        {"step": 1000, "train_loss": 2.1},
    ]


def test_detection_parts_are_summed() -> None:
    head = "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size"
    row = "      1/100      3.61G        1.5        1.8        1.0        332        640:  34%|███▎      | 546/1618 [01:05<02:59,  5.98it/s]"
    (step,) = steps(f"{head}\n{row}")
    assert step.values["train_loss"] == pytest.approx(4.3)
    assert step.epoch == 1
    assert step.values["gpu_mem_bytes"] == pytest.approx(3.61 * 2**30)


def test_the_bar_lends_its_step_to_the_line_that_interrupts_it() -> None:
    said = steps("\r 33%|###3      | 20/60 [00:10<00:20,  2.00it/s]\r{'loss': 2.0, 'epoch': 1.7}")
    assert [(s.number, s.loss, s.line) for s in said] == [(20, None, 1), (20, 2.0, 1)]


def test_an_inner_bar_is_an_evaluation_not_progress() -> None:
    bars = [
        f"\r{p}%|#| {n}/{t} [00:10<00:20,  2.00it/s]"
        for p, n, t in ((50, 30, 60), (1, 1, 63), (99, 62, 63), (52, 31, 60))
    ]
    assert [s.number for s in steps("".join(bars))] == [30, 31]


def test_redraws_are_thinned_out_but_never_a_nan() -> None:
    bars = [
        f"\rTrain:  1%|#| {n}/100000 [00:10<00:20, 2.00it/s, loss={'nan' if n == 50 else 2.5}]"
        for n in range(100)
    ]
    said = steps("".join(bars))
    assert len(said) < 10
    assert any(math.isnan(s.loss or 0) and s.number == 50 for s in said)


RATES = st.sampled_from(["tok/s", "tokens/sec", "samples/s", "img/s", "it/s", "s/it", "ms/step"])
LOSSES = st.one_of(st.just("nan"), st.floats(0.001, 99.0).map(lambda x: f"{x:.4f}"))


@given(loss=LOSSES, rate=st.integers(1, 99999), unit=RATES, sep=st.sampled_from([" ", "  ", " | "]))
def test_a_key_before_its_value_wins_over_a_unit_after_it(
    loss: str, rate: int, unit: str, sep: str
) -> None:
    for line in (
        f"step 150{sep}loss {loss} {unit} {rate}",
        f"step 150{sep}loss {loss} {rate} {unit}",
        f"step 150{sep}{unit} {rate}{sep}loss {loss}",
        f"step 150{sep}loss: {loss} {unit}: {rate}",
    ):
        (step,) = steps(line)
        assert step.number == 150
        assert repr(step.loss) == repr(float(loss))


def test_of_a_list_of_records_the_last_one_is_the_report() -> None:
    records = ", ".join(
        f"({n}, {{'train/loss': {1 / n}, 'validation/loss': {2 / n}, 'rest': '{'x' * 200}', 'global_step': {n}}})"
        for n in (1, 100, 200)
    )
    (step,) = steps(f"12:00:01 run.py:7] Metrics: {{'results': [{records}], 'global_step': 207}}")
    assert numbers(step) == {"train_loss": 0.005, "eval_loss": 0.01, "step": 200}


def test_a_line_with_an_arrow_belongs_to_the_report_above_it() -> None:
    read = steps("epoch:0 || iter:10 || Loss:19.4519\n->>lr:0.0005")
    assert [numbers(step) for step in read][1] == {"lr": 0.0005, "step": 10, "epoch": 0}


def test_one_without_a_report_above_it_is_a_setting() -> None:
    assert steps("->>lr:0.0005") == []
