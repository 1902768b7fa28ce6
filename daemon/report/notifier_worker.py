"""The notifier: a worker that is started on demand, pushes through Apprise, pings, and ends when idle.

Apprise takes 50 MB once a plugin is loaded; the resident process never imports it. One JSON object per
line on stdin, ``{"jobs": […]}``, is answered at once by ``{"taken": N}``. Each job is done by a thread of
its own, so that a service that hangs holds up no other, and answered by a line when it is over. A job is
a push (``id``, ``title``, ``body``, ``kind``, ``url``, ``label``, ``key``, and what :mod:`.phrasing` and
:mod:`.attachments` want) or a ping (:mod:`.pings`); it may name a ``proxy``. URLs are secrets: they come through stdin, never through arguments or the
environment, and answers have only their number and scheme.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
import time
from typing import Any

from ..system.worker_main import die_with_parent
from . import http_trace
from .sending import send

IDLE_S = 20.0
"""Seconds without a job after which it ends; importing Apprise again takes half a second."""
JOB_S = 30.0
"""Seconds for one job. Apprise gives a service 4 s to connect and 4 s for each answer; one that answers
byte by byte would take for ever. Our choice."""
ABANDONED = 4
"""Threads in services that hang after which this process ends when it can: the next one is a fresh one."""


class _Desk:
    """The jobs under way, and the answers; used by the threads of all jobs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[str, tuple[float, str]] = {}
        """Id of a job -> when it is given up, and the label of its URL."""
        self.abandoned = 0
        self.wake, self._told = os.pipe()

    def take(self, job: dict[str, Any]) -> None:
        with self._lock:
            until = time.monotonic() + JOB_S  # noqa: TID251
            self._until[job["id"]] = (until, job["label"])
        threading.Thread(target=self._do, args=(job,), daemon=True).start()

    def _do(self, job: dict[str, Any]) -> None:
        try:
            answer = send(job)
        except Exception as error:  # noqa: BLE001 - the owner waits for an answer
            answer = _failure(job["id"], job["label"], type(error).__name__)
        with self._lock:
            if self._until.pop(job["id"], None) is None:
                self.abandoned -= 1  # given up before; it has ended after all
                return
            _say(answer)
        os.write(self._told, b".")

    def mind(self) -> None:
        """Give up what takes too long."""
        with self._lock:
            now = time.monotonic()  # noqa: TID251
            for job, (until, label) in list(self._until.items()):
                if until <= now:
                    del self._until[job]
                    self.abandoned += 1
                    _say(_failure(job, label, f"it did not answer within {JOB_S:.0f} s"))

    def wait_s(self) -> float | None:
        """Seconds until a job is to be given up; ``None`` if there is none."""
        with self._lock:
            if not self._until:
                return None
            first = min(until for until, _ in self._until.values())
            return max(0.0, first - time.monotonic())  # noqa: TID251


def _failure(job: str, label: str, error: str) -> dict[str, Any]:
    told = {"ok": False, "error": error, "refused": False, "retry_after_s": None}
    return {"id": job, "url": label, **told, "seconds": JOB_S}


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main() -> int:
    """Serve until stdin closes, or for :data:`IDLE_S` after the last job."""
    die_with_parent(how=signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    http_trace.install()
    desk, pending, open_ = _Desk(), b"", True
    while True:
        wait_s = desk.wait_s()
        if wait_s is None and (not open_ or desk.abandoned >= ABANDONED):
            break
        fds = [desk.wake, 0] if open_ else [desk.wake]
        readable, _, _ = select.select(fds, [], [], IDLE_S if wait_s is None else wait_s)
        if not readable and wait_s is None:
            break
        desk.mind()
        if desk.wake in readable:
            os.read(desk.wake, 4096)
        if 0 not in readable:
            continue
        data = os.read(0, 1 << 16)
        open_ = bool(data)
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            jobs = json.loads(line)["jobs"]
            _say({"taken": len(jobs)})
            for job in jobs:
                desk.take(job)
    sys.stdout.flush()
    os._exit(0)  # threads in services that hang would hold it


if __name__ == "__main__":
    main()
