import argparse
import json
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

ap = argparse.ArgumentParser()
ap.add_argument("--steps", type=int, default=400)
ap.add_argument("--batch", type=int, default=16)
ap.add_argument("--out", type=Path, default=Path("runs/ranker"))
a = ap.parse_args()


class Clicks(Dataset):
    def __init__(self, n=9600):
        g = torch.Generator().manual_seed(1)
        self.x = torch.randn(n, 2, 20, generator=g)
        w = torch.randn(20, generator=g)
        self.y = (self.x @ w).diff(dim=1).squeeze(1).gt(0).float()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    a.out.mkdir(parents=True, exist_ok=True)
    (a.out / f"rank{rank}.pid").write_text(str(os.getpid()))
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, 1)))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    data = Clicks()
    sampler = DistributedSampler(data, seed=4)
    step, epoch = 0, 0
    while step < a.steps:
        sampler.set_epoch(epoch)
        for x, y in DataLoader(data, a.batch, sampler=sampler, drop_last=True):
            step += 1
            s = model(x).squeeze(-1)
            loss = nn.functional.binary_cross_entropy_with_logits(s[:, 1] - s[:, 0], y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.15)
            if step % 10 == 0:
                mean = loss.detach().clone()
                dist.all_reduce(mean)
                if rank == 0:
                    print(json.dumps({"t": round(time.time(), 1), "step": step, "epoch": epoch,
                                      "loss": round(mean.item() / dist.get_world_size(), 4)}), flush=True)
            if step % 100 == 0 and rank == 0:
                torch.save({"model": model.module.state_dict(), "opt": opt.state_dict(), "step": step},
                           a.out / "last.pt.tmp")
                os.replace(a.out / "last.pt.tmp", a.out / "last.pt")
            if step >= a.steps:
                break
        epoch += 1
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
