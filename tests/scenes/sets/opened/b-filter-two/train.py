import os
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

STEPS = 160


def batches(rank):
    k = 0
    while True:
        path = f"shards/r{rank}_{k:03d}.npy"
        while not os.path.exists(path):          # the filter job may be behind us
            time.sleep(1)
        data = torch.from_numpy(np.load(path))
        for i in range(0, len(data), 16):
            yield data[i:i + 16]
        k += 1


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(500, 48), nn.Linear(48, 96), nn.GELU(), nn.Linear(96, 500))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    if rank == 0:
        print(f"[rank 0] world size {world}, {sum(p.numel() for p in model.parameters()):,} parameters", flush=True)
    t0 = time.time()
    for step, b in enumerate(batches(rank), start=1):
        logits = model(b[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, 500), b[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= world
        opt.step()
        time.sleep(0.35)
        if rank == 0 and step % 5 == 0:
            print(f"[rank 0] step {step}/{STEPS} | loss {loss.item():.4f} | {(time.time() - t0) / step:.2f} s/step", flush=True)
        if step == STEPS:
            break
    if rank == 0:
        torch.save(model.state_dict(), "model.pt")
        print("[rank 0] saved model.pt", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
