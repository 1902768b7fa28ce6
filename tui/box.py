"""The GPUs, memory and disks of the box, as rows of the overview. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from middlewatch.daemon.text import figures
from middlewatch.daemon.text.rows import (
    Row,
    Span,
    Tone,
    cut_left,
    fill,
    first_fit,
    pad,
    row,
    width_of,
)

from . import answer
from .answer import Answer

OLD_S = 30.0
"""Age in seconds from which it is shown beside a reading. Sources are read every one to ten
seconds; by then three readings of the slowest are missing."""

SAVES_BAD, SAVES_LOW = 2.0, 4.0
"""Checkpoints that still fit on the disk. A save that writes a new file before it deletes the old
one needs room for one more, so below two the next save may fail (bad). Below four is a warning: our
choice, some hours at hourly saves."""

TIGHT_RATIO = 0.05
"""Free share of a disk below which it is marked, if the size of a save is unknown: the part that
ext4 reserves for root by default (mke2fs(8), reserved-blocks-percentage)."""


ROUTINE = frozenset({"sw_power_cap", "gpu_idle", "applications_clocks"})
"""Clock event reasons that are no trouble: a busy GPU at its power limit, an idle one, a clock that a
person has set. What hardware or heat slows down is told."""


def slowed(gpu: Answer) -> list[str]:
    """The clock event reasons of a GPU that are a trouble."""
    return [reason for reason in answer.texts(gpu, "throttle") if reason not in ROUTINE]


def rows_of(found: Answer, width: int, height: int) -> list[Row]:
    """GPUs, memory and disks in at most ``height`` rows. If the GPUs do not fit, there is a row for
    all of them, and one for each that is lost or throttled."""
    gpus, disks = answer.records(found, "gpus"), answer.records(found, "disks")
    disks = sorted(disks, key=tightness)
    gpu_room = max(1, height - 1 - min(len(disks) or 1, max(1, height // 3)))
    rows = _gpus(gpus, width, gpu_room)
    rows.append(memory_row(answer.record(found, "memory"), width))
    rest = max(0, height - len(rows))
    rows += _disks(disks[:rest], width) if disks[:rest] else []
    if len(disks) > rest > 0:
        rows[-1] = pad(rows[-1], width - 4) + row(Span(f" +{len(disks) - rest}", "dim"))
    return rows if disks or not rest else [*rows, row(Span("disks   unknown", "dim"))]


def _gpus(gpus: Sequence[Answer], width: int, room: int) -> list[Row]:
    if not gpus:
        return [row(Span("gpus    none seen", "dim"))]
    if len(gpus) <= room:
        return [gpu_row(gpu, width) for gpu in gpus]
    odd = [g for g in gpus if g.get("lost") is True or slowed(g)]
    share = figures.spread([100 * u for u in _readings(gpus, "util_ratio")], "%")
    power = figures.spread(_readings(gpus, "power_w"), "W")
    heat = figures.spread(_readings(gpus, "temp_c"), "C")
    memory = figures.size(max(_readings(gpus, "mem_used_bytes"), default=None))
    summary = first_fit(
        width,
        row(f"{len(gpus)} gpus {share} up to {memory} {power} {heat}"),
        row(f"{len(gpus)} gpus {share} {power} {heat}"),
        row(f"{len(gpus)} gpus {share} {power}"),
    )
    rest = len(odd) - (room - 1)
    rows = [summary, *(gpu_row(gpu, width) for gpu in odd[: max(0, room - 1)])]
    if rest > 0:
        rows[-1] = pad(rows[-1], width - 9) + row(Span(f" +{rest} odd", "bad"))
    return rows


def _readings(gpus: Sequence[Answer], key: str) -> list[float]:
    return [value for gpu in gpus if (value := answer.finite(gpu, key)) is not None]


def gpu_row(gpu: Answer, width: int) -> Row:
    """One GPU in one row."""
    name = f"gpu{figures.count(answer.finite(gpu, 'index'))}"
    if gpu.get("lost") is True:
        return row(f"{name} ", Span("LOST", "bad"), " the driver took it away")
    reading = (
        f"{name} {figures.percent(answer.finite(gpu, 'util_ratio')):>4}"
        f" {figures.size(answer.finite(gpu, 'mem_used_bytes')):>5}"
        f"/{figures.size(answer.finite(gpu, 'mem_total_bytes'))}"
        f" {figures.whole(answer.finite(gpu, 'power_w'), 'W'):>4}"
        f" {figures.whole(answer.finite(gpu, 'temp_c'), 'C'):>3}"
    )
    slow = slowed(gpu)
    age = _old(gpu)
    clock = f" {figures.whole(answer.finite(gpu, 'sm_clock_mhz'), 'MHz')}"
    full = Span(" slow: " + ", ".join(slow) if slow else "", "warn")
    flag = Span(" SLOW" if slow else "", "warn")
    return first_fit(
        width,
        row(reading, clock, full, age, Span(" " + answer.text(gpu, "name"), "dim")),
        row(reading, clock, full, age),
        row(reading, full, age),
        row(reading, flag, age),
    )


def _old(reading: Answer) -> Span:
    age = answer.finite(reading, "age_s")
    return Span(f" {figures.ago(age)}" if age is not None and age >= OLD_S else "", "warn")


def memory_row(memory: Answer, width: int) -> Row:
    """The memory of the control group against its limit, in one row."""
    used, limit = answer.finite(memory, "working_set_bytes"), answer.finite(memory, "limit_bytes")
    if used is None:
        return row(Span("memory  unknown", "dim"))
    kills = answer.finite(memory, "oom_kills")
    killed = Span(f" {kills:.0f} OOM kills" if kills else "", "bad")
    if limit is None:
        return row(f"memory  {figures.size(used)}, no limit", killed, _old(memory))
    start = f"memory  {figures.size(used)} of {figures.size(limit)} {figures.percent(used, limit)}"
    cgroup = Span(f" {answer.text(memory, 'cgroup')}", "dim")
    return first_fit(
        width, row(start, killed, _old(memory), cgroup), row(start, killed, _old(memory))
    )


def free_ratio(disk: Answer, kind: str) -> float | None:
    """Free share of the ``bytes`` or ``inodes`` of a disk; ``None`` when that is unknown."""
    free, total = answer.finite(disk, f"free_{kind}"), answer.finite(disk, f"total_{kind}")
    return None if free is None or not total else free / total


def tightness(disk: Answer) -> tuple[float, float]:
    """Sort key: disks with the fewest saves left come first, then those with the least space."""
    left = answer.finite(disk, "saves_left")
    shares = [s for kind in ("bytes", "inodes") if (s := free_ratio(disk, kind)) is not None]
    return (1e9 if left is None else left), min(shares, default=1.0)


def _disks(disks: Sequence[Answer], width: int) -> list[Row]:
    """One row for each disk, all in the longest wording that fits for all of them."""
    wordings = (
        (16, "inodes", "saves left"),
        (8, "inodes", "saves left"),
        (8, "inodes", "saves"),
        (5, "ino", "saves"),
    )
    for wording in wordings:
        rows = [_disk(disk, *wording) for disk in disks]
        if all(width_of(line) <= width for line in rows):
            break
    return rows


def _disk(disk: Answer, mount_width: int, inodes: str, saves: str) -> Row:
    left = answer.finite(disk, "saves_left")
    urgent: Tone = (
        "" if left is None or left >= SAVES_LOW else "bad" if left < SAVES_BAD else "warn"
    )
    mount = cut_left(answer.text(disk, "mount") or "?", mount_width)
    size = figures.size(answer.finite(disk, "free_bytes"))
    space, files = free_ratio(disk, "bytes"), free_ratio(disk, "inodes")
    still = "" if left is None else f" {left:.1f} {saves}" if left < 100 else f" 99+ {saves}"
    return row(
        f"{fill(mount, mount_width)} free ",
        Span(f"{size:>5} {figures.percent(space):>3}", _tight(space, left)),
        Span(f" {inodes} {figures.percent(files)}", _tight(files, left)),
        Span(" READ-ONLY" if disk.get("read_only") is True else "", "bad"),
        Span(still, urgent),
    )


def _tight(share: float | None, saves_left: float | None) -> Tone:
    return "warn" if saves_left is None and share is not None and share < TIGHT_RATIO else ""
