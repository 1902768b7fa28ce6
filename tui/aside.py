"""Work beside the screen: one thread for each kind, so that a disk or a daemon that hangs holds up its own
kind only, and never the keys.

They are daemon threads, which end with the process, and none of Textual's thread pool: at exit the process
waits for the pool, so a disk that does not answer would keep the screen from quitting.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

Job = Callable[[], Any]
Done = Callable[[Any], None]


class Aside:
    """Jobs of one kind, one after the other. ``tell`` gets what to call and the result (or the
    exception), in the thread of the jobs."""

    def __init__(
        self, name: str, tell: Callable[[Done, Any], object], newest: bool = False
    ) -> None:
        """``newest``: of the jobs that wait only the newest is run."""
        self._tell = tell
        self._newest = newest
        self._waiting: deque[tuple[Job, Done]] = deque()
        self._more = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Job, done: Done) -> None:
        """Have a job run."""
        with self._more:
            if self._newest:
                self._waiting.clear()
            self._waiting.append((job, done))
            self._more.notify()

    def stop(self) -> None:
        """Run no more jobs. Does not wait for one that is running."""
        with self._more:
            self._stopped = True
            self._more.notify()

    def _run(self) -> None:
        while True:
            with self._more:
                self._more.wait_for(lambda: self._waiting or self._stopped)
                if self._stopped:
                    return
                job, done = self._waiting.popleft()
            try:
                result = job()
            except Exception as error:  # noqa: BLE001 - it is shown, and ends nothing
                result = error
            if not self._stopped:
                self._tell(done, result)
