"""Who has files of a checkpoint in hand right now: open, mapped, or named when it was started."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping

Identity = tuple[int, int]
"""Device and inode number: a process in a container sees the same file under another name."""
_OUR_READER = b"middlewatch.daemon.checkpoints."
"""Our verifier reads what it can; it is no reason to keep anything."""
_LONGEST_COMMAND = 1 << 20


def holders(files: Mapping[Identity, str], paths: Collection[str]) -> dict[str, str]:
    """Path -> ``python3 (pid 4711) has model.pt open``, for those in use by any process.

    ``files``: identities of the files of each checkpoint, with its path. ``paths`` are those
    paths. Processes of other users cannot be looked into without being root.
    """
    found: dict[str, str] = {}
    ours = _ancestors()
    for pid in (name for name in os.listdir("/proc") if name.isdigit()):
        command = _command(pid)
        if int(pid) == os.getpid() or any(_OUR_READER in word for word in command):
            continue
        uses = [*_opened(pid, files), *_mapped(pid, files)]
        if int(pid) not in ours:
            uses += _named(pid, command, paths)
        for path, what in uses:
            found.setdefault(path, f"{_name(pid)} (pid {pid}) {what}")
    return found


def _opened(pid: str, files: Mapping[Identity, str]) -> Iterator[tuple[str, str]]:
    folder = f"/proc/{pid}/fd"
    numbers: list[str] = []
    with contextlib.suppress(OSError):  # gone, or somebody else's
        numbers = os.listdir(folder)
    for number in (*(f"{folder}/{n}" for n in numbers), f"/proc/{pid}/cwd"):
        with contextlib.suppress(OSError):
            target = os.readlink(number)
            if not target.startswith("/") or target.startswith(("/dev/", "/proc/", "/sys/")):
                continue
            seen = os.stat(number)
            path = files.get((seen.st_dev, seen.st_ino))
            if path is not None:
                stays = number.endswith("/cwd")
                yield path, "is in it" if stays else f"has {os.path.basename(target)} open"


def _mapped(pid: str, files: Mapping[Identity, str]) -> Iterator[tuple[str, str]]:
    """safetensors and ``torch.load(mmap=True)`` close the file and keep its pages."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", "rb") as lines:
        for line in lines:
            fields = line.split(None, 5)
            if len(fields) < 6 or not fields[5].startswith(b"/"):
                continue
            major, _, minor = fields[3].partition(b":")
            device = os.makedev(int(major, 16), int(minor, 16))
            path = files.get((device, int(fields[4])))
            if path is not None:
                name = os.path.basename(os.fsdecode(fields[5].strip()))
                yield path, f"has {name} mapped"


def _named(
    pid: str, command: Collection[bytes], paths: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Started with ``--resume_from out/checkpoint-500``: it may come back to it."""
    if not command:
        return
    try:
        folder = os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        folder = "/"
    for raw in command:
        text = os.fsdecode(raw)
        for word in {text, text.partition("=")[2]}:
            if "/" not in word and "." not in word and "-" not in word:
                continue
            full = os.path.normpath(os.path.join(folder, word))  # noqa: PTH118 (runs per word)
            for path in paths:
                if full == path or full.startswith(path + "/"):
                    yield path, "was started with it"


def _command(pid: str) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read(_LONGEST_COMMAND).split(b"\0")
    except OSError:
        return []


def _name(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "a process"


def _ancestors() -> set[int]:
    """This process and those it descends from: their command lines name what we were asked."""
    found: set[int] = set()
    pid = os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                pid = int(file.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
    return found
