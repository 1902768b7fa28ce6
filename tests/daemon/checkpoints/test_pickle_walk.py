from __future__ import annotations

import contextlib
import os
import pickle
import pickletools
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.checkpoints.formats import pickle_walk
from middlewatch.daemon.checkpoints.formats.pickle_symbols import TooLong

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(plain, st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_every_pickle_is_walked_to_its_end(value: Any, protocol: int) -> None:
    data = pickle.dumps(value, protocol)
    assert pickle_walk.walk(data + b"more").end == len(data)


@given(st.binary(max_size=300))
def test_any_bytes_end_or_are_refused(data: bytes) -> None:
    with contextlib.suppress(ValueError, TooLong):
        assert pickle_walk.walk(data).end <= len(data)


@pytest.mark.parametrize("protocol", range(1, pickle.HIGHEST_PROTOCOL + 1))
def test_counters_of_the_outermost_dict_only(protocol: int) -> None:
    nested = {"optimizer": {"step": 7, "epoch": 1}, "items": [1, 2, ("epoch", 5)]}
    value = {"model": OrderedDict(w=1), **nested, "iter_num": 2000, "epoch": 3.5, "lr": 0.1}
    assert pickle_walk.walk(pickle.dumps(value, protocol)).counters == {
        "iter_num": 2000,
        "epoch": 3.5,
    }


def test_cut_anywhere_is_refused() -> None:
    data = pickle.dumps({"step": 1, "text": "x" * 300, "list": list(range(300))})
    for length in range(len(data)):
        with pytest.raises(ValueError, match="pickle"):
            pickle_walk.walk(data[:length])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x02N",
        b"\xffN.",
        b"\x80\x02Mx",
        b"\x80\x02X\xff\xff\xff\xffabc.",
        b"\x80\x02T\xff\xff\xff\xffabc.",
        b"\x80\x02\x8b\xff\xff\xff\xff.",
        b"\x80\x04\x8e" + b"\xff" * 8 + b".",
        b"\x80\x02X\x02\x00\x00\x00\xc3(.",
        b"V\\ud8\n.",
        b"Sabc\n.",
        b"S'abc\n.",
        b"S'\\x'\n.",
        b"Iten\n.",
        b"L1.5L\n.",
        b"Fsmall\n.",
        b"I" + b"9" * 100_000 + b"x\n.",
        b"cos.path\n.",
        b"h\x00.",
        b"gx\n.",
        b"q\x00.",
        b"\x94.",
        b"\x85.",
        b"K\x01t.",
        b"(o.",
        b"(l\x93.",
        b"K\x01K\x02\x93.",
        b".",
    ],
)
def test_what_is_no_pickle_is_refused_in_short_words(data: bytes) -> None:
    with pytest.raises(ValueError, match="pickle") as caught:
        pickle_walk.walk(data)
    assert len(str(caught.value)) < 200


def test_a_class_that_pickletools_cannot_read_is_no_damage() -> None:
    kind = type("Netz\u00e9", (), {"__module__": __name__})
    globals()[kind.__name__] = kind
    try:
        data = pickle.dumps(kind(), 3)
        assert pickle_walk.walk(pickle.dumps(kind(), 4)).globals == (f"{__name__}.Netz\u00e9",)
    finally:
        del globals()[kind.__name__]
    try:
        list(pickletools.genops(data))
    except UnicodeDecodeError:  # until Python 3.13.4
        with pytest.raises(TooLong, match="not followed"):
            pickle_walk.walk(data)
    else:
        assert pickle_walk.walk(data).globals == (f"{__name__}.Netz\u00e9",)


def test_half_of_a_surrogate_pair_does_not_come_through() -> None:
    root = pickle_walk.walk(pickle.dumps({"a\ud800": 1}, 2)).root
    assert root == {"a?": 1}


class Bomb:
    """Unpickling this creates a folder."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.path,)


def test_nothing_is_executed(tmp_path: Path) -> None:
    target = tmp_path / "executed"
    data = pickle.dumps({"step": 3, "bomb": Bomb(str(target))})
    assert pickle_walk.walk(data).counters == {"step": 3}
    assert not target.exists()
    pickle.loads(data)
    assert target.exists(), "the bomb must be a real one"
