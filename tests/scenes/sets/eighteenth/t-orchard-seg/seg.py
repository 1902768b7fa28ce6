"""Data parallel segmentation of drone images of orchards."""
import logging
import os
import time

import torch
import torch.distributed as dist
from torch import nn

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
logging.basicConfig(level=logging.INFO, format=f"[rank{rank}] %(asctime)s %(message)s", datefmt="%H:%M:%S")
torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 2, 1))
ddp = nn.parallel.DistributedDataParallel(net)
opt = torch.optim.SGD(ddp.parameters(), 0.1, momentum=0.9)
# flights are dealt out to the ranks by their size, new flights come in every night
flights = {0: [41, 37, 22], 1: [44, 36, 12]}
mine = [f"flight{rank}{k}/{i:03d}" for k, n in enumerate(flights[rank]) for i in range(n)]
logging.info("%d tiles in %d flights", len(mine), len(flights[rank]))


def tile(g):
    x = torch.rand(4, 3, 32, 32, generator=g)
    y = (x.mean(1) > 0.5).long()
    return x, y


def gather_iou(inter, union):
    flag = f"eval_{epoch}.done"
    if rank == 0:
        torch.save((inter, union), flag)
    while not os.path.exists(flag):
        time.sleep(0.5)
    return inter / union


for epoch in range(1, 9):
    g = torch.Generator().manual_seed(100 * epoch + rank)
    for n, name in enumerate(mine[: 40 * epoch]):
        x, y = tile(g)
        out = ddp(x)
        loss = nn.functional.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.15)
        if n % 10 == 9:
            logging.info("epoch %d tile %d/%d loss %.4f", epoch, n + 1, len(mine[: 40 * epoch]), loss.item())
    pred = out.argmax(1)
    iou = gather_iou(float((pred & y).sum()), float((pred | y).sum()) + 1e-6)
    logging.info("epoch %d evaluated, canopy IoU %.3f", epoch, iou)
    if rank == 0:
        torch.save(net.state_dict(), f"seg_{epoch}.pt")
