"""All incidents: the worst first, equal ones folded; acknowledge, silence, open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from middlewatch.daemon.text.rows import Row, Span, heading, row

from .. import answer, incident_rows, order, taking
from ..answer import Answer
from ..desk import Desk
from ..order import Folded
from ..view import Key, ListView


class Incidents(ListView[Folded]):
    """The incidents of the box."""

    name = "incidents"
    title = "incidents"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.fold = True
        self.over: list[Answer] | None = None
        """With resolved ones: what the daemon told of them."""

    def own_keys(self) -> list[Key]:
        """Its keys."""
        return [
            Key("a", "acknowledge: no more reminders", self._ack),
            Key("s", "silence its class", self._silence),
            Key("f", "equal ones as one, or each", self._fold),
            Key("r", "resolved ones too, or open ones only", self._resolved),
        ]

    def items(self) -> Sequence[Folded]:
        """Open ones, or all."""
        listed = order.incidents(self.desk.found)
        if self.over is not None:
            listed = [*listed, *self.over]
        return order.folded(listed) if self.fold else [Folded(one, (one,)) for one in listed]

    def id_of(self, item: Folded) -> str:
        """The id of the newest of them."""
        return answer.text(item.first, "id")

    def nothing(self) -> str:
        """When all is well."""
        return "none open"

    def head(self, width: int) -> list[Row]:
        """How many."""
        number = len(order.incidents(self.desk.found))
        over = f", {len(self.over)} resolved" if self.over is not None else ""
        hint = Span("  Enter opens, a acknowledges, s silences", "dim")
        return [heading("Incidents", row(f"{number} open{over}", hint), width, True)]

    def row(self, item: Folded, width: int, chosen: bool) -> Row:
        """One in one row."""
        several = len(answer.records(self.desk.found, "runs")) > 1
        line = incident_rows.incident_row(item, self.desk.link, width, chosen, several)
        if answer.text(item.first, "state") == "resolved":
            return tuple(Span(span.text, "dim") for span in line)
        return line

    def enter(self) -> None:
        """Open it."""
        one = self.selected()
        if one is not None:
            self.desk.incident = self.id_of(one)
            self.desk.services.open("incident")

    def known(self, wanted: str) -> Answer:
        """The incident with this id, open or resolved; ``{}`` if there is none."""
        listed = [*order.incidents(self.desk.found), *(self.over or [])]
        return next((one for one in listed if answer.text(one, "id") == wanted), {})

    def _ack(self) -> None:
        one = self.selected()
        if one is not None:
            taking.acknowledge(self.desk, one.all)

    def _silence(self) -> None:
        one = self.selected()
        if one is not None:
            taking.silence(self.desk, one.first)

    def _fold(self) -> None:
        self.fold = not self.fold

    def _resolved(self) -> None:
        if self.over is not None:
            self.over = None
            return

        def take(told: Any) -> None:
            listed = told if isinstance(told, list) else []
            over = [
                one for one in listed if isinstance(one, dict) and one.get("state") == "resolved"
            ]
            self.over = sorted(over, key=lambda one: -(answer.epoch(one, "opened_at") or 0.0))
            self.desk.services.changed()

        self.desk.services.ask("incidents", {"all": True}, taking.or_tell(self.desk, take))
