import time

import torch
from torch import nn
from torch.distributions import Categorical

LENGTH, LIMIT, EPISODES = 6, 60, 8


class Corridor:
    """Walk right to the door; every step costs a little."""

    def reset(self):
        self.at, self.n = 0, 0
        return self.obs()

    def obs(self):
        x = torch.zeros(LENGTH)
        x[self.at] = 1.0
        return x

    def step(self, a):
        self.at = max(0, self.at + (1 if a == 1 else -1))
        self.n += 1
        door = self.at == LENGTH - 1
        return self.obs(), 1.0 if door else -1 / 32, door or self.n >= LIMIT


def episode(env, policy):
    x, logps, total, over = env.reset(), [], 0.0, False
    while not over:
        pi = Categorical(logits=policy(x))
        a = pi.sample()
        logps.append(pi.log_prob(a))
        x, r, over = env.step(a.item())
        total += r
    return torch.stack(logps).sum(), total


def main():
    torch.manual_seed(3)
    env = Corridor()
    policy = nn.Sequential(nn.Linear(LENGTH, 32), nn.Tanh(), nn.Linear(32, 2))
    opt = torch.optim.Adam(policy.parameters(), 1e-3)
    print("update,episodes,return_mean,return_max,loss,secs", flush=True)
    t0 = time.time()
    for update in range(1, 601):
        got = [episode(env, policy) for _ in range(EPISODES)]
        ret = torch.tensor([r for _, r in got])
        adv = (ret - ret.mean()) / ret.std()
        loss = -(adv * torch.stack([lp for lp, _ in got])).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.25)
        print(f"{update},{update * EPISODES},{ret.mean():.4f},{ret.max():.4f},{loss.item():.5f},{time.time() - t0:.1f}",
              flush=True)
        if update % 50 == 0:
            torch.save(policy.state_dict(), f"policy_{update}.pt")


main()
