import json
import os
import subprocess
import sys
import time

import torch
import torch.nn as nn

PACE = float(os.environ.get("PACE", 0.6))
torch.manual_seed(0)
torch.set_num_threads(1)


class Arm:
    def __init__(self):
        self.p = subprocess.Popen([sys.executable, "sim.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ask(self, **m):
        self.p.stdin.write(json.dumps(m) + "\n")
        self.p.stdin.flush()
        a = json.loads(self.p.stdout.readline())
        return torch.tensor(a["o"]), a["rew"], a["done"]


env = Arm()
pi = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 2))
v = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
log_std = nn.Parameter(torch.full((2,), -0.7))
opt = torch.optim.Adam([*pi.parameters(), *v.parameters(), log_std], 4e-3)
print("actor-critic on PlanarArm-v2, 40 steps an episode", flush=True)
for ep in range(1, 1001):
    t0 = time.time()
    obs, lps, rews = [], [], []
    o, _, done = env.ask(cmd="reset")
    while not done:
        d = torch.distributions.Normal(pi(o), log_std.exp())
        a = d.sample()
        obs.append(o)
        lps.append(d.log_prob(a).sum())
        o, rew, done = env.ask(cmd="step", a=a.tolist())
        rews.append(rew)
    g, ret = 0.0, []
    for x in reversed(rews):
        g = x + 0.9 * g
        ret.append(g)
    ret = torch.tensor(ret[::-1])
    val = v(torch.stack(obs)).squeeze(-1)
    adv = ret - val.detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    pg, vl = -(torch.stack(lps) * adv).mean(), (val - ret).pow(2).mean()
    opt.zero_grad()
    (pg + 0.5 * vl).backward()
    opt.step()
    time.sleep(PACE)
    print(f"ep {ep:04d} | return {sum(rews):8.3f} | final_dist {-rews[-1]:.3f} | pi_loss {pg.item():+.4f} | v_loss {vl.item():.4f} | {time.time() - t0:.2f}s", flush=True)
    if ep % 20 == 0:
        torch.save({"pi": pi.state_dict(), "v": v.state_dict()}, "agent.pt")
