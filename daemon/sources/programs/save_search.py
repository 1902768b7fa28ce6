"""Looks for the folders to which a run saves; a program of its own, as any of them may hang.

A question is one line: ``pids`` (``[[pid, start_ticks], …]``, the main process first), ``cwd`` and
``started_at`` and ``command`` of the run, ``claims`` of its log (``path``, ``text``), ``writing`` (``[[pid,
path], …]``: files that were open for writing a moment ago), ``known`` folders (``path``, ``whole``,
``names``) and ``others``: the same of the other runs, when they ended (``ended_at``), and the folders
(``dirs``) that are theirs; ``never``: folders that we write to. The answer is one line: ``folders`` (``path``, ``why``, ``whole``, ``names``) that are
new, or have new names, and ``unclear``: saves that another program may have written; or ``error``.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from ...system.worker_main import serve

QUIET_S = 8.0
"""Seconds without a question after which it ends: looks come in groups, or minutes apart."""


def main() -> int:
    """Answer questions until none has come for some seconds.

    It keeps the low priority that every child has, and does not take the lowest: a look costs 0.1 s,
    and on a box whose processors are all busy it would come minutes late.
    """
    serve(answer_to, lambda: QUIET_S)
    return 0


def answer_to(line: bytes) -> dict[str, Any]:
    """The answer to one line; ``{"error": …}`` if it is no question, or for a bug of ours."""
    from dataclasses import asdict

    from ..save_search import Search

    try:
        search = Search(json.loads(line))
        folders = [asdict(folder) for folder in search.look()]
    except Exception as error:  # noqa: BLE001 (a bug of ours must not look like a run without saves)
        return {"error": f"{type(error).__name__}: {error}"[:400]}
    return {"folders": folders, "unclear": search.unclear[:16]}


if __name__ == "__main__":
    sys.exit(main())
