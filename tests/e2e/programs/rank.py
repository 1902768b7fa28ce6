"""One rank of a data-parallel job over gloo: gradients are averaged by all_reduce."""

import os
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
w = torch.zeros(4)
for step in range(1, 2000):
    x = torch.randn(16, 4)
    gap = x @ (w - torch.ones(4))
    grad = (x * gap[:, None]).mean(0)
    dist.all_reduce(grad)
    w -= 0.05 * grad / dist.get_world_size()
    if rank == 0:
        print(f"step {step}/2000 loss {float((gap**2).mean()):.4f}", flush=True)
    time.sleep(0.1)
print("rank", os.environ["RANK"], "done", flush=True)
