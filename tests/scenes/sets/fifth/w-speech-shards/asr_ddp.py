"""Three ranks; each reads its own shards, which are unpacked into a cache shared by all the ranks of a box."""
import ctypes
import logging
import os
import time

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

SHARDS, ROWS, CACHE = 12, 480, "cache"


def unpack(shard, log):
    """Unpack a shard once; a lock file keeps two processes from doing it at the same time."""
    path, lock = f"{CACHE}/shard{shard:02d}.npy", f"{CACHE}/shard{shard:02d}.lock"
    while not os.path.exists(path):
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            time.sleep(0.5)                      # somebody else is at it
            continue
        try:
            rows = np.random.default_rng(shard).normal(size=(ROWS, 41)).astype(np.float32)
            np.save(path + ".part.npy", rows)
            os.replace(path + ".part.npy", path)
        finally:
            os.remove(lock)
    return torch.from_numpy(np.load(path))


def main():
    ctypes.CDLL(None).prctl(1, 15)               # go away together with torchrun
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING,
                        format=f"%(asctime)s r{rank} %(levelname)s %(message)s")
    log = logging.getLogger("asr")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    os.makedirs(CACHE, exist_ok=True)
    net = torch.nn.Sequential(torch.nn.Linear(40, 48), torch.nn.ReLU(), torch.nn.Linear(48, 1))
    model = DDP(net)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    step = 0
    for rnd in range(SHARDS // world):
        shard = rnd * world + rank
        rows = unpack(shard, log)
        for batch in rows.split(8):
            loss = ((model(batch[:, :40]).squeeze(1) - batch[:, 40]) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.25)
            step += 1
            if step % 10 == 0:
                log.info("shard round %d step %d/240 loss %.4f", rnd, step, loss.item())
    log.info("training done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
