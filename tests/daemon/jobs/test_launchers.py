"""The lines that start the ranks, and what a job file may say."""

from __future__ import annotations

import pytest

from middlewatch.daemon.jobs import launchers, local, read
from middlewatch.daemon.jobs.artefact import Here
from middlewatch.daemon.jobs.job import Job
from middlewatch.daemon.jobs.launchers import Meeting
from middlewatch.daemon.jobs.naming import LONGEST, name_of
from middlewatch.daemon.system.errors import ConfigError

MASTER = Meeting("$RANK", "gpu1", "29500", "gpt")
HEAD = '[job]\ncommand = ["train.py", "--lr", "1"]\n'


def job(text: str = "") -> Job:
    return read.parse(HEAD + text, "job.toml")


@pytest.mark.parametrize(
    ("text", "meeting", "words"),
    [
        ("", None, "train.py --lr 1"),
        ('launcher = "torchrun"', None, "torchrun --standalone --nproc-per-node=1 train.py --lr 1"),
        (
            'launcher = "torchrun"\ngpus = 8',
            None,
            "torchrun --standalone --nproc-per-node=8 train.py --lr 1",
        ),
        (
            'launcher = "torchrun"\ngpus = 8\nnodes = 2',
            MASTER,
            (
                "torchrun --nnodes=2 --nproc-per-node=8 --node-rank=$RANK --rdzv-backend=c10d"
                " --rdzv-endpoint=gpu1:29500 --rdzv-id=gpt train.py --lr 1"
            ),
        ),
        (
            'launcher = "accelerate"\ngpus = 2',
            None,
            (
                "accelerate launch --num_processes=2 --multi_gpu --num_machines=1"
                " --main_process_port=29500 train.py --lr 1"
            ),
        ),
        (
            'launcher = "accelerate"',
            None,
            "accelerate launch --num_processes=1 --cpu --num_machines=1 train.py --lr 1",
        ),
        (
            'launcher = "deepspeed"\ngpus = 4\nnodes = 2',
            MASTER,
            (
                "deepspeed --num_gpus=4 --num_nodes=2 --no_ssh --node_rank=$RANK --master_addr=gpu1"
                " --master_port=29500 train.py --lr 1"
            ),
        ),
    ],
)
def test_the_line_of_a_launcher(text: str, meeting: Meeting | None, words: str) -> None:
    assert " ".join(launchers.command(job(text), meeting)) == words


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "python -m torch.distributed.launch --nproc_per_node=2 train.py --x 1",
            "torchrun --nproc_per_node=2 train.py --x 1",
            "not --local_rank",
        ),
        (
            "python3 -u -m torch.distributed.launch --use_env --nnodes 2 train.py",
            "torchrun --nnodes 2 train.py",
            "is old",
        ),
        ("python -m torch.distributed.run train.py", "torchrun train.py", "is old"),
        ("python train.py -m torch", "python train.py -m torch", ""),
    ],
)
def test_an_old_launcher_is_started_by_torchrun(old: str, new: str, said: str) -> None:
    words, told = launchers.modern(old.split())
    assert " ".join(words) == new
    assert said in told
    assert bool(said) == bool(told)


def test_here_the_time_is_limited() -> None:
    one = local.artefact(job('max_time_s = "2h"\nsave_before_end_s = 60'), Here("gpt"))
    assert " ".join(one.commands[0]) == (
        "timeout --signal=TERM --kill-after=60s 7140s train.py --lr 1"
    )
    assert local.artefact(job("max_time_s = 0"), Here("gpt")).commands == (
        ("train.py", "--lr", "1"),
    )


def test_what_is_not_set_here_is_said() -> None:
    one = local.artefact(job('pass_env = ["HF_TOKEN", "HOME"]'), Here("gpt", frozenset({"HOME"})))
    (note,) = one.notes
    assert note.startswith("HF_TOKEN is to be handed on, and is not set here")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "job.command is missing"),
        (f"{HEAD}nodes = 0", "job.nodes must be at least 1"),
        (f"{HEAD}gpu = 8", "did you mean 'gpus'?"),
        (f'{HEAD}gpus = "eight"', "job.gpus"),
        (f'{HEAD}launcher = "mpirun"', "job.launcher"),
        (f'{HEAD}mounts = ["data"]', "job.mounts has 'data'"),
        (f'{HEAD}pass_env = ["A-B"]', "job.pass_env has 'A-B'"),
        (f'{HEAD}pass_env = ["A"]\nenv = {{A = "1"}}', "has a value under env"),
        (f"{HEAD}port = 70000", "job.port is no port"),
        (f"{HEAD}port = 0\nnodes = 2", "must be the same on all machines"),
        (f'{HEAD}[slrum]\npartition = "a"', "did you mean 'slurm'?"),
        (f"{HEAD}[[phase]]\nsteps = 3", "phase.1.name is missing"),
        (f'{HEAD}[[phase]]\nname = "a"', "takes steps or tokens"),
        (f'{HEAD}[[phase]]\nname = "a"\nsteps = 1\nsuccess = "low"', "cannot read 'low'"),
        ("[job\n", "not valid TOML"),
    ],
)
def test_a_mistake_in_a_job_file_is_told(text: str, told: str) -> None:
    with pytest.raises(ConfigError) as error:
        read.parse(text, "job.toml")
    assert told in str(error.value)


def test_names() -> None:
    assert name_of(job('model = "GPT 2/124M"'), "20261127-0304") == (
        "gpt-2-124m-training-20261127-0304"
    )
    assert name_of(job(), "20261127-0304") == "train-training-20261127-0304"
    assert name_of(job('name = "Mein Lauf"'), "x") == "mein-lauf"
    assert len(name_of(job(f'model = "{"m" * 200}"'), "20261127-0304")) <= LONGEST
