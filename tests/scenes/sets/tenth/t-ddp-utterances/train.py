import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import logging, random, time
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s INFO [train.py:%(lineno)d] (rank {rank}) %(message)s")
log = logging.info
torch.set_num_threads(1)
torch.manual_seed(rank)


class Utterances:
    """Shard of one rank: every utterance is perturbed in speed each epoch and dropped when it is too long."""

    def __init__(self, n, budget=240, longest=30.0):
        r = random.Random(1000 + rank)
        self.dur = [min(r.gauss(12, 5.0), 26.0) for _ in range(n)]
        self.budget, self.longest, self.epoch = budget, longest, 0

    def __iter__(self):
        r = random.Random(self.epoch * 17 + rank)
        batch, total = [], 0.0
        kept = [d * r.choice([0.9, 1.0, 1.1]) for d in self.dur]
        kept = [d for d in kept if 1.0 < d < self.longest]
        for d in sorted(kept):
            if total + d > self.budget:
                yield batch
                batch, total = [], 0.0
            batch.append(d)
            total += d


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.GRU(16, 40, batch_first=True), nn.Linear(40, 12)

    def forward(self, x):
        return self.out(self.rnn(x)[0]).mean(1)


W = torch.randn(16, 12, generator=torch.Generator().manual_seed(0))
net = DDP(Net())
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
data = Utterances(300)
step = 0
for epoch in range(30):
    data.epoch = epoch
    t0 = time.time()
    for i, batch in enumerate(data):
        x = torch.randn(len(batch), 20, 16) + torch.randn(len(batch), 1, 16)
        y = (x.mean(1) @ W).argmax(1)
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
        step += 1
        time.sleep(0.4)
        if step % 5 == 0:
            log("epoch %d, batch %d, %d utts, loss %.4f", epoch, i, len(batch), loss.item())
    log("epoch %d finished: %d batches in %.1f s", epoch, i + 1, time.time() - t0)
    dist.barrier()
    if rank == 0:
        torch.save({"model": net.module.state_dict(), "epoch": epoch}, f"epoch-{epoch}.pt")
        log("saved epoch-%d.pt", epoch)
dist.destroy_process_group()
