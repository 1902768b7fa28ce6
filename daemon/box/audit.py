"""``middlewatch audit``: what a fresh box has, and what can be watched on it.

It looks once and changes nothing. Each check gives ``ok``, ``warn``, ``bad`` or ``unknown``, so
that what cannot be seen on this box is listed, not hidden.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from middlewatch.sentinels.kit import DiskSample, GpuSample, MemorySample, Observation
from middlewatch.sentinels.kit.numbers import size, span

from ..config.paths import StateDir
from ..config.phones import all_urls
from ..config.schema import Config
from ..judge.history import BoxHistory
from ..report import facts
from ..sources.cgroup_memory import CgroupMemory
from ..sources.disk import Disks
from ..sources.nvml import Nvml
from ..system import procfs
from ..system.cgroupfs import cpu_groups, tightest
from ..system.clock import SystemClock, iso
from ..system.errors import ConfigError, MiddlewatchError
from ..system.inotify import Inotify
from ..system.source import Source
from . import audit_launch, save_interval
from .audit_launch import Asked
from .audit_line import AuditLine
from .durability import PathDurability
from .platforms import Platform

NVML_S = 10.0
"""Seconds to wait for the driver: its first answer on a cold box takes a few."""
SMALL_SHM_BYTES = 1 << 30
"""Docker's default /dev/shm is 64 MiB; loader workers that pass batches need gibibytes."""

SAVE_TIMES_S = (5.0, 30.0, 120.0)
"""Seconds of a save of a small, a medium and a large model, for advice before one is measured."""
MOST_SIGNS = 3
"""Signs of a platform that are named; ``--json`` has them all."""


def audit(
    state_root: Path,
    config: Config,
    cwd: Path | None = None,
    runs: Sequence[Mapping[str, Any]] = (),
    root: str = "/",
    asked: Asked | None = None,
) -> dict[str, Any]:
    """Make all checks; returns what ``audit --json`` prints.

    ``cwd``: where training would write (default: the current folder). ``runs``: those that are
    watched, as ``status --json`` has them; of the keys only ``run``, ``checkpoint_dirs`` and
    ``checkpoints`` are used. ``root``: the folder in which signs of the platform are looked for.
    ``asked``: what a person means to start, for the checks before a launch (default: nothing).
    """
    here = (cwd or Path.cwd()).absolute()
    clock = SystemClock()
    now = clock.now()
    gpus, gpu_trouble = look_at_gpus(clock)
    disks = [s for s in _once(_disks(here, state_root), now) if isinstance(s, DiskSample)]
    memory = next(
        (s for s in _once(CgroupMemory(os.getpid()), now) if isinstance(s, MemorySample)), None
    )
    places = PathDurability.of_box(config, root)
    storage = [*_storage(places, here, runs)]
    advice = _advice(config, places, runs)
    places.close()
    asked = asked or Asked()
    from . import audit_route  # here: it needs an HTTP client, and `watch` imports this module
    from .machine import look  # here: `watch` imports this module too, and needs no psutil

    machine = look([d.mount for d in disks])
    checks = [
        _gpu_check(gpus, gpu_trouble),
        _platform_check(places.platforms),
        *_machine_checks(machine, now),
        *(_disk_check(d) for d in disks),
        *(_storage_check(row) for row in storage),
        _cadence_check(advice),
        *(AuditLine(f"cadence {one['run']}", "ok", one["text"]) for one in advice["runs"]),
        _memory_check(memory),
        _cpu_check(),
        _shm_check(),
        _network_check(),
        *audit_launch.checks(asked, gpus, here, os.environ),
        *audit_launch.saves_that_fit(runs),
        *audit_route.checks(os.environ, asked.routes, now, root),
        *_coverage(),
        _alerts_check(config, StateDir(state_root)),
        _service_check(),
    ]
    history = BoxHistory()
    samples: list[DiskSample | GpuSample] = [*gpus, *disks]
    for sample in samples:
        history.add(sample)
    return {
        "host": os.uname().nodename,
        "checks": [{"what": c.what, "state": c.state, "detail": c.detail} for c in checks],
        "box": facts.box(history, memory, lambda mount: (), now),
        "cpu": cpu(),
        "machine": {**machine, "booted_at": iso(machine["booted_at"])},
        "platforms": [_platform(p) for p in places.platforms],
        "durability": storage,
        "cadence": advice,
    }


def _platform(one: Platform) -> dict[str, Any]:
    shown = ("id", "name", "role", "signs", "better", "spot", "ends_h")
    return {key: getattr(one, key) for key in shown}


def _platform_check(platforms: Sequence[Platform]) -> AuditLine:
    if not platforms:
        return AuditLine("platform", "unknown", "not recognised; set [platform] name")
    named = (f"{p.name} by {', '.join(p.signs[:MOST_SIGNS])}" for p in platforms)
    spot = f"; {platforms[0].spot}" if platforms[0].spot else ""
    return AuditLine("platform", "ok", "; ".join(named) + spot)


def _storage(
    places: PathDurability, here: Path, runs: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """The durability of each folder that training writes to, or would write to."""
    holds: dict[str, list[str]] = {str(here): ["cwd"]}
    holds.setdefault(str(Path("~").expanduser()), []).append("home")
    for run in runs:
        for folder in run["checkpoint_dirs"]:
            holds.setdefault(folder, []).append(f"checkpoints of {run['run']}")
    for path, what in holds.items():
        place = places.of(path)
        yield {
            "path": path,
            "holds": what,
            "survives_stop": place.survives_stop,
            "survives_destroy": place.survives_destroy,
            "where": place.where,
            "better": place.better,
            "text": place.words,
        }


def _storage_check(row: Mapping[str, Any]) -> AuditLine:
    state = {True: "ok", False: "warn", None: "unknown"}[row["survives_stop"]]
    better = f"; {row['better']}" if row["better"] and state == "warn" else ""
    what = f"storage {row['path']} ({', '.join(row['holds'])})"
    return AuditLine(what, state, row["text"] + better)


def _advice(
    config: Config, places: PathDurability, runs: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """How often to save: by the length of the job, and by the cost of a save where the mean time
    between interruptions is known."""
    between, told_by = save_interval.interruptions(config, places.platforms)
    known = ((run["run"], (run.get("checkpoints") or {}).get("cadence")) for run in runs)
    return {
        "rule_of_thumb": [
            {"job_s_below": below if below < math.inf else None, "every_s": every}
            for below, every in save_interval.RULE
        ],
        "interruption_hours": between / save_interval.HOUR_S if between else None,
        "interruption_from": told_by,
        "by_save_time": [
            {
                "save_s": save,
                "young_s": save_interval.young(save, between),
                "daly_s": save_interval.daly(save, between),
            }
            for save in SAVE_TIMES_S
            if between
        ],
        "runs": [{"run": run, **cadence} for run, cadence in known if cadence and cadence["text"]],
    }


def _cadence_check(advice: Mapping[str, Any]) -> AuditLine:
    rule = advice["rule_of_thumb"]
    parts = [
        f"{span(row['every_s'])} for jobs under {span(row['job_s_below'])}"
        if row["job_s_below"]
        else f"{span(row['every_s'])} for longer ones"
        for row in rule
    ]
    text = f"rule of thumb: save every {', '.join(parts)}"
    if not advice["by_save_time"]:
        more = "; for better advice set [checkpoints] interruption_hours"
        return AuditLine("cadence", "ok", text + more)
    examples = (
        f"{span(row['daly_s'])} where a save takes {span(row['save_s'])}"
        for row in advice["by_save_time"]
    )
    between = span(advice["interruption_hours"] * save_interval.HOUR_S)
    first = f"Young/Daly, one interruption every {between} ({advice['interruption_from']}): "
    return AuditLine("cadence", "ok", f"{first}every {', '.join(examples)}; {text}")


def _disks(here: Path, state_root: Path) -> Disks:
    return Disks(
        {"cwd": [str(here)], "state": [str(state_root)], "tmp": ["/tmp"], "shm": ["/dev/shm"]}
    )


def _once(source: Source, now: float) -> list[Observation]:
    try:
        return list(source.read(now))
    except (OSError, MiddlewatchError):
        return []
    finally:
        source.close()


def look_at_gpus(clock: SystemClock) -> tuple[list[GpuSample], str]:
    """(one sample of every GPU, the reason why there is none)."""
    source = Nvml(clock)
    deadline = clock.monotonic() + NVML_S
    try:
        while clock.monotonic() < deadline:
            seen = [s for s in source.read(clock.now()) if isinstance(s, GpuSample)]
            if seen:
                return seen, ""
            clock.sleep(0.1)
        return [], f"the driver did not answer within {NVML_S:.0f} s"
    except (MiddlewatchError, RuntimeError, OSError) as error:
        return [], str(error)
    finally:
        source.close()


def _gpu_check(gpus: list[GpuSample], trouble: str) -> AuditLine:
    if not gpus:
        return AuditLine("GPUs", "warn", f"none can be seen: {trouble}")
    lost = [g.index for g in gpus if g.lost]
    if lost:
        return AuditLine("GPUs", "bad", f"lost: {lost}")
    names = ", ".join(sorted({g.name for g in gpus}))
    return AuditLine("GPUs", "ok", f"{len(gpus)} x {names}")


def _disk_check(disk: DiskSample) -> AuditLine:
    inodes = (
        "inodes unknown"
        if disk.free_inodes is None
        else f"{disk.free_inodes} of {disk.total_inodes} inodes free"
    )
    detail = (
        f"{size(disk.free_bytes)} of {size(disk.total_bytes)} free, {inodes}, {disk.fstype}"
        f" (holds {', '.join(disk.holds)})"
    )
    share = disk.free_bytes / disk.total_bytes if disk.total_bytes else 1.0
    inode_share = (disk.free_inodes or 0) / disk.total_inodes if disk.total_inodes else 1.0
    state = "bad" if disk.read_only or min(share, inode_share) < 0.01 else "ok"
    if state == "ok" and min(share, inode_share) < 0.1:
        state = "warn"
    return AuditLine(
        f"disk {disk.mount}", state, detail + (", READ-ONLY" if disk.read_only else "")
    )


def _machine_checks(machine: Mapping[str, Any], now: float) -> Iterator[AuditLine]:
    """Uptime, users who are logged in, and disks that no other check looks at."""
    cores = f"{machine['cores']} cores, " if machine["cores"] else ""
    swap = f"{size(machine['swap_bytes'])} of swap" if machine["swap_bytes"] else "no swap"
    up = span(max(0.0, now - machine["booted_at"]))
    memory = size(machine["memory_bytes"])
    yield AuditLine(
        "machine", "ok", f"up for {up}; {cores}{machine['threads']} threads, {memory}, {swap}"
    )
    if machine["users"]:
        yield AuditLine("users", "ok", f"logged in: {', '.join(machine['users'])}")
    for disk in machine["other_disks"]:
        room = f"{size(disk['free'])} of {size(disk['total'])} free, {disk['fstype']}"
        yield AuditLine(
            f"disk {disk['mount']}", "ok", f"{room} (holds no folder that is checked here)"
        )


def _memory_check(memory: MemorySample | None) -> AuditLine:
    if memory is None:
        return AuditLine("memory", "unknown", "the cgroup's memory files cannot be read")
    host = memory.host_available_bytes
    of_host = "" if host is None else f"; the whole host has {size(host)} available"
    if memory.limit_bytes is None:
        return AuditLine(
            "memory", "ok", f"no cgroup limit, {size(memory.working_set_bytes)} in use"
        )
    return AuditLine(
        "memory",
        "ok" if memory.working_set_bytes < 0.9 * memory.limit_bytes else "warn",
        f"cgroup limit {size(memory.limit_bytes)}, {size(memory.working_set_bytes)} in use{of_host}",
    )


def cpu() -> dict[str, Any]:
    """Cores: those of the host, those that this process may use, and the quota of the cgroup."""
    return {
        "host": os.cpu_count(),
        "allowed": len(os.sched_getaffinity(0)),
        "quota": _quota(),
        "threads": os.environ.get("OMP_NUM_THREADS"),
    }


def _quota() -> float | None:
    """CPU quota in cores: the lowest of our cgroup and of those above it."""
    group = tightest(cpu_groups(os.getpid()))
    return group.cores if group else None


def _cpu_check() -> AuditLine:
    have = cpu()
    real = min(have["allowed"], have["quota"] or have["allowed"])
    detail = f"{real:g} of the {have['host']} cores of the host may be used"
    if have["quota"] and have["quota"] < have["allowed"] and not have["threads"]:
        return AuditLine("CPU", "warn", detail + "; set OMP_NUM_THREADS: libraries count all cores")
    return AuditLine("CPU", "ok", detail)


def _shm_check() -> AuditLine:
    try:
        total = os.statvfs("/dev/shm")
    except OSError as error:
        return AuditLine("/dev/shm", "warn", f"not there: {error.strerror}")
    have = total.f_blocks * total.f_frsize
    state = "ok" if have >= SMALL_SHM_BYTES else "warn"
    return AuditLine("/dev/shm", state, f"{size(have)}; DataLoader workers pass batches through it")


def _network_check() -> AuditLine:
    routes = procfs.default_routes()
    if routes:
        return AuditLine("network", "ok", f"default route over {', '.join(sorted(routes))}")
    return AuditLine("network", "warn", "no default route: pushes will not leave this box")


def _coverage() -> Iterator[AuditLine]:
    """Which sources of information this box has."""
    try:
        os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))
        yield AuditLine("kernel log", "ok", "readable: Xid and OOM kills will be seen")
    except OSError as error:
        yield AuditLine("kernel log", "unknown", f"{error.strerror}: GPU faults only through NVML")
    hints = Inotify()
    detail = "changes of files are noticed at once" if hints.available else hints.why_not
    yield AuditLine("inotify", "ok" if hints.available else "warn", detail)
    hints.close()
    if Path(sys.executable).with_name("py-spy").exists() or shutil.which("py-spy"):
        yield AuditLine("stacks", "ok", "py-spy is there")
    else:
        yield AuditLine("stacks", "unknown", "py-spy is not installed: no stacks of a hanging run")


def _alerts_check(config: Config, state: StateDir) -> AuditLine:
    try:
        count = len(all_urls(config.alert_urls, state.alert_urls))
    except ConfigError as error:
        return AuditLine("alerts", "bad", str(error))
    if not count:
        hint = "no URL is set: no alert will be sent; set one: middlewatch setup"
        return AuditLine("alerts", "bad", hint)
    return AuditLine("alerts", "ok", f"{count} URLs; try them: middlewatch alert test")


def _service_check() -> AuditLine:
    if Path("/run/systemd/system").is_dir():
        return AuditLine("service", "ok", "systemd runs: middlewatch setup installs the service")
    return AuditLine(
        "service", "ok", "no systemd: middlewatch setup uses cron, or says where the line goes"
    )
