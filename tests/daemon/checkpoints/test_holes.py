"""Files with holes: pages that were never written, and zeroes that a file system did not store."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from middlewatch.daemon.checkpoints.formats.bounded_file import BoundedFile
from middlewatch.daemon.checkpoints.verify import structure

PAGE = 4096


@pytest.fixture(autouse=True)
def _holes_are_told(tmp_path: Path) -> None:
    probe = tmp_path / "probe"
    with probe.open("wb") as file:
        file.truncate(16 * PAGE)
        if os.lseek(file.fileno(), 0, os.SEEK_HOLE) != 0:
            pytest.skip("this file system does not tell where holes are")
    probe.unlink()


def sparse(path: Path, data: bytes, holes: list[tuple[int, int]]) -> Path:
    """``data`` with these ranges never written."""
    at = 0
    with path.open("wb") as file:
        for start, end in (*holes, (len(data), len(data))):
            file.seek(at)
            file.write(data[at:start])
            at = end
        file.truncate(len(data))
    return path


def tensors(*arrays: np.ndarray) -> tuple[bytes, int]:
    """A safetensors file of float32 tensors, and where their data begins."""
    head, at = {}, 0
    for number, array in enumerate(arrays):
        span = [at, at + array.nbytes]
        head[f"t{number}"] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": span}
        at = span[1]
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(a.tobytes() for a in arrays), 8 + len(
        text
    )


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).normal(size=shape).astype("f4")


@pytest.mark.parametrize("pages", [(3, 4), (5, 60), (20, 21)])
def test_pages_that_were_never_written(tmp_path: Path, pages: tuple[int, int]) -> None:
    data, _ = tensors(noise(64, 1000))
    path = sparse(tmp_path / "m.safetensors", data, [(pages[0] * PAGE, pages[1] * PAGE)])
    found = structure.check(str(path))
    assert found.state == "incomplete"
    assert f"a hole of {(pages[1] - pages[0]) * PAGE} bytes at {pages[0] * PAGE}" in found.detail


def test_one_that_was_only_given_its_length(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    with path.open("wb") as file:
        file.truncate(1 << 20)
    found = structure.check(str(path))
    assert (found.state, "only given its length" in found.detail) == ("incomplete", True)
    path.write_bytes(bytes(1 << 20))  # zeroes that were written are damage of another kind
    assert structure.check(str(path)).state == "corrupt"


def test_zeroes_that_a_file_system_does_not_store_are_no_loss(tmp_path: Path) -> None:
    """A tensor that is zero, rows that no token has used, runs of any place and length: each page of zeroes
    is a hole, as ZFS and ``cp --sparse`` make them."""
    random = np.random.default_rng(11)
    holed = 0
    for number in range(120):
        arrays = [noise(40, 700), noise(64, 1024), noise(9000)]
        arrays[number % 3][:] = 0 if number % 5 == 0 else arrays[number % 3]
        unused = random.integers(0, 64, 20)
        arrays[1][unused] = 0
        start = int(random.integers(0, 4000))
        arrays[2][start : start + int(random.integers(1, 5000))] = 0
        data, _ = tensors(*arrays)
        empty = [
            (at, at + PAGE)
            for at in range(0, len(data) - PAGE, PAGE)
            if not any(data[at : at + PAGE])
        ]
        path = sparse(tmp_path / f"{number}.safetensors", data, empty)
        holed += bool(empty)
        assert path.read_bytes() == data
        assert structure.check(str(path)).state == "ok", (number, structure.check(str(path)).detail)
        path.unlink()
    assert holed > 100


def test_a_file_without_holes_has_none(tmp_path: Path) -> None:
    data, begin = tensors(noise(64, 1000))
    path = sparse(tmp_path / "m.safetensors", data, [])
    with BoundedFile(str(path)) as peek:
        assert (peek.lost_hole([begin]), peek.all_hole()) == ((0, 0), False)
