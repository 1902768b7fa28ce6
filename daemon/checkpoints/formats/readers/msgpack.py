"""msgpack, as Flax writes it (flax/serialization.py): arrays are extensions of type 1.

The library ``msgpack`` builds what it reads; this module only finds where each array lies.
https://github.com/msgpack/msgpack/blob/master/spec.md
"""

from __future__ import annotations

import struct

from ..bounded_file import BoundedFile, FileTooShort
from ..dtypes import FLOATING, ITEM_BYTES
from ..extents import Contents, TensorAt
from ..recognise import UNTOLD, Progress
from ..torch_zip import Malformed
from .forward import Forward
from .protobuf import total

_MOST = 1_000_000
_ARRAY = 1
"""Extension of Flax: (shape, name of the type, bytes), itself msgpack."""
_HEAD = 4096
_FIXED = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
_COUNTERS = ("step", "global_step")


def read(peek: BoundedFile, path: str) -> Contents:
    """See the package."""
    walk = _Walk(Forward(peek))
    try:
        walk.run()
    except struct.error as error:
        raise Malformed(str(error)) from None
    if walk.data.at != peek.size:
        raise Malformed(f"{peek.size - walk.data.at} bytes behind its end: damaged, or no msgpack")
    step = walk.step
    told = Progress(step, None, {}, "checkpoint") if step is not None else UNTOLD
    return Contents(
        tensors=tuple(walk.found),
        unplaced=walk.unknown,
        progress=told,
        notes=("no checksums in it",),
    )


class _Walk:
    def __init__(self, data: Forward) -> None:
        self.data = data
        self.found: list[TensorAt] = []
        self.unknown = 0
        self.step: float | None = None
        self._made = 0

    def run(self) -> None:
        """One object; lists and maps are kept on a stack: (items left, is a map, name)."""
        stack: list[list[object]] = [[1, False, "", ""]]
        while stack:
            top = stack[-1]
            left = top[0]
            assert isinstance(left, int)
            if left == 0:
                stack.pop()
                continue
            top[0] = left - 1
            self._made += 1
            if self._made > _MOST:
                raise Malformed(f"more than {_MOST} items")
            if top[1] and left % 2 == 0:
                top[3] = self._key()
                continue
            name = f"{top[2]}.{top[3]}".strip(".")[:300]
            inside = self._item(name, depth=len(stack))
            if inside is not None:
                count, is_map = inside
                stack.append([2 * count if is_map else count, is_map, name, ""])
                if len(stack) > 200:
                    raise Malformed("nested deeper than 200")

    def _key(self) -> str:
        at = self.data.at
        code = self.data.take(1)[0]
        length = _length_of_text(code, self.data)
        if length is None:
            self.data.at = at
            if self._item("?", depth=99) is not None:
                raise Malformed(f"a list or map as a key at byte {at}")
            return "?"
        return self.data.take(length).decode("utf-8", "replace")

    def _item(self, name: str, depth: int) -> tuple[int, bool] | None:
        """One item; (number of items, is a map) for one that holds others."""
        data = self.data
        code = data.take(1)[0]
        if code < 0x80 or code >= 0xE0 or code in (0xC0, 0xC2, 0xC3):
            if code < 0x80 and depth <= 2 and name in _COUNTERS:
                self.step = float(code)
        elif code <= 0x8F:
            return code & 0xF, True
        elif code <= 0x9F:
            return code & 0xF, False
        elif code in (0xDC, 0xDD, 0xDE, 0xDF):
            return data.number(">H" if code in (0xDC, 0xDE) else ">I"), code >= 0xDE
        elif code in _FIXED:
            raw = data.take(_FIXED[code])
            if depth <= 2 and name in _COUNTERS and 0xCC <= code <= 0xCF:
                self.step = float(int.from_bytes(raw, "big"))
        elif (length := _length_of_text(code, data)) is not None:
            data.skip(length)
        elif code in (0xC4, 0xC5, 0xC6):
            data.skip(data.number({0xC4: ">B", 0xC5: ">H", 0xC6: ">I"}[code]))
        elif 0xD4 <= code <= 0xD8:
            self._extension(name, 1 << (code - 0xD4), depth)
        elif code in (0xC7, 0xC8, 0xC9):
            self._extension(name, data.number({0xC7: ">B", 0xC8: ">H", 0xC9: ">I"}[code]), depth)
        else:
            raise Malformed(f"no item can begin with {code:#x}, at byte {data.at - 1}")
        return None

    def _extension(self, name: str, length: int, depth: int) -> None:
        kind = self.data.take(1)[0]
        start = self.data.at
        self.data.skip(length)
        if kind == _ARRAY:
            self._array(name, start, length, depth)

    def _array(self, name: str, start: int, length: int, depth: int) -> None:
        peek = self.data.peek
        window = peek.window(start, min(length, _HEAD))
        inner = Forward(window)
        try:
            if inner.take(1)[0] != 0x93:
                raise Malformed(f"{name}: an array is not (shape, type, bytes)")
            dims = [_small(inner) for _ in range(inner.take(1)[0] & 0xF)]
            size = _length_of_text(inner.take(1)[0], inner)
            dtype = inner.take(size or 0).decode("ascii", "replace")
            code = inner.take(1)[0]
            count = inner.number({0xC4: ">B", 0xC5: ">H", 0xC6: ">I"}.get(code, ">B"))
        except (FileTooShort, KeyError):
            raise Malformed(f"{name}: the header of an array is damaged") from None
        dtype = {"V": "bfloat16"}.get(dtype, dtype)
        if inner.at + count != length:
            raise Malformed(f"{name}: an array of {count} bytes in {length - inner.at}")
        items = ITEM_BYTES.get(dtype)
        if items is not None and total(dims) * items != count:
            raise Malformed(
                f"{name}: its shape takes {total(dims) * items} bytes, there are {count}"
            )
        if name in _COUNTERS and depth <= 2 and not dims and dtype.startswith(("int", "uint")):
            self.step = float(int.from_bytes(peek.read_at(start + inner.at, count), "little"))
        if dtype in FLOATING and count:
            place = peek.begin + start + inner.at
            self.found.append(
                TensorAt(name or "array", dtype, place, count, count == FLOATING[dtype])
            )
        elif items is None:
            self.unknown += 1


def _small(data: Forward) -> int:
    code = data.take(1)[0]
    if code < 0x80:
        return code
    return data.number({0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q"}[code])


def _length_of_text(code: int, data: Forward) -> int | None:
    if 0xA0 <= code <= 0xBF:
        return code & 0x1F
    kind = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}.get(code)
    return None if kind is None else data.number(kind)
