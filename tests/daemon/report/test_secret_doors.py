"""Each way out masks by itself, whatever it is given: an older store holds what an older mask left."""

from __future__ import annotations

import itertools
from typing import Any

from middlewatch.daemon.checkpoints.index import build
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.config.schema import Alerts
from middlewatch.daemon.judge.history import BoxHistory, RunHistory
from middlewatch.daemon.judge.incidents import Incident
from middlewatch.daemon.replay.one_log import report as replayed
from middlewatch.daemon.report import facts
from middlewatch.daemon.report.messages import Message
from middlewatch.daemon.report.outbox import Outbox, Queued
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.sentinels.handbook import page
from middlewatch.sentinels.kit import (
    CheckpointSaved,
    CheckpointSeen,
    Evidence,
    Phase,
    RunFacts,
    Severity,
    SourceState,
)

from ...fakes.clock import FakeClock

KEY = "aB3dE5fG7hJ9kL1m"
SAID = f"api_key={KEY}"


def incident() -> Incident:
    return Incident(
        "3fa2c1", "gpt-1", "crash", "crash", "k", Severity.CRITICAL, "open", 9.0, 9.0, SAID,
        details={"message": SAID, "deep": [{"authToken": KEY}]},
        evidence=[Evidence("log", SAID, 9.0)], symptoms=[SAID],
    )  # fmt: skip


def hidden(value: Any) -> bool:
    return KEY not in repr(value) and "***" in repr(value)


def test_an_incident() -> None:
    assert hidden(facts.incident(incident(), page("crash")))


def test_a_source() -> None:
    assert hidden(facts.source(SourceState(9.0, "log_tail:/a", "failed", 9.0, SAID)))


def test_a_push() -> None:
    kept: list[Queued] = []
    ids = itertools.count()
    outbox = Outbox((), Alerts(), kept.append, new_id=lambda: f"id{next(ids)}")
    outbox.push(Message(f"[FAILED] {SAID}", f"a\n{SAID}\nb", "failure"), 9.0, 9.0)
    assert hidden(kept[0].to_json()["title"])
    assert hidden(kept[0].to_json()["body"])


def test_a_run_of_an_older_store() -> None:
    spec = RunSpec(name="gpt", id="gpt-1", notes=(SAID,))
    before = WatchedRun(spec, BoxHistory(), FakeClock()).save()
    saved = {**before, "log_tail": ["step 1", SAID], "reason": SAID}
    watched = WatchedRun(spec, BoxHistory(), FakeClock(), saved)
    status = watched.status(9.0, [])
    assert status["log_tail"] == ["step 1", "api_key=***"]
    assert hidden(status["notes"])
    assert hidden(status["state_reason"])
    assert watched.save()["log_tail"] == ["step 1", "api_key=***"]


def test_the_history_in_the_store() -> None:
    history = RunHistory(RunFacts("gpt", 9.0, 9.0), BoxHistory())
    history.phases.append(Phase(9.0, "save", SAID, "a.log", 1))
    assert hidden(history.save())


def test_the_index() -> None:
    seen = CheckpointSeen(9.0, "/out/a.pt", 9.0, 1, 1, "torch", state="corrupt", detail=SAID)
    assert hidden(build("gpt-1", [seen], 9.0))


def test_a_save_of_a_replay() -> None:
    assert hidden(replayed(CheckpointSaved(9.0, 1, f"/out?{SAID}", "a.log", 1)))
