"""Pairwise ranker on click shards, DDP over gloo. Every rank reads its own shards in a thread."""
import json
import os
import queue
import threading
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

SHARDS = [f"clicks-{i:05d}" for i in range(29)]
PER_SHARD = 16


class ShardReader(threading.Thread):
    """Reads the rank's shards one after another and puts batches into a bounded queue."""

    def __init__(self, shards, batch):
        super().__init__(daemon=True)
        self.shards, self.batch = shards, batch
        self.q = queue.Queue(maxsize=8)

    def run(self):
        for name in self.shards:
            rng = np.random.default_rng(int(name[-5:]))
            for _ in range(PER_SHARD):
                a = rng.normal(size=(self.batch, 48)).astype("float32")
                b = rng.normal(size=(self.batch, 48)).astype("float32")
                y = (a[:, :8].sum(1) > b[:, :8].sum(1)).astype("float32")
                self.q.put((torch.from_numpy(a), torch.from_numpy(b), torch.from_numpy(y)))


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(5)
    model = DDP(nn.Sequential(nn.Linear(48, 96), nn.GELU(), nn.Linear(96, 1)))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    reader = ShardReader(SHARDS[rank::world], 64)
    reader.start()
    total = len(SHARDS[0::world]) * PER_SHARD
    t0 = time.time()
    for step in range(1, total + 1):
        a, b, y = reader.q.get()
        loss = nn.functional.binary_cross_entropy_with_logits((model(torch.cat([a, b]))[:64] - model.module(b)).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.22)
        if rank == 0 and step % 4 == 0:
            print(json.dumps({"ts": round(time.time(), 2), "step": step, "of": total, "loss": round(loss.item(), 4),
                              "pairs_per_s": round(step * 64 * world / (time.time() - t0), 1)}), flush=True)
        if rank == 0 and step % 60 == 0:
            torch.save(model.module.state_dict(), f"ranker_{step:05d}.pt")
    if rank == 0:
        torch.save(model.module.state_dict(), "ranker_final.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
