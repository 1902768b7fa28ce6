"""What is copied: the files of one checkpoint as they stand, and what proves a copy of them."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..checkpoints.formats import names, recognise, safetensors, torch_zip
from ..checkpoints.formats.bounded_file import BoundedFile, FileTooShort
from ..system.files import combined_digest

SCHEMA = "middlewatch/mirror/v1"
RECEIPT = ".middlewatch-mirror.json"
"""How the name of a receipt ends; it lies beside the copy and is written last."""
_DEEPEST = 32


class MirrorError(Exception):
    """The copy cannot be made; the text says why, for a person."""


class CheckpointGone(MirrorError):
    """The checkpoint is not there any more, or not the one that was verified."""


@dataclass(frozen=True, slots=True)
class FileToCopy:
    """One file to copy."""

    name: str
    """Relative to the checkpoint folder, or to the folder that holds a single file."""
    path: str
    bytes: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class CopyJob:
    """One checkpoint to copy."""

    path: str
    place: str
    """Where it goes below the destination: ``checkpoint-500``, ``hf/checkpoint-500``."""
    folder: bool
    items: tuple[FileToCopy, ...]
    """By name; of an index with shards, and where it matters, the index comes last when named
    by :attr:`base`."""
    step: float | None = None
    verified: Mapping[str, Any] | None = None
    digest: str | None = None
    """As the index has it; a copy of anything else is refused."""

    @property
    def base(self) -> str:
        """Last part of where it goes."""
        return self.place.rpartition("/")[2]

    @property
    def bytes(self) -> int:
        """Of all files."""
        return sum(item.bytes for item in self.items)

    def check_unchanged(self) -> None:
        """Raises :class:`CheckpointGone` when a file is not what it was."""
        try:
            if _items(self.path) == self.items:
                return
        except OSError as error:
            raise CheckpointGone(f"cannot be read any more: {error.strerror}") from None
        raise CheckpointGone("it changed while it was copied")


def job_for(
    path: str,
    place: str,
    *,
    step: float | None = None,
    verified: Mapping[str, Any] | None = None,
    digest: str | None = None,
) -> CopyJob:
    """Look at a checkpoint. Raises :class:`CheckpointGone` where it cannot be read."""
    try:
        items = _items(path)
    except OSError as error:
        raise CheckpointGone(f"cannot be read: {error.strerror}") from None
    if not items:
        raise CheckpointGone("a folder without files")
    return CopyJob(path, place, os.path.isdir(path), items, step, verified, digest)


def _items(path: str) -> tuple[FileToCopy, ...]:
    folder, base = os.path.split(path)
    if os.path.isdir(path):
        wanted = {
            part.name: part.path
            for part in recognise.parts(path, _DEEPEST)
            if stat.S_ISREG(part.stat.st_mode)
            and not any(names.is_leftover(piece) for piece in part.name.split("/"))
        }
    elif path.endswith(names.INDEXES):
        wanted = {name: f"{folder}/{name}" for name in (base, *_shards(path))}
    else:
        wanted = {base: path}
    items = []
    for name, file in sorted(wanted.items()):
        seen = os.stat(file)
        items.append(FileToCopy(name, file, seen.st_size, seen.st_mtime_ns, seen.st_ino))
    return tuple(items)


def _shards(index: str) -> list[str]:
    try:
        with BoundedFile(index) as peek:
            return sorted(set(safetensors.shard_map(peek)))
    except (torch_zip.Malformed, FileTooShort, safetensors.TooLong) as error:
        raise CheckpointGone(f"its index cannot be read: {error}") from None


def combined(job: CopyJob, digests: Mapping[str, str]) -> str:
    """``xxh3:…`` of a checkpoint from the digests (32 hex digits) of its files.

    Of a single file that of its bytes, else that of the lines ``<digest>  <name>``, as in the
    index. Files deeper than the index looks are copied and proved, but not part of it.
    """
    if not job.folder and len(job.items) == 1:
        return f"xxh3:{digests[job.items[0].name]}"
    listed = {n: digest for n, digest in digests.items() if n.count("/") <= recognise.DEEPEST}
    return f"xxh3:{combined_digest(listed)}"


def receipt(job: CopyJob, digests: Mapping[str, str], at: str, proof: str) -> dict[str, Any]:
    """What lies beside a copy. ``proof``: how the far side was read; ``at``: ISO 8601."""
    return {
        "schema": SCHEMA,
        "source": job.path,
        "host": os.uname().nodename,
        "step": job.step,
        "bytes": job.bytes,
        "digest": combined(job, digests),
        "verified": dict(job.verified) if job.verified else None,
        "verified_at": at,
        "proof": proof,
        "files": [
            {
                "name": item.name,
                "bytes": item.bytes,
                "digest": f"xxh3:{digests[item.name]}",
                "mtime_ns": item.mtime_ns,
            }
            for item in job.items
        ],
    }


def is_of(told: Mapping[str, Any] | None, job: CopyJob) -> bool:
    """A receipt is about these very files: same source, names, sizes and times."""
    if told is None or told.get("source") != job.path:
        return False
    if job.digest is not None and told.get("digest") != job.digest:
        return False
    try:
        listed = [(f["name"], f["bytes"], f["mtime_ns"]) for f in told["files"]]
    except (KeyError, TypeError):
        return False
    return listed == [(item.name, item.bytes, item.mtime_ns) for item in job.items]


def read_receipt(text: str | bytes) -> dict[str, Any] | None:
    """A receipt, or ``None`` for anything else."""
    import json

    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) and told.get("schema") == SCHEMA else None
