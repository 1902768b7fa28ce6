"""One incident: what happened, evidence, times, first step, its page of the handbook."""

from __future__ import annotations

import re

from middlewatch.daemon.text.rows import Row, heading, row

from .. import answer, incident_rows, taking
from ..answer import Answer
from ..desk import Desk
from ..view import Key, TextView
from .incidents import Incidents

LONGEST_NEEDLE = 120
"""Characters of a line that are looked for: the daemon keeps 400 of it."""


class IncidentView(TextView):
    """The opened incident."""

    name = "incident"
    title = "incident"

    def __init__(self, desk: Desk, listed: Incidents) -> None:
        super().__init__(desk)
        self._listed = listed
        self._shown = ""

    def own_keys(self) -> list[Key]:
        """Its keys."""
        return [
            Key("a", "acknowledge: no more reminders", self._ack),
            Key("s", "silence its class", self._silence),
            Key("o", "its evidence in the log", self._in_log),
            Key("n", "the next incident, or the next match", lambda: self.next_match(1)),
            Key("N", "the one before", lambda: self.next_match(-1)),
        ]

    @property
    def incident(self) -> Answer:
        """If it was resolved meanwhile, no other one is shown."""
        return self._listed.known(self.desk.incident)

    def shown(self) -> None:
        """Another incident begins at its top."""
        if self._shown != self.desk.incident:
            self._shown, self.scroll, self.query = self.desk.incident, 0, ""

    def next_match(self, step: int) -> None:
        """The next place of the search; without one the next incident."""
        if self.query:
            super().next_match(step)
        else:
            self._listed.cursor = self.desk.incident
            self._listed.move(step)
            self.desk.incident = self._listed.cursor
            self.shown()

    def head(self, width: int) -> list[Row]:
        """Its class."""
        trouble = answer.text(self.incident, "class") or self.desk.incident
        return [heading(f"Incident {trouble}", row("a acknowledge, s silence, n next, Esc back"), width, True)]  # fmt: skip

    def rows(self, width: int) -> list[Row]:
        """All that is known of it."""
        return incident_rows.everything(self.incident, self.desk.link, width)

    def _ack(self) -> None:
        if self.incident:
            taking.acknowledge(self.desk, [self.incident])

    def _silence(self) -> None:
        if self.incident:
            taking.silence(self.desk, self.incident)

    def _in_log(self) -> None:
        """Open the log at the first line that is evidence."""
        proofs = [e for e in answer.records(self.incident, "evidence") if e.get("kind") == "log"]
        text = answer.text(proofs[0], "text") if proofs else ""
        # The daemon names the file and the line before it: PATH:LINE: TEXT.
        needle = re.sub(r"^\S+:\d+: ", "", text).strip()[:LONGEST_NEEDLE]
        if not needle:
            self.desk.services.tell("no line of a log is evidence of it")
            return
        self.desk.run = answer.text(self.incident, "run")
        self.desk.services.open("log")
        self.desk.services.look_for(needle)
