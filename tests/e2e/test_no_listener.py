"""The daemon listens on no network: what a scan from outside would find is nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from middlewatch.daemon.system.processes import Processes

TABLES = ("tcp", "tcp6", "udp", "udp6", "raw", "raw6", "sctp/eps", "packet")
LISTENS = "0A"
"""State of a listening TCP socket in /proc/net/tcp (include/net/tcp_states.h)."""


def sockets_of(pid: int) -> set[str]:
    """Inodes of the sockets that a process has open."""
    found = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(fd)
        except FileNotFoundError:
            continue
        if target.startswith("socket:["):
            found.add(target[len("socket:[") : -1])
    return found


def reachable(pid: int) -> list[str]:
    """The network sockets of a process that somebody could send to."""
    own = sockets_of(pid)
    found = []
    for table in TABLES:
        path = Path(f"/proc/{pid}/net/{table}")
        if not path.exists():
            continue
        for line in path.read_text().splitlines()[1:]:
            words = line.split()
            if not own & set(words):
                continue
            if table.startswith("tcp") and words[3] != LISTENS:
                continue  # a connection that we have made
            found.append(f"{table}: {line.strip()}")
    return found


def test_a_watching_daemon_can_be_reached_by_its_unix_socket_only(box: Any) -> None:
    run = box.run(
        sys.executable, "-uc", "print('step 1 loss 2.0'); import time; time.sleep(600)", name="gpt"
    )
    box.steps(1, run)
    pid = box.ask("ping")["pid"]
    family = [pid, *(each.pid for each in Processes("/proc").descendants(pid))]
    assert sockets_of(pid), "it has the control socket at least"
    assert {one: reachable(one) for one in family if Path(f"/proc/{one}/fd").exists()} == {
        one: [] for one in family if Path(f"/proc/{one}/fd").exists()
    }
    unix = Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]
    named = [line.split()[7] for line in unix if line.split()[6] in sockets_of(pid) and "/" in line]
    assert set(named) == {str(box.state / "middlewatch.sock")}


def test_the_look_finds_a_listener(box: Any) -> None:
    """The receiver of the tests does listen, in this process."""
    assert any(line.startswith("tcp") for line in reachable(os.getpid()))
