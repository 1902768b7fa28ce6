"""What the processes of a run have open: real processes, and a copy of /proc for devices."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.sources.parts_used import (
    LATER_EVERY,
    LOOKS_WHILE_YOUNG,
    PartsInUse,
    allowed_gpus,
    named_paths,
)
from middlewatch.daemon.system import mounts
from middlewatch.sentinels.kit import PartsUsed


def device_of(path: Path) -> str:
    mount, _ = mounts.Mounts(mounts.table()).resolve(str(path))
    assert mount is not None
    return mount.device


class Program:
    """A process that opens what it is told to."""

    def __init__(self, **env: str) -> None:
        code = "import sys\nfor line in sys.stdin: exec(line); print(flush=True)"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **env},
        )
        self.pid = self.process.pid
        self.does("pass")

    def does(self, line: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self.process.stdout.readline()


@pytest.fixture
def program() -> Iterator[Program]:
    made = Program(TMPDIR="/var/tmp", CUDA_VISIBLE_DEVICES="2,3")
    yield made
    made.process.kill()
    made.process.communicate()


def seen_of(*pids: int, **more: str) -> PartsUsed:
    (seen,) = PartsInUse(lambda: list(pids), **more).read(0.0)
    assert isinstance(seen, PartsUsed)
    return seen


def test_a_file_that_is_open_for_writing(program: Program, tmp_path: Path) -> None:
    before = seen_of(program.pid).devices
    program.does(f"a = open({str(tmp_path / 'a')!r}, 'w'); b = open('/proc/self/stat')")
    assert seen_of(program.pid).devices == before | {device_of(tmp_path)}


def test_a_file_in_shared_memory_and_one_that_is_only_read(program: Program) -> None:
    place = Path("/dev/shm")
    if not place.is_dir() or not os.access(place, os.W_OK):
        pytest.skip("no /dev/shm here")
    device = device_of(place)
    program.does("import tempfile; f = tempfile.NamedTemporaryFile(dir='/dev/shm')")
    assert device in seen_of(program.pid).devices
    program.does("g = open(f.name); f.close()")
    assert device not in seen_of(program.pid).devices


def test_file_systems_stay_and_nothing_new_is_not_said(program: Program, tmp_path: Path) -> None:
    source = PartsInUse(lambda: [program.pid])
    program.does(f"a = open({str(tmp_path / 'a')!r}, 'w')")
    (first,) = source.read(0.0)
    program.does("a.close()")
    assert list(source.read(5.0)) == []
    assert isinstance(first, PartsUsed)
    assert device_of(tmp_path) in first.devices


def test_it_looks_often_at_first_and_rarely_later(program: Program, tmp_path: Path) -> None:
    asked: list[int] = []

    def pids() -> list[int]:
        asked.append(program.pid)
        return [program.pid]

    source = PartsInUse(pids)
    for read in range(LOOKS_WHILE_YOUNG + 3 * LATER_EVERY):
        source.read(5.0 * read)
    assert len(asked) == LOOKS_WHILE_YOUNG + 3


def test_its_environment(program: Program) -> None:
    seen = seen_of(program.pid)
    assert seen.temporary == {"/var/tmp"}
    assert seen.gpus_visible == ("2", "3")


def test_a_process_that_is_gone() -> None:
    seen = seen_of(4_194_305)
    assert (seen.devices, seen.gpu_minors, seen.gpus_visible) == (frozenset(), None, None)


@pytest.mark.parametrize("driver", [True, False])
def test_device_files_of_gpus(tmp_path: Path, driver: bool) -> None:
    """Where there are no device files at all, a process without one says nothing."""
    dev = tmp_path / "dev"
    dev.mkdir()
    if driver:
        (dev / "nvidiactl").touch()
    for pid, opened in ((10, ("/dev/nvidia1", "/dev/nvidia-uvm", "pipe:[3]")), (11, ())):
        fds = tmp_path / "proc" / str(pid) / "fd"
        fds.mkdir(parents=True)
        for number, target in enumerate(opened):
            (fds / str(number)).symlink_to(target)
    proc = str(tmp_path / "proc")
    assert seen_of(10, 11, root=proc, dev=str(dev)).gpu_minors == frozenset({1})
    nothing = seen_of(11, root=proc, dev=str(dev)).gpu_minors
    assert nothing == (frozenset() if driver else None)


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        (("python", "-u", "/code/train.py", "/mnt/a", "--out=/mnt/b", "data/c"), "/mnt/a /mnt/b /w/data/c"),
        (("/opt/bin/python3.11", "train.py", "--steps", "10"), ""),
        (("torchrun", "--nproc-per-node", "2", "/code/train.py", "out_dir=/mnt/o"), "/mnt/o"),
        (("python", "train.py", "--store", "s3://bucket/x", "--python", "/venv/bin/python"), ""),
    ],
)  # fmt: skip
def test_paths_of_a_command(command: tuple[str, ...], wanted: str) -> None:
    assert list(named_paths(command, "/w")) == wanted.split()


@pytest.mark.parametrize(
    ("environ", "outside", "wanted"),
    [
        ({}, False, None),
        ({"CUDA_VISIBLE_DEVICES": "1,0"}, False, ("1", "0")),
        ({"CUDA_VISIBLE_DEVICES": ""}, False, ()),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, False, ()),
        ({"CUDA_VISIBLE_DEVICES": "2,-1,3"}, False, ("2",)),
        ({"CUDA_VISIBLE_DEVICES": "GPU-ab"}, True, ("GPU-ab",)),
        # the indexes of a container count its own GPUs
        ({"CUDA_VISIBLE_DEVICES": "1", "NVIDIA_VISIBLE_DEVICES": "4,6"}, True, ("6",)),
        ({"NVIDIA_VISIBLE_DEVICES": "4,6"}, True, ("4", "6")),
        ({"NVIDIA_VISIBLE_DEVICES": "4,6"}, False, None),
        ({"NVIDIA_VISIBLE_DEVICES": "all"}, True, None),
        ({"NVIDIA_VISIBLE_DEVICES": "all", "CUDA_VISIBLE_DEVICES": "3"}, True, ("3",)),
    ],
)
def test_gpus_of_an_environment(
    environ: dict[str, str], outside: bool, wanted: tuple[str, ...] | None
) -> None:
    assert allowed_gpus(environ, outside=outside) == wanted
