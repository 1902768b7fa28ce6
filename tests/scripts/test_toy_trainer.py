"""The toy trainer: it learns, it fails for real, and its checkpoints are what they say."""

from __future__ import annotations

import json
import math
import re
import select
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

TRAINER = Path(__file__).resolve().parents[2] / "scripts" / "toy_trainer.py"
LINE = re.compile(r"iter (\d+): loss (\S+), lr (\d\.\de[+-]\d\d), time \d+\.\dms")


def train(*options: object) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-I", str(TRAINER), *map(str, options)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def losses(lines: list[str]) -> dict[int, float]:
    return {int(m[1]): float(m[2]) for line in lines if (m := LINE.fullmatch(line))}


def test_it_learns() -> None:
    seen = losses(train("--steps", 200))
    assert list(seen) == list(range(201))
    early, late = (sum(seen[s] for s in steps) / 20 for steps in (range(20), range(181, 201)))
    assert math.log(30) < seen[0] < math.log(60), "about 40 characters, nothing known of them"
    assert late < early - 0.7


def test_the_same_seed_is_the_same_run() -> None:
    first, again = losses(train("--steps", 20)), losses(train("--steps", 20))
    assert first == again
    assert losses(train("--steps", 20, "--seed", 2)) != first


def test_a_raised_learning_rate_overflows_into_nan() -> None:
    seen = losses(train("--steps", 60, "--raise-lr-at", 30))
    assert all(math.isfinite(seen[s]) for s in range(31))
    assert seen[31] > 2 * seen[30], "it blows up by its own arithmetic"
    assert all(math.isnan(seen[s]) for s in range(40, 61))


def test_a_file_raises_the_learning_rate(tmp_path: Path) -> None:
    now = tmp_path / "now"
    train_so = ("--steps", 30, "--raise-lr-when", now)
    assert all(math.isfinite(loss) for loss in losses(train(*train_so)).values())
    now.touch()
    assert math.isnan(losses(train(*train_so))[30])


def test_gradients_are_those_of_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TRAINER.parent))
    import random

    import toy_trainer  # type: ignore[import-not-found, unused-ignore]

    text = toy_trainer.Text(toy_trainer.TEXT, 1)
    contexts, targets = text.batch("train", 0)
    rng = random.Random(5)
    for name, row, column in (
        ("embedding.weight", contexts[0][0], 3),
        ("hidden.weight", 7, 5),
        ("hidden.bias", 0, 11),
        ("head.weight", 4, targets[0]),
        ("head.bias", 0, targets[1]),
    ):
        model = toy_trainer.Model(len(text.letters), rng)
        before = model.tensors[name][row][column]
        around = []
        for nudge in (-1e-2, 1e-2):
            model.tensors[name][row][column] = before + nudge
            around.append(model.loss(contexts, targets))
        model.tensors[name][row][column] = before
        model.train(contexts, targets, 1.0)
        moved = before - model.tensors[name][row][column]
        assert moved == pytest.approx((around[1] - around[0]) / 2e-2, rel=0.03, abs=1e-4), name


def test_checkpoints_are_real_safetensors(tmp_path: Path) -> None:
    lines = train("--steps", 30, "--save-every", 10, "--out", tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"step-{n:06d}.safetensors" for n in (10, 20, 30)]
    assert [line for line in lines if line.startswith("saved")] == [
        f"saved checkpoint to {tmp_path / name}" for name in names
    ]
    tensors = safetensors.numpy.load_file(tmp_path / names[-1])
    assert {name: t.shape for name, t in tensors.items()} == {
        "embedding.weight": (40, 8),
        "hidden.weight": (24, 24),
        "hidden.bias": (24,),
        "head.weight": (24, 40),
        "head.bias": (40,),
    }
    assert all(t.dtype == np.float32 and np.isfinite(t).all() for t in tensors.values())
    data = (tmp_path / names[-1]).read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    assert length % 8 == 0
    assert json.loads(data[8 : 8 + length])["__metadata__"] == {"format": "pt", "step": "30"}


def test_a_checkpoint_after_the_nan_holds_nan(tmp_path: Path) -> None:
    train("--steps", 20, "--raise-lr-at", 5, "--save-every", 20, "--out", tmp_path)
    (tensors,) = (safetensors.numpy.load_file(path) for path in tmp_path.iterdir())
    assert any(np.isnan(t).any() for t in tensors.values())


def test_a_resumed_run_goes_on_exactly(tmp_path: Path) -> None:
    whole = losses(train("--steps", 40, "--save-every", 25, "--out", tmp_path))
    (saved,) = tmp_path.iterdir()
    rest = train("--steps", 40, "--resume", saved)
    assert rest[0] == f"resuming from {saved} at step 25"
    assert losses(rest) == {step: loss for step, loss in whole.items() if step >= 25}


def test_an_evaluation_is_silent_for_as_long_as_asked() -> None:
    command = [sys.executable, "-I", str(TRAINER), "--steps", "2", "--flush"]
    command += ["--eval-every", "2", "--eval-s", "3600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        lines = iter(process.stdout.readline, b"")
        assert next(line for line in lines if line.startswith(b"vocab size"))
        assert select.select([process.stdout], [], [], 1.0)[0] == [], "an hour was asked for"
        process.kill()


@pytest.mark.parametrize("flush", [True, False])
def test_unflushed_lines_come_in_blocks(tmp_path: Path, flush: bool) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-I", str(TRAINER), "--steps", "5000", "--sleep", "0.001"]
    with log.open("w") as file:
        process = subprocess.Popen([*command, *["--flush"] * flush], stdout=file)
        deadline = time.perf_counter() + 120
        while not (arrived := log.stat().st_size) and time.perf_counter() < deadline:
            time.sleep(0.002)
        process.kill()
        process.wait()
    # A block of 8 KiB grows page by page for whoever looks at that moment.
    assert (0 < arrived < 2000) if flush else (arrived >= 4096)
