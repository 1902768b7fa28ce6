"""What is watched, what is blind and why: every source of the box and of the runs, and the pushes."""

from __future__ import annotations

from middlewatch.daemon.text import figures
from middlewatch.daemon.text.rows import BLANK, Row, Span, Tone, fill, heading, row, wrap

from .. import answer, coverage_rows, order
from ..answer import Answer
from ..view import TextView

TONES: dict[str, Tone] = {"ok": "good", "starting": "dim", "unsupported": "dim"}
"""Every other state is a trouble."""


class Coverage(TextView):
    """The sources."""

    name = "coverage"
    title = "watch"

    def rows(self, width: int) -> list[Row]:
        """What does not work first, then every source."""
        found, link = self.desk.found, self.desk.link
        blind = coverage_rows.blind(found, {}, link)
        rows = [heading("Blind", row(Span("" if blind else "nothing", "good")), width, True)]
        rows += blind
        rows += [BLANK, heading("Sources of the box", BLANK, width), *self._sources(found, width)]
        for run in order.runs(found):
            listed = self._sources(run, width)
            notes = [row("  ", Span("note ", "dim"), line) for note in answer.texts(run, "notes")
                     for line in wrap(note, width - 10)]  # fmt: skip
            if listed or notes:
                rows += [BLANK, heading(answer.text(run, "run"), BLANK, width), *listed, *notes]
        daemon = answer.record(found, "daemon")
        rows += [BLANK, heading("The watch itself", BLANK, width)]
        rss = figures.size(answer.finite(daemon, "rss_bytes"))
        urls = answer.finite(daemon, "alert_urls")
        rows.append(row(f"  daemon {answer.text(found, 'version')}, up {figures.roughly(answer.finite(daemon, 'uptime_s'))}, {rss} of memory"))  # fmt: skip
        rows.append(
            row("  pushes to ", "an unknown number of" if urls is None else f"{urls:.0f}", " URLs")
        )
        turn = answer.finite(daemon, "longest_turn_s")
        if turn is not None:
            rows.append(row(f"  its loop stood still for {1000 * turn:.0f} ms at most"))
        return rows

    def _sources(self, of: Answer, width: int) -> list[Row]:
        """A row a source; of several runs that say the same, one."""
        same: dict[tuple[str, str, str], list[Answer]] = {}
        for source in answer.records(of, "watch"):
            keys = ("source", "state", "detail")
            a, b, c = (answer.text(source, key) for key in keys)
            same.setdefault((a, b, c), []).append(source)
        rows: list[Row] = []
        for (name, state, detail), listed in sorted(
            same.items(), key=lambda one: _trouble_first(one[1][0])
        ):
            ages = [self.desk.link.since(source, "since") for source in listed]
            since = figures.roughly(max((age for age in ages if age is not None), default=None))
            many = f" {len(listed)}×" if len(listed) > 1 else ""
            rows.append(
                row(
                    "  ",
                    Span(fill(state or "unknown", 12), TONES.get(state, "warn")),
                    fill(name or "?", min(30, max(14, width // 3))),
                    Span(f" {since}{many}", "dim"),
                )
            )
            rows += [
                row(" " * 14, Span(line, "dim"))
                for line in (wrap(detail, width - 16) if detail else [])
            ]
        return rows


def _trouble_first(source: Answer) -> tuple[bool, str]:
    return answer.text(source, "state") in TONES, answer.text(source, "source")
