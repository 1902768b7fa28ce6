"""A small Debian with systemd as its first process, for tests of the service."""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from scripts.sources import copy_sources

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = "systemd,systemd-sysv,dbus,python3"
TOOLS = {"systemd-nspawn": "systemd-container", "mmdebstrap": "mmdebstrap"}
BUILD_S, BOOT_S = 600.0, 150.0
"""Building takes 20 to 60 s with a near mirror; a boot with everything in it, 20 s."""
NET_ADMIN, SYSLOG = 1 << 12, 1 << 34
"""CAP_NET_ADMIN and CAP_SYSLOG."""

GUEST = """\
[Unit]
After=basic.target dbus.socket
[Service]
Type=oneshot
WorkingDirectory=/in
Environment=PYTHONPATH=/site PYTHONDONTWRITEBYTECODE=1
UnsetEnvironment=SYSTEMD_LOG_LEVEL
StandardOutput=append:/in/said
StandardError=append:/in/said
ExecStart=/usr/bin/touch /in/booted
ExecStart=/usr/bin/python3 /in/program.py
ExecStopPost=/bin/systemctl --no-block poweroff
"""


@dataclass(frozen=True)
class Machine:
    """A root file system that can be booted again and again; it is never changed."""

    rootfs: Path
    lock: Path
    site: Path
    """The package under test, installed with pip; its dependencies are those of the tests."""

    def run(self, program: Path, shared: Path, read_only: Mapping[str, Path]) -> str:
        """Boot, run ``program`` as root with ``shared`` as ``/in``, power off.

        Gives what the program printed. ``read_only`` maps places of the guest to folders of
        ours. Skips where such a container cannot boot.
        """
        shutil.copy(program, shared / "program.py")
        unit = shared / "guest.service"
        unit.write_text(GUEST)
        mounts = {"/site": self.site, "/deps": Path(sysconfig.get_paths()["purelib"]), **read_only}
        command = ["systemd-nspawn", "--quiet", f"--directory={self.rootfs}", "--volatile=overlay"]
        command += ["--boot", "--register=no", "--keep-unit", "--console=pipe"]
        if effective_capabilities() & NET_ADMIN:  # without it a network of its own has no loopback
            command += ["--private-network"]
        command += [f"--machine=mw-test-{os.getpid()}", f"--bind={shared}:/in"]
        command += [f"--bind-ro={path}:{place}" for place, path in mounts.items()]
        command += [f"--bind-ro={unit}:/etc/systemd/system/guest.service"]
        if Path("/dev/kmsg").exists() and effective_capabilities() & SYSLOG:
            command += ["--bind=/dev/kmsg", "--capability=CAP_SYSLOG"]
        command += ["systemd.wants=guest.service", "systemd.show_status=false"]
        # The guest's journald would tell the kernel log of this machine about itself.
        command += ["systemd.setenv=SYSTEMD_LOG_LEVEL=err"]
        # Controllers may be on cgroup v1 here: the guest's systemd wants its own v2 tree.
        env = {**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}
        console = shared / "console"
        with locked(self.lock), console.open("wb") as out:  # nspawn boots a folder only once
            subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=env,
                timeout=BOOT_S,
                check=False,
            )
        if not (shared / "booted").exists():
            pytest.skip(f"systemd does not boot in a container here: {last_line(console)}")
        return (shared / "said").read_text(errors="replace")


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """The machine with the package in it; built once and kept in the cache of the user."""
    if os.geteuid() != 0:
        pytest.skip("needs root to boot a container")
    for tool, package in TOOLS.items():
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool} (Debian package {package}): scripts/test --system")
    named = os.environ.get("MIDDLEWATCH_TEST_CACHE")
    cache = Path(named) if named else Path.home() / ".cache/middlewatch-tests"
    cache.mkdir(parents=True, exist_ok=True)
    suite, mirror = repository()
    rootfs = cache / f"{suite}-{platform.machine()}-1"
    with locked(cache / "build.lock"):
        if not rootfs.exists():
            build(rootfs, suite, mirror)
    return Machine(rootfs, cache / "boot.lock", installed(tmp_path_factory.mktemp("guest")))


def build(rootfs: Path, suite: str, mirror: str) -> None:
    """Unpack and configure the packages; whole or not at all."""
    with tempfile.TemporaryDirectory(dir=rootfs.parent) as fresh:
        command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}"]
        command += [f"--dpkgopt=path-exclude=/usr/share/{d}/*" for d in ("doc", "man", "locale")]
        made = Path(fresh, "rootfs")
        done = subprocess.run(
            [*command, suite, str(made), mirror],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=BUILD_S,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"mmdebstrap cannot build {suite} from {mirror}: {done.stderr[-500:]}")
        made.rename(rootfs)


def repository() -> tuple[str, str]:
    """Suite and mirror that this machine itself is installed from."""
    release = platform.freedesktop_os_release()
    suite = release.get("VERSION_CODENAME", "")
    folder = Path("/etc/apt")
    for path in (folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))):
        if path.is_file():
            for uri, suites, components in entries(path.read_text(), path.suffix):
                if suite in suites and "main" in components:
                    return suite, uri
    pytest.skip(f"no repository of {suite or 'this system'} is known to apt")


def entries(text: str, suffix: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """URI, suites and components of a sources file of apt, in its old or its new form."""
    if suffix != ".sources":
        for found in re.finditer(
            r"^deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)\s+(.+)$", text, re.MULTILINE
        ):
            yield found[1], [found[2]], found[3].split()
        return
    for stanza in re.split(r"\n\s*\n", text):
        fields = dict(re.findall(r"^(URIs|Suites|Components):[ \t]*(.*)$", stanza, re.MULTILINE))
        uris = fields.get("URIs", "").split()
        if uris:
            yield uris[0], fields.get("Suites", "").split(), fields.get("Components", "").split()


def installed(folder: Path) -> Path:
    """The package, installed by pip from a copy: setuptools leaves folders where it builds."""
    source, site = folder / "source", folder / "site"
    copy_sources(source)
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    command += ["--no-deps", "--no-build-isolation", "--target", str(site), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return site


def effective_capabilities() -> int:
    """Of this process, as a bit mask."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("CapEff:")[2].split()[0], 16)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Only one test process at a time."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
