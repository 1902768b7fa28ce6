import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def build(seed=0):
    g = torch.Generator().manual_seed(seed)
    pts = torch.randn(6000, 30, generator=g)
    return TensorDataset(pts, pts[:, :10].pow(2).sum(1, keepdim=True).sqrt())


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    torch.set_num_threads(1)
    os.makedirs("run", exist_ok=True)
    with open(f"run/rank{rank}.pid", "w") as f:
        f.write(str(os.getpid()))
    print(f"[rank {rank}] up, world size {world}, pid {os.getpid()}", flush=True)
    data = build()
    sampler = DistributedSampler(data, shuffle=True)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    net = torch.nn.Sequential(torch.nn.Linear(30, 64), torch.nn.GELU(), torch.nn.Linear(64, 1))
    model = DDP(net)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    it = 0
    for epoch in range(4):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = torch.nn.functional.l1_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.2)
            it += 1
            if rank == 0 and it % 10 == 0:
                print(f"epoch {epoch} it {it:05d} l1 {loss.item():.4f}", flush=True)
            if rank == 0 and it % 50 == 0:
                torch.save({"it": it, "model": net.state_dict(), "opt": opt.state_dict()}, "run/latest.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
