"""Save a checkpoint so that no crash leaves half of one: ``middlewatch.atomic_save``.

Nothing but the standard library, no daemon: this file may be copied alone beside a training script.

    from middlewatch import atomic_save
    atomic_save(model.state_dict(), "out/step_100.pt")                          # by torch.save
    atomic_save(lambda path: save_file(tensors, path), "out/step_100.safetensors")
    atomic_save(lambda path: model.save_pretrained(path), "out/checkpoint-100")  # a folder
"""

from __future__ import annotations

import hashlib
import importlib
import os
import shutil
import types
from functools import partial
from typing import Any

_WRITERS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, partial)


def atomic_save(what: Any, path: str | os.PathLike[str], *, manifest: bool = True) -> None:
    """Write ``what`` under a temporary name, to the disk, and then give it the name ``path``.

    ``what`` is bytes, a function that is called with the path to write to (a file or a folder), or an object
    for ``torch.save``. A save of that name is replaced. ``manifest``: checksums beside a file
    (``NAME.sha256``) or in a folder (``SHA256SUMS``), for ``sha256sum -c`` and ``middlewatch verify``. What fails
    is raised, and leaves the old save as it was. Of several ranks the one that saves calls it.
    """
    home, name = os.path.split(os.path.abspath(path))  # noqa: PTH100 (as is usual in this project)
    os.makedirs(home, exist_ok=True)
    aside = f"{home}/.{name}.{os.getpid()}.tmp"
    made, final, sums = f"{aside}/{name}", f"{home}/{name}", f"{home}/{name}.sha256"
    shutil.rmtree(aside, ignore_errors=True)
    os.mkdir(aside)
    try:
        _write(what, made)
        whole = os.path.isdir(made)
        _to_disk(made)
        if manifest:
            listed = f"{made}/SHA256SUMS" if whole else f"{aside}/sums"
            with open(listed, "w", encoding="utf-8") as file:
                file.writelines(f"{_sha256(each)}  {short}\n" for short, each in _files(made, name))
            _to_disk(listed)
        if os.path.lexists(sums):
            os.unlink(sums)  # it is of the old save: better none than a wrong one
        if os.path.isdir(final):  # a folder cannot be replaced in one step
            os.rename(final, f"{aside}/old")
        os.replace(made, final)
        if manifest and not whole:
            os.replace(listed, sums)
        _to_disk(home, deep=False)
    except BaseException:
        if os.path.isdir(f"{aside}/old") and not os.path.lexists(final):
            os.rename(f"{aside}/old", final)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _write(what: Any, path: str) -> None:
    if isinstance(what, _WRITERS):
        what(path)
    elif isinstance(what, (bytes, bytearray, memoryview)):
        with open(path, "wb") as file:
            file.write(what)
    else:
        importlib.import_module("torch").save(what, path)
    if not os.path.lexists(path):
        raise FileNotFoundError(f"the writer has not written {path}")


def _files(path: str, name: str) -> list[tuple[str, str]]:
    """(name for the manifest, path) of a file, or of the files in a folder."""
    if not os.path.isdir(path):
        return [(name, path)]
    found = [os.path.join(at, n) for at, _, names in os.walk(path) for n in names]  # noqa: PTH118
    return [(os.path.relpath(f, path), f) for f in sorted(found) if not f.endswith("/SHA256SUMS")]


def _to_disk(path: str, *, deep: bool = True) -> None:
    if deep and os.path.isdir(path):
        for entry in os.scandir(path):
            _to_disk(entry.path)
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while data := file.read(1 << 20):
            digest.update(data)
    return digest.hexdigest()
