"""The resident daemon: the only place where the parts are wired together."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from middlewatch.sentinels.kit import LogEvent, discover
from middlewatch.sentinels.kit.classes import row

from ..box.durability import PathDurability
from ..checkpoints.index import read as read_index
from ..config.paths import StateDir
from ..config.run_spec import RunSpec, run_id
from ..config.schema import Config
from ..config.secrets import mask
from ..judge.engine import Engine
from ..judge.incidents import Change, Incident, Incidents
from ..mirror.source import MirrorSource, RunCheckpoints
from ..parsers.reader import LogReader
from ..sources.kernel_log import KernelLog
from ..sources.nvml import Nvml
from ..sources.own_loop import OwnLoop
from ..system import sdnotify, walls
from ..system.clock import Clock, iso
from ..system.errors import Refused, UsageError
from ..system.inotify import Inotify
from ..system.loop import Loop, Timer
from ..system.loop_watch import LoopWatch
from ..system.private import open_private
from ..system.pump import Pump
from ..system.store import Store
from ..text.terminal import clean
from .alerting import Alerter
from .attribution import Attribution
from .context import Context
from .finding import Finding
from .handlers import Handlers
from .publishing import Publisher
from .server import Server
from .watched_run import WatchedRun

SAVE_S = 50.0
"""Status page, index and store are refreshed at least this often (contract: a minute)."""


class App:
    """The resident daemon: owns all its parts and runs them on one loop in one thread."""

    def __init__(
        self, state: StateDir, config: Config, clock: Clock, *, drill: bool = False
    ) -> None:
        self._clock = clock
        self._lock = _lock(state, self.log_line)
        state.close_to_others()
        self._loop = Loop(clock, self._bug)
        store = Store(state.store, state.reserve)
        incidents = Incidents(_known_incidents(store, self.log_line))
        self.context = Context(
            state, config, clock, store, incidents, Pump(self._loop, clock, self.log_line)
        )
        self.context.drill = drill
        self._watch_of_loop = LoopWatch(self._loop, clock, self.log_line)
        self.context.loop_watch = self._watch_of_loop
        self.context.durability = PathDurability.of_box(config)
        enabled = {n: s for n, s in discover().items() if n not in config.disabled}
        self._engine = Engine(enabled, config.limits, incidents, self.log_line)
        hang = config.limits.get("hang")
        self._closer_after_s: float = getattr(hang, "floor_s", 60.0) / 2
        self._hang = hang if "hang" in enabled else None
        self._inotify = Inotify()
        self._attribution = Attribution(self.context)
        incidents.users = self._attribution.users
        self._kernel = KernelLog(_kernel_events(), saved=dict(store.all("box")).get("kernel_log"))
        self._judging: dict[str, Timer] = {}
        self._alerter = Alerter(self.context, self._loop, self.log_line)
        self._publisher = Publisher(self.context, self.log_line)
        self._finding = Finding(
            self.context,
            self._alerter,
            self.watch,
            self._publisher.publish,
            self._tell,
            self.log_line,
        )
        answers = Handlers(
            self.context, self._alerter, self.watch, self._stop_soon, self._finding.switch
        )
        self._server = Server(state.socket, self._loop, answers.handlers(), self.log_line)

    # -- life ---------------------------------------------------------------------------

    def run(self) -> None:
        """Watch until asked to stop; then save and close everything."""
        self._listen_to_signals()
        context = self.context
        own = OwnLoop(self._watch_of_loop)
        copies = (self._publisher.copies,) if context.config.watch.status_dir else ()
        for source in (Nvml(self._clock), self._kernel, own, *copies):
            context.box_sources.append(context.pump.add(source, self._attribution.take))
        if context.config.mirror.to:
            memory = str(context.state.root / "mirror.json")
            mirror = MirrorSource(context.config.mirror, self._kept, self._copied, memory)
            context.box_sources.append(context.pump.add(mirror, self._attribution.take))
        for run, doc in context.store.all("run"):
            self._loop.serve(partial(self._take_up, run, doc))
        self._loop.serve(self._alerter.tell_lost_store)
        self._loop.serve(self._publisher.tidy)
        self._loop.serve(self._finding.begin)
        self._attribution.watch_disks()
        self._loop.every(1.0, self._tick)
        self._loop.every(SAVE_S, self._save)
        watchdog = sdnotify.watchdog_s()
        if watchdog:
            self._loop.every(watchdog, lambda: sdnotify.notify("WATCHDOG=1"))
        for sentence in walls.missing():
            self.log_line(sentence)
        self.log_line(f"watching {len(context.living_runs())} runs, state in {context.state.root}")
        sdnotify.notify(f"READY=1\nSTATUS=watching {len(context.living_runs())} runs")
        # The objects of this moment stay for good: the garbage collector may skip them.
        gc.collect()
        gc.freeze()
        gc.set_threshold(10_000, 20, 50)  # few of the new objects are in reference cycles
        self._watch_of_loop.start()
        try:
            self._loop.run()
        finally:
            sdnotify.notify("STOPPING=1")
            self._close()

    def _stop_soon(self) -> None:
        """Stop after a short delay, in which the client that asked gets its answer."""
        self._loop.later(0.05, self._loop.stop)

    def _listen_to_signals(self) -> None:
        read, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._loop.stop())
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self._loop.watch(read, lambda: _drain(read))

    def _close(self) -> None:
        """Save and close all parts; an exception in one of them does not stop the others."""
        parts = [self._watch_of_loop.close, self._save, self._alerter.outbox.close]
        parts += [pumped.close for pumped in self.context.pump.all()]
        parts += [self._inotify.close, self.context.guards.close]
        parts += [self.context.durability.close, self.context.store.close]
        for part in parts:
            self._loop.serve(part)
        self.log_line("stopped")
        # Last, because `middlewatch stop` waits until the socket is gone, and the next daemon may
        # then start at once.
        self._server.close()
        self._loop.close()
        os.close(self._lock)

    def log_line(self, text: str) -> None:
        """One line (or a traceback) to stderr: the journal, or the daemon's log."""
        with contextlib.suppress(OSError, ValueError):
            lines = f"{iso(self._clock.now())} {mask(text)}".split("\n")
            print("\n".join(map(clean, lines)), file=sys.stderr, flush=True)

    def _bug(self, error: Exception) -> None:
        self.log_line("a bug in middlewatch:\n" + "".join(traceback.format_exception(error)))

    # -- runs ---------------------------------------------------------------------------

    def watch(self, spec: RunSpec, saved: Mapping[str, Any] | None = None) -> WatchedRun:
        """Put a new run under watch. ``saved``: positions in its logs, if it does not begin them."""
        run = spec.id or run_id(spec.name)
        spec = replace(spec, started_at=spec.started_at or self._clock.now())
        watched = self._add(run, spec, saved)
        self._attribution.watch_disks()
        self._publisher.publish(watched)
        return watched

    def _take_up(self, run: str, doc: dict[str, Any]) -> None:
        """Continue with a stored run after a restart of the daemon.

        A stored run that cannot be read raises; the loop logs that as a bug and goes on without it.
        """
        written = read_index(str(self.context.state.checkpoint_index(run)))
        known = doc.get("index") or {}
        if (
            written
            and written["run"] == run
            and written["updated_at"] > known.get("updated_at", "")
        ):
            # `checkpoints --rescan` wrote this index while no daemon was running.
            doc = {**doc, "index": written}
        self._add(run, RunSpec.from_json(doc["spec"]), doc)

    def _add(self, run: str, spec: RunSpec, saved: Mapping[str, Any] | None = None) -> WatchedRun:
        context, spec = self.context, replace(spec, id=run)
        watched = WatchedRun(spec, context.box, self._clock, saved, context.durability)
        self.context.runs[run] = watched
        mirror = context.config.mirror.to
        watched.saves.never = (mirror,) if mirror and mirror.startswith("/") else ()
        watched.saves.others = lambda: [r for r in context.runs.values() if r is not watched]
        watched.saves.learnt = lambda: self._learnt(watched)
        if watched.alive:
            for pumped in self.context.box_sources:
                watched.history.add(pumped.state)
            ends = self.context.config.watch.ends(watched.facts.started_at)
            watched.guards = context.guards
            watched.start_sources(
                self.context.pump, self._inotify, lambda: self._judge_soon(run), ends
            )
        return watched

    def _learnt(self, watched: WatchedRun) -> None:
        """A run has one more checkpoint folder: watch its disk, and write it down."""
        self._attribution.watch_disks()
        self._publisher.publish(watched)

    def _kept(self) -> list[RunCheckpoints]:
        """The checkpoints of every run, from which the mirror chooses what to copy."""
        return [run.run_checkpoints() for run in self.context.runs.values()]

    def _copied(self, run: str) -> None:
        """The mirror started, finished or gave up a copy of this run: write its files again."""
        if run in self.context.runs:
            self._publisher.publish(self.context.runs[run])

    # -- judging ------------------------------------------------------------------------

    def _judge_soon(self, run: str) -> None:
        if run not in self._judging:
            self._judging[run] = self._loop.later(0.0, lambda: self._judge(run, tick=False))

    def _judge(self, run: str, *, tick: bool) -> None:
        soon = self._judging.pop(run, None)
        if soon is not None:
            soon.cancel()
        watched = self.context.runs.get(run)
        if watched is None or not watched.alive or not (tick or watched.fresh):
            return  # the run has ended, or the tick has judged it already
        self._loop.serve(partial(self._finding.look_at, watched))
        now, incidents = self._clock.now(), self.context.incidents
        fresh, watched.fresh = watched.fresh, set()
        view = watched.view(now)
        changes = self._engine.judge(run, view, fresh, tick=tick, line=watched.log_line_text)
        open_now = incidents.open(run)
        watched.look_closer(view, self._closer_after_s, self._hang)
        changed = watched.update_state(view, open_now)
        for change in changes:
            self._loop.serve(partial(self._tell, watched, change))
        if changes or changed or watched.index_stale:
            self._publisher.publish(watched)
            self._loop.serve(partial(self._alerter.correct_saves, watched))
        if not watched.alive:
            watched.stop_sources(self.context.pump)
            self._loop.serve(partial(self._finding.ended, watched))
            self._alerter.alert_end(watched)
            self._attribution.watch_disks()
            self._publisher.publish(watched)

    def _linger(self, watched: WatchedRun) -> None:
        """Follow the last saves of an ended run until they have a verdict."""
        if watched.alive or not watched.saves.open:
            return
        watched.note_checkpoints()
        if watched.index_stale:
            self._publisher.publish(watched)
            self._alerter.correct_saves(watched)
        if not watched.saves.waits(self._clock.now()):
            watched.saves.stop(self.context.pump)

    def _tell(self, watched: WatchedRun, change: Change) -> None:
        self._alerter.alert(watched, change)
        if change.kind != "joined":  # `incidents --follow` does not show these
            incident = self.context.incident_json(change.incident)
            self._server.publish({"change": change.kind, "incident": incident})

    def _tick(self) -> None:
        self._attribution.share_memory()
        for run in tuple(self.context.runs):
            self._loop.serve(partial(self._judge, run, tick=True))
        for watched in tuple(self.context.runs.values()):
            self._loop.serve(partial(self._linger, watched))
        self._alerter.pump()

    def _save(self) -> None:
        """Write every status page and index again, send reminders, trim the store."""
        for watched in self.context.living_runs():
            self._loop.serve(partial(self._publisher.publish, watched))
        self._loop.serve(self._alerter.tell_lost_store)
        self._loop.serve(self._alerter.remind)
        self.context.store.put("box", "kernel_log", self._kernel.state(), self._clock.now())
        self._loop.serve(self._publisher.tidy)


def _known_incidents(store: Store, log_line: Callable[[str], None]) -> list[Incident]:
    """The incidents in the store; one that cannot be read is logged and left out."""
    found = []
    for incident_id, doc in store.all("incident"):
        try:
            one = Incident.from_json(doc)
            row(one.trouble)  # a newer release may know more classes than this one
            found.append(one)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            log_line(f"incident {incident_id} of the store is not usable: {error!r}")
    return found


def _kernel_events() -> Any:
    """A function that matches kernel log lines with the same signatures as other logs."""
    reader = LogReader("kernel")

    def events(text: str, now: float) -> list[LogEvent]:
        data = text.encode("utf-8", "surrogateescape") + b"\n"
        return [seen for seen in reader.feed(data, now) if isinstance(seen, LogEvent)]

    return events


def _drain(fd: int) -> None:
    with contextlib.suppress(BlockingIOError):
        os.read(fd, 64)


def _lock(state: StateDir, log_line: Callable[[str], None]) -> int:
    """Lock the state directory, so that only one daemon uses it; returns the descriptor.

    Raises Refused when another daemon holds it or others may write there, UsageError when it cannot
    be used.
    """
    try:
        for words in state.take():
            log_line(words)
        fd = open_private(state.lock, os.O_RDWR)
    except OSError as error:
        raise UsageError(
            f"the state directory {state.root} cannot be used: {error.strerror}",
            "name another with --state-dir or $MIDDLEWATCH_STATE_DIR",
        ) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
        os.close(fd)
        raise Refused(
            f"a daemon (pid {holder or 'unknown'}) already watches with {state.root}",
            "stop it with `middlewatch stop`, or use another --state-dir",
        ) from error
    with contextlib.suppress(OSError):  # the daemon must start on a full disk, too
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return fd
