"""One copy from its first byte to its receipt, in slices: for the copier and for the command."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from ..system.files import write_whole
from .by_rclone import RcloneDestination
from .by_rsync import RsyncDestination
from .local import FolderDestination
from .receipt import CopyJob, MirrorError
from .remote import Destination, Outcome, mirror
from .targets import MirrorTarget, check_mounted, mount_of

_LONGEST_MEMORY = 1 << 20


class Copying:
    """A copy that can be stopped after every piece of work, and continued later."""

    def __init__(
        self,
        job: CopyJob,
        place: MirrorTarget,
        now: Callable[[], str],
        *,
        limit_bytes_per_s: int = 0,
        memory: str = "",
        again: bool = False,
    ) -> None:
        """``now`` gives ISO 8601. ``again``: also read back a copy that is there already.

        ``memory``: path of the file that keeps what was mounted at each destination; empty for
        none.
        """
        self.job = job
        self.done = 0
        """Bytes read so far, of the source and of its copy."""
        self.total = 2 * job.bytes
        self._place = place
        self._memory = memory
        # rsync and rclone limit their rate themselves.
        self._limit = limit_bytes_per_s if place.kind == "folder" else 0
        self._ahead_s = 0.0
        self._at = 0.0
        self._work = mirror(job, destination_of(place, limit_bytes_per_s), now, again=again)
        self._begun = False

    def advance(self, stop: Callable[[], bool]) -> Outcome | None:
        """Work until ``stop()`` is true; returns ``None`` while there is more to do.

        Raises :class:`MirrorError` when the copy failed; a new try needs a new object.
        """
        if not self._begun and self._place.kind == "folder":
            check_place(self._place, self._memory)
        self._begun = True
        self._at = _mono()
        try:
            while True:
                tick = next(self._work)
                self.done = min(self.total, self.done + tick.read)
                self._keep_pace(tick.sent)
                if stop():
                    return None
        except StopIteration as end:
            self.done = self.total
            outcome: Outcome = end.value
        if self._place.kind == "folder":
            remember_place(self._place, self._memory)
        return outcome

    def close(self) -> None:
        """End the copy early; the bytes copied so far are kept under the temporary name."""
        self._work.close()

    def _keep_pace(self, sent: int) -> None:
        if not self._limit:
            return
        now = _mono()
        self._ahead_s = max(0.0, self._ahead_s - (now - self._at)) + sent / self._limit
        self._at = now
        if self._ahead_s > 0.05:  # shorter sleeps cost more than they save
            time.sleep(min(self._ahead_s, 1.0))


def _mono() -> float:
    return time.monotonic()  # noqa: TID251 (a separate process, without the clock of the daemon)


def destination_of(place: MirrorTarget, limit_bytes_per_s: int) -> Destination:
    """The destination at ``place``, by its kind."""
    if place.kind == "folder":
        return FolderDestination(place.path)
    if place.kind == "ssh":
        return RsyncDestination(place, limit_bytes_per_s)
    return RcloneDestination(place, limit_bytes_per_s)


def forget(path: str, below: str, place: MirrorTarget) -> None:
    """Delete the partial copy of a checkpoint that does not exist any more, if that is possible."""
    gone = CopyJob(path, below, folder=False, items=())
    with contextlib.suppress(MirrorError):
        for _ in destination_of(place, 0).discard(gone):
            pass


def check_place(place: MirrorTarget, memory: str) -> None:
    """Raises MirrorError when a file system that should be mounted at a folder is not.

    ``memory``: path of the file that keeps what was mounted where; empty for none.
    """
    check_mounted(place.path, _remembered(memory).get(str(place)))


def remember_place(place: MirrorTarget, memory: str) -> None:
    """Write down what is mounted at a folder."""
    on = mount_of(place.path)
    what = {"point": on.point, "kind": on.fstype, "source": on.source}
    _remember(memory, str(place), what)


def _remembered(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            found = json.loads(file.read(_LONGEST_MEMORY))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _remember(path: str, to: str, mount: Mapping[str, str]) -> None:
    """Write down what is mounted; errors are ignored, as a full disk must not fail a good copy."""
    if not path:
        return
    known = _remembered(path)
    if known.get(to) == mount:
        return
    known[to] = dict(mount)
    with contextlib.suppress(OSError):
        write_whole(path, json.dumps(known, indent=1), durable_name=False, private=True)
