"""Writes train.ipynb (so that the cells can be read here)."""
import json

CELLS = [
    ("markdown", "# Two moons\nA small classifier, run from top to bottom every night."),
    ("code", "import time\nimport numpy as np\nimport torch\ntorch.manual_seed(0)\nrng = np.random.default_rng(0)"),
    ("code", "n = 1200\nt = rng.uniform(0, np.pi, n)\nk = rng.integers(0, 2, n)\n"
             "xy = np.c_[np.cos(t) + k, np.sin(t) * (1 - 2 * k) + 0.5 * k] + 0.1 * rng.normal(size=(n, 2))\n"
             "x, y = torch.tensor(xy, dtype=torch.float32), torch.tensor(k)\nprint(x.shape, y.float().mean().item())"),
    ("code", "# picture of the density on a log scale (empty bins give a warning)\n"
             "h, _, _ = np.histogram2d(xy[:, 0], xy[:, 1], bins=40)\nlogh = np.log(h)\nprint('bins', h.size, 'empty', int((h == 0).sum()))"),
    ("code", "net = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))\n"
             "opt = torch.optim.Adam(net.parameters(), lr=5e-3)\n"
             "def epoch():\n    perm = torch.randperm(n)\n    tot = 0.0\n    for i in perm.split(60):\n"
             "        loss = torch.nn.functional.cross_entropy(net(x[i]), y[i])\n        opt.zero_grad(); loss.backward(); opt.step()\n"
             "        tot += loss.item() * len(i)\n        time.sleep(0.15)\n    return tot / n"),
    ("code", "# burn-in, no output\nhist = [epoch() for _ in range(10)]"),
    ("code", "for e in range(10, 20):\n    hist.append(epoch())\n    print(f'epoch {e} loss {hist[-1]:.4f}')"),
    ("code", "acc = (net(x).argmax(1) == y).float().mean().item()\nprint(f'accuracy {acc:.4f}')\ntorch.save(net.state_dict(), 'moons.pt')"),
]
nb = {"cells": [], "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
      "nbformat": 4, "nbformat_minor": 5}
for i, (kind, text) in enumerate(CELLS):
    cell = {"cell_type": kind, "id": f"c{i}", "metadata": {}, "source": text.splitlines(keepends=True)}
    if kind == "code":
        cell.update(execution_count=None, outputs=[])
    nb["cells"].append(cell)
with open("train.ipynb", "w") as f:
    json.dump(nb, f, indent=1)
