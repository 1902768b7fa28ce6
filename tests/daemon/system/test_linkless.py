"""Paths without links are opened by one call; all others, and on an older kernel all, name by name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from middlewatch.daemon.system import linkless, places


def there(path: Path) -> bool:
    fd = linkless.name(str(path), linkless.ANY)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path.resolve() / "out"
    home.mkdir()
    (home / "a.pt").write_bytes(b"whole")
    (home / "link.pt").symlink_to("a.pt")
    (home.parent / "way").symlink_to(home)
    return home


def test_no_link_is_followed_anywhere(folder: Path) -> None:
    if not there(folder / "a.pt"):
        pytest.skip("this kernel has no openat2, or a filter forbids it")
    assert not there(folder / "link.pt")
    assert not there(folder.parent / "way" / "a.pt")
    assert not there(folder / "none.pt")
    assert not there(Path(f"/proc/self/root{folder}/a.pt"))
    assert linkless.name(f"{folder}/a.pt", linkless.FOLDER) == -1
    assert places.has_no_link(f"{folder}/a.pt")
    for other in (f"{folder}/link.pt", f"{folder}/../out/a.pt", f"{folder}//a.pt", "a.pt"):
        assert not places.has_no_link(other)


@pytest.mark.parametrize("old_kernel", [False, True])
def test_both_ways_open_the_same(
    folder: Path, old_kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if old_kernel:
        monkeypatch.setattr(linkless, "_there", False)
    for path in (folder / "a.pt", folder / "link.pt", folder.parent / "way" / "a.pt"):
        with open(places.open_file(str(path)), "rb") as file:
            assert file.read() == b"whole"
        places.check_links(str(path.parent))
    os.mkfifo(folder / "pipe")
    for path, error in ((folder / "pipe", OSError), (folder, IsADirectoryError)):
        with pytest.raises(error):
            places.open_file(str(path))
    with pytest.raises(FileNotFoundError):
        places.open_file(f"{folder}/none.pt")
