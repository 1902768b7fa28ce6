"""Who or what ended a process that did not end by itself: a reboot, the kernel, a terminal, a
scheduler, a person. Decided by evidence; without evidence the answer is unknown."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from .classes import which
from .observations import LogEvent, MemorySample, ProcessEnded
from .taken_away import taken_away
from .view import View

How = Literal["reboot", "oom", "hangup", "killed", "preempted", "unknown"]

NOTICES = which(lambda c: c.notice)
OOM_KILLS = which(lambda c: c.oom_kill)
NOTICE_S = 300.0
"""Seconds before the end in which a notice is about this end: clouds give 30 to 120 seconds,
schedulers add a grace period between SIGTERM and SIGKILL, and ranks of a large job take a while."""
OOM_NEAR_S = 15.0
"""Seconds around the end in which an OOM kill counts as its cause: the kill counter is read once a
second, and the cgroup may answer slowly when memory is short."""
COMMAND_S = 15.0
"""Seconds between the end of a process and that of its container, which its engine ended: it gives the
other processes 10 s (``docker stop``)."""
FULL = 0.85
"""Part of the limit that the working set had, at most a second before: a leak or a load that ends in
an OOM kill fills the rest within that time (our choice)."""
_HANGUP, _INTERRUPT, _KILL, _TERMINATE = 1, 2, 9, 15
_FROM_OUTSIDE = frozenset({_HANGUP, _KILL, _TERMINATE})


@dataclass(frozen=True, slots=True)
class Vanished:
    """How a process was ended from outside, and what to do first."""

    how: How
    words: str = ""
    """What happened, to be put after "the run"; empty when the exit status says it all."""
    remedy: str = ""
    notice: LogEvent | None = None
    left: int = 0
    """Number of processes of the run that are still alive."""


def signal_of(ending: ProcessEnded) -> int | None:
    """The signal that ended the process, also when a shell turned it into the exit status 128 + n;
    ``None`` without one."""
    if ending.signal is None and ending.exit_code is not None and ending.exit_code > 128:
        return ending.exit_code - 128
    return ending.signal


def vanished(view: View, ending: ProcessEnded) -> Vanished | None:
    """How a process was ended from outside; ``None`` if it ended by itself (it exited, or
    crashed)."""
    signal = signal_of(ending)
    unseen = ending.exit_code is None and ending.signal is None
    if not unseen and signal not in _FROM_OUTSIDE:
        return None
    if ending.gone_with in ("box", "container"):
        return _restarted(ending)
    if signal in (None, _KILL) and killed_for_memory(view, ending):
        return Vanished("oom", "was killed because memory ran out")
    notice = notice_of(view, ending)
    if notice is not None:
        return Vanished(
            "preempted",
            "was ended by the platform that runs this box",
            "copy the newest good checkpoint off this box before it is taken away",
            notice,
        )
    command = ended_by_command(view, ending)
    if command:
        words = f"was ended by `{command}`" if unseen else ""
        return Vanished("killed", words, f"ask who typed `{command}`: `last`, the shell history")
    if signal == _HANGUP or (unseen and ending.gone_with == "session"):
        words = "ended with its terminal" if unseen else ""
        return Vanished("hangup", words, "look at the newest checkpoint: `middlewatch checkpoints`")
    if unseen:
        return Vanished("unknown")
    left = _left(view, ending)
    remedy = "ask who or what ended it (`last`, `lastcomm`, the shell history)"
    if left:
        remedy = "look what is left of it (`nvidia-smi`, `ps -ef`): it holds GPU memory and ports"
    return Vanished("killed", remedy=remedy, left=left)


def notice_of(view: View, ending: ProcessEnded) -> LogEvent | None:
    """The line that announced this end, if there is one; steps may come between it and the end."""
    near = (
        e
        for e in view.events
        if e.trouble in NOTICES
        and e.severity != "info"
        and ending.at - NOTICE_S <= e.at <= ending.at + OOM_NEAR_S
    )
    return next(near, None) or _told_by_engine(view, ending)


def _told_by_engine(view: View, ending: ProcessEnded) -> LogEvent | None:
    told = taken_away(view)
    return told if told is not None and told.at <= ending.at + COMMAND_S else None


def killed_for_memory(view: View, ending: ProcessEnded) -> bool:
    """True when the kill counter rose around the end, or the kernel log names the process."""
    near = [m.oom_kills for m in view.memory if abs(m.at - ending.at) <= OOM_NEAR_S]
    kills = [count for count in near if count is not None]
    if len(kills) > 1 and kills[-1] > kills[0]:
        return True
    if full_and_gone(view, ending) is not None or engine_saw_kill(view, ending):
        return True
    return any(
        e.file == "kernel" and e.trouble in OOM_KILLS and e.details.get("pid") == ending.pid
        for e in view.events
    )


def engine_saw_kill(view: View, ending: ProcessEnded) -> bool:
    """True when the engine of its container says that the kernel killed a process there for memory, at
    the time at which this one was killed."""
    box = view.container
    unseen = ending.exit_code is None and ending.signal is None
    if box is None or box.oom_at is None or not (unseen or signal_of(ending) == _KILL):
        return False
    return abs(box.oom_at - ending.at) <= OOM_NEAR_S


def ended_by_command(view: View, ending: ProcessEnded) -> str:
    """The command through which the engine ended the container of this process (``docker stop NAME``);
    empty when it was not that, or is not known."""
    box = view.container
    if box is None or not box.ended_by or not box.ended_near(ending.at, COMMAND_S):
        return ""
    return f"{box.ended_by} {box.name}"


def full_and_gone(view: View, ending: ProcessEnded) -> MemorySample | None:
    """The last look at a control group that was nearly full and went with a killed process.

    Batch systems and start scripts remove the group at once, and its kill counter with it.
    """
    if signal_of(ending) != _KILL:
        return None
    samples = [m for m in view.memory if abs(m.at - ending.at) <= OOM_NEAR_S]
    for before, after in pairwise(samples):
        limit = before.limit_bytes
        if limit and after.cgroup != before.cgroup and before.working_set_bytes >= FULL * limit:
            return before
    return None


def _restarted(ending: ProcessEnded) -> Vanished:
    box = ending.gone_with == "box"
    return Vanished(
        "reboot",
        f"was ended when the {'box was rebooted' if box else 'container was restarted'}",
        "see that disks and GPUs are back: `middlewatch audit`",
    )


def _left(view: View, ending: ProcessEnded) -> int:
    if not view.process_samples or view.process_samples[-1].at < ending.at:
        return 0
    return sum(p.pid != ending.pid for p in view.process_samples[-1].processes)
