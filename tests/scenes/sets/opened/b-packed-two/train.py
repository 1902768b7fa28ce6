import logging
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from packed import Packed

dist.init_process_group("gloo")
RANK, WORLD = dist.get_rank(), dist.get_world_size()
logging.basicConfig(level=logging.INFO if RANK == 0 else logging.WARNING,
                    format="%(asctime)s [%(levelname)s] [rank{}] %(message)s".format(RANK))
log = logging.getLogger(__name__)

BATCH, STEPS = 8, 300
torch.manual_seed(0)
model = DDP(nn.Sequential(nn.Embedding(400, 32), nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 400)))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
data = Packed(n=BATCH * STEPS, length=33, seed=RANK)
if RANK == 1:
    data.damage(BATCH * 90 + 3)
log.info("model ready, %d ranks, %d steps", WORLD, STEPS)

t0 = time.time()
for step in range(STEPS):
    rows = np.stack([data.read(i) for i in range(step * BATCH, (step + 1) * BATCH)])
    b = torch.from_numpy(rows)
    logits = model(b[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), b[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.3)
    if step % 10 == 0:
        log.info("iter %d/%d loss=%.4f tok/s=%.0f", step, STEPS, loss.item(),
                 WORLD * BATCH * 32 * (step + 1) / (time.time() - t0))
if RANK == 0:
    torch.save(model.module.state_dict(), "final.pt")
dist.destroy_process_group()
