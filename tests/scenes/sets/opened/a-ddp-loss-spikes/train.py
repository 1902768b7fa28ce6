"""DDP, JSON lines; every now and then a batch of scanned pages with much stronger noise."""
import json
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = DDP(nn.Sequential(nn.Linear(32, 128), nn.Tanh(), nn.Linear(128, 4)))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    g = torch.Generator().manual_seed(31)
    w = torch.randn(32, 4, generator=g) / 5
    torch.manual_seed(100 + rank)
    for step in range(1, 401):
        x = torch.randn(32, 32)
        y = x @ w + 0.2 * torch.randn(32, 4)
        if step > 60 and step % 53 in (0, 1):
            y = y + 1.6 * torch.randn(32, 4)
        loss = (net(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        gn = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        opt.step()
        time.sleep(0.2)
        both = loss.detach().clone()
        dist.all_reduce(both)
        if rank == 0 and (step % 3 == 0 or step % 53 == 0):
            rec = {"step": step, "loss": round(both.item() / dist.get_world_size(), 5), "grad_norm": round(gn.item(), 4),
                   "lr": opt.param_groups[0]["lr"], "time": round(time.time(), 1)}
            print(json.dumps(rec), flush=True)
        if rank == 0 and step % 100 == 0:
            os.makedirs("ckpt", exist_ok=True)
            torch.save(net.module.state_dict(), f"ckpt/{step}.pt")
    if rank == 0:
        print(json.dumps({"event": "train_end", "step": step}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
