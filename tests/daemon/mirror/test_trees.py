"""Whole folders of results are mirrored as they change: by the copier, asked as the daemon asks it."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.mirror import tree_turn, tree_watch
from middlewatch.daemon.mirror.receipt import RECEIPT
from middlewatch.daemon.mirror.tree_worker import LEDGER, TreeCopier
from middlewatch.daemon.system import mounts

PATIENCE_S = 120.0
SLOW_CLOCK_S = 900.0


class Trees:
    """A run with ``logs/``, a destination, and the copier."""

    def __init__(self, home: Path, to: str = "") -> None:
        self.home = home
        self.logs = home / "run" / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.to = to or str(home / "far")
        self.far = home / "far" / "gpt" / "logs"
        self.leave: list[str] = []
        self.look = 0
        self.copier = TreeCopier()

    def ask(self) -> dict[str, Any]:
        tree = {"source": str(self.logs), "place": "gpt/logs", "leave": self.leave}
        (self.home / "state").mkdir(exist_ok=True)
        question = {
            "to": self.to,
            "trees": [{**tree, "look": self.look}],
            "limit": 0,
            "home": str(self.home / "state"),
        }
        return self.copier.answer(json.dumps(question).encode())

    def row(self) -> dict[str, Any]:
        answer = self.ask()
        assert "error" not in answer, answer
        found: dict[str, Any] = answer["trees"][0]
        return found

    def until(self, reached: Callable[[dict[str, Any]], bool], what: str) -> dict[str, Any]:
        """The first state of which this is true."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            row = self.row()
            if reached(row):
                return row
            time.sleep(0.05)
        raise AssertionError(f"not reached: {what}; {row}")

    def settle(self) -> dict[str, Any]:
        """Everything that is there is copied, as far as events and looks have told."""
        return self.until(lambda row: row["state"] == "ok", "it is at rest")

    def there(self, name: str) -> None:
        """This file reaches the destination as it is."""
        copy, path = self.far / name, self.logs / name
        self.until(
            lambda _: copy.is_file() and copy.read_bytes() == path.read_bytes(), f"{name} is there"
        )

    def look_whole(self) -> dict[str, Any]:
        """Everything is copied that a look at the whole tree finds."""
        self.look += 1
        return self.until(
            lambda row: row["state"] == "ok" and row["look"] == self.look, "it was looked at"
        )

    def again(self) -> None:
        """As after a restart of the copier."""
        self.copier.close()
        self.copier = TreeCopier()

    def differing(self) -> list[str]:
        return [
            str(path.relative_to(self.logs))
            for path in self.logs.rglob("*")
            if path.is_file()
            and not (
                (copy := self.far / path.relative_to(self.logs)).is_file()
                and copy.read_bytes() == path.read_bytes()
            )
        ]

    def copies(self) -> list[str]:
        return sorted(str(p.relative_to(self.far)) for p in self.far.rglob("*") if p.is_file())


@pytest.fixture
def trees(tmp_path: Path) -> Iterator[Trees]:
    trees = Trees(tmp_path)
    yield trees
    trees.copier.close()


def test_a_folder_is_copied_as_it_changes(trees: Trees) -> None:
    log, summary = trees.logs / "train.log", trees.logs / "deep" / "er" / "summary.json"
    summary.parent.mkdir(parents=True)
    log.write_text("step 1 loss 3.0\n" * 1000)
    summary.write_text('{"loss": 3.0}')
    (trees.logs / "latest").symlink_to("train.log")
    (trees.logs / "out").symlink_to("/etc")
    (trees.logs / "model.tmp").write_text("half of it")
    assert trees.settle()["files"] == 2
    assert trees.copies() == ["deep/er/summary.json", "train.log"]
    receipt = json.loads(Path(f"{trees.far}{RECEIPT}").read_text())
    assert receipt["source"] == str(trees.logs)
    inode, other = (trees.far / "train.log").stat().st_ino, (trees.far / "deep/er/summary.json")
    before = other.stat().st_ino
    with log.open("a") as file:
        file.write("step 2 loss 2.9\n")
    summary.write_text('{"loss": 2.9}')
    trees.there("train.log")
    trees.there("deep/er/summary.json")
    assert (trees.far / "train.log").stat().st_ino == inode  # by its growth
    assert other.stat().st_ino != before  # replaced in one step
    assert (trees.far / "train.log").stat().st_mtime_ns == log.stat().st_mtime_ns
    os.replace(trees.logs / "model.tmp", trees.logs / "model.bin")
    summary.unlink()
    trees.there("model.bin")
    assert trees.copies() == ["deep/er/summary.json", "model.bin", "train.log"]


def test_growth_is_all_that_is_written(trees: Trees) -> None:
    log = trees.logs / "train.log"
    log.write_bytes(os.urandom(1 << 20))
    trees.settle()
    copy = trees.far / "train.log"
    with copy.open("r+b") as file:  # in the middle, where the quick look does not look
        file.seek(500_000)
        file.write(b"rotten")
    with log.open("ab") as file:
        file.write(b"more\n")
    trees.until(lambda _: copy.stat().st_size == log.stat().st_size, "it has grown")
    assert b"rotten" in copy.read_bytes()  # so the older part was not written again
    quiet = time.time() - 2 * tree_watch.LATELY_S
    os.utime(log, (quiet, quiet))
    trees.look_whole()
    trees.there("train.log")  # once it is quiet it is compared whole


def test_a_log_that_begins_anew_stays(trees: Trees) -> None:
    log = trees.logs / "train.log"
    log.write_text("the first attempt\n" * 100)
    trees.settle()
    with log.open("a") as file:
        file.write("it failed\n")
    trees.there("train.log")
    older = log.read_text()
    log.write_text("the second attempt\n" * 200)
    trees.there("train.log")
    assert (trees.far / "train.log.replaced-1").read_text() == older


def test_what_is_there_and_not_ours_is_never_lost(trees: Trees) -> None:
    trees.far.mkdir(parents=True)
    (trees.far / "notes.txt").write_text("of a person")
    (trees.far / "same.txt").write_text("of both, ")
    (trees.far / "taken").mkdir()
    for name, text in (
        ("notes.txt", "of the run"),
        ("same.txt", "of both, longer"),
        ("taken", "x"),
    ):
        (trees.logs / name).write_text(text)
    row = trees.settle()
    assert row["left_out"] == 1
    assert "is there, and is no file" in row["detail"]
    assert (trees.far / "notes.txt").read_text() == "of the run"
    assert (trees.far / "notes.txt.replaced-1").read_text() == "of a person"
    assert (trees.far / "same.txt").read_text() == "of both, longer"
    assert not (trees.far / "same.txt.replaced-1").exists()


def test_another_tree_is_not_copied_over_it(trees: Trees) -> None:
    (trees.logs / "a.txt").write_text("a")
    trees.settle()
    trees.copier.close()
    other = Trees(trees.home / "b", to=trees.to)
    (other.logs / "a.txt").write_text("b")
    row = other.until(lambda row: row["state"] == "failed", "it is refused")
    assert "is the copy of" in row["detail"]
    assert (trees.far / "a.txt").read_text() == "a"
    other.copier.close()


def test_a_destination_inside_the_tree_is_refused(tmp_path: Path) -> None:
    trees = Trees(tmp_path, to=str(tmp_path / "run" / "logs" / "far"))
    (trees.logs / "a.txt").write_text("a")
    row = trees.until(lambda row: row["state"] == "failed", "it is refused")
    assert "lie in each other" in row["detail"]
    trees.copier.close()


def test_a_moved_file_is_moved(trees: Trees) -> None:
    (trees.logs / "a").mkdir()
    for number in range(5):
        (trees.logs / "a" / f"{number}.txt").write_bytes(os.urandom(5000))
    trees.settle()
    inode = (trees.far / "a" / "3.txt").stat().st_ino
    (trees.logs / "a").rename(trees.logs / "b")
    (trees.logs / "b" / "1.txt").rename(trees.logs / "one.txt")
    for name in ("b/3.txt", "b/0.txt", "one.txt"):
        trees.there(name)
    assert (trees.far / "b" / "3.txt").stat().st_ino == inode
    trees.settle()
    assert trees.copies() == ["b/0.txt", "b/2.txt", "b/3.txt", "b/4.txt", "one.txt"]


def test_a_restart_copies_nothing_again(trees: Trees) -> None:
    for number in range(20):
        (trees.logs / f"{number}.txt").write_text(f"{number}")
    trees.settle()
    before = {name: (trees.far / name).stat().st_ctime_ns for name in trees.copies()}
    trees.again()
    trees.settle()
    assert {name: (trees.far / name).stat().st_ctime_ns for name in trees.copies()} == before
    trees.copier.close()
    (trees.home / "state" / LEDGER).write_bytes(b"no database, but this" * 100)
    (trees.far / "7.txt").unlink()
    trees.again()
    trees.settle()
    inodes = {name: (trees.far / name).stat().st_ino for name in trees.copies()}
    assert trees.differing() == []
    trees.again()
    trees.settle()
    assert {name: (trees.far / name).stat().st_ino for name in trees.copies()} == inodes


def test_checkpoints_are_left_to_those_who_prove_them(trees: Trees) -> None:
    trees.leave = [str(trees.logs / "ckpt")]
    for name in ("ckpt/checkpoint-5/model.safetensors", "ckpt/checkpoint-5/trainer_state.json"):
        (trees.logs / name).parent.mkdir(parents=True, exist_ok=True)
        (trees.logs / name).write_text("{}")
    (trees.logs / "ckpt" / "step_7.pt").write_text("7")
    (trees.logs / "ckpt" / "metrics.jsonl").write_text("{}\n")
    trees.settle()
    (trees.logs / "ckpt" / "step_8.pt").write_text("8")
    (trees.logs / "ckpt" / "checkpoint-5" / "optimizer.pt").write_text("o")
    (trees.logs / "after.txt").write_text("a")
    trees.there("after.txt")
    assert trees.copies() == ["after.txt", "ckpt/metrics.jsonl"]


@pytest.mark.filterwarnings("ignore:Callback with id:RuntimeWarning")  # of watchdog, and harmless
@pytest.mark.parametrize("how", ["events", "polling", "looking"])
def test_nothing_is_missed(trees: Trees, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how != "events":
        monkeypatch.setattr(mounts, "is_local", lambda _kind: False)
        monkeypatch.setattr(tree_turn, "MOST_POLLED", 2000 if how == "polling" else 0)
        monkeypatch.setattr(tree_watch, "POLL_S", 0.2)
    rng = random.Random(1)
    files = []
    for number in range(100):
        path = trees.logs / f"d{number // 20}" / f"{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{number}")
        files.append(path)
    assert trees.until(lambda row: row["state"] == "ok" and row["watching"] == how, how)
    deleted = []
    for number in range(100):
        path = files.pop(rng.randrange(len(files)))
        kind = rng.choice(["new", "grow", "rewrite", "move", "folder", "delete"])
        if kind == "new":
            files += [path, new := path.with_name(f"n{number}.txt")]
            new.write_text(f"new {number}")
        elif kind == "grow":
            path.write_text(path.read_text() + f"{number}")
            files.append(path)
        elif kind == "rewrite":
            path.write_text(f"{number}")
            files.append(path)
        elif kind == "move":
            files.append(path.rename(path.with_name(f"m{number}.txt")))
        elif kind == "folder":
            files += [path, new := path.parent / f"s{number}" / "x.txt"]
            new.parent.mkdir()
            new.write_text(f"in a folder {number}")
        else:
            deleted.append(path.relative_to(trees.logs))
            path.unlink()
        if number % 10 == 0:
            trees.ask()
    trees.until(lambda _: not trees.differing(), "all is there")
    assert trees.row()["watching"] == how
    old = [one for one in deleted if one.stem.isdigit()]
    assert all((trees.far / one).is_file() for one in old)


def test_what_this_machine_changes_is_told_where_a_tree_is_looked_at(
    trees: Trees, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounts, "is_local", lambda _kind: False)
    monkeypatch.setattr(tree_turn, "MOST_POLLED", 0)
    old = trees.logs / "d" / "old.txt"
    old.parent.mkdir()
    old.write_text("a")
    os.utime(old, (1, 1))  # no look at what changed lately meets it
    row = trees.settle()
    assert row["watching"] == "looking"
    with old.open("a") as file:
        file.write("after a long time")
    os.utime(old, (2, 2))
    trees.there("d/old.txt")
    assert trees.row()["looks"] == row["looks"], "no whole look was needed"


def test_a_tree_is_looked_at_more_rarely_where_inotify_reaches_it(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    watch = tree_watch.TreeWatch(str(tmp_path), fd, "looking", ())
    heard = watch.rest_s(folders=1, took_s=2.0)
    deaf = watch.rest_s(folders=5, took_s=2.0)
    assert heard >= 10 * deaf
    assert watch.rest_s(folders=1, took_s=2.0) == deaf, "it has given its watches back"
    watch.close()
    os.close(fd)


def test_hints_that_never_came_are_made_up_for(
    trees: Trees, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_watch.TreeWatch, "changed", lambda _self: ({}, {}, False))
    (trees.logs / "a.txt").write_text("a")
    trees.settle()
    (trees.logs / "b").mkdir()
    (trees.logs / "b" / "c.txt").write_text("c")
    trees.settle()
    assert trees.copies() == ["a.txt"]
    trees.look_whole()
    assert trees.copies() == ["a.txt", "b/c.txt"]


def test_a_look_follows_where_hints_may_have_been_lost(
    trees: Trees, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_turn, "SOON_S", 0.0)
    looks = trees.settle()["looks"]
    monkeypatch.setattr(tree_watch.TreeWatch, "changed", lambda _self: ({}, {}, True))
    trees.until(lambda row: row["looks"] > looks, "it is looked at again")


def test_many_events_may_be_more_than_the_kernel_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_watch, "_queue_length", lambda: 40)
    fd = os.open(tmp_path, os.O_RDONLY)
    watch = tree_watch.TreeWatch(str(tmp_path), fd, "events", ())
    (tmp_path / "one.txt").write_text("1")
    seen: dict[str, float] = {}
    deadline = time.monotonic() + PATIENCE_S
    while "one.txt" not in seen and time.monotonic() < deadline:
        files, _, lost = watch.changed()
        seen |= files
        assert not lost
    for number in range(50):
        (tmp_path / f"{number}.txt").write_text("1")
    lost = False
    while not lost and time.monotonic() < deadline:
        time.sleep(0.2)
        lost = watch.changed()[2]
    assert lost
    watch.close()
    os.close(fd)


@pytest.mark.system
def test_without_watches_it_looks(tmp_path: Path) -> None:
    """In a user namespace, whose number of watches is small."""
    for number in range(6):
        (tmp_path / "run" / "logs" / f"d{number}").mkdir(parents=True)
        (tmp_path / "run" / "logs" / f"d{number}" / "a.txt").write_text("a")
    program = f"""
import sys
from pathlib import Path
try:
    Path("/proc/sys/user/max_inotify_watches").write_text("4")
except OSError as refused:  # read-only in most containers
    sys.exit(f"skipped: {{refused}}")
from tests.daemon.mirror.test_trees import Trees
trees = Trees(Path({str(tmp_path)!r}))
row = trees.until(lambda row: row["state"] == "ok" and row["watching"] == "polling", "polled")
(trees.logs / "d5" / "b.txt").write_text("b")
trees.there("d5/b.txt")
print(row["why"])
trees.copier.close()
"""
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    tried = subprocess.run(["unshare", "-Ur", "true"], check=False, capture_output=True)
    if tried.returncode:
        pytest.skip("user namespaces are not allowed here")
    done = subprocess.run(
        ["unshare", "-Ur", sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=SLOW_CLOCK_S,
        cwd=Path(__file__).parents[3],
    )
    if done.stderr.startswith("skipped: "):
        pytest.skip(f"the number of watches cannot be set here: {done.stderr.strip()[9:]}")
    assert done.returncode == 0, done.stderr
    assert "no watch left" in done.stdout


@pytest.mark.system
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it mounts a tmpfs")
def test_a_full_destination_is_told_and_left_usable(trees: Trees, tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(far)], check=True)
    try:
        (trees.logs / "small.txt").write_text("s")
        trees.there("small.txt")
        (trees.logs / "big.bin").write_bytes(os.urandom(2 << 20))
        row = trees.until(lambda row: row["state"] == "failed", "it is full")
        assert "is full" in row["detail"]
        assert (row["behind_files"], row["behind_bytes"]) == (1, 2 << 20)
        assert os.statvfs(far).f_bavail * 4096 > 900_000  # nothing half is left there
        assert trees.copies() == ["small.txt"]
    finally:
        trees.copier.close()
        subprocess.run(["umount", "-l", str(far)], check=True)


@pytest.mark.system
def test_a_fuse_mount_is_polled(tmp_path: Path) -> None:
    if shutil.which("bindfs") is None:
        pytest.skip("bindfs is not installed")
    real = tmp_path / "real"
    (real / "d").mkdir(parents=True)
    (real / "d" / "a.txt").write_text("a")
    mount = tmp_path / "run" / "logs"
    mount.mkdir(parents=True)
    done = subprocess.run(["bindfs", str(real), str(mount)], check=False, capture_output=True)
    if done.returncode:
        pytest.skip(f"no FUSE here: {done.stderr.decode()[-100:]}")
    trees = Trees(tmp_path)
    try:
        row = trees.until(
            lambda row: row["state"] == "ok" and row["watching"] == "polling", "polled"
        )
        assert "fuse" in row["why"]
        with (mount / "d" / "a.txt").open("a") as file:
            file.write("more")
        (mount / "d" / "new.txt").write_text("new")
        trees.there("d/a.txt")
        trees.there("d/new.txt")
    finally:
        trees.copier.close()
        subprocess.run(["umount", "-l", str(mount)], check=False)


@pytest.mark.system
@pytest.mark.parametrize("kind", ["rsync", "rclone"])
def test_to_other_places(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which(kind) is None:
        pytest.skip(f"{kind} is not installed")
    if kind == "rclone":
        monkeypatch.setenv("RCLONE_CONFIG", str(tmp_path / "rclone.conf"))
        (tmp_path / "rclone.conf").write_text("[cloud]\ntype = local\n")
        to = f"cloud:{tmp_path}/far"
    else:
        shell = tmp_path / "rsh"  # a "host" that is this machine
        shell.write_text(
            '#!/bin/sh\nuntil [ ${1#me@} = here ]; do shift; done; shift\nexec sh -c "$*"\n'
        )
        shell.chmod(0o755)
        monkeypatch.setenv("RSYNC_RSH", str(shell))
        to = f"me@here:{tmp_path}/far"
    trees = Trees(tmp_path, to=to)
    trees.far.mkdir(parents=True)
    (trees.far / "notes.txt").write_text("of a person")
    log, odd = trees.logs / "train.log", trees.logs / "a b" / "it's $HOME.txt"
    odd.parent.mkdir()
    log.write_text("step 1\n" * 2000)
    odd.write_text("odd")
    (trees.logs / "notes.txt").write_text("of the run!")
    trees.settle()
    assert trees.differing() == []
    kept = [one for one in trees.copies() if one.startswith("notes") and one != "notes.txt"]
    assert [(trees.far / one).read_text() for one in kept] == ["of a person"]
    with log.open("a") as file:
        file.write("step 2\n")
    odd.write_text("0dd")
    if kind == "rsync":
        trees.there("train.log")
        trees.there("a b/it's $HOME.txt")
        log.write_text("anew\n")
        trees.there("train.log")
        older = [one for one in trees.copies() if one.startswith("train.log.replaced")]
        assert (trees.far / older[0]).read_text().endswith("step 2\n")
    else:
        trees.there("a b/it's $HOME.txt")
    odd.unlink()
    trees.look_whole()
    assert "a b/it's $HOME.txt" in trees.copies()
    trees.copier.close()


def test_the_next_look_does_not_wait_for_what_copying_took(
    trees: Trees, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long a look takes decides when the next one comes; the copies between its parts do not count."""
    monkeypatch.setattr(tree_turn, "MOST_PENDING", 5)
    for number in range(20):
        (trees.logs / f"{number}").mkdir()
        (trees.logs / f"{number}" / "a.txt").write_bytes(os.urandom(1 << 19))
    before = time.process_time()
    trees.settle()
    used = time.process_time() - before
    tree = next(iter(trees.copier._trees.values()))
    assert 0 < tree._took_s < 0.8 * used
