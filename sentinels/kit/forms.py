"""Forms of plain types: how numbers, texts, lists and tables are written, and read strictly.

A form is a pair of functions (write, read). :mod:`.codec` combines them for classes.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Write = Callable[[Any], Any]
Read = Callable[[Any], Any]
Form = tuple[Write, Read]
_NAMES: Mapping[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    bytes: "a text",
    list: "a list",
    dict: "a table",
}
_WORDS = ("nan", "inf", "-inf")


class Unfit(ValueError):
    """A plain value does not fit its field. ``path``: keys and indexes that lead to the value."""

    def __init__(self, problem: str, *path: str | int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path: tuple[str | int, ...] = path

    def under(self, key: str | int) -> Unfit:
        """This error with ``key`` in front of its path."""
        self.path = (key, *self.path)
        return self

    def __str__(self) -> str:
        place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in self.path)
        return f"{place.lstrip('.')} {self.problem}".lstrip()


def same(value: Any) -> Any:
    """The value unchanged."""
    return value


def anything(value: Any) -> Any:
    """A copy made of plain values only."""
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Mapping):
        return {str(key): anything(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return [anything(one) for one in value]
    return value


def misfit(kind: object, plain: Any) -> Unfit:
    """The exception for a value of another type than ``kind``."""
    # A list or a table may hold a secret in the wrong place: name it, do not show it.
    shown = _NAMES[type(plain)] if isinstance(plain, (list, dict)) else repr(plain)
    if kind is list:
        return Unfit("must be a list")
    return Unfit(f"must be {_NAMES.get(kind, kind)}, not {shown}")


def _exactly(kind: type) -> Read:
    def read(plain: Any) -> Any:
        if type(plain) is not kind:
            raise misfit(kind, plain)
        return plain

    return read


def _float(value: float) -> float | str:
    return value if value - value == 0.0 else str(float(value))


def _read_float(plain: Any) -> float:
    if type(plain) is float:
        return plain
    if type(plain) is int or plain in _WORDS:
        try:
            return float(plain)
        except OverflowError:
            pass
    raise misfit(float, plain)


def _read_bytes(plain: Any) -> bytes:
    try:
        if isinstance(plain, str):
            return plain.encode("latin-1")
    except UnicodeEncodeError:
        pass
    raise misfit(bytes, plain)


SCALARS: Mapping[Any, Form] = {
    bool: (same, _exactly(bool)),
    int: (same, _exactly(int)),
    str: (same, _exactly(str)),
    float: (_float, _read_float),
    bytes: (lambda value: value.decode("latin-1"), _read_bytes),
}
SEQUENCES: Mapping[Any, Callable[[Iterable[Any]], Any]] = {
    list: list,
    deque: deque,
    set: set,
    frozenset: frozenset,
    tuple: tuple,
    Sequence: tuple,
    Iterable: tuple,
}


def one_of(words: Sequence[Any]) -> Read:
    """Reads one of ``words``; raises Unfit for any other value."""
    kinds = {type(word) for word in words}

    def read(plain: Any) -> Any:
        if type(plain) not in kinds:
            raise misfit(type(words[0]), plain)
        if plain not in words:
            raise Unfit(f"is none of {', '.join(map(str, words))}")
        return plain

    return read


def of_enum(kind: type[enum.Enum]) -> Form:
    """The form of an enum: the name of the member, in lower case."""
    names = {one.name.lower(): one for one in kind}
    word = one_of(tuple(names))
    return (lambda value: value.name.lower()), (lambda plain: names[word(plain)])


def _floats(values: Iterable[float]) -> list[Any]:
    found = list(values)
    total = sum(found)
    return found if total - total == 0.0 else [_float(one) for one in found]


def _rows_of_floats(rows: Iterable[Sequence[float]]) -> list[Any]:
    """A fast way for lists of rows of floats: most of the state is points of curves."""
    found = list(map(list, rows))
    total = sum(map(sum, found))
    return found if total - total == 0.0 else [_floats(one) for one in found]


def _read_each(parts: Iterable[tuple[str | int, Read, Any]]) -> list[Any]:
    """Read each (key, reader, plain value); the key is put in front of the path of an error."""
    made: list[Any] = []
    key: str | int = ""
    try:
        for place, read, plain in parts:
            key = place
            made.append(read(plain))
    except Unfit as error:
        raise error.under(key) from None
    return made


def sequence(form: Form, make: Callable[[Iterable[Any]], Any]) -> Form:
    """The form of a list whose items have ``form``; ``make`` builds the value from the items."""
    write, read = form

    def read_all(plain: Any) -> Any:
        if not isinstance(plain, (list, tuple)):
            raise misfit(list, plain)
        return make(_read_each((at, read, one) for at, one in enumerate(plain)))

    if make in (set, frozenset):
        return (lambda values: [write(one) for one in sorted(values)]), read_all
    if write is same:
        return list, read_all
    if write is _float:
        return _floats, read_all
    if write is _floats:
        return _rows_of_floats, read_all
    return (lambda values: [write(one) for one in values]), read_all


def row(
    forms: Sequence[Form],
    make: Callable[[Iterable[Any]], Any],
    least: int,
    defaults: tuple[Any, ...] = (),
) -> Form:
    """The form of a list with one form for each item.

    Items after the first ``least`` may be missing; ``defaults`` are those of the last items.
    """
    writes, reads, count = [w for w, _ in forms], [r for _, r in forms], len(forms)

    def read(plain: Any) -> Any:
        if not isinstance(plain, (list, tuple)) or not least <= len(plain) <= count:
            raise Unfit(f"must be a list of {count}")
        made = _read_each(zip(range(count), reads, plain, strict=False))
        return make((*made, *defaults[len(made) - least :]))

    if all(write is same for write in writes):
        return list, read
    if all(write is _float for write in writes):
        return _floats, read
    return (lambda value: [w(v) for w, v in zip(writes, value, strict=True)]), read


def table(key: Callable[[str], Any], form: Form) -> Form:
    """The form of a dict; ``key`` makes a key from its text (``str`` or ``int``)."""
    write, read = form

    def read_all(plain: Any) -> dict[Any, Any]:
        if not isinstance(plain, Mapping):
            raise misfit(dict, plain)
        try:
            keys = [key(name) for name in plain]
        except ValueError as error:
            raise Unfit(f"has a key that is no number: {error}") from None
        made = _read_each((str(name), read, one) for name, one in plain.items())
        return dict(zip(keys, made, strict=True))

    return (lambda values: {str(name): write(one) for name, one in values.items()}), read_all
