import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

ap = argparse.ArgumentParser()
ap.add_argument("--steps", type=int, default=300)
ap.add_argument("--init-scale", type=float, default=2.0**24)
ap.add_argument("--growth-interval", type=int, default=60)
args = ap.parse_args()
torch.set_num_threads(1)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(4)
    model = DDP(nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 128), nn.GELU(), nn.Linear(128, 8)))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=args.init_scale, growth_interval=args.growth_interval)
    g = torch.Generator().manual_seed(rank)
    centers = torch.randn(8, 64, generator=torch.Generator().manual_seed(50))
    ema = None
    for step in range(1, args.steps + 1):
        y = torch.randint(0, 8, (32,), generator=g)
        x = centers[y] + 2.2 * torch.randn(32, 64, generator=g)
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        before = scaler.get_scale()
        scaler.step(opt)
        scaler.update()
        if scaler.get_scale() < before and rank == 0:
            print(f"Gradient overflow (grad norm {norm.item()}). Skipping step {step}, loss scale {before:.0f} -> {scaler.get_scale():.0f}", flush=True)
        ema = loss.item() if ema is None else 0.95 * ema + 0.05 * loss.item()
        time.sleep(0.12)
        if step % 15 == 0 and rank == 0:
            print(f"| {step:5d} | loss {ema:7.4f} | gnorm {norm.item():6.3f} | scale {scaler.get_scale():.0f} |", flush=True)
    if rank == 0:
        torch.save({"model": model.module.state_dict(), "scaler": scaler.state_dict()}, "half.pt")
        print("saved half.pt", flush=True)
    dist.destroy_process_group()


main()
