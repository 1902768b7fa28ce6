"""The words of a push about an incident, from what its run knows; plain ones if our own fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from middlewatch.sentinels.kit import Severity

from ..box import money
from ..judge.incidents import Change
from ..report import messages
from ..system.bounded import bounded
from .context import Context
from .evidence import EvidenceFiles
from .watched_run import WatchedRun


class Wording:
    """Composes messages."""

    def __init__(self, context: Context, evidence: EvidenceFiles) -> None:
        self._context = context
        self._evidence = evidence

    def with_facts(self, watched: WatchedRun, change: Change) -> messages.Message:
        """The message about a change, and the evidence as it is now; a critical one is sent with it."""
        message, alerts = self.of_change(watched, change), self._context.config.alerts
        if change.kind == "resolved" or not self._context.phones:
            return message
        kept = self._evidence.keep(watched, change.incident)
        critical = change.incident.severity is Severity.CRITICAL
        return replace(message, facts=kept) if critical and alerts.attach else message

    def of_change(self, watched: WatchedRun, change: Change) -> messages.Message:
        """The message about a change of an incident."""
        now = self._context.clock.now()
        plain = messages.plain(change, watched.spec.name, self._context.host, now)
        words = partial(self._words, watched, change)
        message = self.worded(change.incident.trouble, words, plain)
        # The severity is part of it: a warning that was told holds back nothing critical.
        severity = change.incident.severity.label
        message = replace(
            message,
            severity=severity,
            run=watched.spec.name,
            about=self._context.about(change.incident),
        )
        key = f"{change.incident.id} {change.kind} {severity}"
        return replace(message, key=key) if change.kind in ("opened", "resolved") else message

    def worded(
        self, name: str, words: Callable[[], messages.Message], plain: messages.Message
    ) -> messages.Message:
        """What ``words`` makes, or ``plain`` if that fails: a push must go out in any case."""
        now, isolation = self._context.clock.now(), self._context.pump.isolation
        if isolation.left_out("message", name, now):
            return plain
        try:
            message = bounded(words)
        except Exception as error:  # noqa: BLE001 - a mistake in our words
            isolation.failed("message", name, error, now)
            return plain
        isolation.worked("message", name, now)
        return message

    def _words(self, watched: WatchedRun, change: Change) -> messages.Message:
        others = [self._context.runs.get(run) for run in change.incident.runs]
        return messages.compose(
            change,
            watched.spec.name,
            self._context.host,
            self._context.page_of(change.incident),
            watched.history.checkpoints,
            self._context.clock.now(),
            [(o.spec.name, o.history.checkpoints) for o in others if o and o is not watched],
            watched.history.claimed_saves,
            watched.spec,
            self._cost_of(change),
        )

    def _cost_of(self, change: Change) -> str:
        """What an incident cost, as a sentence; before its end only where a price is known."""
        context, incident = self._context, change.incident
        found = context.loss_of(incident)
        if change.kind == "resolved":
            return money.ended_text(incident.trouble, found, context.price)
        return "" if found is None or context.price is None else found.text(context.price)
