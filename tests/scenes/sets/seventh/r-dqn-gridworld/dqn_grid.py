import random
import sys
import time
from collections import deque

import numpy as np
import torch
from torch import nn

LEARNING_STARTS = 6000
TOTAL = 6700


class Grid:
    """8 x 8, walk to the corner; the simulator takes its time."""

    def reset(self):
        self.p, self.t = [random.randrange(6), random.randrange(6)], 0
        return self.obs()

    def obs(self):
        return np.array(self.p, dtype=np.float32) / 7

    def step(self, a):
        time.sleep(0.013)
        d = [(1, 0), (-1, 0), (0, 1), (0, -1)][a]
        self.p = [min(7, max(0, self.p[k] + d[k])) for k in (0, 1)]
        self.t += 1
        win = self.p == [7, 7]
        return self.obs(), 1.0 if win else -0.01, win or self.t >= 60


def main():
    random.seed(0)
    torch.manual_seed(0)
    q, tgt = (nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 4)) for _ in range(2))
    tgt.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=1e-3)
    buf, env, returns = deque(maxlen=20000), Grid(), deque(maxlen=20)
    s, ep = env.reset(), 0.0
    print(f"DQN  total_timesteps={TOTAL}  learning_starts={LEARNING_STARTS}  buffer_size=20000", flush=True)
    t0 = time.time()
    for n in range(1, TOTAL + 1):
        eps = 1.0 if n <= LEARNING_STARTS else max(0.05, 1 - (n - LEARNING_STARTS) / 400)
        a = random.randrange(4) if random.random() < eps else int(q(torch.from_numpy(s)).argmax())
        s2, r, done = env.step(a)
        buf.append((s, a, r, s2, done))
        s, ep = s2, ep + r
        if done:
            returns.append(ep)
            s, ep = env.reset(), 0.0
        if n <= LEARNING_STARTS:
            continue
        for _ in range(2):
            b = random.sample(buf, 64)
            bs, ba, br, b2, bd = (np.array(c) for c in zip(*b))
            with torch.no_grad():
                y = torch.from_numpy(br).float() + 0.97 * tgt(torch.from_numpy(b2)).max(1).values * torch.from_numpy(~bd)
            v = q(torch.from_numpy(bs)).gather(1, torch.from_numpy(ba)[:, None])[:, 0]
            loss = nn.functional.smooth_l1_loss(v, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        time.sleep(0.03)
        if n % 50 == 0:
            tgt.load_state_dict(q.state_dict())
            print("-" * 36 + f"\n| rollout/ep_rew_mean  | {np.mean(returns):9.3f} |\n| rollout/eps          | {eps:9.3f} |"
                  f"\n| time/fps             | {n / (time.time() - t0):9.0f} |\n| time/total_timesteps | {n:9d} |\n| train/loss           | {loss.item():9.5f} |",
                  flush=True)
    torch.save(q.state_dict(), "dqn.pt")
    print("saved dqn.pt", flush=True)


if __name__ == "__main__":
    sys.exit(main())
