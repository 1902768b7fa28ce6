"""A run with thousands of saves: what one more costs does not grow with those that are there."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.checkpoints.ranking import RankingRules
from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.history import BoxHistory
from middlewatch.daemon.judge.incidents import Incidents
from middlewatch.daemon.service.context import Context
from middlewatch.daemon.service.publishing import MANY_SAVES, RESTS, STEPS, Publisher
from middlewatch.daemon.service.restoring import with_index
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.daemon.sources.searches import Searches
from middlewatch.daemon.system.loop import Loop
from middlewatch.daemon.system.pump import Pump
from middlewatch.daemon.system.store import Store
from middlewatch.sentinels.kit import CheckpointSeen

from ...fakes.clock import FakeClock


def saves(count: int, now: float) -> list[CheckpointSeen]:
    return [
        CheckpointSeen(now, f"/w/step_{n}.pt", now + n, 1, 1, "torch", step=float(n), state="ok")
        for n in range(count)
    ]


class Source:
    """The saves of a run, and how often somebody looked at all of them."""

    looked = True

    def __init__(self, known: list[CheckpointSeen]) -> None:
        self.known = known
        self.looks = 0

    def checkpoints(self) -> list[CheckpointSeen]:
        self.looks += 1
        return self.known

    def growing(self) -> None:
        return None

    def notes(self) -> list[str]:
        return []


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def watched(clock: FakeClock) -> WatchedRun:
    return WatchedRun(RunSpec(name="gpt", id="gpt-1"), BoxHistory(), clock)


@pytest.fixture
def context(tmp_path: Path, clock: FakeClock) -> Iterator[Context]:
    """Of a daemon with one run, ``gpt-1``."""
    with contextlib.closing(Loop(clock, lambda error: pytest.fail(repr(error)))) as loop:
        state = StateDir(tmp_path / "state")
        state.take()
        with contextlib.closing(Store(state.store, state.reserve, tmp_path)) as store:
            pump = Pump(loop, clock, pytest.fail)
            made = Context(state, parse("", ""), clock, store, Incidents(), pump)
            made.runs["gpt-1"] = WatchedRun(RunSpec(name="gpt", id="gpt-1"), made.box, clock)
            yield made


def test_all_are_looked_at_once_for_many_that_are_seen_together(
    clock: FakeClock, watched: WatchedRun
) -> None:
    source: Any = Source(saves(300, clock.now()))
    watched.saves.source = source
    for number in range(0, 300, 3):
        watched.add_observations(source.known[number : number + 3])
    watched.view(clock.now())
    assert source.looks == 1
    assert len(watched.history.checkpoints) == 300
    assert watched.index_stale


@pytest.mark.parametrize(("count", "pauses"), [(3, False), (MANY_SAVES, True)])
def test_one_more_save_is_written_when_writing_has_paused(
    count: int, pauses: bool, context: Context, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, watched = context.store, context.runs["gpt-1"]
    publisher = Publisher(context, pytest.fail)
    flush = store.flush

    def slow() -> bool:
        clock.jump(1.0)  # so long does writing take
        return flush()

    monkeypatch.setattr(store, "flush", slow)
    source: Any = Source(saves(count, clock.now()))
    watched.saves.source = source
    watched.note_checkpoints()
    assert publisher.is_due(watched)
    publisher.publish(watched)
    assert not publisher.is_due(watched), "nothing has changed"
    source.known = saves(count + 1, clock.now())
    watched.note_checkpoints()
    assert publisher.is_due(watched) is not pauses
    clock.jump(RESTS + 0.1)
    assert publisher.is_due(watched)


def test_the_files_of_very_many_saves_are_written_in_steps(
    context: Context, clock: FakeClock
) -> None:
    """And the index once a change: in the store it is a document of its own, and read from there."""
    store, watched = context.store, context.runs["gpt-1"]
    publisher = Publisher(context, pytest.fail)
    watched.history.checkpoints = saves(3, clock.now())
    assert len(list(publisher.steps(watched))) == 1
    watched.history.checkpoints = saves(MANY_SAVES, clock.now())

    def written() -> set[str]:
        """Kinds of documents that writing the files has put into the store."""
        before = dict(store._dirty)
        flush, store.flush = store.flush, lambda: True  # type: ignore[method-assign]
        calls = list(publisher.steps(watched))
        assert len(calls) == STEPS
        for call in calls:
            call()
        store.flush = flush  # type: ignore[method-assign]
        changed = {
            kind for (kind, _), doc in store._dirty.items() if before.get((kind, "gpt-1")) != doc
        }
        store.flush()
        return changed

    assert written() == {"run", "index"}
    assert written() == {"run"}, "nothing has changed"
    watched.history.checkpoints = [
        *watched.history.checkpoints,
        saves(MANY_SAVES + 1, clock.now())[-1],
    ]
    assert written() == {"run", "index"}
    doc, index = (dict(store.all(kind))["gpt-1"] for kind in ("run", "index"))
    assert "index" not in doc
    assert len(with_index(doc, index)["index"]["checkpoints"]) == MANY_SAVES + 1
    newer = {**doc, "index": {**index, "updated_at": "2999", "checkpoints": []}}
    assert with_index(newer, index) == newer, "a rescan has put it there"
    text = context.state.checkpoint_index("gpt-1").read_text()
    assert len(json.loads(text)["checkpoints"]) == MANY_SAVES + 1


def test_one_more_save_is_one_more_entry(clock: FakeClock, watched: WatchedRun) -> None:
    """What was told of the others is not worked out again, and the index before is left as it was."""
    source: Any = Source(saves(MANY_SAVES, clock.now()))
    watched.saves.source = source
    watched.note_checkpoints()
    watched.reindex(clock.now(), RankingRules())
    before = watched.index
    text = json.dumps(before)
    source.known = [*source.known, saves(MANY_SAVES + 1, clock.now())[-1]]
    watched.note_checkpoints()
    watched.reindex(clock.now(), RankingRules())
    old, new = before["checkpoints"], watched.index["checkpoints"]
    assert (
        sum(one is not other for one, other in zip(old, new, strict=False)) == 1
    )  # the latest before
    assert json.dumps(before) == text
    assert [entry["tags"] for entry in new[-2:]] == [[], ["latest"]]


def test_an_index_is_kept_until_its_folders_were_looked_at(
    clock: FakeClock, watched: WatchedRun
) -> None:
    """A question right after a restart, and a page that is due then, must not forget what was known."""
    source: Any = Source(saves(3, clock.now()))
    watched.saves.source = source
    watched.note_checkpoints()
    watched.reindex(clock.now(), RankingRules())
    spec = replace(watched.spec, checkpoint_dirs=("/w",))
    again = WatchedRun(spec, BoxHistory(), clock, watched.save())
    pump = Pump(Loop(clock, lambda error: pytest.fail(repr(error))), clock, pytest.fail)
    again.saves.searches = Searches(most=0)
    again.saves.start(pump)
    again.note_checkpoints()
    again.reindex(clock.now(), RankingRules())
    assert again.index == watched.index
    assert not again.index_stale
    assert again.saves.source is not None
    list(again.saves.source.read(clock.now()))
    again.note_checkpoints()
    again.reindex(clock.now(), RankingRules())
    assert again.index["checkpoints"] == [], "they are gone"
    again.saves.stop(pump)
