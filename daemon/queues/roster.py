"""Where each cell of a queue is, computed from its journal. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Standing = Literal[
    "waiting", "claimed", "running", "finished", "failed", "lost", "elsewhere", "out"
]
"""``claimed``: its start was begun, and it is not known yet whether it runs. ``lost``: its process is
gone and left no exit record. ``elsewhere``: another box, or another state directory, has it. ``out``: its
line was taken out of the file before it began."""
OVER: frozenset[str] = frozenset({"finished", "failed", "elsewhere", "out"})
"""Nothing more is done about these by itself."""
MOST_LOST = 3
"""So many starts of one cell may be lost before it counts as failed: somebody, or the kernel, kills it with its
supervisor each time. A start that a reboot has ended does not count. Our choice."""


@dataclass(slots=True)
class Attempt:
    """One start of a cell. Times are epoch seconds; ``boot``: the boot id of the box."""

    run: str
    digest: str
    boot: str
    exit_file: str
    log: str
    claim: str
    intent_at: float
    gpus: tuple[str, ...] = ()
    pid: int | None = None
    ticks: int | None = None
    supervisor: int | None = None
    supervisor_ticks: int | None = None
    started_at: float | None = None
    watched: str = ""
    """Id under which the daemon watches it; empty: it has not taken it yet."""
    exit_code: int | None = None
    signal: int | None = None


@dataclass(slots=True)
class CellState:
    """A cell, as far as the journal tells. ``since``: when it came to be so."""

    name: str
    standing: Standing = "waiting"
    since: float = 0.0
    how: str = ""
    """Why, in words: ``exit status 3``, ``signal 9``, what it waits for."""
    words: tuple[str, ...] = ()
    """Its command, for people: what looks like a secret is hidden."""
    digest: str = ""
    dir: str = ""
    line: int = 0
    pins: str = ""
    """Which set of pinned scripts is its own: a key of :attr:`QueueState.pins`."""
    attempts: list[Attempt] = field(default_factory=list)
    lost: int = 0
    """Starts lost since it was last asked for."""
    gate_until: float | None = None
    """Until when it waits for what it comes after, once it has begun to."""
    takes_over: bool = False
    """A person has said that it is ours, whoever had it."""
    notes: list[str] = field(default_factory=list)

    @property
    def last(self) -> Attempt | None:
        """Its newest start."""
        return self.attempts[-1] if self.attempts else None


class QueueState:
    """All cells, in the order in which they came, and what the queue was told."""

    def __init__(self) -> None:
        self.cells: dict[str, CellState] = {}
        self.settings: Mapping[str, Any] = {}
        self.file = ""
        self.uid = ""
        self.stopped = False
        self.over = False
        """Whether the last runner came to the end of the queue."""
        self.ready = False
        """Whether the runner has looked at everything once."""
        self.runner: Mapping[str, Any] = {}
        self.pins: dict[str, Mapping[str, str]] = {}
        """Sets of scripts as they were when cells were queued: path -> digest."""
        self.notes: list[str] = []

    def take(self, records: Iterable[Mapping[str, Any]]) -> QueueState:
        """Take over records; one that this version does not know, or that lacks something, is passed over."""
        for record in records:
            take = getattr(self, f"_take_{record['t']}", None)
            if take is None:
                continue
            try:
                take(record)
            except (KeyError, TypeError, ValueError):
                continue
        return self

    def named(self, *standings: Standing) -> list[CellState]:
        """The cells that are so."""
        return [cell for cell in self.cells.values() if cell.standing in standings]

    def slots_taken(self) -> list[str]:
        """GPUs that cells have which run, or may run."""
        cells = self.named("running", "claimed")
        return [gpu for cell in cells if cell.last for gpu in cell.last.gpus]

    # -- the queue ----------------------------------------------------------------------

    def _take_queue(self, record: Mapping[str, Any]) -> None:
        self.file, self.uid = record["file"], record["uid"]

    def _take_go(self, record: Mapping[str, Any]) -> None:
        self.settings = dict(record["settings"])
        self.stopped = self.over = False

    def _take_runner(self, record: Mapping[str, Any]) -> None:
        self.runner = dict(record)
        self.over = self.ready = False

    def _take_ready(self, record: Mapping[str, Any]) -> None:
        self.ready = True

    def _take_stop(self, record: Mapping[str, Any]) -> None:
        self.stopped = True

    def _take_over(self, record: Mapping[str, Any]) -> None:
        self.over = True

    def _take_note(self, record: Mapping[str, Any]) -> None:
        notes = self.cells[record["cell"]].notes if record.get("cell") else self.notes
        if record["text"] not in notes:
            notes.append(record["text"])

    # -- cells --------------------------------------------------------------------------

    def _take_cell(self, record: Mapping[str, Any]) -> None:
        name = record["cell"]
        cell = self.cells.setdefault(name, CellState(name, since=record["at"]))
        if cell.standing == "out":
            self._to(cell, "waiting", record)
        cell.words, cell.digest = tuple(record["words"]), record["digest"]
        cell.dir, cell.line, cell.pins = record["dir"], record["line"], str(record["pins"])
        cell.notes.clear()
        self.over = False

    def _take_read(self, record: Mapping[str, Any]) -> None:
        """The file was read whole, after notes that it could not be."""
        self.notes.clear()

    def _take_pins(self, record: Mapping[str, Any]) -> None:
        self.pins[record["id"]] = dict(record["files"])

    def _take_out(self, record: Mapping[str, Any]) -> None:
        self._to(self.cells[record["cell"]], "out", record, record["how"])

    def _take_gate(self, record: Mapping[str, Any]) -> None:
        cell = self.cells[record["cell"]]
        cell.gate_until = float(record["until"])
        cell.how = record["how"]

    def _take_intent(self, record: Mapping[str, Any]) -> None:
        cell = self.cells[record["cell"]]
        cell.attempts.append(
            Attempt(
                run=record["run"],
                digest=record["digest"],
                boot=record["boot"],
                exit_file=record["exit_file"],
                log=record["log"],
                claim=record["claim"],
                intent_at=float(record["at"]),
                gpus=tuple(record["gpus"]),
            )
        )
        cell.takes_over = False
        self._to(cell, "claimed", record)

    def _take_started(self, record: Mapping[str, Any]) -> None:
        cell, attempt = self._attempt(record)
        attempt.pid, attempt.ticks = int(record["pid"]), int(record["ticks"])
        attempt.supervisor = record["supervisor"]
        attempt.supervisor_ticks = record["supervisor_ticks"]
        attempt.started_at = float(record["at"])
        self._to(cell, "running", record)

    def _take_watched(self, record: Mapping[str, Any]) -> None:
        _, attempt = self._attempt(record)
        attempt.watched = record["as"]

    def _take_void(self, record: Mapping[str, Any]) -> None:
        """The start never came to the command, and never will."""
        cell, attempt = self._attempt(record)
        cell.attempts.remove(attempt)
        self._to(cell, "waiting", record)

    def _take_ended(self, record: Mapping[str, Any]) -> None:
        cell, attempt = self._attempt(record)
        attempt.exit_code, attempt.signal = record["exit_code"], record["signal"]
        if attempt.started_at is None:  # it was not seen alive
            attempt.started_at = float(record["started_at"])
            attempt.pid, attempt.ticks = record["pid"], record["ticks"]
        how = ending(attempt.exit_code, attempt.signal)
        self._to(cell, "finished" if attempt.exit_code == 0 else "failed", record, how)
        cell.lost = 0

    def _take_lost(self, record: Mapping[str, Any]) -> None:
        cell, _ = self._attempt(record)
        cell.lost += not record["reboot"]
        if cell.lost >= MOST_LOST:
            self._to(cell, "failed", record, f"lost {cell.lost} times: {record['how']}")
        else:
            self._to(cell, "lost", record, record["how"])

    def _take_failed(self, record: Mapping[str, Any]) -> None:
        self._to(self.cells[record["cell"]], "failed", record, record["how"])

    def _take_elsewhere(self, record: Mapping[str, Any]) -> None:
        cell = self.cells[record["cell"]]
        if cell.last is not None and cell.standing == "claimed":
            cell.attempts.pop()
        self._to(cell, "elsewhere", record, record["how"])

    def _take_retry(self, record: Mapping[str, Any]) -> None:
        for name in record["cells"]:
            cell = self.cells.get(name)
            if cell is None or cell.standing not in ("failed", "lost", "elsewhere"):
                continue
            cell.takes_over = cell.takes_over or cell.standing == "elsewhere"
            cell.lost, cell.gate_until = 0, None
            cell.digest = ""  # its line and its scripts are taken as they are now
            self._to(cell, "waiting", record)
        self.over = False

    def _attempt(self, record: Mapping[str, Any]) -> tuple[CellState, Attempt]:
        cell = self.cells[record["cell"]]
        return cell, next(a for a in reversed(cell.attempts) if a.run == record["run"])

    def _to(
        self, cell: CellState, standing: Standing, record: Mapping[str, Any], how: str = ""
    ) -> None:
        since = record.get("ended_at") or record["at"]
        cell.standing, cell.since, cell.how = standing, float(since), how


def ending(exit_code: int | None, signal: int | None) -> str:
    """How a command ended, in words."""
    return f"signal {signal}" if exit_code is None else f"exit status {exit_code}"
