"""Where the numbers of every tensor lie, against what the real libraries read back."""

from __future__ import annotations

import contextlib
import io
import struct
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.checkpoints.formats import torch_zip
from middlewatch.daemon.checkpoints.formats.bounded_file import BoundedFile, FileTooShort
from middlewatch.daemon.checkpoints.formats.contents import Contents, contents
from middlewatch.daemon.checkpoints.formats.dtypes import FLOATING
from middlewatch.daemon.checkpoints.formats.pickle_symbols import TooLong
from middlewatch.daemon.checkpoints.verify import structure

torch = pytest.importorskip("torch")
safe = pytest.importorskip("safetensors.torch")
DTYPES = [name for name in FLOATING if hasattr(torch, name)]


def of(path: Path) -> Contents:
    with BoundedFile(str(path)) as peek:
        return contents(peek, str(path))


def raw(tensor: Any) -> bytes:
    """The bytes of a contiguous tensor, whatever its type."""
    flat = tensor.detach().contiguous().reshape(-1)
    return bytes(flat.view(torch.uint8).tolist())


def numbers(dtype: str, *shape: int) -> Any:
    """A tensor of any type with bytes that tell where they are from."""
    count = torch.zeros(shape, dtype=torch.uint8).numel() * FLOATING[dtype]
    return (torch.arange(count) % 251).to(torch.uint8).view(getattr(torch, dtype)).reshape(shape)


def read_back(path: Path, found: Contents) -> dict[str, bytes]:
    data = path.read_bytes()
    return {t.name: data[t.start : t.start + t.bytes] for t in found.tensors}


@pytest.mark.parametrize("new", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_of_torch_is_found_where_it_lies(tmp_path: Path, dtype: str, new: bool) -> None:
    path = tmp_path / "a.pt"
    state: dict[str, Any] = {
        "model": {"w": numbers(dtype, 6, 5), "one": numbers(dtype, 1)},
        "step": 3,
    }
    state |= {"whole": torch.arange(7), "none": numbers(dtype, 0)}
    torch.save(state, path, _use_new_zipfile_serialization=new)
    found = of(path)
    assert {t.name: t.dtype for t in found.tensors} == {"model.w": dtype, "model.one": dtype}
    expected = {f"model.{name}": raw(tensor) for name, tensor in state["model"].items()}
    assert read_back(path, found) == expected
    assert {t.name: t.scalar for t in found.tensors} == {"model.w": False, "model.one": True}
    assert (found.unplaced, found.progress.step, found.progress.origin) == (0, 3, "checkpoint")
    assert structure.check(str(path)).state == "ok"


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in ("complex32", "complex128")])
def test_every_type_of_safetensors(tmp_path: Path, dtype: str) -> None:
    path = tmp_path / "a.safetensors"
    state = {"w": numbers(dtype, 6, 5), "none": numbers(dtype, 0), "n": torch.arange(4)}
    safe.save_file(state, path)
    found = of(path)
    assert [(t.name, t.dtype) for t in found.tensors] == [("w", dtype)]
    assert read_back(path, found) == {"w": raw(state["w"])}
    assert found.unplaced == 0


def test_views_ties_and_steps(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    large = torch.arange(100, dtype=torch.float32)
    tied = torch.ones(3, 4)
    state = {
        "part": large[10:20],
        "every": large[1::3],
        "turned": torch.arange(12, dtype=torch.float32).reshape(3, 4).T,
        "spread": torch.ones(1).expand(50),
        "a": tied,
        "b": tied.view(4, 3),
        "p": torch.nn.Parameter(torch.full((2,), 5.0)),
    }
    torch.save(state, path)
    found = of(path)
    data = read_back(path, found)
    places = {t.name: t.start for t in found.tensors}
    assert data["part"] == raw(large[10:20])
    every = [found_at for found_at in found.tensors if found_at.name == "every"]
    begin = places["part"] - 40
    assert [t.start - begin for t in every] == [4 * n for n in range(1, 100, 3)]
    assert {t.bytes for t in every} == {4}
    assert data["turned"] == raw(torch.arange(12, dtype=torch.float32))
    assert data["spread"] == raw(torch.ones(1))
    assert data["p"] == raw(torch.full((2,), 5.0))
    assert places["a"] == places["b"]
    starts = [t.start for t in found.tensors]
    assert starts == sorted(starts)
    assert not any(t.scalar for t in found.tensors)


@pytest.mark.parametrize("new", [True, False], ids=["zip", "legacy"])
def test_numbers_between_those_of_a_view_are_not_its_own(tmp_path: Path, new: bool) -> None:
    path = tmp_path / "a.pt"
    nan = float("nan")
    base = torch.full((6, 10, 8), nan)
    base[1:5:2, :, 2:5] = torch.arange(60, dtype=torch.float32).reshape(2, 10, 3)
    view = base[1:5:2, :, 2:5].transpose(0, 2)
    torch.save({"view": view, "gone": base[:, 0, 0].expand(2, 6)}, path,
               _use_new_zipfile_serialization=new)  # fmt: skip
    found = of(path)
    data = path.read_bytes()
    parts = [t for t in found.tensors if t.name == "view"]
    numbers = {n for t in parts for n in struct.unpack_from(f"<{t.bytes // 4}f", data, t.start)}
    assert numbers == set(range(60))
    assert len(parts) == 20
    assert len([t for t in found.tensors if t.name == "gone"]) == 6
    assert structure.check(str(path)).state == "ok"
    torch.save({"many": torch.ones(300_000)[::2]}, path, _use_new_zipfile_serialization=new)
    assert (len(of(path).tensors), of(path).unplaced) == (0, 1)


def test_records_carry_their_checksums(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save({"w": torch.ones(1000), "v": torch.zeros(7)}, path)
    data = path.read_bytes()
    found = of(path)
    assert len([r for r in found.records if "/data/" in r.name]) == 2
    for record in found.records:
        assert zlib.crc32(data[record.start : record.start + record.bytes]) == record.crc
    torch.serialization.set_crc32_options(False)
    try:
        torch.save({"w": torch.ones(10)}, path)
    finally:
        torch.serialization.set_crc32_options(True)
    assert {r.crc for r in of(path).records if "data/" in r.name} == {None}


def test_sparse_quantized_modules_and_arrays(tmp_path: Path) -> None:
    import numpy as np

    path = tmp_path / "a.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantized = torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8)
    state = {
        "model": {"s": torch.eye(3).to_sparse(), "q": quantized, "module": torch.nn.Linear(3, 2)},
        "array": np.arange(5, dtype=np.float32),
        "best": np.float64(0.5),
    }
    torch.save(state, path, pickle_protocol=4)
    found = of(path)
    names = {t.name: t.bytes for t in found.tensors}
    assert names["model.module.weight"] == 24
    assert names["array"] == 20
    assert read_back(path, found)["array"] == state["array"].tobytes()
    assert any(n.startswith("model.s") and size == 12 for n, size in names.items())


def test_what_is_a_weight_and_what_is_only_remembered(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    one = torch.ones(2)
    state = {
        "state_dict": {"loss.weight": one + 0, "metrics.total": one + 0},
        "optimizer_states": [{"state": {0: {"exp_avg": one + 0}}}],
        "ema": {"w": one + 0},
        "generator": {"w": one + 0},
        "callbacks": {"EarlyStopping": {"best_score": torch.tensor(float("inf"))}},
        "loops": {"x": one + 0},
        "best_val_loss": torch.tensor(1.5),
        "epoch": 2,
        "rng_states": [one + 0],
    }
    torch.save(state, path)
    found = of(path)
    weights = {t.name.partition(".")[0] for t in found.tensors if t.weight}
    others = {t.name.partition(".")[0] for t in found.tensors if not t.weight}
    assert weights == {"state_dict", "optimizer_states", "ema", "generator"}
    assert others == {"callbacks", "loops", "best_val_loss", "rng_states"}
    assert found.progress.metrics == {"best_eval_loss": 1.5}
    torch.save({"loss.weight": one + 0, "metric.w": torch.ones(())}, path)
    assert all(t.weight for t in of(path).tensors)


def test_the_rows_of_a_distributed_checkpoint(made: Path, tmp_path: Path) -> None:
    dcp = pytest.importorskip("torch.distributed.checkpoint")
    state = {
        "model": {"w": torch.randn(4, 3, dtype=torch.bfloat16), "b": torch.ones(3)},
        "trainer": {"global_step": 12},
        "epoch": 2,
        "val_loss": torch.tensor(0.5),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save(state, storage_writer=dcp.FileSystemWriter(tmp_path / "c"))
    (path,) = (tmp_path / "c").glob("*.distcp")
    found = of(path)
    data = read_back(path, found)
    assert data["model.w"] == raw(state["model"]["w"])
    assert data["model.b"] == raw(state["model"]["b"])
    assert set(data) == {"model.w", "model.b", "val_loss"}
    assert [t.name for t in found.tensors if not t.weight] == ["val_loss"]
    whole = path.read_bytes()
    for record in found.records:
        assert zlib.crc32(whole[record.start : record.start + record.bytes]) == record.crc
    assert (found.progress.step, found.progress.epoch) == (12, 2)
    verdict = structure.check(str(tmp_path / "c"))
    assert (verdict.state, verdict.detail, verdict.format) == ("ok", "", "dcp")
    assert (verdict.progress.step, verdict.progress.epoch) == (12, 2)
    assert verdict.progress.metrics == {"eval_loss": 0.5}
    pickle = next(r for r in found.records if r.name == "model.w/archive/data.pkl")
    path.write_bytes(whole[: pickle.start] + bytes(9) + whole[pickle.start + 9 :])
    with pytest.raises(torch_zip.Malformed, match=r"model\.w"):
        of(path)
    (path.parent / ".metadata").unlink()
    assert of(path).unplaced == 1


def test_numpy_and_packed_archives(tmp_path: Path) -> None:
    import numpy as np

    arrays: dict[str, Any] = {"a": np.arange(6, dtype=np.float64).reshape(2, 3), "n": np.arange(3)}
    np.savez(tmp_path / "state.npz", **arrays)
    found = of(tmp_path / "state.npz")
    assert read_back(tmp_path / "state.npz", found) == {"a": arrays["a"].tobytes()}
    assert len(found.records) == 2
    np.savez_compressed(tmp_path / "packed.npz", **arrays)
    found = of(tmp_path / "packed.npz")
    assert {r.crc for r in found.records} == {None}
    assert "compressed" in found.notes[0]
    np.save(tmp_path / "one.npy", np.array([1, 2], np.float16))
    assert [t.bytes for t in of(tmp_path / "one.npy").tensors] == [4]


def test_big_endian_numbers_are_not_placed(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save({"w": torch.ones(2), "f": torch.ones(2).to(torch.float8_e5m2), "step": 3}, path)
    data = path.read_bytes()
    with zipfile.ZipFile(path) as whole:
        members = {i.filename: whole.read(i) for i in whole.infolist()}
    with zipfile.ZipFile(path, "w") as turned:
        for name, data in members.items():
            turned.writestr(name, b"big" if name.endswith("byteorder") else data)
    found = of(path)
    assert ([t.name for t in found.tensors], found.unplaced) == (["f"], 1)
    assert found.notes == ("its numbers are big-endian",)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """One small file of every form."""
    import numpy as np

    home = tmp_path_factory.mktemp("whole")
    state: dict[str, Any] = {
        "model": {"w": torch.ones(5), "v": torch.ones(9)[::3]},
        "step": torch.tensor(3),
    }
    torch.save(state, home / "a.pt")
    torch.save(state, home / "old.pt", _use_new_zipfile_serialization=False)
    safe.save_file({"w": torch.ones(5)}, home / "a.safetensors")
    np.savez(home / "state.npz", w=np.ones(3))
    np.save(home / "w.npy", np.ones(3))
    return {path.name: path.read_bytes() for path in home.iterdir()}


@given(
    name=st.sampled_from(["a.pt", "old.pt", "a.safetensors", "state.npz", "w.npy"]),
    edits=st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=8),
    cut=st.integers(0, 100),
)
def test_any_damage_is_told_as_such(
    whole: dict[str, bytes], tmp_path: Path, name: str, edits: list[tuple[int, int]], cut: int
) -> None:
    data = bytearray(whole[name])
    for at, value in edits:
        data[at % len(data)] = value
    path = tmp_path / name
    path.write_bytes(data[: len(data) - cut])
    with contextlib.suppress(torch_zip.Malformed, FileTooShort, TooLong):
        found = of(path)
        for tensor in found.tensors:
            assert 0 <= tensor.start <= tensor.start + tensor.bytes <= len(data)


@pytest.mark.parametrize("name", ["a.pt", "old.pt"])
def test_every_flipped_bit_of_the_structure_is_survived(
    whole: dict[str, bytes], tmp_path: Path, name: str
) -> None:
    data = whole[name]
    path = tmp_path / name
    for at in range(0, min(len(data), 1500), 3):
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :])
        with contextlib.suppress(torch_zip.Malformed, FileTooShort, TooLong):
            of(path)


def test_a_count_in_front_of_a_legacy_storage(whole: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "old.pt"
    data = whole["old.pt"]
    at = data.index(struct.pack("<Q5f", 5, 1, 1, 1, 1, 1))
    for bit in range(64):
        changed = (5 ^ (1 << bit)).to_bytes(8, "little")
        path.write_bytes(data[:at] + changed + data[at + 8 :])
        assert structure.check(str(path)).state == "corrupt"


@pytest.mark.parametrize("offset", [16, 28])
def test_a_local_header_that_sends_the_data_elsewhere(
    whole: dict[str, bytes], tmp_path: Path, offset: int
) -> None:
    path = tmp_path / "a.pt"
    data = bytearray(whole["a.pt"])
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        record = next(i for i in archive.infolist() if i.filename.endswith("data/0"))
    if offset == 28:
        data[record.header_offset + 29] ^= 0x10  # 4096 more bytes of extra field
    else:
        central = data.index(b"PK\x01\x02", record.header_offset)
        data[central + 20] ^= 1  # the packed size of a member that is not packed
    path.write_bytes(data)
    assert structure.check(str(path)).state == "corrupt"


def test_types_that_nobody_knows(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    safe.save_file({"w": torch.ones(5)}, path)
    path.write_bytes(path.read_bytes().replace(b'"F32"', b'"F3:"'))
    verdict = structure.check(str(path))
    assert (verdict.state, verdict.format) == ("unverifiable", "safetensors")
    assert "'F3:'" in verdict.detail
    with pytest.raises(TooLong):
        of(path)
