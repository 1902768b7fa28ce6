"""Is the watch itself well? Pure judgement of facts about the daemon and its state directory.

Each check is ``ok``, ``odd`` (it works, and somebody should look) or ``bad`` (something is not watched,
not kept or not told, or soon will not be), with a sentence and, unless it is ok, what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from middlewatch.sentinels.kit.numbers import size, span

from ..config.secrets import mask
from ..system.descriptors import Figures, Use
from ..system.footprint import Footprint, StateDisk
from ..system.private import FOLDER_MODE
from ..system.store import RESERVE_BYTES

State = Literal["ok", "odd", "bad"]
LEAST_BYTES = 2 * RESERVE_BYTES
"""Free bytes of the state disk: below twice the reserve of the store, the next growth takes it."""
LEAST_INODES = 8
"""Free inodes: the socket, the two files beside the store, the reserve, and a file and its temporary
one for a run that starts."""
FEW_INODES = 1000
"""Our choice: far more than a few new runs take, so that there is time to look."""
NOTIFIER_BYTES = 64 << 20
"""Free memory: the notifier takes 50 MB once a service is loaded, and without it nothing is pushed."""
LITTLE_MEMORY_BYTES = 4 * NOTIFIER_BYTES
"""Our choice: room for the verifier and the finder as well."""
USUAL_RSS_BYTES = 128 << 20
"""Resident memory of the daemon: it takes 33 MB with a few runs. Four times that, our choice."""
MANY_DESCRIPTORS, MOST_DESCRIPTORS = 0.7, 0.9
"""Part of the descriptors that may be open and cannot be given back. 30 are needed without any run, by
the socket, the store and children: the last tenth of 128 is not enough for a client and two children.
Our choice."""
JUMP_S = 5.0
"""Seconds by which a clock moved to be worth a word: NTP slews by less. Our choice."""
LATE_PUSH_S = 120.0
"""Seconds that a push may wait although no failure was seen: the notifier has 90 s for one."""
UNHEARD_S = 120.0
"""Seconds after which a source that has delivered nothing is worth a word; the slowest look once a
minute."""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of ``middlewatch doctor``."""

    what: str
    state: State
    detail: str
    step: str = ""
    """What to do; empty if it is ok."""


def check_state(disk: StateDisk, uid: int, cap_bytes: int) -> Check:
    """The state directory. ``uid``: ours; ``cap_bytes``: what the store may grow to."""
    what, where = "state directory", disk.path
    room = f"{size(disk.free_bytes)} free"
    if disk.total_inodes:
        room += f", {disk.free_inodes} inodes free"
    mount = f"look at `findmnt -T {where}`"
    if disk.replaced:
        return Check(
            what,
            "bad",
            f"{where} is not the directory any more in which the daemon has begun: nothing that it "
            "writes there would be kept",
            f"{mount}, then restart the daemon",
        )
    if disk.trouble:
        return Check(what, "bad", f"{where} cannot be used: {disk.trouble}", mount)
    if disk.read_only:
        step = f"look at the kernel log for errors of the disk (`dmesg`), then {mount}"
        return Check(what, "bad", f"{where} is on a file system that is read-only", step)
    if not disk.writable:
        return Check(what, "bad", f"{where} cannot be written to", f"look at `ls -ld {where}`")
    scarce = disk.total_inodes and disk.free_inodes < LEAST_INODES
    if disk.free_bytes < LEAST_BYTES or scarce:
        full = (
            f"the disk of {where} is full ({room}): what is found is pushed, but not kept on disk"
        )
        return Check(what, "bad", full, f"make room: `df -h {where}; df -i {where}`")
    few = disk.total_inodes and disk.free_inodes < FEW_INODES
    if disk.free_bytes < cap_bytes or few:
        return Check(what, "odd", f"{where}: only {room}", f"make room: `df -h {where}`")
    if disk.uid != uid or disk.mode & 0o077:
        detail = f"{where} has mode {disk.mode:04o} and belongs to uid {disk.uid}"
        return Check(what, "odd", detail, f"chmod {FOLDER_MODE:o} {where}")
    return Check(what, "ok", f"{where}: {room}")


def check_store(facts: Mapping[str, Any]) -> Check:
    """The store, by the fields that ``doctor --json`` has of it."""
    if facts["trouble"]:
        detail = f"the store cannot be written: {facts['trouble']}; its changes wait in memory"
        return Check("store", "bad", detail, "see the line about the state directory")
    if facts["set_aside"] or facts["lost_in_use"]:
        detail = "the store was lost, and a new one was begun"
        detail += f"; the old one: {facts['set_aside']}" if facts["set_aside"] else ""
        return Check("store", "odd", detail, "look at the kernel log for errors of the disk")
    room = f"{size(facts['size_bytes'])} of {size(facts['cap_bytes'])}"
    if facts["size_bytes"] > facts["cap_bytes"]:
        return Check("store", "odd", f"it is larger than it should be: {room}", "report it")
    return Check("store", "ok", room)


def check_memory(own: Footprint) -> Check:
    """Memory of the daemon, and what the box has left for it."""
    taken = f"{size(own.rss_bytes or 0)} resident, children {size(own.children_rss_bytes)}"
    left = own.left_bytes
    if left is not None:
        taken += f"; {size(left)} left until the memory limit"
    if left is not None and left < NOTIFIER_BYTES:
        step = "free some memory or raise the limit of the box: `middlewatch audit`"
        detail = f"too little memory to start the program that sends pushes: {taken}"
        return Check("memory", "bad", detail, step)
    if left is not None and left < LITTLE_MEMORY_BYTES:
        return Check("memory", "odd", taken, "see what takes it: `ps aux --sort -rss | head`")
    if (own.rss_bytes or 0) > USUAL_RSS_BYTES:
        return Check("memory", "odd", taken, "the daemon is larger than usual: report it")
    return Check("memory", "ok", taken)


def check_cpu(own: Footprint, uptime_s: float) -> Check:
    """CPU time, told but not judged: what is usual depends on the runs."""
    part = 100 * (own.cpu_s + own.children_cpu_s) / max(uptime_s, 1.0)
    times = f"{own.cpu_s:.1f} s in {span(uptime_s)}, children {own.children_cpu_s:.1f} s"
    return Check("CPU", "ok", f"{times}: {part:.1f} % of a core")


def check_descriptors(own: Figures) -> Check:
    """Open files of the daemon. Those that it keeps only for speed count as free."""
    told = f"{own.used} of {own.limit} open, {own.kept} of them kept only as long as there is room"
    told += f"; {own.reserved} in reserve"
    step = "raise the limit (LimitNOFILE of the service, `ulimit -Hn`), restart the daemon"
    part, unheld = own.needed / max(own.limit, 1), own.without[Use.MAIN_EXIT]
    if part >= MANY_DESCRIPTORS or unheld:
        detail = f"the daemon has nearly no descriptors left: {told}"
        detail += f"; how {unheld} processes end will not be known" if unheld else ""
        bad = part >= MOST_DESCRIPTORS or unheld
        return Check("descriptors", "bad" if bad else "odd", detail, step)
    if any(own.without):
        detail = (
            f"{sum(own.without)} more would be kept, and are opened anew for each look, which takes "
            f"more CPU: {told}"
        )
        return Check("descriptors", "odd", detail, step)
    return Check("descriptors", "ok", told)


def check_inotify(watches: int, limit: int | None, why_not: str, *, available: bool) -> Check:
    """Hints that a log has grown."""
    told = f"{watches} watches of {limit if limit is not None else '?'}"
    if not available or "are taken" in why_not:
        step = "sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288"
        return Check("inotify", "odd", f"{told}; {why_not or 'not available'}", step)
    return Check("inotify", "ok", told)


def check_clock(jumps: Sequence[tuple[str, float]], booted: str | None) -> Check:
    """``jumps``: (when, seconds) by which the wall clock moved while the daemon watched."""
    told = f"the box was started at {booted}" if booted else "the time of boot is not known"
    if jumps:
        at, by = jumps[-1]
        detail = f"the wall clock moved by {by:+.0f} s at {at}, {len(jumps)} times in all"
        return Check("clock", "odd", f"{detail}; {told}", "look at `timedatectl`")
    return Check("clock", "ok", f"it has not jumped; {told}")


def check_loop(standstills: Sequence[str]) -> Check:
    """Times in which the daemon stood still, within the last hour."""
    if standstills:
        step = "see the daemon's log: the call and its path are there"
        return Check("loop", "odd", f"the daemon was {standstills[-1]}", step)
    return Check("loop", "ok", "it did not stand still within the last hour")


def check_workers(rows: Sequence[Mapping[str, Any]]) -> Iterator[Check]:
    """The child processes, by the fields that ``doctor --json`` has of each."""
    for row in rows:
        name = f"worker {row['name']}"
        if row["stuck_pid"] is not None:
            detail = f"pid {row['stuck_pid']} was killed and does not end (it waits in the kernel)"
            step = f"see what it waits for: `cat /proc/{row['stuck_pid']}/wchan`"
            yield Check(name, "bad", detail, step)
        elif row["start_error"]:
            yield Check(
                name, "bad", row["start_error"], "look at memory and the limit of processes"
            )
    alive = sorted(row["name"] for row in rows if row["alive"])
    starts = sum(row["starts"] for row in rows)
    told = f"{len(alive)} alive ({', '.join(alive)})" if alive else "none is needed now"
    waiting = sorted({row["name"] for row in rows if row["waits"]})
    if waiting:
        told = f"not started before descriptors are free: {', '.join(waiting)}; {told}"
        step = "see the line about descriptors"
        yield Check("workers", "odd", f"{told}; {starts} starts", step)
    else:
        yield Check("workers", "ok", f"{told}; {starts} starts")


def check_sources(rows: Sequence[Mapping[str, Any]]) -> Iterator[Check]:
    """The sources, by the fields that ``doctor --json`` has of each."""
    fine = 0
    for row in rows:
        name = f"source {row['source']}" + (f" of {row['run']}" if row["run"] else "")
        last = "never" if row["true_at"] is None else f"{span(row['age_s'])} ago"
        told = f"{row['detail'] or row['state']}; last true look: {last}"
        if row["state"] in ("failed", "stalled"):
            yield Check(name, "bad", f"{row['state']}: {told}", "middlewatch explain blind")
        elif row["state"] == "impaired":
            yield Check(name, "odd", told, "middlewatch explain blind")
        elif row["state"] == "starting" and row["since_s"] > UNHEARD_S:
            yield Check(name, "odd", f"it has delivered nothing for {span(row['since_s'])}",
                        "middlewatch explain blind")  # fmt: skip
        else:
            fine += row["state"] == "ok"
    absent = sorted({row["source"] for row in rows if row["state"] == "unsupported"})
    told = f"{fine} of {len(rows)} work"
    told += f"; this box does not have: {', '.join(absent)}" if absent else ""
    yield Check("sources", "ok", told)


def check_parts(rows: Iterable[Mapping[str, Any]]) -> Iterator[Check]:
    """What failed by a mistake of ours, by the fields that ``doctor --json`` has of each."""
    rows = list(rows)
    for row in rows:
        times = "once" if row["failures"] == 1 else f"{row['failures']} times"
        told = f"failed {times}, last with {row['error']}"
        if row["worked_at"] is not None:
            told += "; it works again"
        elif row["tried_again_at"] is not None:
            told += f"; left out until {row['tried_again_at']}"
        left_out = row["worked_at"] is None and row["tried_again_at"] is not None
        step = "a bug of middlewatch: report it with the daemon's log"
        yield Check(f"{row['kind']} {row['name']}", "bad" if left_out else "odd", told, step)
    if not rows:
        yield Check("own code", "ok", "no rule, parser, source, page or push has failed")


def check_pushes(facts: Mapping[str, Any]) -> Check:
    """The way to the phone, by the fields that ``doctor --json`` has of it."""
    last = facts["last_sent_at"] or "none yet"
    told = f"{facts['urls']} URLs, {facts['waiting']} waiting, last delivered: {last}"
    if not facts["urls"]:
        step = "set [alerts] urls, then `middlewatch alert test`"
        return Check("pushes", "odd", "no alert URL: nothing is pushed", step)
    if facts["trouble"]:
        step = "middlewatch alert test"
        return Check("pushes", "bad", f"the last push failed: {facts['trouble']}; {told}", step)
    if facts["oldest_s"] is not None and facts["oldest_s"] > LATE_PUSH_S:
        return Check("pushes", "odd", f"one waits for {span(facts['oldest_s'])}; {told}",
                     "middlewatch alert test")  # fmt: skip
    return Check("pushes", "ok", told)


def check_heartbeat(facts: Mapping[str, Any] | None) -> Iterator[Check]:
    """The dead man's switch, by the fields that ``doctor --json`` has of it."""
    what = "heartbeat"
    if facts is None or not facts["set"]:
        yield Check(what, "ok", "no [heartbeat] url: nobody is told if this box falls silent")
        return
    last = f"last ping accepted: {facts['accepted_at'] or 'none yet'}"
    last += f" ({facts['accepted']})" if facts["accepted"] else ""
    late = facts["age_s"] is not None and facts["age_s"] > facts["every_s"] + facts["grace_s"]
    if facts["trouble"]:
        step = "middlewatch alert test"
        yield Check(
            what, "bad", f"the last ping was not accepted: {facts['trouble']}; {last}", step
        )
    elif facts["blind"]:
        told = f"no success is pinged: {'; '.join(facts['blind'][:3])}; {last}"
        yield Check(what, "bad", told, "see the lines about sources")
    elif late:
        yield Check(what, "odd", last, "middlewatch alert test")
    else:
        yield Check(what, "ok", last)


def check_socket(trouble: str) -> Check:
    """The control socket."""
    if trouble:
        return Check("socket", "bad", trouble, "see the line about the state directory")
    return Check("socket", "ok", "it answers")


def verdict(checks: Iterable[Check]) -> State:
    """The worst of all states."""
    states = {check.state for check in checks}
    return "bad" if "bad" in states else "odd" if "odd" in states else "ok"


def line(check: Check) -> dict[str, str]:
    """One check as ``doctor --json`` has it."""
    shown = {"what": check.what, "state": check.state}
    return shown | {"detail": mask(check.detail), "step": check.step}


def disk_facts(disk: StateDisk) -> dict[str, Any]:
    """The state directory as ``doctor --json`` has it."""
    return {
        "path": disk.path,
        "trouble": disk.trouble,
        "replaced": disk.replaced,
        "free_bytes": disk.free_bytes,
        "total_bytes": disk.total_bytes,
        "free_inodes": disk.free_inodes,
        "total_inodes": disk.total_inodes,
        "read_only": disk.read_only,
        "writable": disk.writable,
        "uid": disk.uid,
        "mode": f"{disk.mode:04o}",
    }
