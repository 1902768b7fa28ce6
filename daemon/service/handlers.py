"""The answers of the daemon on its socket: one handler method per question.

The questions and the shapes of the answers are described in docs/wire-format.md. A handler raises
UsageError for a question that cannot be answered, and KeyError, TypeError or ValueError for a
malformed one; the server sends these to the client.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from middlewatch import __version__
from middlewatch.sentinels.kit import Phase
from middlewatch.sentinels.kit.leaving import ENDED_HERE

from ..checkpoints.index import read as read_index
from ..checkpoints.ranking import RankingRules
from ..config import phones
from ..config.run_spec import RunSpec
from ..judge.incidents import Incident
from ..report import facts, metric_rows
from ..sources.told_verdicts import told_verdict
from ..system import procfs
from ..system.clock import iso
from ..system.errors import UsageError
from .alerting import Alerter
from .context import Context
from .long_answers import NOT_YET, LongAnswer
from .own_report import OwnReport
from .publishing import MANY_SAVES
from .server import Handler
from .told_saves import take_verdicts
from .watched_run import WatchedRun

Question = Mapping[str, Any]
LONGEST_SILENCE_S = 30 * 86400.0
"""30 days, our choice: a silence that never ends would switch the alerts off for good."""


class Handlers:
    """The handlers of the control socket."""

    def __init__(
        self,
        context: Context,
        alerter: Alerter,
        start_watching: Callable[[RunSpec], WatchedRun],
        stop: Callable[[], None],
        switch_finding: Callable[[bool], bool],
        forget: Callable[[str, str], None],
        own: OwnReport,
        ring: Callable[[], None] = lambda: None,
    ) -> None:
        self._ring = ring
        self._forget = forget
        self._own = own
        self._context = context
        self._alerter = alerter
        self._start_watching = start_watching
        self._stop = stop
        self._switch_finding = switch_finding
        self._started_at = context.clock.now()

    def handlers(self) -> dict[str, Handler]:
        """Question -> method."""
        return {
            "ping": self.ping,
            "overview": self.overview,
            "doctor": self.doctor,
            "runs": self.runs,
            "status": self.status,
            "incidents": self.incidents,
            "follow": self.incidents,
            "checkpoints": self.checkpoints,
            "rescan": self.rescan,
            "verified": self.verified,
            "watch": self.watch,
            "finding": self.finding,
            "ack": self.ack,
            "evidence": self.evidence,
            "silence": self.silence,
            "silences": self.silences,
            "routes": self.routes,
            "ending": self.ending,
            "forget": self.forget,
            "again": self.again,
            "metrics": self.metrics,
            "outbox": self.outbox,
            "stop": self.stop,
        }

    def outbox(self, question: Question) -> LongAnswer:
        """Every push in the store, oldest first, and whether it was delivered."""
        return LongAnswer(self._pushes())

    def _pushes(self) -> Iterator[Any]:
        shown = ("id", "title", "kind", "incident", "state", "attempts", "error", "results")
        messages = []
        for _, doc in self._context.store.all("message"):
            kept = {key: doc.get(key) for key in shown}
            messages.append((doc["created_at"], doc["sent_at"], kept))
            yield NOT_YET
        messages.sort(key=lambda message: message[0])
        for created_at, sent_at, kept in messages:
            yield kept | {"created_at": iso(created_at), "sent_at": iso(sent_at)}

    def ping(self, question: Question) -> dict[str, Any]:
        """Process id, version and host name of the daemon."""
        return {"pid": os.getpid(), "version": __version__, "host": self._context.host}

    def overview(self, question: Question) -> LongAnswer:
        """Everything that the overview screen shows."""
        context = self._context
        now = context.clock.now()
        living = context.living_runs()
        head = {
            "host": context.host,
            "version": __version__,
            "updated_at": iso(now),
            "daemon": {
                "pid": os.getpid(),
                "uptime_s": now - self._started_at,
                "rss_bytes": _rss_bytes(),
                "longest_turn_s": round(context.pump.loop.longest_turn_s, 4),
                "store_trouble": context.store.trouble,
                "alert_trouble": self._alerter.outbox.trouble,
                "alert_urls": len(self._alerter.outbox.urls),
            },
            "box": context.box_report(living[-1] if living else None),
            "watch": [facts.source(p.state) for p in context.pump.all()],
        }
        return LongAnswer(self._statuses(), head, "runs")

    def _statuses(self) -> Iterator[Any]:
        for watched in tuple(self._context.runs.values()):
            yield self._context.status(watched)

    def doctor(self, question: Question) -> dict[str, Any]:
        """What the daemon knows about itself, judged."""
        return self._own.report()

    def runs(self, question: Question) -> LongAnswer:
        """The status of every run that the daemon knows."""
        return LongAnswer(self._statuses())

    def status(self, question: Question) -> dict[str, Any]:
        """The status of one run, with the report of its box."""
        watched = self._context.find_run(question.get("run"))
        return {**self._context.status(watched), "box": self._context.box_report(watched)}

    def incidents(self, question: Question) -> LongAnswer:
        """Open incidents, or all with ``all``; only those of one run with ``run``."""
        run = self._context.find_run(question["run"]).spec.id if question.get("run") else None
        incidents = self._context.incidents
        chosen = incidents.all() if question.get("all") else incidents.open()
        wanted = [i for i in chosen if run is None or i.run == run]
        return LongAnswer(map(self._context.incident_json, wanted))

    def checkpoints(self, question: Question) -> LongAnswer:
        """The index of one run, as it is on disk now.

        Of a run with very many checkpoints it is the one that was written last: to build it takes a
        third of a second for 20,000.
        """
        watched = self._context.find_run(question.get("run"))
        few = len(watched.history.checkpoints) < MANY_SAVES
        if watched.alive and (few or not watched.index["checkpoints"]):
            watched.reindex(self._context.clock.now(), RankingRules.of(self._context.config))
        now, history = self._context.clock.now(), watched.history
        claimed = facts.unseen(history.checkpoints, history.claimed_saves, now)
        head = dict(watched.index)
        rows = head.pop("checkpoints")
        return LongAnswer(rows, head | {"claimed": claimed} if claimed else head, "checkpoints")

    def rescan(self, question: Question) -> dict[str, Any]:
        """Verify all checkpoints of a run again, whatever their known verdicts are.

        The daemon does this for a living run (``by_daemon`` is true). The checkpoints of an ended
        run are not watched any more: the command verifies them itself, writes the index, and asks
        again with ``rebuilt``, so that the daemon takes over the new index.
        """
        context = self._context
        watched = context.find_run(question.get("run"))
        now = context.clock.now()
        if question.get("rebuilt") and not watched.alive:
            path = context.state.checkpoint_index(watched.spec.id)
            index = read_index(str(path))
            if index is None or index["run"] != watched.spec.id:
                raise UsageError(f"{path} is not the index of {watched.spec.id}")
            watched.index = index
            context.store.put("run", watched.spec.id, watched.save(), now)
            context.store.flush()
        by_daemon = not question.get("rebuilt") and watched.rescan(now)
        return {
            "run": watched.spec.id,
            "by_daemon": by_daemon,
            "at": iso(now),
            "checkpoint_dirs": list(watched.spec.checkpoint_dirs),
            "checkpoint_folders": facts.folders(watched.spec),
            "started_at": watched.facts.started_at,
            "index": watched.index if question.get("rebuilt") else None,
        }

    def verified(self, question: Question) -> dict[str, Any]:
        """Take over verdicts of ``verify`` about saves of any run."""
        said = question["found"]
        if not isinstance(said, list):
            raise UsageError("`found` is a list of verdicts")
        told = [one for each in said if (one := told_verdict(each)) is not None]
        return {"taken": take_verdicts(self._context, told)}

    def watch(self, question: Question) -> dict[str, Any]:
        """Put a run under watch; of one that is already watched, the logs and folders that are new
        are followed as well."""
        if not isinstance(question["spec"], dict):
            raise UsageError("the specification of a run is an object")
        spec = RunSpec.from_json(question["spec"])
        if spec.id in ("..", ".") or "/" in spec.id:
            raise UsageError(f"{spec.id!r} cannot be the id of a run")
        for path in (*spec.logs, *spec.checkpoint_dirs):
            if not Path(path).is_absolute():
                raise UsageError(f"{path} is not an absolute path")
        same = next((r for r in self._context.living_runs() if _same(r.spec, spec)), None)
        if same is None and spec.id in self._context.runs:
            raise UsageError(f"another run has the id {spec.id!r} already", "start it again")
        watched = same or self._start_watching(spec)
        added = [*watched.logs.also(spec.logs), *watched.saves.also(spec.checkpoint_dirs)]
        if watched.spec.provisional and not spec.provisional:
            watched.spec = replace(watched.spec, provisional="")  # a person has named it
            self._alerter.catch_up(watched)
        page = self._context.state.status_page(watched.spec.id)
        return {
            "run": watched.spec.id,
            "new": same is None,
            "status_page": str(page),
            "added": added,
        }

    def finding(self, question: Question) -> dict[str, Any]:
        """Begin (``on`` true) or end to look for new runs of the box."""
        if not isinstance(question["on"], bool):
            raise UsageError("`on` is true or false")
        return {"on": self._switch_finding(question["on"])}

    def ack(self, question: Question) -> dict[str, Any]:
        """Acknowledge an incident: no more reminders of it."""
        incident = self._incident(question)
        self._context.incidents.acknowledge(incident)
        self._context.save_incident(incident)
        self._context.store.flush()
        return self._context.incident_json(incident)

    def evidence(self, question: Question) -> dict[str, Any]:
        """What is known of an incident now, and where the facts of its push are."""
        incident = self._incident(question)
        watched = self._context.runs.get(incident.run)
        if watched is None:
            found: dict[str, Any] = {"incident": self._context.incident_json(incident)}
        else:
            found = self._alerter.evidence.facts(watched, incident)
        file = self._context.state.evidence_of(incident.id)
        return found | {"file": str(file) if file.exists() else None}

    def _incident(self, question: Question) -> Incident:
        """The incident that is asked for. Raises UsageError without one."""
        incident = self._context.incidents.get(str(question["id"]))
        if incident is None:
            asked = str(question["id"])
            runs = self._context.runs.values()
            run = next((r for r in runs if asked in (r.spec.id, r.spec.name)), None)
            of_run = f" --run {asked}" if run is not None else ""
            raise UsageError(
                f"no incident has the id {asked!r}", f"see `middlewatch incidents{of_run}`"
            )
        return incident

    def silence(self, question: Question) -> dict[str, Any]:
        """Push nothing about a run or a class for ``for_s`` seconds."""
        run = self._context.find_run(question["run"]).spec.id if question.get("run") else ""
        for_s = float(question["for_s"])
        if not 0 < for_s <= LONGEST_SILENCE_S:
            raise UsageError(
                "a silence must be longer than 0 and at most 30 days", "like --for 30m, 2h or 1d"
            )
        made = self._alerter.silences.add(run, str(question.get("class") or ""), for_s)
        self._context.store.flush()
        return {**made, "until": iso(made["until"])}

    def silences(self, question: Question) -> list[dict[str, Any]]:
        """The silences that are not over; with ``cancel`` after the one with this id was ended."""
        cancel = question.get("cancel")
        if cancel and not self._alerter.silences.end(str(cancel)):
            raise UsageError(
                f"no silence has the id {cancel!r}", "see `middlewatch silence --list`"
            )
        self._context.store.flush()
        return [{**made, "until": iso(made["until"])} for made in self._alerter.silences.all()]

    def routes(self, question: Question) -> dict[str, Any]:
        """The services that are called, by name and fingerprint. With ``reload`` after they were read
        again, with ``test`` after a test push was sent to them (its id in the outbox) and the heartbeat
        was rung."""
        if question.get("reload"):
            self._alerter.reload()
        urls = self._alerter.outbox.urls
        heartbeat = self._context.heartbeat() if self._context.heartbeat is not None else None
        if question.get("test"):
            self._ring()
        return {
            "urls": [phones.shown(url) for url in urls],
            "prints": [phones.print_of(url) for url in urls],
            "trouble": self._alerter.routes_trouble or self._alerter.outbox.trouble,
            "notes": self._alerter.notes(),
            "test": self._alerter.test() if question.get("test") and urls else "",
            "heartbeat": heartbeat,
        }

    def ending(self, question: Question) -> dict[str, Any]:
        """Note that a person ends the process ``pid`` of a run now: that is no trouble."""
        watched, now = self._context.find_run(question.get("run")), self._context.clock.now()
        pid = int(question["pid"])
        watched.add_observations([Phase(now, "stop", f"a person ends process {pid}", ENDED_HERE)])
        return {"run": watched.spec.id, "pid": pid}

    def forget(self, question: Question) -> dict[str, Any]:
        """Take a run that is over off the list. No file is deleted."""
        watched = self._context.find_run(question["run"])
        if watched.alive:
            if watched.gone_at is not None:
                raise UsageError(f"how {watched.spec.id} ended is still read", "try again in 20 s")
            raise UsageError(
                f"{watched.spec.id} is alive", f"end it first: middlewatch end {watched.spec.id}"
            )
        self._forget(watched.spec.id, "a person has taken its run off the list")
        self._context.store.flush()
        folder = self._context.state.status_page(watched.spec.id).parent
        return {"run": watched.spec.id, "folder": str(folder)}

    def metrics(self, question: Question) -> dict[str, Any]:
        """What is kept of the numbers of a run, and which logs have all of them."""
        watched = self._context.find_run(question.get("run"))
        head = {"run": watched.spec.id, "logs": list(watched.spec.logs)}
        return head | metric_rows.kept(watched.history)

    def again(self, question: Question) -> dict[str, Any]:
        """Set how often a run may be started again by itself; 0 calls it off."""
        watched, most = self._context.find_run(question["run"]), int(question["most"])
        if most < 0:
            raise UsageError("a limit is 0 or more", "--again 3")
        return self._context.restarts.limit(watched, most)

    def stop(self, question: Question) -> dict[str, Any]:
        """Stop the daemon after this answer was sent."""
        self._stop()
        return {"pid": os.getpid()}


def _same(one: RunSpec, other: RunSpec) -> bool:
    """True for the same process; if no process is known, for the same logs."""
    if other.pid is not None:
        return (one.pid, one.start_ticks) == (other.pid, other.start_ticks)
    return one.pid is None and set(one.logs) == set(other.logs)


def _rss_bytes() -> int | None:
    seen = procfs.stat(os.getpid())
    return None if seen is None else seen.rss_bytes
