"""The next job of a queue, recognised as soon as it begins.

The search of the box takes two seconds or three (:mod:`..sources.newcomers`). A job that fails in its imports is
gone by then, and so is the next one: a queue in which every job fails would look like one that is over. What the
shell of an ended run starts next with the same program, in the same folder and into the same log, needs no search.
"""

from __future__ import annotations

from ..config.run_spec import Rank, RunSpec
from ..system import procfs
from ..system.processes import Process, open_files
from .programs import base_name, is_launcher, program, script_of
from .run_names import by_place

_OUTPUTS = (1, 2)


def next_job(earlier: RunSpec, process: Process, root: str = procfs.PROC) -> RunSpec | None:
    """The run of a new process, if it is the next job after ``earlier``, which has ended; else ``None``.

    Only a plain Python program of one process that writes to the log of ``earlier`` itself is taken.
    """
    parent = (earlier.parent_pid, earlier.parent_ticks)
    if None in parent or process.ppid != earlier.parent_pid or len(earlier.ranks) > 1:
        return None
    if procfs.start_ticks(process.ppid, root) != earlier.parent_ticks or earlier.container:
        return None
    if not process.alive or process.start_ticks <= (earlier.start_ticks or 0):
        return None
    if is_launcher(process) or not _same_program(earlier, process):
        return None
    targets = {one.target for one in open_files(process.pid, root) if one.fd in _OUTPUTS}
    logs = tuple(path for path in earlier.logs if path in targets)
    if not logs:
        return None
    return RunSpec(
        name=by_place(script_of(process), process.argv, process.cwd) or earlier.name,
        pid=process.pid,
        start_ticks=process.start_ticks,
        ranks=(Rank(process.pid, process.start_ticks, None),),
        command=process.argv,
        cwd=earlier.cwd,
        env_names=tuple(sorted(process.environ)),
        logs=logs,
        started_at=process.started_at,
        home=earlier.home,
        parent_pid=earlier.parent_pid,
        parent_ticks=earlier.parent_ticks,
        uid=earlier.uid,
        gid=earlier.gid,
    )


def _same_program(earlier: RunSpec, process: Process) -> bool:
    what = program(process)
    if not (what.python and what.script) or process.cwd != earlier.cwd:
        return False
    return any(base_name(word) == what.name and word in earlier.command for word in process.argv)
