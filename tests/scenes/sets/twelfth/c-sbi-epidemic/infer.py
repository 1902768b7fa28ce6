"""Sequential inference for a stochastic SEIR model: simulate, fit the posterior network, propose, again."""
import os
import time
from multiprocessing import Pool
from pathlib import Path

import numpy as np

HIDDEN, SIMS = 32, 48


def enter():
    Path(f"pids/sim-{os.getpid()}.pid").write_text(f"{os.getpid()}\n")


def simulate(job):
    theta, seed = job
    rng = np.random.default_rng(seed)
    beta, sigma, gamma = np.exp(theta)
    s, e, i, r = 990, 0, 10, 0
    daily = []
    for _ in range(60):
        inf = rng.binomial(s, 1 - np.exp(-beta * i / 1000))
        onset = rng.binomial(e, 1 - np.exp(-sigma))
        rec = rng.binomial(i, 1 - np.exp(-gamma))
        s, e, i, r = s - inf, e + inf - onset, i + onset - rec, r + rec
        daily.append(i)
        time.sleep(0.001)
    return np.log1p(np.array(daily[::4], float))


class Net:
    def __init__(self, d_in, d_out, rng):
        self.w = [rng.normal(0, d_in**-0.5, (d_in, HIDDEN)), np.zeros(HIDDEN), rng.normal(0, HIDDEN**-0.5, (HIDDEN, d_out)), np.zeros(d_out)]
        self.m = [np.zeros_like(w) for w in self.w]

    def __call__(self, x):
        self.h = np.tanh(x @ self.w[0] + self.w[1])
        return self.h @ self.w[2] + self.w[3]

    def fit(self, x, y, lr):
        err = self(x) - y
        dh = (err @ self.w[2].T) * (1 - self.h**2)
        grads = [x.T @ dh, dh.sum(0), self.h.T @ err, err.sum(0)]
        for w, m, g in zip(self.w, self.m, grads):
            m *= 0.9
            m += g / len(x)
            w -= lr * m
        return float((err**2).mean())


def main():
    rng = np.random.default_rng(0)
    centre, spread = np.log([0.6, 0.25, 0.15]), 0.5
    net, xs, ys = Net(15, 3, rng), [], []
    with Pool(3, initializer=enter) as pool:
        for rnd in range(1, 101):
            t0 = time.time()
            theta = centre + spread * rng.standard_normal((SIMS, 3))
            obs = pool.map(simulate, [(th, rnd * 1000 + k) for k, th in enumerate(theta)], chunksize=4)
            t_sim = time.time() - t0
            xs.append(np.array(obs) / 5)
            ys.append(theta - centre)
            x, y = np.concatenate(xs[-10:]), np.concatenate(ys[-10:])
            for _ in range(20):
                pick = rng.integers(len(x), size=64)
                loss = net.fit(x[pick], y[pick], 0.02)
                time.sleep(0.01)
            print(f"round {rnd}/100  simulations {SIMS * rnd}  loss {loss:.4f}  sim {t_sim:.2f}s  fit {time.time() - t0 - t_sim:.2f}s")
            if rnd % 10 == 0:
                np.savez("posterior.npz", *net.w)


if __name__ == "__main__":
    main()
