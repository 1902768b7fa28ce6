"""The checkpoints of the selected run: level, digest, size, best, which one to resume from, copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from middlewatch.daemon.text import figures
from middlewatch.daemon.text.rows import (
    BLANK,
    Row,
    Span,
    Tone,
    cut,
    cut_left,
    fill,
    first_fit,
    heading,
    pad,
    row,
    wrap,
)

from .. import answer, run_rows, taking
from ..answer import Answer
from ..desk import Desk
from ..view import Key, ListView

EVERY_S = 10.0
"""Seconds of the box's clock between two questions for the index: it may have thousands of rows."""
TONES: dict[str, Tone] = {"ok": "good", "corrupt": "bad", "incomplete": "bad", "pending": "dim"}


class Checkpoints(ListView[Answer]):
    """One row a save, the newest first."""

    name = "checkpoints"
    title = "saves"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.index: Answer = {}
        self.trouble = ""
        self._asked: tuple[str, str, float] | None = None

    def own_keys(self) -> list[Key]:
        """Its keys."""
        return [Key("v", "verify all saves of the run again", self._verify)]

    def shown(self) -> None:
        """Ask for the index when it may have changed: another run, or EVERY_S later."""
        run, now = answer.text(self.desk.chosen, "run"), self.desk.link.now or 0.0
        box = self.desk.box
        before = self._asked
        if not run or (before and before[:2] == (box, run) and now - before[2] < EVERY_S):
            return
        if before is None or before[:2] != (box, run):
            self.index = {}
        self._asked = (box, run, now)

        def take(told: Any) -> None:
            if self._asked is None or self._asked[:2] != (box, run):
                return
            failed = isinstance(told, Exception)
            self.trouble = answer.clean(str(told)) if failed else ""
            if isinstance(told, dict):
                self.index = told
            self.desk.services.changed()

        self.desk.services.ask("checkpoints", {"run": run}, take)

    def items(self) -> Sequence[Answer]:
        """The newest first."""
        return answer.records(self.index, "checkpoints")[::-1]

    def id_of(self, item: Answer) -> str:
        """Its path."""
        return answer.text(item, "path")

    def nothing(self) -> str:
        """Without a save, or without an answer."""
        if self.trouble:
            return self.trouble
        return "none seen yet" if self.index else "asking the daemon …"

    def head(self, width: int) -> list[Row]:
        """How many, and what would be resumed from."""
        run = self.desk.chosen
        name = answer.text(run, "name") or answer.text(run, "run") or "no run"
        title = row(f"of {cut(name, 24)}: {len(self.items())}")
        if not run:
            return [heading("Saves", title, width, True)]
        saved = run_rows.saves(run, self.desk.link, width - 2)
        return [heading("Saves", title, width, True), row("  ", *saved)]

    def row(self, item: Answer, width: int, chosen: bool) -> Row:
        """One save: step, age, size, verdict and its level, tags, name."""
        verdict = answer.record(item, "verified")
        state, level = answer.text(verdict, "state") or "unknown", answer.text(verdict, "level")
        size, age = figures.size(answer.finite(item, "bytes")), figures.roughly(self.desk.link.since(item, "saved_at"))  # fmt: skip
        marks = answer.texts(item, "tags")
        if self.id_of(item) == answer.text(self.index, "resume_from"):
            marks = ["RESUME", *marks]
        copied = answer.text(answer.record(item, "mirrored"), "state")
        marks += [f"copy {copied}"] if copied else []
        path = self.id_of(item)
        start = f"{'> ' if chosen else '  '}{figures.count(answer.finite(item, 'step')):>9} {age:>11} {size:>7} "
        said = Span(fill(f"{state} {level}".strip(), 15), TONES.get(state, "warn"))
        tags = Span(f" {' '.join(marks)}" if marks else "", "title")
        room = width - len(start) - 16 - len(tags.text)
        name = path.rstrip("/").rpartition("/")[2]
        return first_fit(
            width,
            row(Span(start, "title" if chosen else ""), said, tags, Span(f" {cut_left(path, max(8, room))}", "dim")),
            row(Span(start, "title" if chosen else ""), said, tags, Span(f" {cut_left(name, max(8, room))}", "dim")),
            row(Span(start, "title" if chosen else ""), Span(state, TONES.get(state, "warn")), tags),
        )  # fmt: skip

    def foot(self, width: int, height: int) -> list[Row]:
        """All that is known of the selected one."""
        one = self.selected()
        if one is None:
            return []
        verdict, copy = answer.record(one, "verified"), answer.record(one, "mirrored")
        metrics = answer.record(one, "metrics")
        figures_of = [
            f"{answer.clean(k)} {figures.metric(answer.number(metrics, k))}" for k in metrics
        ]
        at = answer.moment(verdict, "at")
        place = answer.record(one, "durability")
        facts = (
            ("path", self.id_of(one)),
            ("verdict", " ".join(filter(None, (answer.text(verdict, "state"), answer.text(verdict, "level"), f"at {at:%Y-%m-%d %H:%M:%S}" if at else "")))),
            ("why", answer.text(verdict, "detail")),
            ("digest", answer.text(one, "digest") or "none: not read to its end yet"),
            ("format", f"{answer.text(one, 'format')}, {figures.count(answer.finite(one, 'files'))} files"),
            ("metrics", ", ".join(figures_of)),
            ("lies", answer.text(place, "text")),
            ("copy", " ".join(filter(None, (answer.text(copy, "state"), answer.text(copy, "to"), answer.text(copy, "detail"))))),
        )  # fmt: skip
        rows = [heading("Detail", BLANK, width)]
        for name, value in facts:
            begin = f"  {name:<9} "
            for line in wrap(value, width - len(begin) - 1) if value else []:
                rows.append(row(Span(begin, "dim"), line))
                begin = " " * len(begin)
        return [pad(line, width) for line in [BLANK, *rows][:height]]

    def _verify(self) -> None:
        run = answer.text(self.desk.chosen, "run")
        if not run:
            return
        services = self.desk.services

        def yes() -> None:
            def take(told: Any) -> None:
                by_daemon = isinstance(told, dict) and told.get("by_daemon") is True
                services.tell("the daemon reads them again; verdicts come one by one" if by_daemon
                              else f"the run is over; type: middlewatch checkpoints {run} --rescan")  # fmt: skip

            services.ask("rescan", {"run": run}, taking.or_tell(self.desk, take))

        services.confirm(f"Have every save of {run} read and verified again?", yes)
