"""successive halving over learning rates and widths; bad trials are cut off or fail, as usual"""
import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import math
import sys
import time
import torch
from torch import nn

torch.set_num_threads(1)
CONFIGS = [(10.0, 16), (1e-3, 16), (3.0, 64), (1e-2, 64), (1e-5, 16), (30.0, 64), (3e-2, 32), (1e-4, 64)]
torch.manual_seed(0)
x = torch.randn(1500, 15)
y = x[:, :2].prod(1, keepdim=True) + x[:, 2:3]


class Trial:
    def __init__(self, number, lr, width):
        torch.manual_seed(number)
        self.number, self.lr, self.width, self.steps = number, lr, width, 0
        self.net = nn.Sequential(nn.Linear(15, width), nn.ReLU(), nn.Linear(width, 1))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=lr, momentum=0.9)

    def run(self, steps):
        for _ in range(steps):
            k = torch.randint(0, 1500, (32,))
            loss = nn.functional.mse_loss(self.net(x[k]), y[k])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.steps += 1
            time.sleep(0.09)
            if self.steps % 10 == 0:
                print(f"[trial {self.number}] step {self.steps} loss {loss.item():.5g}", flush=True)
        with torch.no_grad():
            return nn.functional.mse_loss(self.net(x), y).item()


alive = [Trial(i, lr, w) for i, (lr, w) in enumerate(CONFIGS)]
budget = 40
while len(alive) > 1:
    scores = []
    for t in alive:
        s = t.run(budget)
        if not math.isfinite(s):
            print(f"[search] Trial {t.number} failed with value {s}: lr={t.lr} width={t.width}", file=sys.stderr, flush=True)
            s = float("inf")
        scores.append((s, t.number, t))
    scores.sort(key=lambda r: r[:2])
    keep = max(1, len(scores) // 2)
    for s, n, t in scores[keep:]:
        print(f"[search] Trial {n} pruned at step {t.steps} with value {s:.5g}.", file=sys.stderr, flush=True)
    alive, budget = [t for _, _, t in scores[:keep]], budget * 2
best = alive[0]
print(f"[search] best trial {best.number}: lr={best.lr} width={best.width} mse={scores[0][0]:.5f}", file=sys.stderr, flush=True)
torch.save(best.net.state_dict(), "best_trial.pt")
