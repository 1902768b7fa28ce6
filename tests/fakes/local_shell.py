"""An "ssh" that goes nowhere: ``$RSYNC_RSH`` names it, and a box is a folder here with its own PATH and state.

For what has to be right without an sshd; what the network does is tested with the real one (:mod:`.far_box`).
"""

from __future__ import annotations

from pathlib import Path

_SHELL = """#!/bin/sh
[ "$1" = -T ] && shift
box={root}/$1
[ -d "$box" ] || {{ echo "ssh: Could not resolve hostname $1" >&2; exit 255; }}
[ -e "$box/down" ] && {{ echo "ssh: connect to host $1 port 22: Connection refused" >&2; exit 255; }}
PATH="$box/bin:$PATH" MIDDLEWATCH_STATE_DIR="$box/state" HOME="$box"
export PATH MIDDLEWATCH_STATE_DIR HOME
exec sh -c "$2"
"""


def shell(root: Path) -> Path:
    """The program; boxes are folders of ``root``."""
    path = root / "shell"
    path.write_text(_SHELL.format(root=root))
    path.chmod(0o755)
    return path


def box(root: Path, name: str, program: str = "") -> Path:
    """A box; ``program`` is what its ``middlewatch`` does, a script with its ``#!`` line."""
    folder = root / name
    (folder / "bin").mkdir(parents=True)
    if program:
        path = folder / "bin" / "middlewatch"
        path.write_text(program)
        path.chmod(0o755)
    return folder
