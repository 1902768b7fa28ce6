"""Files of which only their first bytes say whether they are checkpoints: a child looks at them.

The resident process opens no file of a run, as a disk that hangs would stop its loop, also a local one. It
asks a guard, and until that answers such a file is none.
"""

from __future__ import annotations

import itertools

from ..checkpoints.finder import CheckpointFinder
from ..checkpoints.save_names import FileState
from ..system.far import Far
from ..system.guard import Guards

MOST_AT_ONCE = 200
"""Files in one question: half a millisecond each (measured), and half a minute on a disk with 150 ms a read."""
_LOCAL = Far("local", "the local disks", "local")
"""One guard for the local file systems together: it lives while there is something to look at."""

_clients = itertools.count()


class FirstBytes:
    """The questions of one run."""

    def __init__(self, guards: Guards) -> None:
        self._guard = guards.guard(_LOCAL, "first-bytes")
        self._client = f"{next(_clients)}:first-bytes"
        self._asked: dict[str, FileState] = {}

    def turn(self, finder: CheckpointFinder) -> bool:
        """Give an answer that has come to the finder, and ask for what it does not know. False when there was
        nothing to do: the finder knows all."""
        heard = False
        if self._asked:
            answer = self._guard.take(self._client)
            if answer is None:
                self._guard.ask(self._client, self._question())  # again, if the child was lost
                return True
            finder.told(self._asked, frozenset(map(str, answer.get("models", ()))))
            self._asked, heard = {}, True
        self._asked = dict(itertools.islice(finder.unsure.items(), MOST_AT_ONCE))
        if self._asked:
            self._guard.ask(self._client, self._question())
        elif heard:
            self.close()
        return heard or bool(self._asked)

    def _question(self) -> dict[str, object]:
        return {"do": "first-bytes", "paths": [*self._asked]}

    def close(self) -> None:
        """Let the guard go; its child ends when nobody asks any more."""
        self._guard.leave(self._client)
        self._asked = {}
