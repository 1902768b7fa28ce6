"""What the opcodes of a pickle do to the stack of ``machine``, apart from the commonest ones."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from .dcp import compact
from .pickle_symbols import Blob, Opaque

if TYPE_CHECKING:
    from .pickle_machine import Machine

_Act = Callable[["Machine", int, int], None]
ACTS: list[_Act | None] = [None] * 256


def _on(codes: bytes) -> Callable[[_Act], _Act]:
    """What to do at an opcode: called with the machine and the range of the argument."""

    def keep(act: _Act) -> _Act:
        for code in codes:
            ACTS[code] = act
        return act

    return keep


@_on(b"XU\x8cT\x8d")
def _string(m: Machine, begin: int, end: int) -> None:
    m.stack.append(m.data[begin:end].decode("utf-8", "replace"))


@_on(b"VS")
def _line(m: Machine, begin: int, end: int) -> None:
    text = m.data[begin : end - 1]
    if m.data[begin - 1] == 0x53:  # STRING has quotes
        m.push(text.strip().strip(b"'\"").decode("utf-8", "replace"))
        return
    try:
        m.push(text.decode("raw-unicode-escape"))
    except UnicodeDecodeError:
        raise ValueError("the pickle has a text that is none") from None


@_on(b"CB\x8e\x96")
def _bytes(m: Machine, begin: int, end: int) -> None:
    m.push(Blob(begin, end - begin))


@_on(b"MJ\x8a\x8b")
def _whole(m: Machine, begin: int, end: int) -> None:
    unsigned = m.data[begin - 1] == 0x4D
    # The 64 bytes that count hold any size and any step; a longer number is only kept short.
    m.push(int.from_bytes(m.data[begin : min(end, begin + 64)], "little", signed=not unsigned))


@_on(b"I")
def _text_int(m: Machine, begin: int, end: int) -> None:
    text = m.data[begin:end].strip()
    m.push(text == b"01" if text in (b"00", b"01") else decimal(text))


@_on(b"L")
def _text_long(m: Machine, begin: int, end: int) -> None:
    m.push(decimal(m.data[begin:end]))


@_on(b"F")
def _text_float(m: Machine, begin: int, end: int) -> None:
    try:
        m.push(float(m.data[begin : min(end, begin + 400)]))
    except ValueError:
        raise ValueError("the pickle has a number that is none") from None


@_on(b"G")
def _float(m: Machine, begin: int, end: int) -> None:
    m.push(struct.unpack_from(">d", m.data, begin)[0])


@_on(b"N")
def _none(m: Machine, begin: int, end: int) -> None:
    m.stack.append(None)


@_on(b"\x88\x89")
def _bool(m: Machine, begin: int, end: int) -> None:
    m.stack.append(m.data[begin - 1] == 0x88)


@_on(b"\x82\x83\x84\x97")
def _unknown(m: Machine, begin: int, end: int) -> None:
    m.call(None, ())  # an extension code, or a buffer from outside


@_on(b"]")
def _empty_list(m: Machine, begin: int, end: int) -> None:
    m.count()
    m.push([])


@_on(b"\x8f")
def _empty_set(m: Machine, begin: int, end: int) -> None:
    m.count()
    m.push([])


@_on(b"}")
def _empty_dict(m: Machine, begin: int, end: int) -> None:
    m.count()
    m.push({})


@_on(b")")
def _empty_tuple(m: Machine, begin: int, end: int) -> None:
    m.stack.append(())


@_on(b"\x85\x86\x87")
def _short_tuple(m: Machine, begin: int, end: int) -> None:
    m.count()
    count = m.data[begin - 1] - 0x84
    if len(m.stack) < count:
        raise IndexError
    m.stack[-count:] = [tuple(m.stack[-count:])]


@_on(b"t")
def _tuple(m: Machine, begin: int, end: int) -> None:
    m.push(tuple(m.since_mark()))


@_on(b"l\x91")
def _list(m: Machine, begin: int, end: int) -> None:
    m.push(m.since_mark())


@_on(b"d")
def _dict(m: Machine, begin: int, end: int) -> None:
    made: dict[object, object] = {}
    items = m.since_mark()
    _set(made, items)
    m.push(made)


@_on(b"u")
def _set_items(m: Machine, begin: int, end: int) -> None:
    items = m.since_mark()
    _set(m.stack[-1], items)


@_on(b"s")
def _set_item(m: Machine, begin: int, end: int) -> None:
    value, key = m.stack.pop(), m.stack.pop()
    _set(m.stack[-1], [key, value])


@_on(b"e\x90")
def _append_all(m: Machine, begin: int, end: int) -> None:
    items = m.since_mark()
    _extend(m.stack[-1], items)


@_on(b"a")
def _append(m: Machine, begin: int, end: int) -> None:
    value = m.stack.pop()
    _extend(m.stack[-1], [value])


@_on(b"0")
def _pop(m: Machine, begin: int, end: int) -> None:
    # POP right behind a mark takes the mark.
    if m.marks and m.marks[-1] == len(m.stack):
        m.marks.pop()
    else:
        m.stack.pop()


@_on(b"1")
def _pop_mark(m: Machine, begin: int, end: int) -> None:
    m.since_mark()


@_on(b"2")
def _twice(m: Machine, begin: int, end: int) -> None:
    m.push(m.stack[-1])


@_on(b"c")
def _global(m: Machine, begin: int, end: int) -> None:
    module, name = m.data[begin:end].decode("utf-8", "replace").split("\n")[:2]
    m.name(module, name)


@_on(b"\x93")
def _stack_global(m: Machine, begin: int, end: int) -> None:
    name, module = m.stack.pop(), m.stack.pop()
    if not (isinstance(name, str) and isinstance(module, str)):
        raise ValueError("the pickle names something that is no name")
    m.name(module, name)


@_on(b"R\x81")
def _reduce(m: Machine, begin: int, end: int) -> None:
    args, function = m.stack.pop(), m.stack.pop()
    m.call(function, args)


@_on(b"\x92")
def _new_with_names(m: Machine, begin: int, end: int) -> None:
    named, args, function = m.stack.pop(), m.stack.pop(), m.stack.pop()
    m.call(function, (args, named))


@_on(b"i")
def _instance(m: Machine, begin: int, end: int) -> None:
    args = tuple(m.since_mark())
    _global(m, begin, end)
    m.call(m.stack.pop(), args)


@_on(b"o")
def _object(m: Machine, begin: int, end: int) -> None:
    items = m.since_mark()
    m.call(items[0], tuple(items[1:]))


@_on(b"b")
def _build(m: Machine, begin: int, end: int) -> None:
    state = m.stack.pop()
    target = m.stack[-1]
    if isinstance(target, Opaque):
        target.state = compact(target.made_by, state)


@_on(b"Q")
def _persistent(m: Machine, begin: int, end: int) -> None:
    m.persistent(m.stack.pop())


@_on(b"P")
def _text_persistent(m: Machine, begin: int, end: int) -> None:
    m.call(None, ())


@_on(b"p")
def _put(m: Machine, begin: int, end: int) -> None:
    index = decimal(m.data[begin:end])
    if index in m.wanted:
        m.memo[index] = m.stack[-1]


@_on(b"\x94")
def _memoize(m: Machine, begin: int, end: int) -> None:
    if m.memoized in m.wanted:
        m.memo[m.memoized] = m.stack[-1]
    m.memoized += 1


@_on(b"g")
def _get(m: Machine, begin: int, end: int) -> None:
    m.push(m.memo[decimal(m.data[begin:end])])


@_on(b"j")
def _long_get(m: Machine, begin: int, end: int) -> None:
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


def decimal(text: bytes) -> int:
    """A number in text; -1 for what is none."""
    digits = text.strip().rstrip(b"L")
    return int(digits) if digits.lstrip(b"-").isdigit() and len(digits) < 40 else -1
