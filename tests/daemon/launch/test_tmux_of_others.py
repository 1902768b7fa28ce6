"""Root looks for runs, and a second user of the box has laid out a tmux socket for its client."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.launch.discover import describe
from middlewatch.daemon.launch.tmux import Panes, attach_tmux
from middlewatch.daemon.system.users import User

from ...fakes import second_user
from ...fakes.second_user import GID, UID

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it becomes another user"),
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]
TRAINER = ["sh", "-c", "while :; do sleep 0.2; done", "train.py"]


def until(look: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 180
    while not (value := look()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return value


@pytest.fixture
def lair() -> Iterator[Path]:
    with second_user.place() as folder:
        yield folder


@pytest.fixture
def fake(lair: Path) -> Iterator[Callable[[Path], Path]]:
    """Starts a false tmux server; gives the file in which its callers stand."""
    servers: list[int] = []

    def start(socket: Path) -> Path:
        callers = lair / "callers"
        read, write = os.pipe()
        servers.append(
            second_user.as_second(lambda: second_user.note_callers(socket, callers, write))
        )
        assert os.read(read, 1) == b"1"
        os.close(read)
        os.close(write)
        return callers

    yield start
    for pid in servers:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@pytest.fixture
def training() -> Iterator[Callable[..., int]]:
    """Starts a process on a terminal of its own whose environment names a tmux socket."""
    begun: list[tuple[int, int, int]] = []

    def start(socket: Path, uid: int = UID) -> int:
        master, slave = os.openpty()
        os.fchown(slave, uid, -1)

        def act() -> None:
            os.dup2(slave, 1)
            os.dup2(slave, 2)
            os.execve("/bin/sh", TRAINER, {"TMUX": f"{socket},1,0", "PATH": os.defpath})

        pid = second_user.as_second(act)
        begun.append((pid, master, slave))
        until(lambda: b"train.py" in Path(f"/proc/{pid}/cmdline").read_bytes())
        return pid

    yield start
    for pid, master, slave in begun:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(master)
        os.close(slave)


def callers(path: Path) -> set[int]:
    return {int(line) for line in path.read_text().split()} if path.exists() else set()


def test_roots_client_never_connects_to_the_socket_of_another_user(
    lair: Path, fake: Callable[[Path], Path], training: Callable[..., int]
) -> None:
    seen = fake(lair / "sock")
    run = describe(training(lair / "sock"))
    assert callers(seen) <= {UID}, "a client with root's rights connected"
    assert callers(seen) == {UID}, "the server of that user was asked as that user"
    assert any("does not answer" in note or "did not answer" in note for note in run.notes)


def test_a_socket_in_a_folder_where_others_may_write_is_not_asked(
    lair: Path, fake: Callable[[Path], Path], training: Callable[..., int]
) -> None:
    lair.chmod(0o777)
    seen = fake(lair / "sock")
    run = describe(training(lair / "sock"))
    assert callers(seen) == set()
    assert any(f"others may write to the folder {lair}" in note for note in run.notes), run.notes


def test_a_socket_that_a_third_user_owns_is_not_asked(
    lair: Path, fake: Callable[[Path], Path], training: Callable[..., int]
) -> None:
    seen = fake(lair / "sock")
    os.chown(lair / "sock", 1235, 1235)
    run = describe(training(lair / "sock"))
    assert callers(seen) == set()
    assert any("belongs to user 1235" in note for note in run.notes), run.notes


def test_a_link_of_a_third_user_to_the_socket_is_not_followed(
    lair: Path, fake: Callable[[Path], Path], training: Callable[..., int]
) -> None:
    seen = fake(lair / "sock")
    (lair / "link").symlink_to(lair / "sock")
    os.lchown(lair / "link", 1235, 1235)
    run = describe(training(lair / "link"))
    assert callers(seen) == set()
    assert any(f"{lair / 'link'} belongs to user 1235" in note for note in run.notes), run.notes


def test_a_socket_of_root_is_not_asked_for_another_users_process(
    tmp_path: Path, training: Callable[..., int]
) -> None:
    """Not even one that is really root's: who names it must not choose what root's client does."""
    socket = tmp_path / "mine"
    subprocess.run(["tmux", "-S", str(socket), "-f", "/dev/null", "new-session", "-d"], check=True)
    try:
        run = describe(training(socket))
    finally:
        subprocess.run(["tmux", "-S", str(socket), "kill-server"], check=True)
    assert run.pipe_pane is None
    assert any(f"{socket} belongs to root" in note for note in run.notes), run.notes


def test_a_server_that_never_answers_is_asked_once(
    lair: Path, fake: Callable[[Path], Path], training: Callable[..., int]
) -> None:
    """Else a user with many processes could hold up the search for everybody's runs."""
    seen = fake(lair / "sock")
    panes = Panes(answer_s=0.3)
    for number in range(5):
        assert panes.of(f"/dev/pts/{number}", (UID, GID), f"{lair / 'sock'},1,0")[0] is None
    assert len(seen.read_text().split()) == 1


def test_the_pane_of_another_user_is_copied_as_that_user(lair: Path, tmp_path: Path) -> None:
    """With a real server: the pane is found, and copied to a file that its user writes."""
    socket = lair / "tmux"
    run = ["setpriv", f"--reuid={UID}", f"--regid={GID}", "--clear-groups"]
    line = "i=0; while :; do i=$((i+1)); echo step $i; sleep 0.1; done; : train.py"
    subprocess.run(
        [*run, "tmux", "-S", str(socket), "-f", "/dev/null", "new-session", "-d", "sh", "-c", line],
        check=True,
        env={"PATH": os.defpath, "HOME": str(lair), "LANG": "C.UTF-8"},
        cwd="/",
    )
    try:
        asked = subprocess.run(
            [*run, "tmux", "-S", str(socket), "list-panes", "-F", "#{pane_pid} #{pane_tty}"],
            check=True,
            capture_output=True,
            text=True,
        )
        pid, tty = asked.stdout.split()
        pane, notes = Panes().of(tty, (UID, GID), f"{socket},1,0")
        assert pane is not None, notes
        assert pane.owner.uid == UID
        # A user without an account has no home: nothing is written on its behalf, a person is told.
        found = describe(int(pid), log_dir=str(tmp_path))
        assert found.pipe_pane is None
        assert any(f"as {UID}: tmux -S {socket}" in note for note in found.notes), found.notes
        # With an account, the copy lies in its home, and is its own.
        owner = User(UID, GID, (), "bob", str(lair))
        log = lair / "copies" / "run.tmux.log"
        attach_tmux(pane.id, log, pane.socket, owner=owner)
        until(lambda: log.exists() and log.read_text().count("step") > 3)
        info = log.stat()
        assert (info.st_uid, info.st_gid, info.st_mode & 0o777) == (UID, GID, 0o600)
    finally:
        subprocess.run([*run, "tmux", "-S", str(socket), "kill-server"], check=True)
