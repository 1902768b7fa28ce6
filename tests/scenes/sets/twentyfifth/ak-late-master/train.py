"""Two hosts' worth of ranks on one box: python train.py RANK. Rank 0 makes the vocabulary first."""
import datetime
import socket
import sys
import time
import traceback

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

RANK, PORT, STEPS = int(sys.argv[1]), int(sys.argv[2]), 230


def say(*a):
    print(time.strftime("%H:%M:%S"), f"rank {RANK}:", *a, flush=True)


def wait_for_master():
    n = 0
    while True:
        n += 1
        try:
            socket.create_connection(("127.0.0.1", PORT), timeout=3).close()
            return
        except OSError as e:
            say(f"ERROR master not reachable, attempt {n}: {e}")
            if n == 5:
                traceback.print_exc()
            time.sleep(4)


def make_vocab():
    say("counting words for the vocabulary")
    gen = torch.Generator().manual_seed(0)
    count = torch.zeros(256)
    for part in range(6):
        count += torch.bincount(torch.randint(0, 256, (200000,), generator=gen), minlength=256)
        time.sleep(6)
        say(f"part {part + 1}/6 counted")
    return count


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if RANK == 0:
        make_vocab()
    else:
        wait_for_master()
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{PORT}", rank=RANK, world_size=2,
                            timeout=datetime.timedelta(minutes=5))
    say("process group ready")
    model = DDP(nn.Sequential(nn.EmbeddingBag(256, 64), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16)),
                find_unused_parameters=True)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    gen = torch.Generator().manual_seed(10 + RANK)
    for step in range(1, STEPS + 1):
        y = torch.randint(0, 16, (32,), generator=gen)
        x = torch.randint(0, 256, (32, 16), generator=gen)
        x = torch.where(torch.rand(32, 16, generator=gen) < 0.25, y[:, None] * 16 + x % 16, x)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.33)
        if step % 10 == 0 and RANK == 0:
            say(f"step {step}/{STEPS} loss {loss.item():.4f}")
        if step % 60 == 0 and RANK == 0:
            torch.save(model.module.state_dict(), f"model-{step}.pt")
    dist.barrier()
    say("all done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
