"""``smoke`` with real programs: what passes, what fails and why, and that nothing is left behind."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

PROGRAMS = Path(__file__).with_name("programs")
COMMAND = [sys.executable, "-m", "middlewatch.daemon", "smoke"]
HEAD = """
import torch
from torch.utils.data import DataLoader, TensorDataset
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
data = TensorDataset(torch.randn(640, 4), torch.randint(0, 2, (640,)))
def train(loader):
    for epoch in range(1000):
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


def need(*modules: str) -> None:
    for name in modules:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


class Stage:
    """A folder of a person, and a temporary folder of our own in which nothing may stay."""

    def __init__(self, root: Path) -> None:
        self.root = root / "work"
        self.temporary = root / "tmp"
        self.root.mkdir()
        self.temporary.mkdir()
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("MIDDLEWATCH")}
        self.env["TMPDIR"] = str(self.temporary)
        self.env["MIDDLEWATCH_STATE_DIR"] = str(root / "state")

    def script(self, text: str, name: str = "train.py") -> str:
        (self.root / name).write_text(textwrap.dedent(text), encoding="utf-8")
        return name

    def words(self, *words: str) -> list[str]:
        return [*COMMAND, "--json", *words]

    def smoke(self, *words: str, **env: str) -> dict[str, Any]:
        """The answer of ``smoke --json``; afterwards nothing may be left."""
        done = subprocess.run(
            self.words(*words),
            cwd=self.root,
            env={**self.env, **env},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.stdout, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        assert done.returncode == (0 if answer["passed"] else 1), done.stderr
        assert list(self.temporary.iterdir()) == []
        return answer


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def python(*words: str) -> list[str]:
    return ["--", sys.executable, *words]


# ------------------------------------------------------------------------ what fails, and why


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        ("import trochvision_nowhere", "import", "No module named 'trochvision_nowhere'"),
        ("def f(:\n    pass", "syntax", "SyntaxError"),
        ("open('/data/nowhere/train.bin')", "path", "/data/nowhere/train.bin"),
        ("def f(a): pass\nf(b=1)", "config", "unexpected keyword argument 'b'"),
        ("import json\njson.loads('{')", "data", "JSONDecodeError"),
        ("import argparse\nargparse.ArgumentParser().parse_args(['--stepz'])", "config", "--stepz"),
        ("raise RuntimeError('No CUDA GPUs are available')", "gpu", "No CUDA GPUs"),
        ("raise MemoryError", "memory", "MemoryError"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGABRT)", "program", "signal 6"),
        ("raise ValueError('the moon is full')", "program", "ValueError: the moon is full"),
    ],
)
def test_why_it_failed_in_one_line(stage: Stage, text: str, kind: str, line: str) -> None:
    answer = stage.smoke(*python(stage.script(text)))
    assert (answer["verdict"], answer["kind"]) == ("failed", kind)
    assert line in answer["line"]
    assert "\n" not in answer["line"]


def test_the_line_of_its_own_code_is_named(stage: Stage) -> None:
    stage.script("def load(path):\n    return open(path)\n", "data.py")
    script = stage.script("from data import load\n\nload('/nowhere/at/all')\n")
    assert stage.smoke(*python(script))["at"] == "data.py:2"


def test_without_a_step_nothing_is_proved(stage: Stage) -> None:
    answer = stage.smoke(*python(stage.script("print('done')")))
    assert answer["verdict"] == "unproven"
    assert answer["exit_status"] == 0


def test_a_person_reads_the_line_first(stage: Stage) -> None:
    script = stage.script("import nowhere_to_be_found")
    words = [*COMMAND, "--", sys.executable, script]
    done = subprocess.run(
        words, cwd=stage.root, env=stage.env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith("rehearsing on the CPU: ")
    assert lines[1] == (
        "import error: ModuleNotFoundError: No module named 'nowhere_to_be_found' (at train.py:1)"
    )


def test_wrong_usage_runs_nothing(stage: Stage) -> None:
    for words in ([], ["--timeout", "0", "--", "true"], ["--memory", "many", "--", "true"]):
        done = subprocess.run(
            [*COMMAND, *words], cwd=stage.root, env=stage.env, capture_output=True, check=False
        )
        assert done.returncode == 2, done


# ------------------------------------------------------------------------ bounds


def test_it_ends_after_its_time(stage: Stage) -> None:
    script = stage.script("import time\nprint('so slow', flush=True)\ntime.sleep(3600)\n")
    answer = stage.smoke("--timeout", "1", *python(script))
    assert answer["kind"] == "time"
    assert "1 s" in answer["line"]
    assert answer["output_tail"] == ["so slow"]


def test_it_ends_at_its_memory(stage: Stage) -> None:
    script = stage.script("x = bytearray(400 << 20)\nimport time\ntime.sleep(3600)\n")
    answer = stage.smoke("--memory", "200MiB", *python(script))
    assert answer["kind"] == "memory"
    assert "200 MiB" in answer["line"]


def test_it_may_not_print_for_ever(stage: Stage) -> None:
    script = stage.script("while True:\n    print('x' * 65536)\n")
    answer = stage.smoke(*python(script))
    assert answer["kind"] == "program"
    assert "printed more than" in answer["line"]


SPREADS = """
import os, subprocess, sys, time
child = "import time, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"
a = subprocess.Popen([sys.executable, "-c", child])
b = subprocess.Popen([sys.executable, "-c", child], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("orphan", "w").write(str(os.getpid()))
        time.sleep(3600)
    os._exit(0)
os.wait()
while not os.path.exists("orphan") or not open("orphan").read():
    time.sleep(0.01)
open("pids", "w").write(f"{os.getpid()} {a.pid} {b.pid} {open('orphan').read()}")
"""


def _gone(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def test_no_process_is_left_however_it_hid(stage: Stage) -> None:
    answer = stage.smoke(*python(stage.script(SPREADS)))
    pids = [int(word) for word in (stage.root / "pids").read_text().split()]
    assert len(pids) == 4
    assert [pid for pid in pids if not _gone(pid)] == []
    assert answer["left_processes"] == 3
    assert set(answer["new_files"]) == {"orphan", "pids"}  # named, and left: they are not ours


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_interrupted_rehearsal_leaves_nothing(stage: Stage, number: int) -> None:
    script = stage.script(SPREADS + "time.sleep(3600)\n")
    process = subprocess.Popen(
        stage.words(*python(script)), cwd=stage.root, env=stage.env, stdout=subprocess.DEVNULL
    )
    written = stage.root / "pids"
    deadline = time.monotonic() + 120
    while not (written.exists() and len(written.read_text().split()) == 4):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    process.wait(120)
    pids = [int(word) for word in written.read_text().split()]
    assert [pid for pid in pids if not _gone(pid)] == []
    assert list(stage.temporary.iterdir()) == []


def test_what_the_program_is_told_about_the_box(stage: Stage) -> None:
    script = stage.script(
        """
        import json, os, tempfile
        names = ("CUDA_VISIBLE_DEVICES", "WANDB_MODE", "COMET_MODE", "JAX_PLATFORMS")
        print(json.dumps({n: os.environ.get(n) for n in names}))
        print(tempfile.gettempdir())
        """
    )
    answer = stage.smoke(*python(script), CUDA_VISIBLE_DEVICES="0,1", WANDB_MODE="online")
    told = json.loads(answer["output_tail"][0])
    assert told["CUDA_VISIBLE_DEVICES"] == ""
    assert told["JAX_PLATFORMS"] == "cpu"
    assert told["WANDB_MODE"] == told["COMET_MODE"] == "disabled"
    assert answer["output_tail"][1].startswith(str(stage.temporary))


def test_a_sitecustomize_of_the_person_still_runs(stage: Stage) -> None:
    mine = stage.root / "mine"
    mine.mkdir()
    (mine / "sitecustomize.py").write_text("import sys\nprint('mine was read', file=sys.stderr)\n")
    answer = stage.smoke(*python(stage.script("print('end')")), PYTHONPATH=str(mine))
    assert answer["output_tail"] == ["mine was read", "end"]


# ------------------------------------------------------------------------ plain torch


def test_a_plain_loop_is_ended_after_two_steps(stage: Stage) -> None:
    need("torch")
    script = stage.script(HEAD + "train(DataLoader(data, batch_size=8))\n")
    answer = stage.smoke(*python(script))
    assert (answer["verdict"], answer["steps"], answer["stopped_early"]) == ("passed", 2, True)
    assert answer["peak_bytes"] > 50 << 20
    assert answer["new_files"] == []


def test_a_shape_and_a_label_that_do_not_fit(stage: Stage) -> None:
    need("torch")
    wide = HEAD.replace("Linear(4, 2)", "Linear(5, 2)")
    answer = stage.smoke(*python(stage.script(wide + "train(DataLoader(data, batch_size=8))\n")))
    assert answer["kind"] == "shape"
    assert "mat1 and mat2" in answer["line"]
    assert answer["at"].startswith("train.py:")
    few = HEAD.replace("randint(0, 2,", "randint(7, 9,")
    answer = stage.smoke(*python(stage.script(few + "train(DataLoader(data, batch_size=8))\n")))
    assert answer["kind"] == "data"
    assert "out of bounds" in answer["line"]


def test_a_loader_worker_that_fails(stage: Stage) -> None:
    need("torch")
    text = HEAD + (
        "class Broken(torch.utils.data.Dataset):\n"
        "    def __len__(self): return 64\n"
        "    def __getitem__(self, i): return {'x': 1}['image']\n"
        "train(DataLoader(Broken(), batch_size=8, num_workers=1))\n"
    )
    answer = stage.smoke(*python(stage.script(text)))
    assert (answer["kind"], answer["line"]) == ("data", "KeyError: KeyError: 'image'")


def test_torchrun_and_its_backend_are_left_out(stage: Stage) -> None:
    need("torch")
    text = HEAD + (
        "import os\n"
        "torch.distributed.init_process_group('nccl')\n"
        "assert torch.distributed.get_world_size() == 1\n"
        "train(DataLoader(data, batch_size=8))\n"
    )
    words = ("-m", "torch.distributed.run", "--nproc_per_node", "8", stage.script(text))
    answer = stage.smoke(*python(*words))
    assert answer["verdict"] == "passed", answer
    assert "backend of torch.distributed = gloo" in answer["changes"]
    assert answer["rehearsed"] == [sys.executable, "train.py"]


def test_words_of_a_person_are_added(stage: Stage) -> None:
    script = stage.script("import sys\nprint(sys.argv[1:])\n")
    answer = stage.smoke("--args=--max-steps 2", *python(script, "--model", "gpt"))
    assert answer["output_tail"] == ["['--model', 'gpt', '--max-steps', '2']"]


# ------------------------------------------------------------------------ frameworks


@pytest.mark.slow
def test_the_trainer_of_transformers(stage: Stage) -> None:
    need("torch", "transformers", "accelerate")
    shutil.copy(PROGRAMS / "hf_trainer.py", stage.root)
    words = ("--output_dir", "out", "--max_steps", "100000", "--bf16", "true")
    more = ("--eval_strategy", "epoch", "--save_strategy", "epoch", "--optim", "adamw_torch_fused")
    answer = stage.smoke(*python("hf_trainer.py", *words, *more))
    assert (answer["verdict"], answer["steps"], answer["stopped_early"]) == ("passed", 2, False)
    assert answer["framework"] == "transformers"
    assert answer["new_files"] == []
    assert {"max_steps = 2", "bf16 = False", "optim = adamw_torch"} <= set(answer["changes"])
    assert any("eval_loss" in line for line in answer["output_tail"]), answer["output_tail"]
    wrong = stage.smoke(*python("hf_trainer.py", "--max_stepz", "5"))
    assert wrong["kind"] == "config"
    assert "max_stepz" in wrong["line"]


BY_CODE = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
class Counting(torch.utils.data.Dataset):
    def __len__(self):
        return 50000
    def __getitem__(self, at):
        numbers = (torch.arange(16) + at) % 64
        return {"input_ids": numbers, "labels": numbers.clone()}
args = TrainingArguments(
    "out", num_train_epochs=50, report_to="tensorboard", eval_strategy="epoch",
    save_strategy="epoch", load_best_model_at_end=True, per_device_eval_batch_size=1,
    gradient_accumulation_steps=16,
)
config = GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2)
trainer = Trainer(
    model=GPT2LMHeadModel(config), args=args, train_dataset=Counting(), eval_dataset=Counting()
)
trainer.train()
trainer.save_model()
"""


@pytest.mark.slow
def test_arguments_that_a_script_makes_itself_and_a_shell_around_it(stage: Stage) -> None:
    need("torch", "transformers", "accelerate")
    stage.script(BY_CODE)
    shell = stage.script(f"set -e\n{sys.executable} train.py\n", "train.sh")
    answer = stage.smoke("--timeout", "300", "--", "bash", shell)
    # All of its 50,000 batches of an evaluation would take longer than that.
    assert (answer["verdict"], answer["steps"], answer["stopped_early"]) == ("passed", 2, False)
    assert {"report_to = none", "eval_strategy = steps"} <= set(answer["changes"])
    assert answer["new_files"] == []


@pytest.mark.slow
def test_the_trainer_of_lightning(stage: Stage) -> None:
    need("torch", "lightning")
    shutil.copy(PROGRAMS / "lightning_fit.py", stage.root)
    answer = stage.smoke(*python("lightning_fit.py", "--root", "out", "--max_epochs", "1000"))
    assert (answer["verdict"], answer["steps"], answer["stopped_early"]) == ("passed", 2, False)
    assert answer["framework"] == "lightning"
    assert answer["new_files"] == []


@pytest.mark.slow
@pytest.mark.long
def test_nanogpt(stage: Stage) -> None:
    need("torch")
    for name in ("train.py", "configurator.py"):
        shutil.copy(PROGRAMS / "nanogpt" / name, stage.root)
    answer = stage.smoke(*python("train.py", "--max_iters=5000"))
    assert answer["verdict"] == "passed", answer
    assert answer["steps"] >= 2
    assert answer["framework"] == "nanogpt"
    assert answer["new_files"] == []
    wrong = stage.smoke(*python("train.py", "--max_itres=5000"))
    assert wrong["verdict"] == "failed", wrong
    assert "max_itres" in wrong["line"]


@pytest.mark.slow
@pytest.mark.long
def test_litgpt(stage: Stage) -> None:
    need("torch", "litgpt", "lightning", "jsonargparse", "docstring_parser", "typeshed_client")
    for name in ("counting.py", "pretrain.yaml"):
        shutil.copy(PROGRAMS / "litgpt_tiny" / name, stage.root)
    words = ("-m", "litgpt", "pretrain", "--config", "pretrain.yaml")
    answer = stage.smoke(*python(*words), PYTHONPATH=str(stage.root))
    assert (answer["verdict"], answer["steps"]) == ("passed", 2), answer
    assert answer["framework"] == "litgpt"
    assert answer["new_files"] == []


@pytest.mark.slow
@pytest.mark.long
def test_accelerate(stage: Stage) -> None:
    need("torch", "accelerate")
    text = HEAD + (
        "from accelerate import Accelerator\n"
        "accelerator = Accelerator(mixed_precision='bf16', log_with='wandb')\n"
        "accelerator.init_trackers('smoke')\n"
        "model, optimizer, loader = accelerator.prepare(\n"
        "    model, optimizer, DataLoader(data, batch_size=8))\n"
        "assert accelerator.device.type == 'cpu'\n"
        "train(loader)\n"
    )
    command = ("-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "8")
    answer = stage.smoke(*python(*command, stage.script(text), "--lr", "1"))
    assert (answer["verdict"], answer["steps"]) == ("passed", 2), answer
    assert answer["framework"] == "accelerate"
    assert answer["new_files"] == []
    assert {"mixed_precision = no", "log_with = None"} <= set(answer["changes"])
    assert answer["rehearsed"] == [sys.executable, "train.py", "--lr", "1"]


@pytest.mark.slow
def test_an_evaluation_of_a_plain_program_is_short(stage: Stage) -> None:
    need("torch")
    text = HEAD + (
        "big = DataLoader(data, batch_size=1)\n"
        "with torch.no_grad():\n"
        "    print('evaluated', sum(1 for _ in big))\n"
        "train(big)\n"
    )
    answer = stage.smoke(*python(stage.script(text)))
    assert answer["verdict"] == "passed"
    assert "evaluated 2" in answer["output_tail"]
