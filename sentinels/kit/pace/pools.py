"""A pool of processes that waits for nothing: the program for results, all its workers for tasks.

A worker that was killed takes its task with it. ``multiprocessing.Pool`` starts another worker, and
waits for the lost result for ever; a result that could not be unpickled ends in the same way. Stacks
prove it: whoever waits for a result while nobody has a task waits in vain.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..observations import StackSeen
from ..view import View
from .stack_summary import bare
from .work import ProcessActivity, RunActivity

MOST_WORKERS = 12
"""Workers whose stacks are taken; the others are taken to wait for the same."""
_RESULTS = (
    *(f"{name} (python/multiprocessing/pool" for name in ("next", "get", "wait")),
    *(
        f"{name} (python/concurrent/futures/_base"
        for name in ("result", "wait", "as_completed", "result_iterator")
    ),
)
"""Beginnings of frames in which a program waits for a result of its pool."""
_WORKERS = (
    "worker (python/multiprocessing/pool",
    "_process_worker (python/concurrent/futures/process",
    "_process_worker (joblib/externals/loky/process_executor",
)
"""Beginnings of frames of the main loop of a worker."""
_QUEUE = "python/multiprocessing/queues"
_SERVANTS = ("python/multiprocessing/resource_tracker", "python/multiprocessing/forkserver")
"""Files of processes that only serve a pool."""


def waits_for_result(stack: StackSeen) -> bool:
    """True for a program that waits for a result of its pool."""
    return any(bare(frame).startswith(_RESULTS) for frame in stack.frames)


def workers_without_task(
    view: View, work: RunActivity, trainer: ProcessActivity, since: float
) -> int:
    """Number of the workers when a program waits for their results, and every one of them for a
    task; else 0."""
    newest = {s.pid: s for s in view.stacks if s.at > since}
    own = newest.get(trainer.sample.pid)
    if own is None or not waits_for_result(own):
        return 0
    idle = 0
    for pid in pool_pids(work, trainer):
        stack = newest.get(pid)
        if stack is None:
            return 0
        if _waits_for_task(stack):
            idle += 1
        elif not any(file in frame for frame in stack.frames for file in _SERVANTS):
            return 0
    return idle


def pool_pids(work: RunActivity, trainer: ProcessActivity) -> list[int]:
    """Pids of the Python processes below the trainer, at most ``MOST_WORKERS``."""
    return sorted(_below(work, trainer))[:MOST_WORKERS]


def _below(work: RunActivity, trainer: ProcessActivity) -> Iterator[int]:
    parents = {trainer.sample.pid}
    found = True
    while found:
        found = False
        for one in work.doing:
            if one.sample.ppid in parents and one.sample.pid not in parents:
                parents.add(one.sample.pid)
                found = True
                if one.sample.name == trainer.sample.name:
                    yield one.sample.pid


def _waits_for_task(stack: StackSeen) -> bool:
    """True for a worker whose loop has called the queue of tasks."""
    for inner, frame in zip(stack.frames, stack.frames[1:], strict=False):
        if bare(frame).startswith(_WORKERS):
            return f"({_QUEUE}" in inner
    return False
