import argparse
import json
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

p = argparse.ArgumentParser()
p.add_argument("--config", required=True)
cfg = json.load(open(p.parse_args().config))
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
net = DistributedDataParallel(nn.Sequential(nn.Linear(40, cfg["width"]), nn.ReLU(), nn.Linear(cfg["width"], cfg["subjects"])))
opt = torch.optim.SGD(net.parameters(), cfg["lr"], momentum=0.9)
centers = torch.randn(cfg["subjects"], 40)
g = torch.Generator().manual_seed(rank)
for epoch in range(cfg["epochs"]):
    total = 0.0
    for _ in range(20):
        y = torch.randint(0, cfg["subjects"], (cfg["batch"],), generator=g)
        x = centers[y] + torch.randn(cfg["batch"], 40, generator=g)
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
        time.sleep(0.2)
    if rank == 0:
        print(f"[Epoch {epoch}] loss={total / 20:.4f}", flush=True)
        torch.save(net.module.state_dict(), "gait.pt")
dist.destroy_process_group()
