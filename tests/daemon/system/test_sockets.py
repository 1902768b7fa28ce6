"""Bytes through the TCP sockets of a process, as the kernel counts them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.system import sockets
from middlewatch.daemon.system.sockets import SocketBytes


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        theirs, _ = server.accept()
        with ours, theirs:
            yield ours, theirs


def counted() -> bool:
    try:
        return bool(dict(sockets.tcp_bytes())) or True
    except OSError:
        return False


pytestmark = pytest.mark.skipif(not counted(), reason="this kernel has no sock_diag")

TALKER = """
import socket, sys
link = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
for line in sys.stdin:
    link.sendall(b"x" * int(line))
    print(link.recv(2), flush=True)
"""


def test_what_a_process_sends_is_counted() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        child = subprocess.Popen(
            [sys.executable, "-c", TALKER, str(server.getsockname()[1])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdin is not None
        assert child.stdout is not None
        with child, server.accept()[0] as theirs:
            source = SocketBytes()
            assert source.read([child.pid]) == {child.pid: 0}
            for size, total in ((50_000, 50_002), (7, 50_011)):
                child.stdin.write(f"{size}\n")
                child.stdin.flush()
                assert len(theirs.recv(size, socket.MSG_WAITALL)) == size
                theirs.sendall(b"ok")
                child.stdout.readline()
                seen = source.read([child.pid])[child.pid]
                assert total - 2 <= seen <= total  # the answer to the last bytes may be on its way
            child.stdin.close()


def test_a_socket_that_was_closed_keeps_its_bytes(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = pair
    source = SocketBytes()
    me = os.getpid()
    source.read([me])
    ours.sendall(b"x" * 9000)
    theirs.recv(9000, socket.MSG_WAITALL)
    before = source.read([me])[me]
    assert before >= 9000
    ours.close()
    theirs.close()
    assert source.read([me])[me] >= before


def test_a_process_whose_descriptors_are_hidden_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "7" / "ns").mkdir(parents=True)
    (tmp_path / "7" / "ns" / "net").symlink_to(os.readlink("/proc/self/ns/net"))
    assert SocketBytes(str(tmp_path)).read([7, 8]) == {}


def test_a_container_is_counted_by_its_interfaces(tmp_path: Path) -> None:
    (tmp_path / "7" / "ns").mkdir(parents=True)
    (tmp_path / "7" / "ns" / "net").symlink_to("net:[1]")
    (tmp_path / "7" / "net").mkdir()
    table = tmp_path / "7" / "net" / "dev"
    line = "  {}: {} 5 0 0 0 0 0 0 {} 4 0 0 0 0 0 0\n"
    table.write_text("Inter-|\n face |\n" + line.format("lo", 900, 900) + line.format("eth0", 5, 7))
    source = SocketBytes(str(tmp_path))
    assert source.read([7]) == {7: 0}
    table.write_text(line.format("lo", 9000, 900) + line.format("eth0", 105, 9007))
    assert source.read([7]) == {7: 9100}
