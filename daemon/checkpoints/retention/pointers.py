"""What refers to a checkpoint: links beside it, and files that name the newest or the best."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Mapping

from ...system import places

_FILES = ("latest", "latest_checkpointed_iteration.txt", "last_checkpoint", "checkpoint")
"""Files that name the newest one, of DeepSpeed, Megatron, detectron2 and TensorFlow."""
_BEST = re.compile(r'"best_model_checkpoint":\s*"([^"]+)"')
"""In ``trainer_state.json`` of transformers; near its beginning, because the keys are sorted. With
``load_best_model_at_end`` the checkpoint that it names is read when the training ends."""
_LONGEST = 64 << 10
_WORD = re.compile(r"[^\s\"':,]+")
_MOST_NAMES = 1_000_000
"""Names of one folder that are looked at: this is done for a command, which may take its time."""


def pointers(paths: Collection[str]) -> dict[str, str]:
    """Path -> ``last.ckpt points to it``, for those of ``paths`` that a link or a file refers to.

    Searched are the folders that hold them and those one above (``latest -> run7/checkpoint-500``).
    """
    real = {os.path.realpath(path): path for path in paths}
    homes = {path.rpartition("/")[0] or "/" for path in real}
    homes |= {home.rpartition("/")[0] or "/" for home in homes}
    found: dict[str, str] = {}
    for home in sorted(homes):
        with contextlib.suppress(OSError), os.scandir(home) as entries:
            for _, entry in zip(range(_MOST_NAMES), entries, strict=False):
                if entry.is_symlink():
                    target = real.get(os.path.realpath(entry.path))
                    if target is not None:
                        found[target] = f"{entry.name} points to it"
                elif entry.name in _FILES and entry.is_file():
                    for name in _named(entry.path):
                        target = real.get(f"{home}/{name}")
                        if target is not None:
                            found[target] = f"the file {entry.name} names it"
    return _named_best(real) | found


def _named_best(real: Mapping[str, str]) -> dict[str, str]:
    """Checkpoints that the newest ``checkpoint-N`` of their folder names as the best one.

    Each was the best when it was saved, if the model got better from save to save: what an older one
    says of itself counts no more. After a start from an earlier step the one written last may
    have a lower number than the newest: then both are asked.
    """
    newest: dict[tuple[str, str], tuple[int, str]] = {}
    for path in real:
        home, _, name = path.rpartition("/")
        number = name.rpartition("-")[2]
        with contextlib.suppress(OSError):
            if number.isdecimal():
                written = os.stat(f"{path}/trainer_state.json").st_mtime_ns
                for by, value in (("number", int(number)), ("time", written)):
                    newest[home, by] = max(newest.get((home, by), (-1, "")), (value, path))
    found = {}
    for (home, _), (_, path) in newest.items():
        with (
            contextlib.suppress(OSError),
            open(places.open_file(f"{path}/trainer_state.json"), "rb") as file,
        ):
            told = _BEST.search(file.read(_LONGEST).decode("utf-8", "replace"))
            target = real.get(f"{home}/{os.path.basename(told[1].rstrip('/'))}") if told else None
            if target is not None:
                found[target] = f"trainer_state.json of {os.path.basename(path)} names it the best"
    return found


def _named(path: str) -> list[str]:
    try:
        with open(places.open_file(path), encoding="utf-8", errors="replace") as file:
            words = _WORD.findall(file.read(_LONGEST))
    except OSError:
        return []
    numbers = [f"iter_{int(word):07}" for word in words if word.isdecimal() and len(word) < 9]
    return [os.path.normpath(word) for word in words] + numbers
