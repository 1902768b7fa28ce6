"""Root file systems of small boxes, Debian or Ubuntu: built once by mmdebstrap, kept, copied to be used."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

DEBIAN, UBUNTU = "http://deb.debian.org/debian", "http://archive.ubuntu.com/ubuntu"
KEYRINGS = Path("/usr/share/keyrings")
PACKAGES = "apt,python3,python3-venv,git,ca-certificates"
BUILD_S = 900.0
"""Seconds. Building takes one minute with a near mirror."""


class CannotRun(Exception):
    """This machine cannot have such a box; the text says why."""


@dataclass(frozen=True)
class System:
    """A system somebody may rent; the oldest and the newest that are promised, and one between."""

    suite: str
    mirror: str
    components: str = "main"
    tmp_in_memory: bool = False


SYSTEMS = {
    "debian-12": System("bookworm", DEBIAN),
    "debian-13": System("trixie", DEBIAN, tmp_in_memory=True),
    "ubuntu-22.04": System("jammy", UBUNTU, "main,universe"),
}


def cache() -> Path:
    """Where the root file systems are kept."""
    named = os.environ.get("MIDDLEWATCH_TEST_CACHE")
    folder = Path(named) if named else Path.home() / ".cache/middlewatch-tests"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def check_machine() -> None:
    """Raises CannotRun where no box can be made."""
    if os.geteuid() != 0:
        raise CannotRun("needs root, to enter another root file system")
    for tool, package in (("mmdebstrap", "mmdebstrap"), ("systemd-nspawn", "systemd-container")):
        if shutil.which(tool) is None:
            raise CannotRun(f"needs {tool}: apt-get install {package}")


def root_file_system(system: System, name: str = "bare", packages: str = PACKAGES) -> Path:
    """A system with these packages; built when it is not there yet. Raises CannotRun."""
    made = cache() / f"{name}-{system.suite}-{platform.machine()}-2"
    keys = ubuntu_keys() if system.mirror == UBUNTU else KEYRINGS
    bootstrap(system, made, "--variant=minbase", f"--include={packages}", f"--keyring={keys}")
    return made


def ubuntu_keys() -> Path:
    """Folder with the keys Ubuntu signs with. Debian has them in a package, signed by Debian."""
    name = "ubuntu-archive-keyring.gpg"
    if (KEYRINGS / name).exists():
        return KEYRINGS
    made = cache() / "bare-ubuntu-keys-1"
    include = "--include=ubuntu-archive-keyring"
    bootstrap(SYSTEMS["debian-13"], made, "--variant=extract", include)
    return made / "usr/share/keyrings"


def bootstrap(system: System, made: Path, *options: str) -> None:
    """Run mmdebstrap unless ``made`` is there; it is whole or not there. Raises CannotRun."""
    lock = cache() / f"{made.name}.lock"
    with lock.open("w") as held, tempfile.TemporaryDirectory(dir=made.parent) as fresh:
        fcntl.flock(held, fcntl.LOCK_EX)  # one builds, the others wait for it
        if made.exists():
            return
        print(f"building {made}", file=sys.stderr)
        fresh_root = Path(fresh, "root")
        command = ["mmdebstrap", "--quiet", f"--components={system.components}", *options]
        done = subprocess.run(
            [*command, system.suite, str(fresh_root), system.mirror],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=BUILD_S,
            check=False,
        )
        if done.returncode:
            told = done.stderr.strip().splitlines()[-1:] or ["it did not say why"]
            raise CannotRun(f"{system.suite} cannot be built from {system.mirror}: {told[0]}")
        fresh_root.rename(made)


def copy(made: Path, into: Path, user: str) -> None:
    """A copy that may be changed, with an account for this user. Raises CannotRun."""
    run("cp", "--archive", "--reflink=auto", str(made), str(into))
    # An installer, an image of a cloud and a container engine all write it; mmdebstrap does not, and
    # without it `localhost` is a question to the name server.
    hosts = into / "etc" / "hosts"
    if not hosts.exists():
        hosts.write_text("127.0.0.1 localhost\n::1 localhost ip6-localhost\n", encoding="utf-8")
    if user != "root":
        # No password, but not locked: sshd lets nobody into a locked account.
        run("chroot", str(into), "useradd", "-m", "-p", "*", "-s", "/bin/bash", user)


def run(*command: str) -> None:
    """A command that has to work."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise CannotRun(f"`{' '.join(command[:4])} …`: {done.stderr.strip()}")
