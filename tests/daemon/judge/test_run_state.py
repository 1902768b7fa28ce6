"""A bad save makes a run fail for as long as nothing good came after it."""

from __future__ import annotations

import pytest

from middlewatch.daemon.judge.incidents import Incident
from middlewatch.daemon.judge.run_state import judge_state
from middlewatch.sentinels.kit import (
    CheckpointSeen,
    ProcessesSeen,
    ProcessSample,
    Severity,
    View,
)
from middlewatch.sentinels.kit.observations import VerifiedState
from middlewatch.sentinels.kit.view import RunFacts

NOW = 1_800_000_000.0


def save(step: int, state: VerifiedState = "ok", level: str | None = "finite") -> CheckpointSeen:
    at = NOW - 1000 + step
    path = f"/data/out/step_{step}.pt"
    return CheckpointSeen(at, path, at, 1, 1, "torch", float(step), state=state, level=level)


def incident(trouble: str = "ckpt_corrupt", *, newest: bool = True) -> Incident:
    return Incident(
        id="8b7c91",
        run="gpt",
        trouble=trouble,
        sentinel="checkpoint_corrupt",
        key="/data/out/step_80.pt",
        severity=Severity.CRITICAL,
        state="open",
        opened_at=NOW - 900,
        last_seen_at=NOW,
        summary="the newest checkpoint is no good",
        details={"path": "/data/out/step_80.pt", "newest": newest},
    )


def state(*saves: CheckpointSeen, one: Incident | None = None) -> str:
    view = View(NOW, RunFacts("gpt", NOW - 2000, NOW - 2000), checkpoints=saves)
    return judge_state(view, [one or incident()], NOW)[0]


BAD = save(80, "corrupt", "checksum")


def test_it_fails_while_the_newest_save_is_bad() -> None:
    assert state(save(60), BAD) == "failing"
    assert state(save(60), save(80, "corrupt")) == "failing"


def test_it_fails_no_more_once_a_good_one_came() -> None:
    assert state(save(60), BAD, save(100)) != "failing"
    assert state(save(60), BAD, save(100), one=incident("ckpt_nonfinite")) != "failing"
    assert state(save(60), BAD, save(100), save(120, "pending", None)) != "failing"


@pytest.mark.parametrize(
    "later",
    [
        [save(100, "ok", "structure")],  # its numbers were not read yet
        [save(100, "pending", None)],
        [save(100, "unverifiable", "structure")],
        [save(100), save(120, "corrupt", "finite")],
        [save(100), save(120, "incomplete", "structure")],
    ],
)
def test_only_a_good_one_that_was_read_ends_it(later: list[CheckpointSeen]) -> None:
    assert state(save(60), BAD, *later) == "failing"


def test_other_troubles_are_not_ended_by_a_good_save() -> None:
    other = incident("loss_nan")
    other.details = {"step": 80.0}
    assert state(BAD, save(100), one=other) == "failing"
    assert state(BAD, save(100), one=incident(newest=False)) == "failing"


def test_a_warning_about_progress_is_the_reason() -> None:
    warned = incident("hang")
    warned.severity, warned.summary = Severity.WARNING, "no progress since the start for 3 min"
    seen = ProcessesSeen(NOW, (ProcessSample(7, 1, 1, "python", "S", 1.0),))
    view = View(NOW, RunFacts("gpt", NOW - 2000, NOW - 2000, pid=7), process_samples=(seen,))
    said = "alive, but no progress since the start for 3 min"
    assert judge_state(view, [warned], NOW) == ("running", said)
    assert judge_state(view, [], NOW) == ("running", "alive, no step seen yet")
