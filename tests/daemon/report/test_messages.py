from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.judge.incidents import Change, ChangeKind, Incident
from middlewatch.daemon.report.first_steps import first_step
from middlewatch.daemon.report.messages import MAX_BODY, compose, finished, not_good
from middlewatch.sentinels.handbook import page
from middlewatch.sentinels.kit import (
    CheckpointSaved,
    CheckpointSeen,
    Evidence,
    HandbookPage,
    RemedyStep,
    Severity,
)

NOW = 1_700_000_000.0


def incident(**more: Any) -> Incident:
    values: dict[str, Any] = {
        "id": "3fa2c1",
        "run": "run7-9c1e",
        "trouble": "loss_nan",
        "sentinel": "nan_loss",
        "key": "train_loss",
        "severity": Severity.CRITICAL,
        "state": "open",
        "opened_at": NOW - 60,
        "last_seen_at": NOW,
        "summary": "loss is NaN since step 4210",
        "evidence": [Evidence("log", "train.log:812: step 4210 loss nan")],
        "details": {"step": 4210.0},
        **more,
    }
    return Incident(**values)


def checkpoint(step: float | None, ago_s: float, state: Any = "ok") -> CheckpointSeen:
    path = f"/data/out/step_{step}"
    return CheckpointSeen(
        NOW, path, NOW - ago_s, 1, 1, "torch", step, state=state, level="structure"
    )


def push(one: Incident, kind: ChangeKind = "opened", was: str = "", **more: Any) -> Any:
    values: dict[str, Any] = {"name": "run7", "host": "box3", "checkpoints": (), **more}
    return compose(Change(kind, one, was), entry=page(one.trouble), now=NOW, **values)


def test_the_push_of_the_contract() -> None:
    message = push(
        incident(symptoms=["hang: no step for 60 s"]),
        checkpoints=[checkpoint(4000, 600), checkpoint(3000, 1200), checkpoint(4300, 5)],
    )
    assert message.title == "[CRITICAL] run7 on box3: loss is NaN since step 4210"
    assert (message.kind, message.incident) == ("failure", "3fa2c1")
    lines = message.body.split("\n")
    entry = page("loss_nan")
    assert entry is not None
    assert re.fullmatch(r"Since \d\d:\d\d \S+ \(1 min ago\)", lines[0])
    assert lines[1:] == [
        "Proof: train.log:812: step 4210 loss nan",
        "Symptom: hang: no step for 60 s",
        "Last good checkpoint: /data/out/step_4000 (step 4000), structure checked",
        f"First step: {entry.first_step.text}",
        "Incident 3fa2c1: middlewatch explain 3fa2c1",
    ]


@pytest.mark.parametrize(
    ("kind", "was", "label", "words"),
    [
        ("raised", "warning", "CRITICAL", "It got worse: warning before."),
        ("corrected", "hang", "CORRECTED", "Reported as hang before; the cause is loss_nan."),
    ],
)
def test_a_later_push_says_what_changed(kind: ChangeKind, was: str, label: str, words: str) -> None:
    message = push(incident(alerted_at=NOW - 30), kind, was)
    assert message.title.startswith(f"[{label}] run7 on box3: ")
    assert words in message.body
    assert "3fa2c1" in message.body
    assert message.kind == "failure"


def test_a_resolved_push_says_what_is_well_again() -> None:
    one = incident(alerted_at=NOW - 30, details={"outcome": "the loss is finite again: 1.8 now"})
    message = push(one, "resolved")
    assert message.title == "[RESOLVED] run7 on box3: the loss is finite again: 1.8 now"
    assert message.kind == "success"
    assert message.body.split("\n") == [
        "loss_nan is over after 60 s. It was: loss is NaN since step 4210",
        "Incident 3fa2c1: middlewatch explain 3fa2c1",
    ]


@pytest.mark.parametrize("kind", ["raised", "corrected"])
def test_what_was_never_pushed_is_not_taken_back(kind: ChangeKind) -> None:
    message = push(incident(), kind, "loss_zero")
    assert message.title.startswith("[CRITICAL] run7 on box3: ")
    assert "It got worse" not in message.body
    assert "Reported as" not in message.body


@pytest.mark.parametrize(
    "known",
    [
        [],
        [checkpoint(4000, 600, "corrupt"), checkpoint(4210, 600, "pending")],
        [checkpoint(4210, 600)],  # the trouble is in it
        [checkpoint(4000, 10)],  # saved after it began
    ],
)
def test_no_checkpoint_is_promised_that_may_hold_the_trouble(known: list[CheckpointSeen]) -> None:
    body = push(incident(), checkpoints=known).body
    assert "No good checkpoint is known from before the trouble." in body


def test_a_save_that_is_still_being_checked_is_named() -> None:
    known = [checkpoint(4000, 600), checkpoint(4100, 90, "pending")]
    newest = "/data/out/step_4100 (step 4100)"
    good = "Last good checkpoint: /data/out/step_4000 (step 4000), structure checked"
    both = push(incident(), checkpoints=known).body
    assert f"{good}; a newer one is being checked: {newest}\n" in both
    only = push(incident(), checkpoints=known[1:]).body
    assert f"Newest checkpoint: {newest}, saved 90 s ago and still being checked: if" in only
    assert "No good checkpoint" not in only


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        (
            CheckpointSaved(NOW - 70, 4100, "out/a.pt"),
            (
                "The log says a checkpoint of step 4100 was saved 70 s ago (out/a.pt);"
                " it has not been looked at yet"
            ),
        ),
        (
            CheckpointSaved(NOW - 3600, None, None),
            (
                "The log says a checkpoint was saved 60 min ago, but its folder was not found"
                " (watch --checkpoints DIR)"
            ),
        ),
        (CheckpointSaved(NOW - 50, 4300, None), "No good checkpoint is known from before"),
    ],
)
def test_a_save_that_only_the_log_knows(claim: CheckpointSaved, said: str) -> None:
    assert (
        said in compose(Change("opened", incident()), "r", "h", None, (), NOW, claims=[claim]).body
    )


def test_a_save_that_was_being_checked_and_is_bad() -> None:
    bad = replace(checkpoint(4100, 90, "corrupt"), detail="the file ends early")
    message = not_good(bad, "3fa2c1", "run7", "box3", "/data/out/step_4000")
    assert message.title == "[CORRECTED] run7 on box3: step_4100 is corrupt"
    assert message.body.splitlines() == [
        "An earlier push called it still being checked: /data/out/step_4100",
        "It is corrupt: the file ends early",
        "Newest good checkpoint: /data/out/step_4000",
        "Incident 3fa2c1: middlewatch explain 3fa2c1",
    ]
    assert "none is known" in not_good(bad, "", "run7", "box3", None).body


@pytest.mark.parametrize("key", ["valid", "finite"])
def test_the_good_save_is_the_one_that_the_finding_names(key: str) -> None:
    details = {"step": 4000.0, "path": "/data/out/step_4000", key: "/data/out/step_4100"}
    bad = incident(trouble="ckpt_corrupt", summary="an older checkpoint is bad", details=details)
    known = [checkpoint(3900, 900), checkpoint(4000, 600, "corrupt"), checkpoint(4100, 300)]
    wanted = "Last good checkpoint: /data/out/step_4100 (step 4100)"
    assert wanted in push(bad, checkpoints=known).body
    pruned = push(bad, checkpoints=known[:2]).body
    assert "Last good checkpoint: /data/out/step_3900 (step 3900)" in pruned


def test_the_first_step_is_the_finding_s_own_else_the_handbook_s() -> None:
    entry = HandbookPage("x", "", {}, (RemedyStep("reboot it", False),), ())
    assert first_step(incident(remedy="kill -CONT 7"), entry) == ("kill -CONT 7", True)
    assert first_step(incident(), entry) == ("reboot it", False)
    assert first_step(incident(), None)[1] is True
    one = incident(trouble="unknown_to_the_handbook")
    assert "First step: look at the evidence" in push(one).body
    costly = compose(Change("opened", incident()), "r", "h", entry, (), NOW)
    assert "First step (costly): reboot it" in costly.body


def test_a_secret_in_the_remedy_is_masked() -> None:
    body = push(incident(remedy="rerun with HF_TOKEN=abcdefgh1234")).body
    assert "abcdefgh1234" not in body


def test_chinese_and_control_characters() -> None:
    one = incident(
        summary="损失在第 4210 步变成 NaN\r\n[CRITICAL] fake\x1b[31m\x07",
        evidence=[Evidence("log", "训练\x00日志\u202e反")],
    )
    message = push(one, name="实验\n七", host="机器三")
    assert (
        message.title
        == "[CRITICAL] 实验 七 on 机器三: 损失在第 4210 步变成 NaN [CRITICAL] fake [31m"
    )
    assert "Proof: 训练 日志 反" in message.body
    assert all(c.isprintable() or c == "\n" for c in message.body)


LONG = st.text(max_size=60).map(lambda text: text * 40)


@given(
    summary=LONG,
    remedy=LONG,
    name=LONG,
    host=LONG,
    evidence=st.lists(st.builds(Evidence, kind=st.just("log"), text=LONG), max_size=12),
    symptoms=st.lists(LONG, max_size=5),
    path=LONG,
    kind=st.sampled_from(["opened", "raised", "corrected"]),
)
def test_no_push_is_too_long_and_the_ladder_s_foot_is_never_cut(
    summary: str,
    remedy: str,
    name: str,
    host: str,
    evidence: list[Evidence],
    symptoms: list[str],
    path: str,
    kind: ChangeKind,
) -> None:
    one = incident(summary=summary, remedy=remedy, evidence=evidence, symptoms=symptoms, details={})
    good = CheckpointSeen(NOW, path, NOW - 999, 1, 1, "torch", 1, state="ok", level="finite")
    message = push(one, kind, "x" * 50, name=name, host=host, checkpoints=[good])
    assert len(message.body) <= MAX_BODY
    assert len(message.title) <= 300
    assert "\n" not in message.title
    step, last = message.body.split("\n")[-2:]
    assert step.startswith("First step: ")
    assert last == "Incident 3fa2c1: middlewatch explain 3fa2c1"


def test_the_push_at_the_end_of_a_run() -> None:
    status: dict[str, Any] = {
        "state_reason": "exit status 0, last step reached",
        "now": {"step": 5000.0, "values": {"train_loss": 2.31415926}},
        "checkpoints": {"resume_from": "/data/out/step_5000"},
    }
    message = finished("run7", "box3", status)
    assert message.title == "[FINISHED] run7 on box3"
    assert message.kind == "success"
    assert "Last step 5000, loss 2.314\n" in message.body
    assert "/data/out/step_5000" in message.body
    status["now"] = {"step": None, "values": {}}
    status["checkpoints"]["resume_from"] = None
    assert "none found" in finished("run7", "box3", status).body
