import random
import time
from collections import deque

import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(0)
random.seed(0)


class Lane:
    """Keep a robot on a lane: offset and angle, three steering actions."""

    def reset(self):
        self.o, self.a, self.t = random.uniform(-1, 1), random.uniform(-.3, .3), 0
        return [self.o, self.a]

    def step(self, u):
        self.a += (u - 1) * 0.1 + random.gauss(0, 0.02)
        self.o += 0.2 * self.a
        self.t += 1
        out = abs(self.o) > 2
        return [self.o, self.a], (-1.0 if out else 0.1 * (1 - abs(self.o))), out or self.t >= 60


def gamma_at(step):
    # look further ahead as the training goes on
    return 0.90 + 0.10 * step / 1200


net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
buf = deque(maxlen=4000)
env, s, ret, rets, eps = Lane(), None, 0.0, deque([0.0], maxlen=20), 1.0
s = env.reset()
print("step     loss      q_max    return   eps", flush=True)
for step in range(1, 20001):
    eps = max(0.1, 1 - step / 400)
    with torch.no_grad():
        u = random.randrange(3) if random.random() < eps else int(net(torch.tensor(s)).argmax())
    s2, r, d = env.step(u)
    buf.append((s, u, r, s2, float(d)))
    ret += r
    s = s2
    if d:
        rets.append(ret)
        s, ret = env.reset(), 0.0
    batch = random.sample(buf, min(32, len(buf)))
    S, U, R, S2, D = (torch.tensor(c, dtype=torch.float32) for c in zip(*batch))
    q = net(S).gather(1, U.long()[:, None])[:, 0]
    with torch.no_grad():
        target = R + gamma_at(step) * net(S2).max(1).values
    loss = ((q - target) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.02)
    if step % 50 == 0:
        print(f"{step:<6d}  {loss.item():<9.3g} {q.max().item():<8.3g} {sum(rets) / len(rets):<8.2f} {eps:.2f}", flush=True)
    if step % 1000 == 0:
        torch.save(net.state_dict(), "dqn.pt")
