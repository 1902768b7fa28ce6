"""REINFORCE with a baseline on a pole-on-cart task, own physics, own loop. Table to progress.tsv and to the screen."""
import math
import os
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(1)
rng = np.random.default_rng(1)
PACE = float(os.environ.get("PACE", "0.38"))


def step(s, a):
    x, v, t, w = s
    f = 10.0 if a else -10.0
    c, sn = math.cos(t), math.sin(t)
    tmp = (f + 0.05 * w * w * sn) / 1.1
    tacc = (9.8 * sn - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
    xacc = tmp - 0.05 * tacc * c / 1.1
    s = (x + 0.02 * v, v + 0.02 * xacc, t + 0.02 * w, w + 0.02 * tacc)
    return s, abs(s[0]) > 2.4 or abs(s[2]) > 0.2095


pi = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
vf = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam([*pi.parameters(), *vf.parameters()], 6e-3)
out = open("progress.tsv", "w", buffering=1)
head = ["iter", "env_steps", "ret_mean", "ret_min", "ret_max", "pi_loss", "vf_loss", "entropy"]
out.write("\t".join(head) + "\n")
print(" ".join(f"{h:>10}" for h in head), flush=True)
total = 0
for it in range(1, 801):
    S, A, G, rets = [], [], [], []
    for _ in range(3):
        s, done, n = tuple(rng.uniform(-0.05, 0.05, 4)), False, 0
        while not done and n < 200:
            with torch.no_grad():
                a = int(torch.distributions.Categorical(logits=pi(torch.tensor(s, dtype=torch.float32))).sample())
            S.append(s)
            A.append(a)
            s, done = step(s, a)
            n += 1
        g = 0.0
        back = []
        for _ in range(n):
            g = 1 + 0.98 * g
            back.append(g)
        G += back[::-1]
        rets.append(n)
    total += len(S)
    S, A, G = torch.tensor(S, dtype=torch.float32), torch.tensor(A), torch.tensor(G)
    d = torch.distributions.Categorical(logits=pi(S))
    v = vf(S).squeeze(1)
    adv = G - v.detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    ploss, vloss, ent = -(d.log_prob(A) * adv).mean(), ((v - G) ** 2).mean(), d.entropy().mean()
    opt.zero_grad()
    (ploss + 0.01 * vloss - 0.005 * ent).backward()
    opt.step()
    row = [it, total, np.mean(rets), min(rets), max(rets), ploss.item(), vloss.item(), ent.item()]
    out.write("\t".join(f"{x:.4g}" for x in row) + "\n")
    print(" ".join(f"{x:>10.4g}" for x in row), flush=True)
    if it % 100 == 0:
        torch.save(pi.state_dict(), "policy.pt")
    time.sleep(PACE)
print("done", flush=True)
