"""What the daemon of 0.1.0 wrote is still known: runs, offsets, memory, incidents, digests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.engine import Engine
from middlewatch.daemon.judge.history import BoxHistory, RunHistory
from middlewatch.daemon.judge.incidents import Incident, Incidents
from middlewatch.daemon.parsers.recurring import LiveReader
from middlewatch.daemon.report.outbox import Queued
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.daemon.sources.kernel_log import Position
from middlewatch.daemon.sources.log_tail import LogTail
from middlewatch.daemon.sources.session import Surroundings
from middlewatch.daemon.system import jsonlines
from middlewatch.daemon.system.clock import SystemClock
from middlewatch.daemon.system.isolation import Isolation
from middlewatch.daemon.system.store import Store
from middlewatch.sentinels.kit import Accumulator, RunFacts, Step, accumulators, codec, discover
from middlewatch.sentinels.kit.loss.finite import Finiteness
from middlewatch.sentinels.kit.loss.losses import Losses

from ...fakes.old_state import INCIDENT, READ, RUN, every_ledger, lay_down

Docs = dict[str, dict[str, Any]]


@pytest.fixture
def docs(tmp_path: Path) -> Docs:
    """By kind, the only document of each."""
    state = lay_down(tmp_path)
    store = Store(state / "middlewatch.sqlite", tmp_path / "reserve", tmp_path)
    found = {kind: dict(store.all(kind)) for kind in ("run", "incident", "message", "box")}
    store.close()
    assert {kind: len(some) for kind, some in found.items()} == dict.fromkeys(found, 1)
    return {kind: next(iter(some.values())) for kind, some in found.items()}


def watched(doc: dict[str, Any]) -> WatchedRun:
    return WatchedRun(RunSpec.from_json(doc["spec"]), BoxHistory(), SystemClock(), doc)


def test_the_run_is_known(docs: Docs, tmp_path: Path) -> None:
    run = watched(docs["run"])
    assert (run.spec.id, run.spec.name, run.state) == (RUN, "gpt", "failing")
    assert run.spec.logs == (str(tmp_path / "state" / "runs" / RUN / "output.log"),)
    assert run.spec.ranks[0].pid == run.spec.pid
    assert run.alive
    assert run.history.curves["train_loss"].points[0][0] == 1.0
    since = run.history.not_finite_since
    assert since is not None
    assert since[1] == 334


def test_what_its_ledgers_learned_is_known(docs: Docs) -> None:
    known = watched(docs["run"]).history.accumulators
    losses, finite = known[Losses], known[Finiteness]
    assert isinstance(losses, Losses)
    assert isinstance(finite, Finiteness)
    assert losses.count > 333
    (streak,) = finite.lasting("train_loss")
    assert (streak.first.step, streak.first.value) == (334, float("inf"))


def test_reading_goes_on_where_it_stood(docs: Docs) -> None:
    ((path, saved),) = docs["run"]["tails"].items()
    reader = LiveReader.restore(path, saved["reader"])
    tail = LogTail(path, reader, None, offset=saved)
    before = reader.lines
    seen = [*tail.read(1e9)]
    steps = [one.number for one in seen if isinstance(one, Step) and one.number is not None]
    assert reader.bytes == Path(path).stat().st_size
    assert reader.lines - before == Path(path).read_bytes()[READ:].count(b"\n") == len(steps)
    assert min(steps) == before + 1, "the log has one step a line"
    tail.close()


def test_its_incident_is_not_told_again(docs: Docs) -> None:
    incidents = Incidents([Incident.from_json(docs["incident"])])
    (incident,) = incidents.open(RUN)
    assert (incident.id, incident.alerted_at is not None) == (INCIDENT, True)
    run = watched(docs["run"])
    view = run.view(incident.last_seen_at + 1)
    bugs: list[str] = []
    rules = discover()
    engine = Engine(
        rules, {name: one.limits for name, one in rules.items()}, incidents, Isolation(bugs.append)
    )
    changes = engine.judge(RUN, view, {Step}, tick=True, line=run.log_line_text)
    assert [c.incident.trouble for c in changes if c.kind in ("opened", "raised")] == []
    assert [i.id for i in incidents.open(RUN)] == [INCIDENT]
    assert incident.count > docs["incident"]["count"], "it was found again, by its fingerprint"
    assert bugs == []


def test_the_digests_of_its_checkpoints_are_known(docs: Docs) -> None:
    entries = watched(docs["run"]).index["checkpoints"]
    assert len(entries) == 6 - 1
    assert all(entry["digest"].startswith("xxh3:") for entry in entries)


def test_what_was_sent_and_where_it_stood(docs: Docs) -> None:
    assert Queued.from_json(docs["message"]).state == "sent"
    new = {
        "trouble": "",
        "key": "",
        "every": False,
        "severity": "",
        "run": "",
        "about": "",
        "facts": "",
        "took": [],
    }
    assert Queued.from_json(docs["message"]).to_json() == docs["message"] | new
    assert codec.load(Position, docs["box"]).sequence == docs["box"]["sequence"]
    assert codec.load(Surroundings, docs["run"]["session"]).first == 24


def test_documents_are_written_as_they_were(docs: Docs) -> None:
    """A daemon of 0.1.0 can take over again."""
    assert Incident.from_json(docs["incident"]).to_json() == docs["incident"]
    assert RunSpec.from_json(docs["run"]["spec"]).to_json() == docs["run"]["spec"]
    run = watched(docs["run"])
    saved = json.loads(jsonlines.dumps(run.save()))
    old = docs["run"]
    assert {**saved, "history": 0} == {**old, "history": 0, "lived_at": run.lived_at}
    assert {**saved["history"], "ledgers": 0} == {**old["history"], "ledgers": 0} | LATER_FIELDS


LATER_FIELDS: dict[str, list[Any]] = {"steps": [], "events": [], "claimed_saves": [], "endings": []}
"""Fields of a history that 0.1.0 did not have."""
LATER = ("Signs", "report_pauses", "Collapse", "Trials", "Evaluations", "OwnRules", "Scores")
"""Keys of accumulators that 0.1.0 did not have."""


@pytest.mark.parametrize("kind", [kind for kind in accumulators() if kind.key() not in LATER])
def test_every_ledger_is_read_and_written_as_it_was(kind: type[Accumulator]) -> None:
    saved = every_ledger()["history"]["ledgers"][kind.key()]
    accumulator = kind()
    codec.fill(accumulator, saved)
    written = json.loads(jsonlines.dumps(accumulator.save()))
    if kind.key() == "SaveLog":  # only of mounts that are low, which the next look tells
        assert list(saved["space"]) == ["/data"]
        assert list(accumulator.space) == ["/data"]  # type: ignore[attr-defined]
        written |= {name: saved[name] for name in ("space", "inodes")}
    if kind.key() == "Finiteness":  # later than 0.1.0
        assert all(streak.pop() == 0 for streak in written["open"])  # ``without``
    if kind.key() == "Losses":  # later than 0.1.0
        assert all(one.pop("undone") for _, one in written["series"])
        assert all(one.pop("climb") for _, one in written["series"])
        for jump in written["jumps"]["all"]:
            assert jump[-5:] == [
                0,
                0,
                0,
                0.0,
                0.0,
            ]  # ``high``, ``lasted``, ``waits``, ``driven``, ``climbed``
            del jump[-5:]
            assert jump[6][-2:] == [False, False]  # ``upon``, ``record``
            del jump[6][-2:]
        for _, one in written["series"]:
            guard, drift = one["guard"], one["drift"]
            assert one.pop("driven")
            assert one.pop("counters") == [None, None, 0]
            assert guard.pop("tallest") == 0.0
            assert one["rates"][-3:] == [0, 0, 0]  # ``_climbs``, ``_count``, ``_began``
            del one["rates"][-3:]
            del guard["above"], guard["usual"], guard["singles"], guard["highest"], drift[6:]
    assert written == saved


def test_a_whole_history_and_a_reader_are_written_as_they_were() -> None:
    saved = every_ledger()
    history = RunHistory(RunFacts("gpt", 0.0, 0.0), BoxHistory())
    history.restore(saved["history"])
    written = json.loads(jsonlines.dumps(history.save()))
    assert {**written, "ledgers": 0} == {**saved["history"], "ledgers": 0} | LATER_FIELDS
    reader = LiveReader.restore("/data/run/train.log", saved["reader"])
    again = json.loads(jsonlines.dumps(reader.save()))
    for trace in again["tracebacks"]["open"]:
        # later than 0.1.0: indent, data, save, script, load, error, blank, thread, frame, frame_line,
        # inner, code, code_due, handled
        assert trace[-14:] == [0, False, False, "", False, "", 0, "", "", 0, "", "", False, False]
        del trace[-14:]
    assert again["progress"].pop("object")["members"] == []  # later than 0.1.0
    assert again["progress"].pop("filled") == {}
    assert again["progress"].pop("head_key") == ""
    assert again["progress"].pop("turn") == {"steps": [], "strange": []}
    del saved["reader"]["progress"]["last"]  # up to 0.1.0
    assert again["tracebacks"].pop("thread") == ""
    assert again == saved["reader"]
    assert saved["reader"]["tracebacks"]["open"]
    assert saved["reader"]["cutter"]["partial"]
