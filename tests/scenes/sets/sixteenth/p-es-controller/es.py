"""Evolution strategy for a small controller; population doubles at each restart (IPOP)."""
import multiprocessing as mp
import time

import numpy as np

DIM = 600
rng = np.random.default_rng(0)
START = rng.normal(size=30)
GOAL = np.sign(rng.normal(size=20))[np.r_[:20, :10]] * 0.7


def fitness(theta, seed):
    """Return of the linear controller, and its trajectory for the archive."""
    g = np.random.default_rng(seed)
    W = theta.reshape(20, 30)
    x, traj, ret = START.copy(), [], 0.0
    for _ in range(12):
        u = np.tanh(W @ x)
        x = 0.6 * x + 0.5 * np.r_[u, u[:10]] + g.normal(0, 0.02, 30)
        ret -= float((x - GOAL) @ (x - GOAL)) / 30
        traj.append(x.astype("f4"))
    return ret, np.stack(traj)


def worker(jobs, out):
    for k, theta, seed in jobs:
        out.put((k, *fitness(theta, seed)))


def evaluate(pop, gen, workers=2):
    out = mp.Queue()
    jobs = [(k, t, gen) for k, t in enumerate(pop)]
    ps = [mp.Process(target=worker, args=(jobs[w::workers], out)) for w in range(workers)]
    for p in ps:
        p.start()
    for p in ps:
        p.join()
    got = [out.get() for _ in pop]
    return np.array([r for _, r, _ in sorted(got, key=lambda g: g[0])])


def main():
    mean, sigma, lam, best, stale = rng.normal(0, 0.05, DIM), 0.1, 24, -np.inf, 0
    t0 = time.time()
    for gen in range(1, 401):
        eps = rng.normal(size=(lam // 2, DIM))
        pop = mean + sigma * np.concatenate([eps, -eps])
        f = evaluate(pop, gen)
        rank = f.argsort().argsort() / (lam - 1) - 0.5
        mean = mean + 0.5 * (rank[:, None] * (pop - mean)).mean(0) / sigma
        time.sleep(0.4)
        if f.max() > best + 1e-3:
            best, stale = f.max(), 0
        else:
            stale += 1
        print(f"{time.time() - t0:7.1f}s gen {gen:3d} | lambda {lam:3d} | sigma {sigma:.3f} | mean {f.mean():.4f} | best {best:.4f}", flush=True)
        if gen % 10 == 0:
            np.save("mean.npy", mean)
        if stale >= 10 and gen >= 60:
            lam, stale = lam * 4, 0
            print(f"--- restart with lambda = {lam} after {gen} generations without gain", flush=True)


if __name__ == "__main__":
    main()
