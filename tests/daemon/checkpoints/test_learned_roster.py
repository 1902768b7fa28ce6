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


@pytest.mark.parametrize("name", [*PARTS, "rank_0.pkl", "rank_1.pkl", "meta.json"])
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


@pytest.mark.parametrize("name", ["net.pth", "optim.pth", "sched.pth"])
def test_a_part_of_the_save_before(saves: Path, name: str) -> None:
    shutil.copyfile(saves / "save_300" / name, saves / "save_400" / name)
    state, detail = found(saves / "save_400")
    assert state == "corrupt"
    assert name in detail
    assert "stale" in detail


def test_a_part_that_is_left_out_from_now_on(saves: Path) -> None:
    for step in (300, 400):
        (saves / f"save_{step}" / "sched.pth").unlink()
    assert found(saves / "save_300")[0] == "ok"
    assert found(saves / "save_400")[0] == "ok"


def test_a_whole_copy_is_no_mixture(saves: Path) -> None:
    shutil.copytree(saves / "save_400", saves / "save_500")
    assert found(saves / "save_500")[0] == "ok"
