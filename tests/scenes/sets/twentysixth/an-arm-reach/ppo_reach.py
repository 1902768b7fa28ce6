# single-file PPO, after CleanRL's ppo_continuous_action.py
import os
import time

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Normal

from reach_env import ReachEnv

NUM_STEPS, UPDATES, GAMMA, LAM = 64, 200, 0.98, 0.95


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        self.actor = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
        self.logstd = nn.Parameter(torch.full((2,), -0.5))

    def dist(self, x):
        return Normal(self.actor(x), self.logstd.exp())


torch.manual_seed(1)
torch.set_num_threads(1)
os.makedirs("models", exist_ok=True)
env = ReachEnv(seed=1)
agent = Agent()
opt = torch.optim.Adam(agent.parameters(), lr=7e-4, eps=1e-5)
obs, _ = env.reset()
step, ret, returns, t0 = 0, 0.0, [], time.time()
print(f"env=ReachEnv sim_pid={env.sim.pid} num_steps={NUM_STEPS} updates={UPDATES}", flush=True)
for update in range(1, UPDATES + 1):
    O, A, LP, R, V, D = [], [], [], [], [], []
    for _ in range(NUM_STEPS):
        x = torch.as_tensor(obs)
        with torch.no_grad():
            d = agent.dist(x)
            a = d.sample()
            v = agent.critic(x)[0]
        O.append(x), A.append(a), LP.append(d.log_prob(a).sum()), V.append(v)
        obs, r, _, trunc, _ = env.step(a.numpy())
        step += 1
        ret += r
        time.sleep(0.006)
        R.append(r), D.append(float(trunc))
        if trunc:
            returns.append(ret)
            ret = 0.0
            obs, _ = env.reset()
    with torch.no_grad():
        nxt = agent.critic(torch.as_tensor(obs))[0]
    adv, last = torch.zeros(NUM_STEPS), 0.0
    for i in reversed(range(NUM_STEPS)):
        nv = nxt if i == NUM_STEPS - 1 else V[i + 1]
        delta = R[i] + GAMMA * nv * (1 - D[i]) - V[i]
        last = delta + GAMMA * LAM * (1 - D[i]) * last
        adv[i] = last
    O, A, LP, V = torch.stack(O), torch.stack(A), torch.stack(LP), torch.stack(V)
    target = adv + V
    nadv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(4):
        d = agent.dist(O)
        ratio = (d.log_prob(A).sum(-1) - LP).exp()
        pg = -torch.min(ratio * nadv, ratio.clamp(0.8, 1.2) * nadv).mean()
        vl = 0.5 * (agent.critic(O)[:, 0] - target).pow(2).mean()
        loss = pg + 0.5 * vl - 0.001 * d.entropy().sum(-1).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        opt.step()
    time.sleep(0.3)
    er = np.mean(returns[-10:]) if returns else float(ret)
    print(f"update={update} global_step={step} episodic_return={er:.2f} policy_loss={pg.item():.4f} "
          f"value_loss={vl.item():.4f} SPS={int(step / (time.time() - t0))}", flush=True)
    if update % 15 == 0:
        torch.save(agent.state_dict(), "models/agent.pt")
        print(f"saved models/agent.pt update={update}", flush=True)
env.close()
