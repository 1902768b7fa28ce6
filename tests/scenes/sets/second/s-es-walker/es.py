"""evolution strategy for a toy walker, numpy only"""
import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import pickle
import queue
import threading
import time
import numpy as np

rng = np.random.default_rng(4)
DIM, POP, GENS = 400, 24, 400


def writer(q):
    os.makedirs("snap", exist_ok=True)
    while True:
        gen, state = q.get()
        with open("snap/tmp.pkl", "wb") as f:
            pickle.dump(state, f)
        os.replace("snap/tmp.pkl", f"snap/gen_{gen:04d}.pkl")


def reward(theta, goal):
    return -np.sqrt(np.mean((theta - goal) ** 2, axis=-1))


def main():
    q = queue.Queue()
    threading.Thread(target=writer, args=(q,), name="snapshot-writer", daemon=True).start()
    theta, goal = np.zeros(DIM), rng.normal(size=DIM)
    state = {"sigma": 0.1, "lr": 0.5}
    t0 = time.time()
    for gen in range(1, GENS + 1):
        eps = rng.normal(size=(POP, DIM))
        r = reward(theta + state["sigma"] * eps, goal)
        z = (r - r.mean()) / (r.std() + 1e-8)
        theta = theta + state["lr"] * state["sigma"] / POP * (z @ eps)
        time.sleep(0.18)
        if gen == 130:                 # second phase: let the step width follow the reward
            state["schedule"] = lambda rew: 0.05 + 0.05 * min(1.0, -rew)
        if "schedule" in state:
            state["sigma"] = float(state["schedule"](r.mean()))
        if gen % 10 == 0:
            rows = [("rollout/", ""), ("   ep_rew_mean", f"{r.mean():.4f}"), ("time/", ""), ("   fps", f"{int(POP * gen / (time.time() - t0))}"),
                    ("   iterations", gen), ("   time_elapsed", int(time.time() - t0)), ("train/", ""), ("   sigma", f"{state['sigma']:.4f}")]
            print("-" * 34)
            for k, v in rows:
                print(f"| {k:<17} | {str(v):<10} |")
            print("-" * 34, flush=True)
        if gen % 25 == 0:
            q.put((gen, {"theta": theta.copy(), **state}))
            print(f"snapshot of generation {gen} queued", flush=True)
    print("finished", flush=True)


main()
