"""A volume that a run saves to, minute by minute, and what the rules about space say."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from middlewatch.sentinels.kit import Finding, Severity, discover

from .story import GIB, Story

RULES = {name: discover()[name] for name in ("disk_full", "inodes_full", "saves_left")}


@dataclass
class Volume:
    """Fills as told; sizes in GiB, times in minutes. ``keep`` 0 keeps everything."""

    capacity: float
    size: float
    every: int
    keep: int = 0
    logs: float = 0.0
    used: float = 0.0
    prune_after: int = 0
    """Minutes until the trainer deletes what it replaces."""
    writing: int = 2
    """Minutes that a save takes, under a temporary name."""
    files: int = 4
    inodes: tuple[int, int] | None = (900_000, 1_000_000)
    noise: Random = field(default_factory=lambda: Random(7))
    milestone: int = 0
    """Every so many saves one is kept for good."""
    grows: float = 0.0
    """By so much the state grows that is saved with each of them."""

    def __post_init__(self) -> None:
        self.story = Story()
        self.said: list[tuple[int, str, Finding]] = []
        """(minute, sentinel, finding) of every finding."""
        self.full_at: int | None = None
        self.minute = 0
        self._saves: list[str] = []
        self._forever: set[str] = set()
        self._count = 0
        self._due: list[int] = []

    def live(self, minutes: int) -> Volume:
        """Go on until then, or until something does not fit."""
        for _ in range(minutes):
            if self.full_at is not None:
                break
            self._minute()
        return self

    def _minute(self) -> None:
        story, phase = self.story, self.minute % self.every
        story.step(60.0)
        self.minute += 1
        self.used += self.logs * self.noise.uniform(0.5, 1.5)
        until = self.every - phase - 1
        if until < self.writing and self.size:
            self.used += self.size / self.writing
        if self.used > self.capacity:
            self.full_at = self.minute
            return
        if self._due and self._due[0] <= self.minute:
            self._due.pop(0)
            self._prune()
        if until == 0 and self.size:
            self._saved()
        free = int((self.capacity - self.used) * GIB)
        # The source looks once a second; four looks a minute are as good.
        saving = self.size and until < self.writing
        for _ in range(4):
            story.wait(0.25).disk(free, int(self.capacity * GIB), inodes=self._free_inodes())
        story.steps, story.marks = story.steps[-20:], story.marks[-20:]
        story.disks = {mount: seen[-8:] for mount, seen in story.disks.items()}
        self._ask(story.now if saving and until else None)

    def _saved(self) -> None:
        self._count += 1
        self.used += self.grows
        self.story.saved(int(self.size * GIB), self.files)
        path = self.story.checkpoints[-1].path
        self._saves.append(path)
        if self.milestone and self._count % self.milestone == 0:
            self._forever.add(path)
        if self.prune_after:
            self._due.append(self.minute + self.prune_after)
        else:
            self._prune()

    def _prune(self) -> None:
        while self.keep and len(self._saves) > self.keep:
            gone = self._saves.pop(0)
            if gone not in self._forever:
                self.used -= self.size
                self.story.checkpoints = [c for c in self.story.checkpoints if c.path != gone]

    def _free_inodes(self) -> tuple[int, int] | None:
        if self.inodes is None:
            return None
        return max(0, self.inodes[0] - self.files * len(self.story.checkpoints)), self.inodes[1]

    def _ask(self, saving_at: float | None) -> None:
        view = self.story.view(saving_at=saving_at)
        for name, rule in RULES.items():
            self.said += [(self.minute, name, finding) for finding in rule(view)]

    def told(self, name: str, least: Severity = Severity.WARNING) -> list[int]:
        """Minutes at which a sentinel said something of that weight."""
        return [at for at, who, f in self.said if who == name and f.severity >= least]

    @property
    def first(self) -> int | None:
        """The first minute at which anything was told."""
        return min((at for at, _, f in self.said if f.severity >= Severity.WARNING), default=None)

    @property
    def lead(self) -> int | None:
        """Minutes between the first word and the volume being full; ``None`` without both."""
        if self.full_at is None or self.first is None:
            return None
        return self.full_at - self.first
