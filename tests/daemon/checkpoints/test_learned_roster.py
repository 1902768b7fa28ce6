"""What a folder should hold is learned from the saves before it, whoever wrote them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from middlewatch.daemon.checkpoints.verify import levels

torch = pytest.importorskip("torch")

PARTS = ("net.pth", "optim.pth", "sched.pth")


@pytest.fixture
def saves(tmp_path: Path) -> Path:
    """Four saves of a trainer that nobody knows, each with its own numbers."""
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    for step in (100, 200, 300, 400):
        model(torch.randn(4, 64)).square().mean().backward()
        optimizer.step()
        schedule.step()
        folder = tmp_path / f"save_{step}"
        folder.mkdir()
        for name, one in zip(PARTS, (model, optimizer, schedule), strict=True):
            torch.save(one.state_dict(), folder / name)
        torch.save({"rng": torch.get_rng_state()}, folder / "rank_0.pkl")
        torch.save({"rng": torch.get_rng_state()}, folder / "rank_1.pkl")
        (folder / "meta.json").write_text('{"name": "x"}\n')
        if step == 100:
            (folder / "README.md").write_text("only once\n")
    return tmp_path


def found(folder: Path) -> tuple[str, str]:
    told = levels.describe(str(folder))
    return told["state"], told["detail"]


def test_all_of_them_are_good(saves: Path) -> None:
    for folder in sorted(saves.iterdir()):
        assert found(folder)[0] == "ok", found(folder)


@pytest.mark.parametrize("name", [*PARTS, "rank_0.pkl", "meta.json"])
def test_a_part_that_the_saves_before_have_is_missed(saves: Path, name: str) -> None:
    (saves / "save_400" / name).unlink()
    state, detail = found(saves / "save_400")
    assert state == "incomplete"
    assert name in detail


@pytest.mark.parametrize("name", [*PARTS, "rank_0.pkl", "meta.json"])
def test_an_empty_part(saves: Path, name: str) -> None:
    (saves / "save_400" / name).write_bytes(b"")
    state, detail = found(saves / "save_400")
    assert state == "corrupt"
    assert name in detail


def test_a_save_that_was_cut_off_in_its_first_part(saves: Path) -> None:
    """As a kill leaves it: opened, nothing written, and nothing after it."""
    for part in (saves / "save_400").iterdir():
        part.unlink()
    (saves / "save_400" / "net.pth").write_bytes(b"")
    told = levels.describe(str(saves / "save_400"))
    assert told["state"] == "incomplete"
    assert "learned" not in told
    assert "net.pth is empty" in told["detail"]


def test_weights_that_moved_without_their_optimizer(saves: Path) -> None:
    shutil.copyfile(saves / "save_300" / "optim.pth", saves / "save_400" / "optim.pth")
    state, detail = found(saves / "save_400")
    assert state == "corrupt"
    assert "optim.pth is of the step of save_300 (optimizer 3): stale" in detail


@pytest.mark.parametrize("name", ["net.pth", "sched.pth"])
def test_what_may_be_meant_to_stand_still_is_a_remark(saves: Path, name: str) -> None:
    shutil.copyfile(saves / "save_300" / name, saves / "save_400" / name)
    state, detail = found(saves / "save_400")
    assert state == "ok"
    assert name in detail
    assert "stale" in detail


def test_one_of_two_optimizers_is_frozen_from_a_save_on(saves: Path) -> None:
    """The weights of its model stand still too."""
    for step in (100, 200, 300, 400):
        for name in ("net.pth", "optim.pth"):
            before = min(step, 300)
            shutil.copyfile(
                saves / f"save_{before}" / name, saves / f"save_{step}" / f"teacher_{name}"
            )
    assert found(saves / "save_400")[0] == "ok"


def test_members_of_an_ensemble_are_at_different_steps(tmp_path: Path) -> None:
    folder = tmp_path / "save_100"
    folder.mkdir()
    for number in range(3):
        state = {"global_step": 10 * number, "model": {"weight": torch.randn(4)}}
        torch.save(state, folder / f"agent_{number}.pt")
    assert found(folder)[0] == "ok"


def test_ranks_at_different_steps(tmp_path: Path) -> None:
    folder = tmp_path / "save_100"
    folder.mkdir()
    for number in range(2):
        saved = {"global_step": 10 + number, "model": {"weight": torch.randn(4)}}
        torch.save(saved, folder / f"rank_{number}.pt")
    state, detail = found(folder)
    assert state == "corrupt"
    assert "parts of two steps" in detail


def test_a_run_that_was_resumed_with_fewer_ranks(saves: Path) -> None:
    for step in (100, 200, 300, 400):
        for rank in range(2, 4):
            torch.save({"rng": torch.get_rng_state()}, saves / f"save_{step}" / f"rank_{rank}.pkl")
        for rank in range(4):
            torch.save({"moments": torch.randn(8)}, saves / f"save_{step}" / f"zero_{rank}.pt")
    for rank in (2, 3):
        (saves / "save_400" / f"rank_{rank}.pkl").unlink()
    assert found(saves / "save_400")[0] == "incomplete", "of the other kind all are there"
    for rank in (2, 3):
        (saves / "save_400" / f"zero_{rank}.pt").unlink()
    state, detail = found(saves / "save_400")
    assert state == "ok", detail
    assert "fewer ranks?" in detail


def test_whether_only_the_saves_before_tell(saves: Path) -> None:
    """While the run goes on nothing is said until the next save: it may save less from now on."""
    (saves / "save_300" / "sched.pth").unlink()
    assert "learned" not in levels.describe(str(saves / "save_300")), "the save after it has one"
    (saves / "save_400" / "sched.pth").unlink()
    (saves / "save_300" / "sched.pth").write_bytes((saves / "save_200" / "sched.pth").read_bytes())
    told = levels.describe(str(saves / "save_400"))
    assert told["state"] == "incomplete"
    assert told["learned"]
    (saves / "save_400" / "net.pth").write_bytes(b"cut")
    told = levels.describe(str(saves / "save_400"))
    assert told["state"] == "corrupt"
    assert "learned" not in told


def test_a_part_that_is_left_out_from_now_on(saves: Path) -> None:
    for step in (300, 400):
        (saves / f"save_{step}" / "sched.pth").unlink()
    assert found(saves / "save_300")[0] == "ok"
    assert found(saves / "save_400")[0] == "ok"


def test_a_whole_copy_is_no_mixture(saves: Path) -> None:
    shutil.copytree(saves / "save_400", saves / "save_500")
    assert found(saves / "save_500")[0] == "ok"
