"""Plain values (JSON, TOML) from declared classes, and back, strictly.

The types of a dataclass's fields determine what is written and what may be read: numbers, texts,
``Literal``, ``Optional``, enums, lists, deques, tuples, sets, dicts, named tuples and other
dataclasses. A value of another type raises :class:`Unfit`, with its place. A class is compiled
once.

- A dataclass is written as a dict of its fields, without the leading ``_`` of private ones; a named
  tuple as a list. ``SAVED`` in the class changes that. It is a tree of field names: a dict writes a
  dict, a tuple a list (its last item ``"*name"`` is a field that holds the rest of the list), and a
  single name writes that field only. A name may be a property with a setter.
- A field with the metadata ``UNSAVED`` is left out. A field that is missing gets its default.
- A dict whose values contain their key is written as the list of its values:
  ``Annotated[dict[str, Log], Keyed("file")]``.
- The default value of a field determines the size limit of a deque, and the instance into which a
  dataclass with own settings is loaded.
- When all fields are set, the method ``restored`` is called, if there is one; it may raise
  ValueError.
- Numbers that are not finite are written as ``"nan"``, ``"inf"``, ``"-inf"``; bytes as Latin-1.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, Union

from .forms import (
    SCALARS,
    SEQUENCES,
    Form,
    Read,
    Unfit,
    Write,
    anything,
    misfit,
    of_enum,
    one_of,
    row,
    same,
    sequence,
    table,
)

__all__ = [
    "UNSAVED",
    "Codec",
    "Keyed",
    "Unfit",
    "UnknownKey",
    "dump",
    "fill",
    "load",
    "load_or_new",
]

T = TypeVar("T")
Put = Callable[[Any, "dict[str, Any]"], None]
Quantity = Callable[[str, type, "int | float | str"], "int | float"]
"""(name of the field, int or float, the plain value) -> the number; raises Unfit."""

UNSAVED: Mapping[str, bool] = {"saved": False}
"""Metadata of a field that is not written."""


class Keyed:
    """Marks a dict that is written as the list of its values, which contain their key.

    ``names``: the attributes of a value that make up its key.
    """

    def __init__(self, *names: str) -> None:
        self.names = names

    def __call__(self, value: Any) -> Any:
        """The key of a value: one attribute, or a tuple of several."""
        found = tuple(getattr(value, name) for name in self.names)
        return found if len(found) > 1 else found[0]


class UnknownKey(Unfit):
    """A key that no field has, found by a strict codec; ``path`` ends with the key."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__("is not known", name)
        self.name = name
        self.known = known


class Codec:
    """Writes and reads. ``strict``: unknown keys raise :class:`UnknownKey`, else they are ignored.
    ``quantity``: reads all numbers (for texts with units)."""

    def __init__(self, *, strict: bool = False, quantity: Quantity | None = None) -> None:
        self._strict = strict
        self._quantity = quantity
        self._classes: dict[type, _Class] = {}

    def dump(self, value: Any, cls: type | None = None) -> Any:
        """Plain values for an instance of a dataclass; only the fields of ``cls``, a base of its
        class, if that is given."""
        return self._compiled(cls or type(value)).write(value)

    def load(self, cls: type[T], plain: Any) -> T:
        """A new instance of dataclass ``cls``. Raises Unfit."""
        made: T = self._compiled(cls).read(plain)
        return made

    def fill(self, value: Any, plain: Any) -> None:
        """Set those fields of ``value`` that ``plain`` has. On an error raises Unfit and changes
        nothing."""
        self._compiled(type(value)).fill(value, plain)

    def _compiled(self, cls: type) -> _Class:
        found = self._classes.get(cls)
        if found is None:
            found = self._classes[cls] = _Class(cls)
            found.compile(self)  # after it is stored: a class may refer to itself
        return found

    # -- one type -----------------------------------------------------------------------------

    def form(self, kind: Any, name: str) -> Form:
        """How values of type ``kind`` are written and read; ``name``: the field, for messages.

        Raises TypeError for a type that cannot be written.
        """
        origin, args = typing.get_origin(kind), typing.get_args(kind)
        if kind in (Any, object):
            return anything, lambda plain: plain
        if kind in (int, float) and self._quantity is not None:
            return same, self._number(kind, name)
        if kind in SCALARS:
            return SCALARS[kind]
        if origin is Annotated:
            return self._keyed(args[0], args[1], name)
        if origin in (Union, types.UnionType):
            return self._optional(args, name)
        if origin is Literal:
            return same, one_of(args)
        if origin is tuple and args[-1] is not Ellipsis:
            return row([self.form(one, name) for one in args], tuple, len(args))
        if origin in SEQUENCES:
            return sequence(self.form(args[0], name), SEQUENCES[origin])
        if origin in (dict, Mapping):
            return table(args[0], self.form(args[1], name))
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return of_enum(kind)
        if isinstance(kind, type) and issubclass(kind, tuple):
            hints = typing.get_type_hints(kind)
            names, make = list(hints), kind._make  # type: ignore[attr-defined]
            least = len(names) - len(kind._field_defaults)  # type: ignore[attr-defined]
            defaults = tuple(kind._field_defaults.values())  # type: ignore[attr-defined]
            return row([self.form(hints[n], n) for n in names], make, least, defaults)
        if dataclasses.is_dataclass(kind):
            compiled = self._compiled(typing.cast(type, kind))
            return (lambda value: compiled.write(value)), (lambda plain: compiled.read(plain))
        raise TypeError(f"{name}: no way to keep {kind!r}")

    def _number(self, kind: type, name: str) -> Read:
        def read(plain: Any) -> Any:
            assert self._quantity is not None
            if type(plain) not in (int, str) and not (kind is float and type(plain) is float):
                raise misfit(kind, plain)
            return self._quantity(name, kind, plain)

        return read

    def _optional(self, kinds: Sequence[Any], name: str) -> Form:
        inner = [one for one in kinds if one is not type(None)]
        if len(inner) != 1 or len(kinds) != 2:
            raise TypeError(f"{name}: no way to tell {kinds!r} apart")
        write, read = self.form(inner[0], name)
        if write is same:
            return same, lambda plain: None if plain is None else read(plain)
        return (
            lambda value: None if value is None else write(value),
            lambda plain: None if plain is None else read(plain),
        )

    def _keyed(self, kind: Any, key: Keyed, name: str) -> Form:
        write, read = sequence(self.form(typing.get_args(kind)[1], name), list)
        return (
            lambda value: write(value.values()),
            lambda plain: {key(one): one for one in read(plain)},
        )


class _Class:
    """One dataclass, compiled."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.write: Write = same
        self._put: Put = lambda plain, values: None
        self._required: frozenset[str] = frozenset()
        self._later: frozenset[str] = frozenset()
        """Names that the constructor does not take: they are set afterwards."""

    def compile(self, codec: Codec) -> None:
        self._codec = codec
        fields = {f.name: f for f in dataclasses.fields(self.cls)}
        self._fields = fields
        self._hints = typing.get_type_hints(self.cls, include_extras=True)
        kept = [name for name, f in fields.items() if f.metadata.get("saved", True)]
        layout = getattr(self.cls, "SAVED", {name.lstrip("_"): name for name in kept})
        self.write, self._put = self._node(layout)
        self._required = frozenset(name for name, f in fields.items() if _has_no_default(f))
        self._later = frozenset(
            name for name in _leaves(layout) if name not in fields or not fields[name].init
        )

    def read(self, plain: Any) -> Any:
        """A new instance."""
        values = self._values(plain)
        if missing := self._required - values.keys():
            raise Unfit(f"lacks {', '.join(sorted(missing))}")
        later = {name: values.pop(name) for name in self._later & values.keys()}
        made = self.cls(**values)
        for name, value in later.items():
            setattr(made, name, value)
        return self._told(made)

    def fill(self, made: Any, plain: Any) -> None:
        """Set fields of an existing instance; on an error nothing changes."""
        values = self._values(plain)
        before = {name: getattr(made, name) for name in values}
        try:
            for name, value in values.items():
                setattr(made, name, value)
            self._told(made)
        except Unfit:
            for name, value in before.items():
                setattr(made, name, value)
            raise

    def _values(self, plain: Any) -> dict[str, Any]:
        values: dict[str, Any] = {}
        self._put(plain, values)
        return values

    def _told(self, made: Any) -> Any:
        restored = getattr(made, "restored", None)
        if restored is not None:
            try:
                restored()
            except ValueError as error:
                raise error if isinstance(error, Unfit) else Unfit(str(error)) from error
        return made

    # -- the layout ---------------------------------------------------------------------------

    def _node(self, layout: Any) -> tuple[Write, Put]:
        if isinstance(layout, str):
            return self._leaf(layout)
        if isinstance(layout, tuple):
            return self._list_of([self._node(one) for one in layout if not _is_rest(one)], layout)
        return self._dict_of({key: self._node(one) for key, one in layout.items()})

    def _leaf(self, name: str) -> tuple[Write, Put]:
        field = self._fields.get(name)
        if field is None:  # a property that has the value in another form
            kind = typing.get_type_hints(getattr(self.cls, name).fget, include_extras=True)
            write, read = self._codec.form(kind["return"], name)
        else:
            write, read = self._codec.form(self._hints[name], name)
            read = self._sized(field, read)

        def put(plain: Any, values: dict[str, Any]) -> None:
            values[name] = read(plain)

        if write is same:
            return (lambda value: getattr(value, name)), put
        return (lambda value: write(getattr(value, name))), put

    def _sized(self, field: dataclasses.Field[Any], read: Read) -> Read:
        """``read``, with the size limit or the settings of the field's default value."""
        make = field.default_factory
        if make is dataclasses.MISSING:
            return read
        sample = make()
        if isinstance(sample, deque):
            return lambda plain: deque(read(plain), sample.maxlen)
        if not dataclasses.is_dataclass(sample):
            return read

        def filled(plain: Any) -> Any:
            made = make()
            self._codec.fill(made, plain)
            return made

        return filled

    def _list_of(
        self, nodes: list[tuple[Write, Put]], layout: tuple[Any, ...]
    ) -> tuple[Write, Put]:
        writes, puts, fixed = [w for w, _ in nodes], [p for _, p in nodes], len(nodes)
        rest = self._leaf(layout[-1][1:]) if _is_rest(layout[-1]) else None

        def write(value: Any) -> list[Any]:
            made = [one(value) for one in writes]
            return made if rest is None else made + rest[0](value)

        def put(plain: Any, values: dict[str, Any]) -> None:
            if not isinstance(plain, (list, tuple)):
                raise misfit(list, plain)
            _put_each(zip(range(fixed), puts, plain, strict=False), values)
            if rest is not None:
                rest[1](list(plain[fixed:]), values)

        return write, put

    def _dict_of(self, nodes: dict[str, tuple[Write, Put]]) -> tuple[Write, Put]:
        writes = [(key, write) for key, (write, _) in nodes.items()]
        strict = self._codec._strict  # noqa: SLF001 (its own part)

        def write(value: Any) -> dict[str, Any]:
            return {key: one(value) for key, one in writes}

        def put(plain: Any, values: dict[str, Any]) -> None:
            if not isinstance(plain, Mapping):
                raise misfit(dict, plain)
            unknown = [key for key in plain if key not in nodes]
            if strict and unknown:
                raise UnknownKey(unknown[0], tuple(nodes))
            known = ((key, node[1], plain[key]) for key, node in nodes.items() if key in plain)
            _put_each(known, values)

        return write, put


def _put_each(parts: Iterable[tuple[str | int, Put, Any]], values: dict[str, Any]) -> None:
    for key, put, plain in parts:
        try:
            put(plain, values)
        except Unfit as error:
            raise error.under(key) from None


def _leaves(layout: Any) -> Iterable[str]:
    if isinstance(layout, str):
        yield layout.removeprefix("*")
    else:
        for one in layout.values() if isinstance(layout, dict) else layout:
            yield from _leaves(one)


def _is_rest(layout: Any) -> bool:
    return isinstance(layout, str) and layout.startswith("*")


def _has_no_default(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.init and field.default is missing and field.default_factory is missing


_STATE = Codec()
dump, load, fill = _STATE.dump, _STATE.load, _STATE.fill
"""For state in the store: unknown keys, which a newer version may have written, are ignored."""


def load_or_new(cls: type[T], plain: Any) -> T:
    """An instance of ``cls`` from ``plain``; one with defaults when that cannot be read."""
    try:
        return load(cls, plain)
    except Unfit:
        return cls()
