"""A manifest beside a save: the checksums that its writer put there (``sha256sum``).

``model.pt.sha256`` beside a file, ``SHA256SUMS`` in a folder: :func:`middlewatch.atomic_save` writes them, and
others do. Only commands compare them: SHA-256 costs three times what reading costs.
"""

from __future__ import annotations

import hashlib
import os
import re

from .reading import FileReader

_LINE = re.compile(r"^([0-9a-f]{64}) [ *](.+)$")
_LONGEST = 8 << 20
"""Bytes of a manifest that are read: 60,000 files."""


def why_other(path: str) -> tuple[str, str]:
    """(state, sentence) of a save that is not as its manifest says; empty where it is, or has none."""
    folder = os.path.isdir(path)
    listed = f"{path}/SHA256SUMS" if folder else f"{path}.sha256"
    home = path if folder else os.path.dirname(path) or "."
    try:
        with open(listed, encoding="utf-8", errors="replace") as file:
            lines = file.read(_LONGEST).splitlines()
    except OSError:
        return "", ""
    if not folder and _older(listed, path):
        return "", ""  # it is of a save before this one
    for line in lines:
        found = _LINE.match(line)
        if found is None or found[2].startswith("/") or ".." in found[2].split("/"):
            continue
        name = found[2]
        if not folder and name.rpartition("/")[2] != os.path.basename(path):
            continue
        try:
            digest = _sha256(f"{home}/{name.rpartition('/')[2] if not folder else name}")
        except FileNotFoundError:
            return "incomplete", f"{name} is missing, which {os.path.basename(listed)} lists"
        except OSError:
            continue
        if digest != found[1]:
            return "corrupt", f"{name} is not what {os.path.basename(listed)} says: other bytes"
    return "", ""


def _older(listed: str, path: str) -> bool:
    """Whether the file was written after its manifest."""
    try:
        return os.stat(path).st_mtime_ns > os.stat(listed).st_mtime_ns
    except OSError:
        return True


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    with FileReader(path) as reader:
        for _, data in reader.chunks():
            digest.update(data)
    return digest.hexdigest()
