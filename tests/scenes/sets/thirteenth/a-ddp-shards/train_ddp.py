import logging, os, random, time
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
RANK, WORLD = dist.get_rank(), dist.get_world_size()
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s rank {RANK} | %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger()
torch.manual_seed(0)
torch.set_num_threads(1)
metrics_group = dist.new_group(backend="gloo")

BATCH, SEQ, V = 8, 24, 256


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, 48)
        self.rnn = nn.LSTM(48, 96, batch_first=True)
        self.head = nn.Linear(96, V)

    def forward(self, x):
        return self.head(self.rnn(self.emb(x))[0])


def read_shard(epoch):
    """The documents of this rank; empty ones are dropped."""
    with open(f"shards/part-{(epoch * WORLD + RANK) % 4}.txt") as f:
        return [line.strip() for line in f if line.strip()]


def batches(docs):
    random.Random(RANK).shuffle(docs)
    for i in range(0, len(docs), BATCH):
        yield torch.tensor([list((d * 9).encode()[:SEQ + 1].ljust(SEQ + 1)) for d in docs[i:i + BATCH]])


model = DDP(LM())
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
log.info("world %d, %d params", WORLD, sum(p.numel() for p in model.parameters()))
step = 0
for epoch in range(6):
    total = n = 0
    for x in batches(read_shard(epoch)):
        loss = nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.18)
        total, n, step = total + loss.item(), n + 1, step + 1
        if step % 10 == 0 and RANK == 0:
            log.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
    log.info("end of epoch %d after %d batches", epoch, n)
    both = torch.tensor([total, float(n)])
    dist.all_reduce(both, group=metrics_group)
    if RANK == 0:
        log.info("epoch %d mean loss %.4f, saving", epoch, both[0] / both[1])
        torch.save(model.module.state_dict(), "lm.pt")
dist.destroy_process_group()
