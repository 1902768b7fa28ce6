import copy
import math
import time

import torch
from rich.console import Console
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
con = Console(width=110, force_terminal=False)
X = torch.randn(2000, 24)
Y = ((X[:, 0] * X[:, 1] > 0).long() + 2 * (X[:, 2] > 0).long())


def net():
    return nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))


def batch(n=64):
    i = torch.randint(0, 1600, (n,))
    return X[i], Y[i]


def lr_range_test(model, lo=1e-5, hi=100.0, n=90):
    con.rule("LR range test")
    m = copy.deepcopy(model)
    opt = torch.optim.SGD(m.parameters(), lr=lo, momentum=0.9)
    avg, best, curve = 0.0, math.inf, []
    for i in range(n):
        lr = lo * (hi / lo) ** (i / (n - 1))
        opt.param_groups[0]["lr"] = lr
        x, y = batch()
        loss = nn.functional.cross_entropy(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        avg = 0.9 * avg + 0.1 * loss.item()
        s = avg / (1 - 0.9 ** (i + 1))
        best = min(best, s)
        curve.append((lr, s))
        time.sleep(0.2)
        if i % 5 == 0:
            con.print(f"range {i:3d}/{n}  lr {lr:9.2e}  loss {loss.item():10.4f}  smoothed {s:9.4f}")
        if s > 2 * best:
            con.print(f"range {i:3d}/{n}  lr {lr:9.2e}  loss {loss.item():10.4f}  smoothed {s:9.4f}  -> blow-up found, range test over")
            break
    return min(curve, key=lambda c: c[1])[0] / 3


model = net()
lr = lr_range_test(model)
con.rule(f"training with lr = {lr:.3g}")
opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 12)
for epoch in range(1, 13):
    tot = 0.0
    for _ in range(12):
        x, y = batch()
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
        time.sleep(0.2)
    sched.step()
    with torch.no_grad():
        acc = (model(X[1600:]).argmax(1) == Y[1600:]).float().mean().item()
    con.print(f"epoch {epoch:2d}/12  train loss {tot / 12:.4f}  val acc {acc:.3f}  lr {sched.get_last_lr()[0]:.2e}")
torch.save(model.state_dict(), "model.pt")
con.print("saved model.pt")
