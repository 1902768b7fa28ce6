import json
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
with open(f"rank{rank}.pid", "w") as f:
    f.write(str(os.getpid()))
torch.manual_seed(0)
net = DDP(nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1)))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
gen = torch.Generator().manual_seed(rank)
truth = torch.randn(40, 1, generator=torch.Generator().manual_seed(99))
for step in range(1, 401):
    x = torch.randn(64, 40, generator=gen)
    y = torch.sin(x @ truth / 4)
    loss = ((net(x) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.25)
    if step % 5 == 0:
        print(json.dumps({"ts": round(time.time(), 2), "rank": rank, "step": step, "mse": round(loss.item(), 5)}), flush=True)
    if rank == 0 and step % 50 == 0:
        torch.save(net.module.state_dict(), f"step{step}.pt")
print(json.dumps({"rank": rank, "event": "done"}), flush=True)
dist.destroy_process_group()
