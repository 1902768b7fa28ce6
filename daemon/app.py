"""The resident daemon: the only place where the parts are wired together."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import signal
import sys
import traceback
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from middlewatch.sentinels.kit import LogEvent, Severity, SourceState, discover, handbook

from . import messages, report, sdnotify
from .clock import Clock, iso
from .config import Config
from .engine import Engine
from .errors import Refused, UsageError
from .history import BoxHistory
from .incidents import Change, Incident, IncidentKeeper
from .loop import Loop
from .masking import mask
from .parsers.matcher import events_of_line
from .paths import StateDir
from .pump import Pump, Pumped
from .runs import RunSpec, run_id
from .server import Server
from .sinks.checkpoint_index import write_index, write_whole
from .sinks.phone import Phone, Queued
from .sinks.status_page import page
from .sources.disk import Disks
from .sources.inotify import Inotify
from .sources.kernel_log import KernelLog
from .sources.nvml import Nvml
from .store import Store
from .watched import WatchedRun

SAVE_S = 30.0
"""Status page, index and store are refreshed at least this often (contract: a minute)."""
FORGET_S = 7 * 86400.0
"""Resolved incidents leave memory after a week; the store keeps the newest thousand."""
KEEP_DOCS = 1000
JUDGE_SOON_S = 0.02
"""Observations of one burst are judged together."""


class App:
    """Everything the daemon owns, on one loop."""

    def __init__(self, state: StateDir, config: Config, clock: Clock) -> None:
        self.state = state
        self.config = config
        self.clock = clock
        self.started_at = clock.now()
        self.host = config.alerts.host or os.uname().nodename
        self._lock = _lock(state)
        self.loop = Loop(clock, self._bug)
        self.store = Store(state.store, state.reserve)
        self.entries = handbook()
        known = [Incident.from_json(doc) for _, doc in self.store.all("incident")]
        self.keeper = IncidentKeeper(known)
        enabled = {n: s for n, s in discover().items() if n not in config.disabled}
        self.engine = Engine(enabled, config.limits, self.keeper, self.say)
        self.box = BoxHistory()
        self.runs: dict[str, WatchedRun] = {}
        self.pump = Pump(self.loop, clock, self.say)
        self.inotify = Inotify()
        self._box_sources: list[Pumped] = []
        self._disks: Pumped | None = None
        self._judging: set[str] = set()
        self._silences: list[dict[str, Any]] = [d for _, d in self.store.all("silence")]
        self.phone = Phone(
            config.alert_urls,
            config.alerts,
            self._keep_message,
            queued=[Queued.from_json(d) for _, d in self.store.all("message")],
            new_id=lambda: secrets.token_hex(8),
        )
        self._phone_fd: int | None = None
        self.server = Server(state.socket, self.loop, self._handlers(), self.say)
        for run, doc in self.store.all("run"):
            self._add(run, RunSpec.from_json(doc["spec"]), doc)

    # -- life ---------------------------------------------------------------------------

    def run(self) -> None:
        """Watch until told to stop; then save, and let everything go."""
        self._listen_to_signals()
        kernel = KernelLog(events_of_line, saved=dict(self.store.all("box")).get("kernel_log"))
        self._kernel = kernel
        for source in (Nvml(self.clock), kernel):
            self._box_sources.append(self.pump.add(source, self._take_box))
        self._watch_disks()
        self.loop.every(1.0, self._tick, first=1.0)
        self.loop.every(SAVE_S, self._save, first=SAVE_S)
        watchdog = sdnotify.watchdog_s()
        if watchdog:
            self.loop.every(watchdog, lambda: sdnotify.notify("WATCHDOG=1"))
        self.say(f"watching, state in {self.state.root}")
        sdnotify.notify(f"READY=1\nSTATUS=watching {len(self.runs)} runs")
        try:
            self.loop.run()
        finally:
            sdnotify.notify("STOPPING=1")
            self._close()

    def _listen_to_signals(self) -> None:
        read, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.loop.stop())
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.loop.watch(read, lambda: os.read(read, 64) and None)

    def _close(self) -> None:
        self._save()
        self.server.close()
        self.phone.close()
        for pumped in self.pump.all():
            pumped.close()
        self.inotify.close()
        self.store.close()
        self.loop.close()
        self.say("stopped")
        os.close(self._lock)

    def say(self, text: str) -> None:
        """One line (or a traceback) to stderr: the journal, or the daemon's log."""
        with contextlib.suppress(OSError, ValueError):
            print(f"{iso(self.clock.now())} {mask(text)}", file=sys.stderr, flush=True)

    def _bug(self, error: Exception) -> None:
        self.say("a bug of middlewatch:\n" + "".join(traceback.format_exception(error)))

    # -- observations -------------------------------------------------------------------

    def _take_box(self, seen: Any) -> None:
        for one in seen:
            if isinstance(one, (SourceState, LogEvent)):
                for run in self._living():
                    run.take([one])
            else:
                self.box.add(one)
                for run in self._living():
                    run.fresh.add(type(one))

    def _living(self) -> list[WatchedRun]:
        return [r for r in self.runs.values() if r.alive]

    def _watch_disks(self) -> None:
        """Follow the mounts that the living runs touch, and our own."""
        places: dict[str, list[str]] = {"state": [str(self.state.root)], "shm": ["/dev/shm"]}
        for run in self._living():
            places.setdefault("checkpoints", []).extend(run.spec.checkpoint_dirs)
            places.setdefault("log", []).extend(run.spec.logs)
            places.setdefault("cwd", []).extend([run.spec.cwd] if run.spec.cwd else [])
        if self._disks is not None:
            self.pump.remove(self._disks)
        self.box.disks.clear()
        self._disks = self.pump.add(Disks(places), self._take_box)

    def _add(self, run: str, spec: RunSpec, saved: Mapping[str, Any] | None = None) -> WatchedRun:
        watched = WatchedRun(replace(spec, id=run), self.box, self.clock, saved)
        self.runs[run] = watched
        if watched.alive:
            for pumped in self._box_sources:
                watched.history.add(pumped.state)
            watched.begin(self.pump, self.inotify, lambda: self._judge_soon(run))
        return watched

    # -- judging ------------------------------------------------------------------------

    def _judge_soon(self, run: str) -> None:
        if run not in self._judging:
            self._judging.add(run)
            self.loop.later(JUDGE_SOON_S, lambda: self._judge(run, tick=False))

    def _judge(self, run: str, *, tick: bool) -> None:
        self._judging.discard(run)
        watched = self.runs.get(run)
        if watched is None or not watched.alive:
            return
        now = self.clock.now()
        fresh, watched.fresh = watched.fresh, set()
        changes = self.engine.judge(run, watched.view(now), fresh, tick=tick, line=watched.line)
        watched.look_closer(any(i.trouble == "hang" for i in self.keeper.open(run)))
        changed = watched.settle(now, self.keeper.open(run))
        for change in changes:
            self._tell(watched, change, now)
        if changes or changed:
            self._publish(watched, now)
        if not watched.alive:
            self._after_the_end(watched, now)

    def _after_the_end(self, watched: WatchedRun, now: float) -> None:
        self._publish(watched, now)
        watched.end(self.pump)
        if watched.state == "finished" and self.config.alerts.finished and not watched.told_end:
            watched.told_end = True
            self._push(messages.finished(watched.spec.name, self.host, self._status(watched, now)))
        self._watch_disks()
        self.store.flush()

    def _tick(self) -> None:
        for run in tuple(self.runs):
            self._judge(run, tick=True)
        self._pump_phone()

    # -- telling ------------------------------------------------------------------------

    def _tell(self, watched: WatchedRun, change: Change, now: float) -> None:
        incident = change.incident
        self.say(f"{incident.run}: {change.kind} {incident.severity.label} {incident.summary}")
        if self._worth_a_push(change, now) and self._push(self._compose(watched, change, now)):
            incident.alerted_at = now
        self.store.put("incident", incident.id, incident.to_json(), now)
        self.server.publish(
            {"change": change.kind, "incident": self._incident(incident)},
        )

    def _compose(self, watched: WatchedRun, change: Change, now: float) -> messages.Message:
        return messages.compose(
            change,
            watched.spec.name,
            self.host,
            self.entries.get(change.incident.sentinel),
            watched.history.checkpoints,
            now,
        )

    def _worth_a_push(self, change: Change, now: float) -> bool:
        incident = change.incident
        if change.kind == "resolved":
            return self.config.alerts.resolved and incident.alerted_at is not None
        if self._silenced(incident, now) or incident.state == "acknowledged":
            return False
        return incident.severity >= Severity.parse(self.config.alerts.min_severity)

    def _silenced(self, incident: Incident, now: float) -> bool:
        return any(
            s["until"] > now
            and s["run"] in ("", incident.run)
            and s["class"] in ("", incident.trouble)
            for s in self._silences
        )

    def _remind(self, now: float) -> None:
        """Repeat an open critical incident ever more rarely until somebody looks."""
        repeat = self.config.alerts.repeat_s
        for incident in self.keeper.open():
            watched = self.runs.get(incident.run)
            due = watched and repeat and incident.severity is Severity.CRITICAL
            if not watched or not due or incident.state != "open" or not incident.alerted_at:
                continue
            wait = repeat[min(incident.reminders, len(repeat) - 1)]
            if now - incident.alerted_at < wait or self._silenced(incident, now):
                continue
            incident.reminders += 1
            message = self._compose(watched, Change("opened", incident), now)
            title = message.title.replace("]", f", reminder {incident.reminders}]", 1)
            if self._push(replace(message, title=title)):
                incident.alerted_at = now
            self.store.put("incident", incident.id, incident.to_json(), now)

    def _push(self, message: messages.Message) -> bool:
        queued = self.phone.push(message, self.clock.now(), self.clock.monotonic())
        self._wire_phone()
        return queued is not None and queued.state != "silent"

    def _keep_message(self, queued: Queued) -> None:
        self.store.put("message", queued.id, queued.to_json(), self.clock.now())

    def _pump_phone(self) -> None:
        self.phone.pump(self.clock.now(), self.clock.monotonic())
        self._wire_phone()

    def _wire_phone(self) -> None:
        fd = self.phone.fileno()
        if fd is not None and fd != self._phone_fd:
            self.loop.watch(fd, self._pump_phone)
        elif fd is None and self._phone_fd is not None:
            self.loop.unwatch(self._phone_fd, self._pump_phone)
        self._phone_fd = fd

    def _publish(self, watched: WatchedRun, now: float) -> None:
        """Write the run's files and commit: the person was told before this."""
        watched.reindex(now, self.config.watch.best_metric)
        status = self._status(watched, now)
        watch = status["watch"]
        text = page(status, self._box_report(watched, now), watch, iso(now) or "")
        folders = [self.state.run(watched.spec.id)]
        if self.config.watch.status_dir:
            folders.append(Path(self.config.watch.status_dir) / watched.spec.id)
        for folder in folders:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                write_whole(str(folder / "training_status.md"), text)
                write_index(str(folder / "checkpoints_index.json"), watched.index)
            except OSError as error:
                self._complain(f"cannot write {folder}: {error.strerror}")
        self.store.put("run", watched.spec.id, watched.save(), now)
        if not self.store.flush():
            self._complain(f"the store cannot be written: {self.store.trouble}")

    def _complain(self, text: str) -> None:
        if text != getattr(self, "_complained", ""):
            self.say(text)
        self._complained = text

    def _save(self) -> None:
        now = self.clock.now()
        for watched in self._living():
            self._publish(watched, now)
        self._remind(now)
        self.keeper.forget_resolved(now - FORGET_S)
        for incident in self.keeper.open():
            self.store.put("incident", incident.id, incident.to_json(), now)
        self.store.put("box", "kernel_log", self._kernel.state(), now)
        self.store.flush()
        if self.store.size() > self.config.watch.store_max_bytes:
            self.store.trim(("incident", "message"), KEEP_DOCS)

    # -- answering ----------------------------------------------------------------------

    def _handlers(self) -> dict[str, Any]:
        return {
            "ping": lambda q: {"pid": os.getpid(), "version": _version(), "host": self.host},
            "overview": lambda q: self._overview(),
            "runs": lambda q: [self._status(r, self.clock.now()) for r in self.runs.values()],
            "status": lambda q: self._status(self._find(q.get("run")), self.clock.now()),
            "incidents": self._list_incidents,
            "follow": self._list_incidents,
            "checkpoints": lambda q: self._indexed(self._find(q.get("run"))),
            "watch": self._start_watching,
            "ack": self._acknowledge,
            "silence": self._silence,
            "alert_test": self._alert_test,
            "alert_state": lambda q: {"busy": self.phone.busy(), "trouble": self.phone.trouble},
            "stop": self._stop,
        }

    def _overview(self) -> dict[str, Any]:
        now = self.clock.now()
        living = self._living()
        newest = living[-1] if living else None
        return {
            "host": self.host,
            "version": _version(),
            "updated_at": iso(now),
            "daemon": {
                "pid": os.getpid(),
                "uptime_s": now - self.started_at,
                "rss_bytes": _rss_bytes(),
                "store_trouble": self.store.trouble,
                "alert_trouble": self.phone.trouble,
                "alert_urls": len(self.phone.urls),
            },
            "runs": [self._status(r, now) for r in self.runs.values()],
            "box": self._box_report(newest, now),
            "watch": self._coverage(),
        }

    def _box_report(self, watched: WatchedRun | None, now: float) -> dict[str, Any]:
        memory = watched.memory if watched else None
        saves = [c for r in self._living() for c in r.history.checkpoints]
        return report.box(self.box, memory, saves, now)

    def _coverage(self) -> list[dict[str, Any]]:
        return [report.source(p.state) for p in self.pump.all()]

    def _status(self, watched: WatchedRun, now: float) -> dict[str, Any]:
        incidents = [self._incident(i) for i in self.keeper.open(watched.spec.id)]
        status = watched.status(now, incidents)
        status["status_page"] = str(self.state.status_page(watched.spec.id))
        status["checkpoints_index"] = str(self.state.checkpoint_index(watched.spec.id))
        status["updated_at"] = iso(now)
        status["watch"] += [report.source(p.state) for p in self._box_sources]
        return status

    def _incident(self, incident: Incident) -> dict[str, Any]:
        return report.incident(incident, self.entries.get(incident.sentinel))

    def _find(self, name: Any) -> WatchedRun:
        """By id, unique name, or the newest living run when nothing is named."""
        if not self.runs:
            raise UsageError("no run is watched", "try `middlewatch watch`")
        if not name:
            return max(self.runs.values(), key=lambda r: (r.alive, r.facts.watched_since))
        if name in self.runs:
            return self.runs[name]
        named = [r for r in self.runs.values() if r.spec.name == name]
        if named:
            return max(named, key=lambda r: (r.alive, r.facts.watched_since))
        raise UsageError(f"no run is called {name!r}", f"known: {', '.join(self.runs)}")

    def _list_incidents(self, question: Mapping[str, Any]) -> list[dict[str, Any]]:
        run = self._find(question["run"]).spec.id if question.get("run") else None
        chosen = self.keeper.all() if question.get("all") else self.keeper.open()
        return [self._incident(i) for i in chosen if run is None or i.run == run]

    def _indexed(self, watched: WatchedRun) -> dict[str, Any]:
        if watched.alive:
            watched.reindex(self.clock.now(), self.config.watch.best_metric)
        return watched.index

    def _start_watching(self, question: Mapping[str, Any]) -> dict[str, Any]:
        spec = RunSpec.from_json(question["spec"])
        same = self._same_run(spec)
        if same is not None:
            return {"run": same.spec.id, "new": False, "status_page": self._page_of(same)}
        run = spec.id or run_id(spec.name)
        now = self.clock.now()
        watched = self._add(run, replace(spec, started_at=spec.started_at or now))
        self._watch_disks()
        self._publish(watched, now)
        return {"run": run, "new": True, "status_page": self._page_of(watched)}

    def _page_of(self, watched: WatchedRun) -> str:
        return str(self.state.status_page(watched.spec.id))

    def _same_run(self, spec: RunSpec) -> WatchedRun | None:
        """The living run of the same process (or, without one, of the same logs)."""
        for run in self._living():
            theirs = run.spec
            if spec.pid is not None:
                same = (theirs.pid, theirs.start_ticks) == (spec.pid, spec.start_ticks)
            else:
                same = theirs.pid is None and set(theirs.logs) == set(spec.logs)
            if same:
                return run
        return None

    def _acknowledge(self, question: Mapping[str, Any]) -> dict[str, Any]:
        incident = self.keeper.get(str(question["id"]))
        if incident is None:
            raise UsageError(
                f"no incident has the id {question['id']!r}", "see `middlewatch incidents`"
            )
        self.keeper.acknowledge(incident)
        self.store.put("incident", incident.id, incident.to_json(), self.clock.now())
        self.store.flush()
        return self._incident(incident)

    def _silence(self, question: Mapping[str, Any]) -> dict[str, Any]:
        now = self.clock.now()
        run = self._find(question["run"]).spec.id if question.get("run") else ""
        silence = {
            "run": run,
            "class": str(question.get("class") or ""),
            "until": now + float(question["for_s"]),
        }
        self._silences = [s for s in self._silences if s["until"] > now] + [silence]
        self.store.put("silence", secrets.token_hex(4), silence, now)
        self.store.flush()
        return {**silence, "until": iso(silence["until"])}

    def _alert_test(self, question: Mapping[str, Any]) -> dict[str, Any]:
        return {"urls": len(self.phone.urls), "mode": self.phone.mode}

    def _stop(self, question: Mapping[str, Any]) -> dict[str, Any]:
        self.loop.later(0.05, self.loop.stop)
        return {"pid": os.getpid()}


def _lock(state: StateDir) -> int:
    """Hold the state directory: two daemons never run on one. Raises Refused."""
    try:
        state.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(state.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
    with contextlib.suppress(OSError):  # a full disk must not keep us from watching it
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return fd


def _version() -> str:
    from middlewatch import __version__

    return __version__


def _rss_bytes() -> int | None:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
