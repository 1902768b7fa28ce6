import collections
import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn

NUM_ENVS, ROLLOUT, UPDATES, GAMMA = 4, 16, 220, 0.98


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 64), nn.Tanh())
        self.pi, self.v = nn.Linear(64, 2), nn.Linear(64, 1)

    def forward(self, x):
        h = self.trunk(x)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def table(rows):
    width = 36
    print("-" * width)
    for key, value in rows.items():
        print(f"| {key:<20} | {value:>9} |")
    print("-" * width, flush=True)


torch.manual_seed(0)
envs = [gym.make("CartPole-v1") for _ in range(NUM_ENVS)]
obs = np.stack([e.reset(seed=i)[0] for i, e in enumerate(envs)])
net = ActorCritic()
opt = torch.optim.Adam(net.parameters(), 3e-3)
lengths, running = collections.deque(maxlen=30), np.zeros(NUM_ENVS)
t0 = time.time()
for update in range(1, UPDATES + 1):
    logps, values, rewards, masks, entropy = [], [], [], [], 0.0
    for _ in range(ROLLOUT):
        pi, v = net(torch.as_tensor(obs, dtype=torch.float32))
        act = pi.sample()
        logps.append(pi.log_prob(act))
        values.append(v)
        entropy = entropy + pi.entropy().mean() / ROLLOUT
        r, m = np.ones(NUM_ENVS), np.ones(NUM_ENVS)
        for i, env in enumerate(envs):
            obs[i], r[i], term, trunc, _ = env.step(int(act[i]))
            running[i] += 1
            if term or trunc:
                lengths.append(running[i])
                running[i], m[i] = 0, 0.0
                obs[i], _ = env.reset()
        rewards.append(torch.as_tensor(r, dtype=torch.float32))
        masks.append(torch.as_tensor(m, dtype=torch.float32))
    with torch.no_grad():
        ret = net(torch.as_tensor(obs, dtype=torch.float32))[1]
    targets = []
    for r, m in zip(reversed(rewards), reversed(masks)):
        ret = r + GAMMA * m * ret
        targets.insert(0, ret)
    targets, values = torch.stack(targets), torch.stack(values)
    adv = (targets - values).detach()
    value_loss = (targets - values).pow(2).mean()
    policy_loss = -(torch.stack(logps) * (adv - adv.mean()) / (adv.std() + 1e-6)).mean()
    opt.zero_grad()
    (policy_loss + 0.05 * value_loss - 0.01 * entropy).backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    opt.step()
    time.sleep(0.15)
    if update % 20 == 0:
        steps = update * NUM_ENVS * ROLLOUT
        table({"time/total_steps": steps, "time/fps": int(steps / (time.time() - t0)),
               "rollout/ep_len_mean": f"{np.mean(lengths):.1f}", "train/value_loss": f"{value_loss.item():.3f}",
               "train/policy_loss": f"{policy_loss.item():.4f}", "train/entropy": f"{entropy.item():.3f}"})
torch.save(net.state_dict(), "a2c_cartpole.zip")
print("saved a2c_cartpole.zip")
