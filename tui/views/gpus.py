"""The GPUs: use, memory, power and heat of each, what slows it down, its last ten minutes."""

from __future__ import annotations

from collections.abc import Sequence

from middlewatch.daemon.text import figures
from middlewatch.daemon.text.rows import BLANK, Row, Span, Tone, fill, first_fit, heading, pad, row

from .. import answer, box
from ..answer import Answer
from ..bars import bar, spark
from ..desk import Desk
from ..view import Key, ListView

REASONS = {
    "sw_power_cap": "at its power limit (routine)",
    "gpu_idle": "idle",
    "applications_clocks": "clock set by a person",
    "hw_slowdown": "slowed by its hardware: heat or power supply",
    "hw_thermal": "too hot: the hardware has cut the clock",
    "hw_power_brake": "power brake from outside",
    "sw_thermal": "warm: the driver lowers the clock",
    "sync_boost": "in step with another GPU",
    "display_clocks": "clock of a display",
    "board_limit": "at the limit of its board",
    "reliability": "at the limit of its voltage",
}
"""What NVIDIA's clock event reasons mean."""
ORDERS = ("index", "busy", "hot")
NO_READINGS = "no GPU was seen: without NVIDIA's driver there are no readings (view 8 says why)"


class Gpus(ListView[Answer]):
    """One row each."""

    name = "gpus"
    title = "gpus"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.order = 0

    def own_keys(self) -> list[Key]:
        """Its keys."""
        return [Key("o", "order: number, use, heat", self._reorder)]

    def _reorder(self) -> None:
        self.order = (self.order + 1) % len(ORDERS)

    def items(self) -> Sequence[Answer]:
        """All of them; those that are lost or slowed by their hardware first."""
        gpus = answer.records(answer.record(self.desk.found, "box"), "gpus")
        field = {"busy": "util_ratio", "hot": "temp_c"}.get(ORDERS[self.order])

        def rank(gpu: Answer) -> tuple[bool, float, float]:
            odd = gpu.get("lost") is True or bool(box.slowed(gpu))
            value = (answer.finite(gpu, field) if field else None) or 0.0
            return not odd, -value, answer.finite(gpu, "index") or 0.0

        return sorted(gpus, key=rank)

    def id_of(self, item: Answer) -> str:
        """The number of the GPU."""
        return figures.count(answer.finite(item, "index"))

    def nothing(self) -> str:
        """Without a GPU."""
        return NO_READINGS

    def head(self, width: int) -> list[Row]:
        """How many, and what they take together."""
        gpus = answer.records(answer.record(self.desk.found, "box"), "gpus")
        power = [w for gpu in gpus if (w := answer.finite(gpu, "power_w")) is not None]
        odd = sum(gpu.get("lost") is True or bool(box.slowed(gpu)) for gpu in gpus)
        words = f"{len(gpus)}{f', {sum(power):,.0f} W together' if power else ''}, by {ORDERS[self.order]}"
        trouble = Span(f", {odd} lost or slowed" if odd else "", "bad")
        return [heading("GPUs", row(words, trouble), width, True)]

    def row(self, item: Answer, width: int, chosen: bool) -> Row:
        """One GPU with bars of its use and its memory."""
        name = Span(
            f"{'> ' if chosen else '  '}{f'gpu{self.id_of(item)}':<6}", "title" if chosen else ""
        )
        if item.get("lost") is True:
            return row(name, Span("LOST", "bad"), " the driver took it away")
        util = answer.finite(item, "util_ratio")
        used, total = answer.finite(item, "mem_used_bytes"), answer.finite(item, "mem_total_bytes")
        share = used / total if used is not None and total else None
        watts = f"{figures.whole(answer.finite(item, 'power_w'), 'W'):>5}"
        limit = answer.finite(item, "power_limit_w")
        heat = f"{figures.whole(answer.finite(item, 'temp_c'), 'C'):>4}"
        slow = box.slowed(item)
        state = Span(f"  {REASONS.get(slow[0], slow[0])}" if slow else "", "warn")
        cells = 12 if width >= 100 else 6
        busy: Tone = "good" if util and util >= 0.5 else ""
        memory = f"{figures.size(used):>6}/{figures.size(total)}"
        clock = f" {figures.whole(answer.finite(item, 'sm_clock_mhz'), 'MHz'):>8}"
        bars = (Span(bar(util, cells), busy), f"{figures.percent(util):>5} ", bar(share, cells))
        ways = (
            row(name, *bars, memory, watts, f"/{figures.whole(limit, 'W')}", heat, clock, state),
            row(name, *bars, memory, watts, heat, clock, state),
            row(name, *bars, memory, watts, heat, Span(" SLOW" if slow else "", "warn")),
            row(
                name,
                f"{figures.percent(util):>4}",
                memory,
                watts,
                heat,
                Span(" SLOW" if slow else "", "warn"),
            ),
        )
        return first_fit(width, *ways)

    def foot(self, width: int, height: int) -> list[Row]:
        """The selected one: its name, why its clock is what it is, its history, the processes."""
        gpu = self.selected()
        if gpu is None:
            return []
        trail, name = self.desk.trail, f"gpu{answer.finite(gpu, 'index')}"
        room = min(60, max(10, width - 34))
        age = answer.finite(gpu, "age_s")
        title = f"{answer.text(gpu, 'name') or 'GPU'}, read {figures.ago(age)}"
        rows = [heading(f"gpu{self.id_of(gpu)}", row(title), width)]
        why = answer.texts(gpu, "throttle")
        words = [f"{reason}: {REASONS.get(reason, 'see the driver')}" for reason in why]
        rows += [row("  clock      ", Span(text, "warn" if reason in box.slowed(gpu) else "dim"))
                 for reason, text in zip(why, words, strict=True)]  # fmt: skip
        total = answer.finite(gpu, "mem_total_bytes")
        limit = answer.finite(gpu, "power_limit_w")
        for key, says, top in (
            ("util_ratio", "use", 1.0),
            ("mem_used_bytes", "memory", total),
            ("power_w", "power", limit),
            ("temp_c", "heat", 100.0),
        ):
            kept = trail.of(name, key)
            if kept:
                values = [value for _, value in kept]
                low, high = _told(key, min(values)), _told(key, max(values))
                between = low if low == high else f"{low} to {high}"
                rows.append(row(Span(f"  {says:<10} ", "dim"), fill(spark(kept, room, low=0.0, high=top), room), f" {between}"))  # fmt: skip
        rows.append(row(Span("  of the time since this screen was opened, at most 10 min", "dim")))
        rows += self._users(gpu, width)
        return [pad(line, width) for line in [BLANK, *rows][:height]]

    def _users(self, gpu: Answer, width: int) -> list[Row]:
        """The living runs that use it, or may use it as far as is known."""
        index, rows = answer.finite(gpu, "index"), []
        for run in answer.records(self.desk.found, "runs"):
            known = run.get("gpus")
            here = isinstance(known, list) and index in known
            if run.get("ended_at") is None and (here or not isinstance(known, list)):
                sure = Span("" if here else "  (not known which GPUs it uses)", "dim")
                ranks = f": {len(answer.records(run, 'processes'))} processes"
                rows.append(
                    row(Span("  used by    ", "dim"), answer.text(run, "run") + ranks, sure)
                )
        return rows or [row(Span("  used by    no run that is watched", "dim"))]


def _told(key: str, value: float) -> str:
    if key == "util_ratio":
        return figures.percent(value)
    if key == "mem_used_bytes":
        return figures.size(value)
    return figures.whole(value, "W" if key == "power_w" else "C")
