"""What lies in a folder, may be a save, and is not among the checkpoints that were found there.

A command that says "ok" of a folder must not be silent about a file that it never opened. The folder is gone
through a second time, by names alone, deeper than saves are looked for.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, field

from ..finder import DEEPEST
from ..formats import names
from ..save_names import NEVER

_MOST_NAMES = 500_000
"""Names that are gone through: a few seconds. Our choice."""
_UNREADABLE = "the folder cannot be read"
_DEEP = f"it lies more than {DEEPEST} folders deep: name its folder"
_SHARD = "a shard, and the index that names it is missing"
_COMPANION = "a part of a save, and nothing is found that it belongs to"
_OTHER = "its name is not that of a save: name the file itself"
_SETTINGS = ("training_args.bin",)
"""Files that the Trainer leaves beside its last model; they hold no state."""
_DATA = "of a data set, a cache or a tracker by the name of the folder"


@dataclass(slots=True)
class Skipped:
    """What was not checked."""

    by_reason: dict[str, list[str]] = field(default_factory=dict)
    """Reason -> paths of what may be saves."""
    data: list[str] = field(default_factory=list)
    """Files of tensors that are not saves by the name of their folder."""

    def add(self, reason: str, path: str) -> None:
        """One path more."""
        self.by_reason.setdefault(reason, []).append(path)

    def sentences(self) -> list[tuple[str, str]]:
        """(path of the first, sentence) for each reason."""
        return [
            (paths[0], f"not checked: {reason}{_and_more(len(paths) - 1)}")
            for reason, paths in self.by_reason.items()
        ]

    def note(self) -> str:
        """A sentence about what is no save by its place; empty where there is none."""
        if not self.data:
            return ""
        return f"{self.data[0]}{_and_more(len(self.data) - 1)} not checked: {_DATA}"


def skipped(folder: str, found: Collection[str]) -> Skipped:
    """What was not checked below ``folder``. ``found``: the paths of the checkpoints there."""
    told, taken = Skipped(), set(found)
    root, left = folder.rstrip("/") or "/", _MOST_NAMES

    def unreadable(error: OSError) -> None:
        told.add(_UNREADABLE, str(error.filename))

    for home, below, files in os.walk(root, onerror=unreadable):
        if home in taken:
            below.clear()
            continue
        inside = home[len(root) :].strip("/").split("/") if home != root else []
        data = any(names.is_data(n) or _is_never(n) for n in inside)
        families = {names.family_of(name) for name in files if f"{home}/{name}" in taken}
        for name in files:
            path = f"{home}/{name}"
            if path in taken or not _may_be_save(name) or _found_elsewhere(path, root, taken):
                continue
            if families.intersection(names.member_of(name)):
                continue
            if data:
                told.data.append(path)
            elif len(inside) > DEEPEST:
                told.add(_DEEP, path)
            elif names.shard(name) or names.TENSORFLOW_DATA.match(name):
                told.add(_SHARD, path)
            elif names.COMPANIONS.match(name):
                told.add(_COMPANION, path)
            else:
                told.add(_OTHER, path)
        left -= len(files) + len(below)
        if left < 0:
            told.add(f"more than {_MOST_NAMES:,} names: the rest is not gone through", root)
            break
    return told


def _may_be_save(name: str) -> bool:
    if names.is_leftover(name) or name in _SETTINGS:
        return False
    return names.is_checkpoint_file(name) or names.is_weights(name)


def _is_never(name: str) -> bool:
    return name.startswith(".") or name in NEVER or names.is_compiled(name)


def _found_elsewhere(path: str, root: str, taken: Collection[str]) -> bool:
    """Whether it is a link to something that was found, or in something that was."""
    if not os.path.islink(path):
        return False
    target, real = os.path.realpath(path), os.path.realpath(root)
    if not target.startswith(real + "/"):
        return False
    inside = f"{root}{target[len(real) :]}"
    while len(inside) > len(root):
        if inside in taken:
            return True
        inside = inside.rpartition("/")[0]
    return False


def _and_more(count: int) -> str:
    return "" if count == 0 else f" ({count} more like it)"
