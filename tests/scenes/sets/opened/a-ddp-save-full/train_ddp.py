import logging
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

OUT = "scratch/run1"


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING,
                        format=f"[%(asctime)s][rank{rank}][%(levelname)s] %(message)s")
    log = logging.getLogger("ddp")
    torch.manual_seed(10 + rank)
    net = nn.Sequential(nn.Linear(256, 700), nn.ReLU(), nn.Linear(700, 700), nn.ReLU(), nn.Linear(700, 256))
    n = sum(p.numel() for p in net.parameters())
    ddp = DDP(net)
    opt = torch.optim.AdamW(ddp.parameters(), lr=1e-3)
    log.info("model has %.2fM parameters, world size %d", n / 1e6, dist.get_world_size())
    for step in range(1, 1001):
        x = torch.randn(16, 256)
        loss = (ddp(x) - x.roll(1, 1)).pow(2).mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        time.sleep(0.2)
        if step % 10 == 0:
            log.info("step %d | loss %.4f", step, loss.item())
        if step % 30 == 0:
            if rank == 0:
                os.makedirs(OUT, exist_ok=True)
                path = f"{OUT}/checkpoint_{step:06d}.pt"
                log.info("writing %s", path)
                torch.save({"model": net.state_dict(), "opt": opt.state_dict(), "step": step}, path)
                log.info("wrote %s (%.1f MB)", path, os.path.getsize(path) / 1e6)
            dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
