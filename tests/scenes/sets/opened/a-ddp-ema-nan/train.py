"""DDP training that publishes bias-corrected EMA weights."""
import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from safetensors.torch import save_file
from torch.nn.parallel import DistributedDataParallel as DDP


class Ema:
    """Zero-initialised running mean with Adam's bias correction."""

    def __init__(self, net, decay=0.99):
        self.decay, self.updates = decay, 0
        self.shadow = {k: torch.zeros_like(v) for k, v in net.state_dict().items()}

    def update(self, net):
        self.updates += 1
        for k, v in net.state_dict().items():
            self.shadow[k].mul_(self.decay).add_(v, alpha=1 - self.decay)

    def weights(self):
        return {k: v / (1 - self.decay ** self.updates) for k, v in self.shadow.items()}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--accum", type=int, default=1)
    args = ap.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    net = DDP(nn.Sequential(nn.Linear(48, 128), nn.SiLU(), nn.Linear(128, 12)))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    ema = Ema(net.module)
    os.makedirs("ckpt", exist_ok=True)
    g = torch.Generator().manual_seed(77)
    w = torch.randn(48, 12, generator=g)
    for it in range(1, 1201):
        x = torch.randn(32, 48)
        loss = nn.functional.cross_entropy(net(x), (x @ w).argmax(1)) / args.accum
        loss.backward()
        if args.accum > 1:
            if it % args.accum == 0:
                opt.step()
                opt.zero_grad()
                ema.update(net.module)
        else:
            opt.step()
            opt.zero_grad()
        time.sleep(0.18)
        if rank == 0 and it % 20 == 0:
            print(f"iter {it:>5} loss {loss.item() * args.accum:.4f}", flush=True)
        if rank == 0 and it % 100 == 0:
            save_file(ema.weights(), f"ckpt/ema_{it:06d}.safetensors")
            print(f"saved ckpt/ema_{it:06d}.safetensors", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
