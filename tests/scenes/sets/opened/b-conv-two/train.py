import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=6)
ap.add_argument("--iters", type=int, default=80)
ap.add_argument("--save-every", type=int, default=120)
args = ap.parse_args()


def save(model, opt, it):
    os.makedirs("ckpt", exist_ok=True)
    tmp = f"ckpt/.iter_{it:06d}.tmp"
    torch.save({"model": model.module.state_dict(), "opt": opt.state_dict(), "iter": it}, tmp)
    os.replace(tmp, f"ckpt/iter_{it:06d}.pt")


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 10))
    model = DDP(net)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    gen = torch.Generator().manual_seed(100 + rank)
    protos = torch.randn(10, 1, 16, 16, generator=torch.Generator().manual_seed(5))
    it = 0
    for epoch in range(args.epochs):
        for i in range(args.iters):
            y = torch.randint(0, 10, (32,), generator=gen)
            x = protos[y] + 0.8 * torch.randn(32, 1, 16, 16, generator=gen)
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            time.sleep(0.2)
            it += 1
            if rank == 0 and i % 10 == 0:
                print(f"Epoch: [{epoch}][{i:3d}/{args.iters}]\tLoss {loss.item():.4e}\tLR 5.0e-02", flush=True)
            if rank == 0 and it % args.save_every == 0:
                print(f"=> saving checkpoint 'ckpt/iter_{it:06d}.pt'", flush=True)
                save(model, opt, it)
                dist.barrier()                   # nobody goes on before the file is there
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
