"""NaN and infinity in every type, at every place, however the file is cut into pieces."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.checkpoints.formats.extents import TensorAt
from middlewatch.daemon.checkpoints.verify.nonfinite import NotFinite, Numbers

ONE, NAN, PLUS, MINUS, ZERO = "one", "nan", "+inf", "-inf", "zero"
BITS: dict[str, dict[str, bytes]] = {
    name: {key: number.to_bytes(width, "little") for key, number in values.items()}
    for name, width, values in (
        ("float64", 8, {ONE: 0x3FF << 52, NAN: 0x7FF8 << 48, PLUS: 0x7FF << 52, MINUS: 0xFFF << 52, ZERO: 1 << 63}),
        ("float32", 4, {ONE: 0x3F800000, NAN: 0xFFC00001, PLUS: 0x7F800000, MINUS: 0xFF800000, ZERO: 0}),
        ("float16", 2, {ONE: 0x7BFF, NAN: 0x7C01, PLUS: 0x7C00, MINUS: 0xFC00, ZERO: 0x8000}),
        ("bfloat16", 2, {ONE: 0xFF7F, NAN: 0xFF81, PLUS: 0x7F80, MINUS: 0xFF80, ZERO: 0}),
        ("float8_e5m2", 1, {ONE: 0x7B, NAN: 0x7D, PLUS: 0x7C, MINUS: 0xFC, ZERO: 0x80}),
        ("float8_e4m3fn", 1, {ONE: 0x7E, NAN: 0xFF, ZERO: 0}),
        ("float8_e4m3fnuz", 1, {ONE: 0x7F, NAN: 0x80, ZERO: 0}),
        ("float8_e5m2fnuz", 1, {ONE: 0xFF, NAN: 0x80, ZERO: 0}),
        ("float8_e8m0fnu", 1, {ONE: 0x00, NAN: 0xFF}),
    )
}  # fmt: skip
BITS |= {
    "complex32": {k: BITS["float16"][ZERO] + v for k, v in BITS["float16"].items()},
    "complex64": {k: v + BITS["float32"][ONE] for k, v in BITS["float32"].items()},
    "complex128": {k: BITS["float64"][ONE] + v for k, v in BITS["float64"].items()},
}
INFINITE = [name for name, values in BITS.items() if PLUS in values]


def at(name: str, dtype: str, start: int, count: int, *, weight: bool = True) -> TensorAt:
    width = len(BITS[dtype][ONE])
    return TensorAt(name, dtype, start, count * width, scalar=count == 1, weight=weight)


def found(tensors: Sequence[TensorAt], data: bytes, borders: Sequence[int] = ()) -> list[NotFinite]:
    numbers = Numbers(tensors)
    edges = sorted({0, len(data), *(border for border in borders if 0 < border < len(data))})
    for start, end in itertools.pairwise(edges):
        numbers.feed(start, memoryview(data)[start:end])
    return list(numbers.found())


@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("place", [0, 5, 999])
@pytest.mark.parametrize("start", [0, 3, 64])
def test_one_nan(dtype: str, place: int, start: int) -> None:
    values = [BITS[dtype][ONE]] * 1000
    tensors = [at("w", dtype, start, 1000)]
    good = b"\xff" * start + b"".join(values) + b"\xff" * 40
    assert found(tensors, good) == []
    values[place] = BITS[dtype][NAN]
    bad = b"\xff" * start + b"".join(values) + b"\xff" * 40
    assert found(tensors, bad) == [NotFinite("w", 1, 0, 1000, bad=True)]
    assert str(found(tensors, bad)[0]) == "w (1 of 1000 NaN)"


@pytest.mark.parametrize("dtype", INFINITE)
@pytest.mark.parametrize("which", [PLUS, MINUS])
def test_infinity(dtype: str, which: str) -> None:
    bits = BITS[dtype]
    data = bits[ONE] * 7 + bits[which] * 2 + bits[ZERO]
    assert found([at("w", dtype, 0, 10)], data) == [NotFinite("w", 0, 2, 10, bad=True)]
    (alone,) = found([at("w", dtype, 0, 1)], bits[which])
    assert not alone.bad, "a scalar may be infinite: a best loss that is not set"
    (remark,) = found([at("w", dtype, 0, 10, weight=False)], data)
    assert not remark.bad
    assert not remark.mask


@pytest.mark.parametrize("dtype", [name for name in INFINITE if "complex" not in name])
@pytest.mark.parametrize("border", [0, 1, 40, 63])
def test_masks(dtype: str, border: int) -> None:
    bits = BITS[dtype]
    width = len(bits[ONE])
    mask = bits[MINUS] * 10 + bits[ZERO] * 40 + bits[MINUS] * 14
    (found_one,) = found([at("causal", dtype, 0, 64)], mask, [border * width])
    assert (found_one.bad, found_one.mask) == (False, True)
    for odd in (bits[ONE] + mask[width:], mask[:-width] + bits[PLUS]):
        (found_one,) = found([at("w", dtype, 0, 64)], odd, [border * width, 30 * width])
        assert found_one.bad
        (named,) = found([at("attn.Mask", dtype, 0, 64)], odd)
        assert not named.bad
    with_nan = mask[:-width] + bits[NAN]
    assert found([at("attn.mask", dtype, 0, 64)], with_nan)[0].bad


def test_a_nan_in_a_scalar_is_bad() -> None:
    assert found([at("w", "float32", 0, 1)], BITS["float32"][NAN])[0].bad
    (best,) = found([at("best", "float32", 0, 1, weight=False)], BITS["float32"][NAN])
    assert not best.bad


def test_very_large_numbers_are_finite() -> None:
    data = struct.pack("<4f", 3e38, -3e38, 1e30, 0)
    assert found([at("w", "float32", 0, 4)], data) == []
    data = struct.pack("<3d", 1e308, -1e308, 1e-320)
    assert found([at("w", "float64", 0, 3)], data) == []


def test_what_lies_outside_of_every_tensor_is_nothing() -> None:
    bits = BITS["float32"]
    data = bits[NAN] + bits[ONE] * 8 + bits[NAN] + bits[ONE] * 4 + bits[NAN]
    tensors = [at("a", "float32", 4, 8), at("b", "float32", 40, 4)]
    assert found(tensors, data) == []
    assert found([], data) == []


def test_tensors_that_share_numbers() -> None:
    bits = BITS["float32"]
    values = [bits[ONE]] * 100
    values[30], values[31], values[90] = bits[NAN], bits[NAN], bits[PLUS]
    tensors = [
        at("tied", "float32", 0, 100),
        at("whole", "float32", 0, 100),
        at("head", "float32", 0, 31),
        at("tail", "float32", 31 * 4, 69),
        at("middle", "float32", 40 * 4, 50),
    ]
    for borders in ([], [120, 124, 200], [121, 126]):
        counts = {f.name: (f.nan, f.inf) for f in found(tensors, b"".join(values), borders)}
        assert counts == {"tied": (2, 1), "whole": (2, 1), "head": (1, 0), "tail": (1, 1)}


def test_a_mask_beside_weights_of_one_storage() -> None:
    bits = BITS["float32"]
    data = bits[ONE] * 20 + bits[MINUS] * 5 + bits[ZERO] * 5
    tensors = [
        at("all", "float32", 0, 30),
        at("m", "float32", 80, 10),
        at("ones", "float32", 40, 12),
        at("zeroes", "float32", 100, 5),
    ]
    for borders in ([], [40, 84, 88], [2, 83, 111]):
        counts = {f.name: (f.inf, f.bad) for f in found(tensors, data, borders)}
        assert counts == {"all": (5, True), "m": (5, False), "ones": (2, True)}


def test_one_range_read_as_two_types() -> None:
    data = struct.pack("<4I", 0x3F803F80, 0x7F800000, 0, 0)  # an infinity, whichever way
    tensors = [at("a", "float32", 0, 4), at("b", "bfloat16", 0, 8)]
    assert {f.name: f.inf for f in found(tensors, data)} == {"a": 1, "b": 1}


def test_the_parts_of_one_tensor_are_one_tensor() -> None:
    nan, one = BITS["float32"][NAN], BITS["float32"][ONE]
    rows = [TensorAt("v", "float32", 8 * n, 4, of="v") for n in range(3)]
    chunks = [TensorAt(f"w[{n},0]", "float32", 8 * n + 4, 4, of="w") for n in range(3)]
    tensors = [*rows, *chunks, at("x", "float32", 24, 1)]
    data = nan + one + nan + nan + one + nan + one
    assert found(tensors, data) == [
        NotFinite("v", 2, 0, 3, bad=True),
        NotFinite("w", 2, 0, 3, bad=True, chunk=True),
    ]
    numbers = Numbers(tensors)
    assert (numbers.total, numbers.chunked) == (2, {"w"})


def test_one_element_of_a_larger_tensor_is_no_scalar() -> None:
    part = TensorAt("v", "float32", 0, 4, of="v")
    (told,) = found(
        [part, TensorAt("v", "float32", 4, 4, of="v")], BITS["float32"][PLUS] + BITS["float32"][ONE]
    )
    assert told == NotFinite("v", 0, 1, 2, bad=True)


@given(
    dtype=st.sampled_from(sorted(BITS)),
    start=st.integers(0, 20),
    gap=st.integers(0, 9),
    values=st.lists(st.sampled_from([ONE, NAN, PLUS, MINUS, ZERO]), min_size=1, max_size=40),
    borders=st.lists(st.integers(0, 700), max_size=12),
)
def test_pieces_come_to_the_same_as_the_whole(
    dtype: str, start: int, gap: int, values: list[str], borders: list[int]
) -> None:
    bits = BITS[dtype]
    body = b"".join(bits.get(value, bits[ONE]) for value in values)
    width = len(bits[ONE])
    half = len(values) // 2
    data = b"\xff" * start + body + b"\xff" * gap + body
    again = start + len(body) + gap
    tensors = [
        at("first", dtype, start, len(values)),
        at("front", dtype, start, max(half, 1)),
        at("back", dtype, start + half * width, len(values) - half),
        at("second", dtype, again, len(values)),
    ]
    whole = found(tensors, data)
    assert found(tensors, data, borders) == whole
    assert found(tensors, data, range(len(data))) == whole
    counts = {f.name: (f.nan, f.inf) for f in whole}
    want = (
        values.count(NAN) if NAN in bits else 0,
        values.count(PLUS) + values.count(MINUS) if PLUS in bits else 0,
    )
    for name in ("first", "second"):
        assert counts.get(name, (0, 0)) == want


@given(st.binary(min_size=8, max_size=400), st.sampled_from([np.float16, np.float32, np.float64]))
def test_like_numpy(data: bytes, kind: type) -> None:
    width = np.dtype(kind).itemsize
    array: np.ndarray[Any, Any] = np.frombuffer(data[: len(data) // width * width], kind)
    tensor = TensorAt("w", np.dtype(kind).name, 0, len(data) // width * width)
    nan, inf = int(np.isnan(array).sum()), int(np.isinf(array).sum())
    counts = [(f.nan, f.inf) for f in found([tensor], data)]
    assert counts == ([(nan, inf)] if nan or inf else [])
