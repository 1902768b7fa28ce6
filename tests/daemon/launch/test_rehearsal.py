"""The plan of a rehearsal and its verdict, without running anything."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from middlewatch.daemon.launch import rehearsal_hook
from middlewatch.daemon.launch.rehearsal_plan import Plan, environment, plan
from middlewatch.daemon.launch.rehearsal_verdict import kind_of, own_line, why


def planned(tmp_path: Path, text: str, *command: str) -> Plan:
    (tmp_path / "train.py").write_text(text)
    return plan(command, tmp_path, Path("/out"))


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        ("from transformers import Trainer, TrainingArguments", "transformers"),
        ("import lightning as L", "lightning"),
        ("import pytorch_lightning as pl", "lightning"),
        ("from accelerate import Accelerator", "accelerate"),
        ("max_iters = 9\nexec(open('configurator.py').read())", "nanogpt"),
        ("import torch", "plain"),
        ("# from accelerate import Accelerator", "plain"),
    ],
)
def test_the_framework_is_told_by_the_script(tmp_path: Path, text: str, framework: str) -> None:
    assert planned(tmp_path, text, "python3", "train.py").framework == framework


@pytest.mark.parametrize(
    "launcher",
    [
        "torchrun --standalone --nproc_per_node=8",
        "python3 -m torch.distributed.run --nnodes 2 --node_rank 1 --nproc-per-node 8",
        "accelerate launch --multi_gpu --num_processes 8 --config_file ds.yaml",
        "deepspeed --num_gpus 8",
    ],
)
def test_a_launcher_is_left_out(tmp_path: Path, launcher: str) -> None:
    made = planned(tmp_path, "import torch", *launcher.split(), "train.py", "--lr", "1")
    assert made.command[1:] == ("train.py", "--lr", "1")
    assert Path(made.command[0]).name.startswith("python")
    assert made.distributed
    assert "one process" in made.changes[0]
    env = environment({}, Path("/h"), Path("/o"), Path("/r"), 1234, made)
    assert (env["WORLD_SIZE"], env["MASTER_PORT"]) == ("1", "1234")


def test_a_launcher_of_a_module(tmp_path: Path) -> None:
    made = planned(tmp_path, "", "torchrun", "--nproc_per_node", "2", "-m", "pkg.train", "--x")
    assert made.command[1:] == ("-m", "pkg.train", "--x")


def test_what_is_no_launcher_stays(tmp_path: Path) -> None:
    made = planned(tmp_path, "", "bash", "train.sh")
    assert (made.command, made.distributed, made.changes) == (("bash", "train.sh"), False, ())
    assert "WORLD_SIZE" not in environment({}, Path("/h"), Path("/o"), Path("/r"), 1, made)


def test_nanogpt_gets_only_the_settings_that_it_has(tmp_path: Path) -> None:
    text = "max_iters = 600000\nout_dir = 'out'\nexec(open('configurator.py').read())"
    made = planned(tmp_path, text, "python3", "train.py", "config/gpt2.py")
    assert made.command[2:] == ("config/gpt2.py", "--max_iters=2", "--out_dir=/out/out_dir")


def test_a_finetuning_of_litgpt_is_told_its_steps(tmp_path: Path) -> None:
    made = planned(tmp_path, "", "litgpt", "finetune_lora", "checkpoints/x")
    assert made.framework == "litgpt"
    assert {"--train.max_steps=2", "--out_dir=/out/out_dir"} <= set(made.command)


def test_words_of_a_person_come_last(tmp_path: Path) -> None:
    made = plan(["python3", "x.py"], tmp_path, Path("/out"), "", ["--steps", "2"])
    assert made.command == ("python3", "x.py", "--steps", "2")


@pytest.mark.parametrize(
    ("name", "message", "kind"),
    [
        ("RuntimeError", "mat1 and mat2 shapes cannot be multiplied (8x4 and 5x2)", "shape"),
        ("RuntimeError", "The size of tensor a (4) must match the size of tensor b (5)", "shape"),
        ("RuntimeError", "stack expects each tensor to be equal size, but got [3] at 0", "shape"),
        ("ValueError", "Expected input batch_size (8) to match target batch_size (4).", "shape"),
        ("IndexError", "Target 7 is out of bounds.", "data"),
        ("IndexError", "index out of range in self", "data"),
        ("ValueError", "num_samples should be a positive integer value, but got 0", "data"),
        ("AssertionError", "Torch not compiled with CUDA enabled", "gpu"),
        ("RuntimeError", "Found no NVIDIA driver on your system.", "gpu"),
        ("OSError", "gpt9 is not a local folder and is not a valid model identifier", "path"),
        ("RuntimeError", "DefaultCPUAllocator: can't allocate memory: you tried", "memory"),
        ("ConnectionError", "HTTPSConnectionPool: Max retries exceeded", "network"),
        ("TypeError", "GPT.__init__() got an unexpected keyword argument 'n_laver'", "config"),
        ("ValueError", "Some keys are not used by the HfArgumentParser: ['lrr']", "config"),
        ("ZeroDivisionError", "division by zero", "program"),
    ],
)
def test_the_kind_of_an_exception(name: str, message: str, kind: str) -> None:
    assert kind_of(name, message, (), ()) == kind


def test_an_exception_out_of_the_loader_is_about_data() -> None:
    frames = [
        ("/w/train.py", 3, "main"),
        ("/v/site-packages/torch/utils/data/dataloader.py", 9, "n"),
    ]
    assert kind_of("ValueError", "bad row", ("ValueError",), frames) == "data"
    assert own_line(frames, "/w") == "train.py:3"


def test_without_the_hook_the_last_lines_tell() -> None:
    tail = [
        "Traceback (most recent call last):",
        '  File "x"',
        "ModuleNotFoundError: No module named 'x'",
        "",
    ]
    told = why(None, tail, 1, "/w")
    assert (told.kind, told.line) == ("import", "ModuleNotFoundError: No module named 'x'")
    usage = why(None, ["usage: train.py", "train.py: error: unrecognized arguments: --x"], 2, "/w")
    assert (usage.kind, usage.line) == ("config", "its arguments: unrecognized arguments: --x")
    assert why(None, [], 1, "/w").line == "ended with exit status 1, and said nothing"


def test_the_hook_is_understood_by_an_old_python() -> None:
    text = Path(rehearsal_hook.__file__).read_text(encoding="utf-8")
    tree = ast.parse(text, feature_version=(3, 8))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for name in [one.name for one in node.names]
    }
    assert imported <= {
        *("contextlib", "functools", "importlib", "json", "os", "sys", "sitecustomize", "torch")
    }
    assert "strict=" not in text
