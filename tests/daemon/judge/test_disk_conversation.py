"""A disk that fills up, breaks saves and is cleared: one trouble from the forecast to its end."""

from __future__ import annotations

from typing import Any

from tests.sentinels.story import GIB, Story

from middlewatch.daemon.judge.engine import Engine
from middlewatch.daemon.judge.incidents import QUIET, Change, Incidents
from middlewatch.daemon.system.isolation import Isolation
from middlewatch.sentinels.kit import (
    CheckpointSaved,
    CheckpointSeen,
    DiskSample,
    LogEvent,
    ProcessesSeen,
    ProcessSample,
    Severity,
    Step,
    discover,
)

FRESH = {CheckpointSaved, CheckpointSeen, DiskSample, LogEvent, ProcessesSeen, Step}
SAVE = int(1.5 * GIB)


class Judged:
    """A story whose every second is judged; ``pushed``: (kind, class, incident)."""

    def __init__(self) -> None:
        self.story = Story()
        sentinels = discover()
        bugs: list[str] = []
        self.engine = Engine(
            sentinels,
            {n: s.limits for n, s in sentinels.items()},
            Incidents(),
            Isolation(bugs.append),
        )
        self.pushed: list[tuple[str, str, str]] = []
        self.bugs = bugs

    def judge(self, free: float) -> None:
        story = self.story
        running = ProcessSample(100, 7, 1, "python", "R", story.now % 1e6)
        story.looks = [*story.looks[-129:], ProcessesSeen(story.now, (running,))]
        story.disk(int(free))
        story.disks["/data"] = story.disks["/data"][-120:]
        story.source("checkpoint_dir:/data", "ok")
        for change in self.engine.judge("run7", story.view(), FRESH, tick=True):
            self._push(change)

    def _push(self, change: Change) -> None:
        one = change.incident
        told = one.alerted_at is not None
        if change.kind in QUIET or one.severity < Severity.WARNING:
            return
        if change.kind != "resolved" or told:
            one.alerted_at = self.story.now
            self.pushed.append((change.kind, one.trouble, one.id))

    def save(self, step: int, size: int = SAVE, state: Any = "ok") -> None:
        path = f"/data/out/ckpt-{step}.pt"
        self.story.saved(size, 1, path=path, state=state)
        if state == "ok":
            self.story.claim(path, step)

    def fails(self) -> None:
        said = "[Errno 28] No space left on device"
        self.story.says("ckpt_write_failed", f"failed to save: {said}", fatal=False)
        self.story.says("disk_full", f"OSError: {said}", fatal=False)


def test_full_and_cleared_is_one_conversation() -> None:
    judged = Judged()
    free = 10.0 * GIB
    for step in range(1, 1800):
        judged.story.step()
        if step % 100 == 0 and free >= 2 * GIB:
            free -= SAVE
            judged.save(step)
        elif step % 100 == 0:
            free = 0.0
            judged.fails()
            judged.save(step, SAVE // 3, "incomplete" if step % 200 else "corrupt")
        if step == 1150:
            free = 60.0 * GIB
        judged.judge(free)
    assert judged.bugs == []
    assert [(kind, trouble) for kind, trouble, _ in judged.pushed] == [
        ("opened", "saves_left"),
        ("corrected", "disk_full"),
        ("resolved", "disk_full"),
    ]
    assert len({one for _, _, one in judged.pushed}) == 1
