"""Whether a file that does not say so by its name holds the state of a training.

Read with the readers of checkpoints: nothing is executed. Runs in a child.
"""

from __future__ import annotations

import os
import re

from ..checkpoints.formats import recognise
from ..checkpoints.formats.bounded_file import BoundedFile, FileTooShort
from ..checkpoints.formats.contents import Contents, contents
from ..checkpoints.formats.names import WEIGHTS
from ..checkpoints.formats.pickle_symbols import TooLong
from ..checkpoints.formats.torch_zip import Malformed

LEAST_BYTES = 512
"""Smaller files hold no weights: a torch archive alone has some hundred bytes of names."""
_TEXT = (
    ".log", ".txt", ".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".md", ".py", ".sh",
    ".png", ".jpg", ".jpeg", ".gif", ".svg", ".pdf", ".html", ".out", ".err", ".parquet", ".arrow",
    ".npy", ".npz", ".wav", ".mp4", ".zip", ".gz", ".zst", ".whl", ".pyc", ".so", ".lock", ".db",
)  # fmt: skip
"""Endings of what a run writes beside its saves: never opened."""
_PARAMETER = re.compile(
    r"(?:^|[./])(?:weight|bias|kernel|gamma|beta|running_mean|running_var|embeddings?|in_proj_weight"
    r"|(?:weight|bias)_(?:ih|hh)\w*|exp_avg(?:_sq)?|momentum_buffer|lora_[AB]|vars)(?=$|[./])",
    re.IGNORECASE,
)
"""The names that torch, JAX and Keras give to parameters and to the state of an optimizer. A data
set has ``images`` and ``labels``, or numbers."""


def may_hold_state(path: str) -> bool:
    """Whether it is worth opening, by its name and size. Raises nothing."""
    try:
        return os.stat(path).st_size >= LEAST_BYTES and not path.lower().endswith(_TEXT)
    except OSError:
        return False


def holds_state(path: str) -> bool:
    """Whether a file holds named parameters, or says how far a training is.

    False also for a file that is not whole yet.
    """
    try:
        with BoundedFile(path) as peek:
            kind = recognise.file_kind(peek, path)
            if kind not in ("zip", "legacy", "safetensors", "hdf5"):
                return False
            found = contents(peek, path)
    except (OSError, Malformed, FileTooShort, TooLong, ValueError, RecursionError, MemoryError):
        return False
    return _is_state(found, weights=path.endswith(WEIGHTS))


def _is_state(found: Contents, *, weights: bool) -> bool:
    told = found.progress
    if told.step is not None or told.epoch is not None:
        return True
    named = sum(bool(_PARAMETER.search(tensor.name)) for tensor in found.tensors)
    return named >= 2 or (weights and named >= 1)
