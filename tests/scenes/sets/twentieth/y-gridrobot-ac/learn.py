import csv
import time
from collections import deque

import numpy as np
import torch
import torch.nn as nn
from rich.console import Console
from rich.table import Table

from robot import Yard

UPDATES, HORIZON, GAMMA = 140, 64, 0.97
console = Console(width=100)
torch.set_num_threads(1)
torch.manual_seed(2)
body = nn.Sequential(nn.Linear(6, 48), nn.Tanh())
pi, v = nn.Linear(48, 4), nn.Linear(48, 1)
opt = torch.optim.RMSprop([*body.parameters(), *pi.parameters(), *v.parameters()], lr=2e-3)
env = Yard()
obs, _ = env.reset(seed=1)
ret, returns = 0.0, deque(maxlen=30)
rows = []
console.print(f"advantage actor-critic, {UPDATES} updates of {HORIZON} steps")
with open("progress.csv", "w", newline="") as f:
    out = csv.writer(f)
    out.writerow(["update", "steps", "return", "pi_loss", "v_loss", "entropy"])
    for update in range(1, UPDATES + 1):
        logp, values, rewards, ends, ent = [], [], [], [], []
        for _ in range(HORIZON):
            h = body(torch.from_numpy(obs))
            dist = torch.distributions.Categorical(logits=pi(h))
            a = dist.sample()
            obs, r, done, cut, _ = env.step(int(a))
            logp.append(dist.log_prob(a)), values.append(v(h).squeeze()), ent.append(dist.entropy())
            rewards.append(r), ends.append(done or cut)
            ret += r
            if done or cut:
                returns.append(ret)
                ret = 0.0
                obs, _ = env.reset()
        g = v(body(torch.from_numpy(obs))).item()
        targets = []
        for r, e in zip(reversed(rewards), reversed(ends)):
            g = r + GAMMA * g * (not e)
            targets.insert(0, g)
        values, targets = torch.stack(values), torch.tensor(targets, dtype=torch.float32)
        adv = (targets - values).detach()
        pl = -(torch.stack(logp) * adv).mean()
        vl = (targets - values).pow(2).mean()
        entropy = torch.stack(ent).mean()
        opt.zero_grad()
        (pl + 0.5 * vl - 0.01 * entropy).backward()
        nn.utils.clip_grad_norm_([*body.parameters(), *pi.parameters(), *v.parameters()], 0.5)
        opt.step()
        time.sleep(0.3)
        row = [update, update * HORIZON, f"{np.mean(returns) if returns else float('nan'):.3f}", f"{pl.item():.4f}", f"{vl.item():.4f}", f"{entropy.item():.3f}"]
        out.writerow(row)
        f.flush()
        rows.append([str(c) for c in row])
        if update % 10 == 0:
            table = Table("update", "steps", "return", "pi_loss", "v_loss", "entropy")
            for one in rows[-10::3]:
                table.add_row(*one)
            console.print(table)
            torch.save([m.state_dict() for m in (body, pi, v)], "policy.pt")
console.print(f"training complete, mean return of the last 30 episodes {np.mean(returns):.3f}")
