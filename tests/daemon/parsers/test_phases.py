from __future__ import annotations

import pytest

from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.sentinels.kit import CheckpointSaved, Observation, Phase


def read(line: str) -> list[Observation]:
    return LogReader("run.log").feed(line.encode() + b"\n", 1.0)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("***** Running training *****", "start"),
        ("***** Running Evaluation *****", "evaluate"),
        ("Compiling the model, this may take a minute", "compile"),
        ("Loading checkpoint from out/step_100.pt", "load"),
        ("Training completed in 3 hours", "done"),
        ("`Trainer.fit` stopped: `max_steps=100` reached.", "done"),
        ("exiting program at iteration 1000", "done"),
        ("{'train_runtime': 12.5, 'train_samples_per_second': 3.0, 'epoch': 3.0}", "done"),
        ("Validation:  22%|##2       | 18/80 [00:00<00:01, 66.02it/s]", "evaluate"),
    ],
)
def test_phases(line: str, name: str) -> None:
    assert [o.name for o in read(line) if isinstance(o, Phase)] == [name]


@pytest.mark.parametrize(
    "line",
    [
        "step 5 loss 2.0",
        "training set: 900 files",
        "epoch 3 of training",
        "evaluation every 500 steps",
    ],
)
def test_no_phase(line: str) -> None:
    assert [o for o in read(line) if isinstance(o, Phase)] == []


@pytest.mark.parametrize(
    ("line", "step", "path"),
    [
        ("saving checkpoint to out-char/ckpt.pt", None, "out-char/ckpt.pt"),
        (
            "[INFO|trainer.py:2926] >> Saving model checkpoint to out/checkpoint-500",
            500,
            "out/checkpoint-500",
        ),
        (
            "INFO:run:Saving model and optimizer state at iteration 55 to ./logs/G_5000.pth",
            5000,
            "./logs/G_5000.pth",
        ),
        ("  successfully saved checkpoint at iteration    2000 to /ckpt/gpt", 2000, "/ckpt/gpt"),
        ("Saving checkpoint to: /data/run/global_step_186", 186, "/data/run/global_step_186"),
        ("Saved checkpoint at step 400", 400, None),
        (
            "Saving LoRA weights to 'out/final/lit_model.pth.lora'",
            None,
            "out/final/lit_model.pth.lora",
        ),
        (
            "Checkpoint saved to s3://bucket/run/step-00000040/model.pth",
            40,
            "s3://bucket/run/step-00000040/model.pth",
        ),
    ],
)
def test_claims(line: str, step: float | None, path: str | None) -> None:
    (claim,) = (o for o in read(line) if isinstance(o, CheckpointSaved))
    assert (claim.step, claim.path) == (step, path)


@pytest.mark.parametrize(
    "line",
    [
        "Saving checkpoint every 500 steps to out/",
        "save_model: true",
        "saved figure to plots/a.png",
        "Saving tokenizer to out/tok.bin",
        "loss saved my day",
    ],
)
def test_no_claim(line: str) -> None:
    assert [o for o in read(line) if isinstance(o, CheckpointSaved)] == []
