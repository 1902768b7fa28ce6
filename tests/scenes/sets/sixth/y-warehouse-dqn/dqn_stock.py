"""DQN for re-ordering stock. A collector thread plays episodes, the main thread learns from the replay memory."""
import collections
import random
import threading
import time

import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)
UPDATES = 1500
ORDERS = (0, 5, 10, 20)


class Warehouse:
    """One shop; the demand of a year comes from a table."""

    def __init__(self, seed=2):
        rng = np.random.default_rng(seed)
        season = 8 + 5 * np.sin(np.arange(365) / 365 * 2 * np.pi)
        self.demand = rng.poisson(season)

    def reset(self, horizon):
        self.day, self.stock, self.horizon = 0, 20, horizon
        return self.observe()

    def observe(self):
        phase = self.day / 365 * 2 * np.pi
        return np.array([self.stock / 50, np.sin(phase), np.cos(phase)], dtype=np.float32)

    def step(self, order):
        time.sleep(0.003)               # the simulator of the carrier
        wanted = self.demand[self.day]
        sold = min(self.stock + order, wanted)
        self.stock = min(self.stock + order - sold, 60)
        self.day += 1
        reward = 1.0 * sold - 0.05 * self.stock - 0.4 * (wanted - sold)
        return self.observe(), float(reward), self.day >= self.horizon


class Shared:
    memory = collections.deque(maxlen=20000)
    returns = collections.deque(maxlen=10)
    episodes = env_steps = 0
    stop = False


def collect(net, shared):
    env, rng = Warehouse(), random.Random(5)
    while not shared.stop:
        horizon = 100 + 10 * shared.episodes        # longer episodes as it learns
        obs, done, total, length = env.reset(horizon), False, 0.0, 0
        while not done:
            eps = max(0.05, 1.0 - shared.env_steps / 4000)
            if rng.random() < eps:
                action = rng.randrange(len(ORDERS))
            else:
                with torch.no_grad():
                    action = int(net(torch.from_numpy(obs)).argmax())
            nxt, reward, done = env.step(ORDERS[action])
            shared.memory.append((obs, action, reward, nxt, done))
            obs, total, length = nxt, total + reward, length + 1
            shared.env_steps += 1
        shared.returns.append(total / length)
        shared.episodes += 1


def main():
    torch.manual_seed(0)
    make = lambda: nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, len(ORDERS)))
    net, target = make(), make()
    target.load_state_dict(net.state_dict())
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    shared, rng = Shared(), random.Random(9)
    threading.Thread(target=collect, args=(net, shared), name="collector", daemon=True).start()
    while len(shared.memory) < 300:
        time.sleep(0.1)
    for update in range(1, UPDATES + 1):
        for _ in range(4):
            o, a, r, n, d = zip(*rng.sample(list(shared.memory), 64))
            with torch.no_grad():
                goal = torch.tensor(r) + 0.95 * target(torch.from_numpy(np.stack(n))).max(1).values * (1 - torch.tensor(d).float())
            q = net(torch.from_numpy(np.stack(o))).gather(1, torch.tensor(a)[:, None]).squeeze(1)
            loss = nn.functional.smooth_l1_loss(q, goal)
            opt.zero_grad()
            loss.backward()
            opt.step()
        time.sleep(0.13)
        if update % 50 == 0:
            target.load_state_dict(net.state_dict())
        if update % 20 == 0:
            mean = np.mean(shared.returns) if shared.returns else float("nan")
            print(f"update {update:5d} | episodes {shared.episodes:4d} | env_steps {shared.env_steps:6d} | "
                  f"return/day {mean:6.3f} | td_loss {loss.item():.4f}", flush=True)
        if update % 300 == 0:
            torch.save(net.state_dict(), f"dqn_{update}.pt")
    shared.stop = True


if __name__ == "__main__":
    main()
