"""The GPU ran out of memory.

Decides: The newest such line of the log that was not followed by a step. If steps follow, or the
    program says that it continues with less (a search for the batch size, a halved micro-batch), it
    is a note. If the process ends, or no step follows for a while, the run has failed. Where the
    message shows more memory reserved and unused than was asked for, it is fragmentation; where it
    names a limit that the process has, or another process that holds what is missing, that is the
    first step.
Classes: cuda_oom accel_oom
Sources: Our choice: 20 s or three usual step times without a step, because a program that handles
    the error prints the same message. Before the first step the step time is unknown, and a model
    may be built again: 60 s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .kit import Evidence, Finding, LogEvent, ProcessEnded, Sentinel, Severity, View
from .kit.numbers import pace
from .kit.progress import completed
from .kit.recovery import OpenIncident, went_on

CLASSES = ("cuda_oom", "accel_oom")

LEAST_BYTES = 256 << 20
"""Reserved bytes without a use below which fragmentation is not named: the allocator always keeps
some. Our choice."""
_UNITS = {"bytes": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
_AMOUNT = r"(\d+(?:\.\d+)?) ([KMG]iB)"
_IDLE = re.compile(rf"{_AMOUNT} is reserved by PyTorch but unallocated")
_USED = re.compile(rf"{_AMOUNT} already allocated")
_RESERVED = re.compile(rf"{_AMOUNT} reserved in total by PyTorch")
_FREE = re.compile(rf"of which {_AMOUNT} is free|; {_AMOUNT} free;|of which (0) (bytes) is free")
_TOTAL = re.compile(rf"total capacity of {_AMOUNT}|{_AMOUNT} total capacity")
_OWN = re.compile(rf"this process has {_AMOUNT} memory in use")
_OTHER = re.compile(rf"Process (\d+) has {_AMOUNT} memory in use")
_BY_TORCH = re.compile(rf"Of the allocated memory {_AMOUNT} is allocated by PyTorch")
_ALLOWED = re.compile(rf"{_AMOUNT} allowed")
_LIMITED = (
    "find where the limit of this process is set: it may use {size} GiB of the GPU (`set_per_process_memory_fraction` in its code), "
    "of which {free} GiB are free"
)
_NAMED = (
    "see whose process {pid} is, which holds {size} GiB of this GPU: `ps -o pid,user,etime,args -p {pid}`. Without "
    "it, or on another GPU, the request fits: no smaller batch is needed"
)
_HIDDEN = (
    "see who else uses this GPU: {size} GiB of it are not of this process (`nvidia-smi "
    "--query-compute-apps=pid,used_memory --format=csv`), and without them the request would fit"
)
_TOO_LARGE = (
    "look for what a step can do with less, the micro-batch first (half of it, and twice the gradient accumulation): the process has {own} of the {size} GiB of the GPU for "
    "itself, nobody else uses it, and its memory is not in pieces"
)
_SPILLED = (
    "look for what a step can do with less, the micro-batch or the size of its samples first: PyTorch has {own} GiB allocated, more than the {size} GiB of the GPU "
    "(the driver has put the rest into the memory of the host, as on Windows)"
)
MOST_OF_IT = 0.5
"""Part of a GPU that the process itself must use before its own batch is called too large. Our choice."""
_FRAGMENTED = (
    "the memory is there, but in pieces: set PYTORCH_CUDA_ALLOC_CONF={setting} and start again from the newest "
    "checkpoint, before you try a smaller batch"
)
_SINCE_2_1, _BEFORE = "expandable_segments:True", "max_split_size_mb:128"
"""The first one came with the words "reserved by PyTorch but unallocated" (PyTorch 2.1, ``CUDACachingAllocator.cpp``);
before that PyTorch does not start with it."""


@dataclass(frozen=True)
class Limits:
    """Section `[sentinels.cuda_oom]`."""

    wait_s: float = 20.0
    """Time for a program to handle the error before the run counts as failed; three times as long
    before the first steps."""


def check(view: View, limits: Limits) -> Iterator[Finding]:
    """A finding about the newest out-of-memory line that no step followed."""
    event = next((e for e in reversed(view.events) if e.trouble in CLASSES), None)
    if event is None:
        return
    recovered = view.went_on_after(event)
    if recovered and view.live:
        return
    count = sum(1 for e in view.events if e.trouble == event.trouble)
    lost = not recovered and _lost(view, event, limits)
    idle = _unallocated(event.text)
    asked = event.details.get("requested_bytes")
    split = _in_pieces(event)
    yield Finding(
        trouble=event.trouble,
        key=event.trouble,
        severity=Severity.CRITICAL if lost else Severity.INFO,
        fatal=lost,
        summary=_summary(event)
        + (f", {idle / 2**30:.2f} GiB reserved but unused" if split else "")
        + ("; the run has ended" if lost and view.ending is not None else ""),
        evidence=(Evidence("log", event.text, event.at),),
        file=event.file,
        line=event.line,
        remedy=_FRAGMENTED.format(setting=_SINCE_2_1 if _IDLE.search(event.text) else _BEFORE)
        if split
        else _decided(event.text, asked),
        details={
            **event.details,
            "rank": event.rank,
            "count": count,
            **({"unallocated_bytes": round(idle)} if idle else {}),
        },
    )


def _unallocated(text: str) -> float:
    """Bytes that PyTorch has reserved and does not use, by its message; 0 when it does not say.

    If they are more than what was asked for, the memory is there, but in pieces.
    """
    said = _IDLE.search(text)
    if said:
        return _bytes(said)
    used, reserved = _USED.search(text), _RESERVED.search(text)
    return max(0.0, _bytes(reserved) - _bytes(used)) if used and reserved else 0.0


def _in_pieces(event: LogEvent) -> bool:
    """True when the memory is there, but in pieces: what is reserved and not used is more than what was asked for."""
    asked, idle = event.details.get("requested_bytes"), _unallocated(event.text)
    enough = isinstance(asked, (int, float)) and idle >= max(asked, LEAST_BYTES)
    used, total = _amount(_BY_TORCH, event.text), _amount(_TOTAL, event.text)
    return enough and not (used and total and used > total)


def _decided(text: str, asked: object) -> str:
    """The first step where PyTorch's message tells whose memory is missing; empty when it does not."""
    free, total = _amount(_FREE, text), _amount(_TOTAL, text)
    if free is None or total is None or not isinstance(asked, (int, float)):
        return ""
    allowed = _amount(_ALLOWED, text)
    if free >= asked:
        return "" if allowed is None else _LIMITED.format(size=_gib(allowed), free=_gib(free))
    own = _amount(_OWN, text) or _amount(_RESERVED, text)
    others = {one[1]: float(one[2]) * _UNITS[one[3]] for one in _OTHER.finditer(text)}
    torch = (_amount(_BY_TORCH, text) or 0.0) + _unallocated(text)
    if own is None and torch and others:
        # In a container PyTorch does not know which process it is itself: the one that has what it has.
        me = min(others, key=lambda pid: (others[pid] < torch, others[pid] - torch))
        own = others.pop(me)
    if others and free + sum(others.values()) >= asked:
        pid = max(others, key=others.__getitem__)
        return _NAMED.format(pid=pid, size=_gib(others[pid]))
    own = torch if own is None else own
    if own > total:
        return _SPILLED.format(own=_gib(own), size=_gib(total))
    if not own:
        return ""
    rest = total - own - free
    if rest >= max(asked, LEAST_BYTES):
        return _HIDDEN.format(size=_gib(rest))
    return _TOO_LARGE.format(own=_gib(own), size=_gib(total)) if own >= MOST_OF_IT * total else ""


def _amount(pattern: re.Pattern[str], text: str) -> float | None:
    """Bytes that a pattern with one or two amounts finds; ``None`` when it finds none."""
    found = pattern.search(text)
    if found is None:
        return None
    amount, unit = (part for part in found.groups() if part)
    return float(amount) * _UNITS[unit]


def _gib(size: float) -> str:
    return f"{size / 2**30:.2f}"


def _bytes(said: re.Match[str]) -> float:
    return float(said[1]) * _UNITS[said[2]]


def _lost(view: View, event: LogEvent, limits: Limits) -> bool:
    handled = event.severity == "info"
    if not view.live:
        return not handled
    ending = view.ending
    if ending is not None:
        return ending.exit_code != 0 or not completed(view)
    if handled:
        return False  # the program says that it goes on; if it does not, that is a hang
    rhythm = pace(view.step_times)
    wait = 3 * limits.wait_s if rhythm is None else max(limits.wait_s, 3 * rhythm.typical_s)
    return view.now - event.at >= wait


def _summary(event: LogEvent) -> str:
    where = "" if event.rank is None else f" on rank {event.rank}"
    asked = event.details.get("requested_bytes")
    wanted = f": {float(asked) / 2**30:.2f} GiB asked" if isinstance(asked, (int, float)) else ""
    return f"out of GPU memory{where}{wanted}"


def recovered(view: View, limits: Limits, case: OpenIncident) -> str:
    """Words once training went on."""
    return went_on(view, case)


SENTINEL = Sentinel(
    check, Limits(), on=(LogEvent, ProcessEnded), every_tick=True, recovered=recovered
)
