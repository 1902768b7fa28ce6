"""The facts of an incident, kept when it is pushed."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middlewatch.daemon.config.load import parse
from middlewatch.daemon.config.paths import StateDir
from middlewatch.daemon.config.run_spec import RunSpec
from middlewatch.daemon.judge.incidents import Change, Incidents
from middlewatch.daemon.report import evidence as words
from middlewatch.daemon.service.alerting import Alerter
from middlewatch.daemon.service.context import Context
from middlewatch.daemon.service.evidence import A_MINUTE, KEPT, SAMPLES
from middlewatch.daemon.service.watched_run import WatchedRun
from middlewatch.daemon.system.loop import Loop
from middlewatch.daemon.system.pump import Pump
from middlewatch.daemon.system.store import Store
from middlewatch.sentinels.kit import (
    DiskSample,
    Evidence,
    Finding,
    GpuSample,
    MemorySample,
    Severity,
    StackSeen,
    Step,
)

from ...fakes.clock import FakeClock

SECRETS = (
    "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345",
    "ghp_" + "a1B2" * 9,
    "sk-ant-api03-" + "Zz9" * 20,
    "AKIAIOSFODNN7EXAMPLQ",
    "hunter2hunter2",
)


class Desk:
    """A daemon's parts around one run."""

    def __init__(self, root: Path) -> None:
        self.clock = FakeClock()
        self.said: list[str] = []
        self.loop = Loop(self.clock, lambda error: pytest.fail(repr(error)))
        self.state = StateDir(root)
        store = Store(self.state.store, self.state.reserve, root)
        text = '[alerts]\nurls = ["json://127.0.0.1:9/?token=hunter2hunter2"]\nproxy = "http://u:hunter2hunter2@p:1"\n'
        pump = Pump(self.loop, self.clock, self.said.append)
        self.context = Context(self.state, parse(text, "f"), self.clock, store, Incidents([]), pump)
        command = ("python", "t.py", "--token", SECRETS[0], f"--key={SECRETS[1]}")
        spec = RunSpec(name="gpt", id="gpt-1", command=command, logs=("/data/t.log",))
        self.run = WatchedRun(spec, self.context.box, self.clock)
        self.context.runs["gpt-1"] = self.run
        self.alerter = Alerter(self.context, self.loop, self.said.append)

    def tell(self, key: str = "", severity: Severity = Severity.CRITICAL) -> str:
        proof = Evidence("log", f"t.log:7: api_key={SECRETS[2]}")
        finding = Finding(
            "loss_nan", severity, "loss is NaN", key=key, evidence=(proof,), details={"step": 40}
        )
        changes = self.context.incidents.update(
            "gpt-1", [("nan_loss", finding)], {"nan_loss": 60.0}, self.clock.now()
        )
        for change in changes:
            self.alerter.alert(self.run, change)
        return changes[-1].incident.id

    def facts(self, incident: str) -> dict[str, Any]:
        found = words.read(str(self.state.evidence_of(incident)))
        assert found is not None, self.said
        return found

    def close(self) -> None:
        self.alerter.outbox.close()
        self.context.store.close()
        self.loop.close()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "state")
    made.state.root.mkdir(exist_ok=True)
    yield made
    made.close()


def fill(desk: Desk) -> None:
    now = desk.clock.now()
    history = desk.run.history
    for n in range(120):
        at = now - 120 + n
        desk.context.box.add(GpuSample(at, 0, name="H100", util_ratio=0.5, mem_used_bytes=1 << 30))
        desk.context.box.add(DiskSample(at, "/data", "ext4", 100, 50 - n // 3, 10, 5))
        history.memory.append(MemorySample(at, "/c", 1 << 33, 1 << 30, 1 << 30, 0))
    for n in range(1, 41):
        value = 4.0 - n / 20 if n < 40 else float("nan")
        desk.run.add_observations([Step(now - 41 + n, n, {"train_loss": value})])
    stack = ("wait (python/threading.py:327)", "step (train.py:9)")
    for rank in range(8):
        history.stacks.append(StackSeen(now, 100 + rank, stack, rank=rank))
    history.stacks.append(StackSeen(now, 200, ("read (train.py:3)",), rank=8))
    desk.run.logs.newest = [*(f"step {n} loss 2.{n}" for n in range(40)), f"login {SECRETS[3]}"]


def test_the_facts_of_that_minute(desk: Desk) -> None:
    fill(desk)
    one = desk.tell()
    facts = desk.facts(one)
    assert facts["moment_step"] == 40
    assert facts["curve"]["points"][-1] == [40, None]
    assert len(facts["gpus"][0]["samples"]) == len(facts["memory"]) == SAMPLES
    assert facts["disks"][0]["samples"][-1]["free"] == 50 - 119 // 3
    text = words.text(facts)
    assert "40x step 39 loss 2.39" in text
    assert "8 processes (rank 0, rank 1, rank 2," in text
    assert "1 process (rank 8), innermost first:" in text
    assert text.count("wait (python/threading.py:327)") == 1
    assert "GPU 0 H100" in text
    assert "versions of the packages of the trainer" in text


def test_no_secret_is_in_it(desk: Desk) -> None:
    fill(desk)
    one = desk.tell()
    raw = desk.state.evidence_of(one).read_text()
    text = words.text(desk.facts(one))
    assert [secret for secret in SECRETS if secret in raw or secret in text] == []
    assert "***" in text
    path = desk.state.evidence_of(one)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(path.parent).st_mode) == 0o700


def test_what_was_planted_past_the_mask_is_masked_again() -> None:
    incident = {
        "id": "a",
        "severity": "critical",
        "class": "x",
        "summary": f"token={SECRETS[0]}",
        "state": "open",
        "opened_at": "2026-11-22T07:54:00+00:00",
        "count": 1,
        "evidence": [],
        "remedy": {"first_step": "x"},
    }
    log = {"path": "/l", "lines": [f"key {SECRETS[1]}", f"password: {SECRETS[4]}"]}
    text = words.text({"incident": incident, "log": log})
    assert [secret for secret in SECRETS if secret in text] == []


def test_a_critical_push_is_sent_with_it_and_a_warning_without(desk: Desk) -> None:
    critical = desk.tell("a")
    desk.clock.jump(300)
    warning = desk.tell("b", Severity.WARNING)
    sent = {q.message.incident: q.message.facts for q in desk.alerter.outbox.waiting()}
    assert sent == {critical: str(desk.state.evidence_of(critical)), warning: ""}
    assert desk.facts(warning)["incident"]["severity"] == "warning"


def test_a_storm_and_a_full_disk_hold_up_no_push(desk: Desk) -> None:
    for n in range(A_MINUTE + 5):
        desk.clock.set_wall(desk.clock.now() + 300)  # so that they are incidents of their own
        desk.tell(f"k{n}")
    assert len(list(desk.state.evidence.iterdir())) == A_MINUTE
    assert len(desk.alerter.outbox.waiting()) == A_MINUTE + 5
    desk.clock.jump(3600)
    os.rename(desk.state.evidence, desk.state.root / "away")
    desk.state.evidence.symlink_to("/dev/full")
    desk.tell("last")
    assert len(desk.alerter.outbox.waiting()) == A_MINUTE + 6
    assert any("no evidence of" in line for line in desk.said)


def test_the_newest_files_are_kept(desk: Desk) -> None:
    for n in range(KEPT + 4):
        desk.clock.jump(300)
        last = desk.tell(f"k{n}")
        os.utime(desk.state.evidence_of(last), (n, n))
    names = {path.name for path in desk.state.evidence.iterdir()}
    assert len(names) == KEPT
    assert f"{last}.json" in names


def test_a_resolved_incident_keeps_that_of_its_trouble(desk: Desk) -> None:
    one = desk.tell()
    before = desk.state.evidence_of(one).read_text()
    incident = desk.context.incidents.get(one)
    assert incident is not None
    desk.clock.jump(60)
    desk.alerter.alert(desk.run, Change("resolved", incident))
    assert desk.state.evidence_of(one).read_text() == before
    assert json.loads(before)["incident"]["state"] == "open"
