"""Control groups of both versions on disk: what a process may still take."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from middlewatch.daemon.system import cgroupfs

from ..cgroup_box import HYBRID_MOUNT, PID, V1_MOUNT, V2_MOUNT, FakeBox

GIB = 1 << 30


@pytest.fixture
def box(tmp_path: Path) -> FakeBox:
    return FakeBox(tmp_path)


def left(box: FakeBox) -> int | None:
    return cgroupfs.memory_left(PID, str(box.root))


@pytest.mark.parametrize(
    ("version", "mount", "line"),
    [(2, V2_MOUNT, "0::/pod/run"), (1, V1_MOUNT, "4:memory:/pod/run")],
)
def test_page_cache_may_be_taken_also_under_the_limit_of_a_group_above(
    box: FakeBox, version: int, mount: str, line: str
) -> None:
    box.mounted(mount)
    box.lives_in(line)
    box.group("pod", version, current=60 * GIB, inactive=50 * GIB, limit=64 * GIB)
    box.group("pod/run", version, current=20 * GIB, inactive=1 * GIB, pids=str(PID))
    assert left(box) == 54 * GIB
    box.group("pod/run", version, current=20 * GIB, inactive=1 * GIB, limit=32 * GIB)
    assert left(box) == 13 * GIB, "the tighter of the two"
    box.group("pod/run", version, current=40 * GIB, inactive=1 * GIB, limit=32 * GIB)
    assert left(box) == 0, "over the limit is no room, not a negative one"


def test_version_1_tells_of_limits_that_a_container_cannot_see(box: FakeBox) -> None:
    box.mounted(V1_MOUNT)
    box.lives_in("4:memory:/")
    hidden = f"hierarchical_memory_limit {4 * GIB}\n"
    box.group("", 1, current=3 * GIB, inactive=1 * GIB, extra=hidden)
    assert left(box) == 2 * GIB


def test_both_versions_at_once(box: FakeBox) -> None:
    box.mounted(V1_MOUNT, HYBRID_MOUNT)
    box.lives_in("4:memory:/job", "0::/job")
    box.group("job", 1, current=3 * GIB, inactive=2 * GIB, limit=8 * GIB)
    assert left(box) == 7 * GIB


def test_without_limits_or_groups_nothing_is_told(box: FakeBox) -> None:
    assert left(box) is None, "no such group is mounted"
    box.mounted(V2_MOUNT)
    box.lives_in("0::/run")
    box.group("run")
    assert left(box) is None
    assert cgroupfs.memory_left(PID, str(box.root / "nowhere")) is None


def test_of_the_box(box: FakeBox) -> None:
    assert cgroupfs.box_memory_left(str(box.root)) == 786432 * 1024
    assert cgroupfs.box_memory_left(str(box.root / "nowhere")) is None


def test_this_process_is_read_and_no_descriptor_is_left_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    found = cgroupfs.memory_left(os.getpid())
    assert found is None or found >= 0
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_tightest_quota(box: FakeBox) -> None:
    box.mounted(V2_MOUNT)
    box.lives_in("0::/a/b")
    for path, quota in (("a", "150000 100000"), ("a/b", "max 100000")):
        home = box.group(path, pids=str(PID))
        (home / "cpu.stat").write_text("usage_usec 1\n")
        (home / "cpu.max").write_text(f"{quota}\n")
    found = cgroupfs.tightest(cgroupfs.cpu_groups(PID, str(box.root)))
    assert found is not None
    assert (found.name, found.cores) == ("/a", 1.5)
    assert cgroupfs.tightest(()) is None
