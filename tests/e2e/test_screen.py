"""The screen in a real terminal: tmux here, over a real sshd on loopback."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Program = Callable[[str], list[str]]
SSHD = shutil.which("sshd") or "/usr/sbin/sshd"


@pytest.fixture
def ssh(tmp_path: Path) -> Iterator[list[str]]:
    """A throwaway sshd with its own keys; the client's command line for a terminal on it."""
    if not Path(SSHD).exists() or not shutil.which("ssh"):
        pytest.skip("openssh-server is not installed")
    folder = tmp_path / "sshd"
    folder.mkdir(mode=0o700)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for key in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True
        )
    shutil.copy(folder / "user.pub", folder / "authorized_keys")
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\n"
        f"AuthorizedKeysFile {folder}/authorized_keys\nPidFile {folder}/pid\nStrictModes no\n"
        "PasswordAuthentication no\nUsePAM no\nPermitRootLogin prohibit-password\n"
        "PermitUserEnvironment yes\nAcceptEnv MIDDLEWATCH_*\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    server = subprocess.Popen([SSHD, "-D", "-f", folder / "sshd_config", "-E", folder / "log"])
    (folder / "known").write_text(
        f"[127.0.0.1]:{port} " + " ".join((folder / "host.pub").read_text().split()[:2]) + "\n"
    )
    yield [
        *("ssh", "-p", str(port), "-i", str(folder / "user"), "-o", "IdentitiesOnly=yes"),
        *("-o", f"UserKnownHostsFile={folder}/known", "-o", "StrictHostKeyChecking=yes"),
        *("-o", "ConnectionAttempts=20", "-tt", f"{getpass.getuser()}@127.0.0.1"),
    ]
    server.terminate()
    server.wait()


@pytest.mark.system
def test_the_screen_over_ssh(
    box: Any, program: Program, ssh: list[str], terminal: Callable[..., str], tmp_path: Path
) -> None:
    seen = tmp_path / "seen"  # the overview was: however long the terminal took, now the trouble
    trouble = ("nan", "--at", "10", "--wait", str(seen), "--sleep", "0.1")
    run = box.run(*program("trainer"), *trouble, name="gpt")
    box.steps(10)
    # The command, not `python -m`: that one looks in the home directory first, for a checkout there.
    command = Path(sys.executable).with_name("middlewatch")
    remote = f"TERM=xterm-256color {command} tui --state-dir {box.state}"
    terminal("new-session", "-d", "-x", "80", "-y", "24", *ssh, remote)

    def shows(*words: str) -> bool:
        screen = terminal("capture-pane", "-p")
        return all(word in screen for word in words)

    box.until(lambda: shows("gpt", "running"), "the overview")
    screen = terminal("capture-pane", "-p")
    assert all(len(line) <= 80 for line in screen.splitlines())
    assert "inodes" in screen
    seen.touch()
    box.until(lambda: shows("failing", "loss"), "the incident on the screen")
    # The daemon dies: the last known state stays, with its age; and it comes back.
    box.command("stop")
    box.until(lambda: shows("no answer"), "the age of the last answer")
    box.command("start")
    box.until(lambda: not shows("no answer"), "the answer again")
    terminal("send-keys", "q")
    box.until(lambda: not terminal("list-sessions").strip(), "the screen is left")
    # Leaving the screen does not touch the run.
    before = box.status(run)["now"]["step"]
    box.steps(before + 5, run=run)
