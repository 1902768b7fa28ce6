"""The folders of the launches in the state directory: what was written for each, and its record."""

from __future__ import annotations

import re
from pathlib import Path

from ..config.paths import StateDir

FOLDER = "launches"
"""Their folder in the state directory."""


def launch_folder(where: StateDir, name: str) -> Path:
    """A new folder for what is written for a launch."""
    place, number = where.root / FOLDER / name, 2
    while place.exists():  # two launches of one minute
        place, number = where.root / FOLDER / f"{name}.{number}", number + 1
    place.mkdir(parents=True, mode=0o700)
    return place


def folders_of(where: StateDir, name: str) -> list[Path]:
    """``NAME`` and ``NAME.2``, ``NAME.3``…, the newest first."""
    form = re.compile(rf"{re.escape(name)}(?:\.(\d+))?")
    root = where.root / FOLDER
    found = [
        (int(match[1] or 1), path)
        for path in (root.iterdir() if root.is_dir() else ())
        if (match := form.fullmatch(path.name))
    ]
    return [path for _, path in sorted(found, reverse=True)]
