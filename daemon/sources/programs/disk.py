"""Queries the space of one file system; a process of its own, because ``statvfs`` may hang.

A question is one line ``{"path": …}``, the answer one line with the numbers of ``statvfs`` or
with ``error``. A path that does not exist (yet) is answered for its nearest existing parent.
Stand-alone: started with ``python -I -S``, imports nothing of the package.
"""

from __future__ import annotations

import json
import os
import sys


def answer(path: str) -> dict[str, object]:
    """Space of the file system at ``path`` in the units of ``statvfs``, or the error."""
    here = path
    while True:
        try:
            seen = os.statvfs(here)
        except FileNotFoundError as error:
            parent = os.path.dirname(here)
            if parent == here:
                return {"path": path, "error": error.strerror}
            here = parent
        except (OSError, ValueError) as error:
            return {"path": path, "error": getattr(error, "strerror", None) or str(error)}
        else:
            return {
                "path": path,
                "frsize": seen.f_frsize,
                "blocks": seen.f_blocks,
                "bavail": seen.f_bavail,
                "files": seen.f_files,
                "favail": seen.f_favail,
                "flag": seen.f_flag,
            }


def main() -> None:
    """Answer until stdin ends."""
    for line in sys.stdin.buffer:
        try:
            path = json.loads(line)["path"]
        except (ValueError, TypeError, KeyError):
            continue
        if isinstance(path, str):
            sys.stdout.write(json.dumps(answer(path)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
