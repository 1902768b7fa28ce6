"""Pretraining, data parallel over gloo; each rank streams its own shards from the object store."""
import logging
import os
import time
import urllib.request

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
log = logging.getLogger("pretrain")
torch.set_num_threads(1)
torch.manual_seed(0)
PAUSE = float(os.environ.get("PAUSE", 0.42))
URL = f"http://127.0.0.1:{open('gateway.port').read().strip()}/tokens"


class LM(nn.Module):
    def __init__(self, v=64, d=64):
        super().__init__()
        self.tok, self.pos = nn.Embedding(v, d), nn.Embedding(32, d)
        self.enc = nn.TransformerEncoderLayer(d, 4, 128, 0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(d, v)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return self.head(self.enc(self.tok(x) + self.pos.weight[: x.size(1)], src_mask=mask))


def shards():
    num = 0
    while True:
        with urllib.request.urlopen(f"{URL}/r{rank}-{num:03d}.bin") as r:
            toks = np.frombuffer(r.read(), np.uint16).reshape(-1, 33)
        log.info("shard r%d-%03d: %d sequences", rank, num, len(toks))
        for i in range(0, 40, 8):
            yield torch.from_numpy(toks[i:i + 8].astype(np.int64))
        num += 1


net = DDP(LM())
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
t0 = time.time()
for step, batch in enumerate(shards(), 1):
    loss = F.cross_entropy(net(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
    opt.zero_grad(set_to_none=True)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    time.sleep(PAUSE)
    if rank == 0:
        log.info("step %d/2000 | loss %.4f | gnorm %.2f | %.0f tok/s", step, loss.item(), norm.item(), step * 8 * 32 * world / (time.time() - t0))
        if step % 50 == 0:
            torch.save(net.module.state_dict(), "last.pt")
            log.info("saved last.pt at step %d", step)
    if step == 2000:
        break
