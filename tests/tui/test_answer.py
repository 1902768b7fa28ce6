"""Nothing from a box reaches the terminal as a command, and nothing misshapen raises."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len, get_character_cell_size

from middlewatch.tui import answer

ODD = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            "\x1b\x9b\x9d\x07[];?mHJ\r\n\t\x00\x7f\u202e\u200d\ufe0f\u0301\ud800👍🏽🇩中"
        ),
    )
)


@given(ODD)
def test_a_cleaned_text_is_printable_and_as_wide_as_its_characters(raw: str) -> None:
    shown = answer.clean(raw)
    assert shown.replace("\u3000", "").replace("\xa0", "").isprintable() or not shown.isascii()
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in shown)
    shown.encode()
    assert cell_len(shown) == sum(map(get_character_cell_size, shown))


def test_every_character_there_is_keeps_its_width_in_company() -> None:
    kept = "".join(
        answer.clean(chr(n)) for n in range(sys.maxunicode + 1) if n not in range(0xAC00, 0xD7A4)
    )
    pairs = answer.clean("a👍")
    assert cell_len(pairs) == 3
    for start in range(0, len(kept), 400):
        piece = kept[start : start + 400]
        assert cell_len(piece) == sum(map(get_character_cell_size, piece))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mError\x1b[0m: x", "Error: x"),
        ("\x1b]0;owned\x07title", "title"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP+q544e\x1b\\dcs", "dcs"),
        ("\x9b2Jgone", "gone"),
        ("\x1bcreset \x1b(0box", "reset box"),
        ("unfinished \x1b[31", "unfinished 31"),
        (" 10%|#   |\r 20%|##  |", " 20%|##  |"),
        ("line\r\n", "line"),
        ("a\tb\x00c\x08d", "a    b?c?d"),
        ("损失 2.31", "损失 2.31"),
        ("e\u0301", "é"),
        ("evil\u202etxt.exe\u2066", "eviltxt.exe"),
        ("\ud800", "?"),
    ],
)
def test_cleaning(raw: str, shown: str) -> None:
    assert answer.clean(raw) == shown


def test_a_huge_line_costs_no_more_than_a_long_one() -> None:
    assert len(answer.clean("é" * 10_000_000)) == answer.LONGEST
    assert len(answer.clean("\x1b]" * 10_000_000)) <= answer.LONGEST


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1, 1.0),
        (2.5, 2.5),
        ("inf", math.inf),
        ("-inf", -math.inf),
        (10**400, math.inf),
        (-(10**400), -math.inf),
        (None, None),
        (True, None),
        ("1", None),
        ("NaN", None),
        ((), None),
    ],
)
def test_numbers(value: object, number: float | None) -> None:
    assert answer.as_number(value) == number


def test_nan_is_a_number_and_a_size_is_not_nan() -> None:
    found = {"x": "nan"}
    assert math.isnan(answer.number(found, "x") or 0.0)
    assert answer.finite(found, "x") is None


@pytest.mark.parametrize("bad", [None, 7, "yesterday", "", [], "9999-12-31T23:59:59-23:59"])
def test_times_that_are_none(bad: object) -> None:
    at = answer.epoch({"at": bad}, "at")
    assert at is None or at > 0


def test_times_with_every_kind_of_zone() -> None:
    hours = ("2026-03-01T02:00:00+02:00", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00.000")
    assert {answer.epoch({"at": at}, "at") for at in hours} == {1772323200.0}
    zoned = answer.moment({"at": hours[0]}, "at")
    assert zoned is not None
    assert f"{zoned:%H:%M}" == "02:00"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.just("k"), JSON))
def test_no_shape_raises(found: dict[str, object]) -> None:
    assert isinstance(answer.text(found, "k"), str)
    assert all(isinstance(t, str) for t in (*answer.texts(found, "k"), *answer.lines(found, "k")))
    assert isinstance(answer.number(found, "k"), (float, type(None)))
    assert isinstance(answer.epoch(found, "k"), (float, type(None)))
    assert isinstance(answer.record(found, "k"), dict)
    assert all(isinstance(r, dict) for r in answer.records(found, "k"))
