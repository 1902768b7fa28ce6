"""The second place of the control socket, where another user may have put something."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.client import Client
from middlewatch.daemon.service.listener import Listener
from middlewatch.daemon.system.clock import SystemClock
from middlewatch.daemon.system.control_socket import connect_spare, spare_path, spare_there
from middlewatch.daemon.system.errors import DaemonUnreachable
from middlewatch.daemon.system.loop import Loop

STRANGER = 1234
LISTENS = """
import os, socket, sys
os.setuid(int(sys.argv[2]))
sock = socket.socket(socket.AF_UNIX)
sock.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
sock.listen(8)
print("listens", flush=True)
sys.stdin.read()
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user: needs root")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    yield state
    spare_path(state).unlink(missing_ok=True)


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop(SystemClock(), lambda error: pytest.fail(repr(error)))
    yield made
    made.close()


def listener(root: Path, loop: Loop, tell: Callable[[str], None]) -> Listener:
    return Listener(root / "middlewatch.sock", loop, lambda: None, tell, spare=spare_path(root))


def test_it_is_used_where_the_state_directory_has_no_room(
    root: Path, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    made = listener(root, loop, told.append)
    real = socket.socket.bind

    def full(sock: socket.socket, path: str) -> None:
        if path.startswith(str(root)):
            raise OSError(30, os.strerror(30))
        real(sock, path)

    with monkeypatch.context() as disk:
        disk.setattr(socket.socket, "bind", full)
        made.open()
    assert spare_there(root)
    assert os.stat(spare_path(root)).st_mode & 0o777 == 0o600
    assert told == [made.trouble]
    assert str(spare_path(root)) in made.trouble
    with socket.socket(socket.AF_UNIX) as client:
        assert connect_spare(client, root)
    made.open()  # the disk can be written again
    assert (made.trouble, spare_there(root)) == ("", False)
    made.close()
    assert not (root / "middlewatch.sock").exists()


def test_the_way_through_a_link_may_be_longer_than_the_address_of_a_socket(
    root: Path, loop: Loop, tmp_path: Path
) -> None:
    made = listener(root, loop, lambda text: None)
    made.open()
    link = tmp_path / ("long" * 30)
    link.symlink_to(root)
    Client(str(link / "middlewatch.sock")).connection().close()
    made.close()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(spare_path(link)))
    assert spare_there(root), "the second place is the same one, whichever way is taken"


def test_one_that_was_left_by_a_daemon_that_was_killed_is_removed(root: Path, loop: Loop) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(spare_path(root)))
    made = listener(root, loop, lambda text: None)
    made.open()
    assert not spare_there(root)
    made.close()


@needs_root
def test_what_another_user_has_put_there_is_not_asked(root: Path) -> None:
    command = [sys.executable, "-c", LISTENS, str(spare_path(root)), str(STRANGER)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as stranger:
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == b"listens\n"
        try:
            assert not spare_there(root)
            with socket.socket(socket.AF_UNIX) as client:
                assert not connect_spare(client, root)
            with pytest.raises(DaemonUnreachable):
                Client(str(root / "middlewatch.sock")).ask("ping")
        finally:
            stranger.kill()


@needs_root
def test_nor_one_whose_file_was_given_to_root(root: Path) -> None:
    """The file may be another one than that which listens: who listens is asked of the kernel."""
    command = [sys.executable, "-c", LISTENS, str(spare_path(root)), str(STRANGER)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as stranger:
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == b"listens\n"
        os.chown(spare_path(root), 0, 0)
        try:
            with pytest.raises(ConnectionRefusedError), socket.socket(socket.AF_UNIX) as client:
                connect_spare(client, root)
        finally:
            stranger.kill()
