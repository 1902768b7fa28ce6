import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


def log(msg):
    if dist.get_rank() == 0:
        print(time.strftime("%m-%d %H:%M:%S"), msg, flush=True)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(3)
    net = DDP(nn.Sequential(nn.Linear(32, 64), nn.ELU(), nn.Linear(64, 1)))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.9, 0.99))
    w = torch.randn(32, 1) / 5
    g = torch.Generator().manual_seed(100 + rank)
    log(f"world size {world}, params {sum(p.numel() for p in net.parameters())}")
    os.makedirs("weights", exist_ok=True)
    step = 0
    for epoch in range(40):
        for b in range(25):
            x = torch.randn(24, 32, generator=g)
            depth = torch.sigmoid(x @ w) * 10 + 0.1
            pred = nn.functional.softplus(net(x)) + 0.1
            d = pred.log() - depth.log()
            silog = 10 * torch.sqrt((d ** 2).mean() - 0.85 * d.mean() ** 2)
            opt.zero_grad()
            silog.backward()
            opt.step()
            step += 1
            time.sleep(0.17)
            if step % 10 == 0:
                log(f"epoch {epoch} | batch {b:4d} | silog {silog.item():.5f} | abs_rel {((pred - depth).abs() / depth).mean().item():.3f}")
        if rank == 0:
            torch.save({"epoch": epoch, "model": net.module.state_dict()}, f"weights/last.pth")
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
