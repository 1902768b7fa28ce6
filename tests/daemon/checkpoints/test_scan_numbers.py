"""Numbers that are not finite in real files, and the memory that reading takes."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import xxhash

from middlewatch.daemon.checkpoints.verify import levels
from middlewatch.daemon.checkpoints.verify.reading import CHUNK
from middlewatch.daemon.checkpoints.verify.scan import Scan, Scanned

MOST_MORE_MB = 20.0
"""A huge file may take so much more than a file of one number. What Python and numpy take by
themselves depends on the machine: scripts/bench-checkpoints prints the whole."""
MOST_MORE_FOR_TABLES_MB = 100.0
"""A crowded one. Measured: 20 MB for 34,000 tensors in a safetensors file, 53 MB in a torch file,
45 MB for 12,000 in a distributed one. The verifier has 1 GiB."""


@pytest.fixture(scope="module")
def torch() -> ModuleType:
    module: ModuleType = pytest.importorskip("torch")
    return module


def scanned(path: Path) -> Scanned:
    found = Scan(str(path)).advance()
    assert found is not None
    return found


def digest(path: Path) -> str:
    return str(xxhash.xxh3_128_hexdigest(path.read_bytes()))


DTYPES = [
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
]


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_nan_in_every_type_of_a_real_file(
    tmp_path: Path, torch: ModuleType, dtype: str, zipped: bool
) -> None:
    count = 2 * CHUNK // 4 + 100
    model = {
        "a": torch.ones(count).to(getattr(torch, dtype)),
        "b": torch.ones(77).to(getattr(torch, dtype)),
    }
    path = tmp_path / "a.pt"
    for place in (None, 0, count // 2, count - 1):
        if place is not None:
            model["a"][place] = float("nan")
        torch.save({"model": model}, path, _use_new_zipfile_serialization=zipped)
        found = scanned(path)
        if place is None:
            assert (found.state, found.level, found.detail) == ("ok", "finite", "")
        else:
            n = 1 + (place > 0) + (place == count - 1)
            assert (found.state, found.level) == ("corrupt", "finite")
            want = f"1 of 2 tensors is not finite: model.a ({n} of {count} NaN)"
            assert found.detail == want
            assert found.digest == f"xxh3:{digest(path)}"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_nan_in_safetensors(tmp_path: Path, torch: ModuleType, dtype: str) -> None:
    safe = pytest.importorskip("safetensors.torch")
    weights = {f"w{i}": torch.ones(1000).to(getattr(torch, dtype)) for i in range(6)}
    for name in ("w1", "w3", "w4", "w5"):
        weights[name][-1] = float("-inf")
    safe.save_file(weights, tmp_path / "model.safetensors")
    found = scanned(tmp_path / "model.safetensors")
    assert (found.state, found.level) == ("corrupt", "finite")
    assert found.detail == (
        "4 of 6 tensors are not finite: w1 (1 of 1000 infinite), w3 (1 of 1000 infinite), "
        "w4 (1 of 1000 infinite), …"
    )


@pytest.mark.parametrize("odd", [1, 2, 3])
@pytest.mark.parametrize("border", [CHUNK, 4 * CHUNK])
def test_a_nan_that_lies_across_two_pieces(tmp_path: Path, odd: int, border: int) -> None:
    """torch does not care where in a file a tensor begins, nor must we."""
    count = 5 * CHUNK // 4
    header = b'{"w":{"dtype":"F32","shape":[%d],"data_offsets":[0,%d]}}' % (count, 4 * count)
    header += b" " * ((odd - 8 - len(header)) % 4)
    start = 8 + len(header)
    assert start % 4 == odd
    data = bytearray(struct.pack("<f", 1.5) * count)
    place = (border - start) // 4
    data[4 * place : 4 * place + 4] = struct.pack("<f", float("nan"))
    path = tmp_path / "model.safetensors"
    path.write_bytes((start - 8).to_bytes(8, "little") + header + data)
    assert scanned(path).detail == f"1 of 1 tensors is not finite: w (1 of {count} NaN)"


def test_what_may_be_infinite(tmp_path: Path, torch: ModuleType) -> None:
    inf = float("inf")
    model = {
        "causal": torch.zeros(300, 300).masked_fill(torch.ones(300, 300).triu(1) > 0, -inf),
        "attn.mask": torch.full((9,), inf),
        "scale": torch.tensor(inf),
        "w": torch.ones(1000),
    }
    callbacks = {"best": {"scores": torch.tensor([inf, 1.0])}}
    torch.save({"model": model, "callbacks": callbacks}, tmp_path / "a.pt")
    found = scanned(tmp_path / "a.pt")
    assert (found.state, found.level) == ("ok", "finite")
    assert found.detail.startswith("not finite, but not counted as damage: ")
    assert "model.scale (1 of 1 infinite)" in found.detail
    assert "callbacks.best.scores (1 of 2 infinite)" in found.detail
    assert "mask" not in found.detail


def test_views_and_tied_weights(tmp_path: Path, torch: ModuleType) -> None:
    whole = torch.ones(100, 100)
    state = {"w": whole, "tied": whole, "row": whole[3], "across": whole.t()}
    whole[3, 7] = float("nan")
    torch.save(state, tmp_path / "a.pt")
    found = scanned(tmp_path / "a.pt")
    assert found.detail.startswith("4 of 4 tensors are not finite: ")
    whole[3, 7], whole[4, 7] = 1, float("nan")
    torch.save(state, tmp_path / "a.pt")
    assert scanned(tmp_path / "a.pt").detail.startswith("3 of 4 tensors are not finite: ")
    torch.save({"row": whole[3]}, tmp_path / "a.pt")
    assert scanned(tmp_path / "a.pt").state == "ok", "what no tensor shows is nobody's"


def assert_takes_little(path: Path, most_more_mb: float = MOST_MORE_MB) -> None:
    """Hardly more memory than the smallest file takes; a second look decides a doubtful one."""
    small = path.parent / "smallest.safetensors"
    header = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    small.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    for _ in range(2):
        more_mb = peak_mb(path) - peak_mb(small)
        if more_mb < most_more_mb:
            return
    pytest.fail(f"{more_mb:.0f} MB more")


def peak_mb(path: Path) -> float:
    """Memory that verifying takes, under the limits of the verifier."""
    code = (
        "import sys, resource\n"
        "from middlewatch.daemon.checkpoints.verify import levels, worker\n"
        "worker.limit_memory()\n"
        f"found = levels.describe({str(path)!r})\n"
        "assert found['level'] == 'finite', found\n"
        "print([line.split()[1] for line in open('/proc/self/status') if 'VmHWM' in line][0])\n"
    )
    return (
        int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        / 1024
    )


@pytest.fixture
def huge(tmp_path: Path) -> Iterator[Path]:
    """3 GiB of which the disk holds a few KiB."""
    path = tmp_path / "model.safetensors"
    header = b'{"w":{"dtype":"BF16","shape":[1610612736],"data_offsets":[0,3221225472]}}'
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        os.truncate(path, 8 + len(header) + (3 << 30))
        file.seek(0, os.SEEK_END)
        file.seek(-2, os.SEEK_CUR)
        file.write(b"\x80\x3f")
    yield path
    path.unlink()


def test_memory_for_a_large_file(huge: Path) -> None:
    assert_takes_little(huge)


def test_memory_for_very_many_tensors(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    names = [
        f"model.layers.{n // 1000}.mlp.experts.{n % 1000}.up_proj.weight" for n in range(34_000)
    ]
    entries = {
        name: {"dtype": "F32", "shape": [4, 4], "data_offsets": [64 * n, 64 * n + 64]}
        for n, name in enumerate(names)
    }
    header = json.dumps(entries, separators=(",", ":")).encode()
    body = struct.pack("<16f", *range(16)) * len(names)
    path.write_bytes(len(header).to_bytes(8, "little") + header + body)
    assert_takes_little(path, MOST_MORE_FOR_TABLES_MB)


@pytest.mark.slow
def test_memory_for_a_torch_file_with_very_many_tensors(tmp_path: Path, torch: ModuleType) -> None:
    model = {f"model.layers.{n // 20}.{n % 20}.w": torch.ones(16) for n in range(34_000)}
    torch.save({"model": model}, tmp_path / "a.pt")
    assert_takes_little(tmp_path / "a.pt", MOST_MORE_FOR_TABLES_MB)


@pytest.mark.slow
def test_memory_for_a_distributed_one_with_very_many_tensors(
    tmp_path: Path, torch: ModuleType
) -> None:
    dcp: Any = pytest.importorskip("torch.distributed.checkpoint")
    model = {f"layers.{n // 20}.{n % 20}.w": torch.ones(16) for n in range(6_000)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save(model, storage_writer=dcp.FileSystemWriter(tmp_path / "step_1"))
    assert_takes_little(tmp_path / "step_1", MOST_MORE_FOR_TABLES_MB)


def test_tensors_that_repeat_their_numbers_in_a_distributed_one(
    tmp_path: Path, torch: ModuleType
) -> None:
    dcp: Any = pytest.importorskip("torch.distributed.checkpoint")
    base = torch.ones(6)
    state = {"spread": base[:1].expand(6), "gaps": base[::5].expand(3, 2), "w": torch.ones(3)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save(state, storage_writer=dcp.FileSystemWriter(tmp_path / "step_1"))
    found = levels.describe(str(tmp_path / "step_1"))
    assert (found["state"], found["level"], found["detail"]) == ("ok", "finite", "")


def test_names_of_tensors_make_one_line_that_can_be_printed(tmp_path: Path) -> None:
    header = b'{"a\\nb\\ud800":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    path = tmp_path / "model.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + struct.pack("<f", float("nan")))
    assert scanned(path).detail == "1 of 1 tensors is not finite: a b? (1 of 1 NaN)"


def test_a_type_that_is_not_known_is_told_with_the_tensor(tmp_path: Path) -> None:
    header = b'{"w":{"dtype":"F3_ODD","shape":[4],"data_offsets":[0,4]}}'
    path = tmp_path / "model.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    found = levels.describe(str(path))
    assert found["state"] == "unverifiable"
    assert found["detail"] == "w is of a type that is not known here: 'F3_ODD'"
