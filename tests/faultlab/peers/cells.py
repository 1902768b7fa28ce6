"""The cells of the table of peers, and what they add up to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..lab import RANK, Alarm, Fault, Outcome
from .peer import PeerAlarm
from .together import fits, rules

Row = tuple[Fault, Mapping[str, "Cell"]]


@dataclasses.dataclass(frozen=True)
class Cell:
    """What one watcher made of one row."""

    claimed: bool
    control: bool = False
    found_s: float | None = None
    """From the injection to the first alarm whose words fit."""
    other_s: float | None = None
    """To the first alarm of any words, if none fits."""
    false: int = 0
    load: int = 0
    """Alarms about the box that everybody shares; no judgement of the run."""
    waits_s: float | None = None
    """Its fastest rule speaks only so long after the injection: later than anybody waited."""
    watched_s: float = 0.0
    why_not: str = ""
    share: float = 1.0
    """Of several runs of the row, how many found it."""

    @property
    def slow(self) -> bool:
        """Nothing was told, and no rule of it could have spoken in the time."""
        return self.found_s is None and self.waits_s is not None

    def text(self) -> str:
        """For a table."""
        if self.why_not:
            return "not run"
        false = f"{self.false} false" if self.false else ""
        if self.control:
            return false or "quiet"
        if self.found_s is not None:
            text = f"{self.found_s:.0f} s" if self.claimed else f"*{self.found_s:.0f} s*"
            text += f" ({self.share:.0%})" if self.share < 1 else ""
        elif not self.claimed:
            text = "—" if self.other_s is None else f"— (other: {self.other_s:.0f} s)"
        elif self.slow:
            text = f"n/a (waits {(self.waits_s or 0) / 60:.0f} min)"
        else:
            text = "no" if self.other_s is None else f"no (other: {self.other_s:.0f} s)"
        return f"{text}, {false}" if false else text


def cell(outcome: Outcome) -> Cell:
    """Read what one peer told in one row."""
    fault, control = outcome.fault, outcome.fault.kind == "control"
    took = rules(outcome.watcher, fault)
    if outcome.state != "judged":
        return Cell(took is not None, control, why_not=outcome.reason)
    begun = outcome.injected or 0.0
    watched = outcome.ended - begun
    audible = [a for a in outcome.alarms if RANK.get(a.severity, -1) > 0]
    right = [a for a in audible if fits(a, outcome)]
    after = [a for a in audible if not control and a.at >= begun and not _box(a)]
    # What follows from the trouble (the process is gone) is true, if not its cause.
    false = [a for a in audible if not _box(a) and (a not in after or a.trouble is None)]
    return Cell(
        took is not None,
        control,
        found_s=right[0].at - begun if right else None,
        other_s=after[0].at - begun if after and not right else None,
        false=len(false),
        load=sum(_box(a) and a not in right for a in audible),
        waits_s=took[0] if took is not None and took[0] > watched else None,
        watched_s=watched,
    )


def _box(alarm: Alarm) -> bool:
    return isinstance(alarm, PeerAlarm) and alarm.box


def of_middlewatch(reports: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Cell]]:
    """The column of middlewatch, from what ``scripts/faultlab --json`` printed, once or for parts."""
    rows = [row for r in reports if r["watcher"] == "middlewatch" for row in r["rows"]]
    return {str(row["name"]): {"middlewatch": _ours(row)} for row in rows}


def _ours(row: Mapping[str, Any]) -> Cell:
    control = row["kind"] == "control"
    if not row["runs"]:
        return Cell(not control, control, why_not=(row["not_run"] + row["broken"])[0])
    audible = [a for run in row["told"] for a in run if RANK.get(a["severity"], -1) > 0]
    after = [a["after_s"] for a in audible if (a["after_s"] or -1) >= 0]
    found = row["p50_s"] if row["found"] else None
    return Cell(
        not control,
        control,
        found_s=found,
        other_s=min(after, default=None) if found is None else None,
        false=len(audible) if control else len(row["false_pages"]),
        share=row["found"] or 0.0,
    )


LEGEND = (
    "Seconds from the trouble to the first alarm whose words fit it, where the watcher claims to "
    "cover it. `no`: it claims it, had the time, and did not say it. `other`: it said something "
    "else that is true, such as that the process is gone. `n/a (waits M min)`: not within the time "
    "watched, because its fastest rule for this waits so long by design; neither found nor missed. "
    "`—`: it does not claim it; *slanted*: said nevertheless, and not summed. `N false`: alarms "
    "before the trouble, about nothing that was wrong, or in a healthy row."
)


def markdown(watchers: Sequence[str], rows: Sequence[Row]) -> str:
    """The legend, the faults, the controls, and the sums."""
    head = ["| row | " + " | ".join(watchers) + " |", "|---" * (len(watchers) + 1) + "|"]
    lines = [LEGEND, "", *head]
    for fault, cells in rows:
        texts = [cells[w].text() if w in cells else "not run" for w in watchers]
        lines.append(_line(f"{fault.number} {fault.name}", texts))
    lines += ["", *head]
    sums = (
        ("faults claimed", lambda cells: str(len(_claimed(cells)))),
        ("of these too slow by design for the time watched", _slow),
        ("found of the others", _found),
        ("median seconds to the alarm", _median),
        ("false alarms in healthy rows", lambda cells: str(_false(cells, True))),
        ("false alarms in rows with a fault", lambda cells: str(_false(cells, False))),
        ("alarms about the busy box, not judged", lambda cells: str(sum(c.load for c in cells))),
    )
    for title, value in sums:
        texts = [value([cells[w] for _, cells in rows if w in cells]) for w in watchers]
        lines.append(_line(title, texts))
    return "\n".join(lines)


def _line(title: str, texts: Iterable[str]) -> str:
    return f"| {title} | " + " | ".join(texts) + " |"


def _claimed(cells: Iterable[Cell]) -> list[Cell]:
    return [c for c in cells if c.claimed and not c.why_not]


def _slow(cells: Iterable[Cell]) -> str:
    return str(sum(c.slow for c in _claimed(cells)))


def _found(cells: Iterable[Cell]) -> str:
    asked = [c for c in _claimed(cells) if not c.slow]
    found = sum(c.share for c in asked if c.found_s is not None)
    return f"{found:.3g} of {len(asked)}" + (f" ({found / len(asked):.0%})" if asked else "")


def _median(cells: Iterable[Cell]) -> str:
    times = sorted(c.found_s for c in _claimed(cells) if c.found_s is not None)
    return f"{times[(len(times) - 1) // 2]:.0f}" if times else "—"


def _false(cells: Iterable[Cell], control: bool) -> int:
    return sum(c.false for c in cells if c.control == control)
