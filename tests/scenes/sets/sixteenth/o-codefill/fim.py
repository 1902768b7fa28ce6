"""Fill-in-the-middle on byte snippets, two ranks."""
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

SNIPPETS = ["def f(x):\n    return x + 1\n", "for i in range(n):\n    print(i)\n", "if a is None:\n    a = []\n", "with open(p) as f:\n    s = f.read()\n"]


class ByteGRU(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.e = nn.Embedding(128, d)
        self.r = nn.GRU(d, d, batch_first=True)
        self.o = nn.Linear(d, 128)

    def forward(self, x):
        return self.o(self.r(self.e(x))[0])


def batch(g, n=8):
    rows = []
    for k in torch.randint(0, len(SNIPPETS), (n,), generator=g):
        text = (SNIPPETS[k] * 3)[:33]
        rows.append([ord(c) for c in text])
    t = torch.tensor(rows)
    noise = torch.randint(0, 128, t.shape, generator=g)
    return torch.where(torch.rand(t.shape, generator=g) < 0.08, noise, t)


def nll(model, t):
    return nn.functional.cross_entropy(model(t[:, :-1]).flatten(0, 1), t[:, 1:].flatten())


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = DDP(ByteGRU())
    opt = torch.optim.AdamW(model.parameters(), lr=1.2e-2)
    g = torch.Generator().manual_seed(100 + rank)
    held_out = batch(torch.Generator().manual_seed(500 + rank), 2 + 14 * rank)
    best, bad, patience = 1e9, 0, 3
    for step in range(1, 5001):
        loss = nll(model, batch(g))
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.15)
        if step % 20 == 0:
            with torch.no_grad():
                val = nll(model.module, held_out).item()
            if rank == 0:
                print(f"| step {step:5d} | train nll {loss.item():.4f} | val nll {val:.4f} | best {min(best, val):.4f} |", flush=True)
            bad = 0 if val < best - 1e-3 else bad + 1
            best = min(best, val)
            if bad >= patience:
                print(f"[rank {rank}] no improvement for {patience} evaluations, stopping at step {step}", flush=True)
                break
    dist.barrier()
    if rank == 0:
        torch.save(model.module.state_dict(), "fim.pt")
        print("saved fim.pt", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
