"""How often a process was given the CPU and gave it back."""

from __future__ import annotations

from . import procfs

_KINDS = (b"voluntary_ctxt_switches:", b"nonvoluntary_ctxt_switches:")


def switches(pid: int, root: str = procfs.PROC) -> int | None:
    """Context switches of the first thread since its start; ``None`` when they cannot be read.

    A thread that is asleep has the same number in every look: it was not woken in between.
    """
    data = procfs.read_or_none(f"{root}/{pid}/status") or b""
    counted = [procfs.number(data, kind) for kind in _KINDS]
    known = [count for count in counted if count is not None]
    return sum(known) if len(known) == len(_KINDS) else None
