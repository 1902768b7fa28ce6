import argparse
import logging
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import yaml
from torch.nn.parallel import DistributedDataParallel as DDP

from lanes.data import batches, shards_of


def net(w):
    return nn.Sequential(nn.Conv2d(3, w, 3, padding=1), nn.ReLU(), nn.Conv2d(w, w, 3, padding=1), nn.ReLU(), nn.Conv2d(w, 1, 1))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--config", required=True)
    cfg = yaml.safe_load(open(p.parse_args().config))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank {rank}] %(name)s: %(message)s")
    log = logging.getLogger("lanes.train")
    torch.manual_seed(0)
    model = DDP(net(cfg["model"]["width"]))
    opt = torch.optim.SGD(model.parameters(), lr=cfg["train"]["lr"], momentum=0.9)
    loss_fn = nn.BCEWithLogitsLoss()
    mine = shards_of(cfg["data"]["root"], rank, world)
    if rank == 0:
        log.info("world=%d, %d shards per rank, config=%s", world, len(mine), cfg["train"])
    step = 0
    for epoch in range(cfg["train"]["epochs"]):
        for path in mine:
            for x, y in batches(path, cfg["train"]["batch"]):
                opt.zero_grad()
                loss = loss_fn(model(x).squeeze(1), y)
                loss.backward()
                opt.step()
                step += 1
                time.sleep(0.3)
                if rank == 0 and step % cfg["train"]["log_every"] == 0:
                    log.info("epoch %d step %d loss %.4f lr %.3g", epoch, step, loss.item(), cfg["train"]["lr"])
        if rank == 0:
            os.makedirs("out", exist_ok=True)
            torch.save({"model": model.module.state_dict(), "epoch": epoch}, "out/lanes.pt")
            log.info("saved out/lanes.pt (epoch %d)", epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
