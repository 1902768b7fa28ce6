"""Single files at the level of structure: whole ones, and every way to damage one."""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.checkpoints.formats import recognise
from middlewatch.daemon.checkpoints.verify import levels, structure

Copy = Callable[[str], Path]
FILES = {
    "ckpt.pt": ("torch", 2000.0),
    "legacy_step_40.pt": ("torch", 40.0),
    "epoch=3-step=4000.ckpt": ("lightning", 4000.0),
    "model.safetensors": ("safetensors", None),
}
PAGE = 4096


def damaged(data: bytes, how: str) -> bytes:
    whole = len(data) // PAGE * PAGE
    return {
        "one byte short": data[:-1],
        "half": data[: len(data) // 2],
        "last pages lost": data[: whole - 2 * PAGE] + bytes(len(data) - whole + 2 * PAGE),
        "empty": b"",
        "all zero": bytes(len(data)),
        "first byte": bytes([data[0] ^ 0x40]) + data[1:],
        "header": data[:20] + bytes([data[20] ^ 0xFF]) + data[21:],
        "first page lost": bytes(PAGE) + data[PAGE:],
        "one byte more": data + b"x",
    }[how]


@pytest.mark.parametrize("name", FILES)
def test_whole_files_are_ok(made: Path, name: str) -> None:
    kind, step = FILES[name]
    verdict = structure.check(str(made / name))
    assert (verdict.state, verdict.detail, verdict.level) == ("ok", "", "structure")
    assert (verdict.format, verdict.progress.step) == (kind, step)
    assert (verdict.bytes, verdict.files) == ((made / name).stat().st_size, 1)
    assert recognise.recognise(str(made / name)) == kind


@pytest.mark.parametrize(
    "how",
    [
        "one byte short",
        "half",
        "last pages lost",
        "empty",
        "all zero",
        "first byte",
        "header",
        "first page lost",
        "one byte more",
    ],
)
@pytest.mark.parametrize("name", FILES)
def test_damaged_files_are_corrupt(copy: Copy, name: str, how: str) -> None:
    path = copy(name)
    path.write_bytes(damaged(path.read_bytes(), how))
    verdict = structure.check(str(path))
    assert verdict.state == "corrupt"
    assert len(verdict.detail) > 10
    if how == "all zero":
        assert verdict.detail == structure.ZEROES


@pytest.mark.parametrize("name", FILES)
def test_every_cut_near_the_end_is_seen(copy: Copy, name: str) -> None:
    path = copy(name)
    data = path.read_bytes()
    for missing in (1, 2, 21, 22, 23, 76, 98, 100, 500, 4096):
        path.write_bytes(data[:-missing])
        assert structure.check(str(path)).state == "corrupt", missing


def test_one_damaged_byte_in_any_header_of_an_archive(copy: Copy) -> None:
    path = copy("ckpt.pt")
    data = path.read_bytes()
    for record in zipfile.ZipFile(io.BytesIO(data)).infolist():
        for offset in (0, 9, 30):  # magic, method, name
            at = record.header_offset + offset
            path.write_bytes(data[:at] + bytes([data[at] ^ 0x20]) + data[at + 1 :])
            assert structure.check(str(path)).state == "corrupt", (record.filename, offset)


def test_tensors_that_are_zero_are_no_loss(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    safe = pytest.importorskip("safetensors.torch")
    for rows in range(100, 116):
        weights = {"a": torch.ones(rows, 64), "b": torch.zeros(300, 64)}
        safe.save_file(weights, tmp_path / "lora.safetensors")
        torch.save(weights, tmp_path / "lora.pt", _use_new_zipfile_serialization=False)
        assert structure.check(str(tmp_path / "lora.safetensors")).state == "ok"
        assert structure.check(str(tmp_path / "lora.pt")).state == "ok"


def test_checksums_switched_off_are_no_damage(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.serialization.set_crc32_options(False)
    try:
        torch.save({"w": torch.ones(10)}, tmp_path / "a.pt")
    finally:
        torch.serialization.set_crc32_options(True)
    assert structure.check(str(tmp_path / "a.pt")).state == "ok"


def test_a_storage_that_data_pkl_wants_is_missing(copy: Copy) -> None:
    path = copy("ckpt.pt")
    with zipfile.ZipFile(path) as whole:
        records = {i.filename: whole.read(i) for i in whole.infolist()}
    lost = next(name for name in records if name.endswith("/data/1"))
    with zipfile.ZipFile(path, "w") as smaller:
        for name, data in records.items():
            if name != lost:
                smaller.writestr(name, data)
    verdict = structure.check(str(path))
    assert verdict.state == "corrupt"
    assert lost in verdict.detail


def test_zip64_sizes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    with (
        zipfile.ZipFile(path, "w") as archive,
        archive.open("model/data.pkl", "w", force_zip64=True) as f,
    ):
        f.write(b"\x80\x02}q\x00X\x04\x00\x00\x00stepq\x01K\x07s.")
    assert structure.check(str(path)).progress.step == 7


class Bomb:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("new", [True, False])
def test_a_malicious_pickle_is_never_executed(tmp_path: Path, new: bool) -> None:
    torch = pytest.importorskip("torch")
    path, trap = tmp_path / "model.pt", tmp_path / "executed"
    torch.save({"bomb": Bomb(trap), "w": torch.ones(3)}, path, _use_new_zipfile_serialization=new)
    assert levels.describe(str(path))["state"] == "unverifiable"
    assert not trap.exists()
    torch.load(path, weights_only=False)
    assert trap.exists(), "the bomb must be a real one"


def test_names_that_lie(tmp_path: Path) -> None:
    (tmp_path / "notes.pt").write_text("remember the milk")
    (tmp_path / "step_1.npz").write_bytes(b"anything")
    (tmp_path / "model.bin").write_bytes(b"\x01\x02\x03\x04")
    (tmp_path / "pipe.pt").touch()
    os.unlink(tmp_path / "pipe.pt")
    os.mkfifo(tmp_path / "pipe.pt")
    assert structure.check(str(tmp_path / "notes.pt")).state == "corrupt"
    assert structure.check(str(tmp_path / "step_1.npz")).state == "unverifiable"
    assert structure.check(str(tmp_path / "model.bin")).state == "unverifiable"
    assert structure.check(str(tmp_path / "pipe.pt")).state == "unverifiable"
    assert structure.check(str(tmp_path / "gone.pt")).state == "incomplete"


def test_a_whole_file_under_a_temporary_name_is_incomplete(copy: Copy) -> None:
    path = copy("ckpt.pt")
    verdict = structure.check(str(path.rename(path.with_name("ckpt.pt.tmp"))))
    assert verdict.state == "incomplete"


@pytest.mark.parametrize(
    "header",
    [
        {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}},
        {"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 8]}},
        {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0]}},
        {"a": {"dtype": "F32", "shape": 2, "data_offsets": [0, 8]}},
        {"a": None},
        {"a": {"dtype": "F32", "shape": [1 << 62, 1 << 62], "data_offsets": [0, 8]}},
    ],
)
def test_safetensors_headers_that_contradict_themselves(tmp_path: Path, header: object) -> None:
    text = json.dumps(header).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"12345678")
    assert structure.check(str(path)).state == "corrupt"


BEGINNINGS = st.sampled_from(
    [b"", b"PK\x03\x04", b"PK\x05\x06", recognise.LEGACY_MAGIC, b"\x80\x02", b"\x10\0\0\0\0\0\0\0{"]
)


@given(
    BEGINNINGS,
    st.binary(max_size=200),
    st.sampled_from(["a.pt", "a.safetensors", "a.bin", "model.safetensors.index.json", "x"]),
)
def test_any_bytes_get_a_verdict(tmp_path: Path, start: bytes, rest: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(start + rest)
    assert levels.describe(str(path))["state"] in ("corrupt", "incomplete", "unverifiable", "ok")
    recognise.recognise(str(path))


@given(
    name=st.sampled_from([*FILES]),
    edits=st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=8),
    cut=st.integers(0, 200),
)
def test_any_damage_gets_a_verdict(
    made: Path, tmp_path: Path, name: str, edits: list[tuple[int, int]], cut: int
) -> None:
    data = bytearray((made / name).read_bytes())
    for at, value in edits:
        data[-(at % min(len(data), 3000))] = value
        data[at % min(len(data), 3000)] = value
    path = tmp_path / name
    path.write_bytes(data[: len(data) - cut])
    json.dumps(levels.describe(str(path)), allow_nan=False)
