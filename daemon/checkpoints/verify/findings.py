"""What reading the data of a checkpoint finds, file by file, and the verdict on all of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .verdicts import State

if TYPE_CHECKING:
    from .checksums import Sums
    from .nonfinite import NotFinite, Numbers

STRUCTURE, CHECKSUM, FINITE = LEVELS = ("structure", "checksum", "finite")
"""Levels that reading can reach, the lowest first."""
SHOWN = 3
"""Limit on the tensors and records that are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """The verdict after reading."""

    state: State
    level: str
    """The highest level that was passed, or the one that failed."""
    detail: str
    """A sentence for a person; empty when there is nothing to add to "ok"."""
    digest: str | None
    """``xxh3:`` and 32 hex digits, see :func:`combined_digest`; ``None`` unless all was read."""
    bytes: int
    """Bytes that were read."""


class Findings:
    """Collects the findings. ``many``: the checkpoint has several files, so they are named."""

    def __init__(self, *, many: bool) -> None:
        self._many = many
        self._structure: list[str] = []
        self._records: list[str] = []
        self._records_more = 0
        self._bad: list[str] = []
        self._bad_count = self._tensors = 0
        self._chunked: set[str] = set()
        self._bad_chunked: set[str] = set()
        self._remarks: list[str] = []
        self._remark_count = 0
        self._doubts: list[str] = []
        self._notes: dict[str, list[str]] = {}
        self._passed: list[int] = []

    def broken(self, file: str, why: str) -> None:
        """Add a file whose structure is damaged; ``why`` is a sentence."""
        self._structure.append(f"{file}: {why}" if self._many else why)

    def doubtful(self, file: str, why: str) -> None:
        """Add a file that nobody may call whole; ``why`` is a sentence."""
        self._doubts.append(f"{file}: {why}" if self._many else why)

    def add_remark(self, file: str, text: str) -> None:
        """Add a remark that does not change the state."""
        self._notes.setdefault(text, []).append(file)

    def read(self, file: str, sums: Sums, numbers: Numbers | None) -> None:
        """Add the results of a file that was read completely."""
        for name, start, end in sums.broken[: SHOWN - len(self._records)]:
            inside = [] if numbers is None else numbers.names_in(start, end, SHOWN + 1)
            holds = f" ({_listed(inside[:SHOWN], len(inside) > SHOWN)})" if inside else ""
            shown = f"{file}: " if self._many else ""
            text = f"{shown}the data of {name} does not match its checksum{holds}"
            self._records.append(_printable(text))
        self._records_more += sums.broken_count
        if numbers is None:
            return
        self._tensors += numbers.total
        self._chunked |= numbers.chunked
        for tensor in numbers.found():
            text = _printable(f"{tensor} in {file}" if self._many else str(tensor))
            if tensor.bad and not self._again(tensor):
                self._bad_count += 1
                if len(self._bad) < SHOWN:
                    self._bad.append(text)
            elif not tensor.bad and not tensor.mask:
                self._remark_count += 1
                if len(self._remarks) < SHOWN:
                    self._remarks.append(text)

    def _again(self, tensor: NotFinite) -> bool:
        """Whether another chunk of this tensor was already counted, in this file or another one."""
        if tensor.chunk and tensor.name in self._bad_chunked:
            return True
        if tensor.chunk:
            self._bad_chunked.add(tensor.name)
        return False

    def reached(self, file: str, sums: Sums, unplaced: int, *, known: bool) -> None:
        """Note the level that one file has passed. ``known``: its format is known.

        ``unplaced``: number of its tensors that could not be checked.
        """
        if known and not unplaced:
            self._passed.append(LEVELS.index(FINITE))
            return
        if unplaced:
            what = "1 tensor" if unplaced == 1 else f"{unplaced} tensors"
            self.add_remark(file, f"{what} of unknown place or type: not checked")
        summed = sums.compared > 0 and not sums.left_out
        self._passed.append(LEVELS.index(CHECKSUM if summed else STRUCTURE))

    def scanned(self, digest: str, count: int) -> Scanned:
        """The verdict on all files. ``count``: bytes that were read."""
        parts = [*self._structure[:SHOWN]]
        if self._records:
            more = self._records_more - len(self._records)
            parts += [*self._records, *([f"{more} more records do not match"] if more else [])]
        if self._bad:
            verb = "is" if self._bad_count == 1 else "are"
            listed = _listed(self._bad, self._bad_count > len(self._bad))
            parts.append(
                f"{self._bad_count} of {self._tensors + len(self._chunked)} tensors "
                f"{verb} not finite: {listed}"
            )
        if self._remarks:
            listed = _listed(self._remarks, self._remark_count > len(self._remarks))
            parts.append(f"not finite, but not counted as damage: {listed}")
        parts += self._noted()
        failed = (
            (self._structure, STRUCTURE),
            (self._records, CHECKSUM),
            (self._bad, FINITE),
        )
        level = next((level for found, level in failed if found), None)
        if level is not None:
            return Scanned("corrupt", level, "; ".join(parts), digest, count)
        if self._doubts:
            parts = [*self._doubts[:SHOWN], *parts]
            return Scanned("unverifiable", STRUCTURE, "; ".join(parts), digest, count)
        reached = LEVELS[min(self._passed, default=0)]
        return Scanned("ok", reached, "; ".join(parts), digest, count)

    def _noted(self) -> Iterable[str]:
        for text, files in self._notes.items():
            if not self._many:
                yield text
            elif len(files) == 1:
                yield f"{files[0]}: {text}"
            else:
                yield f"{len(files)} files: {text}"


def _listed(texts: list[str], more: bool) -> str:
    return ", ".join(texts) + (", …" if more else "")


def _printable(text: str) -> str:
    """One line that can be encoded: a tensor in a file may have any name."""
    return text.replace("\n", " ").encode("utf-8", "replace").decode()
