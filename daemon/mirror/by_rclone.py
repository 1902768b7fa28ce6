"""Copy to a remote of rclone: cloud storage, which has neither atomic renames nor a shell.

Files of an interrupted copy that arrived whole are not sent again; others are sent from their
start, because object stores keep no partial objects. As a proof every file is downloaded again.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import xxhash

from .programs import ask, stream
from .rclone_config import check_keeps_private
from .receipt import RECEIPT, SCHEMA, CopyJob, MirrorError, read_receipt
from .remote import CopyProgress, Standing, Work, digest_of, standing_of
from .staging import portions, staged
from .targets import MirrorTarget
from .tree import FileToCopy

_NOT_THERE = (0, 3, 4)
"""Exit statuses of rclone: success, no such folder, no such file."""
_GENTLE = ("--retries", "3", "--low-level-retries", "10", "--transfers", "2", "--checkers", "2")


class RcloneDestination:
    """A folder or bucket of an rclone remote."""

    proof = "downloaded again"

    def __init__(self, place: MirrorTarget, limit_bytes_per_s: int = 0) -> None:
        self._place = place
        self._limit = limit_bytes_per_s

    def receipt_of(self, job: CopyJob) -> Work[Mapping[str, Any] | None]:
        """The receipt of a copy, if its files are still there with their sizes."""
        if job.private and job.foreign:
            check_keeps_private(self._place.host)
        receipt = yield from self._receipt(job)
        files = (receipt or {}).get("files")
        if receipt is None or not isinstance(files, list):
            return None
        sizes = yield from self._sizes(job)
        return receipt if all(sizes.get(f.get("name")) == f.get("bytes") for f in files) else None

    def touched(self, receipt: Mapping[str, Any], job: CopyJob) -> bool:
        """Always false: not every remote keeps the times of files."""
        return False

    def standing(self, job: CopyJob) -> Work[Standing]:
        """What is there under the name of the copy."""
        beside = yield from self._names(os.path.dirname(self._target(job)))
        receipt, sizes = (yield from self._receipt(job)), (yield from self._sizes(job))
        return standing_of(job, receipt, sizes, there=job.base in beside)

    def send(self, job: CopyJob) -> Work[dict[str, str]]:
        """Read the source once for its digests, then let rclone copy it."""
        if job.private and job.foreign:
            check_keeps_private(self._place.host)
        digests = {}
        for item in job.items:
            digests[item.name] = yield from digest_of(item)
        for items in portions(job.items):
            yield from self._send(job, items)
        return digests

    def _send(self, job: CopyJob, items: Sequence[FileToCopy]) -> Work[None]:
        with (
            staged(items) as home,
            tempfile.NamedTemporaryFile("w", suffix=".txt", errors="surrogateescape") as listed,
        ):
            listed.writelines(f"{item.name}\n" for item in items)
            listed.flush()
            more = ["--files-from-raw", listed.name, "--copy-links", "--no-traverse", *_GENTLE]
            more += ["--bwlimit", f"{self._limit}B"] if self._limit else []
            goal = self._at(self._part(job))
            yield from ask(["rclone", "copy", *more, home, goal], umask=_umask(job))

    def differing(
        self, job: CopyJob, digests: Mapping[str, str], *, named: bool
    ) -> Work[list[str]]:
        """Download every file again and hash it."""
        home = self._home(job) if named else self._part(job)
        wrong = []
        for item in job.items:
            digest = xxhash.xxh3_128()
            for data in stream(["rclone", "cat", self._at(f"{home}/{item.name}")]):
                digest.update(data)
                yield CopyProgress(read=len(data))
            if digest.hexdigest() != digests[item.name]:
                wrong.append(item.name)
        return wrong

    def discard(self, job: CopyJob) -> Work[None]:
        """Delete the temporary folder."""
        yield from ask(["rclone", "purge", self._at(self._part(job))], ok=_NOT_THERE)

    def place(self, job: CopyJob) -> Work[str]:
        """Move the copy to its name; an older copy of the same folder is renamed and kept."""
        receipt = yield from self._receipt(job)
        target, part, remark = self._target(job), self._part(job), ""
        beside = yield from self._names(os.path.dirname(target))
        if job.base in beside:
            if receipt is None or receipt.get("source") != job.path:
                raise MirrorError(f"{target} is there already and is no copy of this checkpoint")
            yield from self._write(job, {"schema": SCHEMA, "source": job.path})
        if job.folder:
            if job.base in beside:
                taken = (f"{job.base}.replaced-{n}" for n in range(1, len(beside) + 2))
                older = next(name for name in taken if name not in beside)
                remark = f"the copy of its older contents is kept as {older}"
                goal = f"{os.path.dirname(target)}/{older}"
                yield from self._move(target, goal)
            yield from self._move(part, target)
        else:
            home = self._home(job)
            for item in sorted(job.items, key=lambda i: i.name == job.base):
                yield from self._move(f"{part}/{item.name}", f"{home}/{item.name}")
            yield from self.discard(job)
        return remark

    def sign(self, job: CopyJob, receipt: Mapping[str, Any]) -> Work[None]:
        """Write the receipt. This is the last step of a copy."""
        yield from self._write(job, receipt)

    def _write(self, job: CopyJob, receipt: Mapping[str, Any]) -> Work[None]:
        path = self._at(self._target(job) + RECEIPT)
        text = json.dumps(receipt, indent=1)
        yield from ask(["rclone", "rcat", path], text, umask=_umask(job))

    def _move(self, source: str, target: str) -> Work[None]:
        yield from ask(["rclone", "moveto", *_GENTLE, self._at(source), self._at(target)])

    def _receipt(self, job: CopyJob) -> Work[dict[str, Any] | None]:
        if job.base + RECEIPT not in (yield from self._names(os.path.dirname(self._target(job)))):
            return None
        path = self._at(self._target(job) + RECEIPT)
        return read_receipt((yield from ask(["rclone", "cat", path])))

    def _names(self, folder: str) -> Work[set[str]]:
        listing = yield from ask(["rclone", "lsf", self._at(folder)], ok=_NOT_THERE)
        return {line.rstrip("/") for line in listing.splitlines()}

    def _sizes(self, job: CopyJob) -> Work[dict[str, int]]:
        argv = ["rclone", "lsjson", "--files-only", "--no-mimetype", "--no-modtime"]
        argv += ["-R"] if job.folder else []
        listing = yield from ask([*argv, self._at(self._home(job))], ok=_NOT_THERE)
        try:
            return {entry["Path"]: entry["Size"] for entry in json.loads(listing or "[]")}
        except (ValueError, KeyError, TypeError):
            return {}

    def _at(self, path: str) -> str:
        return f"{self._place.host}:{path}"

    def _target(self, job: CopyJob) -> str:
        return f"{self._place.path}/{job.place}".lstrip("/" if not self._place.path else "")

    def _home(self, job: CopyJob) -> str:
        target = self._target(job)
        return target if job.folder else os.path.dirname(target)

    def _part(self, job: CopyJob) -> str:
        return f"{os.path.dirname(self._target(job))}/.{job.base}.part"


def _umask(job: CopyJob) -> int:
    """What rclone makes on a file system of this box is for its owner only, if the source is."""
    return 0o077 if job.private else -1
