"""Flipped bits, numbers that are not finite, digests, and slices."""

from __future__ import annotations

import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import xxhash

from middlewatch.daemon.checkpoints.formats.bounded_file import BoundedFile
from middlewatch.daemon.checkpoints.formats.contents import contents
from middlewatch.daemon.checkpoints.verify import levels, worker
from middlewatch.daemon.checkpoints.verify.reading import CHUNK
from middlewatch.daemon.checkpoints.verify.scan import Scan, Scanned, members
from middlewatch.daemon.system.files import combined_digest

RECORDS = 5


@pytest.fixture(scope="module")
def torch() -> ModuleType:
    module: ModuleType = pytest.importorskip("torch")
    return module


def scanned(path: Path) -> Scanned:
    found = Scan(str(path)).advance()
    assert found is not None
    return found


def archive(path: Path, size: int = 100_000, packed: bool = False) -> Path:
    """Records as torch.save names them."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as out:
        out.writestr("ckpt/data.pkl", pickle.dumps({"global_step": 3}, protocol=2))
        for number in range(RECORDS - 1):
            method = zipfile.ZIP_DEFLATED if packed and number == 1 else zipfile.ZIP_STORED
            out.writestr(f"ckpt/data/{number}", bytes([number + 1]) * size, method)
    return path


def flip(path: Path, part: float) -> None:
    flip_at(path, int(path.stat().st_size * part))


def flip_at(path: Path, offset: int, bit: int = 0x10) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ bit]))


def digest(path: Path) -> str:
    return str(xxhash.xxh3_128_hexdigest(path.read_bytes()))


def test_a_good_archive(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.pt")
    size = path.stat().st_size
    assert scanned(path) == Scanned("ok", "finite", "", f"xxh3:{digest(path)}", size)


@pytest.mark.parametrize("part", [0.1, 0.35, 0.6, 0.9])
def test_a_flipped_bit(tmp_path: Path, part: float) -> None:
    path = archive(tmp_path / "a.pt")
    flip(path, part)
    found = scanned(path)
    assert (found.state, found.level) == ("corrupt", "checksum")
    assert found.detail.startswith("the data of ckpt/data/")
    assert found.detail.endswith(" does not match its checksum")
    assert levels.describe(str(path), "structure")["state"] == "ok", "it does not show there"
    for level in ("checksum", "finite"):
        deep = levels.describe(str(path), level)
        assert (deep["state"], deep["level"]) == ("corrupt", "checksum")
        assert (deep["detail"], deep["digest"]) == (found.detail, f"xxh3:{digest(path)}")


def test_the_tensor_of_a_flipped_bit_is_named(tmp_path: Path, torch: ModuleType) -> None:
    path = tmp_path / "a.pt"
    torch.save({"model": {"w1": torch.ones(5000), "w2": torch.ones(7000)}}, path)
    with BoundedFile(str(path)) as peek:
        tensor = contents(peek, str(path)).tensors[1]
    flip_at(path, tensor.start + tensor.bytes - 1)
    found = scanned(path)
    assert found.detail == "the data of a/data/1 does not match its checksum (model.w2)"


def test_many_records_are_counted(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.pt")
    for part in (0.1, 0.35, 0.6, 0.9):
        flip(path, part)
    assert scanned(path).detail.endswith("; 1 more records do not match")


def test_in_a_folder_the_file_is_named(tmp_path: Path) -> None:
    archive(tmp_path / "a.pt")
    flip(archive(tmp_path / "optimizer.pt"), 0.5)
    found = scanned(tmp_path)
    assert found.state == "corrupt"
    assert found.detail.startswith("optimizer.pt: the data of ")


@pytest.mark.parametrize("part", [None, 0.5])
def test_slices_come_to_the_same(tmp_path: Path, part: float | None) -> None:
    for name in ("a.pt", "b.pt"):
        archive(tmp_path / name, 2 * CHUNK + 17)
    if part is not None:
        flip(tmp_path / "b.pt", part)
    scan, slices = Scan(str(tmp_path)), 0
    assert scan.total == sum(path.stat().st_size for path in tmp_path.iterdir())
    while True:
        done = scan.done
        found = scan.advance(lambda: True)
        slices += 1
        if found is not None:
            break
        assert done < scan.done <= scan.total, "it gets on"
    assert found == scanned(tmp_path)
    assert found == scan.advance(), "and stays"
    assert scan.done == found.bytes == scan.total
    assert found.state == ("ok" if part is None else "corrupt")
    assert slices > 2 * 8


def test_what_has_no_checksums_is_finite_all_the_same(tmp_path: Path, torch: ModuleType) -> None:
    safe = pytest.importorskip("safetensors.torch")
    safe.save_file({"w": torch.ones(5000)}, tmp_path / "model.safetensors")
    found = scanned(tmp_path / "model.safetensors")
    assert (found.state, found.level, found.detail) == ("ok", "finite", "")
    packed = scanned(archive(tmp_path / "a.pt", packed=True))
    assert packed.state == "ok"
    assert packed.detail.startswith("1 of 5 records are compressed")


def test_torch_can_leave_them_out(tmp_path: Path, torch: ModuleType) -> None:
    torch.serialization.set_crc32_options(False)
    try:
        torch.save({"w": torch.ones(5000)}, tmp_path / "a.pt")
    finally:
        torch.serialization.set_crc32_options(True)
    found = scanned(tmp_path / "a.pt")
    assert (found.state, found.level) == ("ok", "finite")
    assert found.detail == "its writer left the checksums out"


def test_bad_input_is_told(tmp_path: Path) -> None:
    assert scanned(tmp_path / "gone.pt").state == "unverifiable"
    path = archive(tmp_path / "a.pt")
    os.truncate(path, path.stat().st_size // 2)
    found = scanned(path)
    assert (found.state, found.level) == ("corrupt", "structure")
    path.write_bytes(os.urandom(3 * CHUNK))
    assert scanned(path).level == "structure"
    path.write_bytes(b"")
    assert scanned(path).digest == "xxh3:99aa06d3014798d86001c324468d497f"  # of nothing
    os.mkfifo(tmp_path / "pipe.pt")
    assert scanned(tmp_path / "pipe.pt").state == "unverifiable"
    notes = tmp_path / "notes.txt"
    notes.write_text("no checkpoint")
    assert scanned(notes) == Scanned("ok", "structure", "", f"xxh3:{digest(notes)}", 13)


@pytest.mark.parametrize("change", ["append", "replace", "remove", "touch another"])
def test_a_file_that_changes_while_it_is_read(tmp_path: Path, change: str) -> None:
    folder = tmp_path / "step_1"
    folder.mkdir()
    first = archive(folder / "a.pt", 2 * CHUNK)
    path = archive(folder / "b.pt", 2 * CHUNK)
    scan = Scan(str(folder))
    while scan.done < first.stat().st_size + CHUNK:
        assert scan.advance(lambda: True) is None
    if change == "append":
        with path.open("ab") as file:
            file.write(b"more")
    elif change == "replace":
        os.replace(archive(tmp_path / "new", 2 * CHUNK), path)
    elif change == "remove":
        path.unlink()
    else:
        os.utime(first)
    found = scan.advance()
    assert found is not None
    assert (found.state, found.detail) == ("unverifiable", "changed while it was read")
    assert found.digest is None


def test_a_flipped_bit_in_every_region_of_a_torch_file(tmp_path: Path, torch: ModuleType) -> None:
    path = tmp_path / "a.pt"
    torch.save({"model": {"w1": torch.ones(5000), "w2": torch.ones(7000)}}, path)
    good, before = path.read_bytes(), scanned(path)
    with BoundedFile(str(path)) as peek:
        records = contents(peek, str(path)).records
    inside = {n for r in records for n in range(r.start, r.start + r.bytes)}
    padding = next(n for n in range(len(good)) if good[n : n + 8] == b"ZZZZZZZZ")
    assert padding not in inside, "what torch fills up with"
    for offset in (*(r.start + r.bytes // 2 for r in records if r.bytes), padding):
        path.write_bytes(good)
        flip_at(path, offset)
        found = levels.describe(str(path))
        assert (found["state"] == "corrupt") == (offset in inside), offset
        assert found["digest"] != before.digest
    path.write_bytes(good)
    assert scanned(path) == before


def test_all_that_the_libraries_write(made: Path) -> None:
    for name, level in (
        ("ckpt.pt", "finite"),
        ("legacy_step_40.pt", "finite"),
        ("epoch=3-step=4000.ckpt", "finite"),
        ("model.safetensors", "finite"),
        ("checkpoint-500", "finite"),
        ("sharded/model.safetensors.index.json", "finite"),
        ("step_300", "finite"),
        ("ds/global_step120", "finite"),
    ):
        found = scanned(made / name)
        assert (name, found.state, found.level, found.detail) == (name, "ok", level, "")


def test_digests(made: Path, copy: Callable[[str], Path]) -> None:
    folder = copy("checkpoint-500")
    (folder / "model.safetensors.tmp").write_bytes(b"left over")
    names = sorted(p.name for p in folder.iterdir() if p.suffix != ".tmp")
    lines = "".join(f"{digest(folder / name)}  {name}\n" for name in names)
    want = "xxh3:" + xxhash.xxh3_128_hexdigest(lines.encode())
    assert scanned(folder).digest == want
    assert levels.describe(str(folder))["digest"] == want
    assert [m.name for m in members(str(folder))] == names
    (folder / names[0]).rename(folder / "another_name")
    assert scanned(folder).digest != want
    index = made / "sharded/model.safetensors.index.json"
    parts = {p.name: digest(p) for p in index.parent.iterdir()}
    assert scanned(index).digest == f"xxh3:{combined_digest(parts)}"


def test_later_rot_is_seen_where_a_format_has_no_checksum(copy: Callable[[str], Path]) -> None:
    path = copy("model.safetensors")
    before = scanned(path)
    flip_at(path, path.stat().st_size - 3, bit=1)
    after = scanned(path)
    assert (after.state, before.state) == ("ok", "ok")
    assert after.digest != before.digest


def test_the_child_answers_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "a.pt", 2 * CHUNK)
    size = path.stat().st_size
    monkeypatch.setattr(worker, "SLICE_S", -1.0)
    question = b'{"path": "%s", "level": "finite"}' % bytes(path)
    done = 0
    while (answer := worker.answer_to(question)).get("more"):
        assert answer == {"path": str(path), "more": True, "done": answer["done"], "of": size}
        assert done < answer["done"] <= size
        done = answer["done"]
    assert answer == {
        "path": str(path),
        "state": "ok",
        "level": "finite",
        "detail": "",
        "digest": f"xxh3:{digest(path)}",
    }
    assert worker._job == {}


def test_the_child_begins_anew_when_asked_for_another_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = archive(tmp_path / "a.pt", 2 * CHUNK), archive(tmp_path / "b.pt", 2 * CHUNK)
    monkeypatch.setattr(worker, "SLICE_S", -1.0)
    data = b'{"path": "%s", "level": "finite"}'
    first = worker.answer_to(data % bytes(path))
    assert first["more"]
    worker.answer_to(b'{"path": "%s"}' % bytes(other))
    assert worker.answer_to(data % bytes(path))["done"] > first["done"]
    worker.answer_to(b'{"path": "%s"}' % bytes(path))
    assert worker.answer_to(data % bytes(path))["done"] == first["done"]
    assert worker.answer_to(data % bytes(other))["more"]
    assert list(worker._job) == [str(other)], "one at a time"
    worker._job.clear()


def test_the_level_is_told_to_people(tmp_path: Path) -> None:
    archive(tmp_path / "step_3.pt")
    told: list[tuple[str, int, int]] = []
    found = levels.verify([str(tmp_path)], progress=lambda *now: told.append(now))
    (row,) = levels.rows(found)
    assert row.startswith("ok (finite) ")
    size = (tmp_path / "step_3.pt").stat().st_size
    assert told[-1] == (str(tmp_path / "step_3.pt"), size, size)


def test_nothing_is_executed(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "executed"),)

    with zipfile.ZipFile(tmp_path / "a.pt", "w") as out:
        out.writestr("ckpt/data.pkl", pickle.dumps({"model": Evil()}, protocol=2))
    scanned(tmp_path / "a.pt")
    (tmp_path / "b.pt").write_bytes(pickle.dumps(Evil(), protocol=2))
    scanned(tmp_path / "b.pt")
    assert not (tmp_path / "executed").exists()
