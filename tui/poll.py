"""Asking the daemon once a second, in a thread of its own.

A thread that dies with the process and not one of Textual's pool: the pool is waited for at the
end, and a daemon that does not answer would hold the person in a screen they have left.
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
    """One question. Every way in which it can fail becomes a reply that says so."""
    try:
        found = fetch()
    except MiddlewatchError as error:
        return Reply(None, clean(str(error)), clean(error.hint))
    except Exception as error:  # noqa: BLE001 - the border of the screen: it outlives any answer
        return Reply(None, clean(f"{type(error).__name__}: {error}"))
    if not isinstance(found, Mapping):
        return Reply(None, "the answer was not understood", "are daemon and screen of one version?")
    return Reply(found)


class Poller:
    """Asks every ``period_s`` seconds after the last answer: never two questions at once."""

    def __init__(
        self, fetch: Callable[[], Any], tell: Callable[[Reply], object], period_s: float
    ) -> None:
        self._fetch = fetch
        self._tell = tell
        self._period_s = period_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ask-daemon", daemon=True)

    def start(self) -> None:
        """Begin; the first question is asked at once."""
        self._thread.start()

    def stop(self) -> None:
        """Ask no more. Does not wait for a question that is still open."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            reply = ask(self._fetch)
            if self._stopped.is_set():
                return
            self._tell(reply)
            self._stopped.wait(self._period_s)
