"""Copy to a remote of rclone: cloud storage, which has neither renames in one step nor a shell.

Files of an interrupted copy that arrived whole are not sent again; one that did not starts anew,
because object stores keep no half objects. Everything is downloaded again to prove it.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from typing import Any

import xxhash

from .programs import ask, stream
from .receipt import RECEIPT, SCHEMA, Parcel, Trouble, read_receipt
from .remote import Standing, Tick, Work, digest_of, standing_of
from .targets import Place

_NOT_THERE = (0, 3, 4)
"""Exit status of rclone: fine, no such folder, no such file."""
_QUIETLY = ("--retries", "3", "--low-level-retries", "10", "--transfers", "2", "--checkers", "2")


class Remote:
    """A folder or bucket of a remote."""

    proof = "downloaded again"

    def __init__(self, place: Place, limit_bytes_per_s: int = 0) -> None:
        self._place = place
        self._limit = limit_bytes_per_s

    def receipt_of(self, parcel: Parcel) -> Work[Mapping[str, Any] | None]:
        """The receipt of a copy, if its files are still there with their sizes."""
        told = yield from self._receipt(parcel)
        files = (told or {}).get("files")
        if told is None or not isinstance(files, list):
            return None
        sizes = yield from self._sizes(parcel)
        return told if all(sizes.get(f.get("name")) == f.get("bytes") for f in files) else None

    def touched(self, told: Mapping[str, Any], parcel: Parcel) -> bool:
        """Not looked for: times over there are not always kept."""
        return False

    def standing(self, parcel: Parcel) -> Work[Standing]:
        """What has its name there."""
        beside = yield from self._names(os.path.dirname(self._target(parcel)))
        told, sizes = (yield from self._receipt(parcel)), (yield from self._sizes(parcel))
        return standing_of(parcel, told, sizes, there=parcel.base in beside)

    def send(self, parcel: Parcel) -> Work[dict[str, str]]:
        """Read the source once for its digests, then let rclone carry it."""
        digests = {}
        for item in parcel.items:
            digests[item.name] = yield from digest_of(item)
        home = parcel.path if parcel.folder else os.path.dirname(parcel.path)
        with tempfile.NamedTemporaryFile("w", suffix=".txt", errors="surrogateescape") as listed:
            listed.writelines(f"{item.name}\n" for item in parcel.items)
            listed.flush()
            more = ["--files-from-raw", listed.name, "--copy-links", "--no-traverse", *_QUIETLY]
            more += ["--bwlimit", f"{self._limit}B"] if self._limit else []
            yield from ask(["rclone", "copy", *more, home, self._at(self._part(parcel))])
        return digests

    def differing(
        self, parcel: Parcel, digests: Mapping[str, str], *, named: bool
    ) -> Work[list[str]]:
        """Download every file again and hash it."""
        home = self._home(parcel) if named else self._part(parcel)
        wrong = []
        for item in parcel.items:
            digest = xxhash.xxh3_128()
            for data in stream(["rclone", "cat", self._at(f"{home}/{item.name}")]):
                digest.update(data)
                yield Tick(read=len(data))
            if digest.hexdigest() != digests[item.name]:
                wrong.append(item.name)
        return wrong

    def discard(self, parcel: Parcel) -> Work[None]:
        """Only the temporary."""
        yield from ask(["rclone", "purge", self._at(self._part(parcel))], ok=_NOT_THERE)

    def place(self, parcel: Parcel) -> Work[str]:
        """Give the copy its name; an older folder of the same source keeps one of its own."""
        told = yield from self._receipt(parcel)
        target, part, remark = self._target(parcel), self._part(parcel), ""
        beside = yield from self._names(os.path.dirname(target))
        if parcel.base in beside:
            if told is None or told.get("source") != parcel.path:
                raise Trouble(f"{target} is there already and is no copy of this checkpoint")
            yield from self._write(parcel, {"schema": SCHEMA, "source": parcel.path})
        if parcel.folder:
            if parcel.base in beside:
                taken = (f"{parcel.base}.replaced-{n}" for n in range(1, len(beside) + 2))
                older = next(name for name in taken if name not in beside)
                remark = f"the copy of its older contents is {older}"
                goal = f"{os.path.dirname(target)}/{older}"
                yield from self._move(target, goal)
            yield from self._move(part, target)
        else:
            home = self._home(parcel)
            for item in sorted(parcel.items, key=lambda i: i.name == parcel.base):
                yield from self._move(f"{part}/{item.name}", f"{home}/{item.name}")
            yield from self.discard(parcel)
        return remark

    def sign(self, parcel: Parcel, told: Mapping[str, Any]) -> Work[None]:
        """Last of all."""
        yield from self._write(parcel, told)

    def _write(self, parcel: Parcel, told: Mapping[str, Any]) -> Work[None]:
        path = self._at(self._target(parcel) + RECEIPT)
        yield from ask(["rclone", "rcat", path], json.dumps(told, indent=1))

    def _move(self, source: str, target: str) -> Work[None]:
        yield from ask(["rclone", "moveto", *_QUIETLY, self._at(source), self._at(target)])

    def _receipt(self, parcel: Parcel) -> Work[dict[str, Any] | None]:
        if parcel.base + RECEIPT not in (
            yield from self._names(os.path.dirname(self._target(parcel)))
        ):
            return None
        path = self._at(self._target(parcel) + RECEIPT)
        return read_receipt((yield from ask(["rclone", "cat", path])))

    def _names(self, folder: str) -> Work[set[str]]:
        told = yield from ask(["rclone", "lsf", self._at(folder)], ok=_NOT_THERE)
        return {line.rstrip("/") for line in told.splitlines()}

    def _sizes(self, parcel: Parcel) -> Work[dict[str, int]]:
        argv = ["rclone", "lsjson", "--files-only", "--no-mimetype", "--no-modtime"]
        argv += ["-R"] if parcel.folder else []
        told = yield from ask([*argv, self._at(self._home(parcel))], ok=_NOT_THERE)
        try:
            return {entry["Path"]: entry["Size"] for entry in json.loads(told or "[]")}
        except (ValueError, KeyError, TypeError):
            return {}

    def _at(self, path: str) -> str:
        return f"{self._place.host}:{path}"

    def _target(self, parcel: Parcel) -> str:
        return f"{self._place.path}/{parcel.place}".lstrip("/" if not self._place.path else "")

    def _home(self, parcel: Parcel) -> str:
        target = self._target(parcel)
        return target if parcel.folder else os.path.dirname(target)

    def _part(self, parcel: Parcel) -> str:
        return f"{os.path.dirname(self._target(parcel))}/.{parcel.base}.part"
