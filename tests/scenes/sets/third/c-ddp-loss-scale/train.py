"""Half precision gradients with dynamic loss scaling, done by hand as in the old fp16 optimizers."""
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

STEPS, WINDOW = 300, 35


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(9)
    net = DDP(nn.Sequential(nn.Linear(40, 80), nn.ReLU(), nn.Linear(80, 9)))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    centre = torch.randn(9, 40, generator=torch.Generator().manual_seed(1))
    scale, good = 2.0 ** 32, 0
    skipped = 0
    if rank == 0:
        print(f"fp16 gradients, initial loss scale {scale:.0f}, window {WINDOW}", flush=True)
    for it in range(1, STEPS + 1):
        g = torch.Generator().manual_seed(it * world + rank)
        y = torch.randint(0, 9, (32,), generator=g)
        x = centre[y] + torch.randn(32, 40, generator=g)
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad(set_to_none=True)
        (loss * scale).backward()
        half = [p.grad.half() for p in net.parameters()]
        overflow = not all(torch.isfinite(h).all() for h in half)
        if overflow:
            skipped += 1
            if rank == 0:
                print(f"[fp16] OVERFLOW! Rank {rank} Skipping step. Attempted loss scale: {scale:.0f}, "
                      f"reducing to {scale / 2:.0f}  (grad norm: inf)", flush=True)
            scale, good = scale / 2, 0
        else:
            for p, h in zip(net.parameters(), half):
                p.grad = h.float() / scale
            opt.step()
            good += 1
            if good % WINDOW == 0:
                scale *= 2
                if rank == 0:
                    print(f"[fp16] no overflow for {WINDOW} steps, loss scale now {scale:.0f}", flush=True)
        time.sleep(0.25)
        if it % 4 == 0 and rank == 0:
            print(f" iteration {it:6d}/{STEPS} | lm loss: {loss.item():.6E} | loss scale: {scale:.1f} | "
                  f"number of skipped iterations: {skipped} | number of nan iterations: 0 |", flush=True)
        if it % 100 == 0:
            if rank == 0:
                os.makedirs(f"ckpt/iter_{it:07d}", exist_ok=True)
                torch.save(net.module.state_dict(), f"ckpt/iter_{it:07d}/model.pt")
                print(f"  successfully saved checkpoint at iteration {it} to ckpt", flush=True)
            dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        print("after training is done", flush=True)


if __name__ == "__main__":
    main()
