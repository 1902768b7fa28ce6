"""Which platform a box was rented from, recognised from inside.

The facts are in ``platforms.toml``, which is read once and only when they are needed; those of
other platforms are not kept. Signs are names of environment variables (of this process and of
process 1), files, mount points, programs, the host name. Only names of variables are looked at:
their values may be secrets. No metadata service is called.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..config.platform_facts import NOBODY, facts_of, facts_of_all
from ..system import mounts, procfs

ROLES = ("rental", "notebook", "cluster", "cloud", "container")
"""Which platform comes first where several are recognised."""
_ENOUGH = 2
"""So many strong signs decide together; one sure sign decides alone."""
_FOLDERS = ("usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin")


@dataclass(frozen=True, slots=True)
class Tier:
    """A kind of storage of a platform, and what it outlives; ``None``: not known."""

    path: str
    """A mount point, or ``@layer``, ``@network``, ``@mounted``, ``@empty-dir``."""
    where: str
    stop: bool | None = None
    destroy: bool | None = None
    folder: bool = False
    """The path may be any folder, not only a mount point."""
    below: bool = False
    """Mounts below the path belong to it as well."""


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform that was recognised, and by which signs."""

    id: str
    name: str
    role: str
    signs: tuple[str, ...]
    """What it was recognised by: ``env RUNPOD_POD_ID``, ``mount /root/autodl-tmp``."""
    tiers: tuple[Tier, ...]
    better: str
    """Where to put files that should last."""
    spot: str
    """What is known about interruptions."""
    ends_h: float | None = None
    """Hours after which the platform itself ends a session, where it does."""
    start: str = ""
    """Where a command goes that has to run at every start of the box; empty: not known."""


def recognise(
    root: str = "/", environ: Mapping[str, str] | None = None, name: str = ""
) -> tuple[Platform, ...]:
    """Every platform that is recognised here, in the order of :data:`ROLES`.

    ``environ``: the environment of this process (default: the real one if ``root`` is ``/``, else
    none). ``name``: the platform by the configuration, which needs no sign and comes first;
    clusters and containers are still recognised beside it. Never raises.
    """
    if name == NOBODY:
        return ()
    try:
        facts = facts_of_all()
        if name and name not in facts and (one := facts_of(name)) is not None:
            facts = {name: one, **facts}
    except (OSError, ValueError):  # a broken installation must not stop the caller
        return ()
    own = environ if environ is not None else (os.environ if root == "/" else {})
    box = _Box(root, own)
    found = []
    for key, fact in facts.items():
        signs = ("configuration",) if key == name else _signs(fact, box)
        if name and key != name and fact["role"] not in ("cluster", "container"):
            continue
        if signs:
            found.append(_platform(key, fact, signs, box))
    return tuple(sorted(found, key=lambda p: (p.id != name, ROLES.index(p.role))))


def _platform(key: str, fact: Mapping[str, Any], signs: tuple[str, ...], box: _Box) -> Platform:
    ends = fact.get("ends_h")
    return Platform(
        id=key,
        name=fact["name"],
        role=fact["role"],
        signs=signs,
        tiers=tuple(_tiers(fact.get("place", ()), box)),
        better=fact["better"],
        spot=fact["spot"],
        ends_h=None if ends is None else float(ends),
        start=fact.get("start", ""),
    )


def _tiers(places: Iterable[Mapping[str, Any]], box: _Box) -> Iterator[Tier]:
    """The tiers whose variable (``env``) is set; a path may be that of a variable (``$TMPDIR``)."""
    for place in places:
        if place.get("env", "PATH") not in box.variables | {"PATH"}:
            continue
        path = str(place["path"])
        if path.startswith("$"):
            path = box.own.get(path[1:], "").rstrip("/")
        if path.startswith(("/", "@")):
            yield Tier(
                path,
                str(place["where"]),
                place.get("stop"),
                place.get("destroy"),
                bool(place.get("folder")),
                bool(place.get("below")),
            )


def _signs(fact: Mapping[str, Any], box: _Box) -> tuple[str, ...]:
    """The signs of a platform that were found; none when they are not enough."""
    sure = [*_seen(fact.get("sure", {}), box)]
    strong = [*_seen(fact.get("strong", {}), box)]
    return tuple(sure + strong) if sure or len(strong) >= _ENOUGH else ()


def _seen(wanted: Mapping[str, Iterable[str]], box: _Box) -> Iterator[str]:
    for kind, marks in wanted.items():
        for mark in marks:
            found = box.look(kind, mark)
            if found:
                yield f"{kind} {found}"


class _Box:
    """Looks up signs on this box; the mounts and each text file are read once."""

    def __init__(self, root: str, own: Mapping[str, str]) -> None:
        self.root = root.rstrip("/")
        self.own = own
        self.variables = set(own) | set(procfs.environ(1, f"{self.root}/proc"))
        self._points: set[str] | None = None
        self._seen: list[mounts.Mount] | None = None
        self._texts: dict[str, str] = {}

    def look(self, kind: str, mark: str) -> str:
        """What was found for ``mark``, a sign of this ``kind``; empty for nothing."""
        if kind == "env":
            if mark.endswith("*"):
                return min((v for v in self.variables if fnmatchcase(v, mark)), default="")
            return mark if mark in self.variables else ""
        if kind == "file":
            return self._file(mark)
        if kind == "mount":
            return min((p for p in self._mounts() if fnmatchcase(p, mark)), default="")
        if kind == "program":
            here = (f"{self.root}/{folder}/{mark}" for folder in _FOLDERS)
            return mark if any(os.access(path, os.X_OK) for path in here) else ""
        if kind == "host":
            return mark if re.fullmatch(mark, self._host()) else ""
        if kind == "cgroup":
            return mark if mark in self._text("proc/self/cgroup") else ""
        if kind == "dmi":
            return mark if self._text("sys/class/dmi/id/sys_vendor").startswith(mark) else ""
        return ""

    def _file(self, mark: str) -> str:
        mark = os.path.expanduser(mark)  # "~root", not "~": a person may ask as another user
        if mark in self._mounts():
            return mark
        if not self._may_touch(mark):
            return ""
        if "*" not in mark:
            return mark if os.path.lexists(self.root + mark) else ""
        with contextlib.suppress(OSError, ValueError):
            found = next(iter(sorted(Path(f"{self.root}/").glob(mark.lstrip("/")))), None)
            return "" if found is None else str(found).removeprefix(self.root)
        return ""

    def _may_touch(self, mark: str) -> bool:
        """False on a network or FUSE file system that may not answer: a sign there is not looked
        for. The one that holds everything answers, or this program would not run."""
        mount, _ = mounts.Mounts(self._table(), self.root).resolve(mark.partition("*")[0])
        return mount is None or mounts.is_local(mount.fstype) or mount.point == "/"

    def _table(self) -> list[mounts.Mount]:
        if self._seen is None:
            self._seen = mounts.readable_table(f"{self.root}{mounts.TABLE}")
        return self._seen

    def _mounts(self) -> set[str]:
        if self._points is None:
            self._points = {mount.point for mount in self._table()}
        return self._points

    def _host(self) -> str:
        return self._text("proc/sys/kernel/hostname").strip()

    def _text(self, name: str) -> str:
        if name not in self._texts:
            try:
                data = procfs.read_file(f"{self.root}/{name}", 65536)
            except OSError:
                data = b""
            self._texts[name] = data.decode("utf-8", "replace")
        return self._texts[name]
