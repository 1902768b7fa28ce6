"""How a command goes on from a checkpoint."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.resume.commands import Continuation, continuation, fitting, framework_of
from middlewatch.daemon.resume.script import MOST_BYTES, find

CKPT = "/data/out/checkpoint-40"

HF = """
from transformers import HfArgumentParser, Trainer, TrainingArguments
(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(args=args).train(resume_from_checkpoint=args.resume_from_checkpoint)
"""
HF_ITSELF = """
from transformers import Trainer, TrainingArguments
Trainer(args=TrainingArguments("out")).train(resume_from_checkpoint=True)
"""
LIGHTNING = """
import argparse, lightning.pytorch as pl
class M(pl.LightningModule): pass
parser = argparse.ArgumentParser()
parser.add_argument("--ckpt_path", default=None)
pl.Trainer().fit(M(), ckpt_path=parser.parse_args().ckpt_path)
"""
LIGHTNING_CLI = """
from lightning.pytorch.cli import LightningCLI
LightningCLI(Model)
"""
NANOGPT = """
out_dir = 'out'
init_from = 'scratch' # or 'resume'
exec(open('configurator.py').read())
if init_from == 'resume':
    checkpoint = torch.load(os.path.join(out_dir, 'ckpt.pt'))
"""
PLAIN = """
import torch
torch.save({}, "out/last.pt")
"""
ITSELF = """
import os, torch
if os.path.exists("out/last.pt"):
    state = torch.load("out/last.pt")
"""


SAYS_SO = """
#!/usr/bin/env bash
# middlewatch: resumes by itself
exec python train.py
"""


def go(tmp_path: Path, text: str, *words: str, path: str = CKPT, format_: str = "hf") -> Continuation:  # fmt: skip
    (tmp_path / "train.py").write_text(text)
    command = words or ("python", "train.py")
    return continuation(command, str(tmp_path), path, format_=format_)


@pytest.mark.parametrize(
    "launcher",
    [
        ("python",),
        ("/venv/bin/python", "-u"),
        ("torchrun", "--standalone", "--nproc-per-node", "8"),
        ("python", "-m", "torch.distributed.run", "--nproc-per-node=2"),
        ("accelerate", "launch", "--config_file", "a.yaml"),
        ("deepspeed", "--num_gpus", "4"),
        ("srun", "--ntasks=8", "python"),
    ],
)
def test_the_launcher_stays(tmp_path: Path, launcher: tuple[str, ...]) -> None:
    way = go(tmp_path, HF, *launcher, "train.py", "--lr", "1e-4")
    assert (way.framework, way.how) == ("transformers", "option")
    assert way.command == (*launcher, "train.py", "--lr", "1e-4", "--resume_from_checkpoint", CKPT)


@pytest.mark.parametrize(
    ("words", "then"),
    [
        (("--resume_from_checkpoint", "/old"), ("--resume_from_checkpoint", CKPT)),
        (("--resume_from_checkpoint=/old", "--x"), (f"--resume_from_checkpoint={CKPT}", "--x")),
        (("--resume-from-checkpoint", "/old"), ("--resume-from-checkpoint", CKPT)),
    ],
)
def test_an_old_value_is_replaced(
    tmp_path: Path, words: tuple[str, ...], then: tuple[str, ...]
) -> None:
    assert go(tmp_path, HF, "python", "train.py", *words).command == ("python", "train.py", *then)


def test_a_trainer_that_takes_its_newest(tmp_path: Path) -> None:
    way = go(tmp_path, HF_ITSELF)
    assert (way.how, way.newest, way.command) == ("itself", True, ("python", "train.py"))


def test_training_arguments_alone_do_not_make_a_script_resume(tmp_path: Path) -> None:
    way = go(tmp_path, HF.replace("resume_from_checkpoint=args.resume_from_checkpoint", ""))
    assert (way.how, way.command) == ("unknown", ("python", "train.py"))
    assert CKPT in way.words


def test_lightning(tmp_path: Path) -> None:
    way = go(tmp_path, LIGHTNING, path="/o/e.ckpt", format_="lightning")
    assert way.command == ("python", "train.py", "--ckpt_path", "/o/e.ckpt")
    words = ("python", "train.py", "fit", "--config", "c.yaml")
    way = go(tmp_path, LIGHTNING_CLI, *words, path="/o/e.ckpt")
    assert way.command == (*words, "--ckpt_path", "/o/e.ckpt")
    assert go(tmp_path, LIGHTNING_CLI, "python", "train.py", "test").how == "unknown"


def test_nanogpt_reads_one_file(tmp_path: Path) -> None:
    here = str(tmp_path / "out" / "ckpt.pt")
    way = go(tmp_path, NANOGPT, "python", "train.py", "config/x.py", path=here)
    assert way.command == ("python", "train.py", "config/x.py", "--init_from=resume")
    assert (way.framework, way.before) == ("nanoGPT", ())
    other = go(tmp_path, NANOGPT, "python", "train.py", "--out_dir=run2", path=here)
    assert other.before == (("cp", "-a", here, str(tmp_path / "run2" / "ckpt.pt")),)
    again = go(tmp_path, NANOGPT, "python", "train.py", "--init_from=gpt2", path=here)
    assert again.command == ("python", "train.py", "--init_from=resume")


def test_litgpt(tmp_path: Path) -> None:
    state = tmp_path / "step-00000040"
    state.mkdir()
    (state / "lit_model.pth").write_bytes(b"x")
    words = ("litgpt", "pretrain", "--config", "c.yaml")
    way = continuation(words, str(tmp_path), str(state))
    assert way.command == (*words, "--resume", str(state / "lit_model.pth"))
    lora = continuation(("litgpt", "finetune_lora", "x"), str(tmp_path), str(state))
    assert (lora.framework, lora.how) == ("LitGPT", "unknown")
    module = continuation(("python", "-m", "litgpt", "pretrain"), str(tmp_path), str(state))
    assert module.command[-2] == "--resume"


def test_megatron_reads_its_tracker(tmp_path: Path) -> None:
    words = ("torchrun", "train.py", "--tensor-model-parallel-size", "2", "--save", "out")
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("200\n")
    path = str(tmp_path / "iter_0000200")
    way = go(tmp_path, PLAIN, *words, path=path, format_="dcp")
    assert (way.command, way.before) == ((*words, "--load", str(tmp_path)), ())
    way = go(tmp_path, PLAIN, *words, path=str(tmp_path / "iter_0000100"), format_="dcp")
    (first,) = way.before
    subprocess.run(first, check=True)
    assert (tmp_path / "latest_checkpointed_iteration.txt").read_text() == "100\n"


def test_deepspeed_reads_latest(tmp_path: Path) -> None:
    text = 'import deepspeed\nparser.add_argument("--load_dir", type=str)\n'
    (tmp_path / "latest").write_text("global_step40")
    path = str(tmp_path / "global_step40")
    way = go(tmp_path, text, path=path, format_="deepspeed")
    assert way.command == ("python", "train.py", "--load_dir", str(tmp_path))
    assert way.before == ()
    way = go(tmp_path, text, path=str(tmp_path / "global_step20"), format_="deepspeed")
    assert way.before[0][-2:] == ("global_step20", str(tmp_path / "latest"))
    text += 'parser.add_argument("--load_tag")\n'
    way = go(tmp_path, text, path=str(tmp_path / "global_step20"), format_="deepspeed")
    assert way.command[-2:] == ("--load_tag", "global_step20")


@pytest.mark.parametrize(
    ("text", "then"),
    [
        ('p.add_argument("--resume", type=str)', ("--resume", CKPT)),
        ('p.add_argument("-r", "--resume-from", default="")', ("--resume-from", CKPT)),
        ('@click.option("--resume_path")', ("--resume_path", CKPT)),
        ('flags.DEFINE_string("resume", None, "x")', (f"--resume={CKPT}",)),
        ("import fire\ndef main(lr=1, resume=None): ...\nfire.Fire(main)", ("--resume", CKPT)),
        ("import tyro\nclass A:\n    resume_from: str | None = None\ntyro.cli(A)", ("--resume_from", CKPT)),
        ("@hydra.main()\ndef main(cfg):\n    load(cfg.resume_from)", (f"resume_from={CKPT}",)),
        ('p.add_argument("--resume", action="store_true")', ("--resume",)),
    ],
)  # fmt: skip
def test_how_options_are_declared(tmp_path: Path, text: str, then: tuple[str, ...]) -> None:
    assert go(tmp_path, text, format_="torch").command == ("python", "train.py", *then)


def test_an_option_declared_in_a_module_beside_it(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "options.py").write_text('p.add_argument("--resume")')
    way = go(tmp_path, "from pkg.options import p\n", format_="torch")
    assert way.command[-2:] == ("--resume", CKPT)


def test_no_option_is_made_up(tmp_path: Path) -> None:
    for text in (PLAIN, '# p.add_argument("--resume")\n', 'print("--resumed")\n', ""):
        way = go(tmp_path, text, format_="torch")
        assert (way.how, way.command) == ("unknown", ("python", "train.py"))
        assert CKPT in way.words
    way = go(tmp_path, ITSELF, format_="torch")
    assert (way.how, way.newest, way.command) == ("perhaps", True, ("python", "train.py"))


def test_a_script_that_says_that_it_resumes_by_itself(tmp_path: Path) -> None:
    (tmp_path / "train.sh").write_text(SAYS_SO)
    way = go(tmp_path, PLAIN, "bash", "train.sh")
    assert (way.how, way.newest, way.command) == ("itself", True, ("bash", "train.sh"))


def test_shell_scripts(tmp_path: Path) -> None:
    for text in ("python train.py\n", 'python train.py "$@"\n'):
        (tmp_path / "run.sh").write_text(text)
        way = continuation(("bash", "run.sh"), str(tmp_path), CKPT)
        assert (way.how, way.command) == ("unknown", ("bash", "run.sh"))
    way = continuation(("sh", "-c", "python train.py > log"), str(tmp_path), CKPT)
    assert way.how == "unknown"
    assert "no script can be found" in way.words


def test_a_shell_script_that_hands_its_words_on(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text('import argparse\np.add_argument("--resume")\n')
    (tmp_path / "other.py").write_text("")
    for text, how in (
        ('#!/bin/sh\n# python other.py "$@"\nexec python -u \\\n  train.py "$@" 2>&1\n', "option"),
        ('python train.py "$@"\npython other.py "$@"\n', "unknown"),
        ('python other.py "$@"\npython train.py\n', "unknown"),
    ):
        (tmp_path / "run.sh").write_text(text)
        way = continuation(("./run.sh", "--lr", "1"), str(tmp_path), CKPT)
        assert way.how == how, text
        more = ("--resume", CKPT) if how == "option" else ()
        assert way.command == ("./run.sh", "--lr", "1", *more)


def test_a_script_that_is_gone(tmp_path: Path) -> None:
    way = continuation(("python", "gone.py"), str(tmp_path), CKPT)
    assert way.how == "unknown"
    assert "gone.py does not exist" in way.words


def test_only_what_the_framework_goes_on_from() -> None:
    entries = [{"path": "/o/checkpoint-40", "format": "hf"}, {"path": "/o/model.safetensors", "format": "safetensors"}]  # fmt: skip
    assert fitting("transformers", entries) == entries[:1]
    assert fitting("", entries) == entries
    lit = [{"path": "/o/step-00000040", "format": "torch"}, {"path": "/o/final", "format": "torch"}]
    assert fitting("LitGPT", lit) == lit[:1]


def test_a_huge_script_is_not_read_whole(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\n" * (MOST_BYTES // 3))
    assert len(find(("python", "train.py"), str(tmp_path)).text) <= MOST_BYTES + 100


@given(st.lists(st.text(max_size=12), max_size=8), st.binary(max_size=200))
def test_anything_can_be_asked(words: list[str], text: bytes) -> None:
    way = continuation([w.replace("\0", "") for w in words], "/nowhere", CKPT)
    assert way.how in ("unknown", "option")
    script = find(["python", "-m", text.decode("latin-1")], "/nowhere")
    assert framework_of(script) in ("", "LitGPT")
