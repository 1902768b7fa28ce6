"""One look at all processes: what is open and what is mapped, here and on a tree of files."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from middlewatch.daemon.system.processes import Process, Processes, mapped_files, open_files


def test_open_files_say_what_they_are_and_who_may_write(tmp_path: Path) -> None:
    log, data = tmp_path / "train.log", tmp_path / "data.bin"
    data.write_bytes(b"x" * 4096)
    read, write = os.pipe()
    with log.open("w") as writing, data.open("rb") as reading:
        found = {file.fd: file for file in open_files(os.getpid())}
        one, other = found[writing.fileno()], found[reading.fileno()]
        assert (one.target, one.regular, one.writable) == (str(log), True, True)
        assert (other.target, other.regular, other.writable) == (str(data), True, False)
        assert [found[fd].writable for fd in (read, write)] == [False, True]
        assert not found[read].regular
    assert list(found) == sorted(found)
    readers = Processes().pipe_readers(found[read].target)
    assert readers == [], "who writes to a pipe itself is no reader of it"
    for fd in (read, write):
        os.close(fd)


def test_a_mapped_file_is_told_after_it_was_closed(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"x" * mmap.PAGESIZE)
    with path.open("rb") as file:
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        mine = [m for m in mapped_files(os.getpid()) if m.path == str(path)]
        assert [m.inode for m in mine] == [path.stat().st_ino]
    finally:
        pages.close()


def test_a_process_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    process = Process(str(tmp_path), 5)
    assert not process.alive
    assert (process.argv, process.environ, process.files, process.cwd) == ((), {}, (), "")
    assert not [*open_files(5, str(tmp_path)), *mapped_files(5, str(tmp_path))]
    assert len(Processes(str(tmp_path / "nowhere"))) == 0
