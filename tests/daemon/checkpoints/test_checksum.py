"""Flipped bits, slices, and archives without checksums."""

from __future__ import annotations

import os
import pickle
import zipfile
from pathlib import Path

import pytest

from middlewatch.daemon.checkpoints import checksum, verifier_child, verify
from middlewatch.daemon.checkpoints.checksum import CHUNK, Place, check

RECORDS = 5


def archive(path: Path, size: int = 100_000, packed: bool = False) -> Path:
    """Records as torch.save names them."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as out:
        out.writestr("ckpt/data.pkl", pickle.dumps({"global_step": 3}, protocol=2))
        for number in range(RECORDS - 1):
            method = zipfile.ZIP_DEFLATED if packed and number == 1 else zipfile.ZIP_STORED
            out.writestr(f"ckpt/data/{number}", bytes([number + 1]) * size, method)
    return path


def flip(path: Path, part: float) -> None:
    with path.open("r+b") as file:
        file.seek(int(path.stat().st_size * part))
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 0x10]))


def test_a_good_archive(tmp_path: Path) -> None:
    found = check(str(archive(tmp_path / "a.pt")))
    assert (found.state, found.level, found.detail, found.place) == ("ok", "checksum", "", None)


@pytest.mark.parametrize("part", [0.1, 0.35, 0.6, 0.9])
def test_a_flipped_bit(tmp_path: Path, part: float) -> None:
    path = archive(tmp_path / "a.pt")
    flip(path, part)
    found = check(str(path))
    assert (found.state, found.level) == ("corrupt", "checksum")
    assert found.detail.startswith("the data of ckpt/data/")
    assert verify.describe(str(path))["state"] == "ok", "the structure does not show it"
    deep = verify.describe(str(path), "checksum")
    assert (deep["state"], deep["level"], deep["detail"]) == ("corrupt", "checksum", found.detail)


def test_in_a_folder_the_file_is_named(tmp_path: Path) -> None:
    archive(tmp_path / "a.pt")
    (tmp_path / "model.safetensors").write_bytes(b"no archive")
    flip(archive(tmp_path / "optimizer.pt"), 0.5)
    found = check(str(tmp_path))
    assert found.state == "corrupt"
    assert found.detail.startswith("optimizer.pt: the data of ")


@pytest.mark.parametrize("part", [None, 0.5])
def test_slices_come_to_the_same(tmp_path: Path, part: float | None) -> None:
    for name in ("a.pt", "b.pt"):
        archive(tmp_path / name, 2 * CHUNK + 17)
    if part is not None:
        flip(tmp_path / "b.pt", part)
    place, slices = Place(), 0
    while True:
        found = check(str(tmp_path), place, lambda: True)
        slices += 1
        if found.place is None:
            break
        assert found.place != place, "it gets on"
        place = found.place
    assert found.state == ("ok" if part is None else "corrupt")
    assert slices >= (2 * (RECORDS - 1) if part is None else RECORDS)


def test_what_has_no_checksums_stays_at_structure(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(bytes(9000))
    assert check(str(tmp_path)) == checksum.Sums(level="structure")
    packed = check(str(archive(tmp_path / "a.pt", packed=True)))
    assert (packed.state, packed.level) == ("ok", "structure")
    assert packed.detail == "1 records have no checksum"


def test_torch_can_leave_them_out(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.serialization.set_crc32_options(False)
    try:
        torch.save({"w": torch.ones(5000)}, tmp_path / "a.pt")
    finally:
        torch.serialization.set_crc32_options(True)
    torch.save({"w": torch.ones(5000)}, tmp_path / "b.pt")
    assert check(str(tmp_path / "a.pt")).state != "corrupt"
    assert check(str(tmp_path / "b.pt")).level == "checksum"


def test_bad_input_is_told(tmp_path: Path) -> None:
    assert check(str(tmp_path / "gone.pt")).state == "unverifiable"
    path = archive(tmp_path / "a.pt")
    os.truncate(path, path.stat().st_size // 2)
    assert check(str(path)).state == "corrupt"
    os.truncate(path, 0)
    assert check(str(path)).state == "ok", "no archive: for the level below"


def test_the_child_answers_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "a.pt", 2 * CHUNK)
    monkeypatch.setattr(verifier_child, "SLICE_S", -1.0)
    place: object = None
    count = 0
    while not count or place is not None:
        count += 1
        answer = verifier_child.sums_of(str(path), place)
        place = answer.get("from")
    assert count == 2 * (RECORDS - 1) - 3
    assert answer == {"path": str(path), "state": "ok", "level": "checksum", "detail": ""}


def test_the_level_is_told_to_people(tmp_path: Path) -> None:
    archive(tmp_path / "step_3.pt")
    (row,) = verify.rows(verify.verify([str(tmp_path)]))
    assert row.startswith("ok (checksum) ")
