"""Who could have put a file where it lies."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.config.load import load
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.system.errors import ConfigError, Refused
from middlewatch.daemon.system.files import write_whole
from middlewatch.daemon.system.ownership import (
    Untrusted,
    check_way,
    others_may_read,
    others_may_write,
    read_trusted,
)
from middlewatch.daemon.system.private import make_private, open_private
from middlewatch.daemon.system.store import Store

from ...fakes import second_user
from ...fakes.second_user import GID, UID

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it becomes another user")


@pytest.fixture
def lair() -> Iterator[Path]:
    with second_user.place() as folder:
        yield folder


@pytest.fixture(params=[0o000, 0o002, 0o022, 0o077, 0o777])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


# ------------------------------------------------------------------------ configuration


def test_a_configuration_of_our_own_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[alerts]\nhost = 'here'\n")
    assert load(path).alerts.host == "here"
    link = tmp_path / "link.toml"
    link.symlink_to("config.toml")
    assert load(link).alerts.host == "here"
    assert load(Path("/dev/null")).path == ""
    assert load(tmp_path / "missing.toml").path == ""


@pytest.mark.parametrize(
    "bits", [0o002, pytest.param(0o020, marks=as_root), 0o666]
)  # only root can give a file to a group that others are in
def test_a_configuration_that_others_may_write_is_refused(tmp_path: Path, bits: int) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[alerts]\nurls = ['json://evil']\n")
    if os.geteuid() == 0:
        os.chown(path, -1, GID)
    path.chmod(0o600 | bits)
    with pytest.raises(ConfigError, match=f"others may write to {path}") as caught:
        load(path)
    assert "chmod go-w" in caught.value.hint


def test_a_configuration_in_a_folder_where_others_may_write_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "open" / "below"
    folder.mkdir(parents=True)
    path = folder / "config.toml"
    path.write_text("")
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(ConfigError, match=f"others may write to the folder {tmp_path / 'open'}"):
        load(path)
    (tmp_path / "open").chmod(0o1777)  # with the sticky bit only its owner replaces what is in it
    assert load(path).path == ""


def test_a_link_is_judged_by_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "config.toml").write_text("")
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "config.toml").symlink_to("open/../open/config.toml")
    with pytest.raises(Untrusted, match="others may write to the folder"):
        check_way(str(tmp_path / "config.toml"), os.geteuid())


@as_root
def test_a_configuration_of_another_user_is_refused(lair: Path, tmp_path: Path) -> None:
    path = lair / "config.toml"
    path.write_text("[alerts]\nurls = ['json://evil']\n")
    with pytest.raises(ConfigError, match=f"belongs to user {UID}") as caught:
        load(path)
    assert "it has to belong to root" in caught.value.hint
    own = tmp_path / "config.toml"
    own.write_text(f"[alerts]\nurls_file = '{lair / 'urls'}'\n")
    (lair / "urls").write_text("json://evil\n")
    with pytest.raises(ConfigError, match=r"urls_file .* is not used: .* belongs to user"):
        _ = load(own).alert_urls
    (tmp_path / "planted.toml").symlink_to(path)
    with pytest.raises(ConfigError, match="belongs to user"):
        load(tmp_path / "planted.toml")


@as_root
def test_another_user_may_use_a_configuration_of_root() -> None:
    path = Path("/etc/passwd")

    def act() -> None:
        assert read_trusted(str(path)) == path.read_bytes()

    second_user.done(act)


def test_the_private_group_of_a_user_is_nobody_else() -> None:
    account = pwd.getpwuid(os.geteuid())

    def info(bits: int, gid: int) -> os.stat_result:
        return os.stat_result((0o100600 | bits, 0, 0, 1, os.geteuid(), gid, 0, 0, 0, 0))

    assert not others_may_write(info(0o020, account.pw_gid))
    assert others_may_write(info(0o002, account.pw_gid))
    assert others_may_write(info(0o020, 987_654))


@pytest.fixture
def shown() -> Iterator[Path]:
    """A folder that everybody may look into, as /etc is; those of the tests are private."""
    with second_user.place() as folder:
        os.chown(folder, os.geteuid(), os.getegid())
        folder.chmod(0o755)
        yield folder


URLS = "[alerts]\nurls = ['ntfy://secret-topic']\n"


@as_root
@pytest.mark.parametrize("bits", [0o004, 0o044, 0o040])
def test_a_configuration_with_secrets_that_others_may_read_is_refused(
    shown: Path, bits: int
) -> None:
    path, urls = shown / "config.toml", shown / "urls"
    path.write_text(URLS)
    urls.write_text("ntfy://secret-topic\n")
    for file in (path, urls):
        os.chown(file, 0, GID)
        file.chmod(0o600 | bits)
    with pytest.raises(ConfigError, match="others may read it") as caught:
        load(path)
    assert f"chmod 600 {path}" in caught.value.hint
    assert "secret-topic" not in f"{caught.value} {caught.value.hint}"
    path.write_text(f"[alerts]\nurls_file = '{urls}'\n")
    with pytest.raises(ConfigError, match=r"urls_file .* others may read it"):
        _ = load(path).alert_urls
    urls.chmod(0o600)
    assert load(path).alert_urls == ("ntfy://secret-topic",)
    path.write_text(URLS)
    path.chmod(0o600)
    assert load(path).alert_urls == ("ntfy://secret-topic",)


@as_root
@pytest.mark.parametrize(
    "text", ["[heartbeat]\nurl = 'https://hc/x'\n", "[alerts]\nproxy = 'http://u:p@h:1'\n"]
)
def test_a_ping_url_and_a_proxy_are_secrets_too(shown: Path, text: str) -> None:
    path = shown / "config.toml"
    path.write_text(text)
    os.chown(path, 0, GID)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="others may read it"):
        load(path)
    path.chmod(0o600)
    load(path)


@as_root
def test_a_private_folder_keeps_what_is_in_it(shown: Path) -> None:
    path = shown / "config.toml"
    path.write_text(URLS)
    path.chmod(0o644)
    assert others_may_read(str(path))
    shown.chmod(0o700)
    assert not others_may_read(str(path))
    assert load(path).alert_urls == ("ntfy://secret-topic",)
    assert not others_may_read("/dev/null")


# ------------------------------------------------------------------------ the state


def test_the_state_is_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    state = StateDir(tmp_path / "new" / "state")
    assert state.take() == []
    folder = state.make_run("gpt-1a2b")
    panes = state.make_panes()
    write_whole(str(state.status_page("gpt-1a2b")), "# x\n", private=True)
    os.close(open_private(state.daemon_log, os.O_WRONLY))
    store = Store(state.store, state.reserve, tmp_path)
    store.put("run", "a", {"x": 1}, 1.0)
    store.flush()
    files = [p for p in state.root.rglob("*") if p.is_file()]
    assert {p.name for p in files} >= {"middlewatch.sqlite", "middlewatch.sqlite-wal", "reserve"}
    assert {p.name: oct(mode(p)) for p in files if mode(p) != 0o600} == {}
    store.close()
    folders = [tmp_path / "new", state.root, state.root / "runs", folder, panes]
    assert {p.name: oct(mode(p)) for p in folders if mode(p) != 0o700} == {}


def test_a_state_folder_that_others_may_read_is_made_private_and_told(tmp_path: Path) -> None:
    state = StateDir(tmp_path / "state")
    state.root.mkdir(mode=0o755)
    state.lock.write_text("1\n")
    (state.root / "runs" / "a-0000").mkdir(parents=True)
    page = state.status_page("a-0000")
    page.write_text("secret")
    page.chmod(0o644)
    state.root.chmod(0o755)
    (told,) = state.take()
    assert told.startswith(f"others could look into {state.root}")
    state.close_to_others()
    assert (mode(state.root), mode(page.parent), mode(page)) == (0o700, 0o700, 0o600)
    assert state.take() == []


def test_a_state_folder_that_others_may_write_is_made_private_if_all_is_ours(
    tmp_path: Path,
) -> None:
    state = StateDir(tmp_path / "state")
    state.root.mkdir()
    state.lock.write_text("")
    state.root.chmod(0o777)
    (told,) = state.take()
    assert told.startswith(f"others could write to {state.root}")
    assert mode(state.root) == 0o700


@as_root
def test_what_another_user_has_put_into_the_state_is_refused(lair: Path) -> None:
    os.chown(lair, 0, 0)
    lair.chmod(0o711)
    state = StateDir(lair / "state")
    state.root.mkdir()
    state.lock.write_text("")
    state.root.chmod(0o777)
    second_user.done(lambda: (state.root / "runs").symlink_to("/etc"))
    with pytest.raises(Refused, match=r"others could write to .* belongs to user") as caught:
        state.take()
    assert "remove what is not yours" in caught.value.hint
    assert mode(state.root) == 0o700  # and nobody can add to it


def test_a_link_in_an_open_state_folder_is_refused(tmp_path: Path) -> None:
    state = StateDir(tmp_path / "state")
    state.root.mkdir()
    state.lock.write_text("")
    state.daemon_log.symlink_to("/etc/passwd")
    state.root.chmod(0o777)
    with pytest.raises(Refused, match="is a link"):
        state.take()


@as_root
def test_a_state_folder_of_another_user_is_refused(lair: Path) -> None:
    with pytest.raises(Refused, match=f"belongs to user {UID}"):
        StateDir(lair).take()
    (lair / "mine").mkdir()
    os.chown(lair / "mine", 0, 0)  # root's own folder, but in a place where another user rules
    with pytest.raises(Refused, match=f"{lair} belongs to user {UID}"):
        StateDir(lair / "mine").take()


def test_a_new_file_system_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fresh tmpfs has the mode of /tmp, until somebody says whose it is."""
    mount = tmp_path / "mount"
    mount.mkdir()
    mount.chmod(0o1777)
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path) == mount)
    assert StateDir(mount).take()
    assert stat.S_IMODE(mount.stat().st_mode) == 0o700
    mount.chmod(0o1777)
    (mount / "somebody's").write_text("")
    with pytest.raises(Refused, match="a folder for everybody"):
        StateDir(mount).take()


def test_a_folder_for_everybody_is_never_closed(tmp_path: Path) -> None:
    """``--state-dir /tmp`` by mistake must not take /tmp away from everybody."""
    everybody = tmp_path / "tmp"
    everybody.mkdir()
    (everybody / "middlewatch.lock").write_text("")
    everybody.chmod(0o1777)
    with pytest.raises(Refused, match="a folder for everybody"):
        StateDir(everybody).take()
    assert mode(everybody) == 0o1777
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    (home / "thesis.tex").write_text("")
    home.chmod(0o755)
    with pytest.raises(Refused, match="holds other files"):
        StateDir(home).take()
    assert mode(home) == 0o755


def test_a_private_file_is_no_link_and_no_pipe(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    with pytest.raises(OSError, match="symbolic links"):
        open_private(tmp_path / "link", os.O_WRONLY)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError):
        open_private(tmp_path / "pipe", os.O_WRONLY)
    (tmp_path / "folder").symlink_to("/etc")
    with pytest.raises(NotADirectoryError):
        make_private(tmp_path / "folder")
