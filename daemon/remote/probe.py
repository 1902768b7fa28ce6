"""What a box is, asked by one script of the POSIX shell: nothing of ours is there yet."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from ..system.errors import MiddlewatchError, UsageError
from .connection import Box
from .wheels import Target

LEAST_BYTES = 400 << 20
"""Room that an installation wants: 85 MB for it, as much for the wheels, and a reserve. Our choice."""
NEWEST = (3, 13)
OLDEST = (3, 10)
MACHINES = ("x86_64", "aarch64")
RECORD = "deployed.json"

_SCRIPT = r"""
say() { printf '%s\t%s\n' "$1" "$2"; }
say user "$(id -un 2>/dev/null || id -u)"
say uid "$(id -u)"
say home "$HOME"
say host "$(uname -n)"
say system "$(uname -s)"
say machine "$(uname -m)"
say glibc "$(getconf GNU_LIBC_VERSION 2>/dev/null)"
[ -d /run/systemd/system ] && say systemd yes
for p in /usr/bin/python3 python3 python3.13 python3.12 python3.11 python3.10 /opt/conda/bin/python3; do
    found=$(command -v "$p" 2>/dev/null) || continue
    told=$("$found" -c 'import sys, venv; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
    say python "$told $found"
done
say free "$(df -Pk "$HOME" 2>/dev/null | awk 'NR == 2 { print $4 }')"
say other "$(command -v middlewatch 2>/dev/null)"
place=$(cat "$HOME/.middlewatch/place" 2>/dev/null) || place=$HOME/.middlewatch
say place "$place"
say record "$(tr -d '\n\t' 2>/dev/null < "$place/deployed.json")"
"""

_INDEX = """
import os, sys
from urllib.request import urlopen
base = os.environ.get("PIP_INDEX_URL") or "https://pypi.org/simple"
try:
    urlopen(base.rstrip("/") + "/pip/", timeout=5).read(100)
except Exception:
    sys.exit(1)
"""


@dataclass(frozen=True, slots=True)
class Probe:
    """A box as it was found."""

    host: str
    user: str
    uid: int
    home: str
    python: str
    """The Python that is used: a path."""
    target: Target
    systemd: bool
    free: int | None
    """Bytes in the home folder."""
    index: bool
    """A package index answers there."""
    place: str
    """Where an earlier deploy has put it, else where it goes unless that does not last."""
    record: str
    """What an earlier deploy has written about itself; empty: there was none."""
    other: str
    """A middlewatch that is found by PATH."""


def probe(box: Box, *, index: bool = True) -> Probe:
    """Look at a box. Raises UsageError when middlewatch cannot run there, and BoxUnreachable.

    ``index``: ask whether a package index answers as well.
    """
    done = box.run(_SCRIPT)
    found: dict[str, str] = {}
    pythons: list[tuple[tuple[int, int], str]] = []
    for line in done.out.splitlines():
        key, _, value = line.partition("\t")
        if key == "python":
            version, _, path = value.partition(" ")
            major, _, minor = version.partition(".")
            pythons.append(((int(major), int(minor)), path))
        else:
            found[key] = value.strip()
    if "home" not in found or not found["home"].startswith("/"):
        raise MiddlewatchError(f"{box.host} has no POSIX shell that answers: {done.err[-200:]}")
    python = _chosen(box, found, pythons)
    asked = f"exec {shlex.quote(python[1])} -c {shlex.quote(_INDEX)}"
    answers = index and box.run(asked).status == 0
    free = found.get("free", "")
    return Probe(
        found["host"],
        found["user"],
        int(found["uid"]),
        found["home"],
        python[1],
        Target(f"{python[0][0]}.{python[0][1]}", found["machine"], _glibc(box, found)),
        found.get("systemd") == "yes",
        int(free) * 1024 if free.isdigit() else None,
        answers,
        found["place"],
        found["record"],
        found["other"],
    )


def _chosen(
    box: Box, found: dict[str, str], pythons: list[tuple[tuple[int, int], str]]
) -> tuple[tuple[int, int], str]:
    """The first Python that fits: that of the system before others, which come and go."""
    if found.get("system") != "Linux" or found.get("machine") not in MACHINES:
        what = f"{found.get('system')} on {found.get('machine')}"
        raise UsageError(f"{box.host} is {what}", "middlewatch runs on Linux, x86-64 and aarch64")
    fitting = [one for one in pythons if OLDEST <= one[0] <= NEWEST]
    if not fitting:
        seen = ", ".join(f"{a}.{b} ({path})" for (a, b), path in pythons) or "none with venv"
        raise UsageError(
            f"{box.host} has no Python from 3.10 to 3.13: {seen}",
            "install one there: apt-get install python3 (python3-venv is not needed)",
        )
    return fitting[0]


def _glibc(box: Box, found: dict[str, str]) -> int:
    told = re.search(r"glibc 2\.(\d+)", found.get("glibc", ""))
    if told is None:
        raise UsageError(
            f"{box.host} has no glibc, as Alpine", "wheels are made for glibc: use an image with it"
        )
    return int(told[1])
