"""Progress from files beside a checkpoint: small JSON files with the step in them.

``meta_002000.json`` beside ``model_002000.pt``, ``trainer_state.json`` beside the last model.
A file whose name fits no particular checkpoint counts only if there is a single checkpoint.
"""

from __future__ import annotations

import os
import re

from . import names, progress, recognise, safetensors, torch_zip
from .bounded_file import BoundedFile, FileTooShort
from .pickle_symbols import TooLong
from .recognise import UNTOLD, Progress

_LONGEST = 1 << 20
_COMMON = ("trainer_state.json", "training_state.json", "train_state.json", "state.json")
_MOST_NAMES = 2_000
_NUMBER = re.compile(r"\d{2,}")


def told_beside(path: str) -> Progress:
    """Progress from state files beside a checkpoint file or in its folder. Raises nothing."""
    inside = os.path.isdir(path)
    folder = path if inside else os.path.dirname(path) or "."
    try:
        with os.scandir(folder) as entries:
            there = {entry.name for entry, _ in zip(entries, range(_MOST_NAMES), strict=False)}
    except OSError:
        return UNTOLD
    for name in _candidates(os.path.basename(path), there, inside=inside):
        told = _read(f"{folder}/{name}")
        if told.step is not None:
            return told
    return UNTOLD


def _candidates(name: str, there: set[str], *, inside: bool) -> list[str]:
    """Names of the state files that belong to this checkpoint, the most certain first."""
    if inside:
        return [common for common in (*_COMMON, "meta.json") if common in there]
    stem = name.partition(".")[0] if name.count(".") == 1 else name.rpartition(".")[0]
    wanted = {f"{stem}.json", f"{stem}_meta.json", f"{name}.json"}
    number = _NUMBER.search(name)
    if number:
        wanted |= {f"meta_{number[0]}.json", f"state_{number[0]}.json"}
    found = sorted(wanted & there)
    if sum(names.is_checkpoint_file(other) for other in there) == 1:
        found += [common for common in _COMMON if common in there]
    return found


def _read(path: str) -> Progress:
    try:
        if path.endswith("/trainer_state.json"):
            return recognise.trainer_state(path)
        with BoundedFile(path) as peek:
            if peek.size > _LONGEST:
                return UNTOLD
            state = safetensors.parse_object(peek.read_at(0, peek.size), "it")
    except (OSError, torch_zip.Malformed, FileTooShort, TooLong):
        return UNTOLD
    told = progress.told_by(dict(state), lambda tensor: None)
    return UNTOLD if told.step is None else Progress(told.step, told.epoch, told.metrics, "state")
