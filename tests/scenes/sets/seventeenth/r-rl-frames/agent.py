"""Actor-critic from pixels with nothing but numpy: a ball, a paddle, 96x96 colour frames."""
import logging
import time
from collections import namedtuple

import numpy as np

logging.basicConfig(level=logging.INFO, format="%(relativeCreated)8d ms %(levelname)s %(message)s")
Step = namedtuple("Step", "frame action reward feats")
SIZE = 96


class Catch:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.ball = [0, int(self.rng.integers(6, SIZE - 6))]
        self.pad = SIZE // 2
        return self.frame()

    def frame(self):
        f = np.zeros((SIZE, SIZE, 3), np.float32)
        f[self.ball[0]:self.ball[0] + 6, self.ball[1] - 3:self.ball[1] + 3, 0] = 1
        f[-4:, max(0, self.pad - 8):self.pad + 8, 1] = 1
        return f

    def step(self, a):
        self.pad = int(np.clip(self.pad + (a - 1) * 5, 8, SIZE - 8))
        self.ball[0] += 6
        done = self.ball[0] >= SIZE - 6
        return self.frame(), float(done and abs(self.pad - self.ball[1]) < 10), done


def features(f):
    ball = f[:, :, 0].sum(0) @ np.arange(SIZE) / max(f[:, :, 0].sum(), 1)
    pad = f[-1, :, 1] @ np.arange(SIZE) / max(f[-1, :, 1].sum(), 1)
    return np.array([1.0, (ball - pad) / 20])


def main():
    env, rng = Catch(1), np.random.default_rng(2)
    W, v = np.zeros((3, 2)), np.zeros(2)
    memory, wins = [], []
    for ep in range(1, 1501):
        f, done, traj = env.reset(), False, []
        while not done:
            x = features(f)
            p = np.exp(W @ x - (W @ x).max())
            p /= p.sum()
            a = int(rng.choice(3, p=p))
            g, r, done = env.step(a)
            traj.append(Step(f, a, r, x))
            f = g
            time.sleep(0.008)
        memory.extend(traj)
        wins.append(traj[-1].reward)
        for s in traj + [memory[i] for i in rng.integers(0, len(memory), 16)]:
            z = W @ s.feats
            p = np.exp(z - z.max())
            p /= p.sum()
            adv = traj[-1].reward - v @ s.feats
            v += 0.02 * adv * s.feats
            W += 0.05 * adv * np.outer(np.eye(3)[s.action] - p, s.feats)
        if ep % 10 == 0:
            logging.info("episode %d catch rate %.2f value %.3f replay %d", ep, np.mean(wins[-50:]), v[0], len(memory))
    np.savez("policy.npz", W=W, v=v)


if __name__ == "__main__":
    main()
