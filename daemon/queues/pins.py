"""Scripts and configurations that a cell names, kept as they were when it was queued.

As long as they are unchanged, the files themselves are run, and nothing is different from a start by hand.
One that was changed since is run from its copy. A Python script has its neighbours (``*.py``) beside it
there too, and finds everything else in its own folder through ``PYTHONPATH``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..launch.record import digest
from ..system.private import make_private

LARGEST = 1 << 20
"""A larger file is data, not a script (our choice)."""
MOST_NEIGHBOURS = 200
"""In a folder with more scripts than this the neighbours are left out (our choice)."""
_KINDS = (".py", ".sh", ".bash", ".yaml", ".yml", ".json", ".toml", ".ini", ".cfg", ".gin")


def named_files(words: Sequence[str], workdir: str) -> Iterator[tuple[int, str, str]]:
    """Scripts and configurations among the words: place of the word, what stands before the path in it, path.

    ``--config=a.yaml`` and ``config=a.yaml`` name a file too.
    """
    for place, word in enumerate(words):
        head, equals, tail = word.rpartition("=")
        for before, path in (("", word), (head + equals, tail)):
            whole = _whole(workdir, path)
            if path and whole.endswith(_KINDS) and _small(whole):
                yield place, before, whole
                break


def _whole(workdir: str, path: str) -> str:
    return os.path.normpath(Path(workdir) / path)


def _small(path: str) -> bool:
    try:
        return os.path.isfile(path) and os.stat(path).st_size <= LARGEST
    except (OSError, ValueError):
        return False


def pin(words: Sequence[str], workdir: str, folder: Path) -> tuple[str, dict[str, str]]:
    """Copy what the words name, with neighbours, into ``folder``; the id of the set and its digests by path.

    An empty id: nothing is named. Raises OSError.
    """
    files: dict[str, bytes] = {}
    for _, _, path in named_files(words, workdir):
        for one in (path, *_neighbours(path)):
            with contextlib.suppress(OSError):
                files[one] = Path(one).read_bytes()
    if not files:
        return "", {}
    digests = {path: digest(data) for path, data in sorted(files.items())}
    name = hashlib.sha256(repr(sorted(digests.items())).encode()).hexdigest()[:16]
    if not (folder / name).is_dir():
        _write(folder, name, files)
    return name, digests


def _neighbours(path: str) -> list[str]:
    if not path.endswith(".py"):
        return []
    found = list[str]()
    with contextlib.suppress(OSError), os.scandir(os.path.dirname(path)) as entries:
        found = [e.path for e in entries if e.name.endswith(".py") and _small(e.path)]
    return sorted(found) if len(found) <= MOST_NEIGHBOURS else []


def _write(folder: Path, name: str, files: Mapping[str, bytes]) -> None:
    """All or nothing: the folder gets its name when it is whole."""
    building = folder / f".{name}.{os.getpid()}"
    shutil.rmtree(building, ignore_errors=True)
    make_private(building)
    for path, data in files.items():
        copy = building / _inside(path, files)
        copy.parent.mkdir(mode=0o700, exist_ok=True)
        copy.write_bytes(data)
        with contextlib.suppress(OSError):
            shutil.copymode(path, copy)
    try:
        building.rename(folder / name)
    except OSError:
        if not (folder / name).is_dir():
            raise
        shutil.rmtree(building, ignore_errors=True)  # another one has written the same


def _inside(path: str, files: Mapping[str, object]) -> str:
    """Where a file lies in the folder of its set: each folder has a number."""
    folders = sorted({os.path.dirname(one) for one in files})
    return f"{folders.index(os.path.dirname(path))}/{os.path.basename(path)}"


def changed(pins: Mapping[str, str]) -> list[str]:
    """Those that are not as they were, or gone."""
    return [path for path, before in pins.items() if _digest(path) != before]


def _digest(path: str) -> str:
    try:
        return digest(Path(path).read_bytes())
    except OSError:
        return ""


def from_copies(
    words: Sequence[str], workdir: str, pins: Mapping[str, str], copies: Path
) -> tuple[list[str], list[str]]:
    """The words with the copies in place of the files, and folders for ``PYTHONPATH``.

    A path that is gone is known by its name in ``pins`` too.
    """
    made, folders = list(words), list[str]()
    for place, word in enumerate(words):
        head, equals, tail = word.rpartition("=")
        for before, path in (("", word), (head + equals, tail)):
            whole = _whole(workdir, path)
            if path and whole in pins:
                made[place] = before + str(copies / _inside(whole, pins))
                if whole.endswith(".py"):
                    folders.append(os.path.dirname(whole))
                break
    return made, list(dict.fromkeys(folders))
