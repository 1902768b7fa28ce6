"""A pickle interpreter that builds symbols: it follows every opcode and calls nothing.

``pickletools`` of the standard library reads the opcodes and their arguments; it unpickles
nothing. Memory is bounded by the pickle, which is at most ``LONGEST`` bytes, by ``_MOST_NODES``
and by ``_MOST_KEPT``. Nothing here recurses.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

from .dcp import compact
from .dtypes import ITEM_BYTES, STORAGES
from .pickle_calls import CALLS
from .pickle_symbols import Blob, Global, Opaque, Pickle, Storage, TooLong

LONGEST = 4 << 20
"""Bytes of the longest pickle that is followed: the ``data.pkl`` of 34,000 tensors, at 123 bytes
each. That takes 0.9 s of one core (measured)."""
_MOST_NODES = 600_000
"""Limit on containers and calls in one pickle, as an empty list takes one byte in the file and 64
in memory. 34,000 tensors make 210,000."""
_MOST_KEPT = 600_000
"""Limit on the entries of the memo, as one takes one byte in the file and 100 in memory. 34,000
tensors make 272,000 (counted)."""
_LONGEST_NAME = 200
_LONGEST_NUMBER = 512
"""Bits: enough for any size and any step. A longer number is replaced by -1."""
_SHOWN = 120
"""Limit on the characters of an error of ``pickletools``, which may quote data."""


def read(data: bytes, start: int = 0) -> Pickle:
    """Follow the pickle at ``start``. Raises ValueError where it is cut off or none, TooLong."""
    machine = PickleMachine(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in the strings of protocol 0
            end = machine.run(start)
        root = machine.stack[-1]
    except (IndexError, KeyError):
        raise ValueError("the pickle uses a stack or memo entry that does not exist") from None
    except UnicodeDecodeError as error:
        if error.encoding == "ascii":  # protocol 3 may name classes that pickletools cannot read
            raise TooLong("a name in the pickle is not ASCII: it is not followed") from None
        raise ValueError("the pickle has a string that cannot be decoded") from None
    except ValueError as error:
        raise ValueError(f"the pickle is cut off, or is none: {error!s:.{_SHOWN}}") from None
    return Pickle(root, end, machine.storages, tuple(machine.globals))


class _Stream(io.BytesIO):
    """Before Python 3.10.7 a number of a million digits takes minutes; since then 4300 are read."""

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(size)
        if len(line) > 4300 and self.getvalue()[self.tell() - len(line) - 1] in b"IL":
            raise ValueError("a number with more than 4300 digits")
        return line


class PickleMachine:
    """The stack, the marks on it, and the memo."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.stack: list[object] = []
        self.marks: list[int] = []
        self.memo: dict[int, object] = {}
        self.made = 0
        self.storages: dict[str, int | None] = {}
        self.globals: dict[str, Global] = {}

    def run(self, start: int) -> int:
        """Follow the opcodes from ``start`` to STOP; returns the offset after it."""
        import pickletools  # here, as the resident daemon imports this module

        stream = _Stream(self.data)
        stream.seek(start)
        stack, memo, acts = self.stack, self.memo, _ACTS
        argument: Any
        at: Any = start
        for opcode, argument, at in pickletools.genops(stream):
            name = opcode.name
            if name in _PUTS:
                memo[argument] = stack[-1]
            elif name in _GETS:
                stack.append(memo[argument])
            elif name in acts:
                acts[name](self, argument, at)
        return int(at) + 1

    def count(self) -> None:
        """Count one more container or call. Raises TooLong if they are too many."""
        self.made += 1
        if self.made > _MOST_NODES:
            raise TooLong(f"a pickle of more than {_MOST_NODES} containers is not followed")

    def push(self, value: object) -> None:
        """Push a value on the stack."""
        self.stack.append(value)

    def since_mark(self) -> list[object]:
        """Pop everything above the last mark, and the mark."""
        mark = self.marks.pop()
        items = self.stack[mark:]
        del self.stack[mark:]
        return items

    def name(self, module: object, name: object) -> None:
        """Push a global: always the same object for one name."""
        full = f"{module}.{name}"[:_LONGEST_NAME]
        self.push(self.globals.setdefault(full, Global(full)))

    def call(self, function: object, args: object) -> None:
        """Push the result of a call if it is known, else a symbol for it."""
        self.count()
        name = function.name if isinstance(function, Global) else "something"
        known = CALLS.get(name)
        made = None
        if known is not None and isinstance(args, tuple):
            made = known(args, self.data)
        self.push(Opaque(name, args) if made is None else made)

    def persistent(self, pid: object) -> None:
        """Push a storage of torch, whose data lies outside the pickle.

        ``pid``: ('storage', class, key, location, count[, view]).
        """
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


# What the opcodes do, by their names in ``pickletools``; PROTO, FRAME, STOP and READONLY_BUFFER
# do nothing here. Each is called with the machine, the argument and the offset of the opcode.

_PUTS = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
_GETS = frozenset({"GET", "BINGET", "LONG_BINGET"})
_Act = Callable[[PickleMachine, Any, int], None]
_ACTS: dict[str, _Act] = {}


def _on(*names: str) -> Callable[[_Act], _Act]:
    def keep(act: _Act) -> _Act:
        _ACTS.update(dict.fromkeys(names, act))
        return act

    return keep


@_on("NONE", "BININT", "BININT1", "BININT2", "BINFLOAT", "FLOAT")
def _plain(m: PickleMachine, argument: object, at: int) -> None:
    m.stack.append(argument)


@_on("INT", "LONG", "LONG1", "LONG4")
def _whole(m: PickleMachine, argument: int, at: int) -> None:
    m.push(argument if argument.bit_length() <= _LONGEST_NUMBER else -1)


@_on("NEWTRUE")
def _true(m: PickleMachine, argument: None, at: int) -> None:
    m.push(True)


@_on("NEWFALSE")
def _false(m: PickleMachine, argument: None, at: int) -> None:
    m.push(False)


@_on("STRING", "BINSTRING", "SHORT_BINSTRING")
@_on("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8")
def _text(m: PickleMachine, argument: str, at: int) -> None:
    if not argument.isascii():  # half of a surrogate pair cannot be printed or written
        argument = argument.encode("utf-8", "replace").decode()
    m.push(argument)


@_on("SHORT_BINBYTES")
def _short_bytes(m: PickleMachine, argument: bytes, at: int) -> None:
    m.push(Blob(at + 2, len(argument)))


@_on("BINBYTES")
def _bytes(m: PickleMachine, argument: bytes, at: int) -> None:
    m.push(Blob(at + 5, len(argument)))


@_on("BINBYTES8", "BYTEARRAY8")
def _long_bytes(m: PickleMachine, argument: bytes, at: int) -> None:
    m.push(Blob(at + 9, len(argument)))


@_on("EXT1", "EXT2", "EXT4", "NEXT_BUFFER", "PERSID")
def _unknown(m: PickleMachine, argument: object, at: int) -> None:
    m.call(None, ())  # an extension code, or an object outside the pickle


@_on("MARK")
def _mark(m: PickleMachine, argument: None, at: int) -> None:
    m.marks.append(len(m.stack))
    m.count()


@_on("EMPTY_LIST", "EMPTY_SET")
def _empty_list(m: PickleMachine, argument: None, at: int) -> None:
    m.count()
    m.push([])


@_on("EMPTY_DICT")
def _empty_dict(m: PickleMachine, argument: None, at: int) -> None:
    m.count()
    m.push({})


@_on("EMPTY_TUPLE")
def _empty_tuple(m: PickleMachine, argument: None, at: int) -> None:
    m.stack.append(())


@_on("TUPLE1")
def _one(m: PickleMachine, argument: None, at: int) -> None:
    _short_tuple(m, 1)


@_on("TUPLE2")
def _two(m: PickleMachine, argument: None, at: int) -> None:
    _short_tuple(m, 2)


@_on("TUPLE3")
def _three(m: PickleMachine, argument: None, at: int) -> None:
    _short_tuple(m, 3)


def _short_tuple(m: PickleMachine, count: int) -> None:
    m.count()
    if len(m.stack) < count:
        raise IndexError
    m.stack[-count:] = [tuple(m.stack[-count:])]


@_on("TUPLE")
def _tuple(m: PickleMachine, argument: None, at: int) -> None:
    m.push(tuple(m.since_mark()))


@_on("LIST", "FROZENSET")
def _list(m: PickleMachine, argument: None, at: int) -> None:
    m.push(m.since_mark())


@_on("DICT")
def _dict(m: PickleMachine, argument: None, at: int) -> None:
    made: dict[object, object] = {}
    _set(made, m.since_mark())
    m.push(made)


@_on("SETITEMS")
def _set_items(m: PickleMachine, argument: None, at: int) -> None:
    items = m.since_mark()
    _set(m.stack[-1], items)


@_on("SETITEM")
def _set_item(m: PickleMachine, argument: None, at: int) -> None:
    value, key = m.stack.pop(), m.stack.pop()
    _set(m.stack[-1], [key, value])


@_on("APPENDS", "ADDITEMS")
def _append_all(m: PickleMachine, argument: None, at: int) -> None:
    items = m.since_mark()
    _extend(m.stack[-1], items)


@_on("APPEND")
def _append(m: PickleMachine, argument: None, at: int) -> None:
    value = m.stack.pop()
    _extend(m.stack[-1], [value])


@_on("POP")
def _pop(m: PickleMachine, argument: None, at: int) -> None:
    # POP right after a mark takes the mark.
    if m.marks and m.marks[-1] == len(m.stack):
        m.marks.pop()
    else:
        m.stack.pop()


@_on("POP_MARK")
def _pop_mark(m: PickleMachine, argument: None, at: int) -> None:
    m.since_mark()


@_on("DUP")
def _twice(m: PickleMachine, argument: None, at: int) -> None:
    m.push(m.stack[-1])


@_on("MEMOIZE")
def _memoize(m: PickleMachine, argument: None, at: int) -> None:
    m.memo[len(m.memo)] = m.stack[-1]
    if len(m.memo) > _MOST_KEPT:
        raise TooLong(f"a pickle with more than {_MOST_KEPT} memo entries is not followed")


@_on("GLOBAL")
def _global(m: PickleMachine, argument: str, at: int) -> None:
    module, _, name = argument.partition(" ")
    m.name(module, name)


@_on("STACK_GLOBAL")
def _stack_global(m: PickleMachine, argument: None, at: int) -> None:
    name, module = m.stack.pop(), m.stack.pop()
    if not (isinstance(name, str) and isinstance(module, str)):
        raise ValueError("a name in it is not a string")
    m.name(module, name)


@_on("REDUCE", "NEWOBJ")
def _reduce(m: PickleMachine, argument: None, at: int) -> None:
    args, function = m.stack.pop(), m.stack.pop()
    m.call(function, args)


@_on("NEWOBJ_EX")
def _new_with_names(m: PickleMachine, argument: None, at: int) -> None:
    named, args, function = m.stack.pop(), m.stack.pop(), m.stack.pop()
    m.call(function, (args, named))


@_on("INST")
def _instance(m: PickleMachine, argument: str, at: int) -> None:
    args = tuple(m.since_mark())
    _global(m, argument, at)
    m.call(m.stack.pop(), args)


@_on("OBJ")
def _object(m: PickleMachine, argument: None, at: int) -> None:
    items = m.since_mark()
    m.call(items[0], tuple(items[1:]))


@_on("BUILD")
def _build(m: PickleMachine, argument: None, at: int) -> None:
    state = m.stack.pop()
    target = m.stack[-1]
    if isinstance(target, Opaque):
        target.state = compact(target.made_by, state)


@_on("BINPERSID")
def _persistent(m: PickleMachine, argument: None, at: int) -> None:
    m.persistent(m.stack.pop())


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
