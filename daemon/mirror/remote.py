"""What every destination can do, and the steps of a copy: send, read back, rename, receipt."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import xxhash

from ..checkpoints.verify.reading import FileReader
from . import tree
from .receipt import (
    SCHEMA,
    CheckpointGone,
    CopyJob,
    MirrorError,
    combined,
    is_of,
    receipt,
)
from .tree import FileToCopy


class CopyProgress(NamedTuple):
    """A piece of work that was just done. A copy may be stopped after any of them."""

    read: int = 0
    """Bytes of the checkpoint, or of its copy, that were read."""
    sent: int = 0
    """Bytes that were written to the destination."""


Standing = Literal["nothing", "ours", "unsigned", "foreign"]
"""What is there under the name of a copy. ``ours``: a copy of the same source. ``unsigned``: files
of the right sizes without a receipt, as a crash just before the receipt leaves them. ``foreign``:
something else, which is never touched."""
Result = TypeVar("Result")
Work = Generator[CopyProgress, None, Result]


class Destination(Protocol):
    """A place to copy to. Every method raises :class:`MirrorError` for what goes wrong there."""

    proof: str
    """How a copy is read back there, in words for the receipt."""

    def receipt_of(self, job: CopyJob) -> Work[Mapping[str, Any] | None]:
        """The receipt of a copy that has this name and files of the right sizes."""
        ...

    def touched(self, receipt: Mapping[str, Any], job: CopyJob) -> bool:
        """True if files of a copy look as if they were written to after its receipt."""
        ...

    def standing(self, job: CopyJob) -> Work[Standing]:
        """What is there under the name of the copy."""
        ...

    def send(self, job: CopyJob) -> Work[dict[str, str]]:
        """Copy under a temporary name, continuing where an earlier try stopped.

        Returns the digests (xxh3_128, 32 hex digits) of the files of the source as they were read.
        """
        ...

    def differing(
        self, job: CopyJob, digests: Mapping[str, str], *, named: bool
    ) -> Work[list[str]]:
        """Read the copy back: names of files that differ from ``digests``.

        ``named``: look at the copy under its name, not at the temporary one.
        """
        ...

    def discard(self, job: CopyJob) -> Work[None]:
        """Delete what is under the temporary name."""
        ...

    def place(self, job: CopyJob) -> Work[str]:
        """Move the copy to its name; returns a remark for a person, or nothing."""
        ...

    def sign(self, job: CopyJob, receipt: Mapping[str, Any]) -> Work[None]:
        """Write the receipt."""
        ...


def standing_of(
    job: CopyJob, receipt: Mapping[str, Any] | None, sizes: Mapping[str, int], *, there: bool
) -> Standing:
    """The standing, by the receipt, the sizes of files, and if anything is there."""
    if receipt is not None and receipt.get("source") == job.path:
        return "ours"
    if receipt is None and all(sizes.get(item.name) == item.bytes for item in job.items):
        return "unsigned"
    there = there or any(item.name in sizes for item in job.items)
    return "foreign" if there else "nothing"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result: there is a copy, and it was read back."""

    copied: bool
    """``False``: it was there already."""
    digest: str
    bytes: int
    at: str
    """When it was read back, ISO 8601."""
    detail: str = ""


def mirror(
    job: CopyJob, destination: Destination, now: Callable[[], str], *, again: bool = False
) -> Work[Outcome]:
    """Copy one checkpoint, and read the copy back.

    ``now`` gives ISO 8601. A copy with a receipt is not read again while its files look unchanged;
    with ``again`` it is in any case. Raises :class:`MirrorError`, and :class:`CheckpointGone` when
    the source changed.
    """
    known = yield from destination.receipt_of(job)
    wrong: list[str] = []
    if known is not None and is_of(known, job):
        wrong = (
            (yield from _changed(job, destination, known))
            if again or destination.touched(known, job)
            else []
        )
        if not wrong:
            return Outcome(False, str(known["digest"]), job.bytes, str(known["verified_at"]))
        # First replace the receipt: it must not call the old copy good, even if the new one fails.
        yield from destination.sign(job, {"schema": SCHEMA, "source": job.path, "wrong": wrong})
        job = replace(job, digest=str(known["digest"]))  # bits of the source may have changed too
    made = yield from _made(job, destination, now)
    if not wrong:
        return made
    shown = f"{', '.join(wrong[:3])} of the earlier copy had changed: it was copied again"
    return replace(made, detail="; ".join(filter(None, (shown, made.detail))))


def _changed(job: CopyJob, destination: Destination, receipt: Mapping[str, Any]) -> Work[list[str]]:
    """Names of the files of a copy that differ from its receipt (bit rot, a later write)."""
    digests = {f["name"]: str(f["digest"]).rpartition(":")[2] for f in receipt["files"]}
    return (yield from destination.differing(job, digests, named=True))


def _made(job: CopyJob, destination: Destination, now: Callable[[], str]) -> Work[Outcome]:
    standing = yield from destination.standing(job)
    if standing == "unsigned":
        digests = {}
        for item in job.items:
            digests[item.name] = yield from digest_of(item)
        if not (yield from destination.differing(job, digests, named=True)):
            remark = "its files were there, without a receipt"
            return (yield from _signed(job, destination, digests, now(), remark))
    if standing in ("unsigned", "foreign"):
        raise MirrorError(f"{job.place} is there already and is no copy of this checkpoint")
    try:
        digests = yield from destination.send(job)
        if job.digest is not None and combined(job, digests) != job.digest:
            raise CheckpointGone("its bytes are not those that were verified")
        job.check_unchanged()
    except CheckpointGone:
        yield from destination.discard(job)
        raise
    wrong = yield from destination.differing(job, digests, named=False)
    if wrong:
        yield from destination.discard(job)
        shown = ", ".join(wrong[:3])
        raise MirrorError(f"read back, {len(wrong)} of {len(job.items)} files differ: {shown}")
    remark = yield from destination.place(job)
    return (yield from _signed(job, destination, digests, now(), remark))


def _signed(
    job: CopyJob, destination: Destination, digests: Mapping[str, str], at: str, remark: str
) -> Work[Outcome]:
    content = receipt(job, digests, at, destination.proof)
    yield from destination.sign(job, content)
    return Outcome(True, str(content["digest"]), job.bytes, at, remark)


def chunks(item: FileToCopy) -> Generator[tuple[int, memoryview], None, None]:
    """(offset, bytes) of a file of the source.

    Raises :class:`CheckpointGone` where it changed or cannot be read.
    """
    try:
        with tree.readable(item) as path, FileReader(path) as reader:
            if (reader.mark.inode, reader.size) != (item.inode, item.bytes):
                raise CheckpointGone("it changed while it was copied")
            yield from reader.chunks()
    except OSError as error:
        raise CheckpointGone(f"{item.name} cannot be read: {error.strerror}") from None


def digest_of(item: FileToCopy, *also: Any) -> Work[str]:
    """xxh3_128 of a file of the source, 32 hex digits; ``also``: other hashes to feed."""
    digest = xxhash.xxh3_128()
    for _, data in chunks(item):
        for one in (digest, *also):
            one.update(data)
        yield CopyProgress(read=len(data))
    return digest.hexdigest()
