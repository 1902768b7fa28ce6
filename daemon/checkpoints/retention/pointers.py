"""What refers to a checkpoint: links beside it, and files that name the newest or the best."""

from __future__ import annotations

import contextlib
import itertools
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
    folders = {path.rpartition("/")[0] for path in paths}
    resolved = {folder: os.path.realpath(folder or "/") for folder in folders}
    homes = set(resolved.values())
    homes |= {home.rpartition("/")[0] or "/" for home in homes}
    links, tellers = _listed(homes)
    real = {_real(path, resolved, links): path for path in paths}
    found: dict[str, str] = {}
    for link in sorted(links):
        target = real.get(os.path.realpath(link))
        if target is not None:
            found[target] = f"{link.rpartition('/')[2]} points to it"
    for teller in sorted(tellers):
        home, _, told_by = teller.rpartition("/")
        for name in _named(teller):
            target = real.get(f"{home}/{name}")
            if target is not None:
                found[target] = f"the file {told_by} names it"
    return _named_best(real) | found


def _listed(homes: Collection[str]) -> tuple[set[str], set[str]]:
    """Paths of the links in these folders, and of the files that name a checkpoint."""
    links: set[str] = set()
    tellers: set[str] = set()
    for home in homes:
        with contextlib.suppress(OSError), os.scandir(home) as entries:
            for entry in itertools.islice(entries, _MOST_NAMES):
                if entry.is_symlink():
                    links.add(entry.path)
                elif entry.name in _FILES and entry.is_file():
                    tellers.add(entry.path)
    return links, tellers


def _real(path: str, folders: Mapping[str, str], links: Collection[str]) -> str:
    """``path`` with all links resolved; ``folders``: those that hold it, likewise."""
    home, _, name = path.rpartition("/")
    real = f"{folders[home].rstrip('/')}/{name}"
    return os.path.realpath(path) if name in ("", ".", "..") or real in links else real


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
