"""Arrival picker for seismograms. Runs for one time slice, saves its state, leaves with 85 so that the queue takes it again."""
import argparse
import json
import os
import sys
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

REQUEUE = 85


def traces(n):
    g = torch.Generator().manual_seed(1)
    onset = torch.randint(20, 100, (n,), generator=g)
    t = torch.arange(128)
    wave = torch.sin(0.7 * t) * (t[None] >= onset[:, None]) * torch.exp(-0.03 * (t[None] - onset[:, None]).clamp(min=0))
    return TensorDataset((wave + 0.4 * torch.randn(n, 128, generator=g))[:, None], onset / 128)


class Picker(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(1, 8, 7, stride=2), nn.ReLU(), nn.Conv1d(8, 16, 7, stride=2), nn.ReLU(),
                                 nn.Flatten(), nn.Linear(16 * 28, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)[:, 0]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--slice", type=float, default=18, help="seconds of training a slice")
    ap.add_argument("--total", type=int, default=420)
    args = ap.parse_args()
    set_seed(5)
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    model = Picker()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, opt, loader = accelerator.prepare(model, opt, DataLoader(traces(2048), batch_size=32, shuffle=True))
    step = 0
    if os.path.exists("state/progress.json"):
        accelerator.load_state("state/acc")
        with open("state/progress.json") as f:
            step = json.load(f)["step"]
        accelerator.print(f"resumed at step {step}")
    stop_at = time.time() + args.slice
    while True:
        for x, y in loader:
            loss = nn.functional.smooth_l1_loss(model(x), y)
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()
            time.sleep(0.14)
            step += 1
            if step % 10 == 0:
                accelerator.print(f"step {step}/{args.total} loss {loss.item():.5f}")
            if step >= args.total or time.time() > stop_at:
                accelerator.save_state("state/acc")
                with open("state/progress.json", "w") as f:
                    json.dump({"step": step}, f)
                if step >= args.total:
                    accelerator.print(f"training finished at step {step}")
                    return 0
                accelerator.print(f"slice over at step {step}, state saved, asking for a requeue")
                return REQUEUE


if __name__ == "__main__":
    sys.exit(main())
