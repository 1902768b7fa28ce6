"""Read the opcodes of a pickle without ever unpickling it.

Unpickling runs code; walking the opcodes does not. The walk keeps just enough to see what a
checkpoint says about itself: whether it ends, which storages torch expects and how long they
are, the top-level counters, and the files a distributed checkpoint names.

Opcodes: Lib/pickletools.py of CPython, protocols 0 to 5.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

WALK_LIMIT = 4 << 20
"""Bytes of one pickle that are walked: 0.85 s of one core (measured). It is the ``data.pkl`` of
34,000 tensors, at 123 bytes each; what is longer is checked for its end only."""

_FIXED = {
    **dict.fromkeys(b"K\x80qh\x82", 1),
    **dict.fromkeys(b"M\x83", 2),
    **dict.fromkeys(b"Jrj\x84", 4),
    **dict.fromkeys(b"G\x95", 8),
}
_COUNTED = {
    **dict.fromkeys(b"\x8cUC\x8a", 1),
    **dict.fromkeys(b"XTB\x8b", 4),
    **dict.fromkeys(b"\x8d\x8e\x96", 8),
}
_LINES = {**dict.fromkeys(b"ILFSVPgp", 1), **dict.fromkeys(b"ci", 2)}
_PLAIN = frozenset(b".(012NQR\x81\x85\x86\x87\x88\x89)]}abdelostu\x8f\x90\x91\x92\x93\x94\x97\x98")
_MAKES_STRING = frozenset(b"X\x8c\x8dUTSV")
_CLOSES_MARK = frozenset(b"tldeu1io\x90\x91")
_PUSHES = frozenset(b"tldio)]}R\x81\x85\x86\x87Q\x8f\x91\x92\x8e\x96BCPF\x82\x83\x84\x97")

# torch storage classes of typed storages: torch/storage.py, _storage_type_to_dtype_map.
_ITEM_BYTES = {
    "DoubleStorage": 8,
    "FloatStorage": 4,
    "HalfStorage": 2,
    "BFloat16Storage": 2,
    "LongStorage": 8,
    "IntStorage": 4,
    "ShortStorage": 2,
    "CharStorage": 1,
    "ByteStorage": 1,
    "BoolStorage": 1,
    "UntypedStorage": 1,
    "ComplexDoubleStorage": 16,
    "ComplexFloatStorage": 8,
    "QUInt8Storage": 1,
    "QInt8Storage": 1,
    "QInt32Storage": 4,
}
_COUNTERS = frozenset(
    {"global_step", "global_steps", "iter_num", "iteration", "step", "epoch", "dp_world_size"}
)


class _Thing(NamedTuple):
    """Something on the stack that is neither a number nor a string."""

    name: str


_OBJECT: Final = _Thing("object")
_NONE: Final = _Thing("None")
_Value = int | float | str | _Thing


class Op(NamedTuple):
    """One opcode, its argument as it lies in the file, and where the next one begins."""

    code: int
    argument: bytes
    end: int


@dataclass(slots=True)
class Walk:
    """What one pickle says about itself."""

    end: int
    """Offset just behind its STOP."""
    storages: dict[str, int | None] = field(default_factory=dict)
    """torch storages by key: bytes, ``None`` for a class we do not know."""
    counters: dict[str, float] = field(default_factory=dict)
    """Numbers of the outermost dict under the names of progress counters (protocol 1 and up:
    protocol 0 has no marks to tell the depth by)."""
    spans: dict[str, int] = field(default_factory=dict)
    """Distributed checkpoint: bytes that each file must have at least."""
    keys: list[str] = field(default_factory=list)
    """The strings, in order: the last pickle of a legacy file lists its storages so."""


def operations(data: bytes, start: int = 0) -> Iterator[Op]:
    """The opcodes from ``start`` up to and with STOP; ValueError where it makes no sense."""
    at = start
    size = len(data)
    while True:
        if at >= size:
            raise ValueError(f"the pickle ends at byte {at} without STOP")
        code = data[at]
        begin = at + 1
        if code in _PLAIN:
            end = begin
        elif code in _FIXED:
            end = begin + _FIXED[code]
        elif code in _COUNTED:
            width = _COUNTED[code]
            begin += width
            end = begin + int.from_bytes(data[begin - width : begin], "little")
        elif code in _LINES:
            end = begin
            for _ in range(_LINES[code]):
                end = data.find(b"\n", end) + 1
                if end == 0:
                    raise ValueError(f"the pickle ends at byte {size} inside a name")
        else:
            raise ValueError(f"byte {at} is no pickle opcode: 0x{code:02x}")
        if end > size:
            raise ValueError(f"the pickle is cut inside an opcode at byte {at}")
        yield Op(code, data[begin:end], end)
        if code == 0x2E:
            return
        at = end


class _Walker:
    """Linear history of what the opcodes push, with the memo: no stack, no objects."""

    def __init__(self, start: int) -> None:
        self.walk = Walk(start)
        self.memo: dict[int, _Value] = {}
        self.recent: list[_Value] = []
        self.depth = 0
        self.key: str | None = None
        self.file: str | None = None
        self.offset: int | None = None

    def take(self, op: Op) -> None:
        """Follow one opcode."""
        code = op.code
        if code == 0x28:  # MARK
            self.depth += 1
            return
        if code in _CLOSES_MARK:
            self.depth = max(0, self.depth - 1)
        if code == 0x51:  # BINPERSID
            self._storage()
        if code == 0x94:  # MEMOIZE
            self.memo[len(self.memo)] = self.recent[-1] if self.recent else _OBJECT
        elif code in b"qrp":
            self.memo[_index(op)] = self.recent[-1] if self.recent else _OBJECT
        elif code in b"hjg":
            self._push(self.memo.get(_index(op), _OBJECT))
        elif code == 0x93:  # STACK_GLOBAL
            self._push(_Thing(str(self.recent[-1])) if self.recent else _OBJECT)
        elif code == 0x63:  # GLOBAL
            self._push(_Thing(op.argument.split(b"\n")[1].decode("utf-8", "replace")))
        else:
            value = _value(op)
            if value is not None:
                self._push(value)

    def _push(self, value: _Value) -> None:
        if isinstance(value, int | float) and self.key is not None:
            self._number(value)
        self.key = value if isinstance(value, str) else None
        if isinstance(value, str):
            self.walk.keys.append(value)
            if value.endswith(".distcp"):
                self.file = value
        self.recent.append(value)
        if len(self.recent) > 16:
            del self.recent[:8]

    def _number(self, value: float) -> None:
        """A number right behind a string: an item of a dict, or a field of an object."""
        if self.depth <= 1 and self.key in _COUNTERS:
            self.walk.counters.setdefault(str(self.key), float(value))
        if self.file is None or not isinstance(value, int):
            return
        if self.key == "offset":
            self.offset = value
        elif self.key == "length" and self.offset is not None:
            needed = max(self.offset + value, self.walk.spans.get(self.file, 0))
            self.walk.spans[self.file] = needed
            self.offset = None

    def _storage(self) -> None:
        """('storage', class, key, location, count[, view]) was just made into a tuple."""
        for back in (6, 7):
            parts = self.recent[-back:-1]
            if len(parts) < 5 or parts[0] != "storage":
                continue
            kind, key, count = parts[1], parts[2], parts[4]
            if isinstance(kind, _Thing) and isinstance(key, str) and isinstance(count, int):
                item = _ITEM_BYTES.get(kind.name)
                self.walk.storages.setdefault(key, None if item is None else item * count)
                return


def walk(data: bytes, start: int = 0) -> Walk:
    """Walk one pickle of ``data``; ValueError where it is cut or is none."""
    walker = _Walker(start)
    for op in operations(data, start):
        walker.take(op)
        walker.walk.end = op.end
    return walker.walk


def _index(op: Op) -> int:
    if op.code in b"pg":
        digits = op.argument.strip()
        return int(digits) if digits.isdigit() and len(digits) < 12 else -1
    return int.from_bytes(op.argument, "little")


def _value(op: Op) -> _Value | None:
    """What an opcode pushes: a number, a string, something else, or nothing (``None``)."""
    code = op.code
    if code in _MAKES_STRING:
        return op.argument.decode("utf-8", "replace").strip("\n'\"" if code in b"SV" else "")
    if code in b"KM":
        return int.from_bytes(op.argument, "little")
    if code == 0x4A:  # BININT
        return int.from_bytes(op.argument, "little", signed=True)
    if code in b"\x8a\x8b":  # LONG1, LONG4
        return int.from_bytes(op.argument[:64], "little", signed=True)
    if code in b"IL":
        digits = op.argument.strip().rstrip(b"L")
        return int(digits) if digits.lstrip(b"-").isdigit() and len(digits) < 40 else _OBJECT
    if code == 0x47:  # BINFLOAT
        return float(struct.unpack(">d", op.argument)[0])
    if code in b"N\x88\x89":
        return _NONE
    return _OBJECT if code in _PUSHES else None
