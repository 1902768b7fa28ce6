"""What is mounted: the real table, tables on disk, and any bytes at all."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.system import mounts


def test_mounts_of_this_box() -> None:
    told = mounts.table()
    assert any(mount.point == "/" for mount in told)
    assert any(mount.fstype == "proc" and mount.source for mount in told)


def test_mount_lines(tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_bytes(
        b"36 35 98:0 /a\\040b /mnt/x\\134y rw,noatime shared:1 master:2 - ext4 /dev/x rw,errors=continue\n"
        b"37 35 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        b"38 35 0:31 / /mnt/odd\\9 rw - fuse.x\n"
        b"broken line\n\n - \n"
    )
    first, second = mounts.table(str(tmp_path / "mountinfo"))
    assert (first.device, first.root, first.point, first.fstype) == (
        "98:0",
        "/a b",
        "/mnt/x\\y",
        "ext4",
    )
    assert first.source == "/dev/x"
    assert second.options == {"rw", "memory"}


@given(st.binary(max_size=300))
def test_any_mount_line(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any_mountinfo"
    path.write_bytes(data + b" - ")
    assert isinstance(mounts.table(str(path)), list)


def test_no_table_is_an_empty_one(tmp_path: Path) -> None:
    assert mounts.readable_table(str(tmp_path / "none")) == []
    with pytest.raises(OSError):
        mounts.table(str(tmp_path / "none"))


def test_a_path_lies_on_the_nearest_mount_and_the_last_one_on_a_point_counts(
    tmp_path: Path,
) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(
        "20 1 0:20 / / rw - overlay none rw\n"
        "21 1 0:21 / /mnt rw - ext4 /dev/a rw\n"
        "22 1 0:22 / /mnt rw - xfs /dev/b rw\n"
        "23 1 0:23 / /mnt/in\\040side ro - nfs4 host:/x rw\n"
    )
    of = mounts.Mounts(mounts.table(str(table))).of
    found = {path: of(path) for path in ("/mnt/in side/x", "/mnt/inside", "/mnt", "/etc")}
    assert {path: mount and mount.fstype for path, mount in found.items()} == {
        "/mnt/in side/x": "nfs4",
        "/mnt/inside": "xfs",
        "/mnt": "xfs",
        "/etc": "overlay",
    }
    assert mounts.Mounts([]).of("/mnt") is None


def test_what_fstab_wants(tmp_path: Path) -> None:
    fstab = tmp_path / "fstab"
    fstab.write_text(
        "# a comment\n/dev/a / ext4 rw 0 1\n/dev/b /mnt/my\\040disk ext4 defaults 0 2\n"
        "/dev/c /mnt/later ext4 noauto,rw 0 0\nhost:/x /net nfs x-systemd.automount 0 0\n"
        "/dev/d none swap sw 0 0\n/dev/e /data/ xfs rw # the big one\nbroken\n"
    )
    assert mounts.wanted_by_fstab(str(fstab)) == ["/mnt/my disk", "/data"]
    assert mounts.wanted_by_fstab(str(tmp_path / "none")) == []


def test_a_watched_table_that_is_not_there_never_changes(tmp_path: Path) -> None:
    watch = mounts.TableWatch(str(tmp_path / "none"))
    assert not watch.changed()
    watch.close()
    watch.close()


@pytest.mark.system
def test_a_mount_is_told_by_the_watched_table(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    watch = mounts.TableWatch()
    try:
        watch.changed()
        argv = ["mount", "-t", "tmpfs", "none", str(tmp_path)]
        made = subprocess.run(argv, capture_output=True, text=True, check=False)
        if made.returncode:
            pytest.skip(f"no mounts here: {made.stderr.strip()}")
        try:
            assert watch.changed()
            assert mounts.Mounts(mounts.table()).of(str(tmp_path / "x")) is not None
        finally:
            subprocess.run(["umount", str(tmp_path)], check=True)
    finally:
        watch.close()
