"""A box in accelerated time: real parsers, rules and incidents, simulated everything else.

The clock moves a second at a time. What the sources of the daemon would have seen in that
second is worked out from what the run does and handed to the real :class:`WatchedRun` and
:class:`Engine`, with the rules and limits as shipped: the log as bytes through the real
:class:`LiveReader`, the rest as the observations that the sources make.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.config.schema import Config
from middlewatch.daemon.judge.engine import Engine
from middlewatch.daemon.judge.history import BoxHistory
from middlewatch.daemon.judge.incidents import Change, Incident, Incidents
from middlewatch.daemon.parsers.recurring import LiveReader
from middlewatch.daemon.service.watched_run import SETTLE_S, WatchedRun
from middlewatch.daemon.system.isolation import Isolation
from middlewatch.daemon.system.jsonlines import dumps
from middlewatch.sentinels.kit import (
    CheckpointSeen,
    DiskSample,
    GpuSample,
    LogGrowth,
    MemorySample,
    Observation,
    ProcessEnded,
    ProcessesSeen,
    ProcessSample,
    Severity,
    SourceState,
    discover,
)
from middlewatch.sentinels.kit.observations import SourceStateName

from ..fakes.clock import FakeClock
from .acts import GIB, LOADS, Act, Load
from .healthy import HealthyRun
from .saves import Saves

BEGIN = 1_760_000_000.0
RUN = "soak"
LOG = "/data/train.log"
CLOSER_AFTER_S = 30.0
"""Silence after which the daemon reads I/O and wait channels of every process."""


@dataclass
class Told:
    """What the watch said of one run."""

    changes: list[tuple[float, str, Severity, str, str]] = field(default_factory=list)
    """(seconds since the beginning, kind of change, severity, class, summary)."""

    def note(self, at: float, change: Change) -> None:
        """Write a change down."""
        one = change.incident
        self.changes.append((at, change.kind, one.severity, one.trouble, one.summary))

    def count(self, severity: Severity) -> int:
        """Openings and raises of a severity: what a phone would have rung for."""
        return sum(k in ("opened", "raised") and s is severity for _, k, s, _, _ in self.changes)

    @property
    def pages(self) -> list[str]:
        """Every critical one in words."""
        return [
            f"{at / 3600:.2f} h {trouble}: {summary}"
            for at, kind, severity, trouble, summary in self.changes
            if kind in ("opened", "raised") and severity is Severity.CRITICAL
        ]

    @property
    def classes(self) -> Counter[str]:
        """How often each class was opened below critical."""
        return Counter(
            f"{trouble} ({severity.label})"
            for _, kind, severity, trouble, _ in self.changes
            if kind in ("opened", "raised") and severity is not Severity.CRITICAL
        )


class Box:
    """One healthy run and its watch."""

    def __init__(self, run: HealthyRun, seed: int = 0) -> None:
        self.run = run
        self.machine = run.machine
        self.rng = random.Random(f"{run.name}:{seed}")
        self.clock = FakeClock(BEGIN)
        self.told = Told()
        self.steps = 0
        self.dead = False
        """All processes sleep for ever from here on: the trouble that must be heard."""
        self._acts: Iterator[Act] = run.acts(self.rng)
        self._act = next(self._acts)
        self._left = self._act.seconds
        self._ranks = self.machine.ranks
        self._began = self.clock.monotonic()
        self._unread = b""
        self._nvml: SourceStateName = "ok"
        self._jumps = list(self.machine.clock_jumps)
        self._wrote = 0
        self._held = b""
        self._bytes = 0
        self._lines = 0
        self._grown_at = BEGIN
        self._chunk = 0
        self._pids = 100
        self._cpu: dict[int, float] = {}
        self._io: dict[int, list[int]] = {}
        self._cache = 0.0
        self._saves = Saves(f"{run.name}:{seed}")
        self._spec = RunSpec(
            name=RUN, id=RUN, pid=100, start_ticks=7, command=run.command, logs=(LOG,),
            world_size=self.machine.ranks, checkpoint_dirs=("/data/ckpt",), started_at=BEGIN,
        )  # fmt: skip
        self._box = BoxHistory()
        self.keeper = Incidents()
        self.engine = self._new_engine()
        self.watched = WatchedRun(self._spec, self._box, self.clock)
        self.reader = LiveReader(LOG)
        self._restart_at = self.machine.daemon_restarts_s
        self._sources()

    # -- time ---------------------------------------------------------------------------

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return self.clock.monotonic() - self._began

    def hours(self, hours: float) -> Told:
        """Let time go on."""
        until = self.elapsed + hours * 3600
        while self.elapsed < until:
            self.second()
        return self.told

    def second(self) -> None:
        """One second of training, one tick of the watch."""
        self.clock.jump(1.0)
        if self._jumps and self.elapsed >= self._jumps[0][0] * 3600:
            self.clock.set_wall(self.clock.now() + self._jumps.pop(0)[1])
        now = self.clock.now()
        load, printed = self._train(1.0)
        processes = self._processes(now, load)
        self._unread += printed
        if self._watch_sleeps():
            return
        printed, self._unread = self._unread, b""
        seen: list[Observation] = []
        if printed:
            seen += self.reader.feed(printed, now)
            self._bytes += len(printed)
            self._lines += printed.count(b"\n")
            self._grown_at, self._chunk = now, len(printed)
        seen.append(
            LogGrowth(
                now, LOG, self._bytes, self._lines, self._grown_at, self._chunk, self.reader.signs
            )
        )
        seen.append(processes)
        seen.append(self._memory(now, load))
        seen += self._gpus(now, load)
        if int(now) % 2 == 0:
            self._disk(now)
            self._tell_saves(self._saves.read(now))
        self.watched.add_observations(seen)
        self._judge(now)
        if self._restart_at is not None and self.elapsed >= self._restart_at:
            self._restart_at += self.machine.daemon_restarts_s or 0.0
            self._restart()

    def _watch_sleeps(self) -> bool:
        slept = (self.elapsed - hours * 3600 for hours, _ in self.machine.watch_sleeps)
        return any(
            0 <= since < seconds
            for since, (_, seconds) in zip(slept, self.machine.watch_sleeps, strict=True)
        )

    def _judge(self, now: float) -> None:
        watched = self.watched
        watched.take_end()
        fresh, watched.fresh = watched.fresh, set()
        view = watched.view(now)
        for change in self.engine.judge(RUN, view, fresh, tick=True, line=self._line):
            self.told.note(self.elapsed, change)
        watched.update_state(view, self.keeper.open(RUN))
        self.keeper.forget_resolved(now - 3600)

    def _line(self, file: str, number: int) -> str | None:
        return next((text for n, text in reversed(self.reader.tail) if n == number), None)

    # -- what the run does --------------------------------------------------------------

    def _train(self, seconds: float) -> tuple[Load, bytes]:
        """The mean load of this second, and the bytes that came out of it."""
        if self.dead:
            return LOADS["rest"], b""
        load = self._act.load or LOADS[self._act.doing]
        if self._act.doing == "save":
            self._wrote = int(self.clock.now())
        out = b""
        while self._left <= seconds:
            seconds -= self._left
            out += self._finish(self._act)
            self._act = next(self._acts)
            self._left = self._act.seconds
        self._left -= seconds
        block = self.machine.buffered_bytes
        if block:
            self._held += out
            whole = len(self._held) // block * block
            out, self._held = self._held[:whole], self._held[whole:]
        return load, out

    def _finish(self, act: Act) -> bytes:
        self.steps += act.doing == "train"
        if act.saves is not None:
            now = self.clock.now()
            self._tell_saves(self._saves.add(act, now, now - BEGIN, self._ranks))
        if act.restarts:
            self._ranks = act.ranks or self._ranks
            self._pids += 1000
            self._cpu.clear()
        if act.ends:
            self._end_run()
        ended = ["\r" in line or line.endswith("\n") for line in act.prints]
        return "".join(
            line if kept else line + "\n" for line, kept in zip(act.prints, ended, strict=True)
        ).encode()

    def _tell_saves(self, seen: list[CheckpointSeen]) -> None:
        if seen:
            self.watched.add_observations(seen)
            self.watched.history.checkpoints = self._saves.there

    def _end_run(self) -> None:
        """The process is gone with status 0; the next run is watched from its first second."""
        self.watched.add_observations([ProcessEnded(self.clock.now(), 100, main=True, exit_code=0)])
        for _ in range(int(SETTLE_S) + 2):
            self.clock.jump(1.0)
            now = self.clock.now()
            self.watched.add_observations([ProcessesSeen(now, ())])
            self._judge(now)
        assert not self.watched.alive, "a run that ended is not over"
        self._watch_another()

    def _watch_another(self, saved: dict[str, Any] | None = None) -> None:
        self._box = BoxHistory()
        spec = replace(self._spec, started_at=self.clock.now())
        self.watched = WatchedRun(spec, self._box, self.clock, saved)
        self.watched.history.checkpoints = self._saves.there
        self.reader = LiveReader(LOG)
        self._sources()

    # -- what the sources see -----------------------------------------------------------

    def _processes(self, now: float, load: Load) -> ProcessesSeen:
        marks = self.watched.history.step_times
        closer = bool(marks) and now - marks[-1][0] > CLOSER_AFTER_S
        found = [self._process(100, 1, "torchrun", None, 0.0, load, closer)]
        for rank in range(self._ranks):
            pid = self._pids + 10 + rank * 20
            writes = load.writes if rank == 0 else 0.0
            # Only rank 0 writes; the others wait for it in a barrier.
            cores = load.cores if rank == 0 or load.writes < 1 else 0.0
            mine = load._replace(cores=cores, writes=writes)
            found.append(self._process(pid, 100, "python", rank, mine.cores, mine, closer))
            for worker in range(self.machine.workers):
                share = load._replace(reads=load.reads / 2, writes=0.0)
                cores = load.workers / max(1, self.machine.workers)
                found.append(
                    self._process(
                        pid + 1 + worker, pid, "pt_data_worker", None, cores, share, closer
                    )
                )
        return ProcessesSeen(now, tuple(found))

    def _process(
        self,
        pid: int,
        ppid: int,
        name: str,
        rank: int | None,
        cores: float,
        load: Load,
        closer: bool,
    ) -> ProcessSample:
        burnt = cores * self.rng.uniform(0.7, 1.2) if cores else 0.0
        self._cpu[pid] = self._cpu.get(pid, 3.0) + burnt
        counters = self._io.setdefault(pid, [0, 0])
        counters[0] += int(load.reads * cores * (1 << 20))
        counters[1] += int(load.writes * (1 << 20))
        busy = self.rng.random() < cores
        state = "R" if busy else "S"
        if load.blocked and name == "pt_data_worker" and self.rng.random() < load.blocked:
            state, busy = "D", False
        return ProcessSample(
            pid=pid, start_ticks=7 + self._pids, ppid=ppid, name=name, state=state,
            cpu_s=round(self._cpu[pid], 2), rank=rank,
            read_bytes=counters[0] if closer else None,
            write_bytes=counters[1] if closer else None,
            rss_bytes=4 * GIB if rank is not None else GIB // 2,
            wchan=("0" if busy else "futex_wait_queue") if closer else None,
        )  # fmt: skip

    def _memory(self, now: float, load: Load) -> MemorySample:
        machine = self.machine
        if machine.page_cache:
            room = machine.memory_bytes - machine.used_bytes - GIB
            self._cache = min(room, self._cache + (load.writes + load.reads * 0.2) * (1 << 20))
        used = machine.used_bytes * self.rng.uniform(0.97, 1.03)
        if load.writes > 1:
            used += 0.05 * machine.memory_bytes  # a copy of the weights while they are saved
        current = min(machine.memory_bytes, int(used + self._cache))
        active = int(self._cache) if machine.active_cache else 0
        return MemorySample(
            now, "/job", machine.memory_bytes if machine.limited else None, current,
            int(used) + active, 0, pressure_full_avg10=0.0,
            host_available_bytes=machine.memory_bytes - (0 if machine.limited else int(used)),
            active_file_bytes=active,
        )  # fmt: skip

    def _gpus(self, now: float, load: Load) -> Iterator[Observation]:
        machine = self.machine
        if machine.gpus == "none":
            return
        if machine.nvml_fails is not None:
            every, hours = machine.nvml_fails
            failed = self.elapsed / 3600 % every > every - hours
            if failed != (self._nvml == "failed"):
                self._nvml = "failed" if failed else "ok"
                yield SourceState(now, "nvml", self._nvml, now, "Unknown Error" if failed else "")
            if failed:
                return
        for index in range(machine.ranks):
            shaken = self.rng.uniform(0.96, 1.03)
            told = GpuSample(
                now, index, f"GPU-{index}", "H100", min(1.0, load.gpu * shaken), 60 * GIB,
                80 * GIB, 700 * load.watts * shaken, 700.0, 55 + 12 * load.watts, 1980.0,
            )  # fmt: skip
            if machine.gpus == "mig":
                told = replace(told, util_ratio=None, power_w=None, power_limit_w=None)
            self.watched.history.add(told)
        self.watched.fresh.add(GpuSample)

    def _disk(self, now: float) -> None:
        used = self._saves.bytes + 200 * GIB
        if self.machine.neighbours is not None:
            most, hours = self.machine.neighbours
            used += int(most * (1 - abs(1 - self.elapsed / hours / 1800 % 2)))
        inodes = 50_000_000 if self.machine.inodes else None
        if not self.dead and self._act.doing == "save" and self._act.saves and self._act.seconds:
            used += int(self._act.saves * (1 - self._left / self._act.seconds))
            self.watched.history.saving_at = now
        self.watched.history.add(
            DiskSample(
                now, "/data", "ext4", self.machine.disk_bytes, self.machine.disk_bytes - used,
                inodes, inodes, holds=("checkpoints", "log", "cwd"),
            )
        )  # fmt: skip
        self.watched.fresh.add(DiskSample)

    def _sources(self) -> None:
        now = self.clock.now()
        for name in (f"log_tail:{LOG}", "processes", "cgroup", "disk", "checkpoint_dir"):
            self.watched.add_observations([SourceState(now, name, "ok", now)])
        self._nvml = "unsupported" if self.machine.gpus == "none" else "ok"
        self.watched.add_observations([SourceState(now, "nvml", self._nvml, now)])

    # -- the watch itself ---------------------------------------------------------------

    def _new_engine(self) -> Engine:
        def bug(text: str) -> None:
            raise AssertionError(text)

        config = Config()
        enabled = {n: s for n, s in discover().items() if n not in config.disabled}
        return Engine(enabled, config.limits, self.keeper, Isolation(bug))

    def _restart(self) -> None:
        """The daemon ends and starts anew: what it keeps goes through JSON."""
        saved: dict[str, Any] = json.loads(dumps(self.watched.save()))
        known = [Incident.from_json(json.loads(dumps(i.to_json()))) for i in self.keeper.all()]
        state = json.loads(dumps(self.reader.save()))
        self.keeper = Incidents(known)
        self.engine = self._new_engine()
        self._watch_another(saved)
        self.reader = LiveReader.restore(LOG, state)
