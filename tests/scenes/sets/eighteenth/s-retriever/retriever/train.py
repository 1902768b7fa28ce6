import logging
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from . import mining

EVERY, BATCH, STEPS = 100, 4, 1500


class TwoTower(nn.Module):
    def __init__(self, n_q=400, n_d=600, dim=32):
        super().__init__()
        self.q, self.d = nn.Embedding(n_q, dim), nn.Embedding(n_d, dim)
        self.mix = nn.Linear(dim, dim)

    def forward(self, q, pos, neg):
        a = self.mix(self.q(q))
        return torch.cat([(a * self.d(pos)).sum(-1, keepdim=True), torch.einsum("bd,bkd->bk", a, self.d(neg))], 1)


def batches(rank):
    rng = np.random.default_rng(rank)
    shard = np.arange(rank, 400, 2)
    at = 0
    while True:
        # the last batch of a pass over the shard is short
        size = len(shard) - (13 if rank else 0)
        n = min(BATCH, size - at)
        yield torch.from_numpy(shard[at:at + n])
        at += n
        if at >= size:
            at = 0
            rng.shuffle(shard)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format=f"[rank{rank}] %(asctime)s %(message)s")
    log = logging.getLogger(__name__)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = DDP(TwoTower())
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    negatives = np.random.default_rng(1).integers(0, 600, (400, 8))
    seen, source, rounds = 0, batches(rank), 0
    log.info("world size %d, %d steps", dist.get_world_size(), STEPS)
    for step in range(1, STEPS + 1):
        q = next(source)
        pos = (q * 7) % 600
        logits = model(q, pos, torch.from_numpy(negatives[q.numpy()]))
        loss = nn.functional.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))
        opt.zero_grad()
        loss.backward()
        opt.step()
        seen += len(q)
        time.sleep(0.12)
        if step % 10 == 0:
            log.info("step %d loss %.4f", step, loss.item())
        if step % EVERY == 0:
            rounds += 1
            if rank == 0:
                m = model.module
                mining.write(seen, m.d.weight.detach().numpy(), m.q.weight.detach().numpy())
            negatives = mining.read(seen)
            log.info("hard negatives refreshed (round %d)", rounds)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
