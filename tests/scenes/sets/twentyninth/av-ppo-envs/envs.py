"""Cart-pole in worker processes, each behind a pipe."""
import multiprocessing as mp
import os

import numpy as np


class CartPole:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.s, self.n = self.rng.uniform(-0.05, 0.05, 4), 0
        return self.s.copy()

    def step(self, a):
        x, v, th, w = self.s
        f = 10.0 if a else -10.0
        c, s = np.cos(th), np.sin(th)
        tmp = (f + 0.05 * w * w * s) / 1.1
        wa = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        va = tmp - 0.05 * wa * c / 1.1
        self.s = np.array([x + 0.02 * v, v + 0.02 * va, th + 0.02 * w, w + 0.02 * wa])
        self.n += 1
        dead = bool(abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095)
        return self.s.copy(), 1.0, dead or self.n >= 500


def worker(rank, pipe):
    with open(f"env_{rank}.pid", "w") as f:
        f.write(str(os.getpid()))
    env = CartPole(rank)
    while True:
        cmd, arg = pipe.recv()
        if cmd == "close":
            return
        if cmd == "reset":
            pipe.send(env.reset())
        else:
            obs, r, done = env.step(arg)
            pipe.send((env.reset() if done else obs, r, done))


class VecEnv:
    def __init__(self, n):
        ctx = mp.get_context("fork")
        pairs = [ctx.Pipe() for _ in range(n)]
        self.pipes = [a for a, _ in pairs]
        self.procs = [ctx.Process(target=worker, args=(i, b), daemon=True) for i, (_, b) in enumerate(pairs)]
        for p in self.procs:
            p.start()

    def reset(self):
        for p in self.pipes:
            p.send(("reset", None))
        return np.stack([p.recv() for p in self.pipes])

    def step(self, actions):
        for p, a in zip(self.pipes, actions):
            p.send(("step", int(a)))
        obs, rew, done = zip(*[p.recv() for p in self.pipes])
        return np.stack(obs), np.array(rew, np.float32), np.array(done)
