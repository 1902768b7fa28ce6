"""What holds for every log: nothing hides a trouble, and one trouble is one finding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.parsers.signatures import SIGNATURES, Signature
from middlewatch.daemon.replay.one_log import Replay, ReplayRules
from middlewatch.sentinels.kit import discover

from ..parsers.examples import EXAMPLES

LOGS = Path(__file__).parents[2] / "logs"
RULES = ReplayRules(discover(), {}, pytest.fail)
LOUD = [row for row in SIGNATURES if row.severity != "info" and row.role == "root"]
QUIET = [
    "step {n}/900 loss 2.{n} lr 3e-04 grad_norm 0.9",
    "{{'loss': 2.{n}, 'learning_rate': 0.0003, 'epoch': 0.{n}}}",
    "INFO loader: shard {n} of rank 3 opened",
    "NCCL INFO Channel 00/02 : 0 1 2 3",
    " {n}%|####      | {n}/900 [00:10<00:20,  2.00it/s, loss=2.1]\r",
    "",
    "训练中 第{n}步 损失: 2.{n}",
    "saving nothing today",
    "0 errors so far, 0 nan, 0 skipped",
]


def replayed(text: str) -> list[dict[str, Any]]:
    """Records of a log."""
    return list(Replay("a.log", RULES).read([text.encode()], metrics=False))


def lines(numbers: list[tuple[int, int]]) -> str:
    """Healthy lines: which of them, and the number in them."""
    return "".join(QUIET[i].format(n=10 + n) + "\n" for i, n in numbers)


some = st.lists(st.tuples(st.integers(0, len(QUIET) - 1), st.integers(0, 80)), max_size=40)


@given(row=st.sampled_from(LOUD), which=st.integers(0, 9), before=some, after=some)
def test_healthy_lines_around_a_trouble_never_hide_it(
    row: Signature, which: int, before: list[tuple[int, int]], after: list[tuple[int, int]]
) -> None:
    hits = EXAMPLES[row.id].hits
    trouble = hits[which % len(hits)]
    alone = {r["class"] for r in replayed(trouble + "\n") if r["type"] == "finding"}
    among = {
        r["class"]
        for r in replayed(lines(before) + trouble + "\n" + lines(after))
        if r["type"] == "finding"
    }
    assert alone <= among
    assert row.trouble in alone


@pytest.mark.parametrize("row", LOUD[::9], ids=lambda row: row.id)
def test_the_same_trouble_many_times_is_one_finding(row: Signature) -> None:
    times = 10_000 if row is LOUD[0] else 500
    said = replayed((EXAMPLES[row.id].hits[0] + "\n") * times)
    found = [r for r in said if r["type"] == "finding" and r["class"] == row.trouble]
    assert len(found) == 1
    assert found[0]["line"] <= 2


def test_every_record_is_strict_json() -> None:
    for record in replayed(
        "step 1 loss nan\nstep 2 loss nan\n\udcff Killed\n".replace("\udcff", "?")
    ):
        json.loads(json.dumps(record, allow_nan=False))


@pytest.mark.parametrize(
    ("name", "verdict", "cause", "last_step", "framework"),
    [
        ("hf-trainer-gpt2-tiny", "finished", None, 60, "Hugging Face Trainer"),
        ("hf-trainer-nan", "failed", "loss_nan", 60, "Hugging Face Trainer"),
        ("lightning-tiny", "finished", None, 32, "PyTorch Lightning"),
        ("litgpt-pretrain-pythia14m", "finished", None, 75, "LitGPT"),
        ("nanogpt-char-cpu-200", "finished", None, 200, "nanoGPT"),
        ("nanogpt-char-nan", "failed", "loss_nan", 60, "nanoGPT"),
        ("nanogpt-prepare", "cut", None, None, None),
        ("torchrun-gloo-hang-60s", "failed", "gloo_timeout", 4, None),
    ],
)
def test_logs_of_real_frameworks(
    name: str, verdict: str, cause: str | None, last_step: float | None, framework: str | None
) -> None:
    path = LOGS / f"{name}.log"
    *said, end = Replay(name, RULES).read([path.read_bytes()], metrics=False)
    assert (end["verdict"], end["cause"]) == (verdict, cause)
    assert (end["last_step"], end["framework"]) == (last_step, framework)
    if verdict != "failed":
        assert said == []
