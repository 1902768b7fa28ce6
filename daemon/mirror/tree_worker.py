"""The copier of whole trees: a worker that mirrors folders of results as they change.

In, one line: ``{"to", "trees": [{"source", "place", "leave", "look"}], "limit", "home", "gentle"}``
(``look``: a number; a higher one than before asks for a look at the whole tree). Out:
``{"to", "more", "trees": [{"source", "place", "state", …}]}``; the states are those of
:meth:`.tree_turn.MirroredTree.state`: ``missing`` (there is no such folder now), ``copying``, ``ok`` and
``failed`` (``detail`` says why). ``more``: ask again at once; else every few seconds.

It is another process than the copier of checkpoints: a tree on a mount that hangs holds up no
checkpoint. It copies between a question and its answer only. Watchdog, which watches meanwhile, is
loaded here and nowhere else.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from typing import Any

from ..system.worker_main import serve, step_back
from .receipt import MirrorError
from .targets import MirrorTarget, parse
from .tree_folder import FolderGoal
from .tree_host import HostGoal
from .tree_ledger import Ledger
from .tree_turn import MirroredTree

QUIET_S = 120.0
"""Seconds without a question after which it ends."""
SLICE_S, GENTLE_S = 2.0, 0.2
"""Seconds of work for one question; while a save is written: enough for what a log grows by."""
LEDGER = "mirror-trees.sqlite"
_TOGETHER = 100
"""Files that are sent to a host at once."""
MOST_TREES = 100
"""Trees that are mirrored at once: a question is 64 KiB at most."""


class TreeCopier:
    """Answers questions, and keeps its trees watched in between."""

    def __init__(self) -> None:
        self._trees: dict[tuple[str, str], MirroredTree] = {}
        self._about: tuple[Any, ...] = ()
        self._ledger: Ledger | None = None
        self._limit = 0
        self._ahead_s = self._at = 0.0

    def answer(self, line: bytes) -> dict[str, Any]:
        """The answer to one line; a line that is no question gets an ``error``."""
        try:
            question = json.loads(line)
            to, home, limit = str(question["to"]), str(question["home"]), int(question["limit"])
            wanted = {
                (str(one["source"]), str(one["place"])): tuple(map(str, one["leave"]))
                for one in question["trees"][:MOST_TREES]
            }
        except (ValueError, RecursionError, KeyError, TypeError):
            return {"error": "not a question"}
        try:
            if (to, home, limit) != self._about:
                self.close()
                self._about, self._limit = (to, home, limit), limit
            self._keep(parse(to), home, wanted)
            for one in question["trees"][:MOST_TREES]:
                self._trees[str(one["source"]), str(one["place"])].look_again(int(one["look"]))
            more = self._work(GENTLE_S if question.get("gentle") else SLICE_S)
            assert self._ledger is not None
            self._ledger.commit()
        except (MirrorError, OSError, sqlite3.Error) as trouble:
            self.close()
            return {"to": to, "error": str(trouble)[:400]}
        told = [{"place": key[1], **tree.state()} for key, tree in self._trees.items()]
        return {"to": to, "more": more, "trees": told}

    def _keep(
        self, place: MirrorTarget, home: str, wanted: dict[tuple[str, str], tuple[str, ...]]
    ) -> None:
        """Begin with the trees that are new, and leave those that are not asked for any more."""
        if self._ledger is None:
            self._ledger = Ledger(f"{home}/{LEDGER}" if home else ":memory:")
        for key in self._trees.keys() - wanted.keys():
            self._trees.pop(key).close()
        for key in [one for one in wanted if one not in self._trees]:  # they are told in this order
            source, below = key
            number = self._ledger.tree(source, f"{place}/{below}")
            memory = f"{home}/mirror.json" if home else ""
            root = f"{place.path.rstrip('/')}/{below}"
            leave = tuple(_inside(one, source) for one in wanted[key] if _contains(source, one))
            goal: FolderGoal | HostGoal
            if place.kind == "folder":
                goal, batch = FolderGoal(place, root, self._ledger, number, memory), 1
            else:
                goal, batch = HostGoal(place, root, self._ledger, number, self._limit), _TOGETHER
            tree = MirroredTree(source, leave, goal, self._ledger, number, batch)
            self._trees[key] = tree

    def _work(self, slice_s: float) -> bool:
        """A turn of every tree: none waits for another that has much to copy."""
        until, more = _mono() + slice_s, False
        share = slice_s / max(1, len(self._trees))
        for tree in list(self._trees.values()):
            self._at = _mono()
            more |= tree.turn(min(until, _mono() + share), self._pace)
        return more

    def _pace(self, sent: int) -> None:
        """Wait, so that no more than the limit is sent."""
        if not self._limit or not sent:
            return
        now = _mono()
        self._ahead_s = max(0.0, self._ahead_s - (now - self._at)) + sent / self._limit
        self._at = now
        if self._ahead_s > 0.05:  # shorter sleeps cost more than they save
            time.sleep(min(self._ahead_s, 1.0))

    def close(self) -> None:
        """Leave all trees, and the ledger."""
        for tree in self._trees.values():
            tree.close()
        self._trees.clear()
        self._about = ()
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None


def main() -> int:
    """Answer questions until stdin ends, or for :data:`QUIET_S` after the last one."""
    step_back()
    serve(TreeCopier().answer, lambda: QUIET_S)
    return 0


def _contains(folder: str, path: str) -> bool:
    return f"{os.path.normpath(path)}/".startswith(f"{os.path.normpath(folder)}/")


def _inside(path: str, folder: str) -> str:
    found = os.path.relpath(path, folder)
    return "" if found == "." else found


def _mono() -> float:
    return time.monotonic()  # noqa: TID251 (a separate process, without the clock of the daemon)


if __name__ == "__main__":
    sys.exit(main())
