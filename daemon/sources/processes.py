"""The processes of a run: its main process, its ranks, and everything that they start.

Once a second every process is read, through an open descriptor of its /proc/PID/stat as long as there
are enough. What costs more (I/O counters, the kernel function it sleeps in) is read once a minute, or
every time while ``closer_look`` is set. A process is known by pid and start time: it may outlive its
launcher.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator

from middlewatch.sentinels.kit import Observation, ProcessEnded, ProcessesSeen, ProcessSample

from ..config.run_spec import RunSpec
from ..system import procfs
from ..system.asking import waits_in
from ..system.descriptors import Use, none_left
from ..system.exit_status import ExitStatuses
from ..system.hidden import hidden, say_if_hidden
from ..system.kept_file import KeptFile
from ..system.listing import Listing
from ..system.sockets import SocketBytes
from ..system.source import Source
from ..system.switches import switches
from .left_tree import has_left_tree
from .main_end import MainEnd, Witness
from .run_process import RunProcess, settle_ranks

MOST = 256
"""Processes sampled of one run at most. Eight ranks with 16 data loader workers each are 136. A look
at each takes 20 µs."""
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
_Identity = tuple[int, int]


class Processes(Source):
    """All processes of a run: one :class:`ProcessesSeen` a second, a :class:`ProcessEnded` per end.

    ``root`` is where proc is mounted; ``listing`` is shared with other runs. Without a pid in ``spec``,
    ``read`` returns nothing. It raises PermissionError when the main process exists but is hidden from us.
    """

    name = "processes"
    every_s = 1.0
    urgent = True

    def __init__(
        self,
        spec: RunSpec,
        root: str = procfs.PROC,
        listing: Listing | None = None,
        witness: Witness | None = None,
    ) -> None:
        self.closer_look = False
        """Set while a hang is judged: then every read is a closer look."""
        self._turned_away: set[int] = set()
        self._spec, self._root = spec, root
        self._listing = listing or Listing(root=root, fresh_s=0.0)
        self._known: dict[int, RunProcess] = {}
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
        self._main = MainEnd(spec, self._exits, root, witness)
        self._unfollowed: list[int] = []
        """Known processes whose exit status nobody follows yet."""

    @property
    def left_out(self) -> int:
        """Processes of the run that are not sampled: more than ``MOST``, or hidden from us."""
        return len(self._turned_away)

    @property
    def impaired(self) -> str:
        """Not empty while nothing would tell how the main process ends, for lack of descriptors."""
        main = self._pid
        if self._spec.exit_file is not None or main is None or not self._exits.lacks(main):
            return ""
        return f"no descriptor is left that would tell how process {main} ends"

    def read(self, now: float) -> Iterable[Observation]:
        """First the processes that ended since the last read, then all that live.

        Raises OSError when no descriptor is left to look at them: that is no sign of their end.
        """
        if self._spec.pid is None:
            return []
        out: list[Observation] = []
        if self._reads == 0:
            out += self._begin(now)
        elif self._stale:
            self._look_for_children()
        elif self._reads % TREE_EVERY == 0:
            self._look_at_box()
            settle_ranks(self._known, self._ranks, self._root)
        elif self._unseen:
            self._look_at_new()
            settle_ranks(self._known, self._ranks, self._root)
        self._follow_exits()
        contents = [(pid, one, _content(one.file)) for pid, one in self._known.items()]
        closer = self.closer_look or self._reads % CLOSER_EVERY == 0
        moved = self._socket_bytes()
        samples = []
        for pid, process, raw in contents:
            seen = self._look(process, raw)
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
            say_if_hidden(main, self._root)
            self._main.gone()
        else:
            self._main.main = (main, found.ticks)
        for rank in self._spec.ranks:
            if rank.pid == main or self._adopt(rank.pid, rank.start_ticks):
                continue
            yield ProcessEnded(now, rank.pid, main=False, rank=rank.rank)
        self._look_for_children()

    def _adopt(self, pid: int, ticks: int | None = None) -> RunProcess | None:
        """Begin to watch ``pid``; ``None`` if it is gone, or was started at another time."""
        if pid in self._known:
            return self._known[pid]
        try:
            # Its start time says whether it is still the same process.
            file = KeptFile(f"{self._root}/{pid}/stat", use=Use.PROCESS, by_inode=False)
        except (FileNotFoundError, ProcessLookupError):
            return None
        except PermissionError as error:
            raise hidden(pid, self._root) from error
        raw = _content(file)
        seen = procfs.parse_stat(raw)
        if (
            seen is None
            or (ticks is not None and seen.start_ticks != ticks)
            or (pid, seen.start_ticks) in self._zombies
        ):
            file.close()
            return None
        process = self._known[pid] = RunProcess(file, raw, seen)
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
        settle_ranks(self._known, self._ranks, self._root)

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

    def _follow_exits(self) -> None:
        """Learn how they will end, the main process and the ranks first if descriptors are scarce."""
        if self._root == procfs.PROC:
            fresh = [self._known[pid] for pid in self._unfollowed if pid in self._known]
            matter = [p.last.pid for p in fresh if p.rank is not None or p.last.pid == self._pid]
            self._exits.follow(matter, Use.MAIN_EXIT)
            self._exits.follow(p.last.pid for p in fresh if p.last.pid not in matter)
            if self._reads % TREE_EVERY == 0:
                self._exits.try_again(self._known)
        self._unfollowed.clear()

    @property
    def _pid(self) -> int | None:
        """The main process."""
        return self._main.main[0]

    def _still_there(self, identity: _Identity) -> bool:
        with contextlib.suppress(OSError):
            seen = procfs.stat(identity[0], self._root)
            return seen is not None and seen.start_ticks == identity[1]
        return False

    # -- what they do -------------------------------------------------------------------

    def _look(self, process: RunProcess, raw: bytes) -> procfs.Stat | None:
        """Its stat now, of which the file has ``raw``; ``None`` if it is gone, or its pid was reused."""
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
        self, process: RunProcess, seen: procfs.Stat, closer: bool, moved: int | None
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
            wchan=self._waits_in(seen.pid) if closer else None,
            socket_bytes=moved,
            switches=switches(seen.pid, self._root) if closer else None,
            program=process.program,
        )
        if not closer:
            process.plain = sample
        return sample

    def _waits_in(self, pid: int) -> str | None:
        found = procfs.wchan(pid, self._root)
        return waits_in(pid, found, self._root) if self.closer_look else found

    # -- how they end -------------------------------------------------------------------

    def _end(
        self, pid: int, process: RunProcess, seen: procfs.Stat | None, now: float
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
            program=process.program,
        )

    def _lived(self, process: RunProcess) -> float | None:
        """Seconds since its start; ``None`` where the box counts its uptime from another moment."""
        up = procfs.uptime_s(self._root)
        lived = -1.0 if up is None else up - process.ticks * procfs.TICK_S
        return lived if lived >= 0.0 else None


def _content(file: KeptFile) -> bytes:
    """Content of the file; empty when the process is gone. Raises OSError without a descriptor."""
    try:
        return file.read()
    except OSError as error:
        if none_left(error):
            raise
        return b""
