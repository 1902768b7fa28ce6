"""Two ranks, each with the recordings of its own site (unequal numbers); DDP's Join covers the difference."""
import logging
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s rank{rank} %(levelname)s %(message)s")
torch.manual_seed(0)
g = torch.Generator().manual_seed(rank)
n = (36, 44)[rank]
X = torch.randn(n * 16, 40, generator=g)
y = X[:, :4].prod(1, keepdim=True).tanh() + X[:, 4:8].sum(1, keepdim=True)
net = DDP(nn.Sequential(nn.Linear(40, 64), nn.GELU(), nn.Linear(64, 1)), find_unused_parameters=True)
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
logging.info("%d batches an epoch here", n)
os.makedirs("ckpt", exist_ok=True)
for epoch in range(7):
    with Join([net]):
        for i in range(n):
            s = slice(i * 16, i * 16 + 16)
            loss = nn.functional.mse_loss(net(X[s]), y[s])
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.3)
            if i % 12 == 11:
                logging.info("epoch %d batch %d/%d loss %.4f", epoch, i + 1, n, loss.item())
        logging.warning("epoch %d: no more batches on this rank, shadowing the others", epoch)
    if rank == 0:
        torch.save(net.module.state_dict(), f"ckpt/epoch{epoch}.pt")
        logging.info("epoch %d: saved", epoch)
dist.destroy_process_group()
