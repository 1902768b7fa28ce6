"""DDP over gloo, every rank streams its own shards."""
import http.client
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from datetime import timedelta
from torch.nn.parallel import DistributedDataParallel as DDP

torch.set_num_threads(1)
PACE = float(os.environ.get("PACE", 0.42))
SEQ, BATCH = 96, 4
dist.init_process_group("gloo", timeout=timedelta(minutes=30))
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(5)


def say(*a):
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} [rank{rank}]", *a, flush=True)


def stream(rank):
    """Blocks of SEQ+1 bytes, shard after shard; the shard sizes are not the same on all ranks."""
    n = 0
    while True:
        con = http.client.HTTPConnection("127.0.0.1", int(open("store/port").read()))
        con.request("GET", f"/shard-{rank:02d}-{n:05d}")
        ids = torch.tensor(list(con.getresponse().read()))
        con.close()
        use = 17 + 6 * rank
        for i in range(use):
            at = torch.randint(0, len(ids) - SEQ - 1, (BATCH,))
            yield torch.stack([ids[a: a + SEQ + 1] for a in at])
        n += 1


class LM(nn.Module):
    def __init__(self, d=96, layers=2):
        super().__init__()
        self.emb, self.pos = nn.Embedding(256, d), nn.Parameter(torch.randn(SEQ, d) * 0.02)
        self.blocks = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 4, 2 * d, 0.0, batch_first=True, norm_first=True), layers)
        self.head = nn.Linear(d, 256)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.head(self.blocks(self.emb(x) + self.pos, mask=mask, is_causal=True))


model = DDP(LM())
opt = torch.optim.AdamW(model.parameters(), lr=6e-4)
data = stream(rank)
say(f"world size {world}, gloo")
t = time.time()
for step in range(1, 2001):
    x = next(data)
    logits = model(x[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(PACE)
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    if rank == 0:
        now = time.time()
        say(f"step {step} loss {mean.item() / world:.4f} tok/s {world * BATCH * SEQ / (now - t):.0f}")
        t = now
        if step % 60 == 0:
            torch.save(model.module.state_dict(), "last.pt")
            say("saved last.pt")
dist.destroy_process_group()
