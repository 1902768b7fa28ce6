from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.box.durability import MOST_PATHS, MarkDurability, PathDurability
from middlewatch.daemon.box.platforms import recognise
from middlewatch.daemon.config.load import parse
from middlewatch.sentinels.kit import CheckpointSeen, Durability

from ..box_tree import BoxTree


@pytest.fixture
def box(tmp_path: Path) -> BoxTree:
    return BoxTree(tmp_path)


def places(box: BoxTree, config: str = "", **own: str) -> PathDurability:
    settings = parse(config, "f")
    found = PathDurability.of_box(settings, str(box.root))
    found.platforms = recognise(str(box.root), own, settings.platform.name)
    return found


def kept(where: Durability) -> tuple[bool | None, bool | None]:
    return where.survives_stop, where.survives_destroy


# ------------------------------------------------------------------------ by the mount alone


@pytest.mark.parametrize(
    ("fstype", "expected", "word"),
    [
        ("tmpfs", (False, False), "memory"),
        ("ramfs", (False, False), "memory"),
        ("nfs4", (True, True), "network"),
        ("lustre", (True, True), "network"),
        ("cifs", (True, True), "network"),
        ("fuse.s3fs", (True, True), "network"),
        ("fuse.gcsfuse", (True, True), "network"),
        ("fuse.mergerfs", (None, None), "unknown"),
        ("fuse.lxcfs", (None, None), "unknown"),
        ("fuseblk", (None, None), "unknown"),
        ("9p", (None, None), "host"),
        ("virtiofs", (None, None), "host"),
        ("overlay", (None, False), "container layer"),
        ("ext4", (None, None), "local disk"),
        ("xfs", (None, None), "local disk"),
    ],
)
def test_a_box_that_nobody_knows(
    box: BoxTree, fstype: str, expected: tuple[bool | None, bool | None], word: str
) -> None:
    where = places(box.mount("/data", fstype)).of("/data/out/step_1.pt")
    assert kept(where) == expected
    assert word in where.where
    assert "/data" in where.where


def test_links_lead_to_where_the_data_is(box: BoxTree) -> None:
    box.mount("/dev/shm", "tmpfs").mount("/nfs", "nfs4").folder("/home/me")
    os.symlink("/dev/shm/out", box.root / "home/me/out")
    os.symlink("../../nfs/results", box.root / "home/me/far")
    os.symlink("/home/me/loop", box.root / "home/me/loop")
    where = places(box)
    box.folder("/dev/shm/out")
    assert kept(where.of("/home/me/out/a.pt")) == (False, False)
    assert kept(where.of("/home/me/far/a.pt")) == (True, True)
    assert kept(where.of("/home/me/loop/a.pt")) == (None, False)
    assert kept(where.of("/home/me/../../dev/shm")) == (False, False)
    assert where.of("not/absolute").where


def test_without_a_table_of_mounts_nothing_is_known(tmp_path: Path) -> None:
    where = PathDurability(root=str(tmp_path))
    assert where.of("/data/a.pt") == Durability()
    assert where.of("/data/a.pt").words == "unknown"
    where.close()
    where.close()


# ------------------------------------------------------------------------ by platform


def test_runpod(box: BoxTree) -> None:
    box.env("RUNPOD_POD_ID").mount("/workspace", "xfs")
    where = places(box)
    assert kept(where.of("/root/out/a.pt")) == (False, False)
    assert "/workspace" in where.of("/root/out/a.pt").better
    assert kept(where.of("/workspace/out/a.pt")) == (True, False)
    assert where.of("/workspace/a.pt").words == (
        "survives a stop, not a destroy: volume disk of the Pod (RunPod, /workspace)"
    )
    box.env("RUNPOD_POD_ID", "RUNPOD_VOLUME_ID")
    assert kept(places(box).of("/workspace/out/a.pt")) == (True, True)
    assert places(box).of("/workspace/out/a.pt").better == ""


def test_a_workspace_that_is_no_volume_is_the_container_disk(box: BoxTree) -> None:
    box.env("RUNPOD_POD_ID").folder("/workspace")
    assert kept(places(box).of("/workspace/a.pt")) == (False, False)


def test_vast(box: BoxTree) -> None:
    box.env("VAST_CONTAINERLABEL").folder("/workspace").mount("/models")
    where = places(box)
    assert kept(where.of("/workspace/a.pt")) == (True, False)
    assert kept(where.of("/root/a.pt")) == (True, False)
    assert kept(where.of("/models/a.pt")) == (True, True)
    assert kept(places(box.mount("/workspace")).of("/workspace/a.pt")) == (True, None)


def test_autodl(box: BoxTree) -> None:
    box.env("AutoDLContainerUUID").mount("/root/autodl-tmp").mount("/root/autodl-fs", "nfs4")
    where = places(box)
    assert kept(where.of("/root/a.pt")) == (True, False)
    assert kept(where.of("/root/autodl-tmp/a.pt")) == (True, False)
    assert kept(where.of("/root/autodl-fs/a.pt")) == (True, True)


def test_lambda(box: BoxTree) -> None:
    box.mount("/lambda/nfs/weights", "nfs4").folder("/home/ubuntu")
    os.symlink("/lambda/nfs/weights", box.root / "home/ubuntu/weights")
    where = places(box)
    assert kept(where.of("/home/ubuntu/a.pt")) == (True, False)
    assert kept(where.of("/home/ubuntu/weights/a.pt")) == (True, True)
    assert "Lambda" in where.of("/home/ubuntu/weights/a.pt").where


def test_kaggle(box: BoxTree) -> None:
    where = places(box.folder("/kaggle/working", "/kaggle/input"))
    assert kept(where.of("/tmp/a.pt")) == (False, False)
    assert kept(where.of("/kaggle/working/a.pt")) == (None, None)
    assert "version" in where.of("/kaggle/working/a.pt").where


def test_colab(box: BoxTree) -> None:
    box.env("COLAB_RELEASE_TAG").folder("/content").mount("/content/drive", "fuse.drive")
    where = places(box)
    assert kept(where.of("/content/out/a.pt")) == (False, False)
    assert kept(where.of("/content/drive/MyDrive/a.pt")) == (True, True)


def test_slurm(box: BoxTree) -> None:
    box.mount("/home", "nfs4").mount("/dev/shm", "tmpfs").folder("/local/7")
    where = places(box, SLURM_JOB_ID="7", TMPDIR="/local/7")
    assert kept(where.of("/home/me/a.pt")) == (True, True)
    assert kept(where.of("/local/7/a.pt")) == (False, False)
    assert kept(where.of("/tmp/a.pt")) == (None, None)
    assert "wipe" in where.of("/tmp/a.pt").where
    assert kept(where.of("/dev/shm/a.pt")) == (False, False)


def test_a_temporary_folder_that_all_nodes_share(box: BoxTree) -> None:
    where = places(box.mount("/scratch", "lustre"), SLURM_JOB_ID="7", TMPDIR="/scratch/me/tmp")
    assert kept(where.of("/scratch/me/tmp/a.pt")) == (True, True)


def test_a_container_on_a_machine_of_a_cloud(box: BoxTree) -> None:
    box.text("sys/class/dmi/id/sys_vendor", "Amazon EC2\n").text("/.dockerenv")
    assert "container layer" in places(box).of("/app/a.pt").where
    bare = places(BoxTree(box.root / "bare").mount("/", "ext4"))
    assert "local disk" in bare.of("/app/a.pt").where


def test_a_path_through_another_container_is_not_known(box: BoxTree) -> None:
    assert places(box.mount("/proc", "proc")).of("/proc/77/root/out/a.pt") == Durability()


def test_kubernetes(box: BoxTree) -> None:
    box.env("KUBERNETES_SERVICE_HOST").mount("/claim", "nfs4").mount("/block")
    box.mount("/cache", "ext4", "/lib/kubelet/pods/7/volumes/kubernetes.io~empty-dir/cache")
    where = places(box)
    assert kept(where.of("/app/a.pt")) == (False, False)
    assert kept(where.of("/cache/a.pt")) == (False, False)
    assert kept(where.of("/claim/a.pt")) == (True, None)
    assert kept(where.of("/block/a.pt")) == (None, None)


def test_a_plain_container(box: BoxTree) -> None:
    where = places(box.text("/.dockerenv").mount("/data", "ext4", "/volumes/data"))
    assert kept(where.of("/app/a.pt")) == (None, False)
    assert "container layer" in where.of("/app/a.pt").where
    assert kept(where.of("/data/a.pt")) == (None, None)
    assert "outside the container" in where.of("/data/a.pt").where


def test_what_is_mounted_over_a_tier_is_judged_by_itself(box: BoxTree) -> None:
    box.env("AutoDLContainerUUID").mount("/root/autodl-tmp")
    box.mount("/root/autodl-tmp/ram", "tmpfs").mount("/root/autodl-tmp/far", "nfs4")
    where = places(box)
    assert kept(where.of("/root/autodl-tmp/ram/a.pt")) == (False, False)
    assert kept(where.of("/root/autodl-tmp/far/a.pt")) == (True, True)


# ------------------------------------------------------------------------ told, kept, renewed


def test_what_a_person_says_wins(box: BoxTree) -> None:
    box.env("RUNPOD_POD_ID").mount("/dev/shm", "tmpfs").mount("/workspace")
    config = """
    [platform]
    survives_destroy = ["/workspace/kept"]
    survives_stop = ["/dev/shm", "/root"]
    dies_with_stop = ["/workspace"]
    """
    where = places(box, config)
    assert kept(where.of("/workspace/kept/a.pt")) == (True, True)
    assert kept(where.of("/workspace/keptnot/a.pt")) == (False, False)
    assert kept(where.of("/dev/shm/a.pt")) == (True, False)
    assert kept(where.of("/root/a.pt")) == (True, False)
    assert kept(where.of("/opt/a.pt")) == (False, False)
    assert where.of("/root/a.pt").where == "as configured"


def test_answers_are_bounded(box: BoxTree) -> None:
    where = places(box)
    for number in range(MOST_PATHS + 5):
        where.of(f"/a/{number}")
    assert len(where._known) <= MOST_PATHS


def seen(path: str, **more: Any) -> CheckpointSeen:
    return CheckpointSeen(1.0, path, 1.0, 10, 1, "torch", state="ok", **more)


def test_checkpoints_are_marked_once(box: BoxTree) -> None:
    mark = MarkDurability(places(box.mount("/data", "tmpfs")))
    known = [seen("/data/a.pt"), seen("/b.pt")]
    marked = mark(known)
    assert [c.durability.survives_stop for c in marked if c.durability] == [False, None]
    assert mark(list(known)) is marked
    assert mark(known[:1]) == marked[:1]


def test_only_what_is_new_is_looked_up(box: BoxTree, monkeypatch: pytest.MonkeyPatch) -> None:
    found = places(box.mount("/data", "tmpfs"))
    mark, of, looked = MarkDurability(found), found.of, list[str]()

    def counted(path: str) -> Durability:
        looked.append(path)
        return of(path)

    monkeypatch.setattr(found, "of", counted)
    known = [seen(f"/data/{n}.pt") for n in range(50)]
    first = mark(known)
    looked.clear()
    known = [*known, seen("/data/new.pt")]
    second = mark(known)
    assert looked == ["/data/new.pt"]
    assert all(a is b for a, b in zip(first, second, strict=False))
    assert [one.durability for one in second] == [of(one.path) for one in known]


@pytest.mark.system
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare is not installed")
def test_a_real_tmpfs_that_is_mounted_while_we_look(tmp_path: Path) -> None:
    program = f"""
import subprocess, sys
from middlewatch.daemon.box.durability import MarkDurability, PathDurability
from middlewatch.sentinels.kit import CheckpointSeen
places = PathDurability()
path = {str(tmp_path / "out" / "a.pt")!r}
seen = [CheckpointSeen(1.0, path, 1.0, 10, 1, "torch")]
mark = MarkDurability(places)
before, turn, first = places.of(path), places.turn(), mark(seen)
assert places.turn() == turn and mark(seen) is first
subprocess.run(["mount", "-t", "tmpfs", "none", {str(tmp_path / "out")!r}], check=True)
during = places.of(path)
assert places.turn() != turn and mark(seen)[0].durability == during
subprocess.run(["umount", {str(tmp_path / "out")!r}], check=True)
print(before.survives_stop, during.survives_stop, during.where, places.of(path) == before, sep="|")
"""
    import sys

    (tmp_path / "out").mkdir()
    argv = ["unshare", "-m", sys.executable, "-c", program]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    before, during, where, back = done.stdout.strip().split("|")
    assert before != "False" or str(tmp_path).startswith("/dev/shm")
    assert (during, back) == ("False", "True")
    assert where == f"memory (tmpfs {tmp_path}/out)"


def test_memory_of_this_box() -> None:
    where = PathDurability()
    if not os.path.ismount("/dev/shm"):
        pytest.skip("/dev/shm is no mount here")
    assert kept(where.of("/dev/shm/a.pt")) == (False, False)
    where.close()
