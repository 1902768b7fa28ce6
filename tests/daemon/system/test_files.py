"""Files written whole, folders synced, page cache given back."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
import xxhash

from middlewatch.daemon.checkpoints.load.sandbox import in_memory
from middlewatch.daemon.system import files, mounts


@pytest.mark.parametrize("durable_name", [True, False])
def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path, durable_name: bool) -> None:
    path = tmp_path / "status.md"
    for text in ("first", "söcond \udcff"):
        files.write_whole(str(path), text, durable_name=durable_name)
        assert path.read_bytes() == text.encode("utf-8", "surrogateescape")
    assert os.listdir(tmp_path) == ["status.md"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o600 == 0o600


def test_a_link_in_place_of_a_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    theirs, path = tmp_path / "theirs", tmp_path / "status.md"
    theirs.write_text("theirs")
    path.symlink_to(theirs)
    files.write_whole(str(path), "ours")
    files.write_whole(str(path), "ours", private=True)
    assert (theirs.read_text(), path.read_text(), path.is_symlink()) == ("theirs", "ours", False)


def test_a_folder_that_is_swapped_for_a_link_gets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, folder = tmp_path / "theirs", tmp_path / "out"
    theirs.mkdir()
    folder.mkdir()
    written = files._write_all

    def swap(fd: int, data: bytes) -> None:
        folder.rename(tmp_path / "moved")
        folder.symlink_to(theirs)
        written(fd, data)

    monkeypatch.setattr(files, "_write_all", swap)
    files.write_beside_others(str(folder), {"status.md": "ours"})
    assert list(theirs.iterdir()) == []
    assert (tmp_path / "moved" / "status.md").read_text() == "ours"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "status.md"
    files.write_whole(str(path), "old")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        files.write_whole(str(tmp_path / "folder"), "new")
    with pytest.raises(OSError):
        files.write_whole(str(tmp_path / "missing" / "status.md"), "new")
    assert path.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "status.md"]


@pytest.mark.system
def test_a_full_disk_raises_and_leaves_no_temporary(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("a tmpfs of our own needs root")
    code = f"""
import os
from middlewatch.daemon.system.files import write_whole
write_whole("{tmp_path}/a", "old")
try:
    write_whole("{tmp_path}/a", "x" * (1 << 20))
except OSError as error:
    print(error.errno, open("{tmp_path}/a").read(), os.listdir("{tmp_path}"))
"""
    mount = f"mount -t tmpfs -o size=64k none {tmp_path} && exec {sys.executable} -c '{code}'"
    argv = ["unshare", "-m", "sh", "-c", mount]
    found = subprocess.run(argv, capture_output=True, text=True, check=False)
    if "unshare" in found.stderr or "mount" in found.stderr:
        pytest.skip(f"no mounts here: {found.stderr.strip()}")
    assert found.stdout == "28 old ['a']\n", found.stderr


class Syncs:
    """fsync(2), which fails for folders with ``code``; ``done`` are the folders it was asked for."""

    def __init__(self, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.code = code
        self.done: list[str] = []
        self._real = os.fsync
        monkeypatch.setattr(os, "fsync", self)

    def __call__(self, fd: int) -> None:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            return self._real(fd)
        self.done.append(os.readlink(f"/proc/self/fd/{fd}"))
        if self.code:
            raise OSError(self.code, os.strerror(self.code))
        return None


def test_the_name_is_synced_where_it_has_to_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs = Syncs(0, monkeypatch)
    files.write_whole(str(tmp_path / "a"), "1", durable_name=False)
    assert syncs.done == []
    files.write_whole(str(tmp_path / "a"), "2")
    assert syncs.done == [str(tmp_path)]


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP, errno.EBADF])
def test_a_file_system_that_syncs_no_folders_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    Syncs(code, monkeypatch)
    files.write_whole(str(tmp_path / "a"), "new")
    assert (tmp_path / "a").read_text() == "new"


@pytest.mark.parametrize("code", [errno.EIO, errno.EROFS, errno.ESTALE])
def test_a_disk_that_fails_to_sync_a_folder_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    Syncs(code, monkeypatch)
    with pytest.raises(OSError) as told:
        files.write_whole(str(tmp_path / "a"), "new")
    assert told.value.errno == code
    assert os.listdir(tmp_path) == ["a"], "no temporary is left"


def test_a_temporary_of_a_writer_that_is_gone_is_swept_and_no_other(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    left, ours, other = (
        tmp_path / f".a.{gone.pid}-00ff.tmp",
        tmp_path / f".a.{os.getpid()}-00ff.tmp",
        tmp_path / f".b.{gone.pid}-00ff.tmp",
    )
    for path in (left, ours, other):
        path.write_text("half")
    files.write_whole(str(tmp_path / "a"), "whole")
    assert sorted(os.listdir(tmp_path)) == sorted(["a", ours.name, other.name])


def test_what_is_on_the_disk_can_be_dropped_from_memory(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"x" * (1 << 20))
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
        assert in_memory(fd, 1 << 19), "it was just written"
        # Advice that the kernel may pass over for a page that is in use at that moment.
        for _ in range(100):
            files.drop_cached(fd)
            left = in_memory(fd, 1 << 19)
            if not left:
                break
            time.sleep(0.05)
    finally:
        os.close(fd)
    home = mounts.Mounts(mounts.table()).of(str(path.resolve()))
    if left and home is not None and home.fstype in ("tmpfs", "ramfs"):
        pytest.skip("a file system in memory")
    assert not left


def test_the_digest_of_several_files_is_that_of_xxhsum(tmp_path: Path) -> None:
    parts = {"b/model.pt": b"two", "a.pt": b"one"}
    digests = {name: xxhash.xxh3_128_hexdigest(data) for name, data in parts.items()}
    lines = "".join(f"{digests[name]}  {name}\n" for name in sorted(parts))
    assert files.combined_digest(digests) == xxhash.xxh3_128_hexdigest(lines.encode())
    assert files.combined_digest(dict(reversed(digests.items()))) == files.combined_digest(digests)
    if shutil.which("xxhsum"):
        for name, data in parts.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(data)
        shell = "xxhsum -H2 a.pt b/model.pt | sort -k2 | xxhsum -H2 | cut -d' ' -f1"
        told = subprocess.run(["sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True)
        assert told.stdout.strip() == files.combined_digest(digests)
