"""Bird call detector on raw audio; an activation hook feeds the histograms that --hist writes after each epoch."""
import argparse
import os
import resource
import time

import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=20)
ap.add_argument("--hist", action="store_true", help="write activation histograms after each epoch")
ap.add_argument("--max-ram-gb", type=float, default=1.8, help="share of this box's memory that we may take")
args = ap.parse_args()

STEPS_PER_EPOCH = 60
BATCH, SAMPLES = 96, 10000


def be_nice(gb):
    """The box is shared: never take more than our share on top of what the imports need."""
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + int(gb * 2 ** 30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(SAMPLES))
        self.bias = nn.Parameter(torch.zeros(SAMPLES))

    def forward(self, x):
        return torch.tanh(x * self.gain + self.bias)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate()
        self.head = nn.Sequential(nn.Linear(SAMPLES, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, x):
        return self.head(self.gate(x))


def clips(n, g):
    t = torch.arange(SAMPLES) / SAMPLES
    y = torch.randint(0, 2, (n,), generator=g)
    call = torch.sin(2 * torch.pi * 40 * t) * torch.exp(-8 * (t - 0.5) ** 2)
    x = torch.randn(n, SAMPLES, generator=g) + 0.35 * y[:, None] * call
    return x, y


def main():
    be_nice(args.max_ram_gb)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    g = torch.Generator().manual_seed(1)
    model = Detector()
    acts = []
    model.gate.register_forward_hook(lambda mod, inp, out: acts.append(out.detach()))
    opt = torch.optim.Adam(model.parameters(), lr=1e-4)
    print(f"detector with {sum(p.numel() for p in model.parameters()):,} weights, {STEPS_PER_EPOCH} steps an epoch")
    os.makedirs("weights", exist_ok=True)
    for epoch in range(1, args.epochs + 1):
        t0, total, hits = time.time(), 0.0, 0
        for _ in range(STEPS_PER_EPOCH):
            x, y = clips(BATCH, g)
            out = model(x)
            loss = nn.functional.cross_entropy(out, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            hits += (out.argmax(1) == y).sum().item()
            time.sleep(0.1)
        if args.hist:
            torch.save(torch.histc(torch.cat(acts), bins=64), f"weights/hist_{epoch:02d}.pt")
            acts.clear()
        print(f"epoch {epoch:2d}/{args.epochs}  loss {total / STEPS_PER_EPOCH:.4f}  "
              f"acc {hits / (STEPS_PER_EPOCH * BATCH):.3f}  {time.time() - t0:.1f}s")
        if epoch % 5 == 0:
            torch.save(model.state_dict(), f"weights/epoch_{epoch:02d}.pt")


if __name__ == "__main__":
    main()
