"""New projects, trained for real: killed in the middle by -9, the identical command goes on.

Each is compared with another one that nobody killed: Trainer, Lightning and LitGPT compute the same numbers
again on a processor. nanoGPT does not, as its restart draws other batches: there the steps, the curve of the
learning rate and the level of the loss are compared.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.jobs import read

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
MIDDLEWATCH = [sys.executable, "-m", "middlewatch.daemon"]
NEEDS = {
    "nanogpt": ("torch", "numpy"),
    "litgpt": ("litgpt", "lightning", "jsonargparse", "docstring_parser", "typeshed_client"),
    "hf": ("transformers", "accelerate"),
    "lightning": ("lightning",),
}
QUIET = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
PATIENCE_S = 300.0
STEPS, GATE, SAVED = 20, 13, 10
"""Steps of a training, the one after whose line it is killed, and its newest save then."""


class Project:
    """A project in a folder, and its trainings."""

    def __init__(self, framework: str, folder: Path, *options: str) -> None:
        for name in NEEDS[framework]:
            if importlib.util.find_spec(name) is None:
                pytest.skip(f"not installed: {name} (scripts/test installs it)")
        self.framework, self.folder = framework, folder
        self.gate = folder.with_name(f"{folder.name}.go-on")
        self.env = {k: v for k, v in os.environ.items() if k not in ("NANOGPT", "RANK")}
        self.env |= QUIET | {"PYTHON": sys.executable}
        self.trainings = 0
        words = ("--toy", "--steps", str(STEPS), "--json", *options)
        if framework == "nanogpt":
            words += ("--checkout", os.environ.get("NANOGPT") or str(HERE / "checkout"))
        done = subprocess.run(
            [*MIDDLEWATCH, "new", framework, str(folder), *words],
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        self.made = json.loads(done.stdout)

    @property
    def command(self) -> list[str]:
        """That of the job file, by which `middlewatch launch` starts it too."""
        return list(read.read(self.folder / "job.toml").main.command)

    def start(self, gate: int | None = None) -> tuple[subprocess.Popen[bytes], Path]:
        """A training and its log."""
        self.trainings += 1
        log = self.folder.with_name(f"{self.folder.name}.{self.trainings}.log")
        env = dict(self.env)
        if gate is not None:
            env |= {"PYTHONPATH": str(HERE / "gate"), "GATE_OPEN": str(self.gate)}
            env |= {"GATE_STEP": str(gate)}
            if "PYTHONPATH" in self.env:
                env["PYTHONPATH"] += os.pathsep + self.env["PYTHONPATH"]
        with log.open("wb") as output:
            process = subprocess.Popen(
                self.command, cwd=self.folder, env=env, stdout=output, stderr=output
            )
        return process, log

    def whole(self) -> Path:
        """The log of a training that was left alone."""
        process, log = self.start()
        try:
            assert process.wait(PATIENCE_S) == 0, log.read_text(errors="replace")
        finally:
            process.kill()
            process.wait()
        return log

    def stopped(self, gate: int, sent: signal.Signals) -> tuple[int, Path]:
        """Sent a signal after the line of a step; its status and log."""
        self.gate.unlink(missing_ok=True)
        process, log = self.start(gate)
        try:
            deadline = time.monotonic() + PATIENCE_S
            while gate not in [step for step, _ in losses(log)]:
                text = log.read_text(errors="replace")
                assert process.poll() is None, text
                assert time.monotonic() < deadline, f"no step {gate} in {PATIENCE_S} s: {text}"
                time.sleep(0.02)
            process.send_signal(sent)
            self.gate.write_text("")
            return process.wait(PATIENCE_S), log
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Project]:
    made: list[Project] = []

    def make(framework: str, *options: str) -> Project:
        made.append(Project(framework, tmp_path / f"{framework}{len(made)}", *options))
        return made[-1]

    return make


def losses(log: Path) -> list[tuple[int, float]]:
    """Step and loss of each report, from the text itself."""
    text = log.read_text(errors="replace")
    found = re.findall(r'^(?:\{"step": |iter )(\d+)[,:] "?loss"?:? ([\d.]+)', text, re.MULTILINE)
    return [(int(step), float(loss)) for step, loss in found]


def read_by_replay(log: Path) -> list[dict[str, Any]]:
    """What `middlewatch replay` reads of each report of a training step."""
    done = subprocess.run(
        [*MIDDLEWATCH, "replay", "--json", "--metrics", str(log)],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        {"step": line["step"], **line["values"]}
        for line in lines
        if line["type"] == "metric" and {"train_loss", "lr"} <= line["values"].keys()
    ]


def curve(framework: str, step: int) -> float:
    """The learning rate that a report of this step tells: 2 steps of warm-up, then a cosine."""
    high, low, warm = 3e-3, 3e-4, 2
    at = step if framework == "nanogpt" else step - 1  # it counts from 0, the others from 1
    if at < warm:
        up = {"lightning": (at + 1) / (warm + 1), "nanogpt": (at + 1) / (warm + 1)}
        return high * up.get(framework, at / warm)
    return low + (high - low) * 0.5 * (1 + math.cos(math.pi * (at - warm) / (STEPS - warm)))


LONG = pytest.mark.long


@pytest.mark.parametrize(
    "framework",
    ["hf", "nanogpt", pytest.param("lightning", marks=LONG), pytest.param("litgpt", marks=LONG)],
)
def test_it_is_killed_and_the_identical_command_goes_on(
    framework: str, project: Callable[..., Project]
) -> None:
    undisturbed = project(framework).whole()
    one = project(framework)
    status, before = one.stopped(GATE, signal.SIGKILL)
    assert status == -signal.SIGKILL
    after = one.whole()
    reports = {"before": read_by_replay(before), "after": read_by_replay(after)}
    rows = read_by_replay(undisturbed)
    last = rows[-1]["step"]
    assert last == STEPS
    # Every step is told once, with all that it takes to judge it.
    counted = list(range(int(rows[0]["step"]), STEPS + 1))
    assert [row["step"] for row in rows] == counted
    assert {row["step"] for row in reports["before"]} == set(range(counted[0], GATE + 1))
    # nanoGPT saves before it trains the step, so that step comes again.
    first = SAVED if framework == "nanogpt" else SAVED + 1
    assert [row["step"] for row in reports["after"]] == list(range(first, STEPS + 1))
    for row in [*rows, *reports["before"], *reports["after"]]:
        expected = curve(framework, int(row["step"]))
        assert row["lr"] == pytest.approx(expected, rel=1e-4), row["step"]
    assert sum("tokens_per_s" in row for row in reports["after"]) >= len(reports["after"]) - 1
    loss = {row["step"]: row["train_loss"] for row in rows}
    told = {row["step"]: row["train_loss"] for row in reports["after"]}
    if framework == "nanogpt":
        assert all(abs(told[step] - loss[step]) < 0.3 for step in told)
        assert max(told.values()) < loss[0] - 0.3
    else:
        # The same numbers as without the kill: the batches, the optimizer and the schedule went on.
        assert told == pytest.approx({step: loss[step] for step in told}, abs=2e-3)
    # A training that has ended does nothing harmful when it is started again.
    again = [step for step, _ in losses(one.whole())]
    assert all(step == STEPS for step in again), again


@pytest.mark.parametrize("framework", [pytest.param("hf", marks=LONG), "lightning"])
def test_it_is_asked_to_end_and_saves_first(
    framework: str, project: Callable[..., Project]
) -> None:
    one = project(framework)
    status, before = one.stopped(GATE, signal.SIGTERM)
    assert status == 128 + signal.SIGTERM, before.read_text(errors="replace")
    done = losses(before)[-1][0]
    assert done in (GATE, GATE + 1)
    assert losses(one.whole())[0][0] == done + 1


@LONG
def test_a_part_of_a_save_is_passed_over(project: Callable[..., Project]) -> None:
    """Trainer writes into the final folder: a kill there leaves a part of a save with a good name."""
    one = project("hf")
    one.stopped(GATE, signal.SIGKILL)
    part = one.folder / "out" / "checkpoint-12"
    shutil.copytree(one.folder / "out" / f"checkpoint-{SAVED}", part)
    (part / "whole").unlink()
    (part / "optimizer.pt").write_bytes(b"PK")
    after = one.whole()
    assert f"goes on from out/checkpoint-{SAVED}" in after.read_text()
    assert losses(after)[0][0] == SAVED + 1
    (kept,) = (one.folder / "out").glob("unfinished-*-checkpoint-12")
    assert (kept / "optimizer.pt").read_bytes() == b"PK"


CARD = """
import contextlib, io, json, sys
sys.path.insert(0, sys.argv[1])
import torch
if sys.argv[2] == "nanogpt":
    from nanogpt_extras import dtype as choose
else:
    from support import precision_here as choose
answers = []
for card, wanted in json.loads(sys.argv[3]):
    torch.cuda.is_available = lambda: card != "none"
    torch.cuda.get_device_capability = lambda: tuple(map(int, card.split(".")))
    with contextlib.redirect_stdout(io.StringIO()) as told:
        chosen = choose(wanted)
    answers.append([chosen, told.getvalue()])
print(json.dumps(answers))
"""
NAMES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


@pytest.mark.parametrize("framework", ["hf", "nanogpt"])
def test_the_precision_is_decided_again_at_the_start(
    framework: str, project: Callable[..., Project]
) -> None:
    one = project(framework)
    cases = (
        ("8.0", "auto", "bf16"),
        ("7.5", "auto", "fp16"),
        ("none", "auto", "fp32"),
        ("9.0", "fp32", "fp32"),
        ("9.0", "fp16", "fp16"),
        ("7.0", "bf16", "fp16"),
        ("none", "bf16", "fp32"),
        ("none", "fp16", "fp32"),
    )
    asked = json.dumps([case[:2] for case in cases])
    words = [sys.executable, "-c", CARD, str(one.folder), framework, asked]
    done = subprocess.run(words, env=one.env, capture_output=True, text=True, check=True)
    for (card, wanted, chosen), (answer, told) in zip(cases, json.loads(done.stdout), strict=True):
        assert answer == (NAMES[chosen] if framework == "nanogpt" else chosen), (card, wanted)
        # Another one than that which a person has written is told.
        assert bool(told) == (wanted not in ("auto", chosen)), told


CUT = """
import os, sys
sys.path.insert(0, sys.argv[1])
import torch, nanogpt_extras
def half(what, path):
    open(path, "wb").write(b"half")
    os._exit(9)
if sys.argv[3] == "killed":
    torch.save = half
nanogpt_extras.install({"seed": 1})
torch.save({"step": sys.argv[3]}, sys.argv[2])
"""


def test_a_kill_inside_of_a_save_leaves_the_one_before(
    tmp_path: Path, project: Callable[..., Project]
) -> None:
    torch = pytest.importorskip("torch")
    one, save = project("nanogpt"), tmp_path / "ckpt.pt"
    words = [sys.executable, "-c", CUT, str(one.folder), str(save)]
    assert subprocess.run([*words, "first"], check=False).returncode == 0
    assert subprocess.run([*words, "killed"], check=False).returncode == 9
    assert torch.load(save)["step"] == "first"
    assert subprocess.run([*words, "second"], check=False).returncode == 0
    assert torch.load(save)["step"] == "second"
