"""What the parts of the daemon share: one context object."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from middlewatch.sentinels.handbook import page
from middlewatch.sentinels.kit import CheckpointSeen, HandbookPage

from ..box import clocks, money, save_interval
from ..box.durability import PathDurability
from ..config import times
from ..config.paths import StateDir
from ..config.platform_profiles import Profile
from ..config.run_spec import RunSpec
from ..config.schema import Config
from ..judge.history import BoxHistory
from ..judge.incidents import Incident, Incidents
from ..report import facts
from ..system.clock import Clock, iso
from ..system.errors import UsageError
from ..system.guard import Guard, Guards
from ..system.listing import Listing
from ..system.loop_watch import LoopWatch
from ..system.pump import Pump, Pumped
from ..system.store import Store
from ..system.worker import module_argv
from ..text import moments
from ..text.similar import meant, named
from .crash_loop import Loops
from .flapping import about
from .restarts import Restarts
from .watched_run import WatchedRun

STANDSTILL_TOLD_S = 3600.0
"""Seconds for which a standstill of the daemon is a note in the status of every run (our choice)."""
FAR_ARGV = module_argv("middlewatch.daemon.sources.far_worker")
"""The child that reaches into a far file system."""


@dataclass(slots=True)
class Context:
    """Created by the app, used by its parts in one thread; therefore without locks."""

    state: StateDir
    config: Config
    clock: Clock
    store: Store
    incidents: Incidents
    pump: Pump
    box: BoxHistory = field(default_factory=BoxHistory)
    runs: dict[str, WatchedRun] = field(default_factory=dict)
    box_sources: list[Pumped] = field(default_factory=list)
    durability: PathDurability = field(default_factory=PathDurability)
    asides: dict[str, str] = field(default_factory=dict)
    """Run -> a sentence for every push about it: what has followed its end."""
    loop_watch: LoopWatch | None = None
    guards: Guards = field(default_factory=lambda: Guards(FAR_ARGV))
    docker: Guard | None = None
    """Asks the docker engine of this box; ``None``: it is not asked."""
    listing: Listing = field(default_factory=Listing)
    silences: list[dict[str, Any]] = field(default_factory=list)
    """What a person wants no push about: id, run, class, and until when in epoch seconds."""
    phones: int | None = None
    """How many alert URLs there are; ``None``: nobody has counted."""
    profile: Profile | None = None
    """What is known of the platform of this box."""
    price: money.Price | None = None
    """What the box costs; ``None``: not known, and then nothing is said about money."""
    box_start: float | None = None
    """When the box was started (epoch seconds)."""
    paid_since: float | None = None
    """When it began to cost money: by the configuration, else its start."""
    drill: bool = False
    """This daemon belongs to ``middlewatch drill``: every push is marked as a drill."""
    loops: Loops = field(init=False)
    """Runs that are started again and again, and gain nothing."""
    started_at: float = field(init=False)
    """When this daemon was started (epoch seconds)."""
    push_trouble: Callable[[], str] = field(default=lambda: "")
    """Why pushes do not get through, if they do not."""
    kept_back: Callable[[], str] = field(default=lambda: "")
    """A sentence about pushes that were kept back, if some were."""
    answers: Callable[[], str] = field(default=lambda: "")
    """A sentence about answers from the phone, if something is wrong with them."""
    restarts: Restarts = field(default_factory=Restarts)
    """Starts runs again by themselves."""
    heartbeat: Callable[[], dict[str, Any]] | None = None
    """How the heartbeat stands."""

    def __post_init__(self) -> None:
        self.started_at = self.clock.now()
        self.loops = Loops(self.runs)

    @property
    def zone(self) -> tzinfo | None:
        """The time zone of the person; ``None``: that of the box."""
        return times.zone_of(self.config.alerts.zone)

    @property
    def host(self) -> str:
        """Name of this box in messages."""
        return self.config.alerts.host or os.uname().nodename

    def living_runs(self) -> list[WatchedRun]:
        """Runs that have not ended."""
        return [r for r in self.runs.values() if r.alive]

    def find_run(self, name: object) -> WatchedRun:
        """The run with this id or name; the living one of several, or without a name the newest.

        One that only may be a training comes after those that are. Raises UsageError when there is
        none, or when several living ones have this name.
        """
        if not self.runs:
            raise UsageError("no run is watched", "try `middlewatch watch`")
        known = list(self.runs.values())
        if name:
            known = [r for r in known if name in (r.spec.id, r.spec.name)]
        if not known:
            names = [r.spec.name for r in self.runs.values()]
            hint = meant(str(name), [*names, *self.runs]) or named(self.runs)
            raise UsageError(f"no run is called {name!r}", hint)
        living = [r for r in known if r.alive and not r.spec.provisional]
        if name and len(living) > 1:
            ids = " or ".join(r.spec.id for r in living)
            raise UsageError(
                f"{len(living)} living runs are called {name!r}", f"name one by its id: {ids}"
            )
        return max(known, key=lambda r: (r.alive, not r.spec.provisional, r.facts.watched_since))

    def attempts_before(self, spec: RunSpec) -> Iterator[WatchedRun]:
        """The attempt before, and those before it as far as the daemon has started what followed."""
        met = set[str]()
        while (before := self.runs.get(spec.resumed_from or "")) and before.spec.id not in met:
            met.add(before.spec.id)
            yield before
            if not spec.again_used:
                return
            spec = before.spec

    def about(self, incident: Incident) -> str:
        """What it is about, the same each time that it comes; empty: each time is told."""
        return about(incident, self.loops.barren(incident.run))

    def save_incident(self, incident: Incident) -> None:
        """Put an incident into the store; it is on disk after the next flush."""
        self.store.put("incident", incident.id, incident.to_json(), self.clock.now())

    def page_of(self, incident: Incident) -> HandbookPage | None:
        """The handbook page of its class; ``None`` where there is none."""
        return page(incident.trouble)

    def incident_json(self, incident: Incident) -> dict[str, Any]:
        """One incident as ``incidents --json`` shows it."""
        watched = self.runs.get(incident.run)
        spec = watched.spec if watched else None
        doc = facts.incident(incident, self.page_of(incident), spec)
        found = self.loss_of(incident)
        lost = None if found is None else {"what": found.what, "seconds": round(found.seconds, 1)}
        if lost is not None and found is not None:
            lost["steps"] = None if found.steps is None else round(found.steps)
        return doc | {"cost": money.loss_json(found, self.price), "lost": lost}

    def loss_of(self, incident: Incident) -> money.Loss | None:
        """The time and the steps that an incident cost; ``None``: none, or not known."""
        watched = self.runs.get(incident.run)
        if watched is None:
            return None
        began, ended = watched.facts.started_at, watched.ended_at
        saves = watched.history.checkpoints
        times = watched.history.step_times
        return money.loss(incident, saves, began, ended, self.clock.now(), times)

    def clocks(self, now: float) -> list[clocks.Running]:
        """The clocks of the platform that run now, and when each strikes."""
        left = money.balance(self.config.cost, self.price, now)
        return [*clocks.running(self.profile, self.box_start, left, self.price, now)]

    def status(self, watched: WatchedRun) -> dict[str, Any]:
        """One run as ``status --json`` shows it."""
        now = self.clock.now()
        incidents = [self.incident_json(i) for i in self.incidents.open(watched.spec.id)]
        status = watched.status(now, incidents)
        status["status_page"] = str(self.state.status_page(watched.spec.id))
        status["checkpoints_index"] = str(self.state.checkpoint_index(watched.spec.id))
        status["checkpoints"]["cadence"] = self._cadence(watched, now)
        status["updated_at"] = iso(now)
        status["cost"] = money.status_json(
            self.config.cost,
            self.price,
            run_s=(watched.ended_at or now) - watched.facts.started_at,
            box_since=self.paid_since,
            now=now,
        )
        status["platform"] = clocks.status_json(self.profile, self.clocks(now), now)
        gpus = watched.history.gpus.of_run
        status["gpus"] = None if gpus is None else sorted(gpus)
        status["attempt"] = watched.spec.attempt
        status["phase"] = watched.spec.phase or None
        status["again"] = self.restarts.shown(watched)
        status["provisional"] = watched.spec.provisional
        status["heartbeat"] = self.heartbeat() if self.heartbeat is not None else None
        if watched.spec.provisional and watched.alive:
            status["notes"].append(
                f"taken for a training only because {watched.spec.provisional}: nothing about it "
                "is pushed until it shows that it trains"
            )
        if self.phones == 0:
            status["notes"].append(
                "no phone is set, so nobody is called when something breaks: middlewatch alert add URL"
            )
        status["notes"] += self._silent(watched.spec.id, now)
        if trouble := self.push_trouble():
            status["notes"].append(f"pushes do not get through: {trouble}")
        if told := self.answers():
            status["notes"].append(told)
        if kept := self.kept_back():
            status["notes"].append(kept)
        status["notes"] += [f"the daemon itself was {one}" for one in self.standstills(now)]
        return status

    def _silent(self, run: str, now: float) -> list[str]:
        """A sentence about each silence that a run is under."""
        here = [s for s in self.silences if s["until"] > now and s["run"] in ("", run)]
        return [
            f"silence {s['id']}: no push about {s['class'] or 'anything'} until "
            f"{moments.ahead(s['until'], now)}; to end it: middlewatch silence --cancel {s['id']}"
            for s in here
        ]

    def standstills(self, now: float) -> list[str]:
        """Times in which the daemon itself stood still, of the last hour, oldest first."""
        past = self.loop_watch.past if self.loop_watch is not None else ()
        recent = [one for one in past if now - one.at < STANDSTILL_TOLD_S]
        return [f"{one} ({moments.past(one.at, now)})" for one in recent]

    def _cadence(self, watched: WatchedRun, now: float) -> dict[str, Any]:
        """How often the run saves, and the advised interval between saves."""
        told = save_interval.interruptions(self.config, self.durability.platforms)
        return save_interval.advise(save_interval.measure(watched.history, now), *told)

    def box_report(self, watched: WatchedRun | None) -> dict[str, Any]:
        """GPUs, disks, and the memory of a run's cgroup."""
        memory = watched.memory if watched else None
        return facts.box(self.box, memory, self._saves_on, self.clock.now())

    def _saves_on(self, mount: str) -> Iterator[CheckpointSeen]:
        """The saves of all living runs that save on this mount, or of which that is not known."""
        for run in reversed(self.living_runs()):
            disks = run.history.disks
            if not disks or (mount in disks and "checkpoints" in disks[mount][-1].holds):
                yield from reversed(run.history.checkpoints)
