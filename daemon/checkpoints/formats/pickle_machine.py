"""A pickle machine that builds symbols: it follows every opcode and calls nothing.

Memory is bounded by the pickle, which is at most ``LONGEST`` bytes: nothing is copied but
strings, and of the memo only what is asked for again is kept (a first pass over the opcodes
finds out). Nothing here recurses.

Opcodes: Lib/pickletools.py of CPython, protocols 0 to 5.
"""

from __future__ import annotations

from .dtypes import ITEM_BYTES, STORAGES
from .pickle_calls import CALLS
from .pickle_opcodes import ACTS, decimal
from .pickle_symbols import Global, Opaque, Pickle, Storage, TooLong

LONGEST = 4 << 20
"""Bytes of one pickle that are followed. It is the ``data.pkl`` of 34,000 tensors, at 123 bytes
each, and takes 0.8 s of one core (measured)."""
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
    machine = Machine(data, wanted)
    try:
        root = machine.run(start)
    except (IndexError, KeyError):
        raise ValueError("the pickle takes something that it never put anywhere") from None
    return Pickle(root, end, machine.storages, tuple(machine.globals))


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
                wanted.add(decimal(data[begin:at]))
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


class Machine:
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
        steps, acts = _STEPS, ACTS
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
