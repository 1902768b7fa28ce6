"""Progress from files beside a checkpoint: small JSON files with the step in them.

``meta_002000.json`` beside ``model_002000.pt``, ``trainer_state.json`` beside the last model.
A file whose name fits no particular checkpoint counts only if there is a single checkpoint.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator

from . import names, progress, recognise, safetensors, torch_zip
from .bounded_file import BoundedFile, FileTooShort
from .pickle_symbols import TooLong
from .recognise import UNTOLD, Progress

_LONGEST = 1 << 20
_COMMON = ("trainer_state.json", "training_state.json", "train_state.json", "state.json")
_MOST_NAMES = 2_000
_NUMBER = re.compile(r"\d{2,}")


def told_beside(path: str) -> Progress:
    """Progress from state files beside a checkpoint file or in its folder. Raises nothing.

    The names that would fit are asked for one by one: listing the folder for each of ten thousand saves in
    it would cost their number squared.
    """
    inside = os.path.isdir(path)
    folder = path if inside else os.path.dirname(path) or "."
    for name in _candidates(folder, os.path.basename(path), inside=inside):
        if not os.path.exists(f"{folder}/{name}"):
            continue
        told = _read(f"{folder}/{name}")
        if told.step is not None:
            return told
    return UNTOLD


def _candidates(folder: str, name: str, *, inside: bool) -> Iterator[str]:
    """Names that the state files of this checkpoint may have, the most certain first."""
    if inside:
        yield from (*_COMMON, "meta.json")
        return
    stem = name.partition(".")[0] if name.count(".") == 1 else name.rpartition(".")[0]
    wanted = {f"{stem}.json", f"{stem}_meta.json", f"{name}.json"}
    number = _NUMBER.search(name)
    if number:
        wanted |= {f"meta_{number[0]}.json", f"state_{number[0]}.json"}
    yield from sorted(wanted)
    common = [one for one in _COMMON if os.path.exists(f"{folder}/{one}")]
    if common and _is_only(folder):
        yield from common


def _is_only(folder: str) -> bool:
    """Whether there is a single checkpoint among the files of a folder; it is left at the second one."""
    count = 0
    try:
        with os.scandir(folder) as entries:
            for entry in itertools.islice(entries, _MOST_NAMES):
                count += names.is_checkpoint_file(entry.name)
                if count > 1:
                    return False
    except OSError:
        return False
    return count == 1


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
