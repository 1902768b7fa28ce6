"""Root opens what a second user of the box has laid out."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.checkpoints.formats.bounded_file import BoundedFile
from middlewatch.daemon.checkpoints.verify.reading import FileReader
from middlewatch.daemon.launch.discover import describe
from middlewatch.daemon.sources.log_file import open_log
from middlewatch.daemon.system import files, places
from middlewatch.daemon.system.places import NotTheirs

from ...fakes import second_user
from ...fakes.second_user import GID, UID

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it becomes another user")


@pytest.fixture
def lair() -> Iterator[Path]:
    with second_user.place() as folder:
        yield folder


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.log"
    path.write_text("step 1 | loss 1.0 | of root\n")
    path.chmod(0o600)
    return path


def text(fd: int) -> bytes:
    with open(fd, "rb") as file:
        return file.read()


# ------------------------------------------------------------------------ links


WAYS: dict[str, Callable[[Path, Path], Path]] = {}


def way(make: Callable[[Path, Path], Path]) -> Callable[[Path, Path], Path]:
    WAYS[make.__name__] = make
    return make


@way
def a_link(lair: Path, secret: Path) -> Path:
    (lair / "train.log").symlink_to(secret)
    return lair / "train.log"


@way
def a_link_to_a_link(lair: Path, secret: Path) -> Path:
    (lair / "one").symlink_to(secret)
    (lair / "train.log").symlink_to("one")
    return lair / "train.log"


@way
def a_folder_that_is_a_link(lair: Path, secret: Path) -> Path:
    (lair / "out").symlink_to(secret.parent)
    return lair / "out" / secret.name


@way
def a_link_upwards(lair: Path, secret: Path) -> Path:
    up = "/".join([".."] * 8)
    (lair / "train.log").symlink_to(f"{up}{secret}")
    return lair / "train.log"


@way
def a_link_through_proc(lair: Path, secret: Path) -> Path:
    (lair / "train.log").symlink_to(f"/proc/self/root{secret}")
    return lair / "train.log"


@pytest.mark.system
@root
@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("opened", [places.open_file, BoundedFile, FileReader, open_log])
def test_a_link_leads_nowhere_its_owner_may_not_read(
    name: str, opened: Callable[[str], Any], lair: Path, secret: Path
) -> None:
    second_user.done(lambda: WAYS[name](lair, secret))
    path = next(p for p in (lair / "train.log", lair / "out" / secret.name) if os.path.lexists(p))
    with pytest.raises(PermissionError, match="user 1234"):
        opened(str(path))


@pytest.mark.system
@root
def test_links_that_their_owner_may_follow_are_followed(lair: Path) -> None:
    def build() -> None:
        (lair / "runs").mkdir(mode=0o700)
        (lair / "runs" / "7.log").write_text("mine")
        (lair / "runs" / "7.log").chmod(0o600)
        (lair / "latest.log").symlink_to("runs/7.log")
        (lair / "release").symlink_to("/etc/hostname")

    second_user.done(build)
    assert text(places.open_file(str(lair / "latest.log"))) == b"mine"
    assert text(places.open_file(str(lair / "release"))) == Path("/etc/hostname").read_bytes()


@pytest.mark.system
@root
def test_links_of_root_lead_everywhere(tmp_path: Path, secret: Path) -> None:
    (tmp_path / "here").symlink_to(tmp_path)
    (tmp_path / "log").symlink_to("here/./here/secret.log")
    assert text(places.open_file(str(tmp_path / "log"))) == secret.read_bytes()


@pytest.mark.system
@root
def test_an_endless_link_is_an_error(lair: Path) -> None:
    second_user.done(lambda: (lair / "a").symlink_to("a"))
    with pytest.raises(OSError) as caught:
        places.open_file(str(lair / "a"))
    assert caught.value.errno in (errno.ELOOP, errno.EACCES)


# ------------------------------------------------------------------------ second names, kinds


@pytest.mark.system
@root
def test_a_second_name_of_a_file_of_root_is_not_read(lair: Path) -> None:
    """Made by root here: ``fs.protected_hardlinks`` forbids it to others on most boxes, not on all."""
    with second_user.place() as beside:
        secret = beside / "secret"
        secret.write_text("of root")
        secret.chmod(0o600)
        os.link(secret, lair / "train.log")
        for opened in (places.open_file, BoundedFile, FileReader, open_log):
            with pytest.raises(NotTheirs, match="hard link"):
                opened(str(lair / "train.log"))
        secret.chmod(0o644)
        assert text(places.open_file(str(lair / "train.log"))) == b"of root"


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(tmp_path / "socket"))
        for name in (tmp_path / "fifo", tmp_path / "link", tmp_path / "socket", Path("/dev/null")):
            with pytest.raises(OSError, match="not a regular file"):
                places.open_file(str(name))
    with pytest.raises(IsADirectoryError):
        places.open_file(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        places.open_file(str(tmp_path / "gone"))
    with pytest.raises(NotADirectoryError):
        places.open_file(str(tmp_path / "fifo" / "x"))


@pytest.mark.system
@root
def test_a_descriptor_that_only_names_a_file_is_no_log(lair: Path) -> None:
    """Everybody can have ``/etc/shadow`` as their stdout, with O_PATH."""
    secret = lair / "secret.log"
    secret.write_text("of root")
    secret.chmod(0o600)
    read, write = os.pipe()

    def train() -> None:
        named = os.open(secret, os.O_PATH)
        os.dup2(named, 1)
        os.dup2(named, 2)
        os.write(write, b"1")
        os.execv("/bin/sleep", ["python", "600"])

    with second_user.process(train) as pid:
        os.close(write)
        assert os.read(read, 2) == b"1"
        assert os.read(read, 1) == b"", "exec has closed the other end"
        spec = describe(pid)
        assert str(secret) not in spec.logs
        with pytest.raises(NotTheirs, match="only named"):
            places.open_file(f"/proc/{pid}/fd/1")
    os.close(read)


# ------------------------------------------------------------------------ below a folder


@pytest.mark.parametrize(
    "name", ["link", "out/secret.log", "../secret.log", "/etc/passwd", "dot/.."]
)
def test_no_link_is_followed_below_a_folder(name: str, tmp_path: Path, secret: Path) -> None:
    home = tmp_path / "home"
    (home / "a" / "b").mkdir(parents=True)
    (home / "a" / "b" / "plain").write_text("plain")
    (home / "link").symlink_to("a/b/plain")
    (home / "out").symlink_to(secret.parent)
    os.mkfifo(home / "fifo")
    folder = places.open_folder(str(home))
    try:
        assert text(places.open_beneath(folder, "a/b/plain")) == b"plain"
        inner = places.open_beneath(folder, "a/b", directory=True)
        assert os.listdir(inner) == ["plain"]
        os.close(inner)
        with pytest.raises(NotTheirs):
            places.open_beneath(folder, name)
        with pytest.raises(NotTheirs):
            places.open_beneath(folder, "out", directory=True)
        with pytest.raises(OSError, match="not a regular file"):
            places.open_beneath(folder, "fifo")
        with pytest.raises(FileNotFoundError):
            places.open_beneath(folder, "a/gone")
    finally:
        os.close(folder)


def test_no_descriptor_is_left_open(tmp_path: Path, secret: Path) -> None:
    (tmp_path / "link").symlink_to("secret.log")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        os.close(places.open_file(str(tmp_path / "link")))
        for bad in (tmp_path, tmp_path / "gone" / "x"):
            with pytest.raises(OSError):
                places.open_file(str(bad))
        folder = places.open_folder(str(tmp_path))
        os.close(places.open_beneath(folder, "secret.log"))
        with pytest.raises(NotTheirs):
            places.open_beneath(folder, "link")
        os.close(folder)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.system
@root
def test_the_root_of_a_process_is_where_its_links_end(lair: Path) -> None:
    """``..`` above it, and absolute links, stay in the container."""
    (lair / "etc").mkdir()
    (lair / "etc" / "passwd").write_text("of the container")
    (lair / "up").symlink_to("../../../etc/passwd")
    (lair / "whole").symlink_to("/etc/passwd")
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.chroot(lair)
        os.write(write, b"1")
        ctypes.CDLL(None).pause()
        os._exit(0)
    try:
        assert os.read(read, 1) == b"1"
        for name in ("up", "whole", "etc/passwd", "../../etc/passwd"):
            opened = places.open_file(f"/proc/{pid}/root/{name}")
            assert text(opened) == b"of the container"
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(read)
        os.close(write)


@pytest.mark.parametrize(
    ("mode", "owner", "group", "may"),
    [
        (0o600, UID, 0, True),
        (0o640, 0, GID, False),  # a group that no account has given the user
        (0o640, 0, 0, False),
        (0o644, 0, 0, True),
        (0o044, UID, 0, False),
    ],
)
def test_who_may_read(mode: int, owner: int, group: int, may: bool) -> None:
    info = os.stat_result((stat.S_IFREG | mode, 1, 1, 1, owner, group, 0, 0, 0, 0))
    assert places.may(UID, info, 4) is may


@root
def test_what_of_a_checkpoint_a_user_may_not_read(lair: Path) -> None:
    save = lair / "save"
    save.mkdir()
    (save / "model").write_text("")
    lair.chmod(0o755)
    assert places.unreadable_for(UID + 1, str(save)) == ""
    for closed in (save / "model", save, lair):
        closed.chmod(0o700)
        assert places.unreadable_for(UID + 1, str(save)) == str(closed)


# ------------------------------------------------------------------------ to write or delete


def write(folder: Path) -> None:
    files.write_beside_others(str(folder), {"page.md": "of root"})


@pytest.mark.system
@root
@pytest.mark.parametrize("name", ["status", "status/run", "up/run"])
def test_no_link_of_others_has_us_write_elsewhere(name: str, lair: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (mine / "run").mkdir(parents=True)
    tmp_path.chmod(0o755)

    def lay() -> None:
        link = lair / name.split("/")[0]
        link.symlink_to(mine)

    second_user.done(lay)
    for folder in (lair / name, lair / name / "new"):
        with pytest.raises(NotTheirs, match="user 1234"):
            write(folder)
    assert [path for path in mine.rglob("*") if path.name != "run"] == []


@pytest.mark.system
@root
def test_a_link_in_the_place_of_a_file_is_replaced(lair: Path, secret: Path) -> None:
    before = secret.read_bytes()
    second_user.done(lambda: (lair / "page.md").symlink_to(secret))
    write(lair)
    assert secret.read_bytes() == before
    assert not (lair / "page.md").is_symlink()


@pytest.mark.system
@root
def test_their_own_links_to_their_own_folders_are_followed(lair: Path) -> None:
    def lay() -> None:
        (lair / "disk").mkdir()
        (lair / "status").symlink_to("disk")

    second_user.done(lay)
    write(lair / "status" / "run")
    assert (lair / "disk" / "run" / "page.md").read_text() == "of root"
    assert os.listdir(lair / "disk" / "run") == ["page.md"]


def test_a_link_of_ours_is_followed_to_write(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "there")
    (tmp_path / "there").mkdir()
    write(tmp_path / "link" / "a" / "b")
    assert (tmp_path / "there" / "a" / "b" / "page.md").exists()
