import argparse
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--stage", type=int, required=True)
    ap.add_argument("--size", type=int, default=16)
    ap.add_argument("--steps", type=int, default=50)
    ap.add_argument("--init", default=None)
    args = ap.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(9)
    net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 4))
    if args.init:
        net.load_state_dict(torch.load(args.init, map_location="cpu"))
    model = DDP(net)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    g = torch.Generator().manual_seed(100 * args.stage + rank)
    if rank == 0:
        print(f"stage {args.stage}: {args.steps} steps at {args.size}x{args.size}, world size {dist.get_world_size()}", flush=True)
    began = time.time()
    for step in range(1, args.steps + 1):
        y = torch.randint(0, 4, (32,), generator=g)
        x = 0.5 * torch.randn(32, 1, args.size, args.size, generator=g)
        half = args.size // 2
        for i, k in enumerate(y.tolist()):
            x[i, 0, (k // 2) * half:(k // 2 + 1) * half, (k % 2) * half:(k % 2 + 1) * half] += 1.0
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.3)
        if rank == 0 and step % 5 == 0:
            print(f"stage {args.stage} | iter {step:4d}/{args.steps} | loss {loss.item():.4f} | "
                  f"{64 * step / (time.time() - began):.0f} img/s", flush=True)
            with open("metrics.txt", "w") as f:
                f.write(f"train_loss {loss.item()}\ntrain_iter {step}\n")
    if rank == 0:
        os.makedirs("weights", exist_ok=True)
        torch.save(net.state_dict(), f"weights/stage{args.stage}.pt")
        print(f"stage {args.stage} done, weights/stage{args.stage}.pt written", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
