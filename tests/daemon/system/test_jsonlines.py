from __future__ import annotations

import contextlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.system import jsonlines

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def forbid(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


@given(ANYTHING)
def test_whatever_is_written_is_strict_json(value: object) -> None:
    json.loads(jsonlines.dumps(value), parse_constant=forbid)


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), ANYTHING, max_size=3))
def test_a_line_is_one_line(message: dict[str, object]) -> None:
    line = jsonlines.encode(message)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert set(jsonlines.decode(line)) == set(message)


def test_numbers_that_are_not_finite_become_words() -> None:
    value = {"a": [math.nan, {"b": math.inf}], "c": (-math.inf, 1.5), "d": {2.0}}
    assert json.loads(jsonlines.dumps(value)) == {
        "a": ["nan", {"b": "inf"}],
        "c": ["-inf", 1.5],
        "d": [2.0],
    }


def test_bytes_that_were_no_text_do_not_break_the_line() -> None:
    assert jsonlines.dumps({"path": "/data/\udcff.pt"}) == '{"path": "/data/?.pt"}'


def test_chinese_stays_readable() -> None:
    assert jsonlines.dumps("损失是 NaN") == '"损失是 NaN"'


@pytest.mark.parametrize(
    "line", [b"", b"\xff\xfe", b"{", b"[]", b"3", b'"x"', b"null", b"[" * 100_000, b'{"a":' * 9999]
)
def test_garbage_is_a_value_error(line: bytes) -> None:
    with pytest.raises(ValueError):
        jsonlines.decode(line)


@given(st.binary(max_size=60))
def test_any_line_is_an_object_or_a_value_error(line: bytes) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(jsonlines.decode(line), dict)
