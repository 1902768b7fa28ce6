"""A box that only ssh reaches: a real sshd on loopback, with keys and a home folder of its own.

What a test runs over it is real ssh and real rsync. ``config`` is a configuration of ssh in which the
box is called ``box3``; :meth:`Reached.env` makes ssh and rsync use it. A box with files, processes and a
network of its own: ``far_bare_box.py``.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

NAME = "box3"
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
PATIENCE_S = 120.0


class Reached:
    """A box that ssh reaches by the name ``box3``."""

    home: Path
    """The home folder on the box, as we see it."""

    def __init__(self, root: Path) -> None:
        """``root``: a new folder for keys and configuration."""
        root.mkdir(parents=True, exist_ok=True)
        root.chmod(0o700)
        self.root = root
        self.config = root / "ssh_config"
        self.make_key("id")

    def make_key(self, name: str) -> None:
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.root / name)]
        subprocess.run(made, check=True)

    def configure(self, *lines: str) -> None:
        """Write the configuration of ssh; ``lines``: how the box is reached."""
        own = [f"Host {NAME}", *lines, f"IdentityFile {self.root}/id", "IdentitiesOnly yes"]
        own += [f"UserKnownHostsFile {self.root}/known", "StrictHostKeyChecking accept-new"]
        self.config.write_text("\n".join(own) + "\n")

    def wait_until_in(self, is_up: Callable[[], bool]) -> None:
        """Until sshd lets us in; skips where it does not."""
        deadline = time.monotonic() + PATIENCE_S
        while (tried := self.ssh("true")).returncode:
            if time.monotonic() > deadline or not is_up():
                self.give_back()
                pytest.skip(f"sshd does not let us in: {tried.stderr.strip()}")
            time.sleep(0.05)

    def open(self) -> None:
        """Be reached; started where it is not up."""
        raise NotImplementedError

    def close(self) -> None:
        """Cut all connections, and take no new ones."""
        raise NotImplementedError

    def give_back(self) -> None:
        """What a person does on the page of the platform: nothing answers any more."""
        self.close()

    def damage_wire(self) -> bool:
        """Have one byte of the next transfer changed between box and home; False: it cannot be done."""
        return False

    @property
    def damaged(self) -> bool:
        """Whether that has happened."""
        return False

    def env(self) -> dict[str, str]:
        """Variables for which ssh and rsync know the box."""
        return {"RSYNC_RSH": f"ssh -F {shlex.quote(str(self.config))}"}

    def ssh(self, command: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """A command there."""
        argv = ["ssh", "-F", str(self.config), "-o", "BatchMode=yes", NAME, command]
        return subprocess.run(
            argv, input=given, capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )


class FarBox(Reached):
    """One sshd, until :meth:`close`."""

    def __init__(self, root: Path, variables: Mapping[str, str]) -> None:
        """``variables``: of the environment of every session there."""
        super().__init__(root)
        self.home = root / "home"
        self.home.mkdir(parents=True, mode=0o700)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.make_key("host")
        shutil.copy(root / "id.pub", root / "authorized_keys")
        told = {"PATH": os.environ["PATH"], "HOME": str(self.home), **variables}
        if "LD_LIBRARY_PATH" in os.environ:
            told["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        lines = [
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {root}/host",
            "UsePAM no",
        ]
        lines += [f"AuthorizedKeysFile {root}/authorized_keys", "StrictModes no", "PidFile none"]
        lines += ["PermitRootLogin prohibit-password", "MaxStartups 100", "PrintMotd no"]
        lines += [f"SetEnv {' '.join(f'{k}={v}' for k, v in told.items())}"]
        # sshd begins in the home folder of the account; the box has another one.
        lines += ['ForceCommand cd "$HOME" && eval "${SSH_ORIGINAL_COMMAND:-exec sh}"']
        (root / "sshd_config").write_text("\n".join(lines) + "\n")
        self.configure("HostName 127.0.0.1", f"Port {self.port}", f"User {getpass.getuser()}")
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        self._server: subprocess.Popen[bytes] | None = None
        self.open()

    def open(self) -> None:
        """Start sshd, and wait until it lets us in."""
        assert SSHD is not None
        with (self.root / "sshd.log").open("ab") as log:
            self._server = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(self.root / "sshd_config")],
                stderr=log,
                start_new_session=True,
            )
        server = self._server
        self.wait_until_in(lambda: server.poll() is None)

    def close(self) -> None:
        """Stop listening, and end every session: the box is gone."""
        server, self._server = self._server, None
        if server is not None:
            for pid in sessions(server.pid):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            server.kill()
            server.wait()

    def freeze(self) -> list[int]:
        """Stop every session without ending it, as a network that is gone does; their processes."""
        assert self._server is not None
        found = sessions(self._server.pid)
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGSTOP)
        return found


def sessions(server: int) -> list[int]:
    """Processes of an sshd that serve a connection, of both kinds: privileged and not."""
    found, todo = [], [server]
    while todo:
        parent = todo.pop()
        with contextlib.suppress(OSError):
            told = Path(f"/proc/{parent}/task/{parent}/children").read_text()
            below = [int(word) for word in told.split()]
            found += below
            todo += below
    return found


def check_tools() -> None:
    """Skips where a program is missing at home."""
    for tool in ("rsync", "ssh", "ssh-keygen"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")


@contextlib.contextmanager
def far_box(root: Path, variables: Mapping[str, str]) -> Iterator[FarBox]:
    """A box for one test; skipped where a program is missing."""
    check_tools()
    if SSHD is None:
        pytest.skip("sshd is not installed")
    made = FarBox(root, variables)
    try:
        yield made
    finally:
        made.close()


def command_folder(where: Path) -> Path:
    """A folder with a ``middlewatch`` of this installation, for the PATH of a box."""
    where.mkdir(parents=True, exist_ok=True)
    script = where / "middlewatch"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m middlewatch.daemon "$@"\n')
    script.chmod(0o755)
    return where


DAMAGE = """#!/bin/sh
# The real rsync; then a byte of what came is another one, and size and time are as before.
{real} "$@"
status=$?
[ "$1" = --version ] && exit $status
[ -e {flipped} ] && [ -z "{always}" ] && exit $status
for file in {victim}; do
    [ -f "$file" ] || continue
    time=$(stat -c %y "$file")
    printf '\\001' | dd of="$file" bs=1 seek=5000 conv=notrunc 2>/dev/null
    touch -d "$time" "$file"
    : > {flipped}
done
exit $status
"""


def damaging_rsync(folder: Path, victim: str, flipped: Path, *, always: bool) -> Path:
    """An rsync that damages byte 5000 on the way, once or every time; its path.

    ``victim``: pattern of the shell for the files; ``flipped`` is there once a byte was damaged.
    """
    folder.mkdir(exist_ok=True)
    script = folder / "rsync"
    script.write_text(
        DAMAGE.format(
            real=shutil.which("rsync"),
            flipped=shlex.quote(str(flipped)),
            always="always" if always else "",
            victim=victim,
        )
    )
    script.chmod(0o755)
    return script
