"""The index remembers what the log said when its lines are no longer at hand."""

from __future__ import annotations

from middlewatch.daemon.checkpoints.index import build
from middlewatch.sentinels.kit import CheckpointSeen, Step


def _saved(step: float | None, at: float, name: str = "ckpt") -> CheckpointSeen:
    return CheckpointSeen(
        at=at, path=f"/out/{name}-{at:g}.pt", saved_at=at, bytes=10, files=1, format="torch",
        step=step, state="ok", level="structure",
    )  # fmt: skip


STEPS = [Step(1000.0 + n, n, {"train_loss": 5.0 - n / 100}) for n in range(1, 101)]


def test_metrics_outlive_the_steps_they_came_from() -> None:
    first = build("run", [_saved(50, 1050.0)], 1100.0, steps=STEPS)
    assert first["checkpoints"][0]["metrics"] == {"train_loss": 4.5}
    later = build("run", [_saved(50, 1050.0), _saved(80, 1080.0)], 1200.0, before=first)
    assert later["checkpoints"][0]["metrics"] == {"train_loss": 4.5}
    assert later["checkpoints"][0]["metrics_origin"] == "log"
    assert later["checkpoints"][1]["metrics"] == {}
    assert later["best"] == "/out/ckpt-1050.pt"


def test_a_step_that_only_the_log_knew_is_kept() -> None:
    first = build("run", [_saved(None, 1050.5)], 1100.0, steps=STEPS[:50])
    assert first["checkpoints"][0]["step"] == 50
    later = build("run", [_saved(None, 1050.5)], 1200.0, steps=STEPS[60:], before=first)
    assert later["checkpoints"][0]["step"] == 50


def test_a_checkpoint_that_was_written_anew_remembers_nothing() -> None:
    first = build("run", [_saved(50, 1050.0)], 1100.0, steps=STEPS)
    again = CheckpointSeen(
        at=1300.0, path="/out/ckpt-1050.pt", saved_at=1290.0, bytes=10, files=1, format="torch",
        step=50, state="ok", level="structure",
    )  # fmt: skip
    later = build("run", [again], 1300.0, before=first)
    assert later["checkpoints"][0]["metrics"] == {}
