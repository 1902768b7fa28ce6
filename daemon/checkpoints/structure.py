"""Is a checkpoint whole? The first of four levels: structure.

Later levels read the data (checksum, finite) or load it (load); each gives the same
:class:`Verdict` with its own ``level``. This one reads a few hundred KiB and never the tensors,
never unpickles, and never raises for what it finds in a file.

``corrupt`` means that a file which is there is cut or contradicts itself. ``incomplete``
means that a part which should be there is not. ``unverifiable`` means that this level cannot
tell: a format without structure, or no permission.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from . import archives, folders, formats, names, pickles, tensors
from .folders import State
from .formats import UNTOLD, Format, Progress
from .peek import Cut, Peek

LEVEL = "structure"
ZEROES = "file is all zeroes: delayed allocation after a crash"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known about one checkpoint after a check."""

    state: State
    level: str
    detail: str
    """A sentence for a person; empty when there is nothing to add to "ok"."""
    bytes: int
    files: int
    format: Format = "unknown"
    progress: Progress = UNTOLD


def check(path: str) -> Verdict:
    """Check one checkpoint: a file, the index of a sharded one, or a folder."""
    try:
        if os.path.isdir(path):
            return _check_folder(path)
        if path.endswith(names.INDEXES):
            return _check_index(path)
        size = os.stat(path).st_size
        found = check_file(path)
    except FileNotFoundError:
        return Verdict("incomplete", LEVEL, "it is not there", 0, 0, progress=_named(path))
    except OSError as error:
        return Verdict("unverifiable", LEVEL, _reason(error), 0, 0, progress=_named(path))
    if names.is_leftover(os.path.basename(path)) and found.state == "ok":
        found = replace(found, state="incomplete", detail="a temporary file: never renamed")
    return Verdict(
        found.state, LEVEL, found.detail, size, 1, found.format, _joined(path, found.progress)
    )


def check_file(path: str) -> folders.FileVerdict:
    """Check one file by its first bytes. OSError where it cannot be read."""
    with Peek(path) as peek:
        kind = formats.file_kind(peek, path)
        guess = formats.format_by_name(os.path.basename(path))
        try:
            return _by_kind(peek, kind, guess, path)
        except archives.Broken as error:
            return folders.FileVerdict("corrupt", str(error), guess)
        except Cut as error:
            return folders.FileVerdict("corrupt", f"the file is cut off: {error}", guess)
        except (tensors.TooLong, MemoryError) as error:
            return folders.FileVerdict("unverifiable", str(error) or "out of memory", guess)


def _by_kind(peek: Peek, kind: formats.FileKind, guess: Format, path: str) -> folders.FileVerdict:
    if kind == "empty":
        return folders.FileVerdict("corrupt", "the file is empty", guess)
    if kind == "zeroes":
        return folders.FileVerdict("corrupt", ZEROES, guess)
    if kind == "zip":
        return _zip(peek, path)
    if kind == "legacy":
        return _legacy(peek)
    if kind == "safetensors" or (path.endswith(".safetensors") and peek.size):
        return folders.FileVerdict("ok", "", "safetensors", tensors=tensors.names(peek))
    if kind == "pickle":
        return _plain_pickle(peek, guess)
    if path.endswith((".pt", ".pth", ".ckpt")):
        head = peek.upto(0, 4)
        what = "begins with zeroes" if not any(head) else f"begins with {head.hex(' ')}"
        return folders.FileVerdict("corrupt", f"no torch file: it {what}", guess)
    return folders.FileVerdict("unverifiable", "not a format of checkpoints we know")


def _zip(peek: Peek, path: str) -> folders.FileVerdict:
    archive = archives.read(peek)
    detail = "; ".join(archive.notes)
    if archive.pickle is None:
        if path.endswith(names.WEIGHTS):
            return folders.FileVerdict("corrupt", "a zip archive without data.pkl", "torch")
        detail = "a whole zip archive, but not a format of checkpoints we know"
        return folders.FileVerdict("unverifiable", detail)
    counters = archive.walk.counters if archive.walk else {}
    kind: Format = "lightning" if archive.lightning else "torch"
    return folders.FileVerdict("ok", detail, kind, _progress(counters), counters=counters)


def _legacy(peek: Peek) -> folders.FileVerdict:
    """torch.save before 1.6: five pickles, then every storage behind its eight-byte count."""
    head = peek.upto(0, pickles.WALK_LIMIT)
    start, walks = 0, []
    try:
        for _ in range(5):
            walks.append(pickles.walk(head, start))
            start = walks[-1].end
    except ValueError as error:
        if peek.size > len(head):
            return folders.FileVerdict("unverifiable", "a pickle too long to walk", "torch")
        raise archives.Broken(str(error)) from None
    model = walks[3]
    expected = start
    borders = []
    for key in walks[4].keys:
        size = model.storages.get(key)
        if size is None:
            detail = "a legacy torch file with storages of unknown length"
            return folders.FileVerdict("unverifiable", detail, "torch")
        borders += [expected, expected + 8]
        expected += 8 + size
    if expected > peek.size:
        raise archives.Broken(f"the file is cut off: {expected - peek.size} bytes are missing")
    if expected < peek.size:
        raise archives.Broken(f"{peek.size - expected} bytes more than its storages need")
    lost = peek.lost_tail(borders)
    if lost:
        raise archives.Broken(f"the last {lost} bytes are zeroes: they never reached the disk")
    return folders.FileVerdict("ok", "", "torch", _progress(model.counters))


def _plain_pickle(peek: Peek, guess: Format) -> folders.FileVerdict:
    if peek.at(peek.size - 1, 1) != b".":
        raise archives.Broken("the pickle does not end with STOP: the file is cut off")
    if peek.size <= pickles.WALK_LIMIT:
        try:
            pickles.walk(peek.at(0, peek.size))
        except ValueError as error:
            raise archives.Broken(str(error)) from None
    return folders.FileVerdict(
        "unverifiable", "a plain pickle: it ends, no more can be told", guess
    )


def _check_index(path: str) -> Verdict:
    folder, index = os.path.split(path)
    found = folders.check_index(folder, index, check_file)
    return Verdict(
        found.state, LEVEL, found.detail, found.bytes, found.files, found.format, _named(path)
    )


def _check_folder(path: str) -> Verdict:
    name = os.path.basename(path.rstrip("/"))
    kind = names.folder_kind(name, *formats.listing(path))
    files = list(formats.parts(path))
    total = sum(p.bytes for p in files)
    kind_format = formats.folder_format(kind, files)
    found = folders.check_folder(path, kind_format, files, check_file)
    if names.is_leftover(name):
        detail = "a temporary folder: never renamed"
        found = replace(found, state="incomplete", detail=detail)
    return Verdict(
        found.state,
        LEVEL,
        found.detail,
        total,
        len(files),
        kind_format,
        _joined(path, found.progress),
    )


def _progress(counters: dict[str, float]) -> Progress:
    """Progress from the counters that the outermost dict of a file holds."""
    order = ("global_step", "global_steps", "iter_num", "iteration", "step")
    step = next((counters[name] for name in order if name in counters), None)
    return Progress(step, counters.get("epoch"))


def _named(path: str) -> Progress:
    return formats.progress_in_name(path)


def _joined(path: str, inside: Progress) -> Progress:
    """What is inside counts more than the name, which people change."""
    named = _named(path)
    return Progress(
        named.step if inside.step is None else inside.step,
        named.epoch if inside.epoch is None else inside.epoch,
        {**named.metrics, **inside.metrics},
    )


def _reason(error: OSError) -> str:
    return f"cannot be read: {error.strerror or error}"
