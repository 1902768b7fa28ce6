"""What only several lines tell together: records, tables, announced plans, prefixes."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.parsers.frameworks import recognise
from middlewatch.daemon.parsers.matcher import hints_of
from middlewatch.daemon.parsers.numbers.metrics import examine
from middlewatch.daemon.parsers.numbers.tables import header_of
from middlewatch.daemon.parsers.phases import phase_of, saved
from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.sentinels.kit import Step


def steps(text: str) -> list[Step]:
    reader = LogReader("run.log")
    said = reader.feed((text + "\n").encode(), 1.0) + reader.finish(1.0)
    return [o for o in said if isinstance(o, Step)]


STATE = """{
  "epoch": 2.0,
  "global_step": 400,
  "log_history": [
    {
      "epoch": 1.0,
      "loss": 2.5,
      "step": 200
    },
    {
      "epoch": 2.0,
      "eval_loss": 2.1,
      "step": 400
    }
  ],
  "max_steps": 400,
  "num_train_epochs": 2
}"""


def test_json_over_many_lines() -> None:
    said = steps(STATE)
    assert [(s.number, s.epoch, dict(s.values), s.line) for s in said if s.epoch] == [
        (200, 1.0, {"train_loss": 2.5}, 7),
        (200, 1.0, {}, 8),
        (400, 2.0, {"eval_loss": 2.1}, 12),
        (400, 2.0, {}, 13),
    ]
    assert [s.total for s in said if s.total] == [400]
    assert [s.epochs for s in said if s.epochs] == [2]


def test_a_json_object_is_told_at_its_brace() -> None:
    reader = LogReader("run.log")
    text = '{\n  "train/loss": NaN,\n  "lr": 1e-3,\n  "step": 40\n'
    assert reader.feed(text.encode(), 1.0) == []
    said = [one for one in reader.feed(b"}\n", 1.0) if isinstance(one, Step)]
    assert [(step.number, list(step.values), step.line) for step in said] == [
        (40, ["train_loss"], 2),
        (40, ["lr"], 3),
        (40, [], 4),
    ]
    assert math.isnan(said[0].values["train_loss"])
    assert "NaN" in said[0].text


def test_an_inner_object_has_the_step_of_the_outer_one() -> None:
    inner = '  "train": {\n    "loss": 0.5,\n    "accuracy": 0.9\n  }\n}'
    said = steps(f'{{\n  "step": 7,\n{inner}')
    assert [(s.number, dict(s.values)) for s in said] == [
        (7, {"train_loss": 0.5}),
        (7, {"accuracy": 0.9}),
    ]


def test_an_object_that_is_not_closed_is_told_before_the_next_report() -> None:
    said = steps('{\n  "loss": 0.5,\n  "step": 3,\nstep 4 loss 0.25')
    told = [(s.number, s.values["train_loss"]) for s in said if s.values]
    assert told == [(3, 0.5), (4, 0.25)]


def test_printed_settings_are_no_report() -> None:
    assert steps('{\n  "lr": 0.1,\n  "batch_size": 4,\n  "seed": 7\n}') == []


def test_a_setting_that_may_be_the_plan_is_passed_on() -> None:
    said = steps('{\n  "max_steps": 400,\n  "num_train_epochs": 3,\n  "step": 5\n}')
    assert [(s.number, s.values, s.total, s.epochs) for s in said] == [
        (None, {}, 400, None),
        (None, {}, None, 3),
    ]
    (one,) = steps("Namespace(lr=0.001, epochs=10, loss='mse', seed=3)")
    assert (one.number, one.values, one.epochs) == (None, {}, 10)
    (one,) = steps("python train.py --lr 0.1 --max_steps 400 --epochs 7")
    assert (one.total, one.epochs) == (400, 7)


def test_what_a_trainer_announces_is_lent_to_its_steps() -> None:
    said = steps(
        "***** Running training *****\n  Num Epochs = 3\n  Total optimization steps = 375\n"
        "{'loss': 1.9, 'epoch': 0.02}\nstep 3 loss 1.2"
    )
    assert [(s.number, s.total, s.epochs) for s in said] == [(None, None, 3), (3, 375, None)]


def test_a_second_counter_of_a_record_is_a_value() -> None:
    said = steps(
        "      Learning iteration 12/1500      \n"
        "        Mean reward: 12.31\n   Total timesteps: 1277952\n----"
    )
    assert [(s.number, s.total) for s in said] == [(12, 1500), (12, None), (12, None)]
    assert said[-1].values == {"Total timesteps": 1277952}


def test_losses_of_reinforcement_learning_keep_their_names() -> None:
    table = (
        "| rollout/ |  |\n|    ep_rew_mean | -198 |\n|    total_timesteps | 20480 |\n"
        "|    entropy_loss | -1.09 |\n|    loss | 12.1 |\n|    n_updates | 90 |\n|    value_loss | 3.2 |"
    )
    values = [dict(s.values) for s in steps(table)]
    assert {"entropy_loss": -1.09} in values
    assert {"loss": 12.1} in values
    assert {"n_updates": 90.0} in values
    assert all("train_loss" not in v for v in values)


def test_generator_and_discriminator_are_no_training_loss() -> None:
    (step,) = steps("step 5 loss: 3.1, d_loss: 0.4, g_loss: 2.7")
    assert step.values == {"loss": 3.1, "d_loss": 0.4, "g_loss": 2.7}


def test_a_curve_without_any_name() -> None:
    rows = [f"{10 * n}\t{9 - n / 10}" for n in range(1, 8)]
    said = steps("\n".join([*rows, "80\tnan"]))
    assert [s.number for s in said] == [10.0 * n for n in range(1, 9)]
    assert [s.line for s in said] == list(range(1, 9))
    assert said[0].values == {"train_loss": 8.9}
    assert math.isnan(said[-1].values["train_loss"])


def test_a_rising_column_is_no_loss() -> None:
    assert steps("\n".join(f"{n},0.{n}0" for n in range(1, 8)))[0].values == {"column 2": 0.1}


@pytest.mark.parametrize(
    "rows",
    [
        "1\t0.5\n2\t0.4\n3\t0.3",  # too few
        "1\t0.9\n2\t0.8\n3\t0.7\nand\n4\t0.6\n5\t0.5\n6\t0.4",  # broken off
        "\n".join(f"{n * n * n}\t{1 / (n + 1):.3f}" for n in range(9)),  # no stride
        "\n".join(f"{9 - n}\t0.{n}" for n in range(9)),  # falling counter
    ],
)
def test_other_numbers_are_no_curve(rows: str) -> None:
    assert steps(rows) == []


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        ("# step loss lr\n1 2.5 0.1", {"train_loss": 2.5, "lr": 0.1}),
        (
            "epoch     train_loss  valid_loss  accuracy  time\n0         0.31    0.21    0.91  00:12",
            {"train_loss": 0.31, "eval_loss": 0.21, "accuracy": 0.91},
        ),
        (
            "E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  SCORE\n  0     200       19.5    9.5   20.0    0.2",
            {"LOSS TOK2VEC": 19.5, "LOSS NER": 9.5, "ENTS_F": 20.0, "SCORE": 0.2},
        ),
        (
            "epoch,  train/box_loss,  train/cls_loss,  val/box_loss,  lr/pg0\n0,  1.5,  2.0,  1.4,  0.0033",
            {"train_loss": 3.5, "val/box_loss": 1.4, "lr": 0.0033},
        ),
        (
            " Epoch  gpu_mem  box  obj  cls  total  labels  img_size\n 0/99  5.0G  0.05  0.02  0.01  0.08  32  640",
            {"train_loss": 0.08, "gpu_mem_bytes": 5 * 2.0**30},
        ),
        (" 0/99  5.0G  0.05  0.02  0.01  0.08  32  640  0.5  0.4", {"train_loss": 0.08}),
        (
            "  update   frames episodes   buffer  mean_return   loss\n      20       60        2       60       0.5261   0.0432",
            {"frames": 60.0, "episodes": 2.0, "mean_return": 0.5261, "loss": 0.0432},
        ),
    ],
)
def test_tables(table: str, wanted: dict[str, float]) -> None:
    (step,) = steps(table)
    assert {k: step.values.get(k) for k in wanted} == pytest.approx(wanted)
    assert step.epochs in (None, 99)


PREFIXES = {
    "[default7]: ": 7,
    "[rank3]:": 3,
    "[trainer2]: ": 2,
    "[Rank 1] ": 1,
    "Rank 4: ": 4,
    "  3: ": 3,
    "[1,5]<stdout>:": 5,
    "[prterun-box-77@1,6]<stderr>:": 6,
    "[2]: ": 2,
    "(pid=123) ": None,
    "(RayTrainWorker pid=123, ip=10.0.0.1) ": None,
    "(RayTrainWorker pid=123, ip=10.0.0.1) [rank1]: ": 1,
    "(EngineCore_0 rank=0 pid=123) ": None,
    "node-3: ": None,
    "worker-12: [rank9]: ": 9,
    "ip-10-0-0-1: ": None,
    "[pod/train-abc-0/pytorch] ": None,
    "pod/train-abc-0 ": None,
    "train-7d9f8b6c5d-x2x9z pytorch ": None,
    "trainer-1  | ": None,
    "10:00:00 web.1  | ": None,
    "2026-01-02T10:00:00.123456789Z ": None,
    "2026-01-02T10:00:00.123456789Z stdout F ": None,
    "2026-01-02T10:00:00.123456789Z stderr F [rank2]: ": 2,
    "Jan 02 10:00:00 box python[123]: ": None,
    "[2026-01-02 10:00:00,123] [INFO] [Rank 11] ": 11,
    "2026-01-02 10:00:00 (rank=3) ": 3,
}


@pytest.mark.parametrize("prefix", PREFIXES)
def test_prefixes(prefix: str) -> None:
    (step,) = steps(f"{prefix}step 3 loss 2.5 lr 0.1")
    assert (step.number, dict(step.values)) == (3, {"train_loss": 2.5, "lr": 0.1})
    assert step.rank == PREFIXES[prefix]


@pytest.mark.parametrize("prefix", ["epoch-1 | ", "step 3 | ", "[epoch2]: ", "fold-2 | "])
def test_counters_are_no_prefixes(prefix: str) -> None:
    assert steps(f"{prefix}loss 2.5")[0].rank is None


@pytest.mark.parametrize(
    "text",
    [
        "TrainingArguments(\nlearning_rate=5e-05,\nmax_grad_norm=1.0,\nmax_steps=1000,\neval_steps=500,",
        "{'lr': 0.001, 'batch_size': 32, 'epochs': 100, 'weight_decay': 0.0001}",
        "learning_rate: 0.0001\nmax_steps: 100000\nnum_epochs: 100\nscheduler:\n  step: 100\n  gamma: 0.1",
        "train_steps: 5000, lr: 0.1",
        "[GPU0] Epoch 3 | Batchsize: 32 | Steps: 64",
        "Generating train split: 1000 examples [00:00, 12000.1 examples/s]",
        "Fetching 12 files: 100%|██████████| 12/12 [00:00<00:00, 120.1it/s]",
        "The loss was 2.5 at step 10 in the paper, and the accuracy improved.",
        "Step 1 of 5: Downloading data",
        "[Step 3/7] Building wheel",
        "loss_bbox=dict(type='L1Loss', loss_weight=1.0),",
        "wandb: View run at https://example.invalid/x/runs/3",
        "    lr ............................................. 0.00015\n  train_iters ....... 500000",
        "            loss = self.criterion(outputs, labels)  # 0.5",
        "dropout: 0.1, label_smoothing: 0.1, lr: 0.001",
        "Number of parameters: 124,439,808",
        "lora rank: 8, alpha: 16",
    ],
)
def test_settings_and_prose_are_no_report(text: str) -> None:
    assert not any(s.values or s.number is not None for s in steps(text))


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("loss: 1,234.5 step 5", 1234.5),
        ("step 5 loss: 2,31", 2.31),
        ("step 5 loss: 0,4523", 0.4523),
        ("step 5 loss: 2,312", 2.312),
        ("step 5 of 10: loss 1.49 (1.63)", 1.49),
        ("step 5 ce_loss: 1.2 kd_loss: 3.0 loss: 4.2", 4.2),
        ("step 5 loss: 12.3s", None),
        ("step 5 train/loss/total: 4.5", 4.5),
        ("step 5 trainLoss=4.5", 4.5),
        ("step 5 CrossEntropyLoss: 4.5", 4.5),
        ("step 5 best_loss: 4.5", None),
        ("step 5 style loss: 4.5", None),
    ],
)
def test_the_loss_of_a_line(line: str, wanted: float | None) -> None:
    assert steps(line)[0].loss == wanted


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (
            " iteration  1/ 5 | consumed samples:  16 | elapsed time per iteration (ms): 3.0 |",
            "Megatron-LM",
        ),
        ("[NeMo I 2026-01-02 03:04:05] Saving", "NeMo"),
        ("GPU available: True (cuda), used: True", "PyTorch Lightning"),
        ("***** Running training *****", "Hugging Face Trainer"),
        ("[01/02 03:04:05 d2.utils.events]:  eta: 3:21:10  iter: 19", "Detectron2"),
        ("==((====))==  Unsloth - 2x faster", "Unsloth"),
        ("loss 2.5 step 3", None),
        ("import deepspeed_like_thing", None),
    ],
)
def test_frameworks(line: str, name: str | None) -> None:
    assert recognise(line) == name


NASTY = [
    *("a ", "loss", "1", "1,", "[1]", "(", "-", "= ", "a=", "loss: ", "loss 1 ", "| ", "|1", '"a": 1, ', "'", "%|"),
    *("1/2 ", "1/2[", "epoch 1 ", "Epoch [1/2] ", " ", "\t", "\t1", "step: 1,", "a.", "a/", "A1", "1e", "1:", "/", "━", "nan "),
    *("inf,", "损失", "saving checkpoint ", "saved model to ", "training ", "0.1 ", "=> ", "rank0 ", "[rank0]:", "00:", "a-1 "),
    *("2026-01-02 ", '{"a":', "x (a) ", "val: loss ", "\\", "éa", "1.", ".1", "[a", "train/loss "),
]  # fmt: skip


@pytest.mark.parametrize("piece", NASTY)
def test_no_line_takes_long(piece: str) -> None:
    line = (piece * 65536)[: 64 * 1024]
    for look in (
        examine,
        header_of,
        saved,
        recognise,
        lambda t: phase_of(t[:4096], hints_of(t[:4096].encode()).phases),
    ):
        best = min(_seconds(look, line) for _ in range(3))
        assert best < 0.05, look


def _seconds(look: object, line: str) -> float:
    began = time.thread_time()
    assert callable(look)
    look(line)
    return time.thread_time() - began


WORDS = st.sampled_from(
    ["loss", "step", "epoch", "lr", ":", "=", "|", "[", "]", "(", ")", "/", ",", "'", '"', " ", "\t", "nan", "inf", "-", "1",
     "2.5", "1e-3", "10/20", "50%", "it/s", "ms", "val", "train", "acc", "第", "轮", "损失", "：", "3,5", "1,234", "█", "━", "{", "}"]
)  # fmt: skip


@given(st.lists(WORDS, max_size=40).map("".join) | st.text(max_size=200))
def test_nothing_raises(line: str) -> None:
    text = line.replace("\n", " ")
    examine(text)
    header_of(text)
    saved(text)
    recognise(text)
    steps(line + "\n" + line)


def test_a_heading_names_the_epoch_of_what_follows() -> None:
    said = steps("Epoch 10 总结:\n  训练损失: 0.32 | 训练 Dice: 0.78\n  验证损失: 0.29\n")
    assert [(s.epoch, s.loss) for s in said] == [(10, None), (10, 0.32), (10, None)]
    assert said[-1].values == {"eval_loss": 0.29}


PANDAS = """ fold  epoch     loss  val_loss  val_auc
    0      {0} 0.612000       {1}      NaN
    0      {2} 0.583000       {3}      NaN"""


def test_a_cell_without_an_evaluation_is_no_nan() -> None:
    """pandas shows NaN for a row without a value: `history.tail(2)` of a loop that evaluates now and then."""
    text = "\n".join(
        PANDAS.format(n, "0.55" if n % 4 == 2 else "NaN", n + 1, "NaN") for n in range(0, 12, 2)
    )
    said = steps(text)
    assert [s.values["eval_loss"] for s in said if "eval_loss" in s.values] == [0.55] * 3
    assert len(said) == 12


def test_a_column_that_was_always_filled_may_become_nan() -> None:
    rows = "\n".join(
        PANDAS.format(n, "0.5", n + 1, "NaN" if n == 6 else "0.4") for n in range(0, 8, 2)
    )
    assert math.isnan(steps(rows)[-1].values["eval_loss"])


RICH = """┏━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━┓
┃ epoch ┃ box_loss ┃ obj_loss ┃ lr    ┃
┡━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━┩
│ 11/60 │ 0.0332   │ 0.0019   │ 0.002 │
└───────┴──────────┴──────────┴───────┘"""


def test_a_table_of_rich_for_each_epoch() -> None:
    """The edges of the head are heavy, those of the rows are light."""
    (step,) = steps(RICH)
    assert (step.epoch, step.values["lr"]) == (11, 0.002)
    assert step.values["train_loss"] == pytest.approx(0.0351)
