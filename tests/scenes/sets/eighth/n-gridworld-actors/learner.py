"""Actor-learner on a grid world: actor threads play, the learner takes one rollout from each and updates."""
import argparse
import logging
import queue
import random
import threading
import time

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname).1s %(threadName)s] %(message)s")
log = logging.getLogger("gridworld")
SIZE, T = 14, 16
MOVES = [(0, 1), (0, -1), (1, 0), (-1, 0)]


class Grid:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.walls = [[self.rng.random() < 0.1 for _ in range(SIZE)] for _ in range(SIZE)]
        self.episodes = 0
        self.reset()

    def reset(self):
        self.episodes += 1
        self.x, self.y, self.n = 2, 2, 0
        if self.episodes > 60:              # curriculum: from here on start anywhere
            self.x, self.y = self.rng.randrange(SIZE), self.rng.randrange(SIZE)
        return self.obs()

    def obs(self):
        o = torch.zeros(2 * SIZE)
        o[self.x] = 1
        o[SIZE + self.y] = 1
        return o

    def step(self, a):
        dx, dy = MOVES[a]
        nx, ny = self.x + dx, self.y + dy
        if nx >= 0 and 0 <= ny < SIZE and not self.walls[nx][ny]:
            self.x, self.y = nx, ny
        self.n += 1
        done = self.n >= 24
        return self.obs(), 1.0 if (self.x + self.y) <= 2 else -0.02, done


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2 * SIZE, 64), nn.Tanh())
        self.pi, self.v = nn.Linear(64, 4), nn.Linear(64, 1)

    def forward(self, o):
        h = self.body(o)
        return self.pi(h), self.v(h).squeeze(-1)


def act(k, policy, out, seed):
    gen = torch.Generator().manual_seed(seed)
    env = Grid(seed)
    o = env.reset()
    while True:
        roll = []
        for _ in range(T):
            with torch.no_grad():
                logits, _ = policy(o)
            a = int(torch.multinomial(torch.softmax(logits, -1), 1, generator=gen))
            o2, r, done = env.step(a)
            roll.append((o, a, r))
            o = env.reset() if done else o2
            time.sleep(0.014)
        out.put(roll)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--actors", type=int, default=3)
    ap.add_argument("--updates", type=int, default=900)
    a = ap.parse_args()
    torch.manual_seed(0)
    policy = Policy()
    opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
    qs = [queue.Queue(maxsize=2) for _ in range(a.actors)]
    for k, q in enumerate(qs):
        threading.Thread(target=act, args=(k, policy, q, 40 + k), name=f"actor-{k}", daemon=True).start()
    log.info("%d actors, %d updates, rollout length %d", a.actors, a.updates, T)
    t0 = time.time()
    for u in range(1, a.updates + 1):
        rolls = [q.get() for q in qs]
        loss, ret = 0.0, 0.0
        for roll in rolls:
            obs = torch.stack([r[0] for r in roll])
            acts = torch.tensor([r[1] for r in roll])
            g, gs = 0.0, []
            for r in reversed(roll):
                g = r[2] + 0.95 * g
                gs.append(g)
            gs = torch.tensor(gs[::-1])
            logits, v = policy(obs)
            adv = gs - v
            lp = torch.log_softmax(logits, -1)
            ent = -(lp.exp() * lp).sum(-1).mean()
            loss = loss - (lp[range(T), acts] * adv.detach()).mean() + 0.5 * adv.pow(2).mean() - 0.02 * ent
            ret += sum(r[2] for r in roll) / len(rolls)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if u % 5 == 0:
            log.info("update %d/%d loss %.4f return %.3f fps %.0f", u, a.updates, loss.item(), ret, u * T * a.actors / (time.time() - t0))
        if u % 100 == 0:
            torch.save(policy.state_dict(), "policy.pt")
    log.info("done")


main()
