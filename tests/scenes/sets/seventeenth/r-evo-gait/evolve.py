#!/usr/bin/env python
"""Evolve the gait of a small walker: (mu, lambda)-ES, fitness in a pool of processes."""
import csv
import multiprocessing as mp
import os
import time

import numpy as np

POP, DIM, GENS, SIGMA = 12, 18, 400, 0.25


def name_worker():
    with open(f"workers/{os.getpid()}", "w") as f:
        f.write("up\n")


def rollout(genome):
    """A crude walker: phase oscillators, reward is the distance."""
    phase = genome[:6]
    amp = np.tanh(genome[6:12])
    freq = 1 + 0.2 * np.tanh(genome[12:])
    x, e = 0.0, 0.0
    for t in range(120):
        leg = amp * np.sin(freq * t * 0.1 + phase)
        x += float(np.mean(np.maximum(leg, 0)) - 0.3 * np.std(leg))
        e += float(np.sum(leg ** 2)) * 0.002
    time.sleep(0.25)
    return x - e


def main():
    os.makedirs("workers", exist_ok=True)
    rng = np.random.default_rng(0)
    mean = np.zeros(DIM)
    out = open("fitness.csv", "w", newline="")
    table = csv.writer(out)
    table.writerow(["gen", "best", "mean", "sigma", "sec"])
    with mp.get_context("fork").Pool(3, initializer=name_worker) as pool:
        for gen in range(1, GENS + 1):
            t = time.time()
            pop = mean + SIGMA * rng.normal(size=(POP, DIM))
            fit = np.array(pool.map(rollout, list(pop), chunksize=1))
            elite = pop[np.argsort(-fit)[:4]]
            mean = elite.mean(0)
            table.writerow([gen, f"{fit.max():.3f}", f"{fit.mean():.3f}", SIGMA, f"{time.time() - t:.2f}"])
            out.flush()
            print(f"gen {gen:>4} | best {fit.max():8.3f} | mean {fit.mean():8.3f} | {time.time() - t:.2f}s", flush=True)
            if gen % 10 == 0:
                np.save("mean.npy", mean)


if __name__ == "__main__":
    main()
