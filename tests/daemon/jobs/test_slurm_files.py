"""The files that sbatch is given: each as it stands in ``slurm_files``.

``UPDATE_GOLDEN=1`` writes them anew; read the difference before it is committed.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from middlewatch.daemon.jobs import slurm
from middlewatch.daemon.jobs.artefact import Artefact, Here
from middlewatch.daemon.jobs.read import parse
from middlewatch.daemon.system.errors import ConfigError, UsageError

GOLDEN = Path(__file__).with_name("slurm_files")

DDP = """
[job]
command = ["train.py", "--config", "base.yaml", "--note", "it's $HOME"]
model = "gpt2-124m"
launcher = "torchrun"
nodes = 2
gpus = 8
cpus = 64
memory_bytes = "480GiB"
max_time_s = "36h"
checkpoints = "out"
env = { NCCL_DEBUG = "WARN", TITLE = "two words" }
pass_env = ["WANDB_API_KEY"]
[slurm]
partition = "gpu"
account = "lab"
setup = ["module load cuda", "source env/bin/activate"]
rank_logs = true
options = ["--exclusive"]
"""
FSDP = """
[job]
command = ["python", "train.py", "--fsdp"]
nodes = 4
gpus = 4
cpus = 32
checkpoints = "/scratch/中文 folder/out"
workdir = "训练 code"
[size]
params = "7B"
sharding = "fsdp"
[slurm]
rank_logs = true
after = ["101", "102_3"]
"""
ONE = """
[job]
command = ["python", "train.py"]
max_time_s = "90m"
[slurm]
requeue = false
watch = false
signal = "TERM"
"""
ARRAY = """
[job]
command = ["python", "train.py"]
gpus = 1
checkpoints = "out/{index}"
[slurm]
array = ["--lr 1e-4 --out out/{index}", "--lr 3e-4 --out out/{index}", "--note 'two words' --out out/{index}"]
array_limit = 2
"""
PHASES = """
[job]
command = ["train.py"]
launcher = "torchrun"
gpus = 2
checkpoints = "out"
[slurm]
signal = "USR2"
[[phase]]
name = "broad"
tokens = 2e9
arguments = ["--data", "broad"]
success = "eval_loss < 2.9"
[[phase]]
name = "cooldown"
steps = 500
arguments = ["--data", "curated", "--lr", "1e-5"]
"""
JOBS = {"ddp": DDP, "fsdp": FSDP, "one": ONE, "array": ARRAY, "phases": PHASES}


def made(text: str, name: str = "gpt", environ: tuple[str, ...] = ("WANDB_API_KEY",)) -> Artefact:
    return slurm.artefact(parse(text, "/data/job.toml"), Here(name, frozenset(environ)))


@pytest.mark.parametrize("name", JOBS)
def test_files(name: str) -> None:
    artefact = made(JOBS[name])
    for file, text in artefact.files.items():
        kept = GOLDEN / name / file
        if os.environ.get("UPDATE_GOLDEN"):
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(text, encoding="utf-8")
        assert text == kept.read_text(encoding="utf-8")
        shell = "bash" if file.endswith(".sbatch") else "sh"
        said = subprocess.run([shell, "-n"], input=text, text=True, capture_output=True)
        assert said.returncode == 0, said.stderr
    assert {path.name for path in (GOLDEN / name).iterdir()} == set(artefact.files)


def test_what_is_typed() -> None:
    assert made(ONE).commands == (("sbatch", "--parsable", "gpt.sbatch"),)
    assert made(PHASES).commands == (("sh", "submit.sh"),)


def test_a_word_reaches_the_trainer_as_it_was_written() -> None:
    """The function of the step, executed with a program in the place of torchrun."""
    text = made(DDP).files["gpt.sbatch"]
    begin = text.index("train() {")
    function = text[begin : text.index("\n}\n", begin) + 3]
    script = f'{function}\ntrain "a b"'.replace("exec torchrun", "exec printf '%s\\n'")
    env = {"SLURM_NODEID": "1", "MASTER_ADDR": "n1", "MASTER_PORT": "29500", "SLURM_JOB_ID": "7"}
    said = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env={**os.environ, **env}
    )
    assert said.stdout.splitlines() == [
        "--nnodes=2",
        "--nproc-per-node=8",
        "--node-rank=1",
        "--rdzv-backend=c10d",
        "--rdzv-endpoint=n1:29500",
        "--rdzv-id=7",
        "train.py",
        *("--config", "base.yaml", "--note", "it's $HOME", "a b"),
    ]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, ""),
        (1, "00:01:00"),
        (61, "00:02:00"),
        (5400, "01:30:00"),
        (86400, "1-00:00:00"),
        (129660, "1-12:01:00"),
    ],
)
def test_time_limits(seconds: float, said: str) -> None:
    assert slurm.time_limit(seconds) == said


def test_notes() -> None:
    def notes(text: str, *environ: str) -> str:
        return "\n".join(made(text, environ=environ).notes)

    assert "WANDB_API_KEY is to be handed on" in notes(DDP)
    assert "WANDB_API_KEY" not in notes(DDP, "WANDB_API_KEY")
    assert "4 tasks on each node, one for each GPU" in notes(FSDP)
    job = '[job]\ncommand = ["torchrun", "train.py"]\nnodes = 2\ngpus = 2\npreemptible = true\nmax_time_s = "0s"\n'
    said = notes(job)
    assert 'launcher = "torchrun"' in said
    assert "not put into the queue again" in said
    assert "no time limit is asked for" in said
    assert "which partition or qos" in said
    shared = ARRAY.replace('checkpoints = "out/{index}"', 'checkpoints = "out"')
    assert "all 3 elements save to out" in notes(shared)
    old = '[job]\ncommand = ["python", "-m", "torch.distributed.launch", "train.py"]\n'
    assert "torch.distributed.launch is old" in notes(old)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('after = ["x; rm"]', "no id of a job"),
        ('options = ["exclusive"]', "no option"),
        ('partition = "a\\nb"', "one line"),
        ('array = ["--note \'open"]', "no words of a shell"),
        ('array = ["--lr 1"]\n[[phase]]\nname = "a"\nsteps = 1', "array under [slurm] or phases"),
        ('[[phase]]\nname = "A"\nsteps = 1\n[[phase]]\nname = "a"\nsteps = 1', "one name"),
    ],
)
def test_what_slurm_cannot_be_told(more: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        made(f'[job]\ncommand = ["python", "train.py"]\n[slurm]\n{more}\n')
    assert not isinstance(caught.value, ConfigError)
    assert said in str(caught.value)
    assert caught.value.hint
