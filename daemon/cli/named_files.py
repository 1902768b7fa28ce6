"""Whether the logs and folders that a person names can be what they are named as."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..checkpoints.formats import names, recognise, safetensors, torch_zip
from ..system.errors import UsageError
from ..text.similar import meant

ALIKE = 0.75
"""How near the name of a file must be: many differ in their first half only (``b.log``). Our choice."""
HEAD = 4096
"""Bytes from the start of a file that show what it is."""
DATABASE = "a database"
"""May be one of trackio, which holds reports."""
_PACKED = (b"\x1f\x8b\x08", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"BZh")
_OTHERS = {
    b"\x7fELF": "a program",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"%PDF": "a PDF",
    b"SQLite format 3\0": DATABASE,
    b"\x93NUMPY": "an array of NumPy",
}


def near(path: str | Path) -> str:
    """``did you mean …?`` with a neighbour of a path that is not there; empty without one."""
    folder, name = os.path.split(str(path).rstrip("/"))
    try:
        found = meant(name, os.listdir(folder or "."), ALIKE)
    except OSError:
        return ""
    return found


def check_log(path: str, *, later: bool) -> None:
    """Raises UsageError for a log that is none. ``later``: it need not be there yet."""
    if os.path.isdir(path):
        raise UsageError(f"{path} is a directory", "name a log file")
    if not os.path.exists(path):
        if later:
            return
        hint = near(path) or f"if it comes later: touch {shlex.quote(os.fspath(path))}"
        raise UsageError(f"there is no {path}", hint)
    if not os.path.isfile(path):
        return
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except PermissionError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}", "do it as its user, or with sudo"
        ) from error
    if head.startswith(_PACKED):
        raise UsageError(f"{path} is packed, so it is finished", f"middlewatch replay {path}")
    if what := no_text(head, path):
        raise UsageError(f"{path} is no text: it is {what}", look_at(what, path))


def check_finished_log(name: str) -> None:
    """Raises UsageError for a finished log that is not there or is none; a pipe is not touched."""
    if name == "-" or os.path.isdir(name):
        return
    if not os.path.lexists(name) and (guess := near(name)):
        raise UsageError(f"there is no {name}", guess)
    if not os.path.isfile(name):
        return
    try:
        with open(name, "rb") as file:
            what = no_text(file.read(HEAD), name)
    except OSError:
        return  # whoever reads it says why
    if what and what != DATABASE:
        raise UsageError(f"{name} is no text: it is {what}", look_at(what, name))


def no_text(head: bytes, path: str) -> str:
    """What a file is that is no log, by its first bytes: ``a checkpoint``, ``a program``; else empty."""
    if head.startswith((recognise.LEGACY_MAGIC, recognise.HDF5_MAGIC)):
        return "a checkpoint"
    if head.startswith(torch_zip.LOCAL_MAGIC):  # other archives are told by who would unpack them
        return "a checkpoint" if names.is_weights(path) else ""
    if safetensors.looks_like(head[:16]) and path.endswith(".safetensors"):
        return "a checkpoint"
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a pickle" if not names.is_weights(path) else "a checkpoint"
    return next((what for magic, what in _OTHERS.items() if head.startswith(magic)), "")


def look_at(what: str, path: str) -> str:
    """What to do with a file that is no log."""
    if what in ("a checkpoint", "a pickle"):
        return f"to check it: middlewatch verify {shlex.quote(path)}"
    return "name the file that the training prints to"


def check_folders(folders: Iterable[str]) -> None:
    """Raises UsageError for a checkpoint folder that is a file."""
    for folder in folders:
        path = Path(folder)
        if path.exists() and not path.is_dir():
            raise UsageError(
                f"{folder} is not a folder", f"name the folder that it saves to: {path.parent}"
            )


def awaited(paths: Sequence[str]) -> list[str]:
    """A sentence about each that is not there yet."""
    told = []
    for path in paths:
        if not os.path.exists(path):
            guess = near(path)
            told.append(
                f"there is no {path} yet: it is used when it comes{guess and f' ({guess})'}"
            )
    return told
