import os
import time

import numpy as np
import torch
import torch.nn as nn

from envs import VecEnv

PAUSE = float(os.environ.get("PAUSE", "0.6"))
N, T = 4, 96
torch.set_num_threads(1)
torch.manual_seed(3)
envs = VecEnv(N)
actor = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 2))
critic = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 1))
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], 2.5e-3)
obs = torch.tensor(envs.reset(), dtype=torch.float32)
returns, running = [], np.zeros(N)
print(f"PPO, {N} environments in processes, rollout {T}", flush=True)
for update in range(1, 2001):
    O, A, LP, R, D, V = [], [], [], [], [], []
    for _ in range(T):
        with torch.no_grad():
            dist = torch.distributions.Categorical(logits=actor(obs))
            a = dist.sample()
            V.append(critic(obs).squeeze(1))
        nxt, r, d = envs.step(a.numpy())
        O.append(obs), A.append(a), LP.append(dist.log_prob(a)), R.append(torch.tensor(r)), D.append(torch.tensor(d).float())
        running += r
        for i in np.flatnonzero(d):
            returns.append(running[i])
            running[i] = 0
        obs = torch.tensor(nxt, dtype=torch.float32)
    with torch.no_grad():
        last, adv, gae = critic(obs).squeeze(1), [], 0
        for t in reversed(range(T)):
            follow = last if t == T - 1 else V[t + 1]
            gae = R[t] + 0.99 * follow * (1 - D[t]) - V[t] + 0.99 * 0.95 * (1 - D[t]) * gae
            adv.insert(0, gae)
    O, A, LP, V, adv = (torch.cat(z) for z in (O, A, LP, V, adv))
    target, adv = adv + V, (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(4):
        dist = torch.distributions.Categorical(logits=actor(O))
        ratio = (dist.log_prob(A) - LP).exp()
        pg = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        vl = (critic(O).squeeze(1) - target).square().mean()
        loss = pg + 0.5 * vl / 50 - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
        opt.step()
    time.sleep(PAUSE)
    mean = np.mean(returns[-40:]) if returns else 0.0
    print(f"update {update:4d} | frames {update * N * T:7d} | return {mean:6.1f} | pg {pg.item():+.4f} | vf {vl.item():8.3f} | H {dist.entropy().mean().item():.3f}", flush=True)
    if update % 25 == 0:
        torch.save({"actor": actor.state_dict(), "critic": critic.state_dict()}, "ppo_latest.pt")
