"""A box that only ssh reaches, bare: a Debian with Python, sshd and rsync, no network, a user without root.

Its root file system is a copy of one that mmdebstrap has built; systemd-nspawn gives it processes, a
loopback device and nothing else of a network. ssh comes in by ``ProxyCommand``: each connection is a
sshd of the box, started inside of it, with the configuration that Debian gives it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest
from scripts.root_file_systems import SYSTEMS, CannotRun, check_machine, copy, root_file_system, run

from .far_box import NAME, Reached, check_tools, sessions

SYSTEM = "debian-12"
PACKAGES = "python3,openssh-server,rsync"
"""No python3-venv, so neither pip nor ensurepip; no git, no cron, no systemd."""
USER = "user"
NAMESPACES = ("mount", "uts", "ipc", "net", "pid", "cgroup")
CLONE_NEWNET = 0x40000000
DOOR = """\
#!/bin/sh
# ProxyCommand: the wire to the box. Nothing answers while there is no file of this name.
first=$(cat {wire} 2>/dev/null) || exit 1
sshd() {{
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin nsenter --target "$first" {namespaces} \\
        /usr/sbin/sshd -i -E /var/log/sshd.log
}}
[ -e {noise} ] || sshd
sshd | {python} {flip} {noise}
"""
FLIP = """\
# What comes from the box, with one byte changed where a connection brings so many, once.
import contextlib, os, sys
noise = sys.argv[1]
with contextlib.suppress(OSError):
    at = int(open(noise).read())
    while data := bytearray(os.read(0, 1 << 16)):
        if 0 <= at < len(data) and os.path.exists(noise):
            data[at] ^= 1
            os.unlink(noise)
        at -= len(data)
        while data:
            del data[:os.write(1, data)]
"""
NOISE_AT = 40_000
"""Bytes of a connection: more than its beginning and an answer in words, less than the checkpoints."""
FIRST = "mkdir -p /run/sshd && echo up && exec cat"
"""What runs in the box when nobody is logged in: it ends with the test, also with one that is killed."""

Made = TypeVar("Made")


class FarBareBox(Reached):
    """One copy of the system, until :meth:`give_back`; what is on its disk stays for :meth:`open`."""

    def __init__(self, root: Path) -> None:
        """Raises CannotRun."""
        super().__init__(root)
        self.tree = root / "disk"
        self.home = self.tree / "home" / USER
        self._wire = root / "wire"
        self._noise = root / "noise"
        self._nspawn: subprocess.Popen[str] | None = None
        self._first = 0
        copy(root_file_system(SYSTEMS[SYSTEM], "far", PACKAGES), self.tree, USER)
        keys = self.home / ".ssh"
        keys.mkdir(mode=0o700)
        shutil.copy(root / "id.pub", keys / "authorized_keys")
        run("chroot", str(self.tree), "chown", "-R", f"{USER}:", f"/home/{USER}")
        door = root / "door"
        namespaces = " ".join(f"--{one}" for one in NAMESPACES)
        flip = root / "flip.py"
        flip.write_text(FLIP)
        paths = {"wire": self._wire, "noise": self._noise, "flip": flip, "python": sys.executable}
        quoted = {name: shlex.quote(str(path)) for name, path in paths.items()}
        door.write_text(DOOR.format(namespaces=namespaces, **quoted))
        door.chmod(0o755)
        self.configure(f"User {USER}", f"ProxyCommand {door}")
        self.open()

    def open(self) -> None:
        if self._nspawn is None:
            self._power_on()
        self._wire.write_text(str(self._first))
        self.wait_until_in(lambda: Path("/proc", str(self._first)).exists())

    def close(self) -> None:
        self._wire.unlink(missing_ok=True)
        while found := [pid for pid in self.processes() if comm(pid) == "sshd"]:
            for pid in found:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)

    def give_back(self) -> None:
        """Pull the plug: every process of the box ends, its disk stays as it is."""
        self._wire.unlink(missing_ok=True)
        nspawn, self._nspawn = self._nspawn, None
        if nspawn is None:
            return
        if self._first:
            with contextlib.suppress(OSError):
                os.kill(self._first, signal.SIGKILL)  # the kernel ends the others with it
        else:
            nspawn.terminate()
        nspawn.communicate()
        self._first = 0

    def damage_wire(self) -> bool:
        self._noise.write_text(str(NOISE_AT))
        return True

    @property
    def damaged(self) -> bool:
        return not self._noise.exists()

    def processes(self) -> list[int]:
        """All that run in the box."""
        here = namespace(self._first)
        pids = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()]
        return [pid for pid in pids if here and namespace(pid) == here]

    def in_network(self, make: Callable[[], Made]) -> Made:
        """What ``make`` returns; the sockets that it makes are on the loopback device of the box."""

        def enter() -> Made:
            libc = ctypes.CDLL(None, use_errno=True)
            with Path(f"/proc/{self._first}/ns/net").open("rb") as net:
                if libc.setns(net.fileno(), CLONE_NEWNET):  # of this thread alone
                    raise OSError(ctypes.get_errno(), "setns")
            return make()

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(enter).result()

    def _power_on(self) -> None:
        words = ["systemd-nspawn", "--quiet", f"--directory={self.tree}", "--as-pid2"]
        words += ["--register=no", "--keep-unit", "--console=pipe", "--private-network"]
        words += ["--resolv-conf=off", f"--hostname={NAME}", f"--machine=far-{os.getpid()}"]
        self._nspawn = subprocess.Popen(
            [*words, "sh", "-c", FIRST],
            env={**os.environ, "SYSTEMD_NSPAWN_TMPFS_TMP": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._nspawn.stdout is not None
        if self._nspawn.stdout.readline() != "up\n":
            self._nspawn.terminate()
            said = self._nspawn.communicate()[1].strip().splitlines()[-1:]
            self._nspawn = None
            raise CannotRun(f"systemd-nspawn cannot start a box here: {''.join(said)}")
        self._first = next(pid for pid in sessions(self._nspawn.pid) if is_first(pid))


def comm(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def namespace(pid: int) -> str:
    """Of its processes; empty where it is gone."""
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/pid")
    return ""


def is_first(pid: int) -> bool:
    """Whether it is process 1 of a namespace within ours."""
    with contextlib.suppress(OSError):
        told = Path(f"/proc/{pid}/status").read_text().partition("NSpid:")[2].partition("\n")[0]
        return len(told.split()) > 1 and told.split()[-1] == "1"
    return False


def what_is_missing() -> str:
    """Why this machine can have no such box; empty where it can, if a mirror of Debian answers."""
    if shutil.which("nsenter") is None:
        return "nsenter is not installed"
    try:
        check_machine()
    except CannotRun as why:
        return str(why)
    return ""


@contextlib.contextmanager
def far_bare_box(root: Path) -> Iterator[FarBareBox]:
    """A box for one test; skipped where none can be had."""
    check_tools()
    if lacking := what_is_missing():
        pytest.skip(lacking)
    try:
        made = FarBareBox(root)
    except CannotRun as why:
        pytest.skip(str(why))
    try:
        yield made
    finally:
        made.give_back()
