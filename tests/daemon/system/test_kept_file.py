"""Small files that are read again and again, kept open or not."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.system import procfs
from middlewatch.daemon.system.descriptors import Use
from middlewatch.daemon.system.kept_file import KeptFile

from ..budget import Box


@pytest.fixture(params=[1, 0], ids=["kept", "scarce"])
def box(request: pytest.FixtureRequest) -> Iterator[Box]:
    """A budget with room for one descriptor, or for none."""
    with contextlib.closing(Box(request.param)) as made:
        yield made


def test_it_is_read_as_it_is_now(box: Box, tmp_path: Path) -> None:
    path = tmp_path / "memory.current"
    path.write_text("1\n")
    with contextlib.closing(KeptFile(str(path), 4, budget=box.budget)) as file:
        assert file.read() == b"1\n"
        path.write_text("234567\n")
        assert file.read() == file.read() == b"2345"
        assert box.budget.figures().kept == box.limit - box.budget.reserved
        path.unlink()
        if box.budget.figures().kept:
            assert file.read() == b"2345", "as long as it is kept"
        else:
            with pytest.raises(FileNotFoundError):
                file.read()
    file.close()
    with pytest.raises(OSError, match="closed"):
        file.read()
    assert box.budget.figures().used == 0
    assert not any(box.budget.figures().without)


def test_another_file_of_that_name_is_not_read(box: Box, tmp_path: Path) -> None:
    """A control group that is removed and made again within a second counts from 0."""
    path = tmp_path / "memory.events"
    path.write_text("oom_kill 1\n")
    with contextlib.closing(KeptFile(str(path), budget=box.budget)) as file:
        box.budget.make_room(99)
        path.rename(tmp_path / "old")
        path.write_text("oom_kill 0\n")
        with pytest.raises(OSError, match="another file"):
            file.read()
        (tmp_path / "old").replace(path)
        assert file.read() == b"oom_kill 1\n"


def test_a_process_that_is_gone(box: Box) -> None:
    child = subprocess.Popen(["sleep", "30"])
    path = f"/proc/{child.pid}/stat"
    file = KeptFile(path, use=Use.PROCESS, by_inode=False, budget=box.budget)
    try:
        assert procfs.parse_stat(file.read())
        assert procfs.parse_stat(file.read())
        child.kill()
        child.wait()
        # By the descriptor even if another process has the pid now.
        gone = ProcessLookupError if box.budget.figures().kept else FileNotFoundError
        with pytest.raises(gone):
            file.read()
    finally:
        file.close()
        file.close()


def test_it_is_kept_again_when_there_is_room() -> None:
    with contextlib.closing(Box(1)) as box:
        files = [KeptFile("/proc/self/stat", by_inode=False, budget=box.budget) for _ in range(2)]
        files[0].close()
        assert box.budget.figures().kept == 0
        pid = b"%d (" % os.getpid()
        assert files[1].read().startswith(pid)
        assert box.budget.figures().kept == 1
        assert files[1].read().startswith(pid)
        assert box.budget.make_room(99) is False
        assert box.budget.figures().kept == 0
        assert files[1].read().startswith(pid)
        files[1].close()


def test_one_that_is_needed_is_never_given_back() -> None:
    with contextlib.closing(Box(0)) as box:
        file = KeptFile("/proc/self/stat", use=None, by_inode=False, budget=box.budget)
        assert box.budget.figures().used == 1
        assert not box.budget.make_room(99)
        assert file.read()
        file.close()
        assert box.budget.figures().used == 0
