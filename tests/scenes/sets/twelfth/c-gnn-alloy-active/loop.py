"""Active learning for an alloy: train the graph network, label the most uncertain cells with the slow simulation, again."""
import time

import torch
from sim import label, random_cells
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)


class Energy(nn.Module):
    def __init__(self, h=32):
        super().__init__()
        self.emb = nn.Embedding(3, h)
        self.conv = nn.ModuleList(nn.Linear(2 * h, h) for _ in range(2))
        self.out = nn.Linear(h, 1)

    def forward(self, z, adj):
        x = self.emb(z)
        for c in self.conv:
            x = x + torch.nn.functional.silu(c(torch.cat([x, adj @ x], -1)))
        return self.out(x).mean((1, 2))


def fit(models, data, steps, tag):
    z, adj, e = data
    opts = [torch.optim.Adam(m.parameters(), lr=3e-3) for m in models]
    for step in range(1, steps + 1):
        total = 0.0
        for m, opt in zip(models, opts):
            pick = torch.randint(len(z), (24,))
            loss = ((m(z[pick], adj[pick]) - e[pick]) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        time.sleep(0.05)
        if step % 20 == 0:
            print(f"[{tag}] step {step}/{steps} loss {total / len(models):.5f}", flush=True)


def main():
    gen = torch.Generator().manual_seed(1)
    models = [Energy() for _ in range(3)]
    z, adj = random_cells(40, gen)
    print("labelling 40 first cells", flush=True)
    data = (z, adj, label(z, adj, seconds=8))
    for rnd in range(1, 4):
        fit(models, data, 110, f"round {rnd}/3")
        z, adj = random_cells(200, gen)
        with torch.no_grad():
            spread = torch.stack([m(z, adj) for m in models]).std(0)
        pick = spread.topk(20).indices
        print(f"round {rnd}/3: disagreement max {spread.max():.4f} mean {spread.mean():.4f}; simulating 20 cells", flush=True)
        e = label(z[pick], adj[pick], seconds=24)
        data = tuple(torch.cat(pair) for pair in zip(data, (z[pick], adj[pick], e)))
        torch.save({"models": [m.state_dict() for m in models], "n": len(data[0])}, "committee.pt")
    fit(models, data, 110, "final")
    print(f"finished with {len(data[0])} labelled cells", flush=True)


if __name__ == "__main__":
    main()
