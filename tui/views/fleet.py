"""All boxes: one row a box and run, the worst first; a box that does not answer with its age."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from middlewatch.daemon.text import figures
from middlewatch.daemon.text.rows import Row, Span, cut, fill, first_fit, heading, row

from .. import answer, order, run_rows
from ..answer import Answer
from ..desk import Link
from ..view import ListView


class Seen(NamedTuple):
    """A run of a box; of a box without one, or without an answer, the box alone."""

    box: str
    link: Link
    run: Answer
    rank: tuple[int, int, str, int]


class Fleet(ListView[Seen]):
    """The boxes."""

    name = "fleet"
    title = "boxes"
    needs_answer = False

    def items(self) -> Sequence[Seen]:
        """The worst run of all boxes first; boxes that do not answer behind the critical ones."""
        seen = []
        for name, link in self.desk.links.items():
            listed = order.runs(link.answer or {})
            for place, run in enumerate(listed or [{}]):
                worst = min((order.severity(one) for one in order.open_of(run)), default=9)
                rank = min(worst, 1) if link.silent and worst else worst
                state = answer.text(run, "state")
                lively = order.STATES.index(state) if state in order.STATES else 9
                seen.append(Seen(name, link, run, (rank, lively, name, place)))
        return sorted(seen, key=lambda one: one.rank)

    def id_of(self, item: Seen) -> str:
        """The box and the run."""
        return f"{item.box}\n{answer.text(item.run, 'run')}"

    def head(self, width: int) -> list[Row]:
        """How many boxes, and how many of them are silent."""
        links = self.desk.links
        silent = sum(link.silent for link in links.values())
        words = Span(f", {silent} without an answer" if silent else "", "bad")
        return [
            heading("Boxes", row(f"{len(links)}", words, Span("  Enter opens", "dim")), width, True)
        ]

    def row(self, item: Seen, width: int, chosen: bool) -> Row:
        """One run of one box in one row."""
        link, run = item.link, item.run
        name = Span(f"{'> ' if chosen else '  '}{fill(answer.clean(item.box) or 'here', min(20, width // 4))} ", "title" if chosen else "")  # fmt: skip
        age = Span(f"no answer for {figures.duration(link.age_s)} " if link.silent else "", "bad")
        if link.answer is None:
            return row(name, age or Span("asking …", "dim"), link.reason if link.silent else "")
        if not run:
            return row(name, age, Span("no run is watched", "dim"))
        state = answer.text(run, "state") or "unknown"
        now = answer.record(run, "now")
        loss = figures.metric(answer.number(answer.record(now, "values"), "train_loss"))
        worst = sorted(order.open_of(run), key=order.severity)
        said = answer.text(worst[0], "summary") if worst else answer.text(run, "state_reason")
        who = Span(fill(answer.text(run, "name") or answer.text(run, "run"), 14))
        tone = run_rows.STATES.get(state, "dim")
        step = figures.count(answer.number(now, "step"))
        return first_fit(
            width,
            row(name, age, who, " ", Span(fill(state, 8), tone), f"{step:>9}{loss:>11}  ", cut(said, max(20, width - 70))),
            row(name, age, who, " ", Span(fill(state, 8), tone), f"{step:>9}  ", cut(said, 20)),
            row(name, age, cut(who.text.strip(), 10), " ", Span(state, tone)),
        )  # fmt: skip

    def enter(self) -> None:
        """Go to the run on its box."""
        one = self.selected()
        if one is not None:
            self.desk.choose_box(one.box)
            self.desk.run = answer.text(one.run, "run")
            self.desk.services.open("overview")
