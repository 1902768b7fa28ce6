"""Classify a process by command line, environment and memory maps: launcher, trainer or neither."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from ..system.processes import Process
from .purpose import TRAIN, Purpose, purpose

_LAUNCHERS = """
torchrun torch.distributed.run torch.distributed.launch accelerate accelerate-launch
accelerate.commands.launch accelerate.commands.accelerate_cli deepspeed deepspeed.launcher.runner
deepspeed.launcher.launch srun mpirun mpiexec orterun horovodrun colossalai composer composer.cli
"""
LAUNCHERS = frozenset(_LAUNCHERS.split())
"""Programs that start ranks and wait for them."""
_TRAINERS = "litgpt tune axolotl axolotl.cli.train llamafactory-cli nemo fairseq-train"
TRAINERS = frozenset(_TRAINERS.split())
"""Command-line programs whose whole purpose is to train."""
_NOT_TRAINING = """
middlewatch mw pip pip3 uv poetry conda mamba dnf yum ansible ansible-playbook unattended-upgrade
pytest tox nox pre-commit mypy dmypy pyright pyright-langserver pyright-python-langserver
basedpyright ruff black flake8 pylint pylsp jedi-language-server debugpy code-server sphinx-build
jupyter jupyter-lab jupyter-notebook jupyterlab notebook ipython ipykernel ipykernel_launcher
tensorboard wandb mlflow aim streamlit gunicorn uvicorn hypercorn celery http raylet
supervisord networkd-dispatcher fail2ban-server glances nvitop gpustat py-spy nvtop nvidia-smi
dcgmi nv-hostengine Xorg aws gsutil gcloud hf huggingface-cli dvc meson scons setup venv virtualenv
cython compileall
"""
NOT_TRAINING = frozenset(_NOT_TRAINING.split())
"""Programs that run Python, use the CPU or hold a GPU, but do not train."""
NOTEBOOKS = frozenset({"ipykernel", "ipykernel_launcher"})
"""Notebook kernels; one that holds a GPU counts as a training."""
NOTEBOOK_RUNS = frozenset({"jupyter-nbconvert", "jupyter-execute", "papermill"})
"""Programs that execute a notebook from its first cell to its last, and then end."""
SUPERVISORS = ("daemon/launch/supervisor.py", "daemon/keeper.py")
"""How the path of our supervisor ends; the second is of 0.1.0, whose runs may still go on."""
HELPERS = (
    "multiprocessing.resource_tracker",
    "multiprocessing.semaphore_tracker",
    "_inductor/compile_worker",
    "_inductor.compile_worker",
    *SUPERVISORS,
    "# middlewatch loader",
    "from middlewatch.",
)
"""Parts of a command line that mark auxiliary processes, of Python, torch and middlewatch."""
RANK_NAMES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
SIZE_NAMES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")

_SEARCH = re.compile(
    r"(?<!fine)(?<!fine[_-])(?:^|[\W_])"
    r"(?:search|sweep|halving|asha|hpo|optuna|hyper(?:opt|band|params?|search)|bohb|pbt|tuner?|"
    r"tuning|trials)(?![a-z])",
    re.IGNORECASE,
)
_PYTHON = re.compile(r"^(python|pypy)[\d.]*t?$")
_FRAMEWORK = re.compile(rb"/(libtorch_cpu|libtorch_python|_jax|xla_extension|libtensorflow_\w+)\b")
_BOOSTERS = re.compile(rb"/(libxgboost|lib_lightgbm|_catboost)\b")
"""Libraries of boosted trees, which only a training or a prediction uses."""
_EXECUTORS = ("nbconvert", "execute")
_FLAG_WITH_VALUE = frozenset(("-X", "-W", "--check-hash-based-pycs"))


@dataclass(frozen=True, slots=True)
class Program:
    """What a command line runs: ``name`` is a script, module or executable, without folder."""

    name: str
    python: bool
    script: bool
    """True for a script, module or executable; false for an interactive Python or ``-c``."""


def program(process: Process) -> Program:
    """The program of a process; for Python, the script or module that it was told to run."""
    argv = process.argv
    first = base_name(argv[0]) if argv else process.comm
    if _PYTHON.match(first):
        return _of_python(first, argv)
    python = bool(_PYTHON.match(base_name(process.exe)))
    return Program(first, python, script=python)


@lru_cache(maxsize=32)  # asked several times in a row of each process; all workers have one command
def _of_python(first: str, argv: tuple[str, ...]) -> Program:
    words = iter(argv[1:])
    for word in words:
        if word in _FLAG_WITH_VALUE:
            next(words, None)
        elif not word.startswith("-"):
            return Program(base_name(word), True, script=True)
        elif word.endswith("m") and not word.startswith("--"):
            return Program(next(words, ""), True, script=True)
        elif word.endswith("c") and not word.startswith("--"):
            break
    return Program(first, True, script=False)


def base_name(path: str) -> str:
    """The last part of a path, as :class:`PurePosixPath` has it, which takes ten times as long."""
    name = path.rstrip("/").rpartition("/")[2]
    return PurePosixPath(path).name if name == "." else name


def is_launcher(process: Process) -> bool:
    """True for a program that starts ranks and waits for them."""
    return program(process).name in LAUNCHERS or runs_notebook(process)


def starts_trials(process: Process) -> bool:
    """True for a search of hyperparameters, by its name: what it starts are trials, which diverge
    and are ended by design. The search is the run."""
    what = program(process)
    searches = what.script and what.name not in TRAINERS
    return what.python and searches and bool(_SEARCH.search(script_of(process)))


def runs_notebook(process: Process) -> bool:
    """True for a program that executes a whole notebook (``jupyter nbconvert --execute``)."""
    name = program(process).name
    if name in ("jupyter", "nbconvert"):
        name = f"jupyter-{next((w for w in arguments_of(process) if w in _EXECUTORS), name)}"
    if name not in NOTEBOOK_RUNS:
        return False
    return name != "jupyter-nbconvert" or any(w.startswith("--exec") for w in process.argv)


def arguments_of(process: Process) -> tuple[str, ...]:
    """The words after the script, module or executable of a process."""
    name, words = program(process).name, process.argv
    at = next((i for i, word in enumerate(words) if base_name(word) == name), 0)
    return words[at + 1 :]


def script_of(process: Process) -> str:
    """Name of the script or module that trains, without folder and suffix.

    For a launcher it is what the launcher was told to start, for a notebook the notebook.
    """
    name = program(process).name
    if name in LAUNCHERS or runs_notebook(process):
        words = process.argv[1:]
        modules = [b for a, b in itertools.pairwise(words) if a in ("-m", "--module")]
        scripts = [word for word in words if word.endswith((".py", ".sh", ".ipynb"))]
        named = [word for word in [*modules, *scripts] if base_name(word) not in LAUNCHERS]
        name = base_name(named[0]) if named else name
    if name.endswith((".py", ".sh", ".ipynb")):
        return name.rpartition(".")[0]
    return name.removesuffix(".__main__").rpartition(".")[2]


def purpose_of(process: Process) -> Purpose:
    """What a process is for, by its name, its subcommand and its options."""
    what, name = program(process), script_of(process)
    if not what.script:
        return ""
    launched = what.name in LAUNCHERS or runs_notebook(process)
    words = () if launched else arguments_of(process)
    if launched:
        parts = [i for i, w in enumerate(process.argv) if PurePosixPath(w).stem == name]
        words = process.argv[parts[0] + 1 :] if parts else ()
    return purpose(name, words)


def is_excluded(process: Process) -> bool:
    """True for programs that do not train: nobody wants an alert about them."""
    if runs_notebook(process):
        return False
    name = program(process).name
    if name.partition(".")[0] in NOT_TRAINING or name == "py.test":
        return True
    line = " ".join(process.argv[:6])
    return any(mark in line for mark in HELPERS)


def is_notebook(process: Process) -> bool:
    """True for the kernel of a Jupyter notebook."""
    return program(process).name in NOTEBOOKS


def first_number(environ: Mapping[str, str], names: Iterable[str]) -> int | None:
    """The first of these variables that is a decimal number; ``None`` if none is."""
    for name in names:
        value = environ.get(name, "")
        if value.isdecimal() and len(value) < 10:
            return int(value)
    return None


def rank_of(process: Process) -> int | None:
    """Its rank; on node 0 also by LOCAL_RANK alone, because Lightning sets only that one."""
    rank = first_number(process.environ, RANK_NAMES)
    if rank is None and process.environ.get("NODE_RANK", "0") == "0":
        rank = first_number(process.environ, ("LOCAL_RANK",))
    return rank


def looks_like_training(process: Process) -> bool:
    """True for a training, by its program and not by its activity: a hung run counts, too."""
    what = program(process)
    if is_launcher(process) or (what.script and what.name in TRAINERS):
        return True
    if TRAIN.search(what.name):
        # A compiled trainer (llm.c and the like) is its own program; an editor that has
        # train.py open, or a shell that runs train.sh, is not.
        return what.script or base_name(process.exe) == what.name
    if not what.python or len(process.argv) < 2:
        return False
    return is_rank(process) or has_framework(process) or has_booster(process)


def is_rank(process: Process) -> bool:
    """True for a process that a launcher gave a rank."""
    environ = process.environ
    return bool({"RANK", "LOCAL_RANK"} & environ.keys()) and "WORLD_SIZE" in environ


def has_framework(process: Process) -> bool:
    """True when a library of a machine learning framework is loaded."""
    return bool(_FRAMEWORK.search(process.maps()))


def has_booster(process: Process) -> bool:
    """True when a library of boosted trees is loaded."""
    return bool(_BOOSTERS.search(process.maps()))
