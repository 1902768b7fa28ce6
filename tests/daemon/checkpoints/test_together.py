"""Halves of a save are never what one resumes from."""

from __future__ import annotations

import dataclasses
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


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("discriminator_v2_{}.pt", ["conv×4"]),
        ("critic_{}.pt", ["conv×4", "optimizer×8"]),
        ("optimizer-net_{}.pt", ["layer×4"]),
        ("ema_{}.pt", ["layer×4"]),
        ("train_{}.pt", ["layer×4"]),
        ("net_{}.pt", ["state×4"]),
    ],
)
def test_what_is_called_like_a_half_and_is_all_that_there_is(name: str, parts: list[str]) -> None:
    saves = [seen(name.format(step), step, parts) for step in (1, 2, 3)]
    assert resume(*saves) == name.format(3)
    # One export beside them changes nothing.
    export = seen("final.pt", 3, ["conv×4"])
    assert resume(*saves, export) in (name.format(3), "final.pt")


@pytest.mark.parametrize("name", ["optim_{}.pt", "opt{}.pt", "replay_buffer_{}.pkl"])
def test_an_optimizer_alone_is_no_place_to_resume(name: str) -> None:
    """Also where nothing else is there."""
    assert resume(*[seen(name.format(step), step) for step in (1, 2, 3)]) is None


def test_an_optimizer_in_a_folder_beside_belongs_to_the_save_it_was_written_with() -> None:
    saves = [seen(f"epoch_{n}", n, ["model-#.safetensors×2"], files=2) for n in (0, 1, 2)]
    state = dataclasses.replace(
        seen("recipe_state/recipe_state.pt", None, ["optimizer×8"]), saved_at=saves[1].saved_at
    )
    assert resume(*saves, state) == "epoch_1"


def test_the_name_that_the_trainer_resumes_from() -> None:
    parts = ["model×2", "optimizer×4"]
    saves = (seen("last.pt", 2, parts), seen("step_1.pt", 1, parts), seen("step_2.pt", 2, parts))
    assert resume(*saves) == "last.pt"
    assert resume(*saves, seen("step_3.pt", 3, parts)) == "step_3.pt"


def test_weights_alone_are_better_than_nothing() -> None:
    assert resume(seen("m_1.pt", 1, ["layer×2"]), seen("m_2.pt", 2, ["layer×2"])) == "m_2.pt"
