"""The disks: bytes and inodes, what of the runs lies there, how many saves still fit, when it is full."""

from __future__ import annotations

from collections.abc import Sequence

from middlewatch.daemon.text import figures
from middlewatch.daemon.text.rows import (
    BLANK,
    Row,
    Span,
    Tone,
    cut_left,
    fill,
    first_fit,
    heading,
    pad,
    row,
)

from .. import answer, box
from ..answer import Answer
from ..bars import bar, spark
from ..view import ListView


class Disks(ListView[Answer]):
    """One row a mount, the tightest first; the memory above."""

    name = "disks"
    title = "disks"

    def items(self) -> Sequence[Answer]:
        """All mounts that matter to a run or to the watch."""
        machine = answer.record(self.desk.found, "box")
        return sorted(answer.records(machine, "disks"), key=box.tightness)

    def id_of(self, item: Answer) -> str:
        """Where it is mounted."""
        return answer.text(item, "mount")

    def nothing(self) -> str:
        """Before the first look."""
        return "no disk is known yet"

    def head(self, width: int) -> list[Row]:
        """The memory of the box, and the titles."""
        memory = answer.record(answer.record(self.desk.found, "box"), "memory")
        return [
            heading("Memory", BLANK, width),
            row("  ", *box.memory_row(memory, width - 2)),
            heading("Disks", row(Span("used of bytes and of inodes", "dim")), width, True),
        ]

    def row(self, item: Answer, width: int, chosen: bool) -> Row:
        """One mount in one row."""
        room = min(28, max(9, width // 4))
        space, files = box.free_ratio(item, "bytes"), box.free_ratio(item, "inodes")
        left = answer.finite(item, "saves_left")
        urgent: Tone = "bad" if left is not None and left < box.SAVES_BAD else "warn" if left is not None and left < box.SAVES_LOW else ""  # fmt: skip
        saves = Span("" if left is None else f"  {left:.1f} saves" if left < 100 else "  99+ saves", urgent)  # fmt: skip
        only = Span(" READ-ONLY" if item.get("read_only") is True else "", "bad")
        soon = self._full_in(item)
        until = Span(f"  full in {figures.roughly(soon)}" if soon is not None else "", "warn")
        name = Span(f"{'> ' if chosen else '  '}{fill(cut_left(self.id_of(item) or '?', room), room)} ", "title" if chosen else "")  # fmt: skip
        free = f"{figures.size(answer.finite(item, 'free_bytes')):>6} free"
        cells = 10 if width >= 100 else 5
        bytes_bar = bar(None if space is None else 1 - space, cells)
        inode_bar = bar(None if files is None else 1 - files, cells)
        inodes = f"  inodes {figures.percent(None if files is None else 1 - files):>4} "
        return first_fit(
            width,
            row(name, bytes_bar, free, inodes, inode_bar, only, saves, until),
            row(name, bytes_bar, free, inodes, only, saves, until),
            row(name, bytes_bar, free, only, saves, until),
            row(name, free, only, saves),
        )

    def _full_in(self, disk: Answer) -> float | None:
        """Seconds until bytes or inodes run out, at the rate since the screen was opened."""
        times = [self.desk.trail.empty_in(self.id_of(disk), key) for key in ("free_bytes", "free_inodes")]  # fmt: skip
        known = [seconds for seconds in times if seconds is not None]
        return min(known, default=None)

    def foot(self, width: int, height: int) -> list[Row]:
        """The selected one in full."""
        disk = self.selected()
        if disk is None:
            return []
        rows = [heading(self.id_of(disk), row(Span(answer.text(disk, "fstype"), "dim")), width)]
        holds = ", ".join(answer.texts(disk, "holds")) or "nothing of a run"
        rows.append(row(Span("  holds      ", "dim"), holds))
        room = min(50, max(10, width - 40))
        for key, says, told in (
            ("bytes", "bytes", figures.size),
            ("inodes", "inodes", figures.count),
        ):
            free, total = answer.finite(disk, f"free_{key}"), answer.finite(disk, f"total_{key}")
            if total:
                rows.append(
                    row(Span(f"  {says:<10} ", "dim"), f"{told(free)} free of {told(total)}")
                )
            kept = self.desk.trail.of(self.id_of(disk), f"free_{key}")
            if len(kept) > 1 and min(v for _, v in kept) < max(v for _, v in kept):
                rows.append(row(Span("  free       ", "dim"), spark(kept, room)))
        soon = self._full_in(disk)
        rows.append(
            row(Span("  forecast   ", "dim"), "it does not fill up" if soon is None else f"full in {figures.roughly(soon)}",
                Span(", by what was seen since this screen was opened", "dim"))
        )  # fmt: skip
        return [pad(line, width) for line in [BLANK, *rows][:height]]
