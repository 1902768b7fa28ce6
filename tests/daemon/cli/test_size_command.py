"""``middlewatch size``: what a person types, what they read, and the exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from middlewatch.daemon.cli.size import decimal, params_of
from middlewatch.daemon.system.errors import UsageError

SEVEN = (
    *("size", "--params", "7e9", "--optimizer", "adamw", "--precision", "bf16", "--gpus", "8"),
    *("--sharding", "fsdp", "--layers", "32", "--hidden", "4096", "--heads", "32", "--seq", "4096"),
    *("--batch", "1"),
)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("7B", 7_000_000_000),
        ("7e9", 7_000_000_000),
        ("7E9", 7_000_000_000),
        ("124M", 124_000_000),
        ("1.3b", 1_300_000_000),
        ("0.5 B", 500_000_000),
        ("1.76e11", 176_000_000_000),
        ("1,000,000", 1_000_000),
        ("7_000_000_000", 7_000_000_000),
        ("1T", 10**12),
        ("600k", 600_000),
        ("8g", 8 * 10**9),
    ],
)
def test_parameters_as_people_write_them(text: str, count: int) -> None:
    assert params_of(text) == count


@pytest.mark.parametrize(
    "text", ["", "seven", "-7B", "0", "7BB", "1e99", "nan", "inf", "2e9B", "7B5", "0x7"]
)
def test_what_is_no_number_of_parameters(text: str) -> None:
    with pytest.raises(UsageError, match="number of parameters"):
        params_of(text)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1500, "1.50 kB"),
        (31_400_000_000, "31.4 GB"),
        (999_960_000, "1000 MB"),
        (120e9, "120 GB"),
        (2.5e12, "2.50 TB"),
        (5e15, "5000 TB"),
    ],
)
def test_bytes_in_units_of_papers(count: float, text: str) -> None:
    assert decimal(count) == text


def test_every_line_with_its_arithmetic(say: Any) -> None:
    status, told, complaint = say(*SEVEN)
    assert (status, complaint) == (0, "")
    lines = [" ".join(line.split()) for line in told.splitlines()]
    assert "weights 7,000,000,000 × 4 B ÷ 8 GPUs 3.50 GB" in lines
    assert "gradients 7,000,000,000 × 4 B ÷ 8 GPUs 3.50 GB" in lines
    assert "optimizer state (adamw) 7,000,000,000 × 8 B ÷ 8 GPUs 7.00 GB" in lines
    assert "gathered weights, 2 layers 437,500,000 × 2 B 875 MB" in lines
    assert "layers 32 × 4,096·1·4,096 × 34 B 18.3 GB" in lines
    assert any(line.startswith("not counted 10% of the card: CUDA context") for line in lines)
    assert "weights and optimizer 84.0 GB" in lines
    assert "derived, not given" not in told
    assert "assumed: the vocabulary" in told
    (here,) = (line for line in lines if line.endswith("<- this model"))
    assert here.startswith("1-7B 1-4 × A100 80 GB 18-126 GB 1-2")
    assert "fit" not in told


def test_what_is_derived_is_said_to_be_so(say: Any) -> None:
    told = say("size", "--params", "7B")[1]
    assert "33 layers, 4210 wide, 33 heads" in told
    assert "derived, not given: layers, hidden, heads (by 12·L·h² = parameters, h = 128·L" in told
    told = say("size", "--params", "7B", "--layers", "32", "--vocab", "32000")[1]
    assert "derived, not given: hidden, heads (by 12·L·h² + v·h = parameters, heads of 128)" in told
    assert "assumed" not in told


def test_shapes_that_do_not_go_together_are_told(say: Any) -> None:
    told = say("size", "--params", "47B", "--layers", "32", "--hidden", "4096")[1]
    assert "12·L·h² would be 6,442,450,944: experts, or a mistake?" in told


def test_it_fits(say: Any) -> None:
    status, told, _ = say(*SEVEN, "--vram", "80G")
    assert status == 0
    assert "It fits 80.0 GB: 37.5 GB are left" in told


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("--params 7B --gpus 8 --vram 80G", "--sharding zero1"),
        ("--params 7B --vram 80G", "--gpus 2 --sharding fsdp"),
        ("--params 1B --batch 8 --vram 40G", "--checkpointing"),
        ("--params 1B --batch 32 --seq 4096 --vram 40G", "--batch 3 --accumulate 11"),
        ("--params 1B --vram 16G", "--optimizer adam8bit"),
        ("--params 3B --vram 24G", "--lora-rank 16"),
        ("--params 1B --eager --seq 4096 --batch 2 --vram 48G", "(without --eager)"),
    ],
)
def test_the_single_change_that_makes_it_fit(say: Any, words: str, change: str) -> None:
    status, told, complaint = say("size", *words.split())
    assert (status, complaint) == (4, "")
    assert "It does not fit" in told
    _, _, proposed = told.partition("One of these makes it fit:\n")
    assert change in proposed
    answer = json.loads(say("size", *words.split(), "--json")[1])
    assert answer["fits"] is False
    assert [c["fits"] for c in answer["changes"] if c["options"] == change] == [True]
    if change.startswith("--"):
        again = [*words.split(), *change.split()]
        assert say("size", *again)[0] == 0, "what is proposed fits when it is typed"
    else:
        assert say("size", *words.replace("--eager ", "").split())[0] == 0


def test_where_no_single_change_is_enough(say: Any) -> None:
    status, told, _ = say("size", "--params", "70B", "--gpus", "8", "--batch", "8", "--vram", "80G")
    assert status == 4
    assert "No single change makes it fit" in told
    assert "several at once" in told
    assert "More GPUs, a smaller model or LoRA" in told


def test_lora_and_accumulation(say: Any) -> None:
    status, told, _ = say(
        *("size", "--params", "8B", "--layers", "32", "--hidden", "4096", "--lora-rank", "16"),
        *("--accumulate", "8", "--gpus", "2", "--sharding", "zero2", "--checkpointing"),
    )
    assert status == 0
    assert "LoRA of rank 16 on all matrices: 37,748,736 trained, 0.47%" in told
    assert "8 batches a step: 32,768 tokens a step" in told
    assert "no_sync()" in told
    assert "adapters and optimizer" in told


def test_the_disk_of_a_plan_of_saves(say: Any) -> None:
    told = say(*SEVEN, "--saves", "20")[1]
    assert "20 KEPT" in told
    assert "1.68 TB" in told
    assert "1.76 TB" in told
    assert "middlewatch audit --save-size 84000000000 --saves 20" in told


def test_json(say: Any) -> None:
    status, told, _ = say(*SEVEN, "--vram", "24G", "--saves", "3", "--json")
    answer = json.loads(told)
    assert (status, answer["fits"], answer["vram"]) == (4, False, 24 * 10**9)
    assert answer["bytes"]["counted"] == sum(line["bytes"] for line in answer["lines"])
    groups = ("states", "buffers", "activations")
    assert answer["bytes"]["counted"] == sum(answer["bytes"][group] for group in groups)
    assert answer["bytes"]["states"] == 16 * 7 * 10**9 // 8
    assert answer["save"] == {
        "weights": 28 * 10**9,
        "whole": 84 * 10**9,
        "kept": 3,
        "disk_weights": 4 * 28 * 10**9,
        "disk_whole": 4 * 84 * 10**9,
    }
    assert answer["model"]["assumed"] == ["vocab"]
    assert answer["plan"]["tokens_a_step"] == 8 * 4096
    assert answer["plan"]["lora_rank"] is None
    assert [one["class"] for one in answer["classes"]] == [
        "< 1B",
        "1-7B",
        "7-13B",
        "13-70B",
        "> 70B",
    ]
    without = json.loads(say(*SEVEN, "--json")[1])
    assert (without["vram"], without["fits"], without["changes"]) == (None, None, [])
    assert without["save"]["kept"] is None


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        ("", "--params is missing", "124M, 7B or 7e9"),
        ("--params seven", "cannot read the number of parameters 'seven'", "like 124M"),
        ("--params 7B --gpus 0", "--gpus 0 is no size", "1 or more"),
        ("--params 7B --batch -1", "--batch -1 is no size", "1 or more"),
        ("--params 7B --saves 0", "--saves 0 is no size", "1 or more"),
        (
            "--params 7B --kv-heads 8",
            "--kv-heads and --inner are those of a block of Llama",
            "llama",
        ),
        ("--params 7B --block llama --heads 32 --kv-heads 5", "share 5 heads", "divisor of 32"),
        ("--params 7B --lora-rank 0", "--lora-rank 0 is no size", "1 or more"),
        ("--params 7B --seq 4k", "--seq takes a whole number, not '4k'", "tokens of a sequence"),
        ("--params 7B --optimizer adamW", "there is no 'adamW'", "did you mean adamw"),
        ("--params 7B --sharding zero-3", "there is no 'zero-3'", "zero3"),
        ("--params 7B --precision int8", "there is no 'int8'", "bf16"),
        ("--params 7B --vram 80", "--vram 80: no card has so little", "80G"),
        ("--params 7B --vram huge", "cannot read the size 'huge'", "like 20MiB"),
        ("--params 7B --vrma 80G", "there is no option --vrma", "did you mean --vram"),
        (
            "--params 7B --precision amp --fp32-gradients",
            "is for --precision bf16",
            "of their weights",
        ),
        ("--params 1M --lora-rank 999", "more than the width", "8 to 64"),
        ("7B", "--params is missing", "124M, 7B or 7e9"),
    ],
)
def test_mistakes(say: Any, words: str, said: str, hint: str) -> None:
    status, told, complaint = say("size", *words.split())
    assert (status, told) == (2, "")
    first, *rest = complaint.splitlines()
    assert said in first
    assert hint in " ".join(rest)
    assert "Traceback" not in complaint


def test_it_needs_no_daemon_and_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom middlewatch.daemon.cli import main\n"
        "main(['size', '--params', '7B', '--vram', '80G', '--state-dir', '/nowhere'])\n"
        "heavy = {'torch', 'numpy', 'asyncio', 'sqlite3', 'socket', 'apprise', 'textual'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
