"""Good checkpoints of torch.distributed with two real ranks over gloo. Usage: … FOLDER."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

torch: Any = importlib.import_module("torch")
dist: Any = importlib.import_module("torch.distributed")
dcp: Any = importlib.import_module("torch.distributed.checkpoint")
convert: Any = importlib.import_module("torch.distributed.checkpoint.format_utils")
states: Any = importlib.import_module("torch.distributed.checkpoint.state_dict")
sharding: Any = importlib.import_module("torch.distributed.fsdp")
mesh: Any = importlib.import_module("torch.distributed.device_mesh")
placed: Any = importlib.import_module("torch.distributed.tensor")
WORLD = 2


def model() -> Any:
    torch.manual_seed(5)
    return torch.nn.Sequential(
        torch.nn.Embedding(64, 32), torch.nn.Linear(32, 48), torch.nn.Linear(48, 64, bias=False)
    )


def learn(net: Any) -> Any:
    optimizer = torch.optim.AdamW(net.parameters())
    net(torch.zeros(4, dtype=torch.int64)).square().mean().backward()
    optimizer.step()
    return optimizer


def rank(number: int, home: Path) -> None:
    dist.init_process_group(
        "gloo", init_method=f"file://{home}/meeting", rank=number, world_size=WORLD
    )
    line = mesh.init_device_mesh("cpu", (WORLD,))

    parts = {
        "split": placed.distribute_tensor(torch.randn(64, 32), line, [placed.Shard(0)]),
        "same": torch.ones(7),
        "half": placed.distribute_tensor(torch.randn(9, 4).bfloat16(), line, [placed.Shard(0)]),
        "step": 40,
        "nested": {"name": "run", "tokens": torch.tensor(5)},
    }
    dcp.save(parts, checkpoint_id=home / "step_40")
    several = dcp.FileSystemWriter(home / "step_50", single_file_per_rank=False)
    dcp.save(parts | {"step": 50}, storage_writer=several)
    dcp.async_save(parts | {"step": 60}, checkpoint_id=home / "async" / "step_60").result()

    whole = model()
    optimizer = learn(torch.nn.parallel.DistributedDataParallel(whole))
    dcp.save(
        {"model": whole.state_dict(), "optimizer": optimizer.state_dict(), "global_step": 70},
        checkpoint_id=home / "step_70",
    )

    cut = model()
    for layer in cut:
        sharding.fully_shard(layer, mesh=line)
    sharding.fully_shard(cut, mesh=line)
    optimizer = learn(cut)
    weights, moments = states.get_state_dict(cut, optimizer)
    dcp.save(
        {"model": weights, "optim": moments, "train_state": {"step": 80}},
        checkpoint_id=home / "fsdp" / "step-80",
    )
    gathered = states.StateDictOptions(full_state_dict=True, cpu_offload=True)
    weights = states.get_model_state_dict(cut, options=gathered)
    if number == 0:
        torch.save({"model": weights, "step": 80}, home / "fsdp_whole.pt")
        convert.dcp_to_torch_save(home / "step_70", home / "converted.pt")
        convert.torch_save_to_dcp(home / "fsdp_whole.pt", home / "back" / "step_80")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    home = Path(sys.argv[1]).resolve()
    torch.multiprocessing.start_processes(rank, (home,), WORLD, start_method="fork")
    (home / "meeting").unlink(missing_ok=True)
