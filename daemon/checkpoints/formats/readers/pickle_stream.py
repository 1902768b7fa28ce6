"""A plain pickle followed from opcode to opcode by position, whatever its size: is it whole?

Nothing is built. ``pickletools`` gives the lengths of the arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..bounded_file import BoundedFile
from ..pickle_symbols import TooLong
from ..torch_zip import Malformed
from .forward import Forward

if TYPE_CHECKING:
    from pickletools import OpcodeInfo

_MOST = 2_000_000
"""Limit on opcodes: some 2 s."""
_COUNTED = {-2: "<B", -3: "<i", -4: "<I", -5: "<Q"}
"""``pickletools``: how the length of an argument is given -> its notation in :mod:`struct`."""
_LONGEST_LINE = 1 << 16
_SHORT = 200
JOBLIB = "joblib.numpy_pickle.NumpyArrayWrapper"


def follow(peek: BoundedFile, words: set[str] | None = None, most: int = 0) -> frozenset[str]:
    """The names that it would import. Raises Malformed where it is damaged, TooLong where it cannot be
    followed: too long, or with the arrays of joblib between its opcodes."""
    from pickletools import opcodes  # here, as most checkpoints have no plain pickle

    data = Forward(peek)
    known = {opcode.code: opcode for opcode in opcodes}
    found: set[str] = set()
    done = 0
    while data.at < peek.size:  # some write several pickles one after the other
        done = _one(data, found, done, known, words, most or _MOST)
    return frozenset(found)


def _one(
    data: Forward,
    found: set[str],
    done: int,
    known: dict[str, OpcodeInfo],
    words: set[str] | None,
    most: int,
) -> int:
    texts: list[str] = []
    memo: dict[int, str] = {}
    last = ""
    memos = 0
    while True:
        done += 1
        if done > most:
            raise TooLong(f"more than {most} opcodes are not followed")
        at = data.at
        code = data.take(1)
        opcode = known.get(code.decode("latin-1"))
        if opcode is None:
            raise Malformed(f"no opcode at byte {at}: the pickle is damaged")
        text = ""
        if opcode.arg is not None:
            text = _argument(data, opcode)
        name = opcode.name
        if name == "STOP":
            return done
        if name in ("GLOBAL", "INST"):
            found.add(text.replace("\n", ".", 1).strip())
        elif name == "STACK_GLOBAL":
            found.add(".".join(texts[-2:]))
            if JOBLIB in found:
                raise TooLong("joblib writes its arrays between the opcodes: not followed")
        elif name == "MEMOIZE":
            memo[memos] = last
            memos += 1
        elif name in ("BINPUT", "LONG_BINPUT"):
            memo[int(text or 0)] = last
        elif name in ("BINGET", "LONG_BINGET"):
            texts.append(memo.get(int(text or 0), ""))
        elif "UNICODE" in name:
            texts.append(text)
            if words is not None and text:
                words.add(text)
        if name not in ("MEMOIZE", "BINPUT", "LONG_BINPUT"):
            last = text if "UNICODE" in name else ""
        del texts[:-2]


def _argument(data: Forward, opcode: OpcodeInfo) -> str:
    """Go past an argument; a short text or a number as text, else empty."""
    assert opcode.arg is not None
    size = opcode.arg.n
    if size >= 0:
        raw = data.take(size)
        return str(int.from_bytes(raw, "little")) if size in (1, 4) else ""
    if size in _COUNTED:
        length = data.number(_COUNTED[size])
        if length < 0 or data.at + length > data.peek.size:
            raise Malformed(f"an argument of {length} bytes at byte {data.at}: the file is cut off")
        if length > _SHORT:
            data.skip(length)
            return ""
        return data.take(length).decode("utf-8", "replace")
    lines = list(_lines(data, 2 if opcode.arg.name == "stringnl_noescape_pair" else 1))
    return "\n".join(lines)


def _lines(data: Forward, count: int) -> Iterator[str]:
    for _ in range(count):
        line = bytearray()
        while (byte := data.take(1)) != b"\n":
            line += byte
            if len(line) > _LONGEST_LINE:
                raise Malformed("a line without an end")
        yield line.decode("utf-8", "replace")
