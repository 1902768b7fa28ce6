"""A pickle machine that builds symbols: it follows every opcode and calls nothing.

Memory is bounded by the pickle, which is at most ``LONGEST`` bytes: nothing is copied but
strings, and of the memo only what is asked for again is kept (a first pass over the opcodes
finds out). Nothing here recurses.

Opcodes: Lib/pickletools.py of CPython, protocols 0 to 5.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from .calls import CALLS
from .dtypes import ITEM_BYTES, STORAGES
from .symbols import Blob, Global, Opaque, Pickle, Storage, TooLong

LONGEST = 4 << 20
"""Bytes of one pickle that are followed. It is the ``data.pkl`` of 34,000 tensors, at 123 bytes
each, and takes 1.1 s of one core (measured)."""
_MOST_NODES = 600_000
"""Containers and calls in one pickle. 34,000 tensors make 210,000; an empty list takes one byte
in the file and 64 in memory."""
_LONGEST_NAME = 200

# Bytes of an opcode with its argument; -1, -2 …: a count of that many bytes comes first; what is
# missing is not an opcode, or is told apart below.
_STEPS = [0] * 256
for _code in b"(012NQR\x81\x85\x86\x87\x88\x89)]}abdelostu\x8f\x90\x91\x92\x93\x97\x98":
    _STEPS[_code] = 1
for _codes, _width in ((b"K\x80q\x82", 2), (b"M\x83", 3), (b"Jr\x84", 5), (b"G\x95", 9)):
    for _code in _codes:
        _STEPS[_code] = _width
for _codes, _width in ((b"\x8cUC\x8a", -1), (b"XTB\x8b", -4), (b"\x8d\x8e\x96", -8)):
    for _code in _codes:
        _STEPS[_code] = _width
_LINES = {**dict.fromkeys(b"ILFSVPp", 1), **dict.fromkeys(b"ci", 2)}
_STOP, _MEMOIZE, _GET, _BINGET, _LONG_BINGET = 0x2E, 0x94, 0x67, 0x68, 0x6A


def read(data: bytes, start: int = 0) -> Pickle:
    """Follow the pickle at ``start``. ValueError where it is cut or is none; TooLong."""
    end, wanted = _survey(data, start)
    machine = _Machine(data, wanted)
    try:
        root = machine.run(start)
    except (IndexError, KeyError):
        raise ValueError("the pickle takes something that it never put anywhere") from None
    return Pickle(root, end, machine.storages)


def _survey(data: bytes, start: int) -> tuple[int, set[int]]:
    """Where the pickle ends, and which places of the memo it asks for."""
    at, size, steps = start, len(data), _STEPS
    wanted: set[int] = set()
    while at < size:
        code = data[at]
        step = steps[code]
        if step > 0:
            at += step
        elif code == _BINGET:
            wanted.update(data[at + 1 : at + 2])
            at += 2
        elif step < 0:
            at += 1 - step + int.from_bytes(data[at + 1 : at + 1 - step], "little")
        elif code == _MEMOIZE:
            at += 1
        elif code == _LONG_BINGET:
            wanted.add(int.from_bytes(data[at + 1 : at + 5], "little"))
            at += 5
        elif code == _STOP:
            return at + 1, wanted
        else:
            begin, at = at + 1, _line_end(data, at)
            if code == _GET:
                wanted.add(_decimal(data[begin:at]))
    if at > size:
        raise ValueError("the pickle is cut inside an opcode")
    raise ValueError(f"the pickle ends at byte {at} without STOP")


def _line_end(data: bytes, at: int) -> int:
    """Where an opcode ends whose arguments are lines of text."""
    code = data[at]
    lines = 1 if code == _GET else _LINES.get(code)
    if lines is None:
        raise ValueError(f"byte {at} of the pickle is no opcode: 0x{code:02x}")
    end = at
    for _ in range(lines):
        end = data.find(b"\n", end) + 1
        if end == 0:
            raise ValueError("the pickle ends inside a name")
    return end


def _decimal(text: bytes) -> int:
    digits = text.strip().rstrip(b"L")
    return int(digits) if digits.lstrip(b"-").isdigit() and len(digits) < 40 else -1


class _Machine:
    """The stack, the marks on it, and the memo."""

    def __init__(self, data: bytes, wanted: set[int]) -> None:
        self.data = data
        self.wanted = wanted
        self.stack: list[object] = []
        self.marks: list[int] = []
        self.memo: dict[int, object] = {}
        self.memoized = 0
        self.made = 0
        self.storages: dict[str, int | None] = {}
        self.globals: dict[str, Global] = {}

    def run(self, at: int) -> object:
        """Follow opcodes from ``at`` to STOP; what is then on top. The survey saw them all."""
        data, stack, marks, memo, wanted = (
            self.data,
            self.stack,
            self.marks,
            self.memo,
            self.wanted,
        )
        steps, acts = _STEPS, _ACTS
        while True:
            code = data[at]
            if code == 0x71:  # BINPUT
                if data[at + 1] in wanted:
                    memo[data[at + 1]] = stack[-1]
                at += 2
                continue
            if code == 0x68:  # BINGET
                stack.append(memo[data[at + 1]])
                at += 2
                continue
            if code == 0x72:  # LONG_BINPUT
                index = int.from_bytes(data[at + 1 : at + 5], "little")
                if index in wanted:
                    memo[index] = stack[-1]
                at += 5
                continue
            if code == 0x28:  # MARK
                marks.append(len(stack))
                self.count()
                at += 1
                continue
            if code == 0x4B:  # BININT1
                stack.append(data[at + 1])
                at += 2
                continue
            if code == _STOP:
                return stack[-1]
            step = steps[code]
            begin = at + 1
            if step > 0:
                at += step
            elif step < 0:
                begin -= step
                at = begin + int.from_bytes(data[begin + step : begin], "little")
            elif code == _MEMOIZE:
                at += 1
            elif code == _LONG_BINGET:
                at += 5
            else:
                at = _line_end(data, at)
            act = acts[code]
            if act is not None:
                act(self, begin, at)

    def count(self) -> None:
        """One more container or call."""
        self.made += 1
        if self.made > _MOST_NODES:
            raise TooLong(f"a pickle of more than {_MOST_NODES} containers is not followed")

    def push(self, value: object) -> None:
        """Put something on the stack."""
        self.stack.append(value)

    def since_mark(self) -> list[object]:
        """Take everything that is above the last mark, and the mark."""
        mark = self.marks.pop()
        items = self.stack[mark:]
        del self.stack[mark:]
        return items

    def name(self, module: object, name: object) -> None:
        """A global: one object for all times it is named."""
        full = f"{module}.{name}"[:_LONGEST_NAME]
        self.push(self.globals.setdefault(full, Global(full)))

    def call(self, function: object, args: object) -> None:
        """Push the symbol of a call."""
        self.count()
        name = function.name if isinstance(function, Global) else "something"
        known = CALLS.get(name)
        made = None
        if known is not None and isinstance(args, tuple):
            made = known(args, self.data)
        self.push(Opaque(name, args) if made is None else made)

    def persistent(self, pid: object) -> None:
        """('storage', class, key, location, count[, view]): torch keeps its data elsewhere."""
        if not (isinstance(pid, tuple) and len(pid) >= 5 and pid[0] == "storage"):
            self.call(None, pid)
            return
        kind, key, count = pid[1], pid[2], pid[4]
        dtype = STORAGES.get(kind.name.rpartition(".")[2]) if isinstance(kind, Global) else None
        item = ITEM_BYTES.get(dtype or "", 0)
        if not isinstance(key, str | int) or not isinstance(count, int) or count < 0:
            self.call(None, pid)
            return
        view = pid[5] if len(pid) > 5 else None
        shift = 0
        if isinstance(view, tuple) and len(view) == 3 and isinstance(view[1], int):
            shift = view[1] * item
        self.storages.setdefault(str(key), count * item if item else None)
        self.push(Storage(str(key), dtype, shift))


_Act = Callable[[_Machine, int, int], None]
_ACTS: list[_Act | None] = [None] * 256


def _on(codes: bytes) -> Callable[[_Act], _Act]:
    """What to do at an opcode: called with the machine and the range of the argument."""

    def keep(act: _Act) -> _Act:
        for code in codes:
            _ACTS[code] = act
        return act

    return keep


@_on(b"XU\x8cT\x8d")
def _string(m: _Machine, begin: int, end: int) -> None:
    m.stack.append(m.data[begin:end].decode("utf-8", "replace"))


@_on(b"VS")
def _line(m: _Machine, begin: int, end: int) -> None:
    text = m.data[begin : end - 1]
    if m.data[begin - 1] == 0x53:  # STRING has quotes
        m.push(text.strip().strip(b"'\"").decode("utf-8", "replace"))
        return
    try:
        m.push(text.decode("raw-unicode-escape"))
    except UnicodeDecodeError:
        raise ValueError("the pickle has a text that is none") from None


@_on(b"CB\x8e\x96")
def _bytes(m: _Machine, begin: int, end: int) -> None:
    m.push(Blob(begin, end - begin))


@_on(b"MJ\x8a\x8b")
def _whole(m: _Machine, begin: int, end: int) -> None:
    unsigned = m.data[begin - 1] == 0x4D
    # The 64 bytes that count hold any size and any step; a longer number is only kept short.
    m.push(int.from_bytes(m.data[begin : min(end, begin + 64)], "little", signed=not unsigned))


@_on(b"I")
def _text_int(m: _Machine, begin: int, end: int) -> None:
    text = m.data[begin:end].strip()
    m.push(text == b"01" if text in (b"00", b"01") else _decimal(text))


@_on(b"L")
def _text_long(m: _Machine, begin: int, end: int) -> None:
    m.push(_decimal(m.data[begin:end]))


@_on(b"F")
def _text_float(m: _Machine, begin: int, end: int) -> None:
    try:
        m.push(float(m.data[begin : min(end, begin + 400)]))
    except ValueError:
        raise ValueError("the pickle has a number that is none") from None


@_on(b"G")
def _float(m: _Machine, begin: int, end: int) -> None:
    m.push(struct.unpack_from(">d", m.data, begin)[0])


@_on(b"N")
def _none(m: _Machine, begin: int, end: int) -> None:
    m.stack.append(None)


@_on(b"\x88\x89")
def _bool(m: _Machine, begin: int, end: int) -> None:
    m.stack.append(m.data[begin - 1] == 0x88)


@_on(b"\x82\x83\x84\x97")
def _unknown(m: _Machine, begin: int, end: int) -> None:
    m.call(None, ())  # an extension code, or a buffer from outside


@_on(b"]")
def _empty_list(m: _Machine, begin: int, end: int) -> None:
    m.count()
    m.push([])


@_on(b"\x8f")
def _empty_set(m: _Machine, begin: int, end: int) -> None:
    m.count()
    m.push([])


@_on(b"}")
def _empty_dict(m: _Machine, begin: int, end: int) -> None:
    m.count()
    m.push({})


@_on(b")")
def _empty_tuple(m: _Machine, begin: int, end: int) -> None:
    m.stack.append(())


@_on(b"\x85\x86\x87")
def _short_tuple(m: _Machine, begin: int, end: int) -> None:
    m.count()
    count = m.data[begin - 1] - 0x84
    if len(m.stack) < count:
        raise IndexError
    m.stack[-count:] = [tuple(m.stack[-count:])]


@_on(b"t")
def _tuple(m: _Machine, begin: int, end: int) -> None:
    m.push(tuple(m.since_mark()))


@_on(b"l\x91")
def _list(m: _Machine, begin: int, end: int) -> None:
    m.push(m.since_mark())


@_on(b"d")
def _dict(m: _Machine, begin: int, end: int) -> None:
    made: dict[object, object] = {}
    items = m.since_mark()
    _set(made, items)
    m.push(made)


@_on(b"u")
def _set_items(m: _Machine, begin: int, end: int) -> None:
    items = m.since_mark()
    _set(m.stack[-1], items)


@_on(b"s")
def _set_item(m: _Machine, begin: int, end: int) -> None:
    value, key = m.stack.pop(), m.stack.pop()
    _set(m.stack[-1], [key, value])


@_on(b"e\x90")
def _append_all(m: _Machine, begin: int, end: int) -> None:
    items = m.since_mark()
    _extend(m.stack[-1], items)


@_on(b"a")
def _append(m: _Machine, begin: int, end: int) -> None:
    value = m.stack.pop()
    _extend(m.stack[-1], [value])


@_on(b"0")
def _pop(m: _Machine, begin: int, end: int) -> None:
    # POP right behind a mark takes the mark.
    if m.marks and m.marks[-1] == len(m.stack):
        m.marks.pop()
    else:
        m.stack.pop()


@_on(b"1")
def _pop_mark(m: _Machine, begin: int, end: int) -> None:
    m.since_mark()


@_on(b"2")
def _twice(m: _Machine, begin: int, end: int) -> None:
    m.push(m.stack[-1])


@_on(b"c")
def _global(m: _Machine, begin: int, end: int) -> None:
    module, name = m.data[begin:end].decode("utf-8", "replace").split("\n")[:2]
    m.name(module, name)


@_on(b"\x93")
def _stack_global(m: _Machine, begin: int, end: int) -> None:
    name, module = m.stack.pop(), m.stack.pop()
    if not (isinstance(name, str) and isinstance(module, str)):
        raise ValueError("the pickle names something that is no name")
    m.name(module, name)


@_on(b"R\x81")
def _reduce(m: _Machine, begin: int, end: int) -> None:
    args, function = m.stack.pop(), m.stack.pop()
    m.call(function, args)


@_on(b"\x92")
def _new_with_names(m: _Machine, begin: int, end: int) -> None:
    named, args, function = m.stack.pop(), m.stack.pop(), m.stack.pop()
    m.call(function, (args, named))


@_on(b"i")
def _instance(m: _Machine, begin: int, end: int) -> None:
    args = tuple(m.since_mark())
    _global(m, begin, end)
    m.call(m.stack.pop(), args)


@_on(b"o")
def _object(m: _Machine, begin: int, end: int) -> None:
    items = m.since_mark()
    m.call(items[0], tuple(items[1:]))


@_on(b"b")
def _build(m: _Machine, begin: int, end: int) -> None:
    state = m.stack.pop()
    target = m.stack[-1]
    if isinstance(target, Opaque):
        target.state = state


@_on(b"Q")
def _persistent(m: _Machine, begin: int, end: int) -> None:
    m.persistent(m.stack.pop())


@_on(b"P")
def _text_persistent(m: _Machine, begin: int, end: int) -> None:
    m.call(None, ())


@_on(b"p")
def _put(m: _Machine, begin: int, end: int) -> None:
    index = _decimal(m.data[begin:end])
    if index in m.wanted:
        m.memo[index] = m.stack[-1]


@_on(b"\x94")
def _memoize(m: _Machine, begin: int, end: int) -> None:
    if m.memoized in m.wanted:
        m.memo[m.memoized] = m.stack[-1]
    m.memoized += 1


@_on(b"g")
def _get(m: _Machine, begin: int, end: int) -> None:
    m.push(m.memo[_decimal(m.data[begin:end])])


@_on(b"j")
def _long_get(m: _Machine, begin: int, end: int) -> None:
    m.push(m.memo[int.from_bytes(m.data[begin:end], "little")])


def _set(target: object, items: list[object]) -> None:
    if isinstance(target, Opaque):
        if not isinstance(target.items, dict):
            target.items = {}
        target = target.items
    if not isinstance(target, dict):
        return
    for at in range(0, len(items) - 1, 2):
        key = items[at]
        if isinstance(key, list | dict | tuple):  # hashing a deep tuple would recurse
            key = Opaque("key", key)
        target[key] = items[at + 1]


def _extend(target: object, items: list[object]) -> None:
    if isinstance(target, Opaque):
        if not isinstance(target.items, list):
            target.items = []
        target = target.items
    if isinstance(target, list):
        target.extend(items)
