"""All peers on one bench: one job, one trouble, seen by everybody at the same moment."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence

from ..bench import Bench, Job, Subject
from ..lab import RANK, Alarm, Fault, Outcome
from .all import PEERS, peers
from .peer import Peer, Style

READY_S = 8.0
"""From the start of the peers to that of the job: a box is watched before it has a run."""


class Together:
    """Several peers, each with its own files, ports and alarms, beside the same job.

    The job is started plainly, as a user starts it who has no launcher. What one peer does, the
    load that it makes, the others see; nobody sees another one's alarms.
    """

    name = "together"

    def __init__(self, names: Sequence[str], row: Fault, patience_s: float) -> None:
        self._row, self._patience_s = row, patience_s
        self._peers = {name: peers()[name]() for name in names}
        self._heard: dict[str, list[Alarm]] = {name: [] for name in names}
        self._gone: dict[str, list[str]] = {}

    def start(self, bench: Bench) -> None:
        """Start them all, one after the other."""
        for peer in self._peers.values():
            peer.row = self._row
            peer.start(bench)
        bench.pause(READY_S)

    def run(self, bench: Bench, job: Job) -> Subject:
        """The job once, then everybody is told of it."""
        subject = bench.start_plainly(job)
        for peer in self._peers.values():
            peer.join(subject)
        return subject

    def alarms(self) -> list[Alarm]:
        """Everybody's, in the order of arrival; whose they are stays known."""
        self._heard = {name: peer.alarms() for name, peer in self._peers.items()}
        self._gone = {name: peer.ended() for name, peer in self._peers.items()}
        return sorted((a for told in self._heard.values() for a in told), key=lambda a: a.at)

    def heard_enough(self, outcome: Outcome) -> bool:
        """Everybody who could speak by now or soon has told the trouble."""
        asked = [name for name in self._peers if can_speak(name, self._row, self._patience_s)]
        return bool(asked) and all(
            any(fits(a, outcome) for a in self._heard[name]) for name in asked
        )

    def stop(self) -> None:
        """End them all."""
        for peer in self._peers.values():
            with contextlib.suppress(Exception):
                peer.stop()

    def shares(self, outcome: Outcome) -> list[Outcome]:
        """The outcome of the row as each of them saw it; one whose program died is broken."""
        return [self._share(name, outcome) for name in self._peers]

    def _share(self, name: str, outcome: Outcome) -> Outcome:
        one = dataclasses.replace(outcome, watcher=name, alarms=self._heard[name])
        if one.state == "judged" and self._gone.get(name):
            one.state, one.reason = "broken", f"ended by itself: {', '.join(self._gone[name])}"
        return one


def fits(alarm: Alarm, outcome: Outcome) -> bool:
    """An audible alarm after the injection that agrees with the row."""
    return (
        outcome.injected is not None
        and alarm.at >= outcome.injected
        and RANK.get(alarm.severity, -1) > 0
        and alarm.trouble in outcome.fault.classes
    )


def rules(watcher: str, fault: Fault) -> tuple[float, float] | None:
    """How long the watcher's rules for this row take, the fastest and the slowest, in seconds;
    None if it claims none."""
    known: Mapping[str, tuple[type[Peer], Style]] = {
        f"{peer.peer}-{style}": (peer, style) for peer in PEERS for style in peer.claims
    }
    if watcher not in known:
        return None
    peer, style = known[watcher]
    return peer.takes_s(style, fault)


def can_speak(watcher: str, fault: Fault, patience_s: float) -> bool:
    """It claims the row and has a rule that speaks within this time."""
    took = rules(watcher, fault)
    return took is not None and took[0] <= patience_s
