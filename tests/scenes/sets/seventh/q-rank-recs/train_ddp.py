"""Two-tower recommender with DDP, see start.sh"""
import datetime
import logging
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

ITEMS, USERS, STEPS_PER_EPOCH, EPOCHS = 900, 400, 150, 4


class Clicks:
    """Click logs of one day a rank, read in blocks."""

    def __init__(self, rank, world):
        self.g = torch.Generator().manual_seed(1000 + rank)
        self.rank, self.block = rank, 0

    def lines(self, n):
        self.block += 1
        out = []
        for k in range(n):
            u = int(torch.randint(USERS, (1,), generator=self.g))
            i = (u * 7 + int(torch.randint(20, (1,), generator=self.g))) % ITEMS
            out.append(f"{u}\t{i}\t1")
        if self.rank == 2 and self.block == 131:    # the log was rotated in the middle of this line
            out[17] = out[17].split("\t")[0] + "\t"
        return out

    def batch(self, n=64):
        rows = [line.split("\t") for line in self.lines(n)]
        return torch.tensor([int(r[0]) for r in rows]), torch.tensor([int(r[1]) for r in rows])


class Towers(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.u, self.i = nn.Embedding(USERS, d), nn.Embedding(ITEMS, d)
        nn.init.normal_(self.u.weight, std=0.1)
        nn.init.normal_(self.i.weight, std=0.1)

    def forward(self, u, i):
        return self.u(u) @ self.i(i).T


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=10))
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING,
                        format=f"%(asctime)s [rank {rank}] %(message)s", datefmt="%H:%M:%S")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = DDP(Towers())
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    clicks = Clicks(rank, world)
    logging.info("world size %d, %d steps an epoch", world, STEPS_PER_EPOCH)
    step = 0
    for epoch in range(EPOCHS):
        for _ in range(STEPS_PER_EPOCH):
            u, i = clicks.batch()
            loss = nn.functional.cross_entropy(model(u, i), torch.arange(len(u)))
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            if step % 10 == 0:
                logging.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
            time.sleep(0.25)
        if rank == 0:
            torch.save(model.module.state_dict(), f"towers_e{epoch}.pt")
            logging.info("saved towers_e%d.pt", epoch)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
