import os
import time
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

print(f"[{os.environ['RANK']}] initializing process group", flush=True)
dist.init_process_group("gloo")
model = DDP(nn.Linear(100, 10))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(400):
    loss = model(torch.randn(32, 100)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.2)
    if dist.get_rank() == 0 and step % 10 == 0:
        print(f"step {step} loss {loss.item():.5f}", flush=True)
