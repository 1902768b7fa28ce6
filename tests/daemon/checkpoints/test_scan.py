"""Flipped bits, numbers that are not finite, digests, and slices."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import xxhash

from middlewatch.daemon.checkpoints import verifier_child, verify
from middlewatch.daemon.checkpoints.contents import contents
from middlewatch.daemon.checkpoints.peek import Peek
from middlewatch.daemon.checkpoints.reading import CHUNK
from middlewatch.daemon.checkpoints.scan import Scan, Scanned, combined, members

RECORDS = 5
MOST_RSS_MB = 40


@pytest.fixture(scope="module")
def torch() -> ModuleType:
    module: ModuleType = pytest.importorskip("torch")
    return module


def scanned(path: Path) -> Scanned:
    found = Scan(str(path)).go()
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
    assert verify.describe(str(path), "structure")["state"] == "ok", "it does not show there"
    for level in ("checksum", "finite"):
        deep = verify.describe(str(path), level)
        assert (deep["state"], deep["level"]) == ("corrupt", "checksum")
        assert (deep["detail"], deep["digest"]) == (found.detail, f"xxh3:{digest(path)}")


def test_the_tensor_of_a_flipped_bit_is_named(tmp_path: Path, torch: ModuleType) -> None:
    path = tmp_path / "a.pt"
    torch.save({"model": {"w1": torch.ones(5000), "w2": torch.ones(7000)}}, path)
    with Peek(str(path)) as peek:
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
        found = scan.go(lambda: True)
        slices += 1
        if found is not None:
            break
        assert done < scan.done <= scan.total, "it gets on"
    assert found == scanned(tmp_path)
    assert found == scan.go(), "and stays"
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
    assert "1 of 5 records have no checksum" in packed.detail


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
        assert scan.go(lambda: True) is None
    if change == "append":
        with path.open("ab") as file:
            file.write(b"more")
    elif change == "replace":
        os.replace(archive(tmp_path / "new", 2 * CHUNK), path)
    elif change == "remove":
        path.unlink()
    else:
        os.utime(first)
    found = scan.go()
    assert found is not None
    assert (found.state, found.detail) == ("unverifiable", "changed while it was read")
    assert found.digest is None


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
    assert found.detail.startswith("not finite, and no weights: ")
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
    assert verify.describe(str(folder))["digest"] == want
    assert [m.name for m in members(str(folder))] == names
    (folder / names[0]).rename(folder / "another_name")
    assert scanned(folder).digest != want
    index = made / "sharded/model.safetensors.index.json"
    parts = {p.name: digest(p) for p in index.parent.iterdir()}
    assert scanned(index).digest == f"xxh3:{combined(parts)}"


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
    monkeypatch.setattr(verifier_child, "SLICE_S", -1.0)
    question = b'{"path": "%s", "level": "finite"}' % bytes(path)
    done = 0
    while (answer := verifier_child.answer_to(question)).get("more"):
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
    assert verifier_child._job == {}


def test_the_child_begins_anew_when_asked_for_another_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = archive(tmp_path / "a.pt", 2 * CHUNK), archive(tmp_path / "b.pt", 2 * CHUNK)
    monkeypatch.setattr(verifier_child, "SLICE_S", -1.0)
    data = b'{"path": "%s", "level": "finite"}'
    first = verifier_child.answer_to(data % bytes(path))
    assert first["more"]
    verifier_child.answer_to(b'{"path": "%s"}' % bytes(other))
    assert verifier_child.answer_to(data % bytes(path))["done"] > first["done"]
    verifier_child.answer_to(b'{"path": "%s"}' % bytes(path))
    assert verifier_child.answer_to(data % bytes(path))["done"] == first["done"]
    assert verifier_child.answer_to(data % bytes(other))["more"]
    assert list(verifier_child._job) == [str(other)], "one at a time"
    verifier_child._job.clear()


def test_the_level_is_told_to_people(tmp_path: Path) -> None:
    archive(tmp_path / "step_3.pt")
    told: list[tuple[str, int, int]] = []
    found = verify.verify([str(tmp_path)], progress=lambda *now: told.append(now))
    (row,) = verify.rows(found)
    assert row.startswith("ok (finite) ")
    size = (tmp_path / "step_3.pt").stat().st_size
    assert told[-1] == (str(tmp_path / "step_3.pt"), size, size)


def peak_mb(path: Path) -> float:
    """Memory that verifying takes, in a process as the verifier is one."""
    code = (
        "import sys, resource\n"
        "from middlewatch.daemon.checkpoints import verifier_child, verify\n"
        "verifier_child.step_back()\n"
        f"found = verify.describe({str(path)!r})\n"
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
    assert peak_mb(huge) < MOST_RSS_MB


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
