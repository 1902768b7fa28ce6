"""One rank of a data-parallel job over gloo; --absent RANK leaves the collective at --at.

torchrun … ranks.py [--absent RANK] [--at STEP]
"""

import argparse
import threading
import time

import torch
import torch.distributed as dist
from tests.faultlab.programs.stamp import injected

parser = argparse.ArgumentParser()
parser.add_argument("--absent", type=int, default=-1)
parser.add_argument("--at", type=int, default=40)
args = parser.parse_args()

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
w = torch.zeros(4)
for step in range(1, 20000):
    x = torch.randn(16, 4)
    gap = x @ (w - torch.ones(4))
    grad = (x * gap[:, None]).mean(0)
    if rank == args.absent and step == args.at:
        injected()
        threading.Event().wait()
    dist.all_reduce(grad)
    w -= 0.05 * grad / dist.get_world_size()
    if rank == 0:
        print(f"step {step}/20000 loss {float((gap**2).mean()):.4f}", flush=True)
    time.sleep(0.2)
