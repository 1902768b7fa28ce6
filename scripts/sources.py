"""What of this checkout is installed, for whoever builds it from a copy."""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "src", "daemon", "sentinels", "systemd", "tui")


def copy_sources(source: Path) -> None:
    """What is installed, copied: setuptools leaves folders behind where it builds."""
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(ROOT / name, source / name)


def fingerprint() -> str:
    """Changes when any file that is installed changes, or the Python."""
    digest = hashlib.sha256(sys.version.encode())
    for name in SOURCES:
        for path in sorted([ROOT / name, *(ROOT / name).rglob("*")]):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()
