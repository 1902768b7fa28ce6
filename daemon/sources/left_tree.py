"""Which processes are of a run that has started them, and are no descendants of it any more.

What a start script puts into a tmux server, or sends into the background with ``setsid`` and ends,
gets process 1 as its parent. But it still has the environment that ``middlewatch run`` gave to the
command of the run, with a variable of ours in it.
"""

from __future__ import annotations

from ..launch.exit_record import RUN_VARIABLE
from ..system import procfs
from ..system.listing import Listing

_OURS = "middlewatch"
"""In the command line of our own processes, which may be started from within a run."""


def has_left_tree(
    seen: procfs.Stat,
    exit_file: str | None,
    since_ticks: int,
    listing: Listing,
    root: str = procfs.PROC,
) -> bool:
    """True for a process that began with the run or later, and has the variable of this run.

    ``exit_file`` is the value of that variable; ``None`` for a run that somebody else has started.
    """
    if exit_file is None or seen.start_ticks < since_ticks:
        return False
    if listing.variable(seen.pid, RUN_VARIABLE) != exit_file:
        return False
    return not any(_OURS in word for word in procfs.cmdline(seen.pid, root)[:4])
