"""What a box has of its runs: the manifest that ``middlewatch manifest --json`` prints there.

It comes from a machine that somebody else runs, so its names are checked before anything is written
under them: no way out of the folder, no control characters, no name twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from middlewatch.sentinels.kit import codec

from ..system.errors import MiddlewatchError

SCHEMA = "middlewatch/manifest/v1"
UNREADABLE = "it cannot be read"
"""How the reason begins for a file that is there and could not be taken."""
PAGES = ("training_status.md", "checkpoints_index.json")
"""Pages of a run that the watch writes."""
_LONGEST_NAME = 255
_LONGEST_PATH = 3000


class BadManifest(MiddlewatchError):
    """The answer of the box cannot be used."""

    exit_code = 1


@dataclass(frozen=True)
class BoxName:
    """Which box it is."""

    id: str
    """The same as long as the box and its state directory are."""
    host: str
    """Its own host name."""
    user: str = ""
    platforms: list[str] = field(default_factory=list)
    """Platforms it was recognised as, by their key in ``platforms.toml``; the most likely first."""


@dataclass(frozen=True)
class Place:
    """A folder on the box, and what it is called at home."""

    name: str
    """Relative to the folder of the run at home: ``checkpoints/out``."""
    root: str


@dataclass(frozen=True)
class OneFile:
    """A file to bring home."""

    place: int
    name: str
    """Relative to the root of its place."""
    bytes: int
    mtime_ns: int
    digest: str | None = None
    """``xxh3:`` and 32 hexadecimal digits of its first ``bytes`` bytes; ``None`` for a part of a
    checkpoint that has a digest of its own, and where none was asked for."""


@dataclass(frozen=True)
class OneCheckpoint:
    """A checkpoint that was verified on the box."""

    place: int
    name: str
    """Relative to the root of its place."""
    path: str
    state: str
    level: str | None
    digest: str | None
    bytes: int
    members: list[str]
    """Names of its files, relative to the root of its place. They have no digest of their own if
    the checkpoint has one."""
    step: float | None = None
    detail: str = ""


@dataclass(frozen=True)
class LeftOut:
    """Something that is not brought home, and why."""

    path: str
    why: str
    checkpoint: bool = False
    """It is a checkpoint, which may be taken later: it is not verified yet."""
    step: float | None = None


@dataclass(frozen=True)
class RunFiles:
    """One run."""

    run: str
    name: str
    state: str
    alive: bool
    places: list[Place]
    files: list[OneFile]
    checkpoints: list[OneCheckpoint]
    left_out: list[LeftOut] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    """Names at home (place and name) of the logs of the run."""
    last_step: float | None = None
    status: dict[str, Any] | None = None
    """What ``status --json`` says of it; ``None`` without a daemon."""
    incidents: list[dict[str, Any]] = field(default_factory=list)
    pages: dict[str, str] = field(default_factory=dict)
    """Texts of :data:`PAGES`, as they were when the manifest was made: the watch writes them again
    at any time, so they are no files of the roster."""

    def at_home(self, one: OneFile | OneCheckpoint) -> str:
        """The name of a file or checkpoint, relative to the folder of the run at home."""
        return f"{self.places[one.place].name}/{one.name}"

    def on_box(self, one: OneFile | OneCheckpoint) -> str:
        """Its path on the box."""
        return f"{self.places[one.place].root.rstrip('/')}/{one.name}"

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(one.bytes for one in self.files)

    @property
    def waiting(self) -> list[LeftOut]:
        """Checkpoints that are not verified yet."""
        return [one for one in self.left_out if one.checkpoint]


@dataclass(frozen=True)
class Manifest:
    """All of it."""

    schema: str
    box: BoxName
    made_at: str
    runs: list[RunFiles]
    quick: bool = False
    """Without digests of files that no checkpoint has."""
    notes: list[str] = field(default_factory=list)


def to_json(manifest: Manifest) -> dict[str, Any]:
    """For ``manifest --json``."""
    data: dict[str, Any] = codec.dump(manifest, Manifest)
    return data


def parse(text: str) -> Manifest:
    """The manifest in the answer of a box. Raises :class:`BadManifest`."""
    try:
        manifest = codec.load(Manifest, json.loads(text))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadManifest(f"the box gave no manifest that can be read: {error}") from None
    if manifest.schema != SCHEMA:
        raise BadManifest(
            f"the box speaks {manifest.schema!r}, not {SCHEMA!r}",
            "bring both to one version: middlewatch deploy HOST",
        )
    for run in manifest.runs:
        _check(run)
    return manifest


def _check(run: RunFiles) -> None:
    _check_name(run.run)
    if "/" in run.run:
        raise BadManifest(f"{run.run!r} is no name of a run")
    for place in run.places:
        _check_name(place.name)
        if not place.root.startswith("/") or _odd(place.root):
            raise BadManifest(f"{place.root!r} is no folder of the box")
    seen: set[str] = set()
    every: list[OneFile | OneCheckpoint] = [*run.files, *run.checkpoints]
    for one in every:
        if not 0 <= one.place < len(run.places) or one.bytes < 0:
            raise BadManifest(f"{one.name!r} has no place")
        _check_name(one.name)
    for file in run.files:
        name = run.at_home(file)
        if name in seen:
            raise BadManifest(f"{name!r} is there twice")
        seen.add(name)
    if set(run.pages) - set(PAGES):
        raise BadManifest(f"{sorted(run.pages)} are not the pages of a run")
    for checkpoint in run.checkpoints:
        home = run.places[checkpoint.place].name
        lost = [name for name in checkpoint.members if f"{home}/{name}" not in seen]
        if lost or not checkpoint.members:
            raise BadManifest(f"{checkpoint.name!r} has files that the manifest does not have")


def _check_name(name: str) -> None:
    if why := unsafe(name):
        raise BadManifest(f"the box names a file {name[:80]!r}, which is not written here: {why}")


def unsafe(name: str) -> str:
    """Why nothing is written under a relative name; empty when it may be."""
    parts = name.split("/")
    if name.startswith("/") or any(part in ("", ".", "..") for part in parts):
        return "it leads elsewhere"
    if _odd(name):
        return "it has control characters, or is not UTF-8"
    if len(name) > _LONGEST_PATH or any(len(part.encode()) > _LONGEST_NAME for part in parts):
        return "it is too long"
    return ""


def _odd(name: str) -> bool:
    return any(c < " " or c == "\x7f" or "\ud800" <= c <= "\udfff" for c in name)


def chosen(manifest: Manifest, wanted: str | None) -> list[RunFiles]:
    """The runs with this id or name, or all. Raises :class:`BadManifest` where there is none."""
    found = [run for run in manifest.runs if wanted in (None, run.run, run.name)]
    if not found:
        known = ", ".join(run.run for run in manifest.runs) or "none"
        what = f"no run {wanted!r} is known on {manifest.box.host}" if wanted else "no run is known"
        raise BadManifest(f"{what}: there is nothing to bring home", f"runs there: {known}")
    return found


def mapped(entries: Iterable[Mapping[str, Any]], key: str) -> dict[str, Mapping[str, Any]]:
    """Entries by one of their fields; others are left out."""
    return {str(entry[key]): entry for entry in entries if key in entry}
