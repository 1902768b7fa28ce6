"""Asks the daemon once a second, in a separate thread.

It is a daemon thread, which ends with the process, and none of Textual's thread pool: at exit the
process waits for the pool, so a daemon that does not answer would keep the screen from quitting.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from middlewatch.daemon.system.errors import MiddlewatchError

from .answer import Answer, clean


class Reply(NamedTuple):
    """An answer, or the reason why there is none."""

    answer: Answer | None
    reason: str = ""
    hint: str = ""


def ask(fetch: Callable[[], Any]) -> Reply:
    """Ask once. Never raises: an error becomes a reply with its reason."""
    try:
        found = fetch()
    except MiddlewatchError as error:
        return Reply(None, clean(str(error)), clean(error.hint))
    except Exception as error:  # noqa: BLE001 - no answer may end the screen
        return Reply(None, clean(f"{type(error).__name__}: {error}"))
    if not isinstance(found, Mapping):
        return Reply(
            None, "the answer cannot be read", "are the daemon and the screen of one version?"
        )
    return Reply(found)


class Poller:
    """Asks ``period_s`` seconds after each answer, so never two questions at once. Each reply is
    given to ``tell``, in the thread of the poller."""

    def __init__(
        self, fetch: Callable[[], Any], tell: Callable[[Reply], object], period_s: float
    ) -> None:
        self._fetch = fetch
        self._tell = tell
        self._period_s = period_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ask-daemon", daemon=True)

    def start(self) -> None:
        """Start the thread; it asks the first question at once."""
        self._thread.start()

    def stop(self) -> None:
        """Ask no more questions. Does not wait for one that is still open."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            reply = ask(self._fetch)
            if self._stopped.is_set():
                return
            self._tell(reply)
            self._stopped.wait(self._period_s)
