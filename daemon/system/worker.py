"""A child process that answers questions in JSON lines, behind a deadline.

Whatever is heavy, or can block for ever (a driver call on a dying GPU, ``statvfs`` on a dead
mount), runs in such a child: one question per line on its stdin, one JSON object per line on its
stdout. At most one question is open at a time. The owner waits for :meth:`JsonWorker.fileno` in
its selector and calls :meth:`JsonWorker.overdue` regularly. No function here blocks.

A child has its own session and a low priority, and ends with the daemon: it is started through a
small program (the leash, in :mod:`.worker_main`), which asks the kernel for a death signal and
then executes the real program. A hook between fork and exec could do the same, but would copy the
page tables of the daemon at every start.

A child in uninterruptible sleep survives SIGKILL. Its pid is then in ``stuck_pid``, and no other
child is started until it is gone: that would get stuck as well.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import descriptors
from .descriptors import Spare, Use

LONGEST_LINE = 1 << 20
"""Longest answer in bytes. 16 GPUs with 100 processes each need 60 KiB."""
_PIPES, _AT_START = 3, 6
"""Descriptors of a living child, and while one is started."""
_WORDS = 2048
_CHUNK = 1 << 16
_ANSWERS_AT_ONCE = 64
_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _URGENT_PAUSE_S = 1.0, 60.0, 5.0
_STEADY_S = 60.0
"""After a child has lived this long and has answered, the pause before a restart is short again.
Our choice."""
_MODULE = re.compile(r"from [\w.]*?(\w+) import main;")
_made: weakref.WeakSet[JsonWorker] = weakref.WeakSet()
_LEASH = str(Path(__file__).with_name("worker_main.py"))


def workers() -> list[JsonWorker]:
    """Every worker of this process, for a report; most have no child now."""
    return list(_made)


class JsonWorker:
    """One child at a time. It is started when a question is asked; after a failure the pause
    before the next start grows from 1 to 60 s, or to 5 s for one that must not wait.

    ``deadline_s``: seconds that an answer may take; ``start_deadline_s`` (default: the same): the
    first answer of a new process. ``env`` replaces the environment. ``walls``: what it gives up, by
    its name in :mod:`.walls` (empty: nothing); ``folders``: where it may change files, if its walls
    list some. Both may be changed later, and hold from the next start on. ``can_wait``: where
    descriptors are scarce, it is started later, and ended when it has nothing to do. ``spare``: holds
    the descriptors of a start from now on, for a child that must not wait for them.
    """

    def __init__(
        self,
        argv: Sequence[str],
        deadline_s: float,
        env: Mapping[str, str] | None = None,
        start_deadline_s: float | None = None,
        walls: str = "usual",
        folders: Sequence[str] = (),
        *,
        can_wait: bool = False,
        spare: Spare | None = None,
    ) -> None:
        _made.add(self)
        self.can_wait = can_wait
        self.waits = False
        """It was not started for want of descriptors."""
        self._spare = spare
        if spare is not None:
            spare.hold(_AT_START)
        self.walls = walls
        self.folders = tuple(folders)
        self.argv = tuple(argv)
        self.deadline_s = deadline_s
        self.start_deadline_s = deadline_s if start_deadline_s is None else start_deadline_s
        self.pid: int | None = None
        """Pid of the living child; ``None`` when there is none."""
        self.exit_status: int | None = None
        """Of the newest child; negative: the signal that ended it; ``None``: not known (yet)."""
        self.starts = 0
        self.start_error = ""
        """Why the latest start failed; empty after a successful one."""
        self._env = env
        self._killed: int | None = None
        self._stdin = self._stdout = self._stderr = -1
        self._unsent = b""
        self._partial = bytearray()
        self._skipping = False
        self._words = b""
        self._due: float | None = None
        self._mono = 0.0
        self._born = 0.0
        self._answered = False
        self._pause_s = _FIRST_PAUSE_S
        self._not_before = float("-inf")

    @property
    def name(self) -> str:
        """Name of the module that it runs, or of its program."""
        module = _MODULE.search(self.argv[-1])
        return module[1] if module else os.path.basename(self.argv[0])

    def fileno(self) -> int | None:
        """The descriptor to wait on for reading, or ``None`` while no child lives."""
        return self._stdout if self._stdout >= 0 else None

    @property
    def alive(self) -> bool:
        """True while a child runs that was not killed."""
        return self.pid is not None

    @property
    def waiting(self) -> bool:
        """True while an answer is outstanding."""
        return self._due is not None

    @property
    def stuck_pid(self) -> int | None:
        """Pid of a killed child that still exists: for a moment after every kill, or for long."""
        self._look_after()
        return self._killed

    @property
    def last_words(self) -> str:
        """The end of stderr of the newest child, at most 2 KiB."""
        self._listen()
        return self._words.decode("utf-8", "replace").strip()

    def ask(self, message: Mapping[str, Any], mono: float) -> bool:
        """Send a question, starting the child when there is none.

        ``mono`` is monotonic time in seconds. ``False`` while an answer is outstanding, and
        while no child may or can be started (stuck, pausing after a failure, no memory).
        """
        self._mono = mono
        self._look_after()
        if self._due is not None:
            self._send()
            return False
        fresh = self.pid is None
        if fresh and not self._start():
            return False
        descriptors.own.forget(self)
        self._unsent = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        self._due = mono + (self.start_deadline_s if fresh else self.deadline_s)
        self._send()
        return True

    def answers(self) -> list[dict[str, Any]]:
        """The JSON objects that have arrived, oldest first; call when ``fileno`` is readable.

        Lines that are no object or longer than 1 MiB are dropped.
        """
        found: list[dict[str, Any]] = []
        hung_up = False
        for _ in range(LONGEST_LINE // _CHUNK):
            if self._stdout < 0 or len(found) >= _ANSWERS_AT_ONCE:
                break
            try:
                chunk = os.read(self._stdout, _CHUNK)
            except BlockingIOError:
                break
            if not chunk:
                hung_up = True
                break
            found += self._objects(chunk)
        if found:
            self._due = None
            self._answered = True
            if self.can_wait and not hung_up:
                descriptors.own.offer(self, Use.IDLE_CHILD, _PIPES)
        if hung_up:
            self._bury(failed=False)
        else:
            self._look_after()
        return found[:_ANSWERS_AT_ONCE]

    def overdue(self, mono: float) -> float:
        """Seconds past the deadline of the outstanding answer, else 0."""
        self._mono = mono
        self._look_after()
        self._send()
        return 0.0 if self._due is None else max(0.0, mono - self._due)

    def restart(self) -> None:
        """Kill the child; the next question starts another one, after a pause."""
        if self.pid is not None:
            self._bury(failed=True)

    def close(self) -> None:
        """Kill the child and forget it; safe to call twice."""
        self.restart()
        self.waits = False
        if self._spare is not None:
            self._spare.give()
        if self._killed is not None:
            _left.add(self._killed)  # other workers reap it: this object is not used any more

    def give_back(self) -> bool:
        """End the child, which has nothing to do now; the next question starts another one."""
        self._bury(failed=False, idle=True)
        return True

    def _has_room(self) -> bool:
        """Whether there are descriptors for a start. Only a child that cannot wait takes those that
        are kept for something more useful than speed, and the last ones."""
        if not self.can_wait:
            if not descriptors.own.make_room(_AT_START) and self._spare is not None:
                self._spare.give()
            return True  # if that was not enough, the start says so
        spare = _AT_START + descriptors.own.reserved // 4
        self.waits = not descriptors.own.make_room(spare, below=Use.QUIET_LOG)
        return not self.waits

    def _start(self) -> bool:
        if self._killed is not None or self._mono < self._not_before or not self._has_room():
            return False
        limit = str(descriptors.limit_of_children())
        walls = (self.walls, str(len(self.folders)), *self.folders)
        argv = (sys.executable, "-I", "-S", _LEASH, str(os.getpid()), limit, *walls, *self.argv)
        theirs: list[int] = []
        ours: list[int] = []
        try:
            for child_reads in (True, False, False):
                read, write = os.pipe2(os.O_CLOEXEC)
                theirs.append(read if child_reads else write)
                ours.append(write if child_reads else read)
            self.pid = os.posix_spawn(
                sys.executable,
                argv,
                os.environ if self._env is None else self._env,
                file_actions=[(os.POSIX_SPAWN_DUP2, fd, i) for i, fd in enumerate(theirs)],
                setsigmask=(),  # the daemon may have blocked what it reads by descriptor
                setsigdef=(signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP),
            )
        except OSError as error:
            self.start_error = f"cannot start {self.argv[0]}: {error.strerror}"
            self._be_patient()
            _close(*ours)
            return False
        finally:
            _close(*theirs)
            if self._spare is not None:
                self._spare.hold(_AT_START - _PIPES)
        for fd in ours:
            os.set_blocking(fd, False)
        self._stdin, self._stdout, self._stderr = ours
        self._partial.clear()
        self._skipping = False
        self._words = b""
        self.start_error = ""
        self.exit_status = None
        self._born = self._mono
        self._answered = False
        self.starts += 1
        return True

    def _send(self) -> None:
        """Write the rest of the question. If the child is gone, EOF on its stdout will show it."""
        if not self._unsent:
            return
        try:
            self._unsent = self._unsent[os.write(self._stdin, self._unsent) :]
        except BlockingIOError:
            return
        except OSError:
            self._unsent = b""

    def _objects(self, chunk: bytes) -> list[dict[str, Any]]:
        """The JSON objects of all lines that end in this chunk."""
        found = []
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._collect(end)
            if not self._skipping:
                found += self._object(bytes(self._partial))
            self._partial.clear()
            self._skipping = False
        self._collect(rest)
        return found

    def _collect(self, piece: bytes) -> None:
        """Add to the unfinished line, or drop the line once it is too long."""
        if self._skipping:
            return
        self._partial += piece
        if len(self._partial) > LONGEST_LINE:
            self._partial.clear()
            self._skipping = True

    def _object(self, line: bytes) -> list[dict[str, Any]]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        return [value] if isinstance(value, dict) else []

    def _listen(self) -> None:
        """Read the child's stderr, so that a full pipe never blocks the child."""
        for _ in range(16):
            if self._stderr < 0:
                return
            try:
                chunk = os.read(self._stderr, _CHUNK)
            except OSError:
                return
            if not chunk:
                return
            self._words = (self._words + chunk)[-_WORDS:]

    def _look_after(self) -> None:
        self._listen()
        if _left:
            _left.difference_update([pid for pid in _left if pid != self._killed and _gone(pid)])
        if self._killed is not None and self._reap(self._killed):
            self._killed = None
        if self.pid is not None and self._answered and self._mono - self._born > _STEADY_S:
            self._pause_s = _FIRST_PAUSE_S

    def _bury(self, failed: bool, *, idle: bool = False) -> None:
        """End the child, read the rest of its stderr and close its pipes."""
        descriptors.own.forget(self)
        pid, self.pid = self.pid, None
        if pid is not None and not self._reap(pid):
            # The child leads its session: helpers that it started go with it.
            for end in (os.killpg, os.kill):
                with contextlib.suppress(OSError):
                    end(pid, signal.SIGKILL)
            self._killed = None if self._reap(pid) else pid
        if idle and self._killed is not None:  # it did nothing in which it could be stuck
            _left.add(self._killed)
            self._killed = None
        self._listen()
        _close(self._stdin, self._stdout, self._stderr)
        self._stdin = self._stdout = self._stderr = -1
        if self._spare is not None:
            self._spare.hold(_AT_START)
        # None (not known yet) is usual for a child that ends by itself: its pipe closes first.
        ended = self._due is not None or self.exit_status not in (0, None)
        if failed or (ended and not idle):
            self._be_patient()
        self._due = None
        self._unsent = b""
        self._partial.clear()

    def _reap(self, pid: int) -> bool:
        """True when ``pid`` has ended; keeps its exit status."""
        try:
            reaped, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return True  # somebody else took it, or SIGCHLD is ignored
        if reaped:
            self.exit_status = os.waitstatus_to_exitcode(status)
        return bool(reaped)

    def _be_patient(self) -> None:
        self._not_before = self._mono + self._pause_s
        longest_s = _LONGEST_PAUSE_S if self._spare is None else _URGENT_PAUSE_S
        self._pause_s = min(2 * self._pause_s, longest_s)


_left: set[int] = set()
"""Killed children of closed workers, and of idle ones, that are still to be reaped."""


def _gone(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def module_argv(module: str) -> tuple[str, ...]:
    """The command line that runs ``main()`` of one of our modules as a child.

    It is searched where this process searches modules (also in a user's site-packages, which
    ``-I`` would leave out), but never in the working directory.
    """
    program = f"import sys; sys.path[0:1] = []; from {module} import main; sys.exit(main())"
    return (sys.executable, "-c", program)


def _close(*fds: int) -> None:
    for fd in fds:
        if fd >= 0:
            os.close(fd)
