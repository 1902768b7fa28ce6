"""Tell the daemon of the cells that were started. A cell runs, and ends, without it as well."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

from ..client import Client, RemoteError
from ..system.errors import DaemonUnreachable
from ..system.worker import module_argv
from .cells import Cell
from .places import QueuePlace
from .roster import Attempt, CellState
from .starting import spec_of
from .store import QueueStore

ANSWER_S = 10.0
"""Seconds for an answer. Meanwhile no cell is started, which is worth a little patience. Our choice."""
AWAY_S = 20.0
"""Seconds that the daemon may be away before we start one: systemd has started its own by then. Our choice."""
REFUSED_S = 20.0
"""Seconds in which a refusal may be of the moment: the record of a command that has just ended is written after
its process is gone. Our choice."""
PAUSE_S = 0.4
"""Seconds between two tries while it is away. Our choice."""


class Handover:
    """Hands over what the daemon has not taken yet, and starts a daemon if there is none."""

    def __init__(self, place: QueuePlace, store: QueueStore, config: str) -> None:
        self._place, self._store, self._config = place, store, config
        self._client = Client(str(place.state.socket), ANSWER_S)
        self._away_since: float | None = None
        self._next = 0.0
        self._starting: subprocess.Popen[bytes] | None = None
        self._refused: dict[str, float] = {}
        """Run -> when the daemon first refused it."""

    def pending(self) -> list[tuple[CellState, Attempt]]:
        """Starts of which the daemon does not know."""
        cells = self._store.roster.cells.values()
        return [(c, a) for c in cells for a in c.attempts if a.pid and not a.watched]

    def turn(self, cell_of: Callable[[str], Cell | None]) -> None:
        """Hand over all that is pending, if the daemon answers."""
        now = self._store.clock.monotonic()
        if now < self._next:
            return
        for state, attempt in self.pending():
            cell = cell_of(state.name)
            try:
                name = self._watch(state, attempt, cell)
            except DaemonUnreachable:
                self._next = now + PAUSE_S
                self._away_since = self._away_since or now
                if now - self._away_since >= AWAY_S:
                    self._start_daemon()
                return
            first = self._refused.setdefault(attempt.run, now) if ":" in name else 0.0
            if ":" in name and now - first < REFUSED_S:
                self._next = now + PAUSE_S
                continue
            self._store.note("watched", cell=state.name, run=attempt.run, **{"as": name})
        self._away_since = None

    def _watch(self, state: CellState, attempt: Attempt, cell: Cell | None) -> str:
        """Under which id it is watched, or ``refused: …``. Raises DaemonUnreachable."""
        names = [*os.environ, *(cell.settings.env if cell else ())]
        try:
            answer = self._client.ask("watch", spec=spec_of(state, attempt, cell, names).to_json())
            return str(answer["run"])
        except (RemoteError, KeyError, TypeError) as error:
            try:  # we were ended between its answer and our record of it
                return str(self._client.ask("status", run=attempt.run)["run"])
            except (RemoteError, KeyError, TypeError):
                return f"refused: {error}"

    def _start_daemon(self) -> None:
        if self._starting is not None and self._starting.poll() is None:
            return
        words = [*module_argv("middlewatch.daemon.cli"), "start"]
        words += ["--state-dir", str(self._place.state.root)]
        if self._config:
            words += ["--config", self._config]
        null = subprocess.DEVNULL
        self._starting = subprocess.Popen(words, stdin=null, stdout=null, stderr=null, cwd="/")
        self._away_since = None  # it has its time again
