"""A folder to which a run saves: how it is known, and which names in it are the run's."""

from __future__ import annotations

import re
from dataclasses import dataclass

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class SaveFolder:
    """One folder with checkpoints of a run. Kept in the store with the run."""

    path: str
    """Absolute, as the daemon sees it: never inside a container that may be gone."""
    why: str = ""
    """How it is known, for a person: ``the log says 'Saved to X'``."""
    whole: bool = True
    """Everything in it that looks like a checkpoint is the run's. False for a folder that the run
    shares with other things or other runs, such as its working directory: only ``names`` count."""
    names: tuple[str, ...] = ()
    """Names right inside it that are saves of the run, with each number as ``#``: ``net_#.pt``.
    They count whatever they look like. A name with ``=`` in front counts as it is."""

    def holds(self, name: str) -> bool:
        """Whether ``name``, of a file or folder right inside it, is one of :attr:`names`."""
        return shape(name) in self.names or f"={name}" in self.names


def shape(name: str) -> str:
    """A name with every number as ``#``: the saves of one run differ in their numbers."""
    return _DIGITS.sub("#", name)


def joined(known: SaveFolder, more: SaveFolder, most_names: int = 64) -> SaveFolder:
    """What is known of one folder from two looks: the newest ``most_names`` names of both."""
    names = tuple(dict.fromkeys((*known.names, *more.names)))[-most_names:]
    whole = known.whole or more.whole
    return SaveFolder(known.path, known.why or more.why, whole, names)
