"""Which processes use a checkpoint now: a file of it open or mapped, or named at their start."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from ...system.processes import Process, Processes, mapped_files

Identity = tuple[int, int]
"""Device and inode number: in a container the same file has another path."""
_OUR_READER = "middlewatch.daemon.checkpoints."
"""Marks our own verifier in a list of processes: its reading is no reason to keep a checkpoint."""


def holders(files: Mapping[Identity, str], paths: Collection[str]) -> dict[str, str]:
    """Path -> ``python3 (pid 4711) has model.pt open``, for those in use by any process.

    ``files``: the identity of every file, with the path of its checkpoint. ``paths``: the paths
    of all these checkpoints. Only root can examine the processes of other users.
    """
    found: dict[str, str] = {}
    inodes = {inode for _, inode in files}
    processes = Processes()
    me = processes.get(os.getpid())
    # The shell or script that started us may name the checkpoints that we were asked about.
    above = {process.pid for process in processes.ancestors(me)} if me else set()
    for process in processes.values():
        if process is me or any(_OUR_READER in word for word in process.argv):
            continue
        uses = [*_opened(process, files, inodes), *_mapped(process, files)]
        if process.pid not in above:
            uses += _named(process, paths)
        for path, what in uses:
            found.setdefault(path, f"{process.comm} (pid {process.pid}) {what}")
    return found


def _opened(
    process: Process, files: Mapping[Identity, str], inodes: Collection[int]
) -> Iterator[tuple[str, str]]:
    held = [(f.via, f"has {os.path.basename(f.target)} open") for f in process.files if f.regular]
    for via, what in (*held, (process.cwd_via, "has its working directory in it")):
        with contextlib.suppress(OSError):  # it has ended, or belongs to another user
            inode = _inode(via)
            if inode is not None and inode not in inodes:
                continue
            seen = os.stat(via)
            path = files.get((seen.st_dev, seen.st_ino))
            if path is not None:
                yield path, what


def _inode(via: str) -> int | None:
    """The inode number behind a link of /proc, without a question to its file system: that of some
    other process may not answer for ever. ``None`` before Linux 5.14."""
    path = os.open(via, os.O_PATH | os.O_CLOEXEC)
    try:
        told = Path(f"/proc/self/fdinfo/{path}").read_bytes()
    finally:
        os.close(path)
    found = re.search(rb"^ino:\s*(\d+)", told, re.MULTILINE)
    return int(found[1]) if found else None


def _mapped(process: Process, files: Mapping[Identity, str]) -> Iterator[tuple[str, str]]:
    """safetensors and ``torch.load(mmap=True)`` close the file and keep it mapped."""
    for mapped in mapped_files(process.pid):
        path = files.get((mapped.device, mapped.inode))
        if path is not None:
            yield path, f"has {os.path.basename(mapped.path)} mapped"


def _named(process: Process, paths: Collection[str]) -> Iterator[tuple[str, str]]:
    """Started with ``--resume_from out/checkpoint-500``: it may read that again later."""
    folder = process.cwd or "/"
    for text in process.argv:
        for word in {text, text.partition("=")[2]}:
            if "/" not in word and "." not in word and "-" not in word:
                continue
            full = os.path.normpath(os.path.join(folder, word))  # noqa: PTH118 (runs per word)
            while full not in ("", "/", "."):  # the path itself, and the folders that it lies in
                if full in paths:
                    yield full, "was started with its path"
                full = full.rpartition("/")[0]
