"""Keyword spotting, data parallel. Every rank reads its own shard of the day's recordings."""
import logging
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

torch.set_num_threads(1)
FRAMES, MELS, WORDS, BATCH = 40, 20, 12, 24
# recordings a shard, from the manifest
MANIFEST = [964, 968, 962, 969, 975, 967, 970, 966, 971, 963]


def read_shard(index):
    """Recordings of one shard; the ones shorter than 0.3 s are thrown away."""
    g = torch.Generator().manual_seed(900 + index)
    n = MANIFEST[index % len(MANIFEST)]
    length = torch.rand(n, generator=g) * 2.0 + 0.3
    if index == 5:                      # the recorder in hall B cut its clips that day
        length[::11] = 0.2
    y = torch.randint(0, WORDS, (n,), generator=g)
    x = torch.randn(n, FRAMES * MELS, generator=g)
    x[torch.arange(n), y * 7] += 4.0
    keep = length >= 0.3
    return x[keep], y[keep]


def batches(index):
    x, y = read_shard(index)
    for i in range(len(x) // BATCH):    # drop the last, short batch
        time.sleep(0.22)
        yield x[i * BATCH:(i + 1) * BATCH], y[i * BATCH:(i + 1) * BATCH]


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    log = logging.getLogger("kws")
    logging.basicConfig(stream=sys.stdout, level=logging.INFO if rank == 0 else logging.WARNING,
                        format="%(asctime)s %(name)s %(levelname)s %(message)s")
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(FRAMES * MELS, 128), nn.ReLU(), nn.Linear(128, WORDS))
    model = DDP(net)
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    log.info("world size %d, %d parameters", world, sum(p.numel() for p in net.parameters()))
    os.makedirs("ckpt", exist_ok=True)
    step = 0
    for epoch in range(1, 13):
        t0 = time.time()
        for x, y in batches((epoch - 1) * world + rank):
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            if step % 5 == 0:
                log.info("epoch %d step %d loss %.4f lr %.3g", epoch, step, loss.item(), opt.param_groups[0]["lr"])
        dist.barrier()                  # everybody is through the epoch
        log.info("epoch %d done in %.1fs", epoch, time.time() - t0)
        if rank == 0:
            torch.save({"model": net.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, f"ckpt/kws_{epoch:02d}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
