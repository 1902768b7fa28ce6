"""Formats of other libraries than torch: one module a format, each with ``read``.

``read(peek, path)`` gives the :class:`..extents.Contents` of a file whose structure is whole, and raises
Malformed, FileTooShort or TooLong like the other formats. Their own libraries map or load whole files, for
which the verifier has no memory; these modules read headers only, at most some MiB.
"""

from __future__ import annotations

from collections.abc import Callable

from ..bounded_file import BoundedFile
from ..extents import Contents

Reader = Callable[[BoundedFile, str], Contents]


def find(peek: BoundedFile, path: str) -> tuple[str, Reader] | None:
    """(name of the format, its reader) by the first bytes; by the ending only where a format has none
    of its own: ONNX, MindSpore, msgpack, Equinox."""
    head = peek.read_up_to(0, 512)
    if head.startswith(b"GGUF"):
        from .gguf import read

        return "GGUF", read
    if head[4:8] == b"TFL3":
        from .tflite import read

        return "TFLite", read
    if head.startswith(b"CBM1"):
        from .boosters import catboost

        return "CatBoost", catboost
    if head.startswith((b"tree\n", b"tree\r\n")):
        from .boosters import lightgbm

        return "LightGBM", lightgbm
    if head.startswith(b'{"learner"') or (head[:1] == b"{" and b'"learner"' in head[:128]):
        from .boosters import xgboost_json

        return "XGBoost", xgboost_json
    if head[:1] == b"{" and b"learner{" in head[:64]:
        from .boosters import xgboost_ubj

        return "XGBoost", xgboost_ubj
    if head[257:262] == b"ustar":
        from .tar import read

        return "tar", read
    return _by_ending(peek, path, head)


def _by_ending(peek: BoundedFile, path: str, head: bytes) -> tuple[str, Reader] | None:
    name = path.rpartition("/")[2]
    if name.endswith(".index"):
        from .tf_bundle import has_data, read

        return ("TensorFlow", read) if has_data(path) else None
    if name.endswith(".onnx"):
        from .onnx import read

        return "ONNX", read
    if name.endswith(".ckpt"):
        from .mindspore import looks_like, read

        return ("MindSpore", read) if looks_like(head) else None
    if name.endswith(".eqx") or (head.startswith(b"\x93NUMPY") and not name.endswith(".npy")):
        from .equinox import read

        return "Equinox", read
    if name.endswith(".msgpack") or ("." not in name and head[:1] and 0x80 <= head[0] <= 0x8F):
        from .msgpack import read

        return "msgpack", read
    return None
