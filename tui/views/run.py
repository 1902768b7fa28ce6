"""One run: its loss or its pace as a curve with the incidents on it, and all that is known of it."""

from __future__ import annotations

from middlewatch.daemon.text import figures
from middlewatch.daemon.text.curve import GUTTER, AxisMark
from middlewatch.daemon.text.plot import Point
from middlewatch.daemon.text.rows import BLANK, Row, Span, cut, heading, pad, row, wrap

from .. import answer, order, run_rows, verdict
from ..answer import Answer
from ..attempts import Stitched, stitched
from ..chart import SCALES, SMOOTHINGS, Chart
from ..desk import Desk
from ..incident_rows import SEVERITY
from ..view import Key, TextView

CURVES = ("loss", "pace")


class RunView(TextView):
    """The selected run."""

    name = "run"
    title = "run"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.charts = {name: Chart() for name in CURVES}
        self.curve = CURVES[0]
        self._chart_rows = 0

    @property
    def chart(self) -> Chart:
        """The one that is shown."""
        return self.charts[self.curve]

    def own_keys(self) -> list[Key]:
        """Its keys."""
        return [
            Key("left h", "cursor to older steps", lambda: self._shift(-1)),
            Key("right l", "cursor to newer steps", lambda: self._shift(1)),
            Key("H shift+left", "… by ten", lambda: self._shift(-10)),
            Key("L shift+right", "… by ten", lambda: self._shift(10)),
            Key("plus equals_sign", "closer", lambda: self.chart.zoom_by(2.0)),
            Key("minus", "wider", lambda: self.chart.zoom_by(0.5)),
            Key("z", "the whole curve", lambda: self.chart.whole()),
            Key("o", "axis: by the values, logarithmic, linear", self._scale),
            Key("s", "smoothing: none, little, more, much", self._smooth),
            Key("c", "loss or pace", self._other),
            Key("m", "cursor to the next incident", self._next_mark),
        ]

    def _shift(self, cells: int) -> None:
        self.chart.shift(cells, self._width)

    def _scale(self) -> None:
        self.chart.scale = (self.chart.scale + 1) % len(SCALES)

    def _smooth(self) -> None:
        self.chart.smooth = (self.chart.smooth + 1) % len(SMOOTHINGS)

    def _other(self) -> None:
        self.curve = CURVES[(CURVES.index(self.curve) + 1) % len(CURVES)]

    def _next_mark(self) -> None:
        points, marks = self._points(), sorted(m.x for m in _marks(self.desk.chosen))
        if len(points) < 2 or not marks:
            self.desk.services.tell("no incident has a step on this curve")
            return
        first, last = points[0][0], points[-1][0]
        shares = [(x - first) / ((last - first) or 1.0) for x in marks]
        now = -1.0 if self.chart.cursor is None else self.chart.cursor + 1e-6
        self.chart.cursor = min(1.0, max(0.0, next((s for s in shares if s > now), shares[0])))
        self.chart.shift(0, self._width)

    def click(self, x: int, y: int) -> None:
        """Put the cursor there."""
        if y < self._chart_rows and x >= GUTTER:
            self.chart.point_at(x, self._width)

    def head(self, width: int) -> list[Row]:
        """The state of the run, and its curve."""
        run = self.desk.chosen
        if not run:
            return [BLANK, row("  No run is watched.")]
        name = answer.text(run, "name") or answer.text(run, "run")
        title = heading(cut(name, 24), run_rows.story(run, self.desk.link), width)
        return [title, *self._drawn(run, width)]

    def draw(self, width: int, height: int) -> list[Row]:
        """The curve takes half of the height."""
        self._chart_rows = max(5, height // 2)
        return super().draw(width, height)

    def _drawn(self, run: Answer, width: int) -> list[Row]:
        if self.curve == "pace":
            return self.chart.draw(self._paces(), _marks(run), "step/s", width, self._chart_rows)
        name = answer.text(answer.record(run, "curve"), "metric") or "loss"
        whole = self._stitched()
        if whole.attempts > 1:
            name = f"{cut(name, 16)} of {whole.attempts} attempts"
        marks = [*_marks(run), *(AxisMark(step, "▶", "dim") for step in whole.begins)]
        return self.chart.draw(whole.points, marks, name, width, self._chart_rows)

    def _points(self) -> list[Point]:
        return self._paces() if self.curve == "pace" else self._stitched().points

    def _paces(self) -> list[Point]:
        run = self.desk.chosen
        told = run_rows.pairs_of(run, "paces")
        return told if len(told) > 2 else self.desk.trail.rates(answer.text(run, "run"))

    def _stitched(self) -> Stitched:
        return stitched(self.desk.chosen, answer.records(self.desk.found, "runs"))

    def rows(self, width: int) -> list[Row]:
        """What is known of the run, below the curve."""
        run, link = self.desk.chosen, self.desk.link
        if not run:
            return [row("  Find the runs of this box: ", Span("middlewatch watch", "title"))]
        rows = [verdict.lost(run, link, width), row("  ", *run_rows.saves(run, link, width - 2))]
        rows.append(row("  ", *run_rows.processes(run)))
        for one in order.open_of(run):
            severity = answer.text(one, "severity")
            rows.append(row("  ", Span(f"{severity} ", SEVERITY.get(severity, "dim")),
                            answer.text(one, "summary")))  # fmt: skip
        rows += [BLANK, row(Span(" Now", "title")), *_values(run, link.since(answer.record(run, "now"), "last_step_at"), width)]  # fmt: skip
        rows += [BLANK, row(Span(" Facts", "title"))]
        return [pad(line, width) for line in (*rows, *_facts(run, width))]


def _marks(run: Answer) -> list[AxisMark]:
    """Where on the curve the open incidents are: those that know their step."""
    found = []
    for one in order.open_of(run):
        step = answer.finite(answer.record(one, "details"), "step")
        if step is not None:
            found.append(AxisMark(step, "▲", SEVERITY.get(answer.text(one, "severity"), "dim")))
    return found


def _values(run: Answer, last_step_s: float | None, width: int) -> list[Row]:
    """Step, pace and the newest metrics, in columns."""
    now = answer.record(run, "now")
    moves = order.moving(run)
    pairs = [("step", figures.count(answer.number(now, "step")))]
    total = answer.number(now, "total")
    if total:
        pairs.append(("of", f"{figures.count(total)} ({figures.percent(answer.number(now, 'step'), total)})"))  # fmt: skip
    pairs.append(("last step", figures.ago(last_step_s)))
    if moves:
        pairs.append(("pace", figures.pace(answer.number(now, "step_interval_s"))))
    values = answer.record(now, "values")
    pairs += [(answer.clean(name), figures.metric(answer.number(values, name))) for name in values]
    cell = 26
    each = max(1, (width - 2) // cell)
    lines = [pairs[n : n + each] for n in range(0, len(pairs), each)]
    return [
        row("  ", *(span for name, value in line for span in (
            Span(f"{cut(name, 14)} ", "dim"),
            Span(f"{value:<{max(1, cell - 1 - len(cut(name, 14)))}}",
                 "bad" if value in ("nan", "inf", "-inf") else ""))))
        for line in lines
    ]  # fmt: skip


def _facts(run: Answer, width: int) -> list[Row]:
    place = answer.record(answer.record(run, "checkpoints"), "durability")
    cost = answer.text(answer.record(run, "cost"), "text")
    platform = answer.record(run, "platform")
    facts = [
        ("id", answer.text(run, "run")),
        ("command", " ".join(answer.texts(run, "command"))),
        ("folder", answer.text(run, "cwd")),
        ("lives in", answer.text(run, "home")),
        ("attempt", figures.count(answer.finite(run, "attempt")) if run.get("attempt") else ""),
        ("continues", answer.text(run, "resumed_from")),
        ("saves lie", answer.text(place, "text")),
        ("cost", cost),
        ("platform", answer.text(platform, "name")),
        *(("note", note) for note in answer.texts(run, "notes")),
        *(("log", answer.text(log, "path")) for log in answer.records(run, "logs")),
        *(("saves to", path) for path in answer.texts(run, "checkpoint_dirs")),
        ("status page", answer.text(run, "status_page")),
    ]
    rows = []
    for name, value in facts:
        if value:
            begin = f"  {name:<12}"
            for line in wrap(value, width - len(begin) - 1):
                rows.append(row(Span(begin, "dim"), line))
                begin = " " * len(begin)
    return rows
