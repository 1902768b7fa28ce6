"""The files of one checkpoint that are to be copied, and the receipt that proves a copy of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..checkpoints.formats import names, recognise, safetensors, torch_zip
from ..checkpoints.formats.bounded_file import BoundedFile, FileTooShort
from ..system.files import combined_digest
from ..system.ownership import is_ours
from . import tree
from .tree import FileToCopy

SCHEMA = "middlewatch/mirror/v1"
RECEIPT = ".middlewatch-mirror.json"
"""Suffix of the file name of a receipt, which is written last, beside the copy."""
_DEEPEST = 32


class MirrorError(Exception):
    """The copy cannot be made; the text says why and is shown to a person."""


class CheckpointGone(MirrorError):
    """The checkpoint is not there any more, or not the one that was verified."""


@dataclass(frozen=True, slots=True)
class CopyJob:
    """One checkpoint to copy."""

    path: str
    place: str
    """Where it goes below the destination: ``checkpoint-500``, ``hf/checkpoint-500``."""
    folder: bool
    items: tuple[FileToCopy, ...]
    """In the order of their names. Of an index file with its shards the index is the one with the
    name :attr:`base`; destinations move that one last to its place."""
    step: float | None = None
    verified: Mapping[str, Any] | None = None
    digest: str | None = None
    """Digest in the index, if it has one; files with another digest are not copied."""

    @property
    def base(self) -> str:
        """The last part of :attr:`place`."""
        return self.place.rpartition("/")[2]

    @property
    def bytes(self) -> int:
        """Bytes of all files together."""
        return sum(item.bytes for item in self.items)

    @property
    def private(self) -> bool:
        """True when not everybody may read all of it."""
        return any(not item.shared & tree.OTHERS for item in self.items)

    @property
    def foreign(self) -> bool:
        """True when it lies in a folder of another user."""
        home = self.path if self.folder else os.path.dirname(self.path)
        try:
            return not is_ours(os.stat(home or ".").st_uid)
        except OSError:
            return True

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
    """List the files of a checkpoint. Raises :class:`CheckpointGone` where it cannot be read."""
    try:
        items = _items(path)
    except OSError as error:
        raise CheckpointGone(f"cannot be read: {error.strerror}") from None
    if not items:
        raise CheckpointGone("it is a folder without files")
    return CopyJob(path, place, os.path.isdir(path), items, step, verified, digest)


def _items(path: str) -> tuple[FileToCopy, ...]:
    home, base = os.path.split(path)
    try:
        if os.path.isdir(path):
            home, found = path, tree.folder_files(path, _DEEPEST)
        elif path.endswith(names.INDEXES):
            found = tree.named_files(home or ".", (base, *_shards(path)))
        else:
            found = tree.named_files(home or ".", (base,))
    except tree.Strange as error:
        raise MirrorError(error.strerror) from None
    return tuple(_item(home, one) for one in found)


def _item(home: str, found: tree.Found) -> FileToCopy:
    info, path = found.info, f"{home}/{found.name}" if home else found.name
    about = (info.st_size, info.st_mtime_ns, info.st_ino)
    return FileToCopy(found.name, path, *about, found.shared, info.st_gid)


def _shards(index: str) -> list[str]:
    try:
        with BoundedFile(index) as peek:
            return sorted(set(safetensors.shard_map(peek)))
    except (torch_zip.Malformed, FileTooShort, safetensors.TooLong) as error:
        raise CheckpointGone(f"its index cannot be read: {error}") from None


def combined(job: CopyJob, digests: Mapping[str, str]) -> str:
    """The digest (``xxh3:…``) of a checkpoint from the digests (32 hex digits) of its files.

    For a single file it is that of its bytes, else that of the lines ``<digest>  <name>``, as in
    the index. Files in deeper folders than the index looks at are copied and verified, but left
    out.
    """
    if not job.folder and len(job.items) == 1:
        return f"xxh3:{digests[job.items[0].name]}"
    listed = {n: digest for n, digest in digests.items() if n.count("/") <= recognise.DEEPEST}
    return f"xxh3:{combined_digest(listed)}"


def receipt(job: CopyJob, digests: Mapping[str, str], at: str, proof: str) -> dict[str, Any]:
    """The content of a receipt. ``proof``: how the copy was read back; ``at``: when, ISO 8601."""
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


def is_of(content: Mapping[str, Any] | None, job: CopyJob) -> bool:
    """True if a receipt is about these files: same source, digest, names, sizes and times."""
    if content is None or content.get("source") != job.path:
        return False
    if job.digest is not None and content.get("digest") != job.digest:
        return False
    try:
        listed = [(f["name"], f["bytes"], f["mtime_ns"]) for f in content["files"]]
    except (KeyError, TypeError):
        return False
    return listed == [(item.name, item.bytes, item.mtime_ns) for item in job.items]


def read_receipt(text: str | bytes) -> dict[str, Any] | None:
    """The receipt in ``text``; ``None`` if that is anything else."""
    import json

    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and content.get("schema") == SCHEMA else None
