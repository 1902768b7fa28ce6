"""What a person is told of logs that are not read to their end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.history import BoxHistory
from middlewatch.daemon.report import facts
from middlewatch.daemon.report.status_page import page
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.daemon.sources.log_lag import GROWTH_S, PATIENCE_S, TOLD_S
from middlewatch.daemon.system.inotify import Inotify
from middlewatch.daemon.system.loop import Loop
from middlewatch.daemon.system.pump import Pump
from middlewatch.sentinels import blind
from middlewatch.sentinels.kit import SourceState

from ...fakes.clock import FakeClock

NOISE = "".join(f"noise of number {n} and some more words\n" for n in range(25_000)).encode()
"""A megabyte in which there is nothing to tell."""


class Followed:
    """A run with one log, read by the real sources under a clock that is moved."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.log = folder / "train.log"
        self.log.write_bytes(b"step 1 loss 2.0\n")
        self.pump = Pump(Loop(self.clock, _raise), self.clock, _fail)
        self.inotify = Inotify()
        self.run = WatchedRun(
            RunSpec("gpt", id="gpt-1", logs=(str(self.log),)), BoxHistory(), self.clock
        )
        self.run.logs.start(self.pump, self.inotify)
        (self.pumped,) = self.pump.all()
        self.pumped.read()

    def write(self, megabytes: int) -> None:
        with self.log.open("ab") as file:
            for _ in range(megabytes):
                file.write(NOISE)

    def look(self, seconds: float = 1.0) -> None:
        self.clock.jump(seconds)
        self.pumped.read()

    def row(self) -> dict[str, object]:
        (row,) = self.run.status(self.clock.now(), [])["logs"]
        return {key: row[key] for key in ("behind_bytes", "behind_s", "left_out_bytes")}

    def notes(self) -> str:
        return "\n".join(self.run.notes())

    def watch(self) -> str:
        """The section of the status page."""
        now = self.clock.now()
        status = self.run.status(now, [])
        status["checkpoints"]["cadence"] = None
        status["attempt"] = 1
        box = facts.box(BoxHistory(), None, lambda run: (), now)
        text = page(status, box, status["watch"], "now")
        return text.partition("## Watch")[2].partition("## Handover")[0]

    def close(self) -> None:
        self.run.stop_sources(self.pump)
        self.inotify.close()
        self.pump.loop.close()


def _raise(error: Exception) -> None:
    raise error


def _fail(text: str) -> None:
    raise AssertionError(text)


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[Followed]:
    made = Followed(tmp_path)
    yield made
    made.close()


def test_a_short_burst_is_no_news(followed: Followed) -> None:
    assert followed.row() == {"behind_bytes": 0, "behind_s": None, "left_out_bytes": 0}
    followed.write(2)
    followed.look()
    row = followed.row()
    assert (row["behind_s"], row["left_out_bytes"]) == (0.0, 0)
    assert (
        followed.row()["behind_bytes"]
        == followed.log.stat().st_size - followed.run.save()["tails"][str(followed.log)]["offset"]
    )
    assert "behind" not in followed.notes()


def test_what_lasts_is_a_note_and_what_is_left_out_a_trouble(followed: Followed) -> None:
    for _ in range(int(TOLD_S) + 1):
        followed.write(3)
        followed.look()
    assert f"{followed.log} is read " in followed.notes()
    assert followed.notes().endswith("MiB behind its end: what stands in it is told 5 s late")
    assert "behind its end" in followed.watch()
    assert followed.pumped.state.state == "ok", "reading late is no reason to wake somebody"
    for _ in range(int(PATIENCE_S + GROWTH_S)):
        followed.write(3)
        followed.look()
    row = followed.row()
    assert isinstance(row["left_out_bytes"], int)
    assert row["left_out_bytes"] > 30 << 20
    state = followed.pumped.state
    assert state.state == "impaired"
    assert "it grows faster than it can be read" in followed.watch()
    assert "in the middle of" in followed.watch()
    told = [o for o in followed.run.history.sources.values() if isinstance(o, SourceState)]
    assert [one.state for one in told] == ["impaired"]
    followed.clock.jump(blind.Limits().for_s)
    (finding,) = blind.check(followed.run.view(followed.clock.now()), blind.Limits())
    assert (finding.trouble, finding.severity.label) == ("blind", "warning")
    assert "grows faster" in finding.summary
    for _ in range(400):
        followed.look(0.1)
    assert followed.pumped.state.state == "ok"
    row = followed.row()
    assert (row["behind_bytes"], row["behind_s"]) == (0, None)
    assert "were not read" in followed.notes()
