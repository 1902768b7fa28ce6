"""Halves of a save are never what one resumes from."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from middlewatch.daemon.checkpoints.together import resumable, role_of, together
from middlewatch.sentinels.kit import CheckpointSeen
from middlewatch.sentinels.kit.observations import VerifiedState


def seen(
    name: str,
    step: float | None,
    parts: Sequence[str] = (),
    *,
    state: VerifiedState = "ok",
    files: int = 1,
) -> CheckpointSeen:
    at = 1000.0 + (step or 0.0)
    return CheckpointSeen(
        at=at, path=f"/out/{name}", saved_at=at, bytes=1000, files=files, format="torch", step=step, state=state,
        level="finite", parts=tuple(parts),
    )  # fmt: skip


def resume(*saves: CheckpointSeen) -> str | None:
    best = resumable(saves, together(saves))
    return None if best is None else best.path.rpartition("/")[2]


def pair(step: int, optimizer: VerifiedState = "ok") -> tuple[CheckpointSeen, CheckpointSeen]:
    return (
        seen(f"a_{step}.pt", step, ["layer×2"]),
        seen(f"b_{step}.pt", step, ["state×4"], state=optimizer),
    )


@pytest.mark.parametrize(
    ("name", "parts", "role"),
    [
        ("b_1.pt", ["state×12"], "optimizer"),
        ("last.pt", ["model×4", "optimizer×8"], "whole"),
        ("D_1000.pth", ["model×4", "optimizer×8"], "discriminator"),
        ("G_1000.pth", ["model×4", "optimizer×8"], "whole"),
        ("ema_0.9999_001000.pt", ["layer×2"], "ema"),
        ("opt001000.pt", [], "optimizer"),
        ("model_adapter.pt", ["lora×2"], "weights"),
        ("recipe_state.pt", ["optimizer×8"], "optimizer"),
    ],
)
def test_what_a_file_holds(name: str, parts: list[str], role: str) -> None:
    assert role_of(seen(name, 1000, parts)) == role


def test_the_optimizer_written_last_is_no_place_to_resume() -> None:
    assert resume(*pair(100), *pair(200)) == "a_200.pt"


def test_a_damaged_half_spoils_its_save() -> None:
    assert resume(*pair(100), *pair(200, optimizer="corrupt")) == "a_100.pt"


def test_a_missing_half_spoils_its_save() -> None:
    assert resume(*pair(100), *pair(200), pair(300)[0]) == "a_200.pt"


def test_a_save_with_its_optimizer_comes_before_an_export() -> None:
    assert (
        resume(
            seen("step_100.pt", 100, ["model×2", "optimizer×4"]), seen("final.pt", 200, ["layer×2"])
        )
        == "step_100.pt"
    )


def test_weights_alone_are_better_than_nothing() -> None:
    assert resume(seen("m_1.pt", 1, ["layer×2"]), seen("m_2.pt", 2, ["layer×2"])) == "m_2.pt"
