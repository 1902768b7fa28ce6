"""Evolution strategy for a point mass that has to reach and hold a target."""
import glob
import json
import multiprocessing as mp
import os
import sys
import time

import numpy as np
from safetensors.numpy import save_file

DIM, GENS, POP = 2 * 8 + 8 * 1 + 9, 110, 12


def unpack(v):
    return v[:16].reshape(2, 8), v[16:24].reshape(8, 1), v[24:32], v[32]


def episode(task):
    vec, seed = task
    rng = np.random.default_rng(seed)
    w1, w2, b1, b2 = unpack(vec)
    pos, vel, ret = rng.uniform(-2, 2), 0.0, 0.0
    for _ in range(120):
        h = np.tanh(np.array([pos, vel]) @ w1 + b1)
        force = float(np.tanh(h @ w2 + b2)[0])
        vel = 0.98 * vel + 0.1 * force + 0.01 * rng.normal()
        pos += 0.1 * vel
        ret -= pos * pos + 0.05 * force * force
    time.sleep(0.1)                           # the real simulator is slower
    return ret


def hello():
    print(f"simulator process {os.getpid()} up", file=sys.stderr, flush=True)


def main():
    os.makedirs("pop", exist_ok=True)
    rng = np.random.default_rng(33)
    theta, sigma, lr = 0.1 * rng.normal(size=DIM), 0.1, 0.15
    ctx = mp.get_context("fork")
    # the simulator leaks, so each process is used for 10 episodes only and then replaced
    with ctx.Pool(3, initializer=hello, maxtasksperchild=10) as pool:
        for gen in range(1, GENS + 1):
            half = rng.normal(size=(POP // 2, DIM))
            eps = np.concatenate([half, -half])
            seeds = rng.integers(1 << 30, size=POP // 2)
            tasks = [(theta + sigma * e, int(seeds[i % (POP // 2)])) for i, e in enumerate(eps)]
            ret = np.array(pool.map(episode, tasks, chunksize=1))
            rank = ret.argsort().argsort() / (POP - 1) - 0.5
            theta = theta + lr * (rank @ eps) / POP / sigma * 0.3
            print(json.dumps({"gen": gen, "fitness_mean": round(float(ret.mean()), 3), "fitness_best": round(float(ret.max()), 3),
                              "fitness_worst": round(float(ret.min()), 3)}), flush=True)
            if gen % 10 == 0:
                save_file({"theta": theta.astype(np.float32)}, f"pop/gen_{gen:04d}.safetensors")
                for old in sorted(glob.glob("pop/gen_*.safetensors"))[:-2]:
                    os.remove(old)
            time.sleep(0.1)
        pool.close()
        pool.join()
    print(json.dumps({"event": "finished", "generations": GENS}), flush=True)


if __name__ == "__main__":
    main()
