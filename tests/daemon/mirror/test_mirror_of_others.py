"""Root mirrors checkpoints, and a second user of the box has laid them out."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.mirror import tree
from middlewatch.daemon.mirror.copy import Copying
from middlewatch.daemon.mirror.receipt import RECEIPT, MirrorError, job_for
from middlewatch.daemon.mirror.remote import Outcome
from middlewatch.daemon.mirror.targets import parse
from middlewatch.daemon.mirror.tree import FileToCopy, opened_folder
from middlewatch.daemon.mirror.tree_goal import NotTaken, source_file
from middlewatch.daemon.mirror.tree_walk import look

from ...fakes import second_user
from ...fakes.second_user import GID, UID
from .test_trees import Trees

AT = "2026-11-21T07:00:00.000+00:00"
SECRET = b"of root, and of nobody else" * 400
pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it becomes another user"),
]
KINDS = ["folder", "rsync", "rclone"]


@pytest.fixture
def lair() -> Iterator[Path]:
    with second_user.place() as folder:
        folder.chmod(0o755)
        yield folder


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_bytes(SECRET)
    path.chmod(0o600)
    return path


@pytest.fixture(params=KINDS)
def to(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A destination below ``tmp_path/far``, of every kind."""
    if request.param == "folder":
        return str(tmp_path / "far")
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    if request.param == "rclone":
        monkeypatch.setenv("RCLONE_CONFIG", str(tmp_path / "rclone.conf"))
        (tmp_path / "rclone.conf").write_text("[cloud]\ntype = local\n")
        return f"cloud:{tmp_path}/far"
    shell = tmp_path / "rsh"  # a "host" that is this machine
    shell.write_text(
        '#!/bin/sh\nuntil [ ${1#me@} = here ]; do shift; done; shift\nexec sh -c "$*"\n'
    )
    shell.chmod(0o755)
    monkeypatch.setenv("RSYNC_RSH", str(shell))
    return f"me@here:{tmp_path}/far"


def copy(path: Path, to: str, stop: Callable[[], bool] = lambda: False) -> Outcome:
    copying = Copying(job_for(str(path), path.name), parse(to), lambda: AT)
    try:
        while True:
            outcome = copying.advance(stop)
            if outcome is not None:
                return outcome
    finally:
        copying.close()


def checkpoint(home: Path, mode: int = 0o644) -> Path:
    (home / "checkpoint-5" / "sub").mkdir(parents=True)
    for name in ("model.bin", "sub/more.bin"):
        (home / "checkpoint-5" / name).write_bytes(name.encode() * 2000)
        (home / "checkpoint-5" / name).chmod(mode)
    return home / "checkpoint-5"


def arrived(far: Path) -> list[Path]:
    return [path for path in far.rglob("*") if path.is_file()]


def link(folder: Path, secret: Path) -> None:
    (folder / "extra.bin").symlink_to(secret)


def folder_link(folder: Path, secret: Path) -> None:
    shutil.rmtree(folder / "sub")
    (folder / "sub").symlink_to(secret.parent)


def own_link(folder: Path, secret: Path) -> None:
    (folder / "extra.bin").symlink_to("model.bin")


@pytest.mark.parametrize("attack", [link, folder_link])
def test_links_are_not_followed_out_of_the_folder_of_another_user(
    attack: Callable[[Path, Path], None], to: str, lair: Path, secret: Path, tmp_path: Path
) -> None:
    second_user.done(lambda: attack(checkpoint(lair), secret))
    with pytest.raises(MirrorError, match="is a link"):
        copy(lair / "checkpoint-5", to)
    assert all(SECRET not in path.read_bytes() for path in arrived(tmp_path / "far"))


def test_the_folder_itself_is_a_link(to: str, lair: Path, secret: Path, tmp_path: Path) -> None:
    second_user.done(lambda: (lair / "checkpoint-5").symlink_to(secret.parent))
    with pytest.raises(MirrorError, match="user 1234 may not read"):
        copy(lair / "checkpoint-5", to)
    assert arrived(tmp_path / "far") == []


def test_a_single_file_that_is_a_link(to: str, lair: Path, secret: Path, tmp_path: Path) -> None:
    second_user.done(lambda: (lair / "step_5.pt").symlink_to(secret))
    with pytest.raises(MirrorError, match="is a link"):
        copy(lair / "step_5.pt", to)
    assert arrived(tmp_path / "far") == []


def test_a_second_name_of_a_file_of_root(to: str, lair: Path, secret: Path, tmp_path: Path) -> None:
    second_user.done(lambda: [checkpoint(lair)])
    # Of the file system of the second user; that of the tests may be another.
    aside = lair.parent / f"middlewatch-test-secret-{os.getpid()}"
    shutil.move(secret, aside)
    try:
        os.link(aside, lair / "checkpoint-5" / "extra.bin")
        with pytest.raises(MirrorError, match="belongs to root"):
            copy(lair / "checkpoint-5", to)
        aside.unlink()  # now it has one name only
        aside.touch()
        with pytest.raises(MirrorError, match="belongs to root"):
            copy(lair / "checkpoint-5", to)
    finally:
        aside.unlink()
    assert arrived(tmp_path / "far") == []


def test_special_files_are_not_opened(to: str, lair: Path, tmp_path: Path) -> None:
    second_user.done(lambda: os.mkfifo(checkpoint(lair) / "extra.bin"))
    assert copy(lair / "checkpoint-5", to).copied
    assert sorted(path.name for path in arrived(tmp_path / "far")) == [
        f"checkpoint-5{RECEIPT}",
        "model.bin",
        "more.bin",
    ]


def test_a_file_that_becomes_a_link_while_it_is_copied(
    to: str, lair: Path, secret: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the list of the files and each time that one is opened."""
    second_user.done(lambda: [checkpoint(lair)])
    victim = lair / "checkpoint-5" / "model.bin"
    real, count = tree.opened, [0]

    def put_link() -> None:
        victim.unlink()
        victim.symlink_to(secret)

    def put_back() -> None:
        victim.unlink()
        victim.write_bytes(b"model.bin" * 2000)

    for turn in range(4):
        shutil.rmtree(tmp_path / "far", ignore_errors=True)
        count[0] = 0

        def swap(item: FileToCopy, turn: int = turn) -> int:
            if count[0] == turn and item.name == "model.bin":
                second_user.done(put_link)
            count[0] += 1
            return real(item)

        monkeypatch.setattr(tree, "opened", swap)
        try:
            copy(lair / "checkpoint-5", to)
        except MirrorError:
            pass
        else:
            assert not victim.is_symlink()
        assert all(SECRET not in path.read_bytes() for path in arrived(tmp_path / "far"))
        if victim.is_symlink():
            second_user.done(put_back)


@pytest.mark.parametrize("way", ["file", "folder", "above"])
def test_a_copy_is_not_more_readable_than_its_source(
    way: str, to: str, lair: Path, tmp_path: Path
) -> None:
    """By the mode of the file itself, of its folder, or of the one above."""

    def build() -> None:
        folder = checkpoint(lair, 0o600 if way == "file" else 0o644)
        if way == "folder":
            folder.chmod(0o700)
        if way == "above":
            lair.chmod(0o700)

    second_user.done(build)
    before = os.umask(0o000)
    try:
        copy(lair / "checkpoint-5", to)
    finally:
        os.umask(before)
    files = arrived(tmp_path / "far")
    assert len(files) == 3
    for path in files:
        assert not path.stat().st_mode & 0o077, path
        assert path.stat().st_uid in (0, UID)
    assert not stat.S_IMODE((tmp_path / "far" / "checkpoint-5").stat().st_mode) & 0o077


def test_what_everybody_may_read_stays_so(to: str, lair: Path, tmp_path: Path) -> None:
    second_user.done(lambda: [checkpoint(lair)])
    lair.chmod(0o755)
    before = os.umask(0o022)
    try:
        copy(lair / "checkpoint-5", to)
    finally:
        os.umask(before)
    for path in arrived(tmp_path / "far"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o644, path


def test_own_links_of_root_are_followed(to: str, tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "own")
    own_link(folder, folder)
    assert copy(folder, to).copied
    there = tmp_path / "far" / "checkpoint-5" / "extra.bin"
    assert there.read_bytes() == b"model.bin" * 2000
    assert not there.is_symlink()


@pytest.mark.parametrize("option", ["type = sftp\nhost = x", "type = s3\nacl = public-read"])
def test_a_remote_that_would_show_them_is_refused(
    option: str, lair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("rclone") is None:
        pytest.skip("rclone is not installed")
    second_user.done(lambda: [checkpoint(lair, 0o600)])
    monkeypatch.setenv("RCLONE_CONFIG", str(tmp_path / "rclone.conf"))
    (tmp_path / "rclone.conf").write_text(
        f"[far]\n{option}\n[cloud]\ntype = alias\nremote = far:bucket\n"
    )
    with pytest.raises(MirrorError, match="others could read the copies"):
        copy(lair / "checkpoint-5", "cloud:x")


def test_the_command_says_what_it_refused(lair: Path, secret: Path) -> None:
    second_user.done(lambda: link(checkpoint(lair), secret))
    with pytest.raises(MirrorError) as caught:
        job_for(str(lair / "checkpoint-5"), "x")
    assert str(caught.value) == (
        "extra.bin is a link, and in a folder of user 1234 links are not followed: "
        "put the file itself there"
    )
    assert GID == 1234


def test_a_mirrored_folder_of_another_user(lair: Path, secret: Path, tmp_path: Path) -> None:
    """Links, second names and swapped folders in a tree lead to nothing that its owner may not read."""
    trees = Trees(tmp_path)
    trees.logs = lair / "logs"
    trees.logs.mkdir()
    os.chown(trees.logs, UID, GID)
    for name in ("a.txt", "d/b.txt"):
        path = trees.logs / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
        os.chown(path.parent, UID, GID)
        os.chown(path, UID, GID)
        path.chmod(0o600)
    (trees.logs / "link.txt").symlink_to(secret)
    mine = lair / "mine"
    mine.write_bytes(SECRET)
    mine.chmod(0o600)
    os.link(mine, trees.logs / "second.txt")  # of root: its owner gave it another name
    row = trees.settle()
    assert row["left_out"] == 1
    assert "second.txt belongs to root" in row["detail"]
    assert trees.copies() == ["a.txt", "d/b.txt"]
    assert stat.S_IMODE((trees.far / "a.txt").stat().st_mode) == 0o600
    with opened_folder(str(trees.logs)) as home:
        shutil.rmtree(trees.logs / "d")
        (trees.logs / "d").symlink_to(secret.parent)
        with pytest.raises(NotTaken, match="link"):
            source_file(home, f"d/{secret.name}")
        with pytest.raises(OSError, match="link"):
            look(home.fd, "d", ())
    trees.look_whole()
    assert SECRET not in [(trees.far / name).read_bytes() for name in trees.copies()]
    trees.copier.close()
