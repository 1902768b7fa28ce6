"""The processes of a run: its main process, its ranks, and everything that they start.

Once a second every process is read through an open descriptor of its /proc/PID/stat. What costs
more (I/O counters, the kernel function it sleeps in) is read once a minute, or every time while
``closer_look`` is set. A process is known by pid and start time: it may outlive its launcher.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator

from middlewatch.sentinels.kit import Observation, ProcessEnded, ProcessesSeen, ProcessSample

from ..config.run_spec import RunSpec
from ..system import procfs
from ..system.exit_status import ExitStatuses
from ..system.listing import Listing
from ..system.sockets import SocketBytes
from ..system.source import Source
from .left_tree import has_left_tree
from .main_end import MainEnd

MOST = 256
"""Processes sampled of one run at most. Eight ranks with 16 data loader workers each are 136. Each
needs a descriptor; of the usual 1024 most are left to the rest of the daemon."""
CLOSER_EVERY = 60
"""Reads between two closer looks: three more files per process, about 30 µs each. While a hang is
judged, every read is a closer look (``closer_look``)."""
TREE_EVERY = 5
"""Reads between two searches among the new pids of the box: a tenth of asking for all children."""
SOCKETS_EVERY = 5
"""Closer looks between two counts of the bytes of sockets, which are listed with all descriptors."""
LOOK_AT = 250
"""New pids of the box that are looked at in one read, 20 to 40 µs each; the others wait for the next
read, a second later. Our choice: 5,000 that are there when a run begins hold up nobody, also where the
daemon gets a tenth of a core, and are known after twenty seconds. What the run itself starts is found through its own processes, at once."""
FORGET_EVERY = 300
"""Reads after which pids that were not of the run are checked again."""
_YOUNG_LOOKS = 2
"""Searches in which the environment of a new process is read again: before exec it is another's."""

_Identity = tuple[int, int]


class _Process:
    """A known process, with its open /proc/PID/stat."""

    __slots__ = ("environ", "file", "last", "looks", "plain", "rank", "raw", "ticks")

    def __init__(self, file: procfs.KeptFile, raw: bytes, seen: procfs.Stat) -> None:
        self.file, self.raw, self.last = file, raw, seen
        self.ticks = seen.start_ticks
        self.plain: ProcessSample | None = None
        """Sample of ``raw`` without the costly figures; used again while ``raw`` is unchanged."""
        self.rank: int | None = None
        self.environ = procfs.Ranks(None, None, None)
        """RANK and related variables; data loader workers inherit those of their rank."""
        self.looks = 0


class Processes(Source):
    """All processes of a run: one :class:`ProcessesSeen` a second, a :class:`ProcessEnded` per end.

    ``root`` is where proc is mounted; ``listing`` is shared with other runs. Without a pid in ``spec``,
    ``read`` returns nothing. It raises PermissionError when the main process exists but is hidden from us.
    """

    name = "processes"
    every_s = 1.0

    def __init__(
        self, spec: RunSpec, root: str = procfs.PROC, listing: Listing | None = None
    ) -> None:
        self.closer_look = False
        """Set while a hang is judged: then every read is a closer look."""
        self._turned_away: set[int] = set()
        self._spec, self._root = spec, root
        self._listing = listing or Listing(root=root, fresh_s=0.0)
        self._known: dict[int, _Process] = {}
        self._ranks = {rank.pid: rank for rank in spec.ranks}
        self._reads = 0
        self._sockets: SocketBytes | None = None
        """Exists while a silence is judged."""
        self._stale = True
        self._elsewhere: set[int] = set()
        self._unseen: dict[int, None] = {}
        """New pids of the box that are still to be looked at, in order."""
        self._zombies: set[_Identity] = set()
        """Ended processes that were reported, but still exist because nobody has reaped them."""
        self._exits = ExitStatuses()
        self._main = MainEnd(spec, self._exits, root)
        self._unfollowed: list[int] = []
        """Known processes whose exit status nobody follows yet."""

    @property
    def left_out(self) -> int:
        """Processes of the run that are not sampled: more than ``MOST``, or hidden from us."""
        return len(self._turned_away)

    def read(self, now: float) -> Iterable[Observation]:
        """First the processes that ended since the last read, then all that live."""
        if self._spec.pid is None:
            return []
        out: list[Observation] = []
        if self._reads == 0:
            out += self._begin(now)
        elif self._stale:
            self._look_for_children()
        elif self._reads % TREE_EVERY == 0:
            self._look_at_box()
            self._settle_ranks()
        elif self._unseen:
            self._look_at_new()
            self._settle_ranks()
        if self._unfollowed and self._root == procfs.PROC:
            self._exits.follow(self._unfollowed)
        self._unfollowed.clear()
        closer = self.closer_look or self._reads % CLOSER_EVERY == 0
        moved = self._socket_bytes()
        samples = []
        for pid, process in list(self._known.items()):
            seen = self._look(process)
            if seen is None or seen.ended:
                out += self._end(pid, process, seen, now)
            else:
                samples.append(self._sample(process, seen, closer, moved.get(pid)))
        out += self._main.tell(now, (process.last for process in self._known.values()))
        out.append(ProcessesSeen(now, tuple(samples)))
        self._reads += 1
        return out

    def close(self) -> None:
        """Close all kept descriptors."""
        for process in self._known.values():
            process.file.close()
        self._known.clear()
        self._exits.close()

    # -- who belongs to the run ---------------------------------------------------------

    def _begin(self, now: float) -> Iterator[Observation]:
        """Find the processes that ``spec`` names."""
        main, ticks = self._main.main
        assert main is not None
        found = self._adopt(main, ticks)
        if found is None:
            self._say_if_hidden(main)
            self._main.gone()
        else:
            self._main.main = (main, found.ticks)
        for rank in self._spec.ranks:
            if rank.pid == main or self._adopt(rank.pid, rank.start_ticks):
                continue
            yield ProcessEnded(now, rank.pid, main=False, rank=rank.rank)
        self._look_for_children()

    def _adopt(self, pid: int, ticks: int | None = None) -> _Process | None:
        """Begin to watch ``pid``; ``None`` if it is gone, or was started at another time."""
        if pid in self._known:
            return self._known[pid]
        try:
            file = procfs.KeptFile(f"{self._root}/{pid}/stat")
        except (FileNotFoundError, ProcessLookupError):
            return None
        except PermissionError as error:
            raise _hidden(pid, self._root) from error
        raw = _content(file)
        seen = procfs.parse_stat(raw)
        if (
            seen is None
            or (ticks is not None and seen.start_ticks != ticks)
            or (pid, seen.start_ticks) in self._zombies
        ):
            file.close()
            return None
        process = self._known[pid] = _Process(file, raw, seen)
        self._unfollowed.append(pid)
        given = self._ranks.get(pid)
        if given is not None and given.start_ticks == seen.start_ticks:
            process.rank = given.rank
        return process

    def _look_for_children(self) -> None:
        """Add new descendants, up to ``MOST`` processes."""
        self._stale = False
        self._turned_away.clear()
        self._zombies = {z for z in self._zombies if self._still_there(z)}
        self._take_children(list(self._known))
        self._look_at_box()
        self._settle_ranks()

    def _look_at_box(self) -> None:
        """Note the new pids of the box, and look at some of them. Those that have just come go first:
        what was there at the start of a run on a full box can wait."""
        if self._reads % FORGET_EVERY == 0:
            self._elsewhere.clear()
        try:
            present = self._listing.pids()
        except OSError:
            return
        self._elsewhere &= present
        self._turned_away &= present
        new = present - self._elsewhere - self._known.keys()
        if len(self._known) >= MOST:
            new -= self._turned_away
        waiting = [pid for pid in self._unseen if pid in new]
        self._unseen = dict.fromkeys((*sorted(new.difference(waiting)), *waiting))
        self._look_at_new()

    def _look_at_new(self) -> None:
        """Read the parent of :data:`LOOK_AT` new pids, and add the descendants of the run."""
        parents: dict[int, list[int]] = {}
        left, since = self._spec.exit_file, self._spec.start_ticks or 0
        for pid in list(itertools.islice(self._unseen, LOOK_AT)):
            del self._unseen[pid]
            # OSError: the process ended between listing and reading, or may not be read.
            with contextlib.suppress(OSError):
                seen = self._listing.stat(pid)
                if seen and has_left_tree(seen, left, since, self._listing, self._root):
                    self._take_children(self._take_in((pid,)))
                elif seen:
                    parents.setdefault(seen.ppid, []).append(pid)
        queue = list(self._known)
        while queue:
            fresh = self._take_in(parents.pop(queue.pop(), ()))
            # Its own children may have been looked at before it, and not been known for that.
            queue += fresh + self._take_children(fresh)
        self._elsewhere.update(pid for pids in parents.values() for pid in pids)

    def _take_children(self, queue: list[int]) -> list[int]:
        """Add all that these processes have started; returns what is new."""
        found: list[int] = []
        queue = list(queue)
        while queue:
            pids = procfs.children(queue.pop(), self._root, all_threads=False)
            fresh = self._take_in(pids or ())
            queue += fresh
            found += fresh
        return found

    def _take_in(self, pids: Iterable[int]) -> list[int]:
        """Begin to watch these pids; returns those that are new."""
        fresh = []
        for pid in pids:
            if pid in self._known:
                continue
            try:
                if len(self._known) >= MOST:
                    self._turned_away.add(pid)
                elif self._adopt(pid) is not None:
                    fresh.append(pid)
            except OSError:  # set-uid under hidepid, or no descriptors left
                self._turned_away.add(pid)
        return fresh

    def _settle_ranks(self) -> None:
        """Find the ranks: for each RANK, the topmost process with it; workers only inherit it.

        A launcher may itself have a RANK (that of its node), but no LOCAL_RANK; then the process
        that has both is the rank.
        """
        for process in self._known.values():
            if process.looks <= _YOUNG_LOOKS:
                process.environ = procfs.ranks(process.last.pid, self._root)
            process.looks += 1
        holders = {p.rank: p for p in self._known.values() if p.rank is not None}
        for process in self._known.values():
            mine = process.environ
            parent = self._known.get(process.last.ppid)
            if mine.rank is None or process.rank is not None:
                continue
            if parent is not None and parent.environ == mine:
                continue
            holder = holders.get(mine.rank)
            if holder is not None:
                given = holder.last.pid in self._ranks
                if given or mine.local_rank is None or holder.environ.local_rank is not None:
                    continue
                holder.rank = holder.plain = None
            process.rank, process.plain = mine.rank, None
            holders[mine.rank] = process

    def _still_there(self, identity: _Identity) -> bool:
        with contextlib.suppress(OSError):
            seen = procfs.stat(identity[0], self._root)
            return seen is not None and seen.start_ticks == identity[1]
        return False

    def _say_if_hidden(self, pid: int) -> None:
        """Raise PermissionError if ``pid`` exists but ``hidepid`` hides its directory."""
        if self._root != procfs.PROC or procfs.exists(pid, self._root):
            return
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        except OSError as error:
            raise _hidden(pid, self._root) from error
        raise _hidden(pid, self._root)

    # -- what they do -------------------------------------------------------------------

    def _look(self, process: _Process) -> procfs.Stat | None:
        """Its stat now; ``None`` if it is gone, or (in a copy of /proc) the pid was reused."""
        raw = _content(process.file)
        if raw == process.raw:
            return process.last
        seen = procfs.parse_stat(raw)
        if seen is None or seen.start_ticks != process.ticks:
            return None
        if not seen.ended:
            process.last, process.raw, process.plain = seen, raw, None
        return seen

    def _socket_bytes(self) -> dict[int, int]:
        """Bytes of the sockets of each process, while a silence is judged and it is time."""
        if not self.closer_look:
            self._sockets = None
            return {}
        if self._reads % SOCKETS_EVERY:
            return {}
        self._sockets = self._sockets or SocketBytes(self._root)
        return self._sockets.read(tuple(self._known))

    def _sample(
        self, process: _Process, seen: procfs.Stat, closer: bool, moved: int | None
    ) -> ProcessSample:
        if process.plain is not None and not closer:
            return process.plain
        io = procfs.io(seen.pid, self._root) if closer else None
        sample = ProcessSample(
            pid=seen.pid,
            start_ticks=seen.start_ticks,
            ppid=seen.ppid,
            name=seen.name,
            state=seen.state,
            cpu_s=seen.cpu_s,
            rank=process.rank,
            read_bytes=io.rchar if io else None,
            write_bytes=io.wchar if io else None,
            rss_bytes=seen.rss_bytes,
            wchan=procfs.wchan(seen.pid, self._root) if closer else None,
            socket_bytes=moved,
        )
        if not closer:
            process.plain = sample
        return sample

    # -- how they end -------------------------------------------------------------------

    def _end(
        self, pid: int, process: _Process, seen: procfs.Stat | None, now: float
    ) -> Iterator[Observation]:
        """Forget an ended process and report its end; that of the main one is for ``MainEnd``."""
        process.file.close()
        del self._known[pid]
        self._stale = True
        if seen is not None:
            self._zombies.add((pid, process.ticks))
        if (pid, process.ticks) == self._main.main:
            self._main.gone(seen or process.last)
            return
        code, signal = self._main.status(pid, seen)
        self._exits.forget(pid)
        yield ProcessEnded(
            now,
            pid,
            False,
            code,
            signal,
            process.rank,
            process.last.name,
            lived_s=self._lived(process),
        )

    def _lived(self, process: _Process) -> float | None:
        """Seconds since its start; ``None`` where the box counts its uptime from another moment."""
        up = procfs.uptime_s(self._root)
        lived = -1.0 if up is None else up - process.ticks * procfs.TICK_S
        return lived if lived >= 0.0 else None


def _content(file: procfs.KeptFile) -> bytes:
    """Content of the file; empty when the process is gone."""
    try:
        return file.read()
    except OSError:
        return b""


def _hidden(pid: int, root: str) -> PermissionError:
    what = f"process {pid} is hidden from us: {root} is mounted with hidepid"
    return PermissionError(f"{what}; watch as root or as the user who runs the training")
