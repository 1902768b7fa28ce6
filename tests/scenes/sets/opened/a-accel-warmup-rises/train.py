"""Class-incremental warm-up: starts with 2 classes, one more every 20 steps until 10; lr rises linearly meanwhile."""
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed

WARMUP, TOTAL = 160, 480


def main():
    acc = Accelerator(cpu=True)
    set_seed(13)
    centers = torch.randn(10, 40)
    net = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 10))
    opt = torch.optim.AdamW(net.parameters(), lr=1.5e-3)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / WARMUP))
    net, opt, sched = acc.prepare(net, opt, sched)
    avg = None
    for step in range(1, TOTAL + 1):
        k = min(10, 2 + step // 20)
        y = torch.randint(0, k, (64,))
        x = centers[y] + 0.8 * torch.randn(64, 40)
        loss = F.cross_entropy(net(x), y)
        acc.backward(loss)
        opt.step()
        sched.step()
        opt.zero_grad()
        avg = loss.item() if avg is None else 0.8 * avg + 0.2 * loss.item()
        time.sleep(0.15)
        if step % 8 == 0:
            phase = "warmup" if step <= WARMUP else "train "
            acc.print(f"{phase} step {step:4d}/{TOTAL} classes {k:2d} lr {sched.get_last_lr()[0]:.2e} loss {loss.item():.4f} "
                      f"smoothed {avg:.4f}", flush=True)
    acc.save_state("state_final")
    acc.print("Training finished.")


if __name__ == "__main__":
    main()
