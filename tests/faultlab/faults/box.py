"""Troubles of the box: disks, inodes, CPU quota."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ..bench import Bench, inside
from ..lab import DELIVERY_S, Fault
from .hangs import plain

MIB = 1 << 20
LEAD_S = 40 * 60
"""A disk that fills evenly is full so long after the injection; half an hour before is asked."""
LEFT = 0.4
"""Part of such a disk that is free in the beginning."""


def too_many_saves(bench: Bench) -> None:
    """Every save stays, and the fifth has no room."""
    size = bench.random.randint(7, 9) * MIB
    disk = bench.tmpfs(f"size={5 * size - MIB}")
    words = ("--save-every", 300, "--size", size, "--out", disk)
    bench.train(*bench.program("plain", "shrinking_room", *words), checkpoints=[disk])


def rotated_saves(bench: Bench) -> None:
    """The same disk with the last two kept: fits for ever."""
    size = bench.random.randint(7, 9) * MIB
    disk = bench.tmpfs(f"size={4 * size}")
    words = ("--save-every", 60, "--size", size, "--out", disk, "--keep", 2)
    bench.train(*bench.program("plain", "none", *words), checkpoints=[disk])


def growing(bench: Bench) -> None:
    """Samples written with every step fill what is left in a little over half an hour."""
    disk = bench.tmpfs(f"size={bench.random.randint(48, 80)}m")
    room = _size(disk)
    (disk / "data.bin").write_bytes(bytes(int(room * (1 - LEFT))))
    words = ("--out", disk, "--size", int(room * LEFT * 0.2 / LEAD_S))
    bench.train(*bench.program("plain", "grow", *words), cwd=disk, checkpoints=[disk])


def _size(disk: Path) -> int:
    room = os.statvfs(disk)
    return room.f_frsize * room.f_blocks


def littering(bench: Bench, *, seconds: float) -> None:
    """Small files with every step: no inode is left after these seconds."""
    per_step = 2 if seconds > 600 else 10
    room = int(seconds * 5 * per_step)
    disk = bench.tmpfs(f"size=256m,nr_inodes={int(room / LEFT)}")
    for number in range(int(room / LEFT * (1 - LEFT))):
        (disk / f"data-{number}").touch()
    plain(bench, "litter", "--out", disk, "--size", per_step)


def throttled(bench: Bench) -> None:
    """A quota of 40 % of what it took before."""
    group = bench.cgroup("cpu", cpu__cfs_period_us="100000")
    program = bench.program("plain", "none", "--burn", 1500, "--pace", 0.03)
    bench.train(*inside(group, program))
    bench.until_said(f"step {bench.random.randint(200, 300)}/", 100)
    before = _cpu_s(group)
    bench.pause(5)
    cores = (_cpu_s(group) - before) / 5
    quota = max(1000, int(cores * 0.4 * 100000))
    bench.inject(lambda: (group / "cpu.cfs_quota_us").write_text(str(quota)))


def _cpu_s(group: Path) -> float:
    """Seconds of CPU that the processes of a cgroup have used."""
    ticks = 0
    for pid in (group / "cgroup.procs").read_text().split():
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


SAVES = Fault(
    "24",
    "next_save_has_no_room",
    too_many_saves,
    classes=frozenset({"disk_full", "saves_left"}),
    cause="fit|room|full|checkpoint",
    remedy=r"du |move|prune|fills|delete",
    least="warning",
    deadline_s=600,  # the program tells when the write begins that has no room
)
INODES = Fault(
    "26a",
    "inodes_growth",
    lambda bench: littering(bench, seconds=LEAD_S),
    classes=frozenset({"inode_exhausted", "saves_left"}),
    cause="inode",
    remedy=r"inode|folder|du |fills",
    least="warning",
    deadline_s=LEAD_S - 1800,
    weight=0.1,
)
FAULTS = (
    SAVES,
    replace(
        SAVES,
        number="25",
        name="disk_growth",
        arrange=growing,
        deadline_s=LEAD_S - 1800,
        weight=0.1,
    ),
    INODES,
    replace(
        INODES,
        number="26b",
        name="inodes_exhausted",
        arrange=lambda bench: littering(bench, seconds=30),
        least="page",
        deadline_s=60 + DELIVERY_S,
    ),
    Fault(
        "30",
        "cpu_quota",
        throttled,
        classes=frozenset({"cpu_throttled"}),
        cause="quota|throttl|CPU",
        remedy=r"quota|CPU|limit|core",
        least="warning",
        most="warning",
        deadline_s=600,
        weight=0.7,
    ),
    Fault("C8", "rotated_saves", rotated_saves, kind="control", length_s=110),
)
