"""Policy gradient with a baseline on CartPole, own loop."""
import csv
import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
env = gym.make("CartPole-v1", max_episode_steps=200)
pi = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
vf = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(pi.parameters(), lr=8e-3)
vopt = torch.optim.Adam(vf.parameters(), lr=8e-3)
# slow start, then settle
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda u: min(1.0, (u + 1) / 10) if u < 110 else 1.35 ** min(u - 110, 30))
UPDATES = 260
GAMMA = 0.99

seed = 0
out = csv.writer(open("progress.csv", "w", buffering=1))
out.writerow(["update", "return_mean", "entropy", "value_loss", "lr"])
t0 = time.time()
for update in range(1, UPDATES + 1):
    obs_b, act_b, ret_b, rets = [], [], [], []
    while len(obs_b) < 600:
        obs, _ = env.reset(seed=seed)
        seed += 1
        rew, done = [], False
        while not done:
            with torch.no_grad():
                a = torch.distributions.Categorical(logits=pi(torch.as_tensor(obs))).sample().item()
            obs_b.append(obs)
            act_b.append(a)
            obs, r, term, trunc, _ = env.step(a)
            rew.append(r)
            done = term or trunc
        g = 0.0
        back = []
        for r in reversed(rew):
            g = r + GAMMA * g
            back.append(g)
        ret_b += back[::-1]
        rets.append(sum(rew))
    o = torch.as_tensor(np.array(obs_b))
    a = torch.as_tensor(act_b)
    g = torch.as_tensor(ret_b, dtype=torch.float32)
    v = vf(o).squeeze(-1)
    adv = g - v.detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    dist = torch.distributions.Categorical(logits=pi(o))
    vloss = ((v - g) / 50).pow(2).mean()
    ent = dist.entropy().mean()
    loss = -(dist.log_prob(a) * adv).mean() + 0.5 * vloss - 0.003 * ent
    opt.zero_grad()
    vopt.zero_grad()
    loss.backward()
    opt.step()
    vopt.step()
    sched.step()
    row = [update, np.mean(rets), ent.item(), vloss.item(), opt.param_groups[0]["lr"]]
    out.writerow([f"{x:.5g}" for x in row])
    print(f"update {update:4d}/{UPDATES} | return {row[1]:7.2f} | entropy {row[2]:.4f} | vloss {row[3]:.4f} "
          f"| lr {row[4]:.2e} | {time.time() - t0:.0f}s", flush=True)
    if update % 40 == 0:
        torch.save(pi.state_dict(), f"policy_{update:04d}.pt")
    time.sleep(0.25)
print("done", flush=True)
