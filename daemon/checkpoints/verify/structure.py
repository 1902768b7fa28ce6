"""Is a checkpoint whole? The first of four levels: structure.

The other levels read the data (checksum, finite) or load it (load). This one reads a few hundred
KiB and never the tensors, never unpickles, and raises nothing for a damaged file.

``corrupt`` means that an existing file is cut off or contradicts itself. ``incomplete`` means
that a part is missing. ``unverifiable`` means that this level cannot decide: a format without
structure, or no permission.
"""

from __future__ import annotations

import os
import re
import zlib
from dataclasses import dataclass, replace

from ..formats import (
    hdf5,
    names,
    npy,
    readers,
    recognise,
    safetensors,
    sidecars,
    torch_legacy,
    torch_tensors,
    torch_zip,
)
from ..formats.bounded_file import BoundedFile, FileTooShort
from ..formats.own_step import own_step_of
from ..formats.pickle_symbols import Tensor
from ..formats.readers import pickle_stream
from ..formats.recognise import UNTOLD, Format, Progress
from . import composition, folders, roster, unsafe_globals
from .verdicts import FileVerdict, State, combined_progress

LEVEL = "structure"
_OF_KERAS = frozenset({"config.json", "metadata.json", "model.weights.h5"})
"""What keras.Model.save puts into every ``.keras``."""
ZEROES = "file is all zeroes: delayed allocation after a crash"


@dataclass(frozen=True, slots=True)
class CheckpointVerdict:
    """The result of checking the structure of one checkpoint."""

    state: State
    level: str
    detail: str
    """A sentence for a person; empty when there is nothing to add to "ok"."""
    bytes: int
    files: int
    format: Format = "unknown"
    progress: Progress = UNTOLD
    parts: tuple[str, ...] | None = None
    """See :func:`.composition.roster`; ``None`` where this check did not find them out."""
    learned: bool = False
    """See :class:`.verdicts.FolderVerdict`."""


def check(path: str) -> CheckpointVerdict:
    """Check one checkpoint: a file, the index of a sharded one, or a folder. Raises nothing."""
    try:
        if os.path.isdir(path):
            return _check_folder(path)
        if path.endswith(names.INDEXES):
            return _check_index(path)
        size = os.stat(path).st_size
        found = check_file(path)
    except FileNotFoundError:
        return CheckpointVerdict(
            "incomplete", LEVEL, "it is not there", 0, 0, progress=_named(path)
        )
    except OSError as error:
        return CheckpointVerdict("unverifiable", LEVEL, _reason(error), 0, 0, progress=_named(path))
    if names.is_leftover(os.path.basename(path)) and found.state == "ok":
        found = replace(found, state="incomplete", detail="a temporary file: never renamed")
    return CheckpointVerdict(
        found.state,
        LEVEL,
        found.detail,
        size,
        1,
        found.format,
        _joined(path, found.progress),
        found.parts,
    )


def check_file(path: str) -> FileVerdict:
    """Check one file, by the kind that its first bytes show. OSError where it cannot be read."""
    with BoundedFile(path) as peek:
        kind = recognise.file_kind(peek, path)
        guess = recognise.format_by_name(os.path.basename(path))
        try:
            return _by_kind(peek, kind, guess, path)
        except torch_zip.Holed as error:
            return FileVerdict("incomplete", str(error), guess)
        except torch_zip.Malformed as error:
            return FileVerdict("corrupt", str(error), guess)
        except FileTooShort as error:
            return FileVerdict("corrupt", f"the file is cut off: {error}", guess)
        except (safetensors.TooLong, MemoryError) as error:
            return FileVerdict("unverifiable", str(error) or "out of memory", guess)


def instead_of(head: bytes) -> str:
    """What a download has put in the place of a checkpoint, by the first bytes; empty for anything else."""
    start = head.lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "it is a web page (an error of the server?), no checkpoint: fetch it again"
    if start.startswith(b"version https://git-lfs.github.com/spec/"):
        return "it is a pointer of Git LFS, no checkpoint: git lfs pull"
    return ""


def _by_kind(peek: BoundedFile, kind: recognise.FileKind, guess: Format, path: str) -> FileVerdict:
    if kind == "empty":
        return FileVerdict("corrupt", "the file is empty", guess)
    if kind == "zeroes" and peek.all_hole():
        said = "nothing was ever written to it: it was only given its length"
        return FileVerdict("incomplete", said, guess)
    if kind == "zeroes":
        return FileVerdict("corrupt", ZEROES, guess)
    if text := instead_of(peek.read_up_to(0, 256)):
        return FileVerdict("corrupt", text, guess)
    if path.endswith(".distcp"):
        said = "a part of a distributed checkpoint: check the folder that it lies in"
        return FileVerdict("unverifiable", said, "dcp")
    if kind == "zip":
        return _zip(peek, path)
    if kind == "legacy":
        return _legacy(peek)
    if kind == "safetensors" or (path.endswith(".safetensors") and peek.size):
        return FileVerdict("ok", "", "safetensors", tensors=safetensors.names(peek))
    if kind == "pickle":
        return _plain_pickle(peek, guess)
    known = readers.find(peek, path)
    if known is not None:
        return _of_reader(peek, path, *known)
    if kind == "other" and peek.read_up_to(0, 1) == b"\x78" and path.endswith(_PICKLES):
        return _packed_pickle(peek)
    if kind == "hdf5":
        hdf5.check(peek)
        return FileVerdict("ok", progress=hdf5.told_by(peek))
    if path.endswith((".pt", ".pth", ".pt2", ".ckpt")):
        if _is_text(peek):
            return FileVerdict("ok", "counters as text: no tensors in it", guess)
        head = peek.read_up_to(0, 4)
        what = "begins with zeroes" if not any(head) else f"begins with {head.hex(' ')}"
        return FileVerdict("corrupt", f"not a torch file: it {what}", guess)
    return FileVerdict("unverifiable", "not a known checkpoint format")


_LONGEST_TEXT = 4096
_COUNTERS = re.compile(rb"\s*(?:[-+]?\d[\d.eE+-]*|(?:[A-Za-z_]\w*: [ -~]*\n)+)\s*")
"""A number, or a few of them with their names (YAML)."""


def _is_text(peek: BoundedFile) -> bool:
    """Whether a file has counters as text, as those of SpeechBrain (``counter.ckpt``: ``3``)."""
    short = 0 < peek.size <= _LONGEST_TEXT
    return short and _COUNTERS.fullmatch(peek.read_at(0, peek.size)) is not None


def _zip(peek: BoundedFile, path: str) -> FileVerdict:
    archive = torch_zip.read(peek)
    detail = "; ".join(archive.notes)
    if archive.pickle is None:
        if path.endswith((".npz", ".keras")):
            told = _inside(peek, archive, path)
            return FileVerdict("ok", detail, progress=told)
        if path.endswith(names.WEIGHTS):
            return FileVerdict("corrupt", "a zip archive without data.pkl", "torch")
        if (inside := _nested(peek, archive)) is not None:
            return replace(inside, detail="; ".join(t for t in (detail, inside.detail) if t))
        detail = "a whole zip archive, but not a known checkpoint format"
        return FileVerdict("unverifiable", detail)
    kind: Format = "lightning" if archive.lightning else "torch"
    found = torch_tensors.of_archive(peek, archive)
    if archive.walk is None:
        return FileVerdict("unverifiable", detail, kind)  # nobody knows what is in it
    told = UNTOLD if found is None else torch_tensors.progress_of(found)
    danger = unsafe_globals.remark(archive.walk.globals)
    if danger:
        return FileVerdict("unverifiable", danger, kind, told)
    listed = _listed(archive.walk.root)
    own_step = None if found is None else own_step_of(found)
    return FileVerdict(
        "ok", detail, kind, told, listed, archive.walk.counters, _parts(found), own_step
    )


_TORCH_INSIDE = (".pth", ".pt", ".ckpt")


def _nested(peek: BoundedFile, archive: torch_zip.Archive) -> FileVerdict | None:
    """An archive with files of torch in it (Stable-Baselines, torch.export); ``None`` for another."""
    held = [r for r in archive.records if r.name.endswith(_TORCH_INSIDE)]
    if not held and not any(r.name.endswith("archive_format") for r in archive.records):
        return None
    for record in held:
        if record.method == 0 and record.bytes:
            window = peek.window(torch_zip.data_start(peek, record), record.bytes)
            if window.read_up_to(0, 4) == torch_zip.LOCAL_MAGIC:
                torch_zip.read(window)
    parts = tuple(record.name for record in held)
    return FileVerdict("ok", progress=_of_agent(peek, archive), parts=parts or None)


_AGENTS_STEP = re.compile(rb'"num_timesteps": (\d{1,18})')
_AGENTS_JSON = 1 << 20
"""Bytes of an agent's attributes that are read: 14 KiB in those of a small one."""


def _of_agent(peek: BoundedFile, archive: torch_zip.Archive) -> Progress:
    """The steps of the environment, as Stable-Baselines has them in the record ``data``."""
    record = archive.by_name.get("data")
    if record is None or record.method != 0:
        return UNTOLD
    size = min(record.bytes, _AGENTS_JSON)
    found = _AGENTS_STEP.search(peek.read_up_to(torch_zip.data_start(peek, record), size))
    return UNTOLD if found is None else Progress(float(found[1]), origin="checkpoint")


def _of_reader(peek: BoundedFile, path: str, called: str, read: readers.Reader) -> FileVerdict:
    """A file of another library than torch."""
    found = read(peek, path)
    if called == "tar":
        inside = _archived(peek)
        if inside is not None:
            return inside
    detail = "; ".join((f"{called}: {found.notes[0]}", *found.notes[1:])) if found.notes else called
    listed = composition.of_tensors(found.tensors, found.elsewhere)
    return FileVerdict("ok", detail, progress=found.progress, parts=listed)


def _archived(peek: BoundedFile) -> FileVerdict | None:
    """Check the files of torch in a tar; a verdict only for one without any."""
    from ..formats.readers import tar

    held = 0
    for one in tar.members(peek):
        if one.bytes and one.name.endswith((*_TORCH_INSIDE, ".safetensors")):
            window = peek.window(one.start, one.bytes)
            held += 1
            if window.read_up_to(0, 4) == torch_zip.LOCAL_MAGIC:
                torch_zip.read(window)
            elif one.name.endswith(".safetensors"):
                safetensors.names(window)
    if held:
        return None
    return FileVerdict("unverifiable", "a whole tar archive, but no file of torch in it")


def _inside(peek: BoundedFile, archive: torch_zip.Archive, path: str) -> Progress:
    """Check the members of an archive of numpy or Keras. Raises Malformed, TooLong."""
    told = UNTOLD
    members = set()
    for record in archive.records:
        members.add(record.name)
        if record.method != 0:
            if record.name.endswith(".npy"):
                npy.check_packed(peek, record)
            continue
        start = torch_zip.data_start(peek, record)
        if record.name.endswith(".npy"):
            npy.in_record(peek, record.name, start, record.bytes)
        elif record.name.endswith(".h5"):
            window = peek.window(start, record.bytes)
            hdf5.check(window)
            told = hdf5.told_by(window)
    missing = sorted(_OF_KERAS - members) if path.endswith(".keras") else []
    if missing:
        raise torch_zip.Malformed(f"{missing[0]} is missing in it")
    return told


def _parts(found: torch_tensors.Torch | None) -> tuple[str, ...] | None:
    """The parts of a torch file; ``()`` where they are not known."""
    if found is None:
        return None
    try:
        return composition.of_tensors(t for t in torch_tensors.tensors_of(found) if t is not None)
    except (torch_zip.Malformed, safetensors.TooLong):
        return ()


def _listed(root: object) -> frozenset[str] | None:
    """Names of the tensors, if the file is one flat state dict of tensors only."""
    if not isinstance(root, dict) or not all(isinstance(v, Tensor) for v in root.values()):
        return None
    return frozenset(key for key in root if isinstance(key, str)) or None


def _legacy(peek: BoundedFile) -> FileVerdict:
    try:
        whole = torch_legacy.read(peek)
        danger = unsafe_globals.remark(whole.globals)
        found = torch_tensors.of_legacy(peek, whole)
    except safetensors.TooLong as error:
        return FileVerdict("unverifiable", str(error), "torch")
    told = torch_tensors.progress_of(found)
    state: State = "unverifiable" if danger else "ok"
    return FileVerdict(
        state, danger, "torch", told, parts=_parts(found), own_step=own_step_of(found)
    )


def _plain_pickle(peek: BoundedFile, guess: Format) -> FileVerdict:
    """A pickle is whole where its opcodes lead to its end; what it would build, nobody tries."""
    if peek.read_at(peek.size - 1, 1) != b".":
        raise torch_zip.Malformed("the pickle does not end with STOP: the file is cut off")
    try:
        imports = pickle_stream.follow(peek)
    except safetensors.TooLong as error:
        return FileVerdict("unverifiable", f"a plain pickle with its end in place: {error}", guess)
    if danger := unsafe_globals.remark(imports):
        said = f"a plain pickle with its end in place: {danger}"
        return FileVerdict("unverifiable", said, guess)
    return FileVerdict("ok", "a plain pickle: no checksums in it", guess)


_PICKLES = (".pkl", ".pickle", ".joblib")
_UNPACKED = 64 << 20
"""Bytes of a compressed file that is unpacked to see whether it is whole; zlib has a checksum."""


def _packed_pickle(peek: BoundedFile) -> FileVerdict:
    """What joblib compresses with zlib."""
    if peek.size > _UNPACKED:
        return FileVerdict("unverifiable", "a pickle compressed by zlib, too long to unpack")
    stream = zlib.decompressobj()
    try:
        for at in range(0, peek.size, 1 << 20):
            data = peek.read_up_to(at, 1 << 20)
            while data:
                stream.decompress(data, 1 << 20)
                data = stream.unconsumed_tail
    except zlib.error as error:
        raise torch_zip.Malformed(f"its compression is damaged: {error}") from None
    if not stream.eof:
        raise torch_zip.Malformed("the file is cut off: its compression has no end")
    return FileVerdict(
        "unverifiable", "a pickle compressed by zlib, whole by its checksum: not followed"
    )


def _check_index(path: str) -> CheckpointVerdict:
    folder, index = os.path.split(path)
    found = folders.check_index(folder, index, check_file)
    return CheckpointVerdict(
        found.state, LEVEL, found.detail, found.bytes, found.files, found.format, _named(path)
    )


def _check_folder(path: str) -> CheckpointVerdict:
    name = os.path.basename(path.rstrip("/"))
    kind = names.folder_kind(name, *recognise.listing(path))
    files = roster.files_of(path)
    total = sum(p.bytes for p in files)
    kind_format = recognise.folder_format(kind, files)
    found = folders.check_folder(path, kind_format, files, check_file)
    if names.is_leftover(name):
        detail = "a temporary folder: never renamed"
        found = replace(found, state="incomplete", detail=detail)
    return CheckpointVerdict(
        found.state,
        LEVEL,
        found.detail,
        total,
        len(files),
        kind_format,
        _joined(path, found.progress),
        tuple(composition.of_files(p.name for p in files if not names.is_leftover(p.base))) or None,
        learned=found.learned,
    )


def _named(path: str) -> Progress:
    return recognise.progress_in_name(path)


def _joined(path: str, inside: Progress) -> Progress:
    """Progress from the file itself, else from a state file beside it, else from the name."""
    if inside.step is None:
        inside = combined_progress([inside, sidecars.told_beside(path)])
    named = _named(path)
    return Progress(
        named.step if inside.step is None else inside.step,
        named.epoch if inside.epoch is None else inside.epoch,
        {**named.metrics, **inside.metrics},
        named.origin if inside.step is None else inside.origin,
    )


def _reason(error: OSError) -> str:
    return f"cannot be read: {error.strerror or error}"
