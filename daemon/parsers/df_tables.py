"""The tables of ``df``, ``df -h`` and ``df -i`` that somebody printed into a log: file systems that are full.

Such a row is evidence only. It is asked about when a write has failed, as it then says which file system was full,
and of what: "No space left on device" is what the system says about inodes as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from middlewatch.sentinels.kit import LogEvent

from .text import plain

_SIZE = r"[\d.,]+ ?(?:[KMGTPE]i?B?)?"
_ROW = re.compile(
    rf"\s*(?P<source>\S+)(?:\s+[a-z][\w.]{{1,15}})?\s+{_SIZE}\s+{_SIZE}\s+(?P<free>{_SIZE})\s+(?P<used>\d{{1,3}})%\s+(?P<mount>/\S*)\s*$"
)
_INODES = re.compile(
    r"(?i)\binod|\b(?:nodos-i|iwęzły|inœuds|inós|i-вузл|iнод|i(?:use|uti|util)%)|Iノード"
)
"""In the header of ``df -i``, in the languages of coreutils."""
_HEADER = re.compile(r"\w*%\w*|\bCapacity\b")
_READ_ONLY = re.compile(
    r"(?:/dev/(?:loop|sr|cdrom|fd)\S*|squashfs|cvmfs\S*|fuse\.snapfuse|efivarfs|iso9660)$"
)
_IMAGES = re.compile(r"/(?:snap|cdrom|media|cvmfs|sys|proc|run/rootfs|var/lib/snapd)(?:/|$)")
"""Images are always full."""
FULL = 100
"""Per cent: ``df`` rounds up, and the last free part may be kept for the system (df(1), mke2fs -m)."""


def full_disks(lines: Iterable[tuple[int, str]], file: str) -> list[LogEvent]:
    """An event for the first full file system of each kind: without bytes, without inodes."""
    found: dict[str, LogEvent] = {}
    inodes = False
    for number, text in lines:
        row = _ROW.match(text)
        if row is None:
            if _HEADER.search(text):
                inodes = _INODES.search(text) is not None
            continue
        if (
            int(row["used"]) < FULL
            or _READ_ONLY.match(row["source"])
            or _IMAGES.match(row["mount"])
        ):
            continue
        trouble = "inode_exhausted" if inodes else "disk_full"
        if trouble not in found:
            found[trouble] = _event(trouble, text, row["mount"], file, number)
    return list(found.values())


def _event(trouble: str, text: str, mount: str, file: str, line: int) -> LogEvent:
    return LogEvent(
        at=0.0,
        trouble=trouble,
        role="root",
        severity="critical",
        fatal=True,
        text=plain(text),
        file=file,
        line=line,
        rank=None,
        signature="df-table",
        details={"path": mount},
    )
