"""The resident daemon: the only place where the parts are wired together."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from middlewatch.sentinels.kit import LogEvent, discover
from middlewatch.sentinels.kit.own_rules import follow

from ..box.durability import PathDurability
from ..checkpoints.index import read as read_index
from ..config.paths import StateDir
from ..config.run_spec import RunSpec, run_id
from ..config.schema import Config
from ..config.secrets import mask
from ..judge.engine import Engine
from ..judge.incidents import Incidents
from ..parsers.reader import LogReader
from ..sources.kernel_log import KernelLog
from ..sources.nvml import Nvml
from ..sources.own_loop import OwnLoop
from ..sources.own_part import LOOK_S
from ..sources.searches import Searches
from ..system import bounded, descriptors, procfs, sdnotify, walls
from ..system.clock import Clock, iso
from ..system.control_socket import spare_path
from ..system.inotify import Inotify
from ..system.loop import Callback, Loop
from ..system.loop_watch import LoopWatch
from ..system.pump import Pump
from ..system.store import Store
from ..text.terminal import clean
from . import mirroring, state_lock
from .again import Again
from .alerting import Alerter
from .answers import Answers
from .attribution import Attribution
from .context import Context
from .dead_man import DeadMan
from .digests import Digests
from .finding import Finding
from .handlers import Handlers
from .judging import Judging
from .meter import LOOK_S as METER_S
from .meter import Meter
from .milestones import MilestoneLoads
from .own_care import OwnCare
from .own_report import OwnReport
from .publishing import Publisher
from .restoring import Restorer, spec_of, with_index
from .run_container import docker_of
from .server import Handler, Server
from .watched_run import WatchedRun

TAKE_UP_SHARE = 8.0
"""Taking up runs after a restart comes before the first looks of their sources. Our choice."""
SAVE_S = 50.0
"""Seconds between two times at which reminders are sent and the store is trimmed."""


class App:
    """The resident daemon: owns all its parts and runs them on one loop in one thread."""

    def __init__(
        self, state: StateDir, config: Config, clock: Clock, *, drill: bool = False
    ) -> None:
        self._clock = clock
        lock = state_lock.take(state, self.log_line)
        state.close_to_others()
        self._loop = Loop(clock, self._bug)
        store = Store(state.store, state.reserve)
        restorer = Restorer(store, self.log_line)
        incidents = Incidents(restorer.incidents())
        self.context = Context(
            state, config, clock, store, incidents, Pump(self._loop, clock, self.log_line)
        )
        self.context.drill = drill
        self.context.docker = docker_of(config, clock)
        self._watch_of_loop = LoopWatch(self._loop, clock, self.log_line)
        self.context.loop_watch = self._watch_of_loop
        self.context.durability = PathDurability.of_box(config)
        enabled = {n: s for n, s in discover().items() if n not in config.disabled}
        engine = Engine(enabled, config.limits, incidents, self.context.pump.isolation)
        hang = config.limits.get("hang")
        self._inotify = Inotify()
        self._attribution = Attribution(self.context)
        incidents.users = self._attribution.users
        self._kernel = KernelLog(_kernel_events(), saved=dict(store.all("box")).get("kernel_log"))
        self._searches = Searches()
        self._restorer = restorer
        self._alerter = Alerter(self.context, self._loop, self.log_line, restorer)
        self._publisher = Publisher(self.context, self.log_line)
        self._dead_man = DeadMan(self.context, self._alerter, self.log_line)
        self.context.heartbeat = self._dead_man.facts
        self._digests = Digests(
            self.context, self._alerter, self._dead_man.blind, self._dead_man.sentence
        )
        stored = dict(store.all("box")).get("answers")
        self._answers = Answers(self.context, self._alerter, self.log_line, stored)
        self.context.answers = self._answers.sentence
        self._judging = Judging(
            self.context,
            self._loop,
            engine,
            self._alerter,
            self._publisher,
            self._attribution,
            lambda change: self._server.publish(change),
            hang if "hang" in enabled else None,
            getattr(hang, "floor_s", 60.0) / 2,
        )
        self._again = Again(self.context, self._alerter, self._judging.tell, restorer)
        self._finding = Finding(
            self.context,
            self._alerter,
            self.watch,
            self._publisher.publish,
            self._judging.tell,
            self.log_line,
        )
        self._judging.finding = self._finding
        self._meter = Meter(self.context, self._alerter, self._judging.tell)
        self._own = OwnReport(self.context, self._alerter.outbox, self._inotify, lock)
        switch = self._finding.switch
        answers = Handlers(
            self.context,
            self._alerter,
            self.watch,
            self._stop_soon,
            switch,
            self._publisher.forget,
            self._own,
            self._dead_man.ring,
        )
        self._care = OwnCare(
            self.context, self._alerter, self._publisher, self._finding, self._own, self.log_line
        )
        self._beginning = self._take_ups()
        self._asked = False
        handlers = {
            op: answer if op == "ping" else partial(self._after_beginning, answer)
            for op, answer in answers.handlers().items()
        }
        self._server = self._own.server = Server(
            state.socket,
            self._loop,
            handlers,
            self.log_line,
            store.give_reserve,
            spare_path(state.root),
        )

    # -- life ---------------------------------------------------------------------------

    def run(self) -> None:
        """Watch until asked to stop; then save and close everything."""
        self._listen_to_signals()
        self.begin()
        self._watch_of_loop.start()
        bounded.install()
        try:
            self._loop.catch_up()  # whoever has started us finds a few runs under watch already
            self._loop.run()
        finally:
            sdnotify.notify("STOPPING=1")
            bounded.uninstall()
            self._close()

    def begin(self) -> None:
        """Have the loop take up what the store holds, and then watch. Fifty runs are a tenth of a second
        of CPU, three hundred a second: a client that only wants a sign of life gets it meanwhile."""
        context = self.context
        own = OwnLoop(self._watch_of_loop)
        copies = (self._publisher.copies,) if context.config.watch.status_dir else ()
        for source in (Nvml(self._clock), self._kernel, own, *copies, *self._own.parts()):
            context.box_sources.append(context.pump.add(source, self._attribution.take))
        self._judging.ready = False
        self._loop.each(self._beginning, TAKE_UP_SHARE)

    def _take_ups(self) -> Iterator[Callback]:
        context = self.context
        indexes = dict(context.store.all("index"))
        for run, doc in context.store.all("run"):
            yield partial(self._take_up, run, with_index(doc, indexes.pop(run, None)))
        yield self._alerter.tell_lost_store
        yield self._publisher.tidy
        yield self._finding.begin
        yield self._go_on

    def _after_beginning(self, answer: Handler, question: Mapping[str, Any]) -> Any:
        """The answer to a question about runs: all of them are taken up first, and looked at as far as
        that is done in a turn of the loop."""
        for call in self._beginning:
            self._loop.serve(call)
        if not self._asked:
            self._asked = True
            self._loop.catch_up()
        return answer(question)

    def _go_on(self) -> None:
        """All runs are known: judge them from now on."""
        context = self.context
        for source in mirroring.sources(context, self._publisher.publish):
            context.box_sources.append(context.pump.add(source, self._attribution.take))
        if context.config.checkpoints.load_milestones:
            context.pump.add(MilestoneLoads(context, self.log_line), lambda seen: None)
        self._attribution.watch_disks()
        self._judging.ready = True
        self._loop.every(1.0, self._tick)
        self._loop.every(LOOK_S, self._care.mind_state)
        self._loop.every(SAVE_S, self._save)
        self._loop.every(METER_S, self._meter.look)
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
        for part in self._endings():
            self._loop.serve(part)
        self.log_line("stopped")
        # Last, because `middlewatch stop` waits until the socket is gone, and the next daemon may
        # then start at once.
        self._server.close()
        self._loop.close()
        os.close(self._own.lock)

    def _endings(self) -> Iterator[Callback]:
        yield self._watch_of_loop.close
        yield from self._judging.closings()
        yield from self._publisher.last()
        yield from self._savings()
        yield self._alerter.outbox.close
        for pumped in self.context.pump.all():
            yield pumped.close
        yield self._searches.close
        yield from (self._inotify.close, self.context.guards.close)
        if self.context.docker:
            yield self.context.docker.close
        yield from (self.context.durability.close, self.context.store.close)

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

        Where what is known of it cannot be read, it is watched from here on, if it still runs.
        """
        try:
            watched = self._add(run, spec_of(doc), self._rescanned(run, doc))
            if not watched.alive:
                self._publisher.want(watched)
        except Exception as error:  # noqa: BLE001 - a document may hold anything
            self._restorer.give_up("run", run, error)
            self._drop_half(run)
            with contextlib.suppress(Exception):
                spec = RunSpec.from_json(doc["spec"])
                if spec.pid is not None and procfs.start_ticks(spec.pid) == spec.start_ticks:
                    self._add(run, spec)

    def _drop_half(self, run: str) -> None:
        """Forget a run that could be taken up in part only."""
        half = self.context.runs.pop(run, None)
        if half is not None:
            with contextlib.suppress(Exception):
                half.stop_sources(self.context.pump)

    def _rescanned(self, run: str, doc: dict[str, Any]) -> dict[str, Any]:
        """With the index that `checkpoints --rescan` wrote while no daemon was running, if it did."""
        written = read_index(str(self.context.state.checkpoint_index(run)))
        known = doc.get("index") or {}
        if (
            written
            and written["run"] == run
            and written["updated_at"] > known.get("updated_at", "")
        ):
            return {**doc, "index": written}
        return doc

    def _add(self, run: str, spec: RunSpec, saved: Mapping[str, Any] | None = None) -> WatchedRun:
        context, spec = self.context, replace(spec, id=run)
        watched = WatchedRun(spec, context.box, self._clock, saved, context.durability)
        self.context.runs[run] = watched
        follow(watched.history.accumulators, context.config.rules_for(spec.name))
        mirror = context.config.mirror.to
        watched.saves.never = (mirror,) if mirror and mirror.startswith("/") else ()
        watched.saves.searches = self._searches
        watched.saves.others = lambda: [r for r in context.runs.values() if r is not watched]
        watched.saves.learnt = lambda: self._learnt(watched)
        if "history" not in (saved or {}):
            context.restarts.seed(watched)
        if watched.alive:
            for pumped in self.context.box_sources:
                watched.history.add(pumped.state)
            ends = self.context.config.watch.ends(watched.facts.started_at)
            watched.guards, watched.listing = context.guards, context.listing
            watched.docker = context.docker
            watched.start_sources(
                self.context.pump, self._inotify, lambda: self._judging.soon(run), ends
            )
        return watched

    def _learnt(self, watched: WatchedRun) -> None:
        """A run has one more checkpoint folder: watch its disk, and write it down."""
        self._attribution.watch_disks()
        self._publisher.publish(watched)

    # -- in time ------------------------------------------------------------------------

    def _tick(self) -> None:
        self._judging.tick()
        self._care.mind_store()
        alerter, dead_man = self._alerter, self._dead_man
        for part in (
            alerter.pump,
            dead_man.tick,
            self._digests.tick,
            self._answers.tick,
            self._again.tick,
        ):
            self._loop.serve(part)
        descriptors.own.settle()

    def _save(self) -> None:
        """Send reminders, trim the store. Pages and indexes are written in their own time."""
        self._loop.each(self._savings())

    def _savings(self) -> Iterator[Callback]:
        yield self._alerter.tell_lost_store
        yield from self._alerter.reminders()
        yield self._save_kernel_log
        yield self._publisher.tidy

    def _save_kernel_log(self) -> None:
        self.context.store.put("box", "kernel_log", self._kernel.state(), self._clock.now())


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
