"""The child that loads a milestone for the daemon, as ``verify --deep`` does: one question a line.

Input ``{"path": …, "run": …}``: a checkpoint, and the run that saved it (:meth:`.RunSpec.to_json`), in whose Python
it is loaded. Output ``{"path", "state": "ok"|"corrupt", "whole", "detail"}``; ``whole``: all of it was loaded.

Torch itself runs in a child of this one, which ends after each answer: its memory is the box's.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from ...config.run_spec import RunSpec
from ...system.clock import SystemClock
from ...system.errors import Refused, UsageError
from ...system.ownership import Untrusted
from ...system.worker_main import serve, step_back
from . import interpreters, memory_budget
from .loader import Loader, NoLoader

QUIET_S = 5.0
"""Seconds without a question after which it ends. Milestones are rare."""


def main() -> int:
    """Answer questions until stdin ends."""
    step_back()
    serve(answer_to, lambda: QUIET_S)
    return 0


def answer_to(line: bytes) -> dict[str, Any]:
    """The answer to one line; ``{"error": …}`` if it is no question."""
    try:
        question = json.loads(line)
        path, run = str(question["path"]), RunSpec.from_json(question["run"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return {"error": "not a question"}
    try:
        python = interpreters.find(None, [run], paths=[path])
        with Loader(python, memory_budget.memory(run.pid), SystemClock()) as loader:
            found = loader.check(path)
    except (UsageError, Refused, Untrusted, NoLoader, OSError) as error:
        return {"path": path, "state": "ok", "whole": False, "detail": f"load not tried: {error}"}
    return {"path": path, "state": found.state, "whole": found.whole, "detail": found.detail}


if __name__ == "__main__":
    sys.exit(main())
