"""The verifier: a program of its own that checks checkpoints, one question a line.

In: ``{"path": …}``. Out: what ``verify.describe`` gives at the level of structure, and
``"writer"``: the pid of a process that still has a file of a checkpoint open for writing, looked
for only when the checkpoint is not whole, or has the name of a temporary (a save that is slow is
not a save that failed).

In: ``{"path": …, "level": "finite"}``, for a checkpoint whose structure is good. Its data is read
for a second and 400 MiB at most; out: ``{"path": …, "more": true, "done": bytes, "of": bytes}`` while there is
more (the same question again goes on; another path begins anew), then ``{"path", "state",
"level", "detail", "digest"}``.

It costs the training nothing: lowest CPU priority, idle I/O class, bounded memory, and it ends
by itself after 20 s without a question, so that nothing stays resident; with a checkpoint half
read it waits for 15 minutes.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import time
from typing import TYPE_CHECKING, Any

from ...system import procfs
from ...system.worker_main import serve, step_back
from ..formats import names
from . import structure
from .levels import READS, describe

if TYPE_CHECKING:
    from .scan import Scan

QUIET_S = 20.0
"""Without a question for this long it ends. Starting again costs 0.04 s of CPU (measured)."""
MEMORY_BYTES = 1 << 30
"""Address space. The longest header and pickle that are parsed need some 150 MB (estimated from
12,000 and 34,000 tensors: 72 and 80 MB, measured); the rest
is for archives with very many records, and a bug must not cost the run its memory."""
LARGE_BYTES = 34 << 20
"""Having been larger than this it ends when it has nothing to do: 30 MiB are usual with numpy."""
BRIEF_S = 0.7
"""What comes at once is still answered; looks are two seconds apart, so that no question of the
next one meets a process that is leaving."""
PAUSE_S = 900.0
"""The same while the data of a checkpoint is half read: a save has the disk for itself meanwhile,
and what was read so far is not thrown away for that."""
SLICE_BYTES = 400 << 20
"""Of data read for one question. One comes every two seconds: 200 MiB/s, a tenth of what one
NVMe disk gives and about what the cheapest network volumes do; 40 GB take three and a half
minutes. Our choice."""
SLICE_S = 1.0
"""Of data read for one question: a save that begins meanwhile waits no longer for its verdict,
and as it is asked every other second, half of the time the disk is the trainer's alone."""
_MOST_PROCESSES = 4096


def main() -> int:
    """Answer questions until stdin ends or nobody asks any more."""
    step_back()
    limit_memory()
    serve(answer_to, _patience_s)
    sys.stdout.flush()
    os._exit(0)  # taking numpy apart again costs 0.02 s, half of what importing it did (measured)


def _patience_s() -> float:
    """How long to wait for the next question."""
    if _job:
        return PAUSE_S
    # The next one would begin on top of what a very large table has left behind.
    grown = procfs.peak_bytes(os.getpid())
    return BRIEF_S if grown is not None and grown > LARGE_BYTES else QUIET_S


def limit_memory() -> None:
    """Take no more address space than ``MEMORY_BYTES``; best effort."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def answer_to(line: bytes) -> dict[str, Any]:
    """The answer to one line; a line that is no question gets an ``error``."""
    try:
        question = json.loads(line)
        path = question["path"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return {"error": "not a question"}
    if not isinstance(path, str) or "\0" in path:
        return {"error": "not a path"}
    try:
        if question.get("level") in READS:
            return read_on(path)
        if path in _job:  # asked again from the start: it was written to
            _job.pop(path).close()
        found = describe(path, structure.LEVEL)
    except Exception as error:  # noqa: BLE001 (a bug of ours must not look like a bad checkpoint)
        return {"path": path, "error": f"{type(error).__name__}: {error}"[:400]}
    if found["state"] != "ok" or names.is_leftover(os.path.basename(path.rstrip("/"))):
        found["writer"] = writer_of(path)
    return found


_job: dict[str, Scan] = {}
"""The checkpoint whose data is being read, by path: one at most."""


def read_on(path: str) -> dict[str, Any]:
    """The answer to a question about data."""
    from .scan import Scan  # numpy: most checks are of the structure, and do without

    scan = _job.pop(path, None) or Scan(path)  # kept only when all goes well
    while _job:
        _job.popitem()[1].close()
    until = time.monotonic() + SLICE_S  # noqa: TID251 (a program of its own, with no loop)
    enough = scan.done + SLICE_BYTES
    found = scan.advance(lambda: scan.done >= enough or time.monotonic() > until)  # noqa: TID251
    if found is None:
        _job[path] = scan
        return {"path": path, "more": True, "done": scan.done, "of": scan.total}
    return {
        "path": path,
        "state": found.state,
        "level": found.level,
        "detail": found.detail,
        "digest": found.digest,
    }


def writer_of(path: str) -> int | None:
    """A process that has the file, or a file in the folder, open for writing.

    ``None`` when there is none, or none that we may look at.
    """
    from ...system import processes  # most checkpoints are whole, and nobody is asked

    inside = os.path.realpath(path)
    folder = inside.rpartition("/")[0] if path.endswith(".index.json") else inside
    for pid in procfs.pids()[:_MOST_PROCESSES]:
        opened = () if pid == os.getpid() else processes.open_files(pid)
        for file in opened:
            named = file.target == inside or file.target.startswith(folder + "/")
            if named and file.writable:
                return pid
    return None


if __name__ == "__main__":
    sys.exit(main())
