from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import xxhash

from middlewatch.daemon.checkpoints.verify.scan import Scan
from middlewatch.daemon.mirror.copy import Copying, forget
from middlewatch.daemon.mirror.local import FolderDestination
from middlewatch.daemon.mirror.receipt import RECEIPT, CheckpointGone, CopyJob, MirrorError, job_for
from middlewatch.daemon.mirror.remote import Outcome, mirror
from middlewatch.daemon.mirror.targets import MirrorTarget, check_mounted

AT = "2026-11-21T07:00:00.000+00:00"
MIB = 1 << 20


def copy(job: CopyJob, root: Path, stop_after: int | None = None) -> Outcome | None:
    """Copy until the end, or until so many bytes were written."""
    work = mirror(job, FolderDestination(str(root)), lambda: AT)
    sent = 0
    try:
        while stop_after is None or sent < stop_after:
            sent += next(work).sent
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome
    work.close()
    return None


def left(root: Path) -> list[str]:
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if not p.is_dir())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "out" / "step_5.pt"
    path.parent.mkdir()
    path.write_bytes(os.urandom(3 * MIB + 77))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "out" / "checkpoint-500"
    (path / "a" / "b" / "c" / "d").mkdir(parents=True)
    (path / "model.safetensors").write_bytes(os.urandom(MIB))
    (path / "trainer_state.json").write_text("{}")
    (path / "empty").touch()
    (path / "optimizer.pt.tmp").write_text("half")
    (path / "a" / "b" / "c" / "d" / "deep.bin").write_text("deep")
    (path / "rng_state.pth").symlink_to("model.safetensors")
    return path


def test_a_file_is_copied_proved_and_signed(source: Path, tmp_path: Path) -> None:
    root = tmp_path / "far"
    outcome = copy(job_for(str(source), "gpt/step_5.pt", step=5.0), root)
    assert outcome is not None
    assert outcome.copied
    assert outcome.digest == f"xxh3:{xxhash.xxh3_128_hexdigest(source.read_bytes())}"
    assert left(root) == ["gpt/step_5.pt", f"gpt/step_5.pt{RECEIPT}"]
    assert (root / "gpt/step_5.pt").read_bytes() == source.read_bytes()
    told = json.loads((root / f"gpt/step_5.pt{RECEIPT}").read_text())
    assert told["source"] == str(source)
    assert (told["step"], told["verified_at"], told["digest"]) == (5.0, AT, outcome.digest)
    assert [f["bytes"] for f in told["files"]] == [3 * MIB + 77]
    again = copy(job_for(str(source), "gpt/step_5.pt"), root)
    assert again == Outcome(False, outcome.digest, 3 * MIB + 77, AT)


def test_a_folder_is_copied_without_its_temporaries(folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "far"
    job = job_for(str(folder), "checkpoint-500")
    outcome = copy(job, root)
    assert outcome is not None
    assert left(root) == [
        "checkpoint-500.middlewatch-mirror.json",
        "checkpoint-500/a/b/c/d/deep.bin",
        "checkpoint-500/empty",
        "checkpoint-500/model.safetensors",
        "checkpoint-500/rng_state.pth",
        "checkpoint-500/trainer_state.json",
    ]
    assert not (root / "checkpoint-500/rng_state.pth").is_symlink()


def test_the_digest_is_that_of_the_index(source: Path, folder: Path, tmp_path: Path) -> None:
    index = folder.parent / "model.safetensors.index.json"
    (folder.parent / "model-00001-of-00001.safetensors").write_bytes(b"shard")
    index.write_text(json.dumps({"weight_map": {"w": "model-00001-of-00001.safetensors"}}))
    for path in (source, folder, index):
        scanned = Scan(str(path)).advance()
        assert scanned is not None
        outcome = copy(job_for(str(path), path.name, digest=scanned.digest), tmp_path / "far")
        assert outcome is not None
        assert outcome.digest == scanned.digest
    assert (tmp_path / "far" / "model-00001-of-00001.safetensors").read_bytes() == b"shard"


def test_an_interrupted_copy_goes_on_where_it_stopped(source: Path, tmp_path: Path) -> None:
    root, job = tmp_path / "far", job_for(str(source), "step_5.pt")
    assert copy(job, root, stop_after=2 * MIB) is None
    assert left(root) == [".step_5.pt.part/step_5.pt"]
    half = root / ".step_5.pt.part" / "step_5.pt"
    kept = half.stat().st_size
    assert 2 * MIB <= kept < 3 * MIB
    with half.open("r+b") as file:  # a block that never reached the disk
        file.seek(MIB)
        file.write(bytes(4096))
    work = mirror(job, FolderDestination(str(root)), lambda: AT)
    sent = sum(tick.sent for tick in work)
    assert MIB // 4 <= sent < MIB + (MIB // 4) + 78 + MIB // 4
    assert (root / "step_5.pt").read_bytes() == source.read_bytes()
    assert copy(job, root) == Outcome(
        False, "xxh3:" + xxhash.xxh3_128_hexdigest(source.read_bytes()), job.bytes, AT
    )


def test_a_copy_of_something_longer_is_cut(source: Path, tmp_path: Path) -> None:
    root = tmp_path / "far"
    part = root / ".step_5.pt.part"
    part.mkdir(parents=True)
    (part / "step_5.pt").write_bytes(bytes(9 * MIB))
    (part / "of_another_time.pt").write_bytes(b"1")
    assert copy(job_for(str(source), "step_5.pt"), root)
    assert (root / "step_5.pt").read_bytes() == source.read_bytes()
    assert left(root) == ["step_5.pt", f"step_5.pt{RECEIPT}"]


KILLED = """
import sys
from middlewatch.daemon.mirror.copy import Copying, forget
from middlewatch.daemon.mirror.receipt import job_for
from middlewatch.daemon.mirror.targets import parse
copying = Copying(job_for(sys.argv[1], "step_5.pt"), parse(sys.argv[2]), lambda: "now", limit_bytes_per_s=int(sys.argv[3]))
print(flush=True)
copying.advance(lambda: False)
"""


def test_kill_9_in_the_middle_and_again(source: Path, tmp_path: Path) -> None:
    root = tmp_path / "far"
    argv = [sys.executable, "-c", KILLED, str(source), str(root)]
    half = root / ".step_5.pt.part" / "step_5.pt"
    seen = 0
    for _ in range(3):
        with subprocess.Popen([*argv, str(2 * MIB)], stdout=subprocess.PIPE) as process:
            deadline = time.monotonic() + 120
            while time.monotonic() < deadline and not (
                half.exists() and half.stat().st_size > seen
            ):
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        assert half.stat().st_size > seen
        seen = half.stat().st_size
        assert left(root) == [".step_5.pt.part/step_5.pt"]
    subprocess.run([*argv, "0"], check=True, stdout=subprocess.DEVNULL, timeout=300)
    assert left(root) == ["step_5.pt", f"step_5.pt{RECEIPT}"]
    assert (root / "step_5.pt").read_bytes() == source.read_bytes()


def test_a_crash_before_the_receipt_is_made_good(source: Path, tmp_path: Path) -> None:
    root, job = tmp_path / "far", job_for(str(source), "step_5.pt")
    assert copy(job, root)
    (root / f"step_5.pt{RECEIPT}").unlink()
    outcome = copy(job, root)
    assert outcome is not None
    assert outcome.detail == "its files were there, without a receipt"
    assert (root / f"step_5.pt{RECEIPT}").exists()


def test_what_is_not_ours_is_never_touched(source: Path, folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "far"
    (root / "checkpoint-500").mkdir(parents=True)
    (root / "checkpoint-500" / "mine").write_text("mine")
    (root / "step_5.pt").write_text("mine")
    for path in (source, folder):
        with pytest.raises(MirrorError, match="no copy of this"):
            copy(job_for(str(path), path.name), root)
    assert (root / "checkpoint-500" / "mine").read_text() == "mine"
    assert (root / "step_5.pt").read_text() == "mine"
    assert not (root / f"step_5.pt{RECEIPT}").exists()


def test_saved_again_under_the_same_name(source: Path, folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "far"
    for path in (source, folder):
        assert copy(job_for(str(path), path.name), root)
    source.write_bytes(b"newer")
    old = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(b"newer")
    for path in (source, folder):
        outcome = copy(job_for(str(path), path.name), root)
        assert outcome is not None
        assert outcome.copied
    assert (root / "step_5.pt").read_bytes() == b"newer"
    assert (root / "checkpoint-500/model.safetensors").read_bytes() == b"newer"
    assert (root / "checkpoint-500.replaced-1/model.safetensors").read_bytes() == old


def test_a_source_that_changes_is_not_called_good(source: Path, tmp_path: Path) -> None:
    root, job = tmp_path / "far", job_for(str(source), "step_5.pt")
    work = mirror(job, FolderDestination(str(root)), lambda: AT)
    while next(work).sent == 0:
        pass
    with source.open("r+b") as file:
        file.seek(-5, os.SEEK_END)
        file.write(b"newer")
    with pytest.raises(CheckpointGone, match="changed"):
        for _ in work:
            pass
    assert left(root) == []


def test_a_source_that_vanishes_leaves_nothing(source: Path, tmp_path: Path) -> None:
    root, job = tmp_path / "far", job_for(str(source), "step_5.pt")
    (source.parent / "step_6.pt").write_bytes(b"6")
    two = CopyJob(
        job.path,
        "two",
        True,
        (*job_for(str(source.parent / "step_6.pt"), "x").items, *job.items),
    )
    work = mirror(two, FolderDestination(str(root)), lambda: AT)
    while next(work).sent == 0:
        pass
    source.unlink()
    with pytest.raises(CheckpointGone, match="cannot be read"):
        for _ in work:
            pass
    assert left(root) == []
    (root / ".step_5.pt.part").mkdir(parents=True)
    forget(job.path, "step_5.pt", MirrorTarget("folder", "", str(root)))
    assert not list(root.iterdir())


def test_shards_of_others_are_not_overwritten(tmp_path: Path) -> None:
    home, root = tmp_path / "out", tmp_path / "far"
    for folder in (home, root):
        folder.mkdir()
        (folder / "model-00001-of-00001.safetensors").write_text(folder.name)
    index = home / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"w": "model-00001-of-00001.safetensors"}}))
    with pytest.raises(MirrorError, match="no copy of this"):
        copy(job_for(str(index), index.name), root)
    assert left(root) == ["model-00001-of-00001.safetensors"]


def test_bytes_that_were_not_verified_are_not_copied(source: Path, tmp_path: Path) -> None:
    root = tmp_path / "far"
    job = job_for(str(source), "step_5.pt", digest="xxh3:" + "0" * 32)
    with pytest.raises(CheckpointGone, match="not those that were verified"):
        copy(job, root)
    assert left(root) == []


def test_rot_on_the_far_side_is_noticed_before_success_is_said(
    source: Path, tmp_path: Path
) -> None:
    root, job = tmp_path / "far", job_for(str(source), "step_5.pt")
    work = mirror(job, FolderDestination(str(root)), lambda: AT)
    written = 0
    while written < job.bytes:
        written += next(work).sent
    with (root / ".step_5.pt.part" / "step_5.pt").open("r+b") as file:
        file.write(b"rot")
    with pytest.raises(MirrorError, match=r"1 of 1 files differ: step_5\.pt"):
        for _ in work:
            pass
    assert left(root) == []


def test_a_source_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(CheckpointGone, match="No such file"):
        job_for(str(tmp_path / "step_1.pt"), "step_1.pt")
    (tmp_path / "step_2").mkdir()
    with pytest.raises(CheckpointGone, match="without files"):
        job_for(str(tmp_path / "step_2"), "step_2")


def test_a_limit_is_kept(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By sleeping: on a clock that only sleep moves, it takes as long as the limit asks for."""
    place = MirrorTarget("folder", "", str(tmp_path / "far"))
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", lambda s: clock.append(clock.pop() + s))
    copying = Copying(job_for(str(source), "a.pt"), place, lambda: AT, limit_bytes_per_s=6 * MIB)
    assert copying.advance(lambda: False)
    assert copying.done == copying.total == 2 * (3 * MIB + 77)
    assert clock[0] == pytest.approx((3 * MIB + 77) / (6 * MIB), rel=0.2)


def test_a_mount_that_is_gone_is_not_written_to(source: Path, tmp_path: Path) -> None:
    memory, root = tmp_path / "mirror.json", tmp_path / "far"
    root.mkdir()
    memory.write_text(json.dumps({str(root): {"point": str(root), "kind": "nfs4", "source": "x"}}))
    place = MirrorTarget("folder", "", str(root))
    copying = Copying(job_for(str(source), "a.pt"), place, lambda: AT, memory=str(memory))
    with pytest.raises(MirrorError, match=r"far \(nfs4\) is not mounted any more"):
        copying.advance(lambda: False)
    assert left(root) == []
    check_mounted(str(root), {"point": "/", "kind": "ext4"})  # something nearer was mounted since
    memory.write_text("{")
    copying = Copying(job_for(str(source), "a.pt"), place, lambda: AT, memory=str(memory))
    assert copying.advance(lambda: False)
    assert json.loads(memory.read_text())[str(root)]["point"]


# ------------------------------------------------------------------ real file systems that refuse

SMALL = """
import os, subprocess, sys
from middlewatch.daemon.mirror.copy import Copying, forget
from middlewatch.daemon.mirror.receipt import MirrorError, job_for
from middlewatch.daemon.mirror.targets import parse
source, root, options, fill = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", options.split("|")[0], "none", root], check=True)
if "|" in options:
    subprocess.run(["mount", "-o", "remount," + options.split("|")[1], root], check=True)

def attempt(fill_after):
    copying = Copying(job_for(source, os.path.basename(source)), parse(root), lambda: "now")
    sent = 0
    def stop():
        nonlocal fill_after
        if fill_after and copying.done > fill_after:
            fill_after = 0
            with open(root + "/others", "wb") as file:
                try:
                    while file.write(bytes(1 << 20)):
                        pass
                except OSError:
                    pass
        return False
    try:
        copying.advance(stop)
    except MirrorError as trouble:
        print(trouble)
    else:
        print("copied")
    print(sorted(os.path.join(d, f)[len(root) + 1:] for d, _, fs in os.walk(root) for f in fs))

attempt(int(fill))
if os.path.exists(root + "/others"):
    os.unlink(root + "/others")
    attempt(0)
"""


def small(source: Path, root: Path, options: str, fill: int = 0) -> list[str]:
    """Copy to a tmpfs with these options, that others fill up after so many bytes."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    root.mkdir()
    argv = [
        "unshare",
        "-m",
        sys.executable,
        "-c",
        SMALL,
        str(source),
        str(root),
        options,
        str(fill),
    ]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode and ("unshare" in done.stderr or "mount:" in done.stderr):
        pytest.skip(f"no mount here: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.system
def test_full_before_it_begins(source: Path, tmp_path: Path) -> None:
    told = small(source, tmp_path / "far", "size=2m")
    assert "is full" in told[0]
    assert told[1:] == ["[]"]


@pytest.mark.system
def test_filled_by_others_in_the_middle(source: Path, tmp_path: Path) -> None:
    """Others get the room that the half copy took; when there is room again it is made."""
    source.write_bytes(os.urandom(6 * MIB))
    told = small(source, tmp_path / "far", "size=9m", fill=MIB)
    assert "is full" in told[0]
    assert told[1:] == ["['others']", "copied", f"['step_5.pt', 'step_5.pt{RECEIPT}']"]


VANISHED = """
import subprocess, sys
from middlewatch.daemon.mirror.copy import Copying, forget
from middlewatch.daemon.mirror.receipt import MirrorError, job_for
from middlewatch.daemon.mirror.targets import parse
source, root, memory = sys.argv[1:]
def attempt():
    try:
        Copying(job_for(source, "a.pt"), parse(root + "/ours"), lambda: "now", memory=memory).advance(lambda: False)
        print("copied")
    except MirrorError as trouble:
        print(trouble)
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=9m", "safe", root], check=True)
attempt()
subprocess.run(["umount", root], check=True)
attempt()
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=9m", "safe", root], check=True)
attempt()
"""


@pytest.mark.system
def test_a_mount_that_vanishes(source: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    root = tmp_path / "far"
    root.mkdir()
    argv = ["unshare", "-m", sys.executable, "-c", VANISHED]
    argv += [str(source), str(root), str(tmp_path / "mirror.json")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode and ("unshare" in done.stderr or "mount:" in done.stderr):
        pytest.skip(f"no mount here: {done.stderr.strip().splitlines()[-1]}")
    first, second, third = done.stdout.splitlines()
    assert (first, third) == ("copied", "copied")
    assert "is not mounted any more" in second
    assert left(root) == []


@pytest.mark.system
def test_no_inodes_left(folder: Path, tmp_path: Path) -> None:
    told = small(folder, tmp_path / "far", "size=9m,nr_inodes=5")
    assert "inodes left, and 7 are needed" in told[0]
    assert told[1:] == ["[]"]


@pytest.mark.system
def test_read_only(source: Path, tmp_path: Path) -> None:
    told = small(source, tmp_path / "far", "size=9m|ro")
    assert "is mounted read-only" in told[0]
    assert told[1:] == ["[]"]


def test_no_permission(source: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (tmp_path / "far").mkdir(mode=0o500)
    with pytest.raises(MirrorError, match="may not be written"):
        copy(job_for(str(source), "a.pt"), tmp_path / "far")


def test_a_destination_that_is_a_file(source: Path, tmp_path: Path) -> None:
    (tmp_path / "far").write_text("")
    with pytest.raises(MirrorError, match="cannot be used"):
        copy(job_for(str(source), "a.pt"), tmp_path / "far")


@pytest.mark.parametrize("way", ["above", "link", "hard link"])
def test_the_checkpoint_itself_is_no_copy(way: str, folder: Path, tmp_path: Path) -> None:
    """It has the right name, the right bytes, and goes with the checkpoint."""
    root = tmp_path / "far"
    if way == "above":
        root = folder.parent
    elif way == "link":
        root.symlink_to(folder.parent)
    else:
        shutil.copytree(folder, root / folder.name, copy_function=os.link)
    with pytest.raises(MirrorError, match="the checkpoint itself"):
        copy(job_for(str(folder), folder.name), root)
    assert not list(tmp_path.rglob(f"*{RECEIPT}"))


@pytest.mark.parametrize("kept", [False, True])
def test_a_copy_that_rots_between_two_runs(kept: bool, source: Path, tmp_path: Path) -> None:
    """Who writes to it moves its time; what rots by itself is found by reading again."""
    destination, job = tmp_path / "far", job_for(str(source), source.name)
    copy(job, destination)
    there = destination / source.name
    was = there.stat()
    data = bytearray(there.read_bytes())
    data[MIB] ^= 1
    there.write_bytes(data)
    if kept:
        os.utime(there, ns=(was.st_atime_ns, was.st_mtime_ns))
        again = copy(job, destination)
        assert again is not None
        assert not again.copied
    outcome = read_back(job, destination) if kept else copy(job, destination)
    assert outcome is not None
    assert outcome.copied
    assert "had changed: it was copied again" in outcome.detail
    assert there.read_bytes() == source.read_bytes()
    assert not read_back(job, destination).copied


def read_back(job: CopyJob, root: Path) -> Outcome:
    work = mirror(job, FolderDestination(str(root)), lambda: AT, again=True)
    try:
        while True:
            next(work)
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome


def test_a_rotten_copy_is_called_none_even_if_it_cannot_be_made_anew(
    source: Path, tmp_path: Path
) -> None:
    """The source rots too: the next run must not believe the receipt."""
    destination, job = tmp_path / "far", job_for(str(source), source.name)
    copy(job, destination)
    for path in (source, destination / source.name):
        was = path.stat()
        path.write_bytes(b"x" + path.read_bytes()[1:])
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    with pytest.raises(MirrorError, match="not those that were verified"):
        read_back(job, destination)
    told = json.loads((destination / f"{source.name}{RECEIPT}").read_text())
    assert told["wrong"] == [source.name]
    assert "files" not in told
