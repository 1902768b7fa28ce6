"""Bring files home with rsync: what has arrived is kept, and a cut transfer goes on where it was.

rsync writes in place and compares block by block what is there already, so nothing is sent twice, and a
damaged block alone is sent again. A transfer that fails is repeated as long as each try brings
something; after :data:`FRUITLESS` tries that brought nothing it is given up.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..system.clock import Clock
from ..system.errors import MiddlewatchError, UsageError
from ..system.ssh import check_name, ssh_words
from .connection import PAUSES_S, BoxUnreachable
from .manifest import OneFile, Place

SILENT_S = 15
"""Seconds without a byte after which rsync gives the connection up. Our choice, like that of ssh."""
FRUITLESS = 5
"""Tries without a new byte until it is given up. Our choice: with the pauses a quarter of a minute, and
what a connection needs to fail."""
_NO_ROOM = ("No space left on device", "Disk quota exceeded", "File too large")
_PROGRESS = re.compile(rb"\s*([\d,.]+)\s+\d+%")
_VERSION = re.compile(r"rsync\s+version\s+v?(\d+)\.(\d+)")
_GONE = 24
"""Status of rsync when files of the box have vanished meanwhile."""
_WORDS = 400

Told = Callable[[int], None]
"""Is called with the bytes that this try has brought so far."""


class NoRoom(MiddlewatchError):
    """The disk at home is full."""

    exit_code = 1


class TransferFailed(MiddlewatchError):
    """Not everything has come."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Portion:
    """The files of one place of a run."""

    place: Place
    files: tuple[OneFile, ...]
    goal: str
    """The folder at home."""

    def present(self) -> int:
        """Bytes that are there already."""
        there = 0
        for one in self.files:
            with contextlib.suppress(OSError):
                there += min(os.lstat(f"{self.goal}/{one.name}").st_size, one.bytes)
        return there


def check_rsync() -> None:
    """Raises UsageError when there is no rsync here that can do this."""
    if shutil.which("rsync") is None:
        raise UsageError("rsync is not installed here", "install it: apt-get install rsync")
    said = subprocess.run(
        ["rsync", "--version"], capture_output=True, text=True, check=False
    ).stdout
    found = _VERSION.search(said)
    if found is None or (int(found[1]), int(found[2])) < (3, 1):
        told = said.partition("\n")[0] or "no version"
        raise UsageError(
            f"rsync 3.1 or newer is wanted here, this is {told}", "on a Mac: brew install rsync"
        )


def check_room(dest: str, portions: Sequence[Portion]) -> None:
    """Raises :class:`NoRoom` when what is still to come does not fit."""
    missing = sum(sum(one.bytes for one in each.files) - each.present() for each in portions)
    fresh = sum(
        not os.path.lexists(f"{each.goal}/{one.name}") for each in portions for one in each.files
    )
    disk = os.statvfs(dest)
    free = disk.f_bavail * disk.f_frsize
    if missing > free:
        raise NoRoom(
            f"{dest} has room for {free:,} bytes, and {missing:,} are still to come",
            "make room, or name another folder; what has come is kept",
        )
    if disk.f_files and fresh > disk.f_favail:
        raise NoRoom(
            f"{dest} has room for {disk.f_favail:,} more files, and {fresh:,} are still to come",
            "make room (df -i), or name another folder; what has come is kept",
        )


class Transfer:
    """Brings portions from one box."""

    def __init__(self, host: str, clock: Clock, limit_bytes_per_s: int = 0) -> None:
        self._host = check_name(host)
        self._clock = clock
        self._limit = limit_bytes_per_s
        self.repeats = 0
        """How often a cut transfer was taken up again."""

    def bring(self, portion: Portion, told: Told) -> None:
        """Bring the files of one place; one that is there with its size and time is not read again.

        Raises :class:`NoRoom`, :class:`TransferFailed` and :class:`BoxUnreachable`.
        """
        if not portion.files:
            return
        _make_folder(portion.goal)
        before, fruitless = portion.present(), 0
        while True:
            status, words = self._once(portion, told)
            if status in (0, _GONE):
                return  # the proof names what did not come
            if any(one in words for one in _NO_ROOM):
                raise NoRoom(
                    f"no room in {portion.goal}: {words}",
                    "make room (df -h, df -i), and call it again: what has come is kept",
                )
            now = portion.present()
            fruitless = 0 if now > before else fruitless + 1
            before = max(now, before)
            if fruitless >= FRUITLESS or _is_final(words):
                self._give_up(portion, status, words)
            self.repeats += 1
            self._clock.sleep(PAUSES_S[min(fruitless, len(PAUSES_S) - 1)])

    def _give_up(self, portion: Portion, status: int, words: str) -> None:
        if status == 255 or "connection unexpectedly closed" in words or status in (12, 30, 35):
            raise BoxUnreachable(
                f"the connection to {self._host} failed {FRUITLESS} times without a new byte: {words}",
                "call it again: what has come is kept",
            )
        raise TransferFailed(
            f"{portion.place.root}: {words or f'rsync ended with status {status}'}"
        )

    def _once(self, portion: Portion, told: Told) -> tuple[int, str]:
        """(exit status, what it complained of) of one try."""
        root = portion.place.root.rstrip("/")
        argv = ["rsync", "--times", "--inplace", "--partial", "--no-whole-file", "--protect-args"]
        argv += ["--from0", "--files-from=-", f"--timeout={SILENT_S}", "--no-human-readable"]
        argv += ["--chmod=D700,F600", "--perms", "--info=progress2", "--no-inc-recursive"]
        if self._limit:
            argv.append(f"--bwlimit={max(1, self._limit // 1024)}")
        argv += ["-e", shlex.join(ssh_words()), f"{self._host}:{root}/", f"{portion.goal}/"]
        listed = "".join(f"{one.name}\0" for one in portion.files).encode()
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as words:
            given.write(listed)
            given.seek(0)
            with subprocess.Popen(
                argv,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=words,
                env={**os.environ, "LC_ALL": "C"},
                start_new_session=True,  # Ctrl-C ends it by us, so that it can tidy up
            ) as process:
                try:
                    assert process.stdout is not None
                    while data := os.read(process.stdout.fileno(), 1 << 16):
                        for line in data.replace(b"\r", b"\n").split(b"\n"):
                            if found := _PROGRESS.match(line):
                                told(int(re.sub(rb"\D", b"", found[1])))
                    status = process.wait()
                except BaseException:
                    with contextlib.suppress(OSError):
                        os.killpg(process.pid, signal.SIGTERM)
                    process.wait()
                    raise
            words.seek(0)
            lines = words.read().decode("utf-8", "replace").splitlines()
        said = [line.strip() for line in lines if line.strip()]
        useful = [line for line in said if not line.startswith("rsync error:")] or said
        return status, "; ".join(useful)[-_WORDS:]


def _make_folder(path: str) -> None:
    """Make a folder for the owner alone. Raises :class:`NoRoom`."""
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except FileExistsError:
        raise TransferFailed(f"{path} is no folder", "move it away") from None
    except OSError as error:
        raise NoRoom(f"{path} cannot be made: {error.strerror}", "name another folder") from None


def _is_final(words: str) -> bool:
    final = ("Permission denied (", "Host key verification failed", "command not found")
    return any(one in words for one in final)
