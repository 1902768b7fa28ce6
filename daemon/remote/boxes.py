"""What this machine remembers of boxes: where their results went, and what a person has approved.

One file a box in ``boxes/`` of the state directory. No secret is in it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from middlewatch.sentinels.kit import codec

from ..system.files import write_whole

_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Approval:
    """A person allowed one verb for one box."""

    verb: str
    at: float
    """Epoch seconds."""
    host: str
    """The name that was typed."""


@dataclass(frozen=True)
class KnownBox:
    """One box."""

    id: str
    host: str
    """Its own host name."""
    names: list[str] = field(default_factory=list)
    """What it was called for ssh."""
    dests: list[str] = field(default_factory=list)
    """Folders here that its results were brought to."""
    program: str = ""
    """Where ``deploy`` has put middlewatch; empty: not by us."""
    place: str = ""
    """The folder that ``deploy`` has made."""
    approval: Approval | None = None

    def with_name(self, name: str) -> KnownBox:
        """And called so."""
        return replace(self, names=list(dict.fromkeys([*self.names, name])))

    def with_dest(self, dest: str) -> KnownBox:
        """And brought there."""
        return replace(self, dests=list(dict.fromkeys([*self.dests, dest])))


class Boxes:
    """All of them."""

    def __init__(self, state: Path) -> None:
        """``state``: the state directory of this machine."""
        self._folder = state / "boxes"

    def of(self, box_id: str, host: str) -> KnownBox:
        """What is known of a box; a new one if nothing is."""
        return self._read(self._path(box_id)) or KnownBox(box_id, host)

    def called(self, name: str) -> KnownBox | None:
        """The box that had this name for ssh when it was last spoken to."""
        paths = sorted(self._folder.glob("*.json"), key=lambda p: p.stat().st_mtime, reverse=True)
        for path in paths:
            known = self._read(path)
            if known is not None and name in known.names:
                return known
        return None

    def keep(self, known: KnownBox) -> None:
        """Write it. Raises OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        text = json.dumps(codec.dump(known, KnownBox), indent=1) + "\n"
        write_whole(str(self._path(known.id)), text, private=True)

    def _path(self, box_id: str) -> Path:
        if not _ID.fullmatch(box_id):
            raise ValueError(f"{box_id!r} is no id of a box")
        return self._folder / f"{box_id}.json"

    @staticmethod
    def _read(path: Path) -> KnownBox | None:
        try:
            return codec.load(KnownBox, json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, RecursionError):
            return None
