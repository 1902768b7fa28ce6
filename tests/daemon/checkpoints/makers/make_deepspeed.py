"""Good checkpoints of DeepSpeed, two real ranks over gloo. Usage: make_deepspeed.py FOLDER."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

os.environ |= {"DS_ACCELERATOR": "cpu", "DS_IGNORE_CUDA_DETECTION": "TRUE"}
torch: Any = importlib.import_module("torch")
deepspeed: Any = importlib.import_module("deepspeed")
# Its own kernel for messages between ranks is compiled at the first use, for half a minute.
deepspeed.ops.__compatible_ops__.clear()
WORLD = 2


def save(home: Path, stage: int, **options: Any) -> None:
    torch.manual_seed(5)
    net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Linear(32, 16))
    settings = {
        "train_micro_batch_size_per_gpu": 2,
        "zero_optimization": {"stage": stage},
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
    }
    engine, *_ = deepspeed.initialize(
        model=net, optimizer=torch.optim.AdamW(net.parameters()), config=settings | options
    )
    for _ in range(3):
        kind = next(engine.module.parameters()).dtype
        engine.backward(engine(torch.randn(2, 16, dtype=kind)).float().square().mean())
        engine.step()
    engine.save_checkpoint(str(home / f"zero{stage}"), client_state={"epoch": 2, "lr": 1e-3})


def rank(number: int, home: Path) -> None:
    os.environ |= {"RANK": str(number), "LOCAL_RANK": str(number), "WORLD_SIZE": str(WORLD)}
    meeting = f"file://{home}/meeting"
    deepspeed.init_distributed("gloo", False, init_method=meeting, rank=number, world_size=WORLD)
    for stage in (0, 1, 2):
        save(home, stage)
    save(home, 3, bf16={"enabled": True})


if __name__ == "__main__":
    torch.set_num_threads(1)
    home = Path(sys.argv[1]).resolve()
    torch.multiprocessing.start_processes(rank, (home,), WORLD, start_method="fork")
    (home / "meeting").unlink(missing_ok=True)
