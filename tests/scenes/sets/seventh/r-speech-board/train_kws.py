"""Keyword spotting with Accelerate; metrics go to metrics.jsonl for the board."""
import json
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def clips(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 6, (n,), generator=g)
    t = torch.linspace(0, 1, 200)
    x = torch.sin(6.28 * (3 + 2 * y[:, None]) * t) + 0.8 * torch.randn(n, 200, generator=g)
    return TensorDataset(x[:, None], y)


def main():
    acc = Accelerator(cpu=True)
    set_seed(21)
    net = nn.Sequential(nn.Conv1d(1, 16, 9, 2), nn.ReLU(), nn.Conv1d(16, 16, 9, 2), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 44, 6))
    opt = torch.optim.AdamW(net.parameters(), lr=5e-4)
    net, opt, train, dev = acc.prepare(net, opt, DataLoader(clips(800, 1), batch_size=16, shuffle=True), DataLoader(clips(160, 2), batch_size=16))
    out = open("metrics.jsonl", "w", buffering=1)
    step = 0
    for epoch in range(8):
        net.train()
        for x, y in train:
            loss = nn.functional.cross_entropy(net(x), y)
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            step += 1
            time.sleep(0.2)
            if step % 10 == 0:
                out.write(json.dumps({"step": step, "loss": loss.item()}) + "\n")
                acc.print(f"[train] epoch {epoch} step {step}/400 loss {loss.item():.4f}", flush=True)
        net.eval()
        good = n = 0
        with torch.no_grad():
            for x, y in dev:
                p, y = acc.gather_for_metrics((net(x).argmax(1), y))
                good, n = good + (p == y).sum().item(), n + len(y)
                time.sleep(0.05)
        acc.print(f"[train] epoch {epoch} dev accuracy {good / n:.3f}", flush=True)
        acc.save_state("state")
    acc.print("[train] finished", flush=True)


if __name__ == "__main__":
    main()
