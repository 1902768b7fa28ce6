"""Real checkpoints, written once per test process by the real libraries."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of whole checkpoints of every kind. Read only: take copies."""
    torch = pytest.importorskip("torch")
    safe = pytest.importorskip("safetensors.torch")
    home = tmp_path_factory.mktemp("made")
    model = torch.nn.Linear(96, 128)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(2, 96)).sum().backward()
    optimizer.step()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    t = SimpleNamespace(torch=torch, safe=safe, model=model, state=state)

    torch.save({**state, "iter_num": 2000, "config": {"step": 7}}, home / "ckpt.pt")
    torch.save(state, home / "legacy_step_40.pt", _use_new_zipfile_serialization=False)
    lightning = {"epoch": 3, "global_step": 4000, "pytorch-lightning_version": "2.5.0", **state}
    torch.save(lightning, home / "epoch=3-step=4000.ckpt")
    safe.save_file({"w": torch.randn(64, 64), "none": torch.zeros(0)}, home / "model.safetensors")
    _trainer(home / "checkpoint-500", t)
    _sharded(home / "sharded", t)
    _distributed(home / "step_300", t)
    _deepspeed(home / "ds", t)
    return home


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Copy one of the whole checkpoints to a place where it may be damaged."""

    def copied(name: str) -> Path:
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (made / name).is_dir():
            shutil.copytree(made / name, target)
        else:
            shutil.copy(made / name, target)
        return target

    return copied


def _trainer(folder: Path, t: SimpleNamespace) -> None:
    """The files that transformers.Trainer leaves, in its order."""
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    t.safe.save_file(t.model.state_dict(), folder / "model.safetensors")
    t.torch.save({"args": 1}, folder / "training_args.bin")
    t.torch.save(t.state["optimizer"], folder / "optimizer.pt")
    t.torch.save({"last_epoch": 500}, folder / "scheduler.pt")
    for rank in range(2):
        t.torch.save({"cpu": t.torch.get_rng_state()}, folder / f"rng_state_{rank}.pth")
    history = [
        {"epoch": 0.5, "loss": 2.5, "learning_rate": 3e-4, "grad_norm": 1.0, "step": 250},
        {"epoch": 1.0, "loss": 2.0, "learning_rate": 1e-4, "grad_norm": 0.9, "step": 500},
        {"epoch": 1.0, "eval_loss": 1.75, "eval_runtime": 3.0, "step": 500},
    ]
    state = {"best_metric": 1.75, "epoch": 1.0, "global_step": 500, "log_history": history}
    (folder / "trainer_state.json").write_text(json.dumps(state, indent=2, sort_keys=True))


def _sharded(folder: Path, t: SimpleNamespace) -> None:
    folder.mkdir()
    weights = {}
    for part in (1, 2, 3):
        shard = f"model-{part:05}-of-00003.safetensors"
        t.safe.save_file({f"layers.{part}.w": t.torch.randn(32, 32)}, folder / shard)
        weights[f"layers.{part}.w"] = shard
    index = {"metadata": {"total_size": 3 * 4096}, "weight_map": weights}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def _distributed(folder: Path, t: SimpleNamespace) -> None:
    dcp = pytest.importorskip("torch.distributed.checkpoint")
    writer = dcp.FileSystemWriter(folder, single_file_per_rank=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save({"model": t.model.state_dict(), "n": 5}, storage_writer=writer)


def _deepspeed(folder: Path, t: SimpleNamespace) -> None:
    """ZeRO-2 over two data ranks, under the names and keys of deepspeed.runtime.engine."""
    tag = folder / "global_step120"
    tag.mkdir(parents=True)
    states = {"module": t.model.state_dict(), "global_steps": 120, "dp_world_size": 2}
    t.torch.save(states, tag / "mp_rank_00_model_states.pt")
    for rank in range(2):
        zero = {"optimizer_state_dict": t.state["optimizer"]}
        t.torch.save(zero, tag / f"bf16_zero_pp_rank_{rank}_mp_rank_00_optim_states.pt")
    (folder / "latest").write_text("global_step120")
