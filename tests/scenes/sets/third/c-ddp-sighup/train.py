import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    net = DDP(nn.Sequential(nn.Linear(50, 96), nn.ReLU(), nn.Linear(96, 7)))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    centre = torch.randn(7, 50, generator=torch.Generator().manual_seed(1))
    if rank == 0:
        print(f"world_size={world} backend=gloo params={sum(p.numel() for p in net.parameters())}", flush=True)
    for step in range(1, 5001):
        g = torch.Generator().manual_seed(step * world + rank)
        y = torch.randint(0, 7, (32,), generator=g)
        x = centre[y] + 1.2 * torch.randn(32, 50, generator=g)
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        time.sleep(0.25)
        if step % 10 == 0:
            m = loss.detach().clone()
            dist.all_reduce(m)
            if rank == 0:
                print(f"step {step:5d} | loss {m.item() / world:.4f} | lr {opt.param_groups[0]['lr']:.1e}", flush=True)
        if step % 200 == 0:
            if rank == 0:
                os.makedirs("ckpt", exist_ok=True)
                torch.save({"model": net.module.state_dict(), "step": step}, f"ckpt/step_{step:06d}.pt")
            dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
