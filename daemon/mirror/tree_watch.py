"""Says which files of a tree have changed: by events of the kernel, or by looking.

What is said here is a hint. A hint that is missed costs time, and no file: the tree is also looked at
whole, at the start, when hints may have been lost, and at long intervals.

| how | where |
| --- | --- |
| ``events`` | on file systems of this kernel: inotify, through watchdog |
| ``polling`` | where the kernel tells nothing (network, FUSE) or has no watch left: watchdog's polling |
| ``looking`` | the same, for trees too large for that: the times of all folders, and the files that changed lately |

A network or FUSE file system tells of what this machine changes, and that is nearly all that a run changes.
So a tree that is looked at has inotify beside it, and is looked at more rarely once that reaches every folder.

Watchdog's polling keeps two snapshots of the tree and takes one in each interval: 100,000 files took
200 MB and 1.6 s of CPU each time (watchdog 7.1, bindfs).
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterable
from typing import Any, Literal

from watchdog.events import (
    DirCreatedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers.inotify import InotifyObserver
from watchdog.observers.polling import PollingObserverVFS

from . import tree_walk

How = Literal["events", "polling", "looking"]
POLL_S = 2.0
_LOOK_S = 1.0
"""Seconds between two looks at the times of folders, at least: the copier is asked every two."""
REST_S, _REST_SHARE = 1800.0, 5000
"""Seconds between two looks at the whole tree where the kernel tells of all changes, and so many times as
long as the look took: 0.02 % of a core. Our choice, as the next."""
POLLED_REST_S, POLLED_SHARE = 60.0, 50
"""The same where it tells nothing: 2 % of a core."""
_HEARD_SHARE = 1000
"""… and where it tells what this machine changes, for the whole tree as for its folders: 0.1 % each."""
MOST_POLLED = 2000
"""Files and folders that watchdog polls: 40 ms of CPU in each interval, by the figures above."""
MOST_HINTS = 20_000
"""Files that are remembered as changed. Beyond, the tree is looked at whole."""
LATELY_S = 600.0
"""A file that changed this long ago is looked at each time: a log is written to more often. Our choice."""
_MOST_LATELY = 2000
_MOST_FOLDERS = 20_000
_TICK_NS = 2_000_000_000
"""A folder that changed this shortly before it was looked at is looked at again: the times of some file
systems have whole seconds."""
_QUEUED = "/proc/sys/fs/inotify/max_queued_events"
_USUAL_QUEUE = 16384
_KINDS: list[type[FileSystemEvent]] = [
    *(FileCreatedEvent, FileModifiedEvent, FileMovedEvent, FileDeletedEvent),
    *(DirCreatedEvent, DirMovedEvent),
]


class _Hints(FileSystemEventHandler):
    """Collects events, in a thread of watchdog."""

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/") + "/"
        self._lock = threading.Lock()
        self._files: dict[str, float] = {}
        self._folders: dict[str, float] = {}
        self._count = 0

    def on_any_event(self, event: FileSystemEvent) -> None:
        now = _mono()
        with self._lock:
            self._count += 1
            for path in (event.src_path, event.dest_path):
                name = os.fsdecode(path).removeprefix(self._root) if path else ""
                if name and not name.startswith("/"):
                    kept = self._folders if event.is_directory else self._files
                    if len(kept) <= MOST_HINTS:
                        kept.setdefault(name, now)

    def take(self) -> tuple[dict[str, float], dict[str, float], int]:
        """Files, folders and the number of events since the last call."""
        with self._lock:
            taken = self._files, self._folders, self._count
            self._files, self._folders, self._count = {}, {}, 0
        return taken


class TreeWatch:
    """Watches one tree."""

    def __init__(self, root: str, fd: int, how: How, leave: tuple[str, ...]) -> None:
        """``root``: a path of the tree without links; ``fd``: the tree, opened. Raises OSError."""
        self.how = how
        self._fd = fd
        self._leave = leave
        self._hints = _Hints(root)
        self._observer: Any = None
        self._before = 0
        self._folders: dict[str, int] = {}
        """For ``looking``: the times of the folders; 0 for one that is to be looked at again."""
        self._lately: dict[str, tuple[int, int]] = {}
        """For ``looking``: size and time of the files that changed lately."""
        self._look_at = float("-inf")
        self._hears = False
        """For ``looking``: every folder has a watch of inotify."""
        self._queue = _queue_length()
        watches = _watches()
        self._observer = _polling() if how == "polling" else InotifyObserver()
        try:
            self._observer.daemon = True
            self._observer.schedule(self._hints, root, recursive=True, event_filter=_KINDS)
            self._observer.start()
        except BaseException as trouble:
            self.close()
            if how != "looking" or not isinstance(trouble, OSError):
                raise
        self._before = watches

    def watched(self) -> int:
        """Folders that the kernel tells us about: those of this watch, if no other began meanwhile."""
        return _watches() - self._before

    def changed(self) -> tuple[dict[str, float], dict[str, float], bool]:
        """Files and folders that may have changed since the last call, with the monotonic time of the
        first hint; and whether hints may have been lost."""
        files, folders, count = self._hints.take()
        # The kernel drops events once its queue is full, and not every watchdog says so.
        lost = count > self._queue // 4 or max(len(files), len(folders)) > MOST_HINTS
        if self.how == "looking":
            files = self._look() | files
        return files, folders, lost

    def rest_s(self, folders: int, took_s: float) -> float:
        """Seconds until the tree is to be looked at whole again. The newest look met so many folders, and
        took so many seconds of CPU."""
        if self.how == "events":
            return max(REST_S, took_s * _REST_SHARE)
        self._hears = self._observer is not None and self.watched() >= folders
        if self.how == "looking" and not self._hears:
            self.close()  # its watches would be missing elsewhere on this box
        return max(POLLED_REST_S, took_s * (_HEARD_SHARE if self._hears else POLLED_SHARE))

    def saw(self, folder: tree_walk.Folder, now_ns: int) -> None:
        """A folder was looked at; ``looking`` compares with that."""
        if self.how != "looking":
            return
        if len(self._folders) < _MOST_FOLDERS or folder.name in self._folders:
            fresh = abs(now_ns - folder.mtime_ns) < _TICK_NS
            self._folders[folder.name] = 0 if fresh else folder.mtime_ns
        for name, info in folder.files:
            if now_ns - info.st_mtime_ns < LATELY_S * 1e9:
                self._remember(name, info)

    @property
    def dead(self) -> bool:
        """True when it has stopped: the tree was deleted, or a thread of watchdog has failed."""
        if self._observer is None or self.how == "looking":
            return False
        if not self._observer.is_alive():
            return True
        return not any(emitter.is_alive() for emitter in self._observer.emitters)

    def close(self) -> None:
        """Stop watching. Does not wait for the threads: one may be polling a dead mount."""
        if self._observer is not None:
            with contextlib.suppress(Exception):
                self._observer.stop()
            self._observer = None

    def _look(self) -> dict[str, float]:
        now, began_s = _mono(), time.thread_time()
        if now < self._look_at:
            return {}
        found: dict[str, float] = {}
        now_ns = time.time_ns()
        for name, mtime_ns in list(self._folders.items()):
            try:
                changed = os.stat(name or ".", dir_fd=self._fd, follow_symlinks=False).st_mtime_ns
            except OSError:
                del self._folders[name]
                continue
            if changed != mtime_ns:
                found |= dict.fromkeys(self._again(name, now_ns), now)
        for name, (size, mtime_ns) in list(self._lately.items()):
            try:
                info = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
            except OSError:
                del self._lately[name]
                continue
            if (info.st_size, info.st_mtime_ns) != (size, mtime_ns):
                found[name] = now
                self._lately[name] = info.st_size, info.st_mtime_ns
            elif now_ns - info.st_mtime_ns > LATELY_S * 1e9:
                del self._lately[name]
        took_s = time.thread_time() - began_s
        self._look_at = _mono() + max(_LOOK_S, took_s * _HEARD_SHARE if self._hears else 0.0)
        return found

    def _again(self, name: str, now_ns: int) -> Iterable[str]:
        """The files of a folder that was changed, and of those that are new in it."""
        todo = [name]
        while todo:
            try:
                folder = tree_walk.look(self._fd, todo.pop(), self._leave)
            except OSError:
                continue
            todo += [one for one in folder.folders if one not in self._folders]
            self.saw(folder, now_ns)
            yield from (name for name, _ in folder.files)

    def _remember(self, name: str, info: os.stat_result) -> None:
        if len(self._lately) >= 2 * _MOST_LATELY:
            newest = sorted(self._lately.items(), key=lambda one: one[1][1])[-_MOST_LATELY:]
            self._lately = dict(newest)
        self._lately[name] = info.st_size, info.st_mtime_ns


def _polling() -> PollingObserverVFS:
    """Watchdog's polling, which would follow links by itself."""
    return PollingObserverVFS(os.lstat, os.scandir, polling_interval=POLL_S)


def _watches() -> int:
    """Watches of all inotify instances of this process, as the kernel counts them."""
    count = 0
    with os.scandir("/proc/self/fd") as entries:
        numbers = [entry.name for entry in entries]
    for number in numbers:
        with contextlib.suppress(OSError):
            if "inotify" not in os.readlink(f"/proc/self/fd/{number}"):
                continue
            with open(f"/proc/self/fdinfo/{number}", "rb") as file:
                count += sum(line.startswith(b"inotify") for line in file)
    return count


def _queue_length() -> int:
    try:
        with open(_QUEUED, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return _USUAL_QUEUE


def _mono() -> float:
    return time.monotonic()  # noqa: TID251 (a separate process, without the clock of the daemon)
