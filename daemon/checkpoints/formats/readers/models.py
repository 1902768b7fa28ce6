"""Whether a file that does not say so by its name is a model, by its first bytes. At most some KiB are read."""

from __future__ import annotations

import re
import struct
import zlib

from .. import torch_zip
from ..bounded_file import BoundedFile, FileTooShort
from ..pickle_symbols import TooLong
from . import find, pickle_stream

_HEAD = 4096
_LIBRARIES = re.compile(
    rb"sklearn\.|xgboost|lightgbm|catboost|joblib\.numpy_pickle|torch\.|keras|haiku|flax|jax\."
)
"""Modules whose classes a pickled model is made of."""
_PARAMETER = re.compile(r"(?:^|[./~])(?:w|b|weight|bias|kernel|scale|offset|gamma|beta)(?:\.npy)?$")
_OF_AGENT = b"data"
"""Name of the first record in the archives of Stable-Baselines, an object in JSON: ``{``."""
_FEWEST = 2
_MOST_OPCODES = 50_000
"""0.1 s; arrays are one each."""


def is_model(path: str) -> bool:
    """False also for a file that cannot be read, or is not whole yet."""
    try:
        with BoundedFile(path) as peek:
            head = peek.read_up_to(0, _HEAD)
            if head.startswith(torch_zip.LOCAL_MAGIC):
                # An archive of a million pictures is not gone through.
                return _may_be_agent(head) if path.endswith(".zip") else _holds_parameters(peek)
            if head[:1] == b"\x78":
                head = zlib.decompressobj().decompress(head, 4 * _HEAD)
            if head[:1] == b"\x80":
                called_so = path.endswith(".model")
                return called_so or _LIBRARIES.search(head) is not None or _is_tree(peek)
            return find(peek, path) is not None
    except (OSError, FileTooShort, TooLong, torch_zip.Malformed, zlib.error, ValueError):
        return False


def _is_tree(peek: BoundedFile) -> bool:
    """Whether a pickle is a tree of arrays with the names of parameters, as Haiku's and many own ones are."""
    words: set[str] = set()
    try:
        imports = pickle_stream.follow(peek, words, _MOST_OPCODES)
    except TooLong:
        return False
    arrays = any(name.startswith(("numpy", "jax")) for name in imports)
    return arrays and sum(bool(_PARAMETER.search(word)) for word in words) >= _FEWEST


def _holds_parameters(peek: BoundedFile) -> bool:
    archive = torch_zip.read(peek)
    named = sum(bool(_PARAMETER.search(record.name)) for record in archive.records)
    return archive.pickle is not None or named >= _FEWEST


def _may_be_agent(head: bytes) -> bool:
    """Whether an archive begins as those of Stable-Baselines do."""
    name_bytes, extra_bytes = struct.unpack_from("<HH", head, 26)
    body = 30 + name_bytes
    return head[30:body] == _OF_AGENT and head[body + extra_bytes :].lstrip().startswith(b"{")
