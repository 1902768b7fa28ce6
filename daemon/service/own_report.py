"""What the daemon tells of itself: the answer to ``doctor``, and its own troubles as sources."""

from __future__ import annotations

import os
from typing import Any

from middlewatch import __version__

from ..box import own_checks
from ..box.own_checks import Check
from ..config.secrets import mask
from ..report.outbox import Outbox
from ..sources.own_part import OwnPart
from ..system import descriptors, footprint, procfs
from ..system.clock import iso
from ..system.inotify import Inotify
from ..system.worker import workers
from .context import Context
from .server import Server

KEPT_JUMPS = 8
"""Jumps of the wall clock that are remembered."""
TOLD_FOR_S = 600.0
"""Seconds for which a part that failed by a mistake of ours is told as a trouble, unless it is left out
for longer: the rule that tells it waits for 30 s. Our choice."""
OWN_RULES = ("rule", "source")
"""Kinds of parts that tell their failures themselves, by the rule `blind`."""


class OwnReport:
    """Gathers facts about this daemon and has them judged. ``lock``: descriptor of its lock file."""

    def __init__(self, context: Context, outbox: Outbox, inotify: Inotify, lock: int) -> None:
        self._context = context
        self._outbox = outbox
        self._inotify = inotify
        self.lock = lock
        self.server: Server | None = None
        self._started_at = context.clock.now()
        self._started_mono = context.clock.monotonic()
        self._ahead_s = self._started_at - self._started_mono
        self._jumps: list[tuple[float, float]] = []

    def replaced(self) -> bool:
        """Whether the state directory is not the one any more that is locked."""
        return self._disk().replaced

    def parts(self) -> list[OwnPart]:
        """The sources that tell what is wrong."""
        return [
            OwnPart("state", lambda now: _bad(self._state(), self._socket())),
            OwnPart("store", lambda now: _bad(own_checks.check_store(self._store()))),
            OwnPart("memory", lambda now: self._memory_trouble()),
            OwnPart("descriptors", lambda now: _bad(self._descriptors())),
            OwnPart("code", self._code_trouble),
        ]

    def report(self) -> dict[str, Any]:
        """The answer to the question ``doctor``."""
        context, now, mono = (
            self._context,
            self._context.clock.now(),
            self._context.clock.monotonic(),
        )
        self._mind_clock()
        own = footprint.look()
        uptime_s = mono - self._started_mono
        sources, parts, pushes = self._sources(now), self._parts(), self._pushes(mono)
        children = self._workers()
        heartbeat = context.heartbeat() if context.heartbeat is not None else None
        store, loop = self._store(), [str(one) for one in context.standstills(now)]
        booted = procfs.boot_time() or None
        jumps = [(str(iso(at)), by) for at, by in self._jumps]
        checks = [
            self._state(),
            self._socket(),
            own_checks.check_store(store),
            own_checks.check_memory(own),
            own_checks.check_cpu(own, uptime_s),
            self._descriptors(),
            own_checks.check_inotify(
                self._inotify.count,
                own.inotify_limit,
                self._inotify.why_not,
                available=self._inotify.available,
            ),
            own_checks.check_clock(jumps, iso(booted)),
            own_checks.check_loop(loop),
            *own_checks.check_workers(children),
            *own_checks.check_parts(parts),
            *own_checks.check_sources(sources),
            own_checks.check_pushes(pushes),
            *own_checks.check_heartbeat(heartbeat),
        ]
        return {
            "host": context.host,
            "version": __version__,
            "pid": os.getpid(),
            "started_at": iso(self._started_at),
            "uptime_s": uptime_s,
            "updated_at": iso(now),
            "verdict": own_checks.verdict(checks),
            "checks": [own_checks.line(check) for check in checks],
            "state": own_checks.disk_facts(self._disk()),
            "store": store,
            "footprint": {
                "rss_bytes": own.rss_bytes,
                "pss_bytes": own.pss_bytes,
                "children_rss_bytes": own.children_rss_bytes,
                "memory_left_bytes": own.left_bytes,
                "cpu_s": own.cpu_s,
                "children_cpu_s": own.children_cpu_s,
                "threads": own.threads,
                "descriptors": own.descriptors.used,
                "descriptors_limit": own.descriptors.limit,
                "descriptors_kept": own.descriptors.kept,
                "descriptors_reserved": own.descriptors.reserved,
                "descriptors_without": sum(own.descriptors.without),
                "inotify_watches": self._inotify.count,
                "inotify_limit": own.inotify_limit,
            },
            "clock": {
                "booted_at": iso(booted),
                "jumps": [{"at": at, "by_s": by} for at, by in jumps],
            },
            "loop": loop,
            "workers": children,
            "parts": parts,
            "sources": sources,
            "pushes": pushes,
            "heartbeat": heartbeat,
            "runs": {"living": len(context.living_runs()), "known": len(context.runs)},
        }

    # -- facts

    def _disk(self) -> footprint.StateDisk:
        state = self._context.state
        return footprint.state_disk(state.root, state.lock, self.lock)

    def _state(self) -> Check:
        cap = self._context.config.watch.store_max_bytes
        return own_checks.check_state(self._disk(), os.geteuid(), cap)

    def _socket(self) -> Check:
        return own_checks.check_socket(self.server.trouble if self.server else "")

    def _descriptors(self) -> Check:
        return own_checks.check_descriptors(descriptors.own.figures())

    def _store(self) -> dict[str, Any]:
        store = self._context.store
        return {
            "path": str(store.path),
            "size_bytes": store.size(),
            "cap_bytes": self._context.config.watch.store_max_bytes,
            "trouble": store.trouble,
            "set_aside": store.set_aside,
            "lost_in_use": store.lost_in_use,
            "reserve": store.reserve.exists(),
        }

    def _workers(self) -> list[dict[str, Any]]:
        return [
            {
                "name": one.name,
                "alive": one.alive,
                "pid": one.pid,
                "starts": one.starts,
                "stuck_pid": one.stuck_pid,
                "start_error": one.start_error,
                "exit_status": one.exit_status,
                "waits": one.waits,
            }
            for one in workers()
            if one.starts or one.start_error or one.waits
        ]

    def _sources(self, now: float) -> list[dict[str, Any]]:
        return [
            {
                "source": one.state.source,
                "run": one.of,
                "state": one.state.state,
                "detail": mask(one.state.detail),
                "since": iso(one.state.since),
                "since_s": now - one.state.since,
                "true_at": iso(one.true_at),
                "age_s": None if one.true_at is None else max(0.0, now - one.true_at),
            }
            for one in self._context.pump.all()
        ]

    def _parts(self) -> list[dict[str, Any]]:
        return [
            {
                "kind": part.kind,
                "name": part.name,
                "failures": part.failures,
                "error": mask(part.error),
                "failed_at": iso(part.failed_at),
                "worked_at": iso(part.worked_at),
                "tried_again_at": iso(part.tried_again_at),
            }
            for part in self._context.pump.isolation
        ]

    def _pushes(self, mono: float) -> dict[str, Any]:
        outbox = self._outbox
        sent = [doc.get("sent_at") or 0.0 for _, doc in self._context.store.all("message")]
        return {
            "urls": len(outbox.urls),
            "waiting": len(outbox.waiting()),
            "oldest_s": outbox.oldest_s(mono),
            "last_sent_at": iso(max(sent, default=0.0) or None),
            "trouble": outbox.trouble,
        }

    # -- troubles

    def _memory_trouble(self) -> str:
        self._mind_clock()
        left = footprint.memory_left()
        if left is None or left >= own_checks.NOTIFIER_BYTES:
            return ""
        return _bad(own_checks.check_memory(footprint.look()))

    def _code_trouble(self, now: float) -> str:
        told = [
            f"{part.kind} {part.name} failed: {mask(part.error)}"
            for part in self._context.pump.isolation
            if part.kind not in OWN_RULES
            and (part.left_out(now) or 0.0 <= now - part.failed_at < TOLD_FOR_S)
        ]
        return f"{'; '.join(told[:3])} (a bug of middlewatch)" if told else ""

    def _mind_clock(self) -> None:
        """Note by how much the wall clock moved against the monotonic one since the last look."""
        clock = self._context.clock
        now = clock.now()
        ahead_s = now - clock.monotonic()
        if abs(ahead_s - self._ahead_s) >= own_checks.JUMP_S:
            self._jumps = [*self._jumps, (now, ahead_s - self._ahead_s)][-KEPT_JUMPS:]
            self._ahead_s = ahead_s


def _bad(*checks: Check) -> str:
    return "; ".join(check.detail for check in checks if check.state == "bad")
