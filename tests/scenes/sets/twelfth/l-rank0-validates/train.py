import os
import time
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
net = DDP(nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 24)))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=150)
torch.manual_seed(10 + rank)
ACCUM = 2


def log0(text):
    if rank == 0:
        print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def validate(step):
    """Beam search on the dev set, rank 0 only; the other rank waits at the barrier."""
    if rank == 0:
        log0(f"validation at step {step} on rank 0, the others wait")
        total = 0.0
        net.module.eval()
        with torch.no_grad():
            for _ in range(40):
                x = torch.randn(32, 24)
                total += nn.functional.mse_loss(net.module(x), x.roll(1, 1)).item()
                time.sleep(0.4)
        net.module.train()
        log0(f"validation done, loss {total / 40:.4f}")
        torch.save(net.module.state_dict(), f"ckpt_{step}.pt")
    dist.barrier()


for step in range(1, 451):
    for micro in range(ACCUM):
        x = torch.randn(32, 24)
        loss = nn.functional.mse_loss(net(x), x.roll(1, 1)) / ACCUM
        loss.backward()
    opt.step()
    opt.zero_grad()
    sched.step()
    time.sleep(0.08)
    if step % 15 == 0:
        log0(f"step {step}/450 loss {loss.item() * ACCUM:.4f} lr {sched.get_last_lr()[0]:.4f}")
    if step % 150 == 0:
        validate(step)
log0("finished")
dist.destroy_process_group()
