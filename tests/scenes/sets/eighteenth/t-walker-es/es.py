"""OpenAI-style evolution strategies for a toy biped; the simulator leaks, hence maxtasksperchild."""
import csv
import multiprocessing as mp
import sys
import time

import numpy as np

POP, GENS, DIM = 16, 40, 30


def rollout(args):
    theta, seed = args
    rng = np.random.default_rng(seed)
    w = theta.reshape(6, 5)
    s, reward = rng.normal(0, 0.2, 5), 0.0
    for t in range(80):
        a = np.tanh(w[:5] @ s + w[5])
        s = 0.95 * s + 0.2 * a + rng.normal(0, 0.02, 5)
        reward += 1.5 - np.abs(s - np.array([0.8, -0.3, 0.5, 0.0, 0.2])).sum()
        if np.abs(s).max() > 3.5:
            reward -= 50
            break
    time.sleep(0.15)
    return reward


def main():
    rng = np.random.default_rng(0)
    theta, sigma, lr = rng.normal(0, 0.1, DIM), 0.1, 0.08
    table = csv.writer(sys.stdout)
    table.writerow(["gen", "evals", "reward_mean", "reward_best", "reward_worst", "theta_norm", "sec"])
    with mp.get_context("fork").Pool(2, maxtasksperchild=24) as pool:
        for gen in range(1, GENS + 1):
            t = time.time()
            eps = rng.normal(0, 1, (POP // 2, DIM))
            eps = np.vstack([eps, -eps])
            r = np.array(pool.map(rollout, [(theta + sigma * e, gen * 100 + k) for k, e in enumerate(eps)], chunksize=1))
            rank = r.argsort().argsort() / (POP - 1) - 0.5
            theta = theta + lr / sigma * (rank @ eps) / POP
            table.writerow([gen, gen * POP, f"{r.mean():.2f}", f"{r.max():.2f}", f"{r.min():.2f}", f"{np.linalg.norm(theta):.3f}", f"{time.time() - t:.2f}"])
            sys.stdout.flush()
            if gen % 10 == 0:
                np.save(f"theta_{gen:03d}.npy", theta)
    print(f"# done, {GENS} generations", flush=True)


if __name__ == "__main__":
    main()
