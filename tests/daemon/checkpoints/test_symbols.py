"""The pickle machine against hostile input: bounded work, bounded memory, nothing executed."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import struct
import subprocess
import sys
from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.checkpoints.formats import pickle_machine, pickle_walk
from middlewatch.daemon.checkpoints.formats.pickle_symbols import Blob, Opaque, Tensor, TooLong

keys = st.text(max_size=8) | st.integers() | st.booleans() | st.none()
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(plain, st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_data_is_what_it_would_be_when_loaded(value: Any, protocol: int) -> None:
    assert pickle_machine.read(pickle.dumps(value, protocol)).root == value


@given(plain, st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_shared_and_ordered_things(value: Any, protocol: int) -> None:
    shared = [value]
    data = pickle.dumps(OrderedDict(a=shared, b=(shared, defaultdict(list, c=shared))), protocol)
    root: Any = pickle_machine.read(data).root
    assert root == {"a": [value], "b": ([value], {"c": [value]})}
    assert root["a"] is root["b"][0]


@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    with contextlib.suppress(ValueError, TooLong):
        found = pickle_machine.read(data)
        assert found.end <= len(data)
        list(pickle_walk.tensors(found.root))


def model_pickle() -> bytes:
    """A data.pkl as torch writes it, without torch."""
    out = io.BytesIO()
    out.write(b"\x80\x02}q\x00(")
    for n in range(8):
        key = f"layer.{n}".encode()
        out.write(b"X" + struct.pack("<I", len(key)) + key)
        out.write(
            b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
        )
        out.write(
            b"X\x01\x00\x00\x00%dX\x03\x00\x00\x00cpuK\x06tQK\x00K\x02K\x03\x86K\x03K\x01\x86" % n
        )
        out.write(b"\x89ccollections\nOrderedDict\n)RtR")
    out.write(b"X\x04\x00\x00\x00stepK\x07u.")
    return out.getvalue()


def test_a_model() -> None:
    walk = pickle_walk.walk(model_pickle())
    found = dict(pickle_walk.tensors(walk.root))
    assert walk.storages == {str(n): 24 for n in range(8)}
    assert found["layer.3"] == found["layer.3"]
    tensor = found["layer.3"]
    assert tensor is not None
    assert (tensor.place, tensor.dtype, tensor.start, tensor.bytes) == ("3", "float32", 0, 24)
    assert walk.counters == {"step": 7}


@given(st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=6), st.integers(0, 400))
def test_mutated_models(edits: list[tuple[int, int]], cut: int) -> None:
    data = bytearray(model_pickle())
    for at, value in edits:
        data[at % len(data)] = value
    with contextlib.suppress(ValueError, TooLong):
        walk = pickle_walk.walk(bytes(data[: len(data) - cut]))
        for path, tensor in pickle_walk.tensors(walk.root):
            assert len(path) <= 300
            assert tensor is None or tensor.bytes >= 0


def bombs() -> dict[str, bytes]:
    """Pickles that are small, or shallow to write, and not to read."""
    mib = 1 << 20
    levels = b"".join(b"(" + b"h%c" % n * 9 + b"tq%c" % (n + 1) for n in range(1, 60))
    return {
        "it holds itself": b"\x80\x02]q\x00h\x00ah\x00a.",
        "a dict in itself": b"\x80\x02}q\x00(K\x01h\x00K\x02h\x00u.",
        "nine to the sixtieth": b"\x80\x02]q\x01" + levels + b".",
        "nested lists": b"\x80\x02" + b"](" * (mib // 2) + b"e" * (mib // 2) + b".",
        "nested tuples": b"\x80\x02)" + b"\x85" * mib + b".",
        "nested calls": b"\x80\x02cos\nsystem\n)R" + b")R" * mib + b".",
        "tuples as keys": b"\x80\x02}(" + b")" + b"\x85" * 300_000 + b"K\x01u.",
        "lists": b"\x80\x02" + b"]" * (4 * mib - 3) + b".",
        "marks": b"\x80\x02" + b"(" * (4 * mib - 3) + b".",
        "nothings": b"\x80\x02" + b"N" * (4 * mib - 3) + b".",
        "a string named again": b"\x80\x02X\x00\x00\x10\x00"
        + b"x" * mib
        + b"q\x00("
        + b"h\x00" * mib
        + b"t.",
        "deep names": b"\x80\x02X\x00\x10\x00\x00"
        + b"x" * 4096
        + b"q\x00"
        + b"}h\x00" * 9000
        + b"]"
        + b"s" * 9000
        + b".",
        "a memo": b"\x80\x04N" + b"\x94" * (4 * mib - 4) + b".",
        "a long number in text": b"I" + b"9" * (4 * mib - 4) + b"\n.",
        "a long number": b"\x80\x02\x8b\x00\x00\x10\x00" + b"\x7f" * mib + b".",
        "a promise of bytes": b"\x80\x04\x8e" + b"\xff" * 7 + b"\x7f.",
        "a frame": b"\x80\x04\x95" + b"\xff" * 8 + b".",
    }


MEASURED = """
import contextlib, sys, time
from middlewatch.daemon.checkpoints.formats import pickle_walk as pickles
from middlewatch.daemon.checkpoints.formats.pickle_symbols import TooLong
data = sys.stdin.buffer.read()
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if "VmHWM" in line)
before = peak()
began = time.process_time()
with contextlib.suppress(ValueError, TooLong):
    list(pickles.tensors(pickles.walk(data).root))
print(peak() - before, time.process_time() - began)
"""


@pytest.mark.parametrize("name", bombs())
def test_bombs_take_little(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURED],
        input=bombs()[name],
        capture_output=True,
        check=True,
        timeout=300,
    )
    kib, seconds = map(float, done.stdout.split())
    assert kib < 60_000
    assert seconds < 5


def tensor(
    key: str, count: int, size: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> bytes:
    """A pickle of one float32 tensor."""

    class Pickler(pickle.Pickler):
        def persistent_id(self, value: Any) -> Any:
            return value.args if isinstance(value, Pid) else None

    out = io.BytesIO()
    Pickler(out, 2).dump(
        Stub((Pid(("storage", FloatStorage, key, "cpu", count)), offset, size, stride, False, None))
    )
    data = out.getvalue()
    for ours, theirs in (
        (Stub.rebuild, b"torch._utils\n_rebuild_tensor_v2"),
        (FloatStorage, b"torch\nFloatStorage"),
    ):
        name = f"{ours.__module__}\n{ours.__qualname__}".encode()
        data = data.replace(name, theirs)
    return data


class FloatStorage:
    pass


def _rebuild(*args: Any) -> None:
    raise AssertionError


class Pid:
    def __init__(self, args: tuple[Any, ...]) -> None:
        self.args = args


class Stub:
    rebuild = staticmethod(_rebuild)

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.args = args

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, self.args


@pytest.mark.parametrize(
    ("size", "stride", "offset", "bytes_"),
    [
        ((2, 3), (3, 1), 4, 24),
        ((3, 2), (1, 3), 0, 24),
        ((), (), 5, 4),
        ((0, 9), (9, 1), 0, 0),
        ((50,), (0,), 0, 4),
        ((1 << 60, 1 << 60), (1 << 60, 1), 0, None),
    ],
)
def test_how_far_a_view_reaches(
    size: tuple[int, ...], stride: tuple[int, ...], offset: int, bytes_: int | None
) -> None:
    root = pickle_machine.read(tensor("k", 100, size, stride, offset)).root
    assert isinstance(root, Tensor)
    assert (root.place, root.start) == ("k", 4 * offset)
    assert bytes_ is None or root.bytes == bytes_
    assert root.scalar == (size == ())


class Bomb:
    """Unpickling this creates a folder."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_call_is_only_a_symbol(tmp_path: Path, protocol: int) -> None:
    target = str(tmp_path / "executed")
    root: Any = pickle_machine.read(pickle.dumps({"bomb": Bomb(target)}, protocol)).root
    assert isinstance(root["bomb"], Opaque)
    assert root["bomb"].made_by == "posix.mkdir"
    assert root["bomb"].args == (target,)
    assert not os.path.exists(target)


def test_bytes_are_left_where_they_lie() -> None:
    data = pickle.dumps({"raw": b"abc" * 100}, 4)
    root: Any = pickle_machine.read(data).root
    assert isinstance(root["raw"], Blob)
    assert data[root["raw"].start :][: root["raw"].bytes] == b"abc" * 100


SYNTHETIC = """
import struct, sys
from middlewatch.daemon.checkpoints.formats import pickle_walk as pickles
parts = [b"\\x80\\x02}q\\x00("]
for n in range(34000):
    name = b"model.layers.%d.mlp.experts.%d.weight" % (n // 256, n % 256)
    key = b"%d" % n
    parts.append(b"X" + struct.pack("<I", len(name)) + name + b"h\\x02((h\\x03h\\x04X")
    parts.append(struct.pack("<I", len(key)) + key + b"h\\x05M\\x00\\x10tQK\\x00M@\\x00K@\\x86K@K\\x01\\x86")
    parts.append(b"\\x89h\\x06)RtR")
parts[0] = (b"\\x80\\x02ctorch._utils\\n_rebuild_tensor_v2\\nq\\x020X\\x07\\x00\\x00\\x00storageq\\x030"
    b"ctorch\\nFloatStorage\\nq\\x040X\\x03\\x00\\x00\\x00cpuq\\x050ccollections\\nOrderedDict\\nq\\x060}(")
data = b"".join(parts) + b"u."
del parts
walk = pickles.walk(data)
assert len(walk.storages) == 34000
assert sum(1 for _ in pickles.tensors(walk.root)) == 34000
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def test_34000_tensors_fit_into_40_mb() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SYNTHETIC], capture_output=True, text=True, check=True, timeout=300
    )
    assert int(done.stdout) < 40_000
