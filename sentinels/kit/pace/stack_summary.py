"""Summaries of the stacks of a silent run's processes: named, compared, and grouped by place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..observations import StackSeen
from ..view import View

SAME = 3
"""Stacks that must agree before a process counts as unchanged."""
LOOP_LINES = 10
"""Lines within which the innermost frame of an endless loop may change."""

_COLLECTIVE = (
    "torch/distributed/",
    "deepspeed/comm/",
    "horovod/",
    "mpi4py/",
    "megatron/core/parallel_state",
    "jax/_src/distributed",
    "tensorflow/python/distribute/",
)
_DEVICE = ("torch/autograd/", "torch/cuda/", "torch/_tensor", "jax/_src/array", "cupy/cuda/")
"""Code in which a rank waits for its GPU, and so perhaps for other ranks."""
_CALLS = frozenset(
    [
        "all_reduce",
        "all_gather",
        "all_gather_into_tensor",
        "all_gather_object",
        "all_to_all",
        "all_to_all_single",
        "barrier",
        "broadcast",
        "broadcast_object_list",
        "gather",
        "gather_object",
        "monitored_barrier",
        "recv",
        "reduce",
        "reduce_scatter",
        "reduce_scatter_tensor",
        "scatter",
        "send",
        "store_based_barrier",
    ]
)
"""Functions by which a person knows a collective; they call others internally."""
_RENDEZVOUS = (
    "init_process_group (",
    "init_distributed (",
    "initialize (jax/_src/distributed",
    "next_rendezvous (",
    "_create_c10d_store (",
    "_store_based_barrier (",
)
"""Beginnings of frames in which a process waits until all others of its job have come."""
_INPUT = (
    "torch/utils/data/",
    "webdataset/",
    "datasets/",
    "streaming/",
    "tensorflow/python/data/",
    "grain/",
    "nvidia/dali/",
)
_QUEUES = ("python/multiprocessing/queues", "python/multiprocessing/connection")
_LOCKS = ("python/threading", "python/multiprocessing/synchronize", "filelock/")
_CHILDREN = (
    "wait (python/subprocess",
    "_wait (python/subprocess",
    "_try_wait (python/subprocess",
    "communicate (python/subprocess",
    "join (python/multiprocessing/process",
    "wait (python/multiprocessing/popen_",
    "poll (python/multiprocessing/popen_",
)
"""Beginnings of frames in which a process waits for the end of a child."""
_EVALUATES = re.compile(r"_*(?:run_|do_)?(?:eval|valid|predict)\w* \(")
"""A function that evaluates: ``evaluation_loop (transformers/trainer.py``, ``validate (train.py``."""
_LOADER = "torch/utils/data/dataloader"


TOGETHER = ("collective", "device")
"""Kinds of :attr:`StackSummary.kind` in which ranks may wait for each other."""


class StackSummary(NamedTuple):
    """The place at which one process is or waits."""

    pid: int
    rank: int | None
    kind: str
    """``collective``, ``device``, ``input``, ``child``, ``lock`` or ``""``."""
    where: str
    """``all_reduce at train.py:212``: the call that waits, and the line of the run's own code."""
    stack: StackSeen

    @property
    def at_rendezvous(self) -> bool:
        """True when it waits until all processes of its job have come."""
        return any(bare(frame).startswith(_RENDEZVOUS) for frame in self.stack.frames)

    @property
    def evaluates(self) -> bool:
        """True when it is inside a function that evaluates, of its own or of a library."""
        return any(_EVALUATES.match(bare(frame)) for frame in self.stack.frames)

    @property
    def name(self) -> str:
        """``rank 3``; without ranks ``pid 4711``."""
        return f"pid {self.pid}" if self.rank is None else f"rank {self.rank}"


def stack_summaries(view: View, since: float, pids: Iterable[int]) -> tuple[StackSummary, ...]:
    """Summaries of the newest stack of each process, taken after ``since``; in the order of
    ``pids``."""
    newest = {s.pid: s for s in view.stacks if s.at > since}
    return tuple(_standing(newest[pid]) for pid in pids if pid in newest)


def unchanged(view: View, since: float, pid: int) -> tuple[StackSeen, ...]:
    """All stacks of a process taken after ``since``, if they agree and are enough; else none.

    They agree when all callers are at the same lines, and the innermost frame is in the same
    function, within a few lines (a loop). One stack that differs shows that the process works.
    """
    taken = tuple(s for s in view.stacks if s.pid == pid and s.at > since)
    if len(taken) < SAME:
        return ()
    first = taken[0]
    head, line = _split(first.frames[0])
    low = high = line
    for stack in taken[1:]:
        name, line = _split(stack.frames[0])
        low, high = min(low, line), max(high, line)
        if name != head or stack.frames[1:] != first.frames[1:]:
            return ()
    return taken if high - low <= LOOP_LINES else ()


def folded(standing: Sequence[StackSummary]) -> list[tuple[str, list[StackSummary]]]:
    """(place, processes at that place), the largest group first."""
    groups: dict[str, list[StackSummary]] = {}
    for one in standing:
        groups.setdefault(one.where, []).append(one)
    return sorted(groups.items(), key=lambda group: -len(group[1]))


def describe_groups(groups: Sequence[tuple[str, Sequence[StackSummary]]]) -> str:
    """The groups for a person, at most four of them: ``7 ranks in all_reduce at train.py:212,
    rank 3 in DataLoader.__next__ at train.py:40``."""
    said = []
    for where, members in groups:
        who = members[0].name if len(members) == 1 else f"{len(members)} ranks"
        said.append(f"{who} in {where}")
    return ", ".join(said[:4])


def those_that_block(standing: Sequence[StackSummary]) -> tuple[StackSummary, ...]:
    """The processes that block the others: those outside of the collective in which others wait.

    If all wait in collectives, those that wait at another place than the largest group; empty when
    no group is the largest.
    """
    waiting = [s for s in standing if s.kind in TOGETHER]
    others = tuple(s for s in standing if s.kind not in TOGETHER)
    if waiting and others:
        return others
    groups = folded(waiting)
    if len(groups) < 2 or len(groups[0][1]) == len(groups[1][1]):
        return ()
    return tuple(s for _, members in groups[1:] for s in members)


def _standing(stack: StackSeen) -> StackSummary:
    names = [_split(frame)[0] for frame in stack.frames]
    kind, index = "", 0
    # It waits in what the run's own code called. The outer frames are of a framework or launcher.
    reach = names if stack.own is None else names[: stack.own + 1]
    for at, name in enumerate(reach):
        found = _kind(name)
        if found in ("collective", "input"):
            kind, index = found, at  # the outermost one, whose name a person knows
        elif found and not kind:
            kind, index = found, at
    if kind == "collective":
        calls = [i for i, name in enumerate(reach) if name.partition(" ")[0] in _CALLS]
        index = calls[0] if calls else index
    call, _, file = names[index].partition(" (")
    if file.startswith(_LOADER):
        call = "DataLoader.__next__"
    own = stack.own if stack.own is not None else index
    where = f"{call} at {_place(stack.frames[own])}"
    return StackSummary(stack.pid, stack.rank, kind, where, stack)


def _kind(name: str) -> str:
    function, _, file = name.partition(" (")
    if file.startswith(_COLLECTIVE):
        return "" if function in ("wrapper", "run", "main", "launch_agent") else "collective"
    if file.startswith(_INPUT) or file.startswith(_QUEUES):
        return "input"
    if file.startswith(_DEVICE):
        return "device"
    if bare(name).startswith(_CHILDREN):
        return "child"
    return "lock" if file.startswith(_LOCKS) else ""


def bare(frame: str) -> str:
    """``wait (a.py:7)`` of ``Popen.wait (a.py:7)``: newer versions of Python name the class."""
    function, parenthesis, place = frame.partition(" (")
    return f"{function.rpartition('.')[2]}{parenthesis}{place}"


def _split(frame: str) -> tuple[str, int]:
    """``("f (a.py", 12)`` of ``f (a.py:12)``."""
    name, _, line = frame.rpartition(":")
    digits = line.rstrip(")")
    return name, int(digits) if digits.isdigit() else 0


def _place(frame: str) -> str:
    """``a.py:12`` of ``f (a.py:12)``."""
    return frame.rpartition(" (")[2].rstrip(")")
