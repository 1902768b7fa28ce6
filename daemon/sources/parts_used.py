"""Which file systems and GPUs the processes of a run use, by what they have open.

Other runs and other programs of the box use other parts of it, and their troubles are not those of
this run. Everything is read from /proc, and no path of the run is touched: the file system of an
open file is known from ``mnt_id`` in /proc/PID/fdinfo, so a dead server blocks nothing.

An open ``/dev/nvidiaN`` shows only which GPUs a program may use: CUDA can open those it does not
use later. The driver's own list of processes is more exact, but in a container it often has the
pids of the host, or none. ``judge/gpus.py`` weighs the two.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from middlewatch.sentinels.kit import Observation, PartsUsed

from ..system import mounts, procfs
from ..system.source import Source

LOOKS_WHILE_YOUNG = 12
"""Looks of the first minute: a program opens its GPUs and files after its imports, which take 5 to
40 s."""
LATER_EVERY = 12
"""Reads between two looks after that (a minute): a look costs about 1 ms a process."""
MOST = 32
"""Processes looked at: ranks and their first workers. Workers use the parts of their rank."""
SHARED_BYTES = 1 << 20
"""Shared memory from which a process counts as a user of /dev/shm: semaphores of Python take a page
each, batches of a data loader much more (our choice)."""

_CARD = re.compile(r"/dev/nvidia(\d+)")
_NO_FILES = ("/dev/", "/proc/", "/sys/")
_TEMPORARY = ("TMPDIR", "TMP", "TEMP")
_ALL_OR_NONE = frozenset({"", "all", "none", "void", "-1", "NoDevFiles"})


class PartsInUse(Source):
    """A :class:`PartsUsed` at the first look, and whenever a look differs from the one before.

    File systems that were used once stay: a checkpoint is open for a moment only.

    ``pids`` gives the processes of the run, those that matter most first. ``root`` is where proc is
    mounted, ``dev`` where device files are.
    """

    name = "parts"
    every_s = 5.0

    def __init__(
        self,
        pids: Callable[[], Sequence[int]],
        command: Sequence[str] = (),
        cwd: str = "",
        root: str = procfs.PROC,
        dev: str = "/dev",
    ) -> None:
        self._pids = pids
        self._folders = frozenset(named_paths(command, cwd))
        self._root = root
        self._dev = dev
        self._reads = 0
        self._devices: set[str] = set()
        self._shm = False
        self._last: PartsUsed | None = None

    def read(self, now: float) -> Iterable[Observation]:
        """Look at the processes when it is time to; nothing while all is as before."""
        self._reads += 1
        if self._reads > LOOKS_WHILE_YOUNG and self._reads % LATER_EVERY:
            return ()
        seen = self._look(now)
        last = self._last
        if last is not None and _same(last, seen):
            return ()
        self._last = seen
        return (seen,)

    def _look(self, now: float) -> PartsUsed:
        temporary: set[str] = set()
        minors: set[int] = set()
        visible: list[str] | None = None
        looked = False
        tables: dict[str, dict[str, str]] = {}
        for pid in self._pids()[:MOST]:
            readable, cards, ids = self._open(pid)
            outside = procfs.shares_root(pid, self._root) is False
            looked = looked or (readable and self._has_gpu_files(pid, outside=outside))
            minors |= cards
            if ids:
                space = procfs.link(f"{self._root}/{pid}/ns/mnt") or str(pid)
                if space not in tables:
                    tables[space] = mounts.devices_by_id(f"{self._root}/{pid}/mountinfo")
                self._devices |= {tables[space][one] for one in ids if one in tables[space]}
            environ = procfs.environ(pid, self._root)
            if not outside:
                self._shm = self._shm or _shared(pid, self._root) >= SHARED_BYTES
                temporary |= {environ[n] for n in _TEMPORARY if environ.get(n, "").startswith("/")}
            allowed = allowed_gpus(environ, outside=outside)
            if allowed is not None:
                visible = list(dict.fromkeys([*(visible or ()), *allowed]))
        return PartsUsed(
            now,
            frozenset(self._devices),
            self._folders,
            frozenset(temporary),
            self._shm,
            frozenset(minors) if looked or minors else None,
            None if visible is None else tuple(visible),
        )

    def _open(self, pid: int) -> tuple[bool, set[int], set[str]]:
        """(its files may be seen, N of its open ``/dev/nvidiaN``, mounts of files it may write)."""
        folder = f"{self._root}/{pid}/fd"
        try:
            numbers = os.listdir(folder)
        except OSError:
            return False, set(), set()
        cards, ids = set(), set()
        for number in numbers:
            target = procfs.link(f"{folder}/{number}")
            card = _CARD.fullmatch(target)
            if card:
                cards.add(int(card[1]))
            elif target.startswith("/dev/shm/") or (
                target.startswith("/") and not target.startswith(_NO_FILES)
            ):
                mount = self._written(pid, number)
                if mount:
                    ids.add(mount)
        return True, cards, ids

    def _written(self, pid: int, number: str) -> str:
        """The id of the mount of a file that was opened for writing; empty for any other."""
        data = procfs.read_or_none(f"{self._root}/{pid}/fdinfo/{number}") or b""
        fields = dict(line.split(b":", 1) for line in data.splitlines() if b":" in line)
        flags = procfs.parse_number(fields.get(b"flags", b"0").strip(), 8)
        if flags & os.O_ACCMODE == os.O_RDONLY:
            return ""
        return fields.get(b"mnt_id", b"").strip().decode("ascii", "replace")

    def _has_gpu_files(self, pid: int, *, outside: bool) -> bool:
        """True where GPUs are reached by device files, so that a process without one uses none."""
        dev = f"{self._root}/{pid}/root/dev" if outside else self._dev
        return os.path.exists(f"{dev}/nvidiactl")


def named_paths(command: Sequence[str], cwd: str) -> Iterator[str]:
    """Absolute paths that the words of a command name, without its programs."""
    for word in command[1:]:
        value = word.partition("=")[2] if "=" in word else word
        program = value.endswith((".py", ".sh")) or "python" in value.rpartition("/")[2]
        if "/" not in value or "://" in value or program or value.startswith("-"):
            continue
        path = value if value.startswith("/") else f"{cwd}/{value}"
        if path.startswith("/"):
            yield path


def allowed_gpus(environ: dict[str, str], *, outside: bool) -> tuple[str, ...] | None:
    """The GPUs (index or UUID) that an environment allows; ``None``: it does not say.

    ``outside``: the process is in a container, and we are not. Then its indexes count the GPUs of
    its container, which NVIDIA_VISIBLE_DEVICES names as the box knows them.
    """
    given = environ.get("NVIDIA_VISIBLE_DEVICES") if outside else None
    of_container = None if given is None or given in _ALL_OR_NONE else given.split(",")
    chosen = environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None:
        return None if of_container is None else tuple(of_container)
    found = []
    for word in chosen.split(","):
        word = word.strip()
        if word in _ALL_OR_NONE:
            break  # CUDA ignores what comes after the first that it cannot use
        if of_container is not None and word.isdigit():
            if int(word) >= len(of_container):
                break
            word = of_container[int(word)]
        found.append(word)
    return tuple(found)


def _shared(pid: int, root: str) -> int:
    """Bytes of shared memory that a process holds."""
    data = procfs.read_or_none(f"{root}/{pid}/status") or b""
    return (procfs.number(data, b"RssShmem:") or 0) << 10


def _same(one: PartsUsed, other: PartsUsed) -> bool:
    return (one.devices, one.folders, one.temporary, one.shm) == (
        other.devices,
        other.folders,
        other.temporary,
        other.shm,
    ) and (one.gpu_minors, one.gpus_visible) == (other.gpu_minors, other.gpus_visible)
