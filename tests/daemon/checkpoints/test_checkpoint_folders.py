"""Checkpoints of many files: whole ones, and what is missing from the others."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from middlewatch.daemon.checkpoints.formats import recognise
from middlewatch.daemon.checkpoints.verify import folders, levels, structure

Copy = Callable[[str], Path]
INDEX = "sharded/model.safetensors.index.json"


def truncate(path: Path, by: int = 1) -> None:
    os.truncate(path, path.stat().st_size - by)


def state_of(path: Path) -> tuple[str, str]:
    verdict = structure.check(str(path))
    return verdict.state, verdict.detail


@pytest.mark.parametrize(
    ("name", "kind", "step", "files"),
    [
        ("checkpoint-500", "hf", 500, 8),
        (INDEX, "safetensors", None, 4),
        ("step_300", "dcp", 300, 4),
        ("ds/global_step120", "deepspeed", 120, 3),
    ],
)
def test_whole_ones_are_ok(
    made: Path, name: str, kind: str, step: float | None, files: int
) -> None:
    verdict = structure.check(str(made / name))
    assert (verdict.state, verdict.detail) == ("ok", "")
    assert (verdict.format, verdict.progress.step, verdict.files) == (kind, step, files)
    assert recognise.recognise(str(made / name)) == kind


def test_the_trainer_tells_its_metrics(made: Path) -> None:
    progress = structure.check(str(made / "checkpoint-500")).progress
    assert progress.epoch == 1.0
    assert progress.metrics["eval_loss"] == 1.75
    assert progress.metrics["train_loss"] == 2.0


def test_a_long_trainer_state_is_read_at_both_ends(copy: Copy, tmp_path: Path) -> None:
    folder = copy("checkpoint-500").rename(tmp_path / "checkpoint-60000")
    history = [{"epoch": i / 1e5, "loss": 9.0, "step": i} for i in range(60_000)]
    history += [{"epoch": 1.0, "loss": 0.5, "step": 60_000}, {"eval_loss": float("nan")}]
    state = {"best_metric": None, "epoch": 1.0, "global_step": 60_000, "log_history": history}
    text = json.dumps(state, indent=2, sort_keys=True)
    (folder / "trainer_state.json").write_text(text)
    found = levels.describe(str(folder))
    assert (found["state"], found["step"], found["epoch"]) == ("ok", 60_000, 1.0)
    assert found["metrics"]["train_loss"] == 0.5
    assert found["metrics"]["eval_loss"] == "nan"
    (folder / "trainer_state.json").write_text(text[:-3])
    assert state_of(folder)[0] == "corrupt"


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("trainer_state.json", "never ended"),
        ("model.safetensors", "no model weights"),
        ("rng_state_0.pth", "rng_state_0.pth is missing"),
    ],
)
def test_a_trainer_folder_with_a_part_missing(copy: Copy, missing: str, said: str) -> None:
    folder = copy("checkpoint-500")
    (folder / missing).unlink()
    state, detail = state_of(folder)
    assert state == "incomplete"
    assert said in detail


ORDER = (
    "config.json",
    "model.safetensors",
    "optimizer.pt",
    "rng_state_0.pth",
    "trainer_state.json",
)


@pytest.mark.parametrize("written", range(len(ORDER)))
def test_a_trainer_that_was_killed_just_after_it_opened_a_file(
    copy: Copy, tmp_path: Path, written: int
) -> None:
    """Whole parts, then an empty one, then nothing: the save before knows them all."""
    before = copy("checkpoint-500").rename(tmp_path / "checkpoint-400")
    state = (before / "trainer_state.json").read_text().replace("500", "400")
    (before / "trainer_state.json").write_text(state)
    folder = copy("checkpoint-500")
    assert {*ORDER} <= {p.name for p in folder.iterdir()}
    for part in folder.iterdir():
        if part.name not in ORDER[:written]:
            part.unlink()
    (folder / ORDER[written]).write_bytes(b"")
    assert state_of(folder)[0] == "incomplete"


@pytest.mark.parametrize(
    "name", ["model.safetensors", "optimizer.pt", "training_args.bin", "trainer_state.json"]
)
def test_a_trainer_folder_with_a_part_cut(copy: Copy, name: str) -> None:
    folder = copy("checkpoint-500")
    truncate(folder / name)
    state, detail = state_of(folder)
    assert state == "corrupt"
    assert name in detail


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.pt"])
def test_a_save_that_was_killed_in_the_middle_of_a_file(copy: Copy, name: str) -> None:
    folder = copy("checkpoint-500")
    (folder / "trainer_state.json").unlink()
    truncate(folder / name)
    assert state_of(folder) == ("incomplete", "trainer_state.json is missing: the save never ended")


def test_a_trainer_state_of_another_step(copy: Copy, tmp_path: Path) -> None:
    folder = copy("checkpoint-500").rename(tmp_path / "checkpoint-600")
    assert state_of(folder) == ("corrupt", "trainer_state.json is of step 500: stale")


def test_a_trainer_folder_without_optimizer_is_whole_and_says_so(copy: Copy) -> None:
    folder = copy("checkpoint-500")
    (folder / "optimizer.pt").unlink()
    assert state_of(folder) == ("ok", "no optimizer state in it")


def test_folders_without_files(tmp_path: Path) -> None:
    for name in ("checkpoint-7", "global_step7", "step_7"):
        (tmp_path / name).mkdir()
        assert state_of(tmp_path / name)[0] == "incomplete"


def test_an_index_alone_or_cut(copy: Copy) -> None:
    index = copy(INDEX)
    whole = index.read_text()
    state, detail = state_of(index)
    assert state == "incomplete"
    assert "3 of 3 shards missing" in detail
    index.write_text(whole[: len(whole) // 2])
    assert state_of(index)[0] == "corrupt"


def test_one_shard_missing_cut_or_changed(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sharded"
    shutil.copytree(made / "sharded", folder)
    index = folder / "model.safetensors.index.json"
    second = folder / "model-00002-of-00003.safetensors"
    kept = second.read_bytes()
    truncate(second)
    assert state_of(index)[0] == "corrupt"
    second.unlink()
    assert "1 of 3 shards missing: model-00002-of-00003.safetensors" in state_of(index)[1]
    shutil.copy(folder / "model-00003-of-00003.safetensors", second)
    state, detail = state_of(index)
    assert state == "corrupt"
    assert "stale index" in detail
    second.write_bytes(kept)
    assert state_of(index)[0] == "ok"


def test_an_index_never_leads_out_of_its_folder(tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"w": "../../etc/passwd"}}))
    assert state_of(index)[0] == "corrupt"


def test_shards_without_their_index(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "step_9"
    shutil.copytree(made / "sharded", folder)
    (folder / "model.safetensors.index.json").unlink()
    assert state_of(folder)[0] == "ok"
    (folder / "model-00003-of-00003.safetensors").unlink()
    assert state_of(folder)[0] == "incomplete"


def test_a_distributed_checkpoint_without_a_part(copy: Copy) -> None:
    folder = copy("step_300")
    parts = sorted(folder.glob("*.distcp"))
    kept = parts[0].read_bytes()
    truncate(parts[0])
    state, detail = state_of(folder)
    assert state == "corrupt"
    assert f"{parts[0].name} is cut off" in detail
    parts[0].unlink()
    assert state_of(folder)[0] == "incomplete"
    parts[0].write_bytes(kept)
    truncate(folder / ".metadata")
    assert state_of(folder)[0] == "corrupt"
    (folder / ".metadata").write_bytes(b"")
    assert state_of(folder) == ("corrupt", ".metadata is empty")
    (folder / ".metadata").rename(folder / ".metadata.tmp")
    state, detail = state_of(folder)
    assert state == "incomplete"
    assert "never" in detail


def test_deepspeed_without_a_rank(copy: Copy) -> None:
    for rank in (0, 1):
        root = copy("ds/global_step120").parent
        (root / f"global_step120/bf16_zero_pp_rank_{rank}_mp_rank_00_optim_states.pt").unlink()
        state, detail = state_of(root / "global_step120")
        assert state == "incomplete"
        assert f"rank {rank} of 2 missing" in detail
        shutil.rmtree(root)


def test_deepspeed_latest_that_names_nothing(made: Path, tmp_path: Path) -> None:
    root = tmp_path / "ds"
    shutil.copytree(made / "ds", root)
    assert folders.dangling_latest(str(root)) == ""
    (root / "latest").write_text("global_step999\n")
    assert "global_step999" in folders.dangling_latest(str(root))
    found = {entry["path"]: entry["state"] for entry in levels.verify([str(root)])}
    assert found == {f"{root}/global_step120": "ok", f"{root}/latest": "incomplete"}


def test_ranks_of_plain_folders(made: Path, tmp_path: Path) -> None:
    actor = tmp_path / "global_step_10" / "actor"
    actor.mkdir(parents=True)
    for rank in range(4):
        shutil.copy(made / "ckpt.pt", actor / f"model_world_size_4_rank_{rank}.pt")
    assert state_of(tmp_path / "global_step_10")[0] == "ok"
    (actor / "model_world_size_4_rank_3.pt").unlink()
    state, detail = state_of(tmp_path / "global_step_10")
    assert state == "incomplete"
    assert "rank_3.pt is missing" in detail


def test_verify_expands_folders_in_the_order_of_steps(made: Path, tmp_path: Path) -> None:
    for step in (1000, 500):
        shutil.copytree(made / "checkpoint-500", tmp_path / f"checkpoint-{step}")
        (tmp_path / f"checkpoint-{step}" / "trainer_state.json").write_text(
            json.dumps({"global_step": step})
        )
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "samples" / "step_500").mkdir(parents=True)
    (tmp_path / "samples" / "step_500" / "picture.png").write_text("")
    found = levels.verify([str(tmp_path), str(made / "ckpt.pt"), str(tmp_path / "samples")])
    assert [(Path(e["path"]).name, e["state"]) for e in found] == [
        ("checkpoint-500", "ok"),
        ("checkpoint-1000", "ok"),
        ("ckpt.pt", "ok"),
        ("samples", "unverifiable"),
    ]
    rows = levels.rows(found)
    assert rows[0].startswith("ok ")
    assert "step 500" in rows[0]
    assert rows[3].endswith("(no checkpoint in this folder)")
