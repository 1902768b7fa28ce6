"""Plain values from classes and back."""

from __future__ import annotations

import json
import math
from collections import deque
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.sentinels.kit import Severity, codec
from middlewatch.sentinels.kit.codec import UNSAVED, Codec, Keyed, Unfit, UnknownKey


class Place(NamedTuple):
    step: float
    name: str = "here"


@dataclass
class Row:
    name: str
    low: float
    high: float
    rest: list[int] = field(default_factory=list)
    SAVED: ClassVar[Any] = ("name", ("low", "high", "*rest"))


@dataclass
class Many:
    word: Literal["a", "b"] = "a"
    whole: int = 0
    number: float = 0.0
    text: str = ""
    yes: bool = False
    raw: bytes = b""
    severity: Severity = Severity.INFO
    nobody: float | None = None
    pair: tuple[float, int | None] | None = None
    newest: deque[float] = field(default_factory=lambda: deque(maxlen=3))
    by_name: dict[str, list[float]] = field(default_factory=dict)
    by_number: dict[int, Place] = field(default_factory=dict)
    some: frozenset[str] = frozenset()
    rows: Annotated[dict[str, Row], Keyed("name")] = field(default_factory=dict)
    details: dict[str, object] = field(default_factory=dict)
    _hidden: int = 0
    away: int = field(default=0, metadata=UNSAVED)


numbers = st.floats()
rows = st.builds(Row, st.text(max_size=3), numbers, numbers, st.lists(st.integers(), max_size=2))
many = st.builds(
    Many,
    word=st.sampled_from(["a", "b"]),
    whole=st.integers(),
    number=numbers,
    text=st.text(max_size=4),
    yes=st.booleans(),
    raw=st.binary(max_size=4),
    severity=st.sampled_from(Severity),
    nobody=st.none() | numbers,
    pair=st.none() | st.tuples(numbers, st.none() | st.integers()),
    newest=st.lists(numbers, max_size=3).map(lambda some: deque(some, 3)),
    by_name=st.dictionaries(st.text(max_size=3), st.lists(numbers, max_size=3), max_size=2),
    by_number=st.dictionaries(st.integers(), st.builds(Place, numbers), max_size=2),
    some=st.frozensets(st.text(max_size=3), max_size=1),  # larger ones have no order to compare
    rows=st.lists(rows, max_size=2).map(lambda some: {one.name: one for one in some}),
    _hidden=st.integers(),
)


@given(many)
def test_what_is_written_is_read_again(value: Many) -> None:
    plain = json.loads(json.dumps(codec.dump(value), allow_nan=False))
    again = codec.load(Many, plain)
    assert repr(again) == repr(value)
    assert again.newest.maxlen == 3
    assert "away" not in plain
    assert plain["hidden"] == value._hidden


def test_a_set_is_written_in_order() -> None:
    plain = codec.dump(Many(some=frozenset("cab")))
    assert plain["some"] == ["a", "b", "c"]
    assert codec.load(Many, plain).some == frozenset("abc")


def test_the_shape_that_a_class_asks_for() -> None:
    assert codec.dump(Row("x", 1.0, math.inf, [3, 4])) == ["x", [1.0, "inf", 3, 4]]
    assert codec.load(Row, ["x", [1, "nan"], "of tomorrow"]).rest == []


@pytest.mark.parametrize(
    ("plain", "told"),
    [
        ({"whole": True}, "whole must be a whole number, not True"),
        ({"whole": 1.5}, "whole must be a whole number, not 1.5"),
        ({"number": "many"}, "number must be a number, not 'many'"),
        ({"number": 10**400}, "number must be a number, not 1"),
        ({"word": "c"}, "word is none of a, b"),
        ({"word": 3}, "word must be a text, not 3"),
        ({"by_name": {"x": [1, 2, []]}}, "by_name.x[2] must be a number, not a list"),
        ({"by_number": {"x": [1]}}, "by_number has a key that is no number"),
        ({"by_number": {"7": []}}, "by_number.7 must be a list of 2"),
        ({"rows": [["x", [1]]]}, "rows[0] lacks high"),
        ({"pair": [1]}, "pair must be a list of 2"),
        ({"raw": "\u20ac"}, "raw must be a text, not"),
        ({"severity": "grave"}, "severity is none of info, warning, critical"),
        ([], "must be a table, not a list"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(plain: Any, told: str) -> None:
    with pytest.raises(Unfit) as caught:
        codec.load(Many, plain)
    assert str(caught.value).startswith(told)


def test_keys_of_another_version() -> None:
    assert codec.load(Many, {"of tomorrow": [1]}) == Many()
    with pytest.raises(UnknownKey) as caught:
        Codec(strict=True).load(Many, {"wort": "a"})
    assert (caught.value.name, caught.value.path) == ("wort", ("wort",))
    assert "word" in caught.value.known


@dataclass
class Bounded:
    low: int = 0
    high: int = 9
    told: bool = field(default=False, metadata=UNSAVED)

    def restored(self) -> None:
        if self.low > self.high:
            raise ValueError("is upside down")
        self.told = True


def test_a_class_may_look_at_what_it_got() -> None:
    assert codec.load(Bounded, {"low": 3}).told
    with pytest.raises(Unfit, match="upside down"):
        codec.load(Bounded, {"low": 10})
    assert codec.load_or_new(Bounded, {"low": 10}) == Bounded()


def test_filling_is_all_or_nothing() -> None:
    value = Bounded(1, 2)
    codec.fill(value, {"high": 5})
    assert (value.low, value.high) == (1, 5)
    for plain in ({"low": 3, "high": "x"}, {"low": 7}):
        with pytest.raises(Unfit):
            codec.fill(value, plain)
        assert (value.low, value.high) == (1, 5)


@dataclass
class Odd:
    either: int | str = 0


def test_a_type_that_cannot_be_told_apart_is_a_bug() -> None:
    with pytest.raises(TypeError, match="either"):
        codec.dump(Odd())
