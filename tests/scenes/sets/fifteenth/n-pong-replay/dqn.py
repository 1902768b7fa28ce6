import logging
import random
import sys
import time

import numpy as np

logging.basicConfig(stream=sys.stdout, format="%(asctime)s %(name)s: %(message)s", level=logging.INFO, datefmt="%b %d %H:%M:%S")
log = logging.getLogger("dqn")


class Catch:
    """falling ball, 84x84 frames"""

    def reset(self):
        self.ball, self.y, self.pad = np.random.randint(0, 84), 0, 42
        return self.frame()

    def frame(self):
        f = np.zeros((84, 84), np.float32)
        f[self.y, self.ball] = 1.0
        f[83, max(0, self.pad - 5):self.pad + 6] = 0.5
        return f

    def step(self, a):
        self.pad = int(np.clip(self.pad + (a - 1) * 4, 0, 83))
        self.y += 3
        done = self.y >= 81
        return self.frame(), (1.0 if abs(self.pad - self.ball) <= 5 else -1.0) if done else 0.0, done


class ReplayMemory:
    def __init__(self, capacity=200_000):
        self.capacity, self.data = capacity, []

    def push(self, *transition):
        if len(self.data) >= self.capacity:
            self.data.pop(0)
        self.data.append(transition)

    def sample(self, n):
        return zip(*random.sample(self.data, n))

    def __len__(self):
        return len(self.data)


def feats(f):
    ball = f[:83].reshape(-1).argmax(-1) % 84
    pad = f[83].argmax(-1) + 5
    d = np.clip((ball - pad) / 20, -1, 1)
    return np.array([1.0, d, d * d, abs(d)])


def main():
    np.random.seed(0)
    random.seed(0)
    w = np.zeros((3, 4))
    env, mem, steps, returns = Catch(), ReplayMemory(), 0, []
    for episode in range(1, 20001):
        s, done = env.reset(), False
        while not done:
            steps += 1
            eps = max(0.05, 1 - steps / 1500)
            a = np.random.randint(3) if random.random() < eps else int((w @ feats(s)).argmax())
            s2, r, done = env.step(a)
            mem.push(np.stack([s] * 4), a, r, np.stack([s2] * 4), done)
            s = s2
            if len(mem) > 64 and steps % 4 == 0:
                for o, act, rew, o2, d in zip(*mem.sample(8)):
                    target = rew + (0.0 if d else 0.95 * (w @ feats(o2[-1])).max())
                    f = feats(o[-1])
                    w[act] += 0.05 * (target - w[act] @ f) * f
            time.sleep(0.014)
        returns.append(r)
        if episode % 5 == 0:
            log.info("episode %d steps %d return %.2f eps %.2f replay %d", episode, steps, np.mean(returns[-20:]), eps, len(mem))
        if episode % 50 == 0:
            np.save("q.npy", w)


main()
