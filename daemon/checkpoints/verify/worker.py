"""The verifier: a separate program that checks checkpoints, one question a line.

Input ``{"path": …}``. Output: the result of :func:`.levels.describe` at the level of structure,
and ``"writer"``: the pid of a process that still has a file of the checkpoint open for writing. It
is looked for only when the checkpoint is not whole or has a temporary name, because a slow save is
not a failed one.

Input ``{"path": …, "level": "finite"}``, for a checkpoint whose structure is good. Its data is
read for a second or 400 MiB at most. Output while there is more: ``{"path": …, "more": true,
"done": bytes, "of": bytes}``. The same question again continues, a question about another path
starts that one from its beginning. Output at the end: ``{"path", "state", "level", "detail",
"digest"}``.

It costs the training next to nothing: lowest CPU priority, idle I/O class, bounded memory. It
ends by itself after 20 s without a question, so that it does not stay in memory; with a
checkpoint half read it waits for 15 minutes.
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
from .writer import writer_of as writer_of

if TYPE_CHECKING:
    from .scan import Scan

QUIET_S = 20.0
"""Seconds without a question after which it ends. A start takes 0.04 s of CPU (measured)."""
MEMORY_BYTES = 1 << 30
"""Limit on its address space: a bug must not take the memory of the run. The longest header and
pickle that are parsed need some 150 MB (estimated from 12,000 and 34,000 tensors: 72 and 80 MB,
measured); the rest is for archives with very many records."""
LARGE_BYTES = 34 << 20
"""Peak memory above which it ends after :data:`BRIEF_S`; 30 MiB are usual with numpy."""
BRIEF_S = 0.7
"""Seconds to wait for a question before it ends because of its size. Questions that follow at once
are still answered. The next round comes two seconds later, so none meets a process about to end."""
PAUSE_S = 900.0
"""Seconds to wait for a question while the data of a checkpoint is half read. Reading stops during
a save, which then has the disk for itself, and what was read so far should not be lost."""
SLICE_BYTES = 400 << 20
"""Bytes read for one question at most. A question comes every two seconds, which makes 200 MiB/s: a
tenth of the speed of an NVMe disk, and about that of the cheapest network volumes. 40 GB take
three and a half minutes. Our choice."""
SLICE_S = 1.0
"""Seconds of reading for one question at most. The verdict on a save that begins meanwhile waits no
longer than this, and with a question every two seconds the disk is idle half of the time."""


def main() -> int:
    """Answer questions until stdin ends, or none has come for the time that is set here."""
    step_back()
    limit_memory()
    serve(answer_to, _patience_s)
    sys.stdout.flush()
    os._exit(0)  # the clean-up of numpy costs 0.02 s (measured)


def _patience_s() -> float:
    """Seconds to wait for the next question."""
    if _job:
        return PAUSE_S
    # After a very large file the memory stays large: end soon, and start small for the next.
    grown = procfs.peak_bytes(os.getpid())
    return BRIEF_S if grown is not None and grown > LARGE_BYTES else QUIET_S


def limit_memory() -> None:
    """Limit the address space to ``MEMORY_BYTES``; best effort."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def answer_to(line: bytes) -> dict[str, Any]:
    """The answer to one line; ``{"error": …}`` if it is no question, or for a bug of ours."""
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
        if path in _job:  # it was written to, and is checked again from the start
            _job.pop(path).close()
        found = describe(path, structure.LEVEL)
    except Exception as error:  # noqa: BLE001 (a bug of ours must not look like a bad checkpoint)
        return {"path": path, "error": f"{type(error).__name__}: {error}"[:400]}
    if found["state"] != "ok" or names.is_leftover(os.path.basename(path.rstrip("/"))):
        found["writer"] = writer_of(path)
    return found


_job: dict[str, Scan] = {}
"""Path -> the checkpoint whose data is being read; at most one."""


def read_on(path: str) -> dict[str, Any]:
    """The answer to a question about the data of a checkpoint."""
    from .scan import Scan  # imports numpy, which checks of the structure do not need

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


if __name__ == "__main__":
    sys.exit(main())
