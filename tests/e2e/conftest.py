"""A box for end-to-end tests: the real daemon, real processes, a real HTTP receiver."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..fakes import box_wide
from ..fakes.box import Box, Receiver

PROGRAMS = Path(__file__).with_name("programs")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def box(tmp_path: Path, receiver: Receiver) -> Iterator[Box]:
    """A box with a daemon to be; ``configure`` before the first command if at all."""
    made = Box(tmp_path, receiver)
    made.configure("")
    yield made
    made.close()


@pytest.fixture
def searching(box: Box) -> Iterator[None]:
    """The daemon may look for the trainings of the whole box; it ends that before others may want to be alone."""
    with box_wide.searching():
        yield
        box.command("watch", "--once", "--json", check=False)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a tmpfs with the given options and takes it away in the end.

    Named before ``box`` by the tests: the daemon ends first, then its disk goes.
    """
    mounted: list[Path] = []

    def make(options: str) -> Path:
        folder = tmp_path / f"mount{len(mounted)}"
        folder.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True
        )
        if done.returncode:
            pytest.skip(f"cannot mount a tmpfs: {done.stderr.decode().strip()}")
        mounted.append(folder)
        return folder

    yield make
    for folder in mounted:
        subprocess.run(["umount", "-l", str(folder)], check=False)


@pytest.fixture
def program() -> Callable[[str], list[str]]:
    """Command line of one of our little training programs."""
    return lambda name: [sys.executable, str(PROGRAMS / f"{name}.py")]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """A tmux of our own; call it with tmux's words."""
    if not shutil.which("tmux"):
        pytest.skip("tmux is not installed")
    socket_path = str(tmp_path / "tmux")

    def tmux(*words: str) -> str:
        asked = ["tmux", "-S", socket_path, "-f", "/dev/null", *words]
        return subprocess.run(asked, capture_output=True, text=True, check=False).stdout

    yield tmux
    tmux("kill-server")
