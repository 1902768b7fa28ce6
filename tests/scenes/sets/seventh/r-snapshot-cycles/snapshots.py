"""Snapshot ensemble (cosine with warm restarts) with Lightning Fabric."""
import copy
import time

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CYCLE, CYCLES = 12, 4


def data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 20, generator=g)
    a = torch.randn(20, 8, generator=torch.Generator().manual_seed(0))
    y = torch.sin(x @ a).sum(1, keepdim=True) + 0.1 * torch.randn(n, 1, generator=g)
    return TensorDataset(x, y)


def main():
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    fabric.seed_everything(3)
    net = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.07, momentum=0.9)
    net, opt = fabric.setup(net, opt)
    train = fabric.setup_dataloaders(DataLoader(data(256, 1), batch_size=32, shuffle=True))
    sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=CYCLE, eta_min=1e-4)
    snaps = []
    for epoch in range(CYCLE * CYCLES):
        lr, total, t = opt.param_groups[0]["lr"], 0.0, time.time()
        for x, y in train:
            loss = nn.functional.mse_loss(net(x), y)
            opt.zero_grad()
            fabric.backward(loss)
            fabric.clip_gradients(net, opt, max_norm=5.0)
            opt.step()
            total += loss.item()
            time.sleep(0.2)
        sched.step()
        fabric.print(f"epoch {epoch + 1:>2}/{CYCLE * CYCLES} | lr {lr:.4f} | train mse {total / len(train):.4f} | {time.time() - t:.1f}s", flush=True)
        if (epoch + 1) % CYCLE == 0:
            snaps.append(copy.deepcopy(net.state_dict()))
            fabric.save(f"snap_{len(snaps)}.ckpt", {"model": net})
            fabric.print(f"snapshot {len(snaps)} saved", flush=True)
    fabric.print("ensemble of", len(snaps), "snapshots ready")


if __name__ == "__main__":
    main()
