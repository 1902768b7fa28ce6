"""What a new project consists of: the names of its files and their texts. Pure, but for our templates."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from . import toy
from .precision import Precision
from .sizes import Size
from .templates import Value, filled

SYMBOLS = 256
"""Vocabulary of the projects that read bytes."""
TOY = "toy.txt"
KEPT = 3
"""Saves that stay, where the framework can remove older ones. Our choice: one to go on from and two
to go back to."""


@dataclass(frozen=True)
class Project:
    """What a project is to be.

    ``folder``, ``data``, ``out``, ``checkout`` are absolute paths; ``data`` empty: the toy text. ``card``:
    what was seen of the cards here, a phrase like ``NVIDIA A100 (8.0)``, or empty. ``gpus``: GPUs of the
    machine that it will run on.
    """

    framework: str
    folder: str
    size_name: str
    size: Size
    precision: Precision
    data: str = ""
    out: str = ""
    checkout: str = ""
    card: str = ""
    gpus: int = 0
    seed: int = 1337


FILES: Mapping[str, Mapping[str, str]] = {
    "nanogpt": {
        "config.py": "nanogpt/config.py",
        "nanogpt_extras.py": "nanogpt/nanogpt_extras.py",
    },
    "litgpt": {
        "pretrain.yaml": "litgpt/pretrain.yaml",
        "train.py": "litgpt/train.py",
        "text_windows.py": "litgpt/text_windows.py",
        "support.py": "common/support.py",
    },
    "hf": {
        "config.json": "hf/config.json",
        "train.py": "hf/train.py",
        "support.py": "common/support.py",
    },
    "lightning": {
        "train.py": "lightning/train.py",
        "support.py": "common/support.py",
    },
}
"""Framework -> name of a file in the project -> its template."""


def files(asked: Project) -> dict[str, str]:
    """Name -> text of every file of the project."""
    values = _values(asked)
    made = {name: filled(template, values) for name, template in FILES[asked.framework].items()}
    made["train.sh"] = filled(_START[asked.framework == "nanogpt"], values)
    made["job.toml"] = filled("common/job.toml", values)
    if not asked.data:
        made[TOY] = toy.text()
    return dict(sorted(made.items()))


_START = {True: "nanogpt/train.sh", False: "common/train.sh"}


def _values(asked: Project) -> dict[str, Value]:
    size, ranks = asked.size, max(1, asked.gpus)
    at_once = max(1, min(size.at_once, size.batch // ranks))
    accumulate = max(1, size.batch // (at_once * ranks))
    params = size.params(SYMBOLS)
    return {
        "framework": asked.framework,
        "data": _from(asked.folder, asked.data or os.path.join(asked.folder, TOY)),  # noqa: PTH118
        "out": _from(asked.folder, asked.out),
        "checkout": _from(asked.folder, asked.checkout) if asked.checkout else "nanoGPT",
        "card": asked.card or "no card was seen here",
        "precision": asked.precision,
        "sized": _SIZED[asked.precision],
        "gpus": asked.gpus,
        "devices": ranks,
        "seed": asked.seed,
        "kept": KEPT,
        "model": f"gpt-{asked.size_name}",
        "params": f"{params / 1e6:.3g}M" if params >= 1e6 else f"{params / 1e3:.3g}k",
        "layers": size.layers,
        "heads": size.heads,
        "width": size.width,
        "context": size.context,
        "at_once": at_once,
        "accumulate": accumulate,
        "accumulate_of_all": accumulate * ranks,
        "batch": at_once * accumulate * ranks,
        "lr": size.lr,
        "min_lr": size.min_lr,
        "beta2": size.beta2,
        "warmup": size.warmup,
        "steps": size.steps,
        "tokens": size.steps * at_once * accumulate * ranks * size.context,
        "save_every": size.save_every,
        "log_every": size.log_every,
        "eval_batches": size.eval_batches,
        "start": _start(asked),
        **_job(asked),
    }


def _from(folder: str, path: str) -> str:
    """A path inside of the project from there, so that the project may be moved; any other as it is."""
    inside = os.path.relpath(path, folder)
    return path if inside.startswith("..") else inside


def _start(asked: Project) -> tuple[str, ...]:
    """Words behind the Python that start the script: on several GPUs torchrun, as a module of it."""
    if asked.gpus < 2:
        return ("train.py",)
    each = f"--nproc-per-node={asked.gpus}"
    return ("-m", "torch.distributed.run", "--standalone", each, "train.py")


def _job(asked: Project) -> dict[str, Value]:
    """How a place starts it: by ``train.sh``; on several GPUs by torchrun, which knows several machines."""
    saves = {"nanogpt": 1, "litgpt": max(1, asked.size.steps // asked.size.save_every)}
    kept = saves.get(asked.framework, KEPT)
    if asked.gpus < 2 or asked.framework != "nanogpt":
        single = asked.gpus < 2
        return {
            "command": ("bash", "train.sh") if single else ("train.py",),
            "launcher": "none" if single else "torchrun",
            "workdir": ".",
            "saves_at": _from(asked.folder, asked.out),
            "saves": kept,
        }
    return {
        "command": ("train.py", os.path.join(asked.folder, "config.py")),  # noqa: PTH118
        "launcher": "torchrun",
        "workdir": _from(asked.folder, asked.checkout) if asked.checkout else "nanoGPT",
        "saves_at": asked.out,
        "saves": kept,
    }


_SIZED = {"auto": "amp", "bf16": "amp", "fp16": "amp", "fp32": "fp32"}
"""As ``middlewatch size`` calls it: weights in 32 bits, computed in 16."""
