import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
w = torch.zeros(256)
for step in range(1, 201):
    g = torch.randn(256)
    dist.all_reduce(g)
    w -= 0.01 * g
    time.sleep(0.3)
    if rank == 0:
        print(f"step {step} |w| {w.norm():.4f}", flush=True)
dist.destroy_process_group()
