"""Bring a run home while it trains: each checkpoint as soon as it is verified, logs as they grow.

When the box is lost, what was verified until the last look is at home and was read there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..system.clock import Clock
from . import receipt
from .connection import BoxUnreachable
from .manifest import BoxName, OneCheckpoint, RunFiles, chosen
from .proof import Reader
from .pulling import Puller

PATIENCE_S = 300.0
"""Seconds without a connection until the box counts as lost. Our choice: a restart takes less."""
TRIES = 3
"""How often a checkpoint that came damaged is fetched in one look."""

Event = Callable[[dict[str, Any]], None]
"""Is called with what happened."""


class Follower:
    """Follows one run."""

    def __init__(
        self, puller: Puller, dest: str, run: str, clock: Clock, tell: Event, every_s: float
    ) -> None:
        self._puller = puller
        self._dest = dest
        self._run = run
        self._clock = clock
        self._tell = tell
        self._every_s = every_s
        self._proved: dict[str, dict[str, Any]] = {}

    def follow(self) -> tuple[BoxName, RunFiles]:
        """Until the run is over; then what is to be brought home whole.

        Raises BoxUnreachable once the box has been silent for :data:`PATIENCE_S`.
        """
        folder = f"{self._dest}/{self._run}"
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._proved = receipt.remembered(folder)
        silent_since: float | None = None
        while True:
            try:
                over = self._look()
                silent_since = None
                if over is not None:
                    return over
            except BoxUnreachable as error:
                now = self._clock.monotonic()
                silent_since = now if silent_since is None else silent_since
                self._tell({"type": "unreachable", "why": str(error)})
                if now - silent_since > PATIENCE_S:
                    raise BoxUnreachable(
                        f"{error}. At home and proved: {self._standing()}",
                        "if the box comes back: call it again",
                    ) from None
            self._clock.sleep(self._every_s)

    def _look(self) -> tuple[BoxName, RunFiles] | None:
        manifest = self._puller.manifest(self._run, quick=True)
        run = chosen(manifest, self._run)[0]
        receipt.take_back(self._dest, run.run, {"id": manifest.box.id})
        if not run.alive:
            whole = self._puller.manifest(self._run)
            return whole.box, chosen(whole, self._run)[0]
        fresh = [c for c in run.checkpoints if self._is_new(run, c)]
        of_saves = {(c.place, name) for c in run.checkpoints for name in c.members}
        for checkpoint in fresh:
            self._save(run, checkpoint)
        rest = [one for one in run.files if (one.place, one.name) not in of_saves]
        if rest:
            self._puller.bring(replace(run, files=rest))
        return None

    def _is_new(self, run: RunFiles, checkpoint: OneCheckpoint) -> bool:
        known = self._proved.get(run.at_home(checkpoint))
        return checkpoint.state == "ok" and (
            known is None or known.get("digest") != checkpoint.digest
        )

    def _save(self, run: RunFiles, checkpoint: OneCheckpoint) -> None:
        """Bring one checkpoint home and read it."""
        parts = {(checkpoint.place, name) for name in checkpoint.members}
        own = replace(run, files=[one for one in run.files if (one.place, one.name) in parts])
        reader = Reader(f"{self._dest}/{run.run}", self._clock, lambda _name, _done: None)
        why = ""
        for _ in range(TRIES):
            self._puller.bring(own)
            entry, why = reader.one(run, checkpoint)
            if entry is not None:
                self._proved[entry["name"]] = entry
                receipt.remember(f"{self._dest}/{run.run}", self._proved)
                self._tell({"type": "checkpoint", "run": run.run, **entry})
                return
            for one in own.files:
                with contextlib.suppress(OSError):
                    os.utime(f"{self._dest}/{run.run}/{run.at_home(one)}", (0, 0))
        self._tell({"type": "wrong", "run": run.run, "name": run.at_home(checkpoint), "why": why})

    def _standing(self) -> str:
        steps = [one["step"] for one in self._proved.values() if one.get("step") is not None]
        newest = f", the newest of step {max(steps):g}" if steps else ""
        return f"{len(self._proved)} checkpoints{newest}"
