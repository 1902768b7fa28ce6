"""Two ranks. Every 90 steps rank 0 writes samples and scores them with a judge, the others wait at a barrier."""
import logging
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

V, T, B, STEPS = 180, 32, 8, int(os.environ.get("STEPS", 300))
EVERY = int(os.environ.get("EVERY", 90))
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.set_num_threads(1)
logging.basicConfig(format="%(asctime)s.%(msecs)03d %(levelname)-7s r%(rank)s | %(message)s".replace("%(rank)s", str(rank)), datefmt="%H:%M:%S", level=logging.INFO)
log = logging.getLogger()
table = torch.randint(0, V, (V, 3), generator=torch.Generator().manual_seed(3))


def batch(g):
    x = torch.empty(B, T + 1, dtype=torch.long)
    x[:, 0] = torch.randint(0, V, (B,), generator=g)
    for t in range(T):
        x[:, t + 1] = table[x[:, t], torch.randint(0, 3, (B,), generator=g)]
    return x[:, :-1], x[:, 1:]


class LM(nn.Module):
    def __init__(self, d=72):
        super().__init__()
        self.tok, self.rnn, self.head = nn.Embedding(V, d), nn.LSTM(d, 2 * d, batch_first=True), nn.Linear(2 * d, V)

    def forward(self, x):
        return self.head(self.rnn(self.tok(x))[0])


@torch.no_grad()
def samples(net, n=24):
    """Slowly, one token after the other, as it is; the judge takes its time as well."""
    wrong = tokens = 0
    for _ in range(n):
        x = torch.randint(0, V, (1, 1))
        for _ in range(20):
            y = torch.multinomial(net(x)[0, -1].softmax(0), 1)
            wrong += int(y not in table[x[0, -1]])
            tokens += 1
            x = torch.cat([x, y[None]], 1)
        time.sleep(1.1)
    return wrong / tokens


torch.manual_seed(0)
net = LM()
model = DDP(net)
opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
gen = torch.Generator().manual_seed(rank)
for step in range(1, STEPS + 1):
    x, y = batch(gen)
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.27)
    if step % 3 == 0:
        log.info("step %4d/%d loss %.4f", step, STEPS, loss.item())
    if step % EVERY == 0:
        if rank == 0:
            log.info("step %4d: sampling and judging on rank 0, about half a minute, the other rank waits", step)
            log.warning("step %4d: sampling without a KV cache, this is slow", step)
            bad = samples(net)
            torch.save({"net": net.state_dict(), "step": step}, "last.pt")
            log.info("step %4d: error rate of the samples %.3f, failed samples 0, last.pt written", step, bad)
        dist.barrier()
if rank == 0:
    log.info("done")
dist.destroy_process_group()
