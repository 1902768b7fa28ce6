"""Roof segmentation from aerial tiles. torchrun --nproc_per_node=2 train_ddp.py"""
import glob, logging, os, threading, time
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

logging.basicConfig(format="%(asctime)s [%(levelname)s] %(message)s", level=logging.INFO)
log = logging.getLogger("roofs")


def write_shard(k):
    r = np.random.default_rng(k)
    x = r.normal(size=(8, 3, 24, 24)).astype("float32")
    np.savez("tiles/part-%04d.tmp.npz" % k, x=x, y=(x.mean(1, keepdims=True) > 0).astype("float32"))
    os.rename("tiles/part-%04d.tmp.npz" % k, "tiles/part-%04d.npz" % k)


class LateTiles(threading.Thread):
    """the drone team still uploads; take what comes in while we train"""

    def run(self):
        time.sleep(4)
        write_shard(40)
        log.info("fetched 1 late shard from the upload folder")


def net():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
                         nn.Conv2d(16, 1, 1))


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if rank == 0:
        os.makedirs("tiles", exist_ok=True)
        for k in range(40):
            write_shard(k)
        log.info("prepared %d shards", 40)
    dist.barrier()
    model = DDP(net())
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    lossf = nn.BCEWithLogitsLoss()
    if rank == 0:
        LateTiles(daemon=True).start()
    for epoch in range(1, 9):
        if epoch > 1:
            time.sleep(0.2)
        mine = sorted(glob.glob("tiles/part-????.npz"))[rank::world]
        dist.barrier()
        order = np.random.default_rng(epoch).permutation(len(mine))
        for i, j in enumerate(order, 1):
            d = np.load(mine[j])
            loss = lossf(model(torch.from_numpy(d["x"])), torch.from_numpy(d["y"]))
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.8)
            if rank == 0:
                log.info("epoch %d batch %d/%d loss %.4f", epoch, i, len(mine), loss.item())
        dist.barrier()
        if rank == 0:
            torch.save(model.module.state_dict(), "roofs_last.pt")
            log.info("epoch %d finished, saved roofs_last.pt", epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
