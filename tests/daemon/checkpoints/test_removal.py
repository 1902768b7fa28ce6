from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from middlewatch.daemon.checkpoints.retention import removal
from middlewatch.daemon.checkpoints.retention.holders import holders
from middlewatch.daemon.checkpoints.retention.pointers import pointers
from middlewatch.daemon.checkpoints.retention.removal import Footprint, Unsafe
from middlewatch.daemon.checkpoints.verify import levels

from ...fakes import second_user

KINDS = ("checkpoint-500", "step_300", "ds/global_step120", "sharded/model.safetensors.index.json")


def around(*roots: Path) -> removal.Around:
    return removal.Around([str(root) for root in roots])


def look(path: Path, *roots: Path) -> Footprint:
    return removal.footprint(str(path), around(*(roots or (path.parent,))))


def take(path: Path, *roots: Path) -> None:
    known = around(*(roots or (path.parent,)))
    removal.remove(removal.footprint(str(path), known), known)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """``out/`` with a checkpoint folder and two single files."""
    inside = tmp_path / "out" / "checkpoint-1"
    inside.mkdir(parents=True)
    (inside / "model.safetensors").write_bytes(bytes(5000))
    (inside / "trainer_state.json").write_text("{}")
    (tmp_path / "out" / "step_2.pt").write_bytes(bytes(5000))
    (tmp_path / "out" / "step_2.pt.sha256").write_text("0")
    (tmp_path / "out" / "step_2.pth").write_bytes(bytes(5000))
    return tmp_path / "out"


def test_a_file_goes_with_its_checksum_and_no_other(folder: Path) -> None:
    take(folder / "step_2.pt")
    assert sorted(p.name for p in folder.iterdir()) == ["checkpoint-1", "step_2.pth"]


def test_a_folder_goes_whole(folder: Path) -> None:
    (folder / "checkpoint-1" / "deep" / "er").mkdir(parents=True)
    (folder / "checkpoint-1" / "deep" / "er" / "x.bin").write_bytes(b"1")
    take(folder / "checkpoint-1")
    assert sorted(p.name for p in folder.iterdir()) == [
        "step_2.pt",
        "step_2.pt.sha256",
        "step_2.pth",
    ]


def test_shards_go_with_their_index_and_no_others(copy: Callable[[str], Path]) -> None:
    home = copy("sharded")
    (home / "model_ema-00001-of-00001.safetensors").write_bytes(b"1")
    (home / "config.json").write_text("{}")
    one = look(home / "model.safetensors.index.json")
    assert one.pieces[0].name == "model.safetensors.index.json"
    take(home / "model.safetensors.index.json")
    left = sorted(p.name for p in home.iterdir())
    assert left == ["config.json", "model_ema-00001-of-00001.safetensors"]


def test_links_are_not_followed(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "model.pt").write_bytes(b"1")
    inside = folder / "checkpoint-1"
    (inside / "linked").symlink_to(outside)
    (inside / "linked.pt").symlink_to(outside / "model.pt")
    take(inside)
    assert not inside.exists()
    assert (outside / "model.pt").exists()


def test_a_link_is_no_checkpoint_to_delete(folder: Path, tmp_path: Path) -> None:
    (folder / "last.pt").symlink_to("step_2.pt")
    with pytest.raises(Unsafe, match="link"):
        look(folder / "last.pt")
    (tmp_path / "way").symlink_to(folder)
    outside = tmp_path / "checkpoint-9"
    outside.mkdir()
    (folder / "checkpoint-9").symlink_to(outside)
    with pytest.raises(Unsafe, match="link"):
        look(folder / "checkpoint-9")
    with pytest.raises(Unsafe, match="outside"):
        look(outside, folder)
    take(tmp_path / "way" / "step_2.pt", tmp_path / "way")  # the folder itself may be a link
    assert not (folder / "step_2.pt").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it becomes another user")
def test_no_link_of_another_user_leads_to_what_is_deleted(folder: Path, tmp_path: Path) -> None:
    """Their run "saves" to a folder of theirs, which they replace by a link to one of ours."""
    tmp_path.chmod(0o755)
    with second_user.place() as lair:
        second_user.done(lambda: (lair / "out").symlink_to(folder))
        with pytest.raises(Unsafe, match="the link out of user 1234"):
            take(lair / "out" / "checkpoint-1")
    take(folder / "checkpoint-1")


def test_a_watched_folder_itself_stays(folder: Path) -> None:
    with pytest.raises(Unsafe, match="watched folder"):
        look(folder / "checkpoint-1", folder, folder / "checkpoint-1")


def test_nothing_goes_that_changed_since_it_was_looked_at(folder: Path) -> None:
    before = look(folder / "step_2.pt"), look(folder / "checkpoint-1")
    (folder / "step_2.pt").write_bytes(bytes(5001))
    (folder / "checkpoint-1" / "new").write_text("")
    for one in before:
        with pytest.raises(Unsafe, match="changed"):
            removal.remove(one, around(folder))
        assert Path(one.path).exists()
    replaced = look(folder / "step_2.pth")
    kept = os.stat(folder / "step_2.pth")
    (folder / "other").write_bytes(bytes(5000))
    os.utime(folder / "other", ns=(kept.st_atime_ns, kept.st_mtime_ns))
    os.replace(folder / "other", folder / "step_2.pth")
    with pytest.raises(Unsafe, match="changed"):
        removal.remove(replaced, around(folder))


def _chattr(change: str, path: Path) -> bool:
    """Whether it could be changed: not without the program, without root, or on some file systems."""
    if shutil.which("chattr") is None:
        return False
    done = subprocess.run(["chattr", change, path], check=False, stderr=subprocess.DEVNULL)
    return done.returncode == 0


@pytest.mark.parametrize("which", ["model.safetensors", "trainer_state.json", "."])
def test_what_somebody_protects_stays_whole(which: str, folder: Path) -> None:
    """Not a file beside it goes: ``chattr +i`` (as root), else write-protected."""
    inside = folder / "checkpoint-1"
    fixed = _chattr("+i", inside / which)
    try:
        if not fixed:
            (inside / which).chmod(0o555)
        with pytest.raises(Unsafe, match=r"protected|may not be written"):
            take(inside)
    finally:
        if fixed:
            assert _chattr("-i", inside / which)
        (inside / which).chmod(0o755)
    assert sorted(p.name for p in inside.iterdir()) == ["model.safetensors", "trainer_state.json"]


def test_write_protected_by_its_mode(folder: Path) -> None:
    (folder / "step_2.pt").chmod(0o444)
    with pytest.raises(Unsafe, match="write-protected"):
        take(folder / "step_2.pt")


def test_a_folder_that_is_replaced_in_the_last_moment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new one with other files comes between the look and the renaming: it keeps its name."""
    inside = folder / "checkpoint-1"
    real = removal.footprint

    def then_replaced(path: str, around: removal.Around, before: Footprint) -> Footprint:
        found = real(path, around)
        inside.rename(folder / "older")
        inside.mkdir()
        (inside / "adapter.safetensors").write_bytes(bytes(9))
        return found

    before = look(inside)
    monkeypatch.setattr(removal, "footprint", then_replaced)
    with pytest.raises(Unsafe, match="replaced just now"):
        removal.remove(before, around(folder))
    assert [p.name for p in inside.iterdir()] == ["adapter.safetensors"]
    assert len(list((folder / "older").iterdir())) == 2


def test_hard_links_free_nothing_until_the_last_name_goes(folder: Path) -> None:
    os.link(folder / "step_2.pth", folder / "step_3.pth")
    one, other = look(folder / "step_2.pth"), look(folder / "step_3.pth")
    assert removal.reckon([one]) == (0, 0)
    size = os.stat(folder / "step_2.pth").st_blocks * 512
    assert removal.reckon([one, other]) == (size, 1)


def test_what_is_freed_is_what_the_disk_says(folder: Path) -> None:
    one = look(folder / "checkpoint-1")
    size, inodes = removal.reckon([one])
    assert inodes == 3
    assert size == sum(
        os.lstat(p).st_blocks * 512
        for p in (folder / "checkpoint-1", *(folder / "checkpoint-1").iterdir())
    )


def test_pipes_and_devices_stay(folder: Path) -> None:
    os.mkfifo(folder / "checkpoint-1" / "pipe")
    with pytest.raises(Unsafe, match="neither"):
        look(folder / "checkpoint-1")


CRASH = """
import os, sys
from middlewatch.daemon.checkpoints.retention import removal
path, root, left = sys.argv[1], sys.argv[2], int(sys.argv[3])
one = removal.footprint(path, removal.Around([root]))
def count(event, args):
    global left
    if event in ("os.remove", "os.rmdir", "os.rename"):
        left -= 1
        if left < 0:
            os._exit(9)
sys.addaudithook(count)
removal.remove(one, removal.Around([root]))
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_crash_leaves_nothing_that_looks_whole(kind: str, copy: Callable[[str], Path]) -> None:
    """Killed after every single step of a deletion."""
    for steps in (1, 2, 3, 100):
        path = copy(kind.split("/")[0]).parent / kind
        root = path.parent
        argv = [sys.executable, "-c", CRASH, str(path), str(root), str(steps)]
        done = subprocess.run(argv, check=False, timeout=300)
        assert done.returncode in (0, 9)
        told = levels.verify([str(root)], "structure")
        assert [t["path"] for t in told if t["state"] == "ok"] == []
        assert (done.returncode == 0) is (steps == 100)
        rest = removal.leftovers([str(root)])
        for one in rest:
            take(Path(one), root)
        shutil.rmtree(root if root.name in ("ds", "sharded") else path, ignore_errors=True)


@pytest.mark.parametrize("use", ["open", "mapped", "inside", "named"])
def test_who_has_it_in_hand(use: str, folder: Path) -> None:
    path = folder / "checkpoint-1"
    code = "import sys, time, os, mmap; f = open(sys.argv[1] + '/model.safetensors', 'rb');"
    code += {
        "open": "",
        "mapped": "m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); f.close();",
        "inside": "f.close(); os.chdir(sys.argv[1]);",
        "named": "f.close();",
    }[use]
    code += "print(flush=True); time.sleep(60)"
    argv = [sys.executable, "-c", code, f"{path}/../checkpoint-1"]
    if use == "named":
        argv = [sys.executable, "-c", code.replace("argv[1]", "argv[1][9:]"), f"--resume={path}"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=folder) as process:
        assert process.stdout is not None
        process.stdout.readline()
        one = look(path)
        files = {(p.device, p.inode): str(path) for p in one.pieces}
        told = holders(files, [str(path)])
        process.kill()
    assert f"pid {process.pid}" in told[str(path)]
    words = {"open": "open", "mapped": "mapped", "inside": "in it", "named": "started with"}
    assert words[use] in told[str(path)] or use != "named"


def test_what_points_at_a_checkpoint(folder: Path) -> None:
    paths = [str(folder / name) for name in ("checkpoint-1", "step_2.pt", "step_2.pth")]
    assert pointers(paths) == {}
    (folder / "last.pt").symlink_to("step_2.pt")
    (folder.parent / "newest").symlink_to("out/checkpoint-1")
    (folder / "latest").write_text("step_2.pth\n")
    assert pointers(paths) == {
        paths[0]: "newest points to it",
        paths[1]: "last.pt points to it",
        paths[2]: "the file latest names it",
    }


def test_megatron_names_an_iteration(tmp_path: Path) -> None:
    (tmp_path / "iter_0000500").mkdir()
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("500")
    assert list(pointers([str(tmp_path / "iter_0000500")])) == [str(tmp_path / "iter_0000500")]


@pytest.mark.system
def test_a_mount_inside_is_never_entered(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    code = """
import subprocess, sys
from middlewatch.daemon.checkpoints.retention import removal
root = sys.argv[1]
def told(path):
    try:
        removal.footprint(path, removal.Around([root]))
    except removal.Unsafe as error:
        return str(error)
    return ""
subprocess.run(["mount", "-t", "tmpfs", "none", root + "/checkpoint-1/data"], check=True)
print(told(root + "/checkpoint-1"))
subprocess.run(["mount", "--bind", root + "/checkpoint-2", root + "/checkpoint-2"], check=True)
print(told(root + "/checkpoint-2"))
"""
    (tmp_path / "checkpoint-1" / "data").mkdir(parents=True)
    (tmp_path / "checkpoint-2").mkdir()
    argv = ["unshare", "-m", sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    if "unshare" in done.stderr:
        pytest.skip(f"no mount namespace here: {done.stderr.strip()}")
    assert done.stdout.count("is a mount point") == 2, done.stderr


def test_what_the_newest_trainer_state_calls_the_best(tmp_path: Path) -> None:
    for step, best in ((100, 100), (200, 100), (1000, 200)):
        inside = tmp_path / f"checkpoint-{step}"
        inside.mkdir()
        told = f'{{"best_metric": 1, "best_model_checkpoint": "/elsewhere/out/checkpoint-{best}"}}'
        (inside / "trainer_state.json").write_text(told)
    found = pointers([str(p) for p in tmp_path.iterdir()])
    assert found == {
        f"{tmp_path}/checkpoint-200": "trainer_state.json of checkpoint-1000 names it the best"
    }
