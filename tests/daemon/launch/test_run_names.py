"""What runs are called."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.launch.programs import script_of
from middlewatch.daemon.launch.run_names import apart, by_place, kept, named_by_itself

from .test_programs import FakeProc


@pytest.fixture
def box(tmp_path: Path) -> FakeProc:
    return FakeProc(tmp_path)


@pytest.mark.parametrize(
    ("line", "cwd", "name"),
    [
        ("python train.py", "/home/kim/exp/gpt-small", "gpt-small"),
        ("python /home/kim/exp/gpt-small/train.py", "/home/kim", "gpt-small"),
        ("python src/train.py", "/home/kim/gpt-small", "gpt-small"),
        ("python scripts/run.py", "/data/moe/code", "moe"),
        ("python train_gpt2.py", "/home/kim/exp", "train_gpt2"),
        ("python -m nanochat.train", "/home/kim", "nanochat"),
        ("python -m src.train", "/data/x/llama", "llama"),
        ("python train.py", "/root", "train"),
        ("python train.py", "/home/kim", "train"),
        ("python train.py", "/workspace", "train"),
        ("python /v/bin/torchrun --nproc 8 main.py --lr 1", "/data/vit", "vit"),
        ("bash run.sh", "/data/vit/scripts", "vit"),
        ("python train.py", "/data/训练一", "训练一"),
    ],
)
def test_a_run_is_called_by_script_or_folder(box: FakeProc, line: str, cwd: str, name: str) -> None:
    process = box.add(7, line)
    assert by_place(script_of(process), process.argv, cwd) == name


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("python train.py --run_name moe-a", "moe-a"),
        ("python train.py --run-name=moe-a", "moe-a"),
        ("python train.py exp_name=outs/moe-a", "moe-a"),
        ("python train.py --run_id 7", ""),
        ("python train.py --username kim", ""),
        ("python train.py --name", ""),
    ],
)
def test_a_command_may_give_its_training_a_name(line: str, name: str) -> None:
    assert named_by_itself(shlex.split(line)) == name


@pytest.mark.parametrize(
    ("mine", "other", "name"),
    [
        ("--seed 2", "--seed 1", "gpt-seed2"),
        ("--seed=2", "--seed=1", "gpt-seed2"),
        ("optim.lr=3e-4", "optim.lr=1e-3", "gpt-lr3e-4"),
        ("config/moe.yaml", "config/dense.yaml", "gpt-moe"),
        ("--config a/moe.py --seed 2", "--config a/dense.py --seed 1", "gpt-moe"),
        ("--seed 2 --model llama", "--seed 1 --model opt", "gpt-llama"),
        ("--moe", "", "gpt-moe"),
        ("--out_dir out/b --port 2", "--out_dir out/a --port 1", "gpt-b"),
        ("--master_port 2", "--master_port 1", "gpt-2"),
        ("--resume out/ckpt-5", "", "gpt-2"),
        ("--seed 1", "--seed 1", "gpt-2"),
        ("--api_key sk-ant-api03-abcdefghijklmnopqrstuvwxyz", "--api_key no", "gpt-2"),
    ],
)
def test_two_of_one_name_are_told_apart(mine: str, other: str, name: str) -> None:
    argv, theirs = (["python", "train.py", *shlex.split(words)] for words in (mine, other))
    assert apart("gpt", argv, [theirs], {"gpt"}) == name


def test_the_order_of_starts_does_not_matter() -> None:
    one, two = (["python", "train.py", "--seed", seed] for seed in "12")
    assert {apart("gpt", one, [two], ()), apart("gpt", two, [one], ())} == {
        "gpt-seed1",
        "gpt-seed2",
    }


def test_a_command_that_comes_again_keeps_its_name() -> None:
    known = [
        RunSpec("gpt", command=("python", "train.py", "--seed", seed), cwd="/data/gpt")
        for seed in "12"
    ]
    again = known[1]
    known[1] = RunSpec("gpt-seed2", command=again.command, cwd=again.cwd)
    assert kept(again, known, {"gpt"}) == "gpt-seed2"
    assert kept(again, known, {"gpt", "gpt-seed2"}) == "", "that one is another's now"
    assert kept(RunSpec("gpt", command=again.command, cwd="/elsewhere"), known, ()) == ""
    assert kept(RunSpec("gpt"), known, ()) == "", "without a command nothing is the same"
