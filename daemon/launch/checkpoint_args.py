"""Find out where a run saves its checkpoints: from its command line and open files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..system.processes import Process

SUFFIXES = (".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".distcp")
DIRECTORY_OPTIONS = frozenset(
    [
        "output_dir",
        "out_dir",
        "outdir",
        "save",
        "save_dir",
        "save_path",
        "save_folder",
        "checkpoint_dir",
        "checkpoints_dir",
        "checkpoint_folder",
        "ckpt_dir",
        "ckpt_path",
        "ckpt_folder",
        "default_root_dir",
        "dirpath",
        "saver_dir",
        "local_checkpoint_dir",
    ]
)
"""Options that name a directory to write to, whether or not it is there yet: of transformers,
torchtune, nanoGPT, Megatron-LM, fairseq, LitGPT, Lightning, hydra configurations, MosaicML."""
PATH_OPTIONS = frozenset(["checkpoint", "checkpoints", "checkpoint_path", "ckpt", "output", "out"])
"""Options that may also name a model to load: used only when they name an existing directory."""
BIG = 1 << 20
"""Bytes. A larger file with one of :data:`SUFFIXES` that is open for writing is a checkpoint being
saved; vocabularies, optimizer hyper-parameters and scaler states are smaller."""

_OPTION = re.compile(r"^(?:--?|\+{1,2})?([A-Za-z][\w.\-]*)(?:=(.*))?$", re.DOTALL)
_STEP_FOLDER = re.compile(
    r"^(checkpoint|ckpt|step|epoch|iter|global_?step|version)[-_=]?\d", re.IGNORECASE
)


def from_argv(argv: Sequence[str], cwd: str) -> Iterator[str]:
    """Absolute paths of the directories that the command line names, in its order."""
    words = list(argv[1:])
    for index, word in enumerate(words):
        match = _OPTION.match(word)
        if match is None:
            continue
        name, value = match[1].rpartition(".")[2].replace("-", "_").lower(), match[2]
        if name not in DIRECTORY_OPTIONS and name not in PATH_OPTIONS:
            continue
        if value is None:
            if not word.startswith("-") or index + 1 == len(words):
                continue
            value = words[index + 1]
        path = directory(value.strip("'\""), cwd)
        if path and (name in DIRECTORY_OPTIONS or Path(path).is_dir()):
            yield path


def directory(value: str, cwd: str) -> str | None:
    """The value of an option as an absolute directory; ``None`` when it cannot mean one."""
    if not value or value.startswith("-") or "://" in value or "\0" in value or "${" in value:
        return None
    if value.lower() in ("true", "false", "none", "null") or value.replace(".", "").isdigit():
        return None
    path = os.path.normpath(os.path.join(cwd or "/", value))  # noqa: PTH118  (not resolved)
    return os.path.dirname(path) if path.endswith(SUFFIXES) else path


def from_open_files(processes: Iterable[Process]) -> Iterator[str]:
    """Directories of large checkpoint files that are being written at this moment."""
    for process in processes:
        for file in process.files:
            path = Path(file.target.removesuffix(" (deleted)"))
            if file.writable and file.regular and not set(path.suffixes).isdisjoint(SUFFIXES):
                try:
                    big = os.stat(file.via).st_size > BIG
                except OSError:
                    continue
                if big:
                    yield str(above_steps(path.parent))


def above_steps(folder: Path) -> Path:
    """``out/checkpoint-500`` → ``out``: the next save goes beside this one, not into it."""
    while _STEP_FOLDER.match(folder.name):
        folder = folder.parent
    return folder


def checkpoint_dirs(main: Process, ranks: Sequence[Process]) -> tuple[str, ...]:
    """The checkpoint directories that are known at once, by command line and open files.

    Others are found while the run is watched, when it saves: ``sources/save_folders``.
    """
    found = dict.fromkeys(
        path for process in (main, *ranks[:1]) for path in from_argv(process.argv, process.cwd)
    )
    found.update(dict.fromkeys(from_open_files(ranks or (main,))))
    return tuple(dict.fromkeys(main.lasting(path) for path in found))
