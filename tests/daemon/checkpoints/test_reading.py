"""Every byte in order, and the page cache afterwards."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from middlewatch.daemon.checkpoints.verify import reading
from middlewatch.daemon.checkpoints.verify.reading import CHUNK, FileReader

MIB = 1 << 20
SIZES = (0, 1, 4095, 4096, 4097, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK, 65 * CHUNK + 4099)


def read(path: Path) -> bytes:
    """All of it; the chunks must lie back to back."""
    found = bytearray()
    with FileReader(str(path)) as reader:
        for offset, data in reader.chunks():
            assert offset == len(found)
            assert 0 < len(data) <= CHUNK
            found += data
        assert not reader.changed()
    return bytes(found)


def cached(path: Path) -> bytes:
    """A byte per page of a file: 1 in the page cache, 0 not."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return reading._resident(fd, 0, os.fstat(fd).st_size) or b""
    finally:
        os.close(fd)


def drop(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """20 MiB and a bit on a real disk; of tmpfs nothing can be dropped."""
    path = tmp_path / "data"
    path.write_bytes(random.Random(1).randbytes(20 * MIB + 4099))
    drop(path)
    if any(cached(path)):
        pytest.skip("the files of tests lie where the page cache cannot be emptied")
    return path


@pytest.mark.parametrize("size", SIZES)
def test_every_byte_in_order(tmp_path: Path, size: int) -> None:
    path = tmp_path / "data"
    path.write_bytes(random.Random(size).randbytes(size))
    assert read(path) == path.read_bytes()
    drop(path)
    assert read(path) == path.read_bytes()


@pytest.mark.parametrize(
    "how", ["direct", "without O_DIRECT", "refused at the first read", "before Linux 6.5"]
)
def test_a_cold_file_leaves_nothing_in_the_page_cache(
    written: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    want = written.read_bytes()
    drop(written)
    if how == "without O_DIRECT":
        monkeypatch.setattr(reading, "_open_direct", lambda *_: -1)
    if how == "before Linux 6.5":
        monkeypatch.setattr(reading, "_CACHESTAT", 100_000)
    if how == "refused at the first read":  # a pipe, for want of such a file system
        monkeypatch.setattr(reading, "_open_direct", lambda *_: os.open("/dev/null", os.O_WRONLY))
        monkeypatch.setattr(reading, "_REFUSED", (9, 22, 38, 95))
    assert read(written) == want
    assert sum(cached(written)) == 0


@pytest.mark.parametrize("how", ["direct", "without O_DIRECT", "before Linux 6.5"])
def test_what_was_cached_stays(written: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    if how == "without O_DIRECT":
        monkeypatch.setattr(reading, "_open_direct", lambda *_: -1)
    if how == "before Linux 6.5":
        monkeypatch.setattr(reading, "_CACHESTAT", 100_000)

    def stays() -> bool:
        fd = os.open(written, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        for offset, count in ((0, 4096), (3 * MIB, MIB), (9 * MIB + 8192, 12288), (20 * MIB, 4099)):
            os.pread(fd, count, offset)
        os.close(fd)
        before = cached(written)
        assert 0 < sum(before) < len(before) / 4
        read(written)
        return cached(written) == before

    # The kernel may drop pages of its own accord at any time; our reader would do so every time.
    assert stays() or stays() or stays()


def test_what_was_just_written_is_read_from_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(random.Random(2).randbytes(3 * MIB + 17))
    assert read(path) == path.read_bytes()
    assert all(cached(path))


def test_a_file_of_somebody_else_leaves_nothing_either(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_may_ask", lambda *_: False)
    read(written)
    assert sum(cached(written)) == 0


def test_files_in_memory() -> None:
    path = Path(f"/dev/shm/middlewatch-{os.getpid()}-{random.randrange(1 << 30)}")
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm")
    try:
        path.write_bytes(random.Random(3).randbytes(2 * MIB + 3))
        assert read(path) == path.read_bytes()
    finally:
        path.unlink()


def test_changes_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "data"
    for change in ("grow", "replace", "remove", "shrink"):
        path.write_bytes(bytes(3 * CHUNK))
        os.utime(path, (1, 1))
        with FileReader(str(path)) as reader:
            chunks = reader.chunks()
            next(chunks)
            assert not reader.changed()
            if change == "grow":
                with path.open("ab") as file:
                    file.write(b"more")
            elif change == "shrink":
                os.truncate(path, CHUNK)
            elif change == "remove":
                path.unlink()
            else:
                (tmp_path / "new").write_bytes(bytes(3 * CHUNK))
                os.utime(tmp_path / "new", (1, 1))
                os.replace(tmp_path / "new", path)
            assert reader.changed()
            list(chunks)  # ends, whatever has happened


def test_only_regular_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "gone"):
        with pytest.raises(OSError):
            FileReader(str(path))
