"""Copies files of a tree to a host by rsync, or to a remote of rclone: many at once.

The programs read links to descriptors that are open already (:mod:`.staging` says why). To a host a
file that has only grown is sent by its growth (``--append``), and any other replaces its older copy in
one step. What was not written by the mirror, and a log that has begun anew, stay there under another
name. Object stores append nothing: there a file that grows is sent whole, every few minutes.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from . import tree
from .by_rsync import SILENT_S, ssh_command
from .programs import ask
from .rclone_config import check_keeps_private
from .receipt import RECEIPT, MirrorError
from .remote import CopyProgress, Work
from .targets import MirrorTarget
from .tree import Home
from .tree_goal import (
    HEAD,
    TICK_NS,
    Gone,
    NotTaken,
    check_receipt,
    ends_of,
    leave_out,
    receipt_of_tree,
    source_file,
)
from .tree_ledger import Copied, Ledger

WHOLE_EVERY_S = 300.0
"""Seconds between two copies of a file that grows, where each is a whole one. Our choice."""
_NOT_THERE = (0, 3, 4)
"""Exit statuses of rclone: success, no such folder, no such file."""


@dataclass(frozen=True, slots=True)
class _Open:
    """A file that is to be sent."""

    name: str
    fd: int
    info: os.stat_result
    how: str
    """``grown``, ``keep`` (what is there stays under another name) or ``again``."""
    private: bool
    grown: int


class HostGoal:
    """A folder ``root`` of a host or remote in which the files of one tree have their names."""

    def __init__(
        self, place: MirrorTarget, root: str, ledger: Ledger, number: int, limit: int
    ) -> None:
        """``number``: of the tree in the ledger; ``limit``: bytes per second, 0: none."""
        self._place = place
        self._root = root if place.path else root.lstrip("/")
        self._ledger = ledger
        self._number = number
        self._limit = limit
        self._ready = False
        self._sent_at: dict[str, float] = {}
        self.flush = True
        self.left_out: dict[str, str] = {}

    def begin(self, home: Home, source: str) -> Work[None]:
        """Make the folder. Raises MirrorError where it holds another tree."""
        if self._ready:
            return
        if self._place.kind == "ssh":
            found = yield from self._sh([f"cat -- {self._receipt} 2>/dev/null || :"])
        else:
            found = yield from self._rclone_receipt()
        check_receipt(found.encode("utf-8", "surrogateescape"), source, f"{self._at}")
        if not found:
            text = receipt_of_tree(source)
            if self._place.kind == "ssh":
                folder = shlex.quote(os.path.dirname(self._root) or "/")
                lines = [f"mkdir -p -- {folder} || exit 1", f"cat > {self._receipt} <<'END'"]
                yield from self._sh([*lines, text, "END"])
            else:
                yield from ask(["rclone", "rcat", self._at + RECEIPT], text)
        self._ready = True

    def copy(self, home: Home, names: list[str]) -> Work[list[str]]:
        """Send files as they are now; returns those that changed meanwhile. Raises MirrorError."""
        again: list[str] = []
        with contextlib.ExitStack() as kept:
            files = list(self._opened(home, names, kept, again))
            try:
                for (how, private), some in _sorted(files).items():
                    yield from self._send(some, how, private, home)
            except MirrorError:
                self._ready = False
                raise
            for one in files:
                again += [one.name] if self._note(one) else []
        return again

    def prove(self, home: Home, name: str) -> Work[None]:
        """Let rsync compare a copy that was made by growth block by block, and mend it."""
        known = self._ledger.get(self._number, name)
        if known is None:
            return
        self._ledger.put(self._number, name, known._replace(grown=1))
        with contextlib.ExitStack() as kept:
            for one in self._opened(home, [name], kept, []):
                yield from self._send([one], "again", one.private, home)

    def sizes(self, folder: str) -> dict[str, int] | None:
        """Not asked: it would be a connection for every folder."""
        return None

    def settle(self) -> None:
        """Nothing: when the other side flushes is its own matter."""

    def _opened(
        self, home: Home, names: Sequence[str], kept: contextlib.ExitStack, again: list[str]
    ) -> Iterator[_Open]:
        whole = self._place.kind == "rclone"
        for name in names:
            now = _mono()
            if whole and now - self._sent_at.get(name, float("-inf")) < WHOLE_EVERY_S:
                again.append(name)
                continue
            try:
                fd = source_file(home, name)
            except Gone:
                continue
            except NotTaken as why:
                leave_out(self.left_out, name, why)
                continue
            kept.callback(os.close, fd)
            self.left_out.pop(name, None)
            info, known = os.fstat(fd), self._ledger.get(self._number, name)
            how, grown = _how(fd, info, known)
            if whole:
                if known is not None:
                    self._sent_at[name] = now
                how = "again" if how == "grown" else how
            private = not home.shared(name, info) & tree.OTHERS
            yield _Open(name, fd, info, how, private, grown)

    def _note(self, one: _Open) -> bool:
        """Write the row of a file that was sent; returns whether it has changed since."""
        info, after = one.info, os.fstat(one.fd)
        fresh = 0 <= time.time_ns() - info.st_mtime_ns < TICK_NS
        ends = ends_of(one.fd, info.st_size)
        mtime_ns = 0 if fresh else info.st_mtime_ns
        row = Copied(info.st_ino, info.st_size, mtime_ns, info.st_size, ends, one.grown)
        self._ledger.put(self._number, one.name, row)
        about = info.st_size, info.st_mtime_ns
        return fresh or about != (after.st_size, after.st_mtime_ns)

    def _send(self, files: Sequence[_Open], how: str, private: bool, home: Home) -> Work[None]:
        beside = f".replaced-{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 1000:03}"
        with tempfile.TemporaryDirectory(prefix="middlewatch-mirror-") as folder:
            for one in files:
                link = f"{folder}/{one.name}"
                os.makedirs(os.path.dirname(link), exist_ok=True)
                os.symlink(f"/proc/{os.getpid()}/fd/{one.fd}", link)
            names = [one.name for one in files]
            if self._place.kind == "ssh":
                yield from self._by_rsync(folder, names, how, beside, private)
            else:
                if private and home.foreign:
                    check_keeps_private(self._place.host)
                yield from self._by_rclone(folder, names, how, beside, private)
        yield CopyProgress()

    def _by_rsync(
        self, folder: str, names: Sequence[str], how: str, beside: str, private: bool
    ) -> Work[None]:
        argv = ["rsync", "--times", "--copy-links", "--partial-dir=.rsync-partial", "--perms"]
        argv.append("--chmod=D700,F600" if private else "--chmod=D755,F644")
        argv += ["--protect-args", "--from0", "--files-from=-", f"--timeout={SILENT_S}"]
        argv += {
            "grown": ["--append"],
            "keep": ["--backup", f"--suffix={beside}", "--modify-window=-1"],
            "again": ["--ignore-times"],
        }[how]
        if how == "grown":
            argv.remove("--partial-dir=.rsync-partial")  # it writes in place
        if self._limit:
            argv.append(f"--bwlimit={max(1, self._limit // 1024)}")
        argv += ["-e", shlex.join(ssh_command())]
        listed = "".join(f"{name}\0" for name in names)
        yield from ask([*argv, f"{folder}/", f"{self._at}/"], listed)

    def _by_rclone(
        self, folder: str, names: Sequence[str], how: str, beside: str, private: bool
    ) -> Work[None]:
        with tempfile.NamedTemporaryFile("w", suffix=".txt", errors="surrogateescape") as listed:
            listed.writelines(f"{name}\n" for name in names if "\n" not in name)
            listed.flush()
            argv = ["rclone", "copy", "--files-from-raw", listed.name, "--copy-links"]
            argv += ["--no-traverse", "--transfers", "2", "--checkers", "2"]
            argv += ["--suffix", beside] if how == "keep" else ["--ignore-times"]
            argv += ["--bwlimit", f"{self._limit}B"] if self._limit else []
            yield from ask([*argv, folder, self._at], umask=0o077 if private else -1)

    def _rclone_receipt(self) -> Work[str]:
        parent, base = os.path.split(self._root + RECEIPT)
        listing = yield from ask(["rclone", "lsf", f"{self._place.host}:{parent}"], ok=_NOT_THERE)
        if base not in listing.splitlines():
            return ""
        return (yield from ask(["rclone", "cat", self._at + RECEIPT]))

    def _sh(self, lines: list[str]) -> Work[str]:
        script = "\n".join(lines) + "\n"
        return (yield from ask([*ssh_command(), self._place.host, "exec sh -s"], script))

    @property
    def _receipt(self) -> str:
        return shlex.quote(self._root + RECEIPT)

    @property
    def _at(self) -> str:
        return f"{self._place.host}:{self._root}"


def _how(fd: int, info: os.stat_result, known: Copied | None) -> tuple[str, int]:
    """How a file is sent, and the ``grown`` of its row."""
    if known is None:
        return "keep", 0
    if 0 < known.copied < info.st_size and known.ends == ends_of(fd, known.copied):
        return "grown", 2
    cut = known.copied >= HEAD and info.st_size < known.copied // 2
    same = known.copied == info.st_size and known.ends == ends_of(fd, known.copied)
    if same:
        return "again", known.grown
    return ("keep" if known.grown or cut else "again"), 0


def _sorted(files: Sequence[_Open]) -> dict[tuple[str, bool], list[_Open]]:
    found: dict[tuple[str, bool], list[_Open]] = {}
    for one in files:
        found.setdefault((one.how, one.private), []).append(one)
    return found


def _mono() -> float:
    return time.monotonic()  # noqa: TID251 (a separate process, without the clock of the daemon)
