"""Delete a checkpoint: only its own files, and only if they are unchanged since the decision.

Links are not followed and mounts are not entered. A folder first gets a temporary name, so that
a crash in between leaves nothing that looks like a checkpoint.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...system import mounts, places
from ..formats import names, safetensors, torch_zip
from ..formats.bounded_file import BoundedFile, FileTooShort

HEADS = ("trainer_state.json", ".metadata", "latest")
"""Files that are written last by a save, so they are deleted first; indexes of shards as well."""
ASIDE = ".pruned.tmp"
"""End of the temporary name of a folder that is being deleted. The name begins with a dot, because
programs look for ``checkpoint-*``."""
_BESIDE = (".sha256", ".sha512", ".md5", ".xxh3", ".crc32")
"""Checksum files of a single file: ``model.pt.sha256``."""
_GET_FLAGS, _PROTECTED = 0x80086601, 0x10 | 0x20
"""FS_IOC_GETFLAGS of linux/fs.h; FS_IMMUTABLE_FL and FS_APPEND_FL (``chattr +i``, ``+a``)."""
_MOST_FILES = 100_000
_DEEPEST = 32
_NAMED_ONLY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Unsafe(Exception):
    """The checkpoint must not be deleted; the text says why."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One file, link or folder, with its state at the time of the decision."""

    name: str
    """Relative to the folder that holds the checkpoint."""
    device: int
    inode: int
    mode: int
    size: int
    mtime_ns: int
    changed_ns: int
    """When anything about it was changed: also its rights, its owner, a protection by ``chattr``. 0 for a
    folder: its other name would change that."""
    blocks: int
    """Blocks of 512 bytes that it takes on the disk."""
    links: int
    """Number of hard links; 1 for a folder."""

    @property
    def folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.mode)


@dataclass(frozen=True, slots=True)
class Footprint:
    """All files and folders of one checkpoint, in the order in which they are deleted."""

    path: str
    home: str
    """Path of the folder that holds it, with all links resolved."""
    pieces: tuple[Piece, ...]

    @property
    def files(self) -> Iterator[Piece]:
        """The pieces that are no folders."""
        return (p for p in self.pieces if not p.folder)

    @property
    def name(self) -> str:
        """Last part of its path."""
        return self.path.rpartition("/")[2]


class Around:
    """What is the same for all checkpoints that are examined together: where they may lie, and what is
    mounted. Asked for once, because ten thousand readings of the mount table take seconds."""

    def __init__(self, roots: Sequence[str]) -> None:
        """``roots``: the folders in which the checkpoints were found."""
        self._roots = [os.path.realpath(root) for root in roots]
        table = mounts.readable_table()
        self._inside = tuple(f"{root.rstrip('/')}/" for root in self._roots)
        self._points = [mount.point for mount in table if mount.point.startswith(self._inside)]
        self._mounts = mounts.Mounts(table)
        self._fuse: dict[str, bool] = {}

    def check(self, real: str) -> None:
        """Raise :class:`Unsafe` for a path, all links resolved, that lies outside or holds a mount."""
        if not real.startswith(self._inside):
            raise Unsafe("it lies outside the checkpoint folder")
        inside = real + "/"
        for root in self._roots:
            if root == real or root.startswith(inside):
                raise Unsafe("it is a watched folder itself")
        for point in self._points:
            if point == real or point.startswith(inside):
                raise Unsafe(f"{point} is a mount point")

    def on_fuse(self, home: str) -> bool:
        """Whether a folder is served by FUSE, where a new name may mean a copy."""
        if home not in self._fuse:
            found = self._mounts.of(home)
            self._fuse[home] = found is not None and found.fstype.startswith("fuse")
        return self._fuse[home]


def footprint(path: str, around: Around, before: Footprint | None = None) -> Footprint:
    """The files of a checkpoint. Raises :class:`Unsafe` where it must not be deleted, or OSError.

    With all links resolved, it has to lie in one of the folders of ``around``. ``before``: what was found
    earlier; a file that is the same to the nanosecond of its last change is not opened once more.
    """
    real = path if places.has_no_link(path) else _behind_links(path)
    home, _, base = real.rpartition("/")
    around.check(real)
    if os.path.isdir(real):
        found = list(_inside(home, base, os.lstat(home or "/").st_dev, 0))
    else:
        found = [_piece(home, name) for name in _family(real)]
    if len(found) > _MOST_FILES:
        raise Unsafe(f"it has more than {_MOST_FILES} files")
    known = frozenset(before.files) if before else frozenset()
    for piece in found:
        if piece in known:
            continue
        if not (piece.folder or stat.S_ISREG(piece.mode) or stat.S_ISLNK(piece.mode)):
            raise Unsafe(f"{piece.name} is neither a file nor a folder")
        _check_free(home, piece)
    return Footprint(path, home, tuple(sorted(found, key=_turn)))


def _behind_links(path: str) -> str:
    """``path`` with all links resolved. Raises like :func:`footprint`."""
    try:
        places.check_links(os.path.dirname(path))
    except places.NotTheirs as error:
        raise Unsafe(str(error.strerror)) from None
    real = os.path.realpath(path)
    if stat.S_ISLNK(os.lstat(path).st_mode):
        raise Unsafe(f"it is a link to {real}")
    return real


def reckon(footprints: Iterable[Footprint]) -> tuple[int, int]:
    """(bytes, inodes) that the disk gets back when all of these are deleted.

    A file with a hard link elsewhere frees nothing; one with two names in here counts once.
    """
    names_here: Counter[tuple[int, int]] = Counter()
    first: dict[tuple[int, int], Piece] = {}
    for one in footprints:
        for piece in one.pieces:
            names_here[piece.device, piece.inode] += 1
            first[piece.device, piece.inode] = piece
    gone = [p for key, p in first.items() if p.folder or names_here[key] >= p.links]
    return sum(p.blocks * 512 for p in gone), len(gone)


def remove(before: Footprint, around: Around) -> None:
    """Delete the files that ``before`` lists, if they are still the same.

    Raises :class:`Unsafe` when something has changed: before anything is deleted, except for a
    file that is replaced meanwhile. Raises OSError when a file cannot be deleted. After either,
    the rest of a folder may be left under its temporary name.
    """
    now = footprint(before.path, around, before)
    if now.pieces != before.pieces:
        raise Unsafe("it has changed since it was looked at")
    with _Folders(before.home) as folders:
        home = folders.home
        own = os.path.isdir(before.path)
        aside = _set_aside(home, before, around) if own else ""
        if aside and not _is_the_one(os.lstat(aside, dir_fd=home), before):
            os.rename(aside, before.name, src_dir_fd=home, dst_dir_fd=home)
            raise Unsafe("it was replaced just now")
        for number, piece in enumerate(before.pieces):
            head, slash, rest = piece.name.partition("/")
            name = f"{aside or head}{slash}{rest}"
            try:
                _rmdir(folders, name) if piece.folder else _unlink(folders, name, piece)
            except (OSError, Unsafe):
                if aside and number == 0:  # nothing is deleted yet: give it its name back
                    os.rename(aside, before.name, src_dir_fd=home, dst_dir_fd=home)
                raise


def _is_the_one(seen: os.stat_result, before: Footprint) -> bool:
    there = (before.name, seen.st_dev, seen.st_ino)
    return any((p.name, p.device, p.inode) == there for p in before.pieces)


def leftovers(folders: Iterable[str]) -> list[str]:
    """Folders that an earlier deletion has renamed and did not finish."""
    found = []
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            found += [
                e.path
                for e in entries
                if e.name.startswith(".") and ASIDE in e.name and e.is_dir(follow_symlinks=False)
            ]
    return sorted(found)


def _family(path: str) -> list[str]:
    """Names of the files of a checkpoint that is a single file, or an index with its shards."""
    home, _, base = path.rpartition("/")
    beside = [base + end for end in _BESIDE if os.path.lexists(f"{path}{end}")]
    stem = names.index_stem(path)
    if stem is None:
        own = os.listdir(home) if names.has_family(path) else ()
        return [base, *beside, *sorted(name for name in own if names.in_family(path, name))]
    try:
        with BoundedFile(path) as peek:
            listed = {str(name) for name in safetensors.shard_map(peek)}
    except (torch_zip.Malformed, FileTooShort, safetensors.TooLong):
        listed = set()  # a damaged index: its shards are found by their names
    end = base[len(os.path.basename(stem)) : -len(".index.json")]
    for name in os.listdir(home):
        piece = names.shard(name)
        if piece is not None and (piece.stem, piece.end) == (os.path.basename(stem), end):
            listed.add(name)
    # An index may name any file; only those that hold tensors count as its shards.
    listed = {name for name in listed if names.is_weights(name) or name.endswith(".bin")}
    return [base, *beside, *sorted(n for n in listed if os.path.lexists(f"{home}/{n}"))]


def _check_free(home: str, piece: Piece) -> None:
    """Raise :class:`Unsafe` for a protected file, before any other file is deleted."""
    path = f"{home}/{piece.name}"
    if stat.S_ISLNK(piece.mode):
        return
    if not piece.mode & 0o222:
        raise Unsafe(f"{piece.name} is write-protected")
    if piece.folder and not os.access(path, os.W_OK | os.X_OK):
        raise Unsafe(f"{piece.name} may not be written by this user")
    with contextlib.suppress(OSError):  # no permission, or no such flags here
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            (flags,) = struct.unpack("=I", fcntl.ioctl(fd, _GET_FLAGS, bytes(8))[:4])
        finally:
            os.close(fd)
        if flags & _PROTECTED:
            raise Unsafe(f"{piece.name} is protected (chattr)")


def _inside(home: str, name: str, device: int, depth: int) -> Iterator[Piece]:
    piece = _piece(home, name)
    if piece.device != device:
        raise Unsafe(f"{name} is on another file system")
    if depth > _DEEPEST:
        raise Unsafe(f"more than {_DEEPEST} folders inside each other")
    yield piece
    if piece.folder:
        for inside in os.listdir(f"{home}/{name}"):
            yield from _inside(home, f"{name}/{inside}", device, depth + 1)


def _piece(home: str, name: str) -> Piece:
    seen = os.lstat(f"{home}/{name}")
    folder = stat.S_ISDIR(seen.st_mode)
    return Piece(
        name,
        seen.st_dev,
        seen.st_ino,
        seen.st_mode,
        0 if folder else seen.st_size,
        0 if folder else seen.st_mtime_ns,
        0 if folder else seen.st_ctime_ns,
        seen.st_blocks,
        1 if folder else seen.st_nlink,
    )


def _turn(piece: Piece) -> tuple[int, int, str]:
    """Order: files that make a checkpoint look whole, weights, other files, folders."""
    base = piece.name.rpartition("/")[2]
    if piece.folder:
        return 3, -piece.name.count("/"), piece.name
    if base in HEADS or base.endswith(names.INDEXES):
        return 0, 0, piece.name
    return (1 if names.is_weights(base) else 2), 0, piece.name


def _set_aside(home: int, before: Footprint, around: Around) -> str:
    """Give a folder a temporary name and return it; empty on FUSE, where that may mean copying."""
    if ASIDE in before.name or around.on_fuse(before.home):
        return ""
    for number in range(1000):
        name = f".{before.name}{ASIDE}{number or ''}"
        try:
            os.lstat(name, dir_fd=home)
        except FileNotFoundError:
            os.rename(before.name, name, src_dir_fd=home, dst_dir_fd=home)
            return name
    raise Unsafe("1000 earlier deletions of it did not finish")


def _unlink(folders: _Folders, name: str, piece: Piece) -> None:
    folder, base = folders.parent(name)
    try:
        seen = os.lstat(base, dir_fd=folder)
    except FileNotFoundError:
        return  # another process has deleted it
    there = (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns)
    if there != (piece.device, piece.inode, piece.size, piece.mtime_ns):
        raise Unsafe(f"{piece.name} was replaced while the others were deleted")
    os.unlink(base, dir_fd=folder)


def _rmdir(folders: _Folders, name: str) -> None:
    folder, base = folders.parent(name)
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(base, dir_fd=folder)


class _Folders:
    """The folders of one deletion, each reached once and without following a link."""

    def __init__(self, home: str) -> None:
        self.home = os.open(home, _NAMED_ONLY)
        self._open = {"": self.home}

    def __enter__(self) -> _Folders:
        return self

    def __exit__(self, *_: object) -> None:
        for fd in self._open.values():
            os.close(fd)

    def parent(self, name: str) -> tuple[int, str]:
        """The folder that holds ``name``, and the last part of it."""
        folder, _, base = name.rpartition("/")
        return self._at(folder), base

    def _at(self, folder: str) -> int:
        found = self._open.get(folder)
        if found is None:
            above, base = self.parent(folder)
            found = self._open[folder] = os.open(base, _NAMED_ONLY, dir_fd=above)
        return found
