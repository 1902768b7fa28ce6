"""Evolution strategy for the gait of a three-link swimmer (own simulator, numpy only)."""
import argparse
import time

import numpy as np

LINKS, DT, T = 24, 0.02, 1500


def simulate(theta, rng):
    """Joint angles follow sine waves; drag gives the forward push. Returns distance and the whole trajectory."""
    amp, freq, phase = np.split(theta, 3)
    t = np.arange(T)[:, None] * DT
    angles = amp * np.sin(2 * np.pi * np.abs(freq) * t + phase)
    rates = np.gradient(angles, DT, axis=0)
    lag = np.roll(angles, 1, axis=1)
    thrust = (rates * np.sin(angles - lag)).sum(1) - 0.02 * (rates**2).sum(1)
    speed = np.zeros(T)
    for i in range(1, T):
        speed[i] = speed[i - 1] + DT * (thrust[i] / LINKS - 0.8 * speed[i - 1])
    x = np.cumsum(speed) * DT
    state = np.concatenate([angles, rates, speed[:, None], x[:, None]], axis=1)
    return x[-1] + 0.01 * rng.standard_normal(), state


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--generations", type=int, default=400)
    ap.add_argument("--pop", type=int, default=12)
    ap.add_argument("--sigma", type=float, default=0.08)
    ap.add_argument("--lr", type=float, default=0.05)
    args = ap.parse_args()
    rng = np.random.default_rng(5)
    mean = np.concatenate([np.full(LINKS, 0.3), np.full(LINKS, 0.5), np.linspace(0, 3, LINKS)])
    archive = []  # (generation, fitness, trajectory), for the novelty plots of the paper
    start = time.time()
    for gen in range(args.generations):
        noise = rng.standard_normal((args.pop, mean.size))
        fitness = np.empty(args.pop)
        for i in range(args.pop):
            fitness[i], state = simulate(mean + args.sigma * noise[i], rng)
            archive.append((gen, fitness[i], state))
            time.sleep(0.04)
        ranks = fitness.argsort().argsort() / (args.pop - 1) - 0.5
        mean += args.lr / args.sigma * (ranks @ noise) / args.pop
        print(f"gen {gen:4d}  best {fitness.max():8.4f}  mean {fitness.mean():8.4f}  std {fitness.std():.4f}  "
              f"archive {len(archive)}  {time.time() - start:6.1f}s")
        if gen % 20 == 19:
            np.savez("gait.npz", mean=mean, gen=gen)
            print(f"wrote gait.npz (gen {gen})")
    print("done")


if __name__ == "__main__":
    main()
