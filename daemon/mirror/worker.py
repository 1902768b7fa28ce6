"""The copier: a worker that copies one checkpoint, a few seconds for each question.

In, one line: ``{"path", "place", "to", "step", "verified", "digest", "limit", "memory"}``. Out:
``{"path", "state", …}`` with the states ``copying`` (ask again; ``done`` and ``total`` bytes),
``ok`` (``digest``, ``at``: when it was read back), ``gone`` (the checkpoint was changed or deleted)
and ``failed`` (``detail`` says why). The same question again continues the same copy.

Between two questions nothing is copied to a folder, so that a save has the disk for itself. The
copier has the lowest priority, and ends two minutes after the last question.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from ..system.clock import SystemClock, iso
from ..system.worker_main import serve, step_back
from .copy import Copying, forget
from .receipt import CheckpointGone, MirrorError, job_for
from .targets import parse

QUIET_S = 120.0
"""Seconds without a question after which it ends. There is none during a save, and a new process
has to compare what is there before it can continue a copy."""
SLICE_S = 3.0
"""Seconds of work for one question."""


class Copier:
    """Answers questions, and keeps the copy of the last one open in between."""

    def __init__(self) -> None:
        self._question: dict[str, Any] = {}
        self._copying: Copying | None = None

    def answer(self, line: bytes) -> dict[str, Any]:
        """The answer to one line; a line that is no question gets an ``error``."""
        try:
            question = json.loads(line)
            path, to, place = question["path"], question["to"], question["place"]
        except (ValueError, RecursionError, KeyError, TypeError):
            return {"error": "not a question"}
        if not all(isinstance(text, str) and "\0" not in text for text in (path, to, place)):
            return {"error": "not a path"}
        try:
            return {"path": path, "to": to, **self._go_on(question)}
        except CheckpointGone as trouble:
            state, detail = "gone", str(trouble)
        except MirrorError as trouble:
            state, detail = "failed", str(trouble)
        except Exception as error:  # noqa: BLE001 (a bug of ours is answered as a failure)
            state, detail = "failed", f"{type(error).__name__}: {error}"
        self._forget()
        return {"path": path, "to": to, "state": state, "detail": detail[:400]}

    def _go_on(self, question: dict[str, Any]) -> dict[str, Any]:
        if self._copying is None or question != self._question:
            self._forget()
            place = parse(question["to"])
            try:
                job = job_for(
                    question["path"],
                    question["place"],
                    step=question.get("step"),
                    verified=question.get("verified"),
                    digest=question.get("digest"),
                )
            except CheckpointGone:
                forget(question["path"], question["place"], place)
                raise
            self._copying = Copying(
                job,
                place,
                _now,
                limit_bytes_per_s=int(question.get("limit") or 0),
                memory=str(question.get("memory") or ""),
            )
            self._question = question
        until = _mono() + SLICE_S
        outcome = self._copying.advance(lambda: _mono() > until)
        if outcome is None:
            done, total = self._copying.done, self._copying.total
            return {"state": "copying", "done": done, "total": total}
        self._forget()
        more = {"digest": outcome.digest, "at": outcome.at, "detail": outcome.detail}
        return {"state": "ok", "copied": outcome.copied, "bytes": outcome.bytes, **more}

    def _forget(self) -> None:
        if self._copying is not None:
            self._copying.close()
        self._copying, self._question = None, {}


def main() -> int:
    """Answer questions until stdin ends, or for :data:`QUIET_S` after the last one."""
    step_back()
    # No limit on memory: rclone reserves more address space than it ever uses.
    serve(Copier().answer, lambda: QUIET_S)
    return 0


def _mono() -> float:
    return time.monotonic()  # noqa: TID251 (a separate process, without the clock of the daemon)


def _now() -> str:
    return str(iso(SystemClock().now()))


if __name__ == "__main__":
    sys.exit(main())
