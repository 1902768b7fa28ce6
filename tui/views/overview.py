"""The overview: the worst thing first, in words; then runs, the box, the curve, incidents, what is
blind, the log. Larger windows show more of each, and more kinds."""

from __future__ import annotations

from typing import NamedTuple

from middlewatch.daemon.text.rows import (
    BLANK,
    Row,
    Span,
    beside,
    cut,
    first_fit,
    heading,
    pad,
    plain,
    row,
    width_of,
    window,
)

from .. import answer, box, coverage_rows, incident_rows, log_rows, order, run_rows, verdict
from ..desk import Desk
from ..order import Folded
from ..view import Key, View

SECTIONS = ("runs", "incidents", "log")


class Layout(NamedTuple):
    """Number of rows of each section, without its heading."""

    runs: int
    middle: int
    incidents: int
    blind: int
    log: int


def plan_layout(height: int, runs: int, middle: int, incidents: int, blind: int) -> Layout:
    """Divide ``height`` rows among the sections. The other arguments are the rows that each would
    need; the log gets the rest.

    Five rows are always taken: four headings and the checkpoint row.
    """
    room = height - 5
    of_runs = min(max(1, runs), max(1, room // 5))
    of_incidents = min(incidents, max(1, room // 5))
    of_blind = min(blind, max(1, room // 7))
    left = room - of_runs - of_incidents - of_blind
    tall = max(middle, room // 3)
    of_middle = max(1, min(tall, max(3, room * 3 // 4), left - max(1, room // 4)))
    return Layout(of_runs, of_middle, of_incidents, of_blind, max(0, left - of_middle))


class Overview(View):
    """All that matters on one screen."""

    name = "overview"
    title = "home"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.focus = "runs"
        self.incident = ""
        self.scroll = 0
        """Lines of the log between the newest and the last that is shown."""
        self._targets: dict[int, tuple[str, str]] = {}
        """Row -> the section and the id of what stands there."""

    def own_keys(self) -> list[Key]:
        """Its keys."""
        return [
            Key("tab", "the arrow keys move in the next part", lambda: self.focus_next(1)),
            Key("shift+tab", "… in the one before", lambda: self.focus_next(-1)),
            Key("w", "open the worst incident", self.open_worst),
        ]

    # -------------------------------------------------------------------- what keys do

    def focus_next(self, step: int) -> None:
        """Give the arrow keys to another part."""
        self.focus = SECTIONS[(SECTIONS.index(self.focus) + step) % len(SECTIONS)]
        self.scroll = 0

    def open_worst(self) -> None:
        """Open the incident that the first row tells of."""
        listed = self._folded()
        if listed:
            self.desk.incident = answer.text(listed[0].first, "id")
            self.desk.services.open("incident")

    def move(self, delta: int) -> None:
        """Select another run or incident, or scroll the log."""
        desk = self.desk
        if self.focus == "runs":
            ids = [answer.text(run, "run") for run in self._runs()]
            desk.run = _moved(ids, answer.text(desk.chosen, "run"), delta)
        elif self.focus == "incidents":
            ids = [answer.text(one.first, "id") for one in self._folded()]
            self.incident = _moved(ids, self.incident, delta)
        else:
            self.scroll = max(0, self.scroll - delta)

    def enter(self) -> None:
        """Open what is selected."""
        if self.focus == "log":
            self.desk.services.open("log")
        elif self.focus == "incidents":
            listed = self._folded()
            if listed:
                self.desk.incident = answer.text(listed[self._place(listed)].first, "id")
                self.desk.services.open("incident")
        elif self.desk.chosen:
            self.desk.services.open("run")

    def click(self, x: int, y: int) -> None:
        """Select what stands there; a second click opens it."""
        section, what = self._targets.get(y, ("", ""))
        if section == "verdict":
            self.open_worst()
        elif section:
            before = self.focus, self.desk.run, self.incident
            self.focus = section
            if section == "runs" and what:
                self.desk.run = what
            elif section == "incidents" and what:
                self.incident = what
            if what and before == (self.focus, self.desk.run, self.incident):
                self.enter()

    def search(self, query: str) -> None:
        """Leave the runs and incidents that have the text, and select the first of the runs."""
        self.query = query
        listed = self._runs()
        if query and listed and self.desk.chosen not in listed:
            self.desk.run = answer.text(listed[0], "run")

    def _runs(self) -> list[answer.Answer]:
        listed = order.runs(self.desk.found)
        rows = ((run, run_rows.run_row(run, self.desk.link, 200, False)) for run in listed)
        return [run for run, line in rows if self._has(line)] if self.query else listed

    def _folded(self) -> list[Folded]:
        listed = order.folded(order.incidents(self.desk.found))
        link = self.desk.link
        rows = ((one, incident_rows.incident_row(one, link, 400, False, True)) for one in listed)
        return [one for one, line in rows if self._has(line)] if self.query else listed

    def _has(self, line: Row) -> bool:
        return self.query.lower() in plain([line]).lower()

    def _place(self, listed: list[Folded]) -> int:
        ids = [answer.text(one.first, "id") for one in listed]
        return ids.index(self.incident) if self.incident in ids else 0

    # -------------------------------------------------------------------- drawing

    def draw(self, width: int, height: int) -> list[Row]:
        """The sections, one below the other."""
        link, found, run = self.desk.link, self.desk.found, self.desk.chosen
        machine = answer.record(found, "box")
        lines = verdict.verdict(link, run, width, 4 if width < 60 and height >= 16 else 3)
        told = len(lines)
        self._targets = dict.fromkeys(range(told), ("verdict", ""))
        wanted = sum(max(1, len(answer.records(machine, kind))) for kind in ("gpus", "disks")) + 1
        if width < 60:  # the curve has rows of its own then
            wanted += 4
        blind = coverage_rows.blind(found, run, link)
        listed = self._folded()
        runs = self._runs()
        share = plan_layout(height - told, len(runs) or 1, wanted, len(listed), len(blind))
        self._draw_runs(lines, runs, width, share.runs)
        lines += self._middle(run, machine, width, share.middle)
        self._draw_incidents(lines, listed, width, share.incidents)
        lines += _first_of(blind, width, share.blind)
        self._draw_log(lines, run, width, share.log)
        return lines[:height]

    def _draw_runs(
        self, lines: list[Row], runs: list[answer.Answer], width: int, height: int
    ) -> None:
        focused = self.focus == "runs"
        if not runs:
            words = f"none has {self.query!r} in it; Esc shows all" if self.query else "none"
            lines.append(heading("Runs", row(words), width, focused))
            return
        chosen = self.desk.chosen
        place = next((n for n, run in enumerate(runs) if run is chosen), 0)
        first = window(len(runs), place, height)
        shown = runs[first : first + height]
        many = f"{first + 1}-{first + len(shown)} of {len(runs)}" if len(runs) > height else str(len(runs))  # fmt: skip
        titles = run_rows.run_titles(width)
        title = heading("Runs", row(many), width - width_of(titles), focused)
        self._targets[len(lines)] = ("runs", "")
        lines.append((*title, *titles))
        for n, run in enumerate(shown):
            self._targets[len(lines)] = ("runs", answer.text(run, "run"))
            lines.append(run_rows.run_row(run, self.desk.link, width, first + n == place))

    def _middle(
        self, run: answer.Answer, machine: answer.Answer, width: int, height: int
    ) -> list[Row]:
        """The box on the left, the curve on the right, the checkpoints below; in a narrow window the
        curve under the box.

        Only the changed part of a row is sent to the terminal. So the curve, which has three bytes per
        cell but changes rarely, is not sent again with every new reading of the box.
        """
        link = self.desk.link
        name = answer.text(run, "name") or answer.text(run, "run") or "Box"
        title = run_rows.story(run, link) if run else BLANK
        if width < 60:
            drawn = 4 if height >= 8 else 0
            rows = box.rows_of(machine, width - 1, height - drawn)
            if drawn and run:
                rows += run_rows.curve(run, width - 1, drawn)
        else:
            left = min(66, max(38, width * 54 // 100))
            right = run_rows.curve(run, width - left - 1, height) if run else []
            rows = beside(box.rows_of(machine, left, height), right, left, width - left - 1)
        rows = [*rows, *[BLANK] * height][:height]
        saved = run_rows.saves(run, link, width - 2) if run else BLANK
        full = (*saved, Span("   "), *run_rows.processes(run)) if run else BLANK
        last = (Span("  "), *first_fit(width - 2, full, saved))
        return [heading(cut(name, 24), title, width), *rows, last]

    def _draw_incidents(
        self, lines: list[Row], listed: list[Folded], width: int, height: int
    ) -> None:
        focused = self.focus == "incidents"
        self._targets[len(lines)] = ("incidents", "")
        if not listed:
            none = Span("none open", "good")
            lines.append(heading("Incidents", row(none), width, focused))
            return
        number = sum(len(one.all) for one in listed)
        critical = sum(
            len(one.all) for one in listed if answer.text(one.first, "severity") == "critical"
        )
        worst = (Span(f", {critical} critical", "bad"),) if critical else ()
        lines.append(heading("Incidents", row(f"{number} open", *worst), width, focused))
        place = self._place(listed)
        first = window(len(listed), place, height)
        several = len(answer.records(self.desk.found, "runs")) > 1
        for n, one in enumerate(listed[first : first + height]):
            self._targets[len(lines)] = ("incidents", answer.text(one.first, "id"))
            chosen = focused and first + n == place
            lines.append(incident_rows.incident_row(one, self.desk.link, width, chosen, several))

    def _draw_log(self, lines: list[Row], run: answer.Answer, width: int, height: int) -> None:
        tail = answer.texts(run, "log_tail")
        self.scroll = min(self.scroll, max(0, len(tail) - height))
        end = max(0, len(tail) - self.scroll)
        shown = tail[max(0, end - height) : end]
        guilty = log_rows.guilty_lines(run, tail)
        hidden = sum(text in guilty for text in tail) - sum(text in guilty for text in shown)
        more = Span(f"  {hidden} marked out of sight: 6 shows all" if hidden else "", "bad")
        title = (*log_rows.log_title(run, self.desk.link, width - 6 - len(more.text)), more)
        for y in range(len(lines), len(lines) + height + 1):
            self._targets[y] = ("log", "end")
        lines.append(heading("Log", title, width, self.focus == "log"))
        lines += [pad(log_rows.log_row(text, text in guilty), width) for text in shown]
        lines += [BLANK] * (height - len(shown))


def _moved(ids: list[str], now: str, delta: int) -> str:
    """The id that is ``delta`` places further; the first counts as selected when ``now`` is none."""
    if not ids:
        return now
    place = (ids.index(now) if now in ids else 0) + delta
    return ids[min(max(0, place), len(ids) - 1)]


def _first_of(rows: list[Row], width: int, height: int) -> list[Row]:
    """The first ``height`` rows; if there are more, the last one shows how many."""
    shown = [pad(line, width) for line in rows[:height]]
    rest = len(rows) - len(shown)
    if rest and shown:
        more = f" +{rest} more"
        shown[-1] = pad(rows[height - 1], width - len(more)) + row(Span(more, "warn"))
    return shown
