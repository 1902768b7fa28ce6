import datetime
import os
import time

import torch
import torch.distributed as dist
from torch import nn

print(f"[{datetime.datetime.now():%H:%M:%S}] rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}: building reranker", flush=True)
dist.init_process_group("gloo")
torch.set_num_threads(1)
torch.manual_seed(0)
net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(1, 401):
    good, bad = torch.randn(16, 64) + 0.3, torch.randn(16, 64)
    loss = nn.functional.margin_ranking_loss(net(good), net(bad), torch.ones(16, 1), margin=0.5)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.2)
    if step % 10 == 0 and dist.get_rank() == 0:
        print(f"[{datetime.datetime.now():%H:%M:%S}] step {step} margin loss {loss.item():.4f}", flush=True)
dist.destroy_process_group()
