"""Takes the stack of one Python process with py-spy; a process of its own, as py-spy may hang.

A question is one line ``{"pid": …, "spy": …, "folders": […]}``; where ``spy`` is empty, py-spy is
looked for in the folders. The answer is one line: ``frames`` (innermost first, as
``name (file:line)``), ``own``, ``active``, ``gil`` and ``threads`` of its main thread, or
``error``. The process is read while it runs (``--nonblocking``): it is never paused.
Stand-alone: started with ``python -I -S``, imports nothing of the package.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
from typing import Any

IDLE_S = 3.0
"""Seconds without a question after which the program ends, so that it uses no memory in a hang that
lasts all night."""
DEEPEST = 40
"""Frames in an answer at most, from the innermost on."""
_LIBRARY = re.compile(r"(?:^|/)(?:site|dist)-packages/(.*)$")
_STANDARD = re.compile(r"(?:^|/)(?:lib|lib64)/python\d[^/]*/(.*)$")
_ERROR = re.compile(r"(?i)permission denied|not permitted")


def place(filename: str) -> tuple[str, bool]:
    """(short name of a file, whether it is the run's own code)."""
    library = _LIBRARY.search(filename)
    if library:
        return library[1], False
    standard = _STANDARD.search(filename)
    if standard or filename.startswith("<frozen"):
        return f"python/{standard[1] if standard else filename.strip('<>')}", False
    return filename.rpartition("/")[2], True


def runs(pid: int) -> bool:
    """Whether the first thread of a process runs or waits for a CPU."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"R"
    except (OSError, IndexError):
        return False


def summary_of(threads: list[dict[str, Any]], pid: int) -> dict[str, Any]:
    """The answer made from the output of ``py-spy dump``: the stack of the main thread only."""
    first = [t for t in threads if t.get("os_thread_id") == pid]
    first += [t for t in threads if t.get("thread_name") == "MainThread"]
    one = (first or threads)[0]
    frames: list[str] = []
    own = None
    for frame in one["frames"][:DEEPEST]:
        file, is_own = place(str(frame["filename"]))
        if is_own and own is None:
            own = len(frames)
        frames.append(f"{frame['name']} ({file}:{frame['line']})"[:160])
    if not frames:
        return {"pid": pid, "error": "no Python frames"}
    return {
        "pid": pid,
        "frames": frames,
        "own": own,
        # Before Python 3.11 py-spy may not know which thread of the system it is, and calls it active.
        "active": bool(one.get("active")) if one.get("os_thread_id") else runs(pid),
        "gil": bool(one.get("owns_gil")),
        "threads": len(threads),
    }


def answer(pid: int, spy: str) -> dict[str, Any]:
    """The stack of one process, or why there is none."""
    argv = [spy, "dump", "--json", "--nonblocking", "--pid", str(pid)]
    try:
        done = subprocess.run(argv, capture_output=True, check=False)
        if done.returncode == 0:
            return summary_of(json.loads(done.stdout), pid)
    except OSError as error:
        return {"pid": pid, "error": f"{spy}: {error.strerror}", "refused": True}
    except (ValueError, LookupError, TypeError) as error:
        return {"pid": pid, "error": f"an answer that cannot be read: {error!r}"}
    words = done.stderr.decode("utf-8", "replace")
    first = next((line.strip() for line in words.splitlines() if line.strip()), "no words")
    return {"pid": pid, "error": first[:200], "refused": bool(_ERROR.search(words))}


def found_in(folders: list[str]) -> str:
    """Path of the first py-spy in these folders; without one, where it could be."""
    paths = [f"{folder}/py-spy" for folder in folders]
    return next((path for path in paths if os.access(path, os.X_OK)), paths[0])


def main() -> None:
    """Answer until stdin ends, or no question came for ``IDLE_S`` seconds."""
    while select.select([sys.stdin], [], [], IDLE_S)[0]:
        line = sys.stdin.buffer.readline()  # the daemon waits for each answer: one line
        if not line:
            return
        try:
            asked = json.loads(line)
            pid, spy = int(asked["pid"]), str(asked["spy"]) or found_in(asked["folders"])
        except (ValueError, TypeError, KeyError):
            continue
        sys.stdout.write(json.dumps(answer(pid, spy)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
